#pragma once
// The control thread's event loop: the MGCP socket, signals, the once-a-second tick, and wake-ups
// from the workers, and TCP servers. With mgw/asio_streams.h the only code that knows Boost.Asio.

#include "io/result.h"
#include "io/socket_address.h"
#include "io/time.h"
#include "mgw/call_control.h"
#include "mgw/stream_session.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

namespace mgw {

/// What the loop calls; all on the control thread.
struct FrontHandlers {
  /// A datagram from an agent.
  std::function<void(const io::SocketAddress& agent, std::string_view datagram)> on_datagram;
  /// A burst of datagrams has been read; whether none are left.
  std::function<void(bool emptied)> on_burst_end;
  /// wake() was called.
  std::function<void()> on_wake;
  /// About once a second.
  std::function<void()> on_tick;
  /// SIGINT or SIGTERM came; the loop ends when this returns true.
  std::function<bool(int signal)> on_stop_signal;
  /// SIGHUP came.
  std::function<void()> on_reload_signal;
  /// SIGUSR2 came.
  std::function<void()> on_upgrade_signal;
  /// Called each heartbeat_interval, unless that is zero.
  std::function<void()> on_heartbeat;
  io::Duration heartbeat_interval{0};
};

/// Owns the MGCP socket. Control thread only, but for wake().
class AsioFront final : public AgentSender {
 public:
  AsioFront();
  AsioFront(const AsioFront&) = delete;
  AsioFront& operator=(const AsioFront&) = delete;
  AsioFront(AsioFront&&) = delete;
  AsioFront& operator=(AsioFront&&) = delete;
  ~AsioFront() override;

  /// Binds the MGCP socket; `call_agent` with a family connects it. The address it got, or why not.
  [[nodiscard]] io::Result<io::SocketAddress> open(const io::SocketAddress& local,
                                                   const io::SocketAddress& call_agent);
  /// As open(), with a UDP socket that is bound already; takes the descriptor over. EPROTOTYPE: it
  /// is none.
  [[nodiscard]] io::Result<io::SocketAddress> adopt(int descriptor,
                                                    const io::SocketAddress& call_agent);
  /// Listens on a TCP address as long as the front lives. The address it got, or why not.
  [[nodiscard]] io::Result<io::SocketAddress> listen(const io::SocketAddress& local,
                                                     StreamService service);
  /// Calls `readable` whenever the descriptor, which stays the caller's, is readable.
  void watch(int descriptor, std::function<void()> readable);
  /// The MGCP socket.
  [[nodiscard]] int descriptor() const noexcept;
  /// Sends what the sessions of TCP connections have to say of their own accord.
  void pump_streams();
  /// Ends all TCP connections and servers.
  void close_streams();
  /// Runs until a stop signal is accepted, or stop() is called.
  void run(FrontHandlers handlers);
  /// Ends run() as soon as the present handler returns. Control thread only.
  void stop();
  /// Gets on_wake called soon. Any thread; several calls may become one.
  void wake();
  /// Sends from the MGCP socket; never blocks.
  void send(const io::SocketAddress& agent, std::string_view datagram) noexcept override;

 private:
  struct Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace mgw
