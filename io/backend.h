#pragma once
// How a worker talks to the kernel: sockets in, one vector of received datagrams and events per
// pass, one vector of sends per pass, one submission per pass. Three implementations (poll through
// epoll, io_uring, simulated) keep the same contract; tests/contract holds it as tests.

#include "io/assert.h"
#include "io/coalescing.h"
#include "io/counter.h"
#include "io/datagram.h"
#include "io/result.h"
#include "io/socket_address.h"
#include "io/socket_factory.h"
#include "io/time.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace io {

/// What happened to a socket besides datagrams.
enum class SocketEventKind : std::uint8_t {
  closed,         ///< the last event of this id: nothing is in flight, the port is free
  receive_error,  ///< an error was reported (ICMP on a connected socket); it stays open
};

/// One such event.
struct SocketEvent {
  SocketId socket;
  std::uint64_t tag = 0;
  SocketEventKind kind = SocketEventKind::closed;
  int error = 0;  ///< errno of receive_error
};

/// What one pass brought. The spans stay valid until the next pass; the datagrams may be moved
/// from.
struct PassResult {
  std::span<Datagram> received;   ///< per socket in order of arrival
  std::span<SocketEvent> events;  ///< closed comes after the last datagram of its socket
  bool woken = false;             ///< wake() was called since the last pass
};

/// Counted by the backend's thread, read by any.
struct BackendCounters {
  Counter passes;                ///< calls of pass() that came back
  Counter system_calls;          ///< made by passes: waits, receives, sends, submissions
  Counter received;              ///< datagrams handed out
  Counter received_joined;       ///< of those: came joined with others (UDP_GRO)
  Counter received_oversize;     ///< longer than a buffer: dropped
  Counter received_no_buffer;    ///< times that receiving paused for want of a buffer; nothing is
                                 ///< lost by that alone
  Counter sent;                  ///< datagrams that the kernel took
  Counter sent_joined;           ///< of those: left in one send with others (UDP_SEGMENT)
  Counter joined_sends;          ///< such sends
  Counter joining_refused;       ///< times that device or path could not do it: that socket joins
                                 ///< only shorter ones from then on, or none
  Counter send_would_block;      ///< dropped: the socket's send buffer was full
  Counter send_unreachable;      ///< dropped: ECONNREFUSED, EHOSTUNREACH, ENETUNREACH …
  Counter send_failed;           ///< dropped: any other error
  Counter send_closed;           ///< dropped: the socket was closed or closing
  Counter receive_errors;        ///< socket errors reported while receiving (ICMP)
  Counter coalescing_waits;      ///< times that a pass waited for more datagrams
  Counter coalescing_ns;         ///< nanoseconds of those waits: the most that they delayed a
                                 ///< datagram, summed up
  Counter coalescing_window_ns;  ///< gauge: the longest wait at the present rate of packets
  Counter sockets;               ///< gauge: open or closing
};

/// One per worker thread. Only wake() and counters() may be called from other threads; everything
/// else from one thread, the one that called pass() first (the io_uring implementation binds its
/// ring to it).
class alignas(kCacheLineBytes) Backend {
 public:
  /// At most this many datagrams are handed out by one pass; what is left comes with the next one,
  /// without waiting.
  static constexpr std::size_t kReceivedPerPassMax = 1024;
  /// At most this many datagrams of one socket in a row are taken in one pass while others wait
  /// (fairness). What the kernel received joined counts as one there and is handed out whole.
  static constexpr std::size_t kReceivedPerSocketMax = 32;

  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  Backend(Backend&&) = delete;
  Backend& operator=(Backend&&) = delete;
  /// Closes what is still open and waits until nothing is in flight.
  virtual ~Backend() = default;

  /// "poll", "io_uring" or "simulated".
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;

  /// Takes over a bound socket; its datagrams and events carry `tag`. Errors: ENFILE/ENOMEM/ENOSPC
  /// when the kernel or a limit refuses; the socket is then closed.
  [[nodiscard]] virtual Result<SocketId> open(BoundSocket&& socket, std::uint64_t tag) noexcept = 0;

  /// Begins to close. Datagrams queued before by send() still leave; nothing is received any more
  /// (from the next pass on no datagram of this id is handed out). The event `closed` follows from
  /// a later pass, exactly once, when the kernel has let go of the port. Closing twice is allowed
  /// and does nothing.
  virtual void close(SocketId socket) noexcept = 0;

  /// From now on the socket hears `peer` only (family none: everybody again); sending to others
  /// stays possible. A backend that gains nothing by it does nothing, so what was queued in the
  /// kernel before, or comes all the same, still has to be checked. Only for sockets that were
  /// bound to a port of choice: the kernel takes one that it chose away when the peer goes.
  virtual void set_peer(SocketId socket, const SocketAddress& peer) noexcept;

  /// Queues a datagram. It leaves with the next pass, in order with all others of its socket. A
  /// datagram that the kernel does not take at once is dropped and counted: late audio is
  /// worthless, and nothing may overtake. Never blocks, never allocates up to the capacity given at
  /// construction. Datagrams of one size that follow each other from one socket to one peer leave
  /// joined where the kernel can do it (the last may be shorter), and are then taken or dropped
  /// together.
  void send(Datagram&& datagram) noexcept { outgoing_.push_back(std::move(datagram)); }

  /// One pass: submits all that is queued, waits until a datagram, an event or a wake comes or
  /// `deadline` is reached (not at all if something is left over from before), and hands out what
  /// there is. The send buffers are free when it returns.
  [[nodiscard]] virtual PassResult pass(TimePoint deadline) noexcept = 0;

  /// Makes a waiting or the next pass return without waiting. Thread-safe, async-signal-safe.
  virtual void wake() noexcept = 0;

  /// Sockets that are open or closing.
  [[nodiscard]] virtual std::uint32_t sockets() const noexcept = 0;

  [[nodiscard]] const BackendCounters& counters() const noexcept { return counters_; }

 protected:
  /// True for what ICMP or the routing table says about a peer, as opposed to our own mistakes.
  [[nodiscard]] static bool is_unreachable(int error) noexcept;
  /// Counts a datagram that was dropped because sending it failed with `error`.
  void count_send_error(int error) noexcept;

  BackendCounters counters_;
  DatagramVector outgoing_;  ///< what send() queued since the last pass
};

/// What a backend is made with.
struct BackendOptions {
  /// Most sockets open at once; 0 = as many as RLIMIT_NOFILE allows.
  std::uint32_t sockets_max = 0;
  /// set_peer() connects the socket: the kernel looks the route up once, and turns strangers away,
  /// uncounted, with an ICMP error.
  bool connect_peers = false;
  /// Whether and how long passes wait for more datagrams.
  CoalescingOptions coalescing{};
};

}  // namespace io
