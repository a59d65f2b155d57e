#pragma once
// Makes bound UDP sockets. Separate from the backends, so that the control thread learns at once
// whether a port is free, while the worker's backend takes the bound socket over later.

#include "io/result.h"
#include "io/socket_address.h"

#include <cstdint>
#include <optional>
#include <utility>

namespace io {

/// What a UDP socket is to be.
struct SocketOptions {
  SocketAddress local;                     ///< address to bind; port 0 = any free port
  std::optional<SocketAddress> connected;  ///< if set, only this peer is heard and sent to
  std::uint8_t dscp = 0;                   ///< 0 to 63, RFC 2474; for IPv4 and IPv6
  std::uint8_t priority = 0;               ///< SO_PRIORITY; over 6 needs CAP_NET_ADMIN
  std::uint32_t receive_buffer_bytes = 0;  ///< SO_RCVBUF; 0 = the kernel's default
  std::uint32_t send_buffer_bytes = 0;     ///< SO_SNDBUF; 0 = the kernel's default
  /// Let the kernel join datagrams that one peer sends in bursts (UDP_GRO, Linux 5.0), for sockets
  /// that carry many calls. They are handed out singly all the same. Nothing happens where the
  /// kernel can't.
  bool join_received = false;
  /// Let runs of datagrams to one peer leave joined (UDP_SEGMENT, Linux 4.18), for such sockets.
  /// What watches the interface of this machine may see a run as one datagram. Nothing happens
  /// where the kernel can't.
  bool join_sent = false;
};

class SocketFactory;

/// Owns one bound socket that no backend has yet. Closes it when destroyed. Move-only; may move
/// between threads.
class BoundSocket {
 public:
  BoundSocket() noexcept = default;
  BoundSocket(SocketFactory& factory, int handle, const SocketAddress& local,
              bool joins_received = false, bool joins_sent = false) noexcept
      : factory_(&factory),
        handle_(handle),
        joins_received_(joins_received),
        joins_sent_(joins_sent),
        local_(local) {}
  BoundSocket(BoundSocket&& other) noexcept
      : factory_(std::exchange(other.factory_, nullptr)),
        handle_(std::exchange(other.handle_, -1)),
        joins_received_(other.joins_received_),
        joins_sent_(other.joins_sent_),
        local_(other.local_) {}
  BoundSocket& operator=(BoundSocket&& other) noexcept;
  BoundSocket(const BoundSocket&) = delete;
  BoundSocket& operator=(const BoundSocket&) = delete;
  ~BoundSocket();

  [[nodiscard]] explicit operator bool() const noexcept { return handle_ >= 0; }
  /// The address that it is bound to, with the real port.
  [[nodiscard]] const SocketAddress& local() const noexcept { return local_; }
  /// True if a receive may bring several datagrams at once (UDP_GRO). For backends.
  [[nodiscard]] bool joins_received() const noexcept { return joins_received_; }
  /// True if a send may take several datagrams at once (UDP_SEGMENT). For backends.
  [[nodiscard]] bool joins_sent() const noexcept { return joins_sent_; }
  /// The file descriptor (or simulated handle) without giving it up. For backends.
  [[nodiscard]] int handle() const noexcept { return handle_; }
  /// Gives the file descriptor up to the caller, who closes it. For backends.
  [[nodiscard]] int release() noexcept { return std::exchange(handle_, -1); }

 private:
  SocketFactory* factory_ = nullptr;
  int handle_ = -1;
  bool joins_received_ = false;
  bool joins_sent_ = false;
  SocketAddress local_;
};

/// Thread-safe: all methods may be called from any thread.
class SocketFactory {
 public:
  SocketFactory() = default;
  SocketFactory(const SocketFactory&) = delete;
  SocketFactory& operator=(const SocketFactory&) = delete;
  SocketFactory(SocketFactory&&) = delete;
  SocketFactory& operator=(SocketFactory&&) = delete;
  virtual ~SocketFactory() = default;

  /// A bound, non-blocking UDP socket. Errors: EADDRINUSE, EADDRNOTAVAIL, EMFILE (also when the
  /// process comes within a reserve of its limit on open files, so that control surfaces keep
  /// working), EAFNOSUPPORT, EPERM …
  [[nodiscard]] virtual Result<BoundSocket> bind_udp(const SocketOptions& options) noexcept = 0;
  /// The local address from which the kernel would reach `remote` (no packet is sent). Port 0.
  [[nodiscard]] virtual Result<SocketAddress> route_source(
      const SocketAddress& remote) noexcept = 0;
  /// Closes a handle that was made here. For BoundSocket.
  virtual void close_handle(int handle) noexcept = 0;
};

/// The kernel's sockets.
class KernelSocketFactory final : public SocketFactory {
 public:
  /// `reserved_descriptors`: how many file descriptors of RLIMIT_NOFILE RTP sockets must leave
  /// free.
  explicit KernelSocketFactory(std::uint32_t reserved_descriptors = 32) noexcept;
  [[nodiscard]] Result<BoundSocket> bind_udp(const SocketOptions& options) noexcept override;
  [[nodiscard]] Result<SocketAddress> route_source(const SocketAddress& remote) noexcept override;
  void close_handle(int handle) noexcept override;
  /// A bound UDP socket that another process made, with these options; the address in them is not
  /// looked at. Takes the descriptor over.
  [[nodiscard]] Result<BoundSocket> adopt(int descriptor, const SocketOptions& options) noexcept;

 private:
  std::uint32_t reserved_descriptors_;
};

}  // namespace io
