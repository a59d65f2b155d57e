#pragma once
// A TCP connection whose every step has a deadline.

#include "io/socket_address.h"
#include "io/time.h"

#include <tl/expected.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace mgwctl {

/// See above. Errors are texts for people, with the server's address.
class TcpStream {
 public:
  TcpStream(TcpStream&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)), server_(other.server_) {}
  TcpStream& operator=(TcpStream&& other) noexcept;
  TcpStream(const TcpStream&) = delete;
  TcpStream& operator=(const TcpStream&) = delete;
  ~TcpStream();

  /// Connects, at the latest at the deadline.
  [[nodiscard]] static tl::expected<TcpStream, std::string> connect(const io::SocketAddress& server,
                                                                    io::TimePoint deadline);
  /// Sends a short text, which has to fit into the socket's buffer.
  [[nodiscard]] tl::expected<void, std::string> send(std::string_view text);
  /// What comes next, at most 64 KiB; empty: the server has closed the connection.
  [[nodiscard]] tl::expected<std::string, std::string> receive(io::TimePoint deadline);

 private:
  TcpStream(int descriptor, const io::SocketAddress& server) noexcept
      : descriptor_(descriptor), server_(server) {}

  [[nodiscard]] tl::unexpected<std::string> failure(int error) const;

  int descriptor_;
  io::SocketAddress server_;
};

}  // namespace mgwctl
