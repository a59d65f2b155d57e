// What a bare relay loop costs on each backend: pass, swap socket and peer, send. No pass or fail;
// it prints CPU time per packet of the relay's thread and the ratio to the poll backend. Rounds of
// the backends alternate, so that whatever else the machine does hits all of them. The relay runs
// on CPU 0, the generator on CPU 1.
//
// With --trunk N instead: what a datagram costs, sent and received on one CPU, where each pass has
// N for two peers: in turn, so that none can be joined; in two runs, which leave joined; and with
// receivers that take them joined.
//
// io_relay_bench [--flows N] [--pps PER_FLOW] [--seconds S] [--rounds N] [--coalesce US] [--slot
// BYTES] [--trunk N]

#include "io/backend_factory.h"
#include "io/socket_factory.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

struct Options {
  std::uint32_t flows = 400;
  std::uint32_t pps = 50;
  double seconds = 3;
  int rounds = 3;
  std::uint32_t coalesce_us = 0;
  std::uint32_t slot_bytes = 2048 + 64;
  std::uint32_t trunk = 0;  // datagrams per pass; 0 = relay
};

constexpr std::size_t kPayloadBytes = 43;  // GSM-EFR over RTP
constexpr std::uint32_t kSlots = 8192;
constexpr std::size_t kTrunkPayloadBytes = 240;  // an Osmux batch

struct Outcome {
  double cpu_us = 0;  // per packet
  double calls = 0;   // system calls per packet
  double passes = 0;  // per packet
  double voluntary = 0;
  std::uint64_t relayed = 0;
  std::uint64_t offered = 0;
  std::uint64_t starved = 0;
};

void pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cpu), &set);
  if (pthread_setaffinity_np(pthread_self(), sizeof(set), &set) != 0) {
    std::fprintf(stderr, "cannot pin to CPU %d\n", cpu);
  }
}

double thread_cpu_us() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

io::BoundSocket bind_loopback(bool join_received = false) {
  static io::KernelSocketFactory factory;
  io::SocketOptions options;
  options.local = io::SocketAddress::parse("127.0.0.1", 0).value();
  options.receive_buffer_bytes = 1U << 20;
  options.join_received = join_received;
  options.join_sent = true;
  auto socket = factory.bind_udp(options);
  if (!socket) {
    std::fprintf(stderr, "bind: %s\n", socket.error().message().c_str());
    std::exit(1);
  }
  return std::move(*socket);
}

/// Two sockets per call; what comes in on one leaves from the other to its peer.
struct Relay {
  std::vector<io::SocketId> sockets;
  std::vector<io::SocketAddress> peers;
};

/// Sends one packet per flow and period from each end, spread over the period, at absolute times;
/// takes and counts what comes back.
class Generator {
 public:
  Generator(const Options& options, const std::vector<io::SocketAddress>& targets)
      : options_(options), targets_(targets) {
    std::mt19937 random(1);
    const double period_us = 1e6 / options.pps;
    std::uniform_real_distribution<double> phase(0, period_us);
    for (std::size_t flow = 0; flow < targets.size(); ++flow) {
      io::BoundSocket socket = bind_loopback();
      locals_.push_back(socket.local());
      sockets_.push_back(std::move(socket));
      schedule_.push_back({phase(random), flow});
    }
    std::sort(schedule_.begin(), schedule_.end());
  }
  [[nodiscard]] const std::vector<io::SocketAddress>& locals() const { return locals_; }
  [[nodiscard]] std::uint64_t sent() const { return sent_; }

  void run(const std::atomic<bool>& stop) {
    pin(1);
    std::array<char, kPayloadBytes> payload{};
    const auto start = std::chrono::steady_clock::now();
    const double period_us = 1e6 / options_.pps;
    for (std::uint64_t round = 0; !stop.load(std::memory_order_relaxed); ++round) {
      for (const auto& [phase, flow] : schedule_) {
        const auto due = start + std::chrono::nanoseconds(static_cast<std::int64_t>(
                                     (static_cast<double>(round) * period_us + phase) * 1e3));
        while (std::chrono::steady_clock::now() < due && !stop.load(std::memory_order_relaxed)) {}
        const int file = sockets_[flow].handle();
        ::sendto(file, payload.data(), payload.size(), MSG_DONTWAIT,
                 targets_[flow].kernel_address(), targets_[flow].kernel_size());
        ++sent_;
        while (::recv(file, payload.data(), payload.size(), MSG_DONTWAIT) > 0) {}
      }
    }
  }

 private:
  Options options_;
  std::vector<io::SocketAddress> targets_;
  std::vector<io::BoundSocket> sockets_;
  std::vector<io::SocketAddress> locals_;
  std::vector<std::pair<double, std::size_t>> schedule_;
  std::uint64_t sent_ = 0;
};

void relay_pass(io::Backend& backend, const Relay& relay, io::TimePoint until) {
  const io::PassResult result = backend.pass(until);
  for (io::Datagram& datagram : result.received) {
    const std::size_t out = datagram.tag ^ 1U;
    datagram.socket = relay.sockets[out];
    datagram.peer = relay.peers[out];
    backend.send(std::move(datagram));
  }
}

Outcome measure(io::BackendChoice choice, const Options& options) {
  pin(0);
  io::BufferPool pool(kSlots, options.slot_bytes);
  std::string error;
  const auto backend =
      io::make_backend(choice, pool, {.coalescing = {.limit_us = options.coalesce_us}}, error);
  if (!backend) {
    std::fprintf(stderr, "%s\n", error.c_str());
    std::exit(1);
  }
  Relay relay;
  std::vector<io::SocketAddress> targets;
  for (std::uint32_t flow = 0; flow < options.flows; ++flow) {
    io::BoundSocket socket = bind_loopback();
    targets.push_back(socket.local());
    relay.sockets.push_back(*backend->open(std::move(socket), flow));
  }
  Generator generator(options, targets);
  relay.peers = generator.locals();
  std::atomic<bool> stop{false};
  std::thread generating([&] { generator.run(stop); });

  const auto begin = std::chrono::steady_clock::now();
  const auto warm = begin + std::chrono::milliseconds(500);
  while (std::chrono::steady_clock::now() < warm) {
    relay_pass(*backend, relay, begin + std::chrono::milliseconds(500));
  }
  const io::BackendCounters& counters = backend->counters();
  const auto relayed = counters.received.value();
  const auto calls = counters.system_calls.value();
  const auto passes = counters.passes.value();
  const double cpu = thread_cpu_us();
  rusage before{};
  getrusage(RUSAGE_THREAD, &before);
  const auto end =
      warm + std::chrono::microseconds(static_cast<std::int64_t>(options.seconds * 1e6));
  io::TimePoint now = warm;
  while (now < end) {
    relay_pass(*backend, relay, now + std::chrono::milliseconds(20));
    now = std::chrono::steady_clock::now();
  }
  rusage after{};
  getrusage(RUSAGE_THREAD, &after);
  Outcome outcome;
  outcome.relayed = counters.received.value() - relayed;
  const auto packets = static_cast<double>(std::max<std::uint64_t>(outcome.relayed, 1));
  outcome.cpu_us = (thread_cpu_us() - cpu) / packets;
  outcome.calls = static_cast<double>(counters.system_calls.value() - calls) / packets;
  outcome.passes = static_cast<double>(counters.passes.value() - passes) / packets;
  outcome.voluntary = static_cast<double>(after.ru_nvcsw - before.ru_nvcsw) / packets;
  outcome.starved = counters.received_no_buffer.value();
  stop = true;
  generating.join();
  outcome.offered = generator.sent();
  return outcome;
}

Options parse(int count, char** arguments) {
  Options options;
  for (int index = 1; index + 1 < count; index += 2) {
    const std::string_view name = arguments[index];
    const double value = std::atof(arguments[index + 1]);
    if (name == "--flows") {
      options.flows = static_cast<std::uint32_t>(value) & ~1U;
    } else if (name == "--pps") {
      options.pps = static_cast<std::uint32_t>(value);
    } else if (name == "--seconds") {
      options.seconds = value;
    } else if (name == "--rounds") {
      options.rounds = static_cast<int>(value);
    } else if (name == "--coalesce") {
      options.coalesce_us = static_cast<std::uint32_t>(value);
    } else if (name == "--slot") {
      options.slot_bytes = static_cast<std::uint32_t>(value);
    } else if (name == "--trunk") {
      options.trunk = static_cast<std::uint32_t>(value) & ~1U;
    }
  }
  return options;
}

void print(const char* name, const Outcome& outcome) {
  std::printf(
      "%-9s %7.3f us/packet  %.3f calls  %.3f passes  %.3f sleeps  relayed %llu  starved %llu\n",
      name, outcome.cpu_us, outcome.calls, outcome.passes, outcome.voluntary,
      static_cast<unsigned long long>(outcome.relayed),
      static_cast<unsigned long long>(outcome.starved));
}

/// How the datagrams of a trunk case are queued and received.
struct TrunkShape {
  const char* name;
  bool in_turn;
  bool join_received;
};

constexpr TrunkShape kTrunkShapes[] = {
    {"single", true, false}, {"joined send", false, false}, {"joined both", false, true}};

std::unique_ptr<io::Backend> make_backend(io::BackendChoice choice, io::BufferPool& pool) {
  std::string error;
  auto backend = io::make_backend(choice, pool, {}, error);
  if (!backend) {
    std::fprintf(stderr, "%s\n", error.c_str());
    std::exit(1);
  }
  return backend;
}

void queue_trunk(io::Backend& sender, io::BufferPool& pool, io::SocketId source,
                 const std::array<io::SocketAddress, 2>& peers, const Options& options,
                 bool in_turn) {
  for (std::uint32_t number = 0; number < options.trunk; ++number) {
    io::Datagram datagram;
    datagram.buffer = pool.take();
    datagram.offset = io::kHeadroomBytes;
    datagram.size = kTrunkPayloadBytes;
    datagram.socket = source;
    datagram.peer = peers[in_turn ? number % 2 : number / (options.trunk / 2)];
    std::memset(datagram.bytes().data(), static_cast<int>(number), kTrunkPayloadBytes);
    sender.send(std::move(datagram));
  }
}

/// Microseconds of CPU time per datagram, sending and receiving.
double measure_trunk(io::BackendChoice choice, const Options& options, const TrunkShape& shape) {
  pin(0);
  io::BufferPool pool(kSlots, options.slot_bytes);
  const auto sender = make_backend(choice, pool);
  const auto receiver = make_backend(choice, pool);
  std::array<io::SocketAddress, 2> peers;
  for (io::SocketAddress& peer : peers) {
    io::BoundSocket socket = bind_loopback(shape.join_received);
    peer = socket.local();
    static_cast<void>(receiver->open(std::move(socket), 0));
  }
  const io::SocketId source = *sender->open(bind_loopback(), 0);
  const io::Counter& received = receiver->counters().received;
  std::uint64_t expected = 0;
  double begin = 0;
  double end = 0;
  std::uint64_t measured_from = 0;
  do {
    queue_trunk(*sender, pool, source, peers, options, shape.in_turn);
    expected += options.trunk;
    static_cast<void>(sender->pass(io::TimePoint{}));
    while (received.value() < expected) {
      static_cast<void>(receiver->pass(io::MonotonicClock{}.now() + std::chrono::seconds(1)));
    }
    end = thread_cpu_us();
    if (measured_from == 0 && expected >= std::uint64_t{100} * options.trunk) {  // warm
      measured_from = expected;
      begin = end;
    }
  } while (measured_from == 0 || end - begin < options.seconds * 1e6);
  return (end - begin) / static_cast<double>(expected - measured_from);
}

void compare_trunk(io::BackendChoice choice, const char* name, const Options& options) {
  std::array<std::vector<double>, std::size(kTrunkShapes)> costs;
  for (int round = 0; round < options.rounds; ++round) {
    for (std::size_t i = 0; i < costs.size(); ++i) {
      costs[i].push_back(measure_trunk(choice, options, kTrunkShapes[i]));
    }
  }
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const auto minimum = [](const std::vector<double>& values) {
      return *std::min_element(values.begin(), values.end());
    };
    std::printf("%-9s %-12s %7.3f us/datagram  ratio to single %.3f\n", name, kTrunkShapes[i].name,
                minimum(costs[i]), minimum(costs[i]) / minimum(costs[0]));
  }
}

}  // namespace

int main(int count, char** arguments) {
  const Options options = parse(count, arguments);
  if (options.trunk > 0) {
    compare_trunk(io::BackendChoice::poll, "poll", options);
    compare_trunk(io::BackendChoice::io_uring, "io_uring", options);
    return 0;
  }
  std::vector<double> poll;
  std::vector<double> uring;
  for (int round = 0; round < options.rounds; ++round) {
    const Outcome first = measure(io::BackendChoice::poll, options);
    print("poll", first);
    poll.push_back(first.cpu_us);
    const Outcome second = measure(io::BackendChoice::io_uring, options);
    print("io_uring", second);
    uring.push_back(second.cpu_us);
  }
  std::sort(poll.begin(), poll.end());
  std::sort(uring.begin(), uring.end());
  std::printf("io_uring / poll: median %.3f, minimum %.3f\n",
              uring[uring.size() / 2] / poll[poll.size() / 2], uring.front() / poll.front());
  return 0;
}
