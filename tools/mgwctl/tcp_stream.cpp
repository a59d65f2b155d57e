#include "tools/mgwctl/tcp_stream.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace mgwctl {
namespace {

constexpr std::size_t kPartBytesMax = 65536;

std::string error_text(const io::SocketAddress& server, int error) {
  return fmt::format("{}: {}", server.text(), std::generic_category().message(error));
}

// False at the deadline.
bool wait_for(int descriptor, short events, io::TimePoint deadline) {
  const io::Duration left = std::max(deadline - io::MonotonicClock().now(), io::Duration::zero());
  const timespec timeout{static_cast<std::time_t>(left.count() / 1'000'000'000),
                         static_cast<long>(left.count() % 1'000'000'000)};
  pollfd wanted{descriptor, events, 0};
  return ::ppoll(&wanted, 1, &timeout, nullptr) == 1;
}

}  // namespace

TcpStream& TcpStream::operator=(TcpStream&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(server_, other.server_);
  return *this;
}

TcpStream::~TcpStream() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

tl::unexpected<std::string> TcpStream::failure(int error) const {
  return tl::unexpected(error_text(server_, error));
}

tl::expected<TcpStream, std::string> TcpStream::connect(const io::SocketAddress& server,
                                                        io::TimePoint deadline) {
  TcpStream stream(
      ::socket(server.kernel_address()->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0),
      server);
  if (stream.descriptor_ < 0) {
    return stream.failure(errno);
  }
  if (::connect(stream.descriptor_, server.kernel_address(), server.kernel_size()) != 0 &&
      errno != EINPROGRESS) {
    return stream.failure(errno);
  }
  int error = ETIMEDOUT;
  socklen_t size = sizeof error;
  if (wait_for(stream.descriptor_, POLLOUT, deadline)) {
    ::getsockopt(stream.descriptor_, SOL_SOCKET, SO_ERROR, &error, &size);
  }
  if (error != 0) {
    return stream.failure(error);
  }
  return stream;
}

tl::expected<void, std::string> TcpStream::send(std::string_view text) {
  if (::send(descriptor_, text.data(), text.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(text.size())) {
    return failure(errno);
  }
  return {};
}

tl::expected<std::string, std::string> TcpStream::receive(io::TimePoint deadline) {
  if (!wait_for(descriptor_, POLLIN, deadline)) {
    return failure(ETIMEDOUT);
  }
  std::string part(kPartBytesMax, '\0');
  const ssize_t got = ::recv(descriptor_, part.data(), part.size(), 0);
  part.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return part;
}

}  // namespace mgwctl
