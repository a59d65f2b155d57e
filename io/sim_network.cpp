#include "io/sim_network.h"

#include "io/assert.h"

#include <algorithm>
#include <cerrno>

namespace io {

namespace {

constexpr std::uint16_t kFirstFreePort = 32768;
constexpr std::uint16_t kLastFreePort = 60999;

}  // namespace

void SimClock::advance_to(TimePoint instant) noexcept {
  const std::int64_t wanted = instant.time_since_epoch().count();
  if (wanted > nanoseconds_.load()) {
    nanoseconds_.store(wanted);
  }
}

std::uint64_t SimRandom::next() noexcept {
  state_ += 0x9e3779b97f4a7c15U;
  std::uint64_t value = state_;
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31U);
}

std::uint64_t SimRandom::below(std::uint64_t bound) noexcept {
  return bound == 0 ? 0 : next() % bound;
}

bool SimRandom::chance(double probability) noexcept {
  // No number is drawn for "never", so that switching a fault off leaves the others' sequence.
  if (probability <= 0) {
    return false;
  }
  constexpr double kScale = 1.0 / 9007199254740992.0;  // 2^-53
  return static_cast<double>(next() >> 11U) * kScale < probability;
}

bool SimNetwork::Later::operator()(const Flying& left, const Flying& right) const noexcept {
  if (left.datagram.deliver_at != right.datagram.deliver_at) {
    return left.datagram.deliver_at > right.datagram.deliver_at;
  }
  return left.sequence > right.sequence;
}

SimNetwork::Wire& SimNetwork::wire(const SocketAddress& from, const SocketAddress& to) {
  return wires_[HostPair{from.with_port(0), to.with_port(0)}];
}

SimLink& SimNetwork::link(const SocketAddress& from, const SocketAddress& to) {
  Wire& found = wire(from, to);
  if (!found.own) {
    found.own = true;
    found.link = default_link_;
  }
  return found.link;
}

void SimNetwork::block_sends(const SocketAddress& local, bool blocked) noexcept {
  const auto found = bound_.find(local);
  MGW_ASSERT(found != bound_.end());
  sockets_.at(found->second).send_blocked = blocked;
}

void SimNetwork::fail_sends(int error, std::uint32_t count) noexcept {
  send_error_ = error;
  send_errors_left_ = count;
}

void SimNetwork::fail_binds(int error, std::uint32_t count) noexcept {
  bind_error_ = error;
  bind_errors_left_ = count;
}

TimePoint SimNetwork::next_delivery() const noexcept {
  return flying_.empty() ? kNever : flying_.front().datagram.deliver_at;
}

void SimNetwork::deliver_due() {
  while (!flying_.empty() && flying_.front().datagram.deliver_at <= clock_.now()) {
    std::pop_heap(flying_.begin(), flying_.end(), Later{});
    Flying next = std::move(flying_.back());
    flying_.pop_back();
    deliver(std::move(next));
  }
}

void SimNetwork::deliver(Flying&& flying) {
  if (at_arrival_ && at_arrival_(flying.datagram)) {
    ++counters_.taken;
    return;
  }
  const auto target = bound_.find(flying.datagram.target);
  Socket* socket = target == bound_.end() ? nullptr : &sockets_.at(target->second);
  if (socket != nullptr && socket->connected && !(*socket->connected == flying.datagram.source)) {
    socket = nullptr;
  }
  if (socket == nullptr) {
    ++counters_.unreachable;
    // ICMP port unreachable: only a connected socket hears of it.
    const auto sender = sockets_.find(flying.sender);
    if (sender != sockets_.end() && sender->second.connected) {
      sender->second.error = ECONNREFUSED;
      mark_ready(sender->first, sender->second);
    }
    return;
  }
  if (socket->received.size() >= kReceiveQueueMax) {
    ++counters_.overflowed;
    return;
  }
  ++counters_.delivered;
  socket->received.push_back(std::move(flying.datagram));
  mark_ready(target->second, *socket);
}

void SimNetwork::mark_ready(int handle, Socket& socket) {
  const std::size_t work = socket.received.size() + (socket.error != 0 ? 1U : 0U);
  if (socket.ready != nullptr && work == 1) {
    socket.ready->push_back(handle);
  }
}

std::optional<SocketAddress> SimNetwork::free_port(const SocketAddress& host) {
  for (unsigned tries = kFirstFreePort; tries <= kLastFreePort; ++tries) {
    const SocketAddress address = host.with_port(next_port_);
    next_port_ =
        next_port_ == kLastFreePort ? kFirstFreePort : static_cast<std::uint16_t>(next_port_ + 1);
    if (bound_.find(address) == bound_.end()) {
      return address;
    }
  }
  return std::nullopt;
}

Result<std::pair<int, SocketAddress>> SimNetwork::bind(const SocketOptions& options,
                                                       const SocketAddress& host) {
  if (bind_errors_left_ > 0) {
    --bind_errors_left_;
    return failure(bind_error_);
  }
  if (options.local.family() == AddressFamily::none) {
    return failure(EAFNOSUPPORT);
  }
  if (options.connected && options.connected->family() != options.local.family()) {
    return failure(EAFNOSUPPORT);
  }
  SocketAddress address = options.local;
  if (address.is_unspecified()) {
    address = host.with_port(options.local.port());
  }
  if (address.port() == 0) {
    const auto chosen = free_port(address);
    if (!chosen) {
      return failure(EADDRINUSE);
    }
    address = *chosen;
  }
  if (bound_.find(address) != bound_.end()) {
    return failure(EADDRINUSE);
  }
  const int handle = next_handle_++;
  Socket& socket = sockets_[handle];
  socket.local = address;
  socket.connected = options.connected;
  socket.dscp = options.dscp;
  socket.priority = options.priority;
  if (options.send_buffer_bytes != 0) {
    socket.send_buffer_bytes = options.send_buffer_bytes;
  }
  bound_.emplace(address, handle);
  return std::pair{handle, options.local.with_port(address.port())};
}

void SimNetwork::close(int handle) {
  const auto found = sockets_.find(handle);
  MGW_ASSERT(found != sockets_.end());
  bound_.erase(found->second.local);
  sockets_.erase(found);
}

int SimNetwork::refuse_send(Socket& socket, const SocketAddress& target, std::size_t bytes,
                            const SimLink& link) {
  if (send_errors_left_ > 0) {
    --send_errors_left_;
    return send_error_;
  }
  if (socket.send_blocked) {
    return EAGAIN;
  }
  if (target.family() != socket.local.family() || target.port() == 0) {
    return EINVAL;
  }
  if (bytes > link.mtu_bytes) {
    return EMSGSIZE;
  }
  while (!socket.departures.empty() && socket.departures.front().first <= clock_.now()) {
    socket.send_queued_bytes -= socket.departures.front().second;
    socket.departures.pop_front();
  }
  // As in the kernel, a datagram is taken while there is any room at all.
  return socket.send_queued_bytes >= socket.send_buffer_bytes ? EAGAIN : 0;
}

int SimNetwork::send(int handle, std::span<const std::byte> bytes, const SocketAddress& to) {
  Socket& socket = sockets_.at(handle);
  if (socket.error != 0) {
    return std::exchange(socket.error, 0);
  }
  const SocketAddress target = socket.connected.value_or(to);
  Wire& path = wire(socket.local, target);
  SimLink& link = path.own ? path.link : default_link_;
  if (const int error = refuse_send(socket, target, bytes.size(), link); error != 0) {
    return error;
  }
  const TimePoint departure = departure_of(link, path, bytes.size());
  if (link.bytes_per_second != 0) {
    socket.departures.emplace_back(departure, bytes.size());
    socket.send_queued_bytes += bytes.size();
  }
  launch(
      link, path,
      {socket.local, target, {bytes.begin(), bytes.end()}, socket.dscp, socket.priority, departure},
      handle);
  return 0;
}

void SimNetwork::relay(SimDatagram&& datagram) {
  Wire& path = wire(datagram.source, datagram.target);
  SimLink& link = path.own ? path.link : default_link_;
  datagram.deliver_at = departure_of(link, path, datagram.bytes.size());
  launch(link, path, std::move(datagram), -1);
}

TimePoint SimNetwork::departure_of(const SimLink& link, Wire& path, std::size_t bytes) const {
  TimePoint departure = clock_.now();
  if (link.bytes_per_second != 0) {
    const std::uint64_t nanoseconds = bytes * 1'000'000'000ULL / link.bytes_per_second;
    departure = std::max(departure, path.free_at) + Duration(nanoseconds);
    path.free_at = departure;
  }
  return departure;
}

void SimNetwork::launch(SimLink& link, Wire& path, SimDatagram&& datagram, int sender) {
  ++counters_.sent;
  const bool dropped = link.drop_next > 0;
  if (dropped) {
    --link.drop_next;
  }
  if (dropped || random_.chance(link.loss) || (drop_if_ && drop_if_(datagram))) {
    ++counters_.lost;
    return;
  }
  if (random_.chance(link.duplication)) {
    ++counters_.duplicated;
    fly(link, path, datagram, sender);
  }
  fly(link, path, std::move(datagram), sender);
}

void SimNetwork::fly(const SimLink& link, Wire& path, SimDatagram datagram, int sender) {
  TimePoint arrival = datagram.deliver_at + link.delay;
  if (link.jitter > Duration::zero()) {
    arrival += Duration(random_.below(static_cast<std::uint64_t>(link.jitter.count()) + 1));
  }
  if (!link.reorder) {
    arrival = std::max(arrival, path.last_arrival);
  }
  path.last_arrival = std::max(arrival, path.last_arrival);
  datagram.deliver_at = arrival;
  flying_.push_back({std::move(datagram), sequence_++, sender});
  std::push_heap(flying_.begin(), flying_.end(), Later{});
}

std::optional<SimDatagram> SimNetwork::receive(int handle) {
  Socket& socket = sockets_.at(handle);
  if (socket.received.empty()) {
    return std::nullopt;
  }
  std::optional<SimDatagram> result = std::move(socket.received.front());
  socket.received.pop_front();
  return result;
}

int SimNetwork::take_error(int handle) noexcept {
  return std::exchange(sockets_.at(handle).error, 0);
}

bool SimNetwork::has_work(int handle) const noexcept {
  const auto found = sockets_.find(handle);
  return found != sockets_.end() && (!found->second.received.empty() || found->second.error != 0);
}

void SimNetwork::watch(int handle, std::deque<int>* ready) {
  Socket& socket = sockets_.at(handle);
  socket.ready = ready;
  if (ready != nullptr && has_work(handle)) {
    ready->push_back(handle);
  }
}

SimSocketFactory::SimSocketFactory(SimNetwork& network, const SocketAddress& host4,
                                   const SocketAddress& host6)
    : network_(network), host4_(host4.with_port(0)), host6_(host6.with_port(0)) {}

SimSocketFactory::SimSocketFactory(SimNetwork& network)
    : SimSocketFactory(network, SocketAddress::parse("127.0.0.1", 0).value_or(SocketAddress()),
                       SocketAddress::parse("::1", 0).value_or(SocketAddress())) {}

const SocketAddress& SimSocketFactory::host(AddressFamily family) const noexcept {
  return family == AddressFamily::ipv6 ? host6_ : host4_;
}

Result<BoundSocket> SimSocketFactory::bind_udp(const SocketOptions& options) noexcept {
  const auto bound = network_.bind(options, host(options.local.family()));
  if (!bound) {
    return tl::unexpected<std::error_code>(bound.error());
  }
  return BoundSocket(*this, bound->first, bound->second);
}

Result<SocketAddress> SimSocketFactory::route_source(const SocketAddress& remote) noexcept {
  if (remote.family() == AddressFamily::none) {
    return failure(EAFNOSUPPORT);
  }
  return host(remote.family());
}

void SimSocketFactory::close_handle(int handle) noexcept {
  network_.close(handle);
}

SimPeer::SimPeer(SimNetwork& network, const SocketAddress& local) : network_(network) {
  SocketOptions options;
  options.local = local;
  const auto bound = network.bind(options, local);
  MGW_ASSERT(bound);
  handle_ = bound->first;
  local_ = bound->second;
}

int SimPeer::send(const SocketAddress& target, std::span<const std::byte> bytes) {
  return network_.send(handle_, bytes, target);
}

std::optional<SimDatagram> SimPeer::receive() {
  network_.deliver_due();
  return network_.receive(handle_);
}

}  // namespace io
