#pragma once
// Sockets between the programs of one machine (unix(7)), for the drivers of lines that another
// program serves. Nothing here waits: what can't be done at once fails with EAGAIN.

#include "io/result.h"

#include <cstddef>
#include <span>
#include <string>
#include <utility>

namespace io {

/// Owns one connected UNIX socket, or any descriptor that came through one. Closes it when
/// destroyed. Move-only; one thread at a time.
class UnixSocket {
 public:
  UnixSocket() noexcept = default;
  /// Takes the descriptor over.
  explicit UnixSocket(int descriptor) noexcept : descriptor_(descriptor) {}
  UnixSocket(UnixSocket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  UnixSocket& operator=(UnixSocket&& other) noexcept;
  UnixSocket(const UnixSocket&) = delete;
  UnixSocket& operator=(const UnixSocket&) = delete;
  ~UnixSocket();

  /// Connects to a server of message boundaries and order (SOCK_SEQPACKET). Errors: ENOENT,
  /// ECONNREFUSED, EACCES, ENAMETOOLONG (the kernel takes 107 octets), EAGAIN (the server has too
  /// many clients waiting) …
  [[nodiscard]] static Result<UnixSocket> connect_packets(const std::string& path) noexcept;

  [[nodiscard]] explicit operator bool() const noexcept { return descriptor_ >= 0; }
  /// Sends what fits; of messages all or nothing. Returns how many octets. Errors: EAGAIN, EPIPE …
  [[nodiscard]] Result<std::size_t> send(std::span<const std::byte> octets) noexcept;
  /// Receives what is there, at most a message. 0: the other end has closed. Errors: EAGAIN …
  [[nodiscard]] Result<std::size_t> receive(std::span<std::byte> out) noexcept;
  /// The same, with the descriptor that may have come along (SCM_RIGHTS); further ones are closed.
  [[nodiscard]] Result<std::size_t> receive(std::span<std::byte> out, UnixSocket& passed) noexcept;
  /// Bounds what waits for a receiver that does not read: about this many octets, with the
  /// kernel's own costs of each send among them (SO_SNDBUF). No effect on what is no socket.
  void limit_send_buffer(int octets) noexcept;

 private:
  int descriptor_ = -1;
};

}  // namespace io
