// Very many call set-ups through one gateway on virtual time, with everything that goes wrong in
// years: loss, repeats, reordering, garbage, ports and descriptors that run out, agents that
// restart, workers that stand still, clocks that are set. Again and again all calls are ended, and
// then nothing may be left: sockets, memory, ports, endpoints, and the counters balance.
//
// MGW_SOAK_SETUPS (2,000) is the number of set-ups, MGW_SEED (1) the seed.

#include "tests/sim/sim_world.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

// Of AddressSanitizer, where it is linked.
extern "C" __attribute__((weak)) std::size_t __sanitizer_get_current_allocated_bytes();  // NOLINT

using namespace std::chrono_literals;

namespace {

std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// Bytes of the heap that are in use now.
std::size_t heap_bytes() {
  if (__sanitizer_get_current_allocated_bytes != nullptr) {
    return __sanitizer_get_current_allocated_bytes();
  }
  return ::mallinfo2().uordblks;
}

std::string_view line_value(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(name);
  if (at == std::string_view::npos) {
    return {};
  }
  const std::string_view rest = text.substr(at + name.size());
  return rest.substr(0, rest.find_first_of("\r\n"));
}

/// What an agent of the field does, with no more memory than for the calls that are up: sets calls
/// up, repeats commands, gives up, forgets everything.
class Agent {
 public:
  Agent(io::SimNetwork& network, const io::SocketAddress& gateway, std::string host,
        std::uint64_t seed)
      : network_(network),
        gateway_(gateway),
        host_(std::move(host)),
        random_(seed),
        socket_(network, sim::address(host_, 2727)),
        media_(network, sim::address(host_, 6000)),
        next_id_(static_cast<std::uint32_t>(1 + random_.below(1000))) {}

  /// As far as the network and the time have come.
  void step(bool may_begin) {
    const io::TimePoint now = network_.clock().now();
    while (const auto datagram = socket_.receive()) {
      on_answer({reinterpret_cast<const char*>(datagram->bytes.data()), datagram->bytes.size()});
    }
    while (media_.receive()) {
      ++packets_received_;
    }
    for (auto& [id, call] : calls_) {
      advance(call, now);
    }
    std::erase_if(calls_, [](const auto& entry) { return entry.second.state == State::over; });
    while (may_begin && now >= next_begin_ && calls_.size() < kCallsMax) {
      Call& call = calls_[next_call_];
      call.number = next_call_++;
      crcx(call, now);
    }
  }
  /// All calls that it knew are forgotten; the gateway hears of it or not.
  void restart() {
    calls_.clear();
    next_id_ = static_cast<std::uint32_t>(1 + random_.below(900'000'000));
    if (random_.chance(0.5)) {
      send(fmt::format("RSIP {} rtpbridge/*@mgw MGCP 1.0\r\nRM: restart\r\n", next_id_++));
    }
  }
  void send_garbage() {
    std::string garbage(random_.below(200), ' ');
    for (char& letter : garbage) {
      letter = static_cast<char>(random_.below(256));
    }
    static const std::vector<std::string> kHeads = {"", "CRCX ",
                                                    "CRCX 1 rtpbridge/*@mgw MGCP 1.0\r\n", "200 ",
                                                    "DLCX 5 rtpbridge/1@mgw MGCP 1.0\r\nI: "};
    send(kHeads[random_.below(kHeads.size())] + garbage);
    if (!calls_.empty()) {
      const auto& call = calls_.begin()->second;
      media_.send(call.media[0], std::as_bytes(std::span(garbage.data(), garbage.size())));
    }
  }

  [[nodiscard]] std::uint64_t set_up() const noexcept { return set_up_; }
  [[nodiscard]] std::uint64_t refused() const noexcept { return refused_; }
  [[nodiscard]] std::uint64_t given_up() const noexcept { return given_up_; }
  [[nodiscard]] std::uint64_t packets_received() const noexcept { return packets_received_; }
  [[nodiscard]] bool idle() const noexcept { return calls_.empty(); }

 private:
  static constexpr std::size_t kCallsMax = 16;
  static constexpr int kTriesMax = 4;
  /// So long an agent that was refused begins no call.
  static constexpr io::Duration kAfterRefusal = 20ms;
  enum class State { first_leg, second_leg, talking, deleting, over };
  struct Call {
    std::uint64_t number = 0;
    State state = State::first_leg;
    std::uint32_t id = 0;  ///< of the command under way
    std::string command;
    io::TimePoint repeat{};
    int tries = 0;
    int packets = 0;
    std::uint16_t sequence = 0;
    std::string endpoint = "rtpbridge/*@mgw";
    io::SocketAddress media[2];
  };

  void send(std::string_view text) {
    socket_.send(gateway_, std::as_bytes(std::span(text.data(), text.size())));
  }
  void command(Call& call, std::string_view verb, std::string_view body, io::TimePoint now) {
    call.id = next_id_++;
    call.command = fmt::format("{} {} {} MGCP 1.0\r\n{}", verb, call.id, call.endpoint, body);
    call.tries = 1;
    call.repeat = now + 500ms;
    send(call.command);
  }
  void crcx(Call& call, io::TimePoint now) {
    command(call, "CRCX",
            fmt::format("C: {:x}\r\nM: {}\r\nL: p:20, a:PCMA\r\n\r\nv=0\r\nc=IN IP4 {}\r\n"
                        "m=audio 6000 RTP/AVP 8\r\n",
                        call.number, random_.chance(0.1) ? "recvonly" : "sendrecv", host_),
            now);
  }
  void advance(Call& call, io::TimePoint now) {
    if (call.state == State::talking) {
      if (call.packets-- > 0) {
        rtp::RtpHeader header;
        header.payload_type = 8;
        header.sequence = call.sequence++;
        header.ssrc = static_cast<std::uint32_t>(call.number);
        const auto packet = sim::rtp_packet(header, sim::Bytes(20));
        media_.send(call.media[call.sequence % 2], packet);
        return;
      }
      call.state = State::deleting;
      command(call, "DLCX", fmt::format("C: {:x}\r\n", call.number), now);
      return;
    }
    if (now >= call.repeat) {
      if (++call.tries > kTriesMax) {
        ++given_up_;
        call.state = State::over;
        return;
      }
      call.repeat = now + 500ms * call.tries;
      send(call.command);
    }
  }
  void on_answer(std::string_view text) {
    unsigned code = 0;
    std::uint32_t id = 0;
    if (std::sscanf(std::string(text.substr(0, 40)).c_str(), "%u %u", &code, &id) != 2) {
      return;
    }
    const auto found =
        std::ranges::find_if(calls_, [id](const auto& entry) { return entry.second.id == id; });
    if (found == calls_.end() || code < 200) {
      return;
    }
    Call& call = found->second;
    const bool creating = call.state == State::first_leg || call.state == State::second_leg;
    if (!creating) {
      call.state = call.state == State::deleting ? State::over : call.state;
      return;
    }
    if (code != 200) {
      ++refused_;
      next_begin_ = network_.clock().now() + kAfterRefusal;
      call.state = call.state == State::first_leg ? State::over : State::deleting;
      if (call.state == State::deleting) {
        command(call, "DLCX", fmt::format("C: {:x}\r\n", call.number), network_.clock().now());
      }
      return;
    }
    const auto port = std::strtoul(std::string(line_value(text, "m=audio ")).c_str(), nullptr, 10);
    const bool first = call.state == State::first_leg;
    call.media[first ? 0 : 1] =
        sim::address(line_value(text, "c=IN IP4 "), static_cast<std::uint16_t>(port));
    if (first) {
      call.endpoint = line_value(text, "Z: ");
      call.state = State::second_leg;
      crcx(call, network_.clock().now());
      return;
    }
    ++set_up_;
    call.state = State::talking;
    call.packets = static_cast<int>(random_.below(6));
  }

  io::SimNetwork& network_;
  io::SocketAddress gateway_;
  std::string host_;
  io::SimRandom random_;
  io::SimPeer socket_;
  io::SimPeer media_;
  std::uint32_t next_id_;
  std::uint64_t next_call_ = 1;
  io::TimePoint next_begin_{};
  std::unordered_map<std::uint64_t, Call> calls_;
  std::uint64_t set_up_ = 0;
  std::uint64_t refused_ = 0;
  std::uint64_t given_up_ = 0;
  std::uint64_t packets_received_ = 0;
};

/// The gateway, three agents, and the faults.
class Soak {
 public:
  explicit Soak(std::uint64_t seed) : random_(seed * 31 + 7), world_(config(), options(seed)) {
    for (int i = 0; i < 3; ++i) {
      agents_.push_back(std::make_unique<Agent>(world_.network(), world_.gateway(),
                                                fmt::format("198.51.100.{}", 201 + i),
                                                seed * 3 + static_cast<std::uint64_t>(i)));
    }
    sockets_at_start_ = world_.gateway_sockets();
  }

  /// Sets up `setups` calls, ends all and checks that nothing is left.
  void cycle(std::uint64_t setups) {
    const std::uint64_t goal = set_up() + setups;
    while (set_up() < goal) {
      if (++steps_ % 64 == 0) {
        disturb();
      }
      step(true);
    }
    calm();
    const io::TimePoint limit = world_.clock().now() + 60s;
    while (world_.clock().now() < limit) {
      step(false);
    }
    for (const auto& agent : agents_) {
      CHECK(agent->idle());
    }
    check_empty();
  }

  [[nodiscard]] std::uint64_t set_up() const {
    std::uint64_t sum = 0;
    for (const auto& agent : agents_) {
      sum += agent->set_up();
    }
    return sum;
  }
  void report(std::size_t heap) {
    std::uint64_t refused = 0;
    std::uint64_t given_up = 0;
    std::uint64_t packets = 0;
    for (const auto& agent : agents_) {
      refused += agent->refused();
      given_up += agent->given_up();
      packets += agent->packets_received();
    }
    fmt::print(
        stderr,
        "soak: {} set-ups, {} refused, {} given up, {} packets through, {} dropped, {:.0f} s "
        "of virtual time, {} KiB of heap\n",
        set_up(), refused, given_up, packets, world_.dropped(),
        std::chrono::duration<double>(world_.clock().now().time_since_epoch()).count(),
        heap / 1024);
  }

 private:
  static conf::Config config() {
    conf::Config config = sim::small_config();
    config.endpoints.count = 64;
    config.rtp.port_max = 4199;  // 100 pairs, which 48 calls use up now and then
    config.rtp.port_quarantine = 50ms;
    config.mgcp.transaction_history = 2s;
    config.endpoints.options.connection_timeout = 5s;
    config.endpoints.options.generate_rtcp = true;
    return config;
  }
  static sim::WorldOptions options(std::uint64_t seed) {
    sim::WorldOptions options;
    options.seed = seed;
    options.plane.workers = 2;
    options.plane.buffers = 256;
    return options;
  }

  void step(bool may_begin) {
    for (const auto& agent : agents_) {
      agent->step(may_begin);
    }
    world_.run_for(5ms);
  }
  void disturb() {
    io::SimLink& link = world_.network().default_link();
    Agent& agent = *agents_[random_.below(agents_.size())];
    switch (random_.below(10)) {
      case 0:
        link = {1ms, std::chrono::milliseconds(random_.below(30)), 0.2, 0.1, random_.chance(0.5)};
        break;
      case 1:
      case 2:
        link = {1ms, {}, random_.chance(0.5) ? 0.01 : 0.0};
        break;
      case 3:
        world_.network().fail_binds(random_.chance(0.5) ? EADDRINUSE : EMFILE,
                                    static_cast<std::uint32_t>(random_.below(8)));
        break;
      case 4:
        world_.network().fail_sends(random_.chance(0.5) ? EAGAIN : ENETUNREACH,
                                    static_cast<std::uint32_t>(random_.below(8)));
        break;
      case 5:
        agent.restart();
        break;
      case 6:
        // Stopped, and continued later: nobody did anything, all timers are late.
        world_.clock().advance(std::chrono::milliseconds(random_.below(3000)));
        break;
      case 7:
        world_.plane().stall(static_cast<std::uint32_t>(random_.below(2)),
                             world_.clock().now() + 300ms);
        break;
      case 8:
        world_.clock().set_wall_clock_offset(std::chrono::hours(random_.below(3)) - 1h);
        break;
      default:
        for (int i = 0; i < 20; ++i) {
          agent.send_garbage();
        }
        break;
    }
  }
  void calm() {
    world_.network().default_link() = {1ms};
    world_.network().fail_binds(0, 0);
    world_.network().fail_sends(0, 0);
  }
  void check_empty() {
    CHECK(world_.endpoints_used() == 0);
    CHECK(world_.connections() == 0);
    CHECK(world_.ports_used() == 0);
    CHECK(world_.gateway_sockets() == sockets_at_start_);
    CHECK(world_.control().pending() == 0);
    CHECK(world_.control().counters().transactions_remembered.value() == 0);
    CHECK(world_.control().counters().limits.bandwidth_bps.value() == 0);
    CHECK(world_.plane().imbalances() == 0);
    CHECK(world_.plane().under_way() == 0);
  }

  io::SimRandom random_;
  sim::SimWorld world_;
  std::vector<std::unique_ptr<Agent>> agents_;
  std::size_t sockets_at_start_ = 0;  // those of our agents
  std::uint64_t steps_ = 0;
};

}  // namespace

TEST_CASE("after any number of set-ups with faults the gateway is as it was at its start") {
  const std::uint64_t setups = number_from_environment("MGW_SOAK_SETUPS", 2000);
  const std::uint64_t seed = number_from_environment("MGW_SEED", 1);
  INFO("MGW_SOAK_SETUPS=" << setups << " MGW_SEED=" << seed);
  constexpr std::uint64_t kCycles = 10;
  Soak soak(seed);
  std::size_t first = 0;
  for (std::uint64_t i = 0; i < kCycles; ++i) {
    soak.cycle(std::max<std::uint64_t>(setups / kCycles, 1));
    const std::size_t heap = heap_bytes();
    soak.report(heap);
    // Tables grow with the most that was ever in them, which the first cycles may not have seen.
    constexpr std::uint64_t kWarmUp = 3;
    constexpr std::size_t kGrowthMax = 256 * 1024;
    if (i == kWarmUp) {
      first = heap;
    } else if (i > kWarmUp) {
      CHECK(heap <= first + kGrowthMax);
    }
  }
}
