#include "tools/agent/mgcp_socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <system_error>
#include <utility>

namespace agent {
namespace {

constexpr std::size_t kDatagramBytesMax = 65536;
constexpr int kSocketBufferBytes = 4 * 1024 * 1024;  // some thousand answers at once

std::string error_text(const char* what) {
  return std::string(what) + ": " + std::generic_category().message(errno);
}

// How long ago the kernel stamped the datagram; SO_TIMESTAMPNS is on the wall clock (socket(7)).
io::Duration age_of(const msghdr& header) noexcept {
  for (cmsghdr* control = CMSG_FIRSTHDR(&header); control != nullptr;
       control = CMSG_NXTHDR(const_cast<msghdr*>(&header), control)) {
    if (control->cmsg_level == SOL_SOCKET && control->cmsg_type == SCM_TIMESTAMPNS) {
      timespec stamp{};
      timespec now{};
      std::memcpy(&stamp, CMSG_DATA(control), sizeof stamp);
      clock_gettime(CLOCK_REALTIME, &now);
      const io::Duration age = std::chrono::seconds(now.tv_sec - stamp.tv_sec) +
                               std::chrono::nanoseconds(now.tv_nsec - stamp.tv_nsec);
      return std::clamp(age, io::Duration::zero(), io::Duration(std::chrono::seconds(1)));
    }
  }
  return io::Duration::zero();
}

}  // namespace

MgcpSocket::MgcpSocket(int descriptor) : descriptor_(descriptor), buffer_(kDatagramBytesMax) {}

MgcpSocket::MgcpSocket(MgcpSocket&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), buffer_(std::move(other.buffer_)) {}

MgcpSocket& MgcpSocket::operator=(MgcpSocket&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(buffer_, other.buffer_);
  return *this;
}

MgcpSocket::~MgcpSocket() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

tl::expected<MgcpSocket, std::string> MgcpSocket::open(const io::SocketAddress& gateway) {
  const int family = gateway.kernel_address()->sa_family;
  const int descriptor = ::socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor < 0) {
    return tl::unexpected(error_text("socket"));
  }
  MgcpSocket socket(descriptor);
  const int on = 1;
  ::setsockopt(descriptor, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
  ::setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &kSocketBufferBytes, sizeof kSocketBufferBytes);
  if (::connect(descriptor, gateway.kernel_address(), gateway.kernel_size()) != 0) {
    return tl::unexpected(error_text(gateway.text().c_str()));
  }
  return socket;
}

void MgcpSocket::send(std::string_view datagram) noexcept {
  // The error of an earlier datagram (ECONNREFUSED by ICMP) is reported on this one instead of
  // sending it.
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (::send(descriptor_, datagram.data(), datagram.size(), MSG_DONTWAIT) >= 0 ||
        errno != ECONNREFUSED) {
      return;
    }
  }
}

bool MgcpSocket::receive(ReceivedText& received) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    iovec vector{buffer_.data(), buffer_.size()};
    alignas(cmsghdr) std::array<char, 128> control{};
    msghdr header{};
    header.msg_iov = &vector;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    const ssize_t size = ::recvmsg(descriptor_, &header, MSG_DONTWAIT);
    if (size >= 0) {
      received.text = std::string_view(buffer_.data(), static_cast<std::size_t>(size));
      received.received_at = io::MonotonicClock().now() - age_of(header);
      return true;
    }
    if (errno != ECONNREFUSED && errno != EINTR) {
      return false;
    }
  }
  return false;
}

void MgcpSocket::wait(io::TimePoint deadline) const noexcept {
  const io::Duration left =
      std::clamp(deadline == io::kNever ? io::Duration(std::chrono::seconds(1))
                                        : deadline - io::MonotonicClock().now(),
                 io::Duration::zero(), io::Duration(std::chrono::seconds(1)));
  const timespec timeout{static_cast<std::time_t>(left.count() / 1'000'000'000),
                         static_cast<long>(left.count() % 1'000'000'000)};
  pollfd wanted{descriptor_, POLLIN, 0};
  ::ppoll(&wanted, 1, &timeout, nullptr);
}

}  // namespace agent
