#include "io/unix_socket.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace io {

namespace {

/// Descriptors that one message may bring before the kernel closes the rest: one is expected.
constexpr std::size_t kPassedMax = 4;

/// Takes the descriptors of a received message over: the first one is returned, others closed.
UnixSocket take_descriptors(msghdr& message) noexcept {
  UnixSocket first;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) {
      continue;
    }
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
      UnixSocket owned(descriptor);
      if (!first) {
        first = std::move(owned);
      }
    }
  }
  return first;
}

}  // namespace

UnixSocket& UnixSocket::operator=(UnixSocket&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

UnixSocket::~UnixSocket() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

Result<UnixSocket> UnixSocket::connect_packets(const std::string& path) noexcept {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return failure(ENAMETOOLONG);
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  UnixSocket made(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!made) {
    return failure(errno);
  }
  // connect(2) on a UNIX socket is done when it returns, or fails at once.
  if (::connect(made.descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) !=
      0) {
    return failure(errno);
  }
  return made;
}

Result<std::size_t> UnixSocket::send(std::span<const std::byte> octets) noexcept {
  const ssize_t sent =
      ::send(descriptor_, octets.data(), octets.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent < 0) {
    return failure(errno);
  }
  return static_cast<std::size_t>(sent);
}

Result<std::size_t> UnixSocket::receive(std::span<std::byte> out) noexcept {
  const ssize_t received = ::recv(descriptor_, out.data(), out.size(), MSG_DONTWAIT);
  if (received < 0) {
    return failure(errno);
  }
  return static_cast<std::size_t>(received);
}

Result<std::size_t> UnixSocket::receive(std::span<std::byte> out, UnixSocket& passed) noexcept {
  iovec vector{out.data(), out.size()};
  alignas(cmsghdr) std::byte control[CMSG_SPACE(kPassedMax * sizeof(int))];
  msghdr message{};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  const ssize_t received = ::recvmsg(descriptor_, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (received < 0) {
    return failure(errno);
  }
  passed = take_descriptors(message);
  return static_cast<std::size_t>(received);
}

void UnixSocket::limit_send_buffer(int octets) noexcept {
  // What fails here leaves the kernel's default, which is a bound too.
  static_cast<void>(::setsockopt(descriptor_, SOL_SOCKET, SO_SNDBUF, &octets, sizeof(octets)));
}

}  // namespace io
