#include "tests/contract/bench.h"

#include "io/backend_factory.h"
#include "io/poll_backend.h"
#include "io/sim_backend.h"

#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace contract {

namespace {

constexpr io::Duration kPatience = 5s;

std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// Asks for the TOS byte of every datagram and for a large receive buffer.
void prepare(int descriptor, bool ipv6) {
  const int on = 1;
  const int large = 8 << 20;
  if (ipv6) {
    REQUIRE(::setsockopt(descriptor, IPPROTO_IPV6, IPV6_RECVTCLASS, &on, sizeof(on)) == 0);
  } else {
    REQUIRE(::setsockopt(descriptor, IPPROTO_IP, IP_RECVTOS, &on, sizeof(on)) == 0);
  }
  if (::setsockopt(descriptor, SOL_SOCKET, SO_RCVBUFFORCE, &large, sizeof(large)) != 0) {
    static_cast<void>(::setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &large, sizeof(large)));
  }
  const timeval patience{3, 0};
  REQUIRE(::setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0);
}

std::uint8_t traffic_class_of(msghdr& message) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level == IPPROTO_IP && part->cmsg_type == IP_TOS) {
      std::uint8_t value = 0;
      std::memcpy(&value, CMSG_DATA(part), sizeof(value));
      return value;
    }
    if (part->cmsg_level == IPPROTO_IPV6 && part->cmsg_type == IPV6_TCLASS) {
      int value = 0;
      std::memcpy(&value, CMSG_DATA(part), sizeof(value));
      return static_cast<std::uint8_t>(value);
    }
  }
  return 0;
}

class KernelFarEnd final : public FarEnd {
 public:
  explicit KernelFarEnd(const io::SocketAddress& wanted) {
    const bool ipv6 = wanted.family() == io::AddressFamily::ipv6;
    descriptor_ = ::socket(ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    REQUIRE(descriptor_ >= 0);
    prepare(descriptor_, ipv6);
    REQUIRE(::bind(descriptor_, wanted.kernel_address(), wanted.kernel_size()) == 0);
    sockaddr_in6 name{};
    socklen_t size = sizeof(name);
    REQUIRE(::getsockname(descriptor_, reinterpret_cast<sockaddr*>(&name), &size) == 0);
    local_ = io::SocketAddress::from_kernel(&name, size);
  }
  KernelFarEnd(const KernelFarEnd&) = delete;
  KernelFarEnd& operator=(const KernelFarEnd&) = delete;
  KernelFarEnd(KernelFarEnd&&) = delete;
  KernelFarEnd& operator=(KernelFarEnd&&) = delete;
  ~KernelFarEnd() override { ::close(descriptor_); }

  [[nodiscard]] const io::SocketAddress& local() const noexcept override { return local_; }
  void send(const io::SocketAddress& target, std::string_view payload) override {
    const ssize_t sent = ::sendto(descriptor_, payload.data(), payload.size(), 0,
                                  target.kernel_address(), target.kernel_size());
    CHECK(sent == static_cast<ssize_t>(payload.size()));
  }
  [[nodiscard]] std::optional<FarDatagram> receive(bool wait) override {
    std::string payload(65536, '\0');
    iovec vector{payload.data(), payload.size()};
    sockaddr_in6 name{};
    alignas(cmsghdr) std::array<char, 64> control{};
    msghdr message{};
    message.msg_name = &name;
    message.msg_namelen = sizeof(name);
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t size = ::recvmsg(descriptor_, &message, wait ? 0 : MSG_DONTWAIT);
    if (size < 0) {
      return std::nullopt;
    }
    payload.resize(static_cast<std::size_t>(size));
    return FarDatagram{io::SocketAddress::from_kernel(&name, message.msg_namelen),
                       std::move(payload), traffic_class_of(message)};
  }

 private:
  int descriptor_ = -1;
  io::SocketAddress local_;
};

class SimFarEnd final : public FarEnd {
 public:
  SimFarEnd(io::SimNetwork& network, const io::SocketAddress& wanted)
      : network_(network), peer_(network, wanted) {}
  [[nodiscard]] const io::SocketAddress& local() const noexcept override { return peer_.local(); }
  void send(const io::SocketAddress& target, std::string_view payload) override {
    CHECK(peer_.send(target, as_bytes(payload)) == 0);
  }
  [[nodiscard]] std::optional<FarDatagram> receive(bool wait) override {
    auto datagram = peer_.receive();
    while (!datagram && wait && network_.next_delivery() != io::kNever) {
      network_.clock().advance_to(network_.next_delivery());
      datagram = peer_.receive();
    }
    if (!datagram) {
      return std::nullopt;
    }
    std::string payload(datagram->bytes.size(), '\0');
    std::transform(datagram->bytes.begin(), datagram->bytes.end(), payload.begin(),
                   [](std::byte byte) { return static_cast<char>(byte); });
    return FarDatagram{datagram->source, std::move(payload),
                       static_cast<std::uint8_t>(datagram->dscp << 2U)};
  }

 private:
  io::SimNetwork& network_;
  io::SimPeer peer_;
};

}  // namespace

std::unique_ptr<FarEnd> KernelBench::make_far_end(const io::SocketAddress& local) {
  return std::make_unique<KernelFarEnd>(local);
}

std::unique_ptr<io::Backend> PollBench::make_backend(io::BufferPool& pool,
                                                     const io::BackendOptions& options) {
  return std::make_unique<io::PollBackend>(pool, options);
}

const std::string& UringBench::why_not() {
  static const std::string reason = [] {
    const auto selected = io::select_backend(io::BackendChoice::io_uring);
    return selected ? std::string() : selected.error();
  }();
  return reason;
}

bool UringBench::available() {
  return why_not().empty();
}

std::unique_ptr<io::Backend> UringBench::make_backend(io::BufferPool& pool,
                                                      const io::BackendOptions& options) {
  std::string error;
  auto backend = io::make_backend(io::BackendChoice::io_uring, pool, options, error);
  REQUIRE_MESSAGE(backend != nullptr, error);
  return backend;
}

std::unique_ptr<io::Backend> SimBench::make_backend(io::BufferPool& pool,
                                                    const io::BackendOptions& options) {
  return std::make_unique<io::SimBackend>(pool, network_, options);
}

std::unique_ptr<FarEnd> SimBench::make_far_end(const io::SocketAddress& local) {
  return std::make_unique<SimFarEnd>(network_, local);
}

io::PassResult SimBench::pass(io::Backend& backend, io::Duration timeout) {
  const auto& simulated = dynamic_cast<io::SimBackend&>(backend);
  if (!simulated.ready()) {
    clock_.advance_to(std::min(now() + timeout, network_.next_delivery()));
  }
  return backend.pass(now());
}

io::SocketAddress loopback(io::AddressFamily family) {
  const auto* text = family == io::AddressFamily::ipv6 ? "::1" : "127.0.0.1";
  return io::SocketAddress::parse(text, 0).value();
}

Node::Node(Bench& bench, const NodeOptions& options)
    : bench_(bench),
      pool_(options.slots, options.slot_bytes),
      backend_(bench.make_backend(pool_, options.backend)) {}

Node::~Node() {
  check_balance();
  destroy_backend();
  held.clear();
  CHECK(pool_.available() == pool_.slots());
}

void Node::check_balance() {
  if (!backend_) {
    return;
  }
  pass(0ns);  // what is still queued leaves
  const io::BackendCounters& counters = backend_->counters();
  const std::uint64_t accounted = counters.sent.value() + counters.send_would_block.value() +
                                  counters.send_unreachable.value() + counters.send_failed.value() +
                                  counters.send_closed.value();
  CHECK(accounted == queued_);
  CHECK(counters.received.value() == received.size());
  CHECK(counters.passes.value() == passes_);
  CHECK(counters.sockets.value() == backend_->sockets());
}

void Node::destroy_backend() {
  backend_.reset();
}

NodeSocket Node::open(const io::SocketOptions& options, std::uint64_t tag) {
  auto bound = bench_.factory().bind_udp(options);
  REQUIRE_MESSAGE(bound, options.local.text());
  const io::SocketAddress local = bound->local();
  const auto id = backend_->open(std::move(*bound), tag);
  REQUIRE(id);
  return {*id, local};
}

NodeSocket Node::open(const io::SocketAddress& local, std::uint64_t tag) {
  io::SocketOptions options;
  options.local = local;
  options.receive_buffer_bytes = 4 << 20;
  return open(options, tag);
}

void Node::send(io::SocketId socket, const io::SocketAddress& peer, std::string_view payload) {
  io::Datagram datagram;
  datagram.buffer = pool_.take();
  REQUIRE(datagram.buffer);
  REQUIRE(payload.size() <= datagram.buffer.capacity());
  datagram.size = static_cast<std::uint32_t>(payload.size());
  datagram.offset = std::min(io::kHeadroomBytes, pool_.slot_bytes() - datagram.size);
  datagram.socket = socket;
  datagram.peer = peer;
  std::memcpy(datagram.bytes().data(), payload.data(), payload.size());
  backend_->send(std::move(datagram));
  ++queued_;
}

std::size_t Node::pass(io::Duration timeout) {
  const io::PassResult result = bench_.pass(*backend_, timeout);
  ++passes_;
  woken = result.woken;
  CHECK(result.received.size() <= io::Backend::kReceivedPerPassMax);
  for (io::Datagram& datagram : result.received) {
    CHECK(datagram.offset >= io::kHeadroomBytes);
    CHECK(datagram.offset + datagram.size <= datagram.buffer.capacity());
    CHECK(datagram.buffer.unique());
    std::string payload(datagram.size, '\0');
    std::memcpy(payload.data(), datagram.bytes().data(), datagram.size);
    // All of the slot's headroom may be written to.
    std::memset(datagram.buffer.data() + datagram.offset - io::kHeadroomBytes, 0xaa,
                io::kHeadroomBytes);
    received.push_back({datagram.socket, datagram.tag, datagram.peer, std::move(payload), passes_});
    if (hold) {
      held.push_back(std::move(datagram));
    }
  }
  events.insert(events.end(), result.events.begin(), result.events.end());
  return result.received.size() + result.events.size();
}

bool Node::run_until(const std::function<bool()>& done) {
  const io::TimePoint limit = bench_.now() + kPatience;
  while (!done()) {
    if (bench_.now() >= limit) {
      return false;
    }
    pass(limit - bench_.now());
  }
  return true;
}

bool Node::run_until_received(std::size_t count) {
  return run_until([&] { return received.size() >= count; });
}

bool Node::run_until_closed(io::SocketId socket) {
  return run_until([&] { return closed_events(socket) > 0; });
}

std::size_t Node::closed_events(io::SocketId socket) const {
  return static_cast<std::size_t>(
      std::count_if(events.begin(), events.end(), [&](const io::SocketEvent& event) {
        return event.socket == socket && event.kind == io::SocketEventKind::closed;
      }));
}

std::vector<std::string> Node::payloads(io::SocketId socket) const {
  std::vector<std::string> result;
  for (const Received& datagram : received) {
    if (datagram.socket == socket) {
      result.push_back(datagram.payload);
    }
  }
  return result;
}

std::vector<std::string> numbered(std::string_view prefix, std::size_t count) {
  std::vector<std::string> result;
  for (std::size_t number = 0; number < count; ++number) {
    result.push_back(std::string(prefix) + std::to_string(number));
  }
  return result;
}

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator entries("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

}  // namespace contract
