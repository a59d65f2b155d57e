#pragma once
// A network in memory on virtual time, for tests: datagrams travel between simulated sockets with
// seeded delay, loss, duplication and reordering. The same seed and the same calls give the same
// run. Everything belongs to one thread, the one that steps the simulated world.

#include "io/socket_factory.h"
#include "io/time.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace io {

/// Virtual time: stands still until the simulated world moves it. now() from any thread.
class SimClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const noexcept override {
    return TimePoint(Duration(nanoseconds_.load()));
  }
  /// Moves to `instant`; an earlier one than now() changes nothing.
  void advance_to(TimePoint instant) noexcept;
  void advance(Duration duration) noexcept { advance_to(now() + duration); }
  /// Somebody sets the wall clock.
  void set_wall_clock_offset(Duration offset) noexcept { wall_clock_offset_ = offset.count(); }
  [[nodiscard]] Duration wall_clock_offset() const noexcept override {
    return Duration(wall_clock_offset_.load());
  }

 private:
  /// Starts away from zero, as the monotonic clock of a real machine does.
  std::atomic<std::int64_t> nanoseconds_{std::int64_t{1'000'000'000'000}};
  std::atomic<std::int64_t> wall_clock_offset_{0};
};

/// Pseudo-random numbers (splitmix64) whose sequence depends on the seed alone, not on the library.
class SimRandom {
 public:
  explicit SimRandom(std::uint64_t seed) noexcept : state_(seed) {}
  /// The next number of the sequence, any of 64 bits.
  [[nodiscard]] std::uint64_t next() noexcept;
  /// 0 to `bound` - 1; 0 for a bound of 0.
  [[nodiscard]] std::uint64_t below(std::uint64_t bound) noexcept;
  /// True with this probability (0 to 1).
  [[nodiscard]] bool chance(double probability) noexcept;

 private:
  std::uint64_t state_;
};

/// How datagrams fare from one host to another.
struct SimLink {
  Duration delay{};                    ///< at least so long
  Duration jitter{};                   ///< up to so much longer, evenly spread
  double loss = 0;                     ///< probability, 0 to 1
  double duplication = 0;              ///< probability, 0 to 1
  bool reorder = false;                ///< jitter may change the order
  std::uint32_t mtu_bytes = 65507;     ///< a longer payload fails with EMSGSIZE
  std::uint64_t bytes_per_second = 0;  ///< 0 = unlimited; else sends queue up and may block
  std::uint32_t drop_next = 0;         ///< so many datagrams are lost next
};

/// A datagram in the simulated network.
struct SimDatagram {
  SocketAddress source;
  SocketAddress target;
  std::vector<std::byte> bytes;
  std::uint8_t dscp = 0;
  std::uint8_t priority = 0;
  TimePoint deliver_at{};
};

/// sent + duplicated = delivered + lost + unreachable + overflowed + taken + in flight.
struct SimNetworkCounters {
  std::uint64_t sent = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t delivered = 0;    ///< put into a socket's receive queue
  std::uint64_t lost = 0;         ///< by the link, drop_next or drop_if()
  std::uint64_t unreachable = 0;  ///< no socket there
  std::uint64_t overflowed = 0;   ///< receive queue full
  std::uint64_t taken = 0;        ///< by at_arrival(), before any socket
};

/// The wire and the sockets at its ends. Sockets are named by handles, which are never used twice.
class SimNetwork {
 public:
  /// Datagrams that wait in a socket, about what the kernel's default of 212,992 bytes holds.
  static constexpr std::size_t kReceiveQueueMax = 256;
  /// Bytes that wait in a socket for a slow link, unless its options say otherwise.
  static constexpr std::size_t kSendBufferBytes = 212'992;

  SimNetwork(SimClock& clock, std::uint64_t seed) noexcept : clock_(clock), random_(seed) {}
  SimNetwork(const SimNetwork&) = delete;
  SimNetwork& operator=(const SimNetwork&) = delete;
  SimNetwork(SimNetwork&&) = delete;
  SimNetwork& operator=(SimNetwork&&) = delete;
  ~SimNetwork() = default;

  /// What holds between hosts for which link() was never called.
  [[nodiscard]] SimLink& default_link() noexcept { return default_link_; }
  /// The link from one host to another (ports don't matter), at first a copy of the default.
  [[nodiscard]] SimLink& link(const SocketAddress& from, const SocketAddress& to);
  /// Loses every datagram for which `predicate` is true; an empty function ends that.
  void drop_if(std::function<bool(const SimDatagram&)> predicate) {
    drop_if_ = std::move(predicate);
  }
  /// What `hook` is told of every datagram that arrives, before a socket has it: it may change the
  /// datagram, target included, or take it away (true). An empty function ends that.
  void at_arrival(std::function<bool(SimDatagram&)> hook) { at_arrival_ = std::move(hook); }
  /// Puts a datagram on the wire from its source to its target, as a host does that forwards it.
  void relay(SimDatagram&& datagram);
  /// Sends of the socket bound to `local` fail with EAGAIN while `blocked`.
  void block_sends(const SocketAddress& local, bool blocked) noexcept;
  /// The next `count` sends from any socket fail with `error`.
  void fail_sends(int error, std::uint32_t count) noexcept;
  /// The next `count` binds fail with `error`.
  void fail_binds(int error, std::uint32_t count) noexcept;

  /// When the next datagram arrives somewhere; kNever if none is under way.
  [[nodiscard]] TimePoint next_delivery() const noexcept;
  /// Moves what is due at the clock's present time to the receive queues. Backends and peers call
  /// it themselves.
  void deliver_due();
  [[nodiscard]] const SimNetworkCounters& counters() const noexcept { return counters_; }
  [[nodiscard]] std::size_t in_flight() const noexcept { return flying_.size(); }
  /// Sockets that are bound.
  [[nodiscard]] std::size_t sockets() const noexcept { return sockets_.size(); }
  [[nodiscard]] SimClock& clock() noexcept { return clock_; }

  // For SimSocketFactory, SimBackend and SimPeer.

  /// The socket's handle and address. `host` stands for the unspecified address.
  [[nodiscard]] Result<std::pair<int, SocketAddress>> bind(const SocketOptions& options,
                                                           const SocketAddress& host);
  void close(int handle);
  /// Sends from a socket to `target` (ignored when connected); 0 or the errno.
  [[nodiscard]] int send(int handle, std::span<const std::byte> bytes, const SocketAddress& target);
  /// The oldest datagram that waits in the socket.
  [[nodiscard]] std::optional<SimDatagram> receive(int handle);
  /// The pending error of a connected socket, which is thereby cleared; 0 if there is none.
  [[nodiscard]] int take_error(int handle) noexcept;
  [[nodiscard]] bool has_work(int handle) const noexcept;
  /// From now on the handle is appended to `ready` when it begins to have work.
  void watch(int handle, std::deque<int>* ready);

 private:
  struct Socket {
    SocketAddress local;
    std::optional<SocketAddress> connected;
    std::uint8_t dscp = 0;
    std::uint8_t priority = 0;
    std::size_t send_buffer_bytes = kSendBufferBytes;
    std::size_t send_queued_bytes = 0;
    std::deque<std::pair<TimePoint, std::size_t>> departures;  // when so many bytes are gone
    std::deque<SimDatagram> received;
    int error = 0;
    bool send_blocked = false;
    std::deque<int>* ready = nullptr;
  };
  struct Flying {
    SimDatagram datagram;
    std::uint64_t sequence = 0;
    int sender = -1;
  };
  struct Wire {
    SimLink link;
    bool own = false;  // link() was called: no longer follows the default
    TimePoint last_arrival{};
    TimePoint free_at{};
  };
  struct Later {
    bool operator()(const Flying& left, const Flying& right) const noexcept;
  };
  using HostPair = std::pair<SocketAddress, SocketAddress>;
  struct HostPairHash {
    std::size_t operator()(const HostPair& pair) const noexcept {
      return pair.first.hash() * 31 + pair.second.hash();
    }
  };

  [[nodiscard]] Wire& wire(const SocketAddress& from, const SocketAddress& to);
  [[nodiscard]] std::optional<SocketAddress> free_port(const SocketAddress& host);
  [[nodiscard]] int refuse_send(Socket& socket, const SocketAddress& target, std::size_t bytes,
                                const SimLink& link);
  [[nodiscard]] TimePoint departure_of(const SimLink& link, Wire& path, std::size_t bytes) const;
  void launch(SimLink& link, Wire& path, SimDatagram&& datagram, int sender);
  void fly(const SimLink& link, Wire& path, SimDatagram datagram, int sender);
  void deliver(Flying&& flying);
  void mark_ready(int handle, Socket& socket);

  SimClock& clock_;
  SimRandom random_;
  SimLink default_link_;
  std::unordered_map<HostPair, Wire, HostPairHash> wires_;
  std::map<int, Socket> sockets_;
  std::unordered_map<SocketAddress, int> bound_;
  std::vector<Flying> flying_;  // a heap
  std::function<bool(const SimDatagram&)> drop_if_;
  std::function<bool(SimDatagram&)> at_arrival_;
  SimNetworkCounters counters_;
  std::uint64_t sequence_ = 0;
  int next_handle_ = 0;
  std::uint16_t next_port_ = 32768;
  int send_error_ = 0;
  std::uint32_t send_errors_left_ = 0;
  int bind_error_ = 0;
  std::uint32_t bind_errors_left_ = 0;
};

/// Binds sockets in a SimNetwork. Unlike its interface allows, for the world's thread only.
class SimSocketFactory final : public SocketFactory {
 public:
  /// `host4` and `host6` are the addresses of the machine that this factory stands for: what
  /// binding the unspecified address binds, and what route_source() answers.
  SimSocketFactory(SimNetwork& network, const SocketAddress& host4, const SocketAddress& host6);
  /// On 127.0.0.1 and ::1.
  explicit SimSocketFactory(SimNetwork& network);
  [[nodiscard]] Result<BoundSocket> bind_udp(const SocketOptions& options) noexcept override;
  [[nodiscard]] Result<SocketAddress> route_source(const SocketAddress& remote) noexcept override;
  void close_handle(int handle) noexcept override;

 private:
  [[nodiscard]] const SocketAddress& host(AddressFamily family) const noexcept;

  SimNetwork& network_;
  SocketAddress host4_;
  SocketAddress host6_;
};

/// A plain socket in the simulated network for the far end: a call agent, an RTP peer.
class SimPeer {
 public:
  /// Binds `local` (port 0 = any); asserts that it is free.
  SimPeer(SimNetwork& network, const SocketAddress& local);
  SimPeer(const SimPeer&) = delete;
  SimPeer& operator=(const SimPeer&) = delete;
  SimPeer(SimPeer&&) = delete;
  SimPeer& operator=(SimPeer&&) = delete;
  ~SimPeer() { network_.close(handle_); }

  [[nodiscard]] const SocketAddress& local() const noexcept { return local_; }
  /// 0 or the errno.
  int send(const SocketAddress& target, std::span<const std::byte> bytes);
  /// The oldest datagram that has arrived by now.
  [[nodiscard]] std::optional<SimDatagram> receive();

 private:
  SimNetwork& network_;
  int handle_ = -1;
  SocketAddress local_;
};

}  // namespace io
