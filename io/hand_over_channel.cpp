#include "io/hand_over_channel.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

namespace io {

namespace {

/// Room for the descriptors of a message.
using ControlBytes = std::array<char, CMSG_SPACE(HandOverChannel::kDescriptorsMax * sizeof(int))>;

Result<sockaddr_un> address_of(const std::string& path) noexcept {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return failure(ENAMETOOLONG);
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

Result<ucred> credentials(int descriptor) noexcept {
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (::getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return failure(errno);
  }
  return peer;
}

void take_descriptors(msghdr& header, std::vector<int>& descriptors) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) {
      continue;
    }
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
      descriptors.push_back(descriptor);
    }
  }
}

}  // namespace

HandOverMessage::~HandOverMessage() {
  for (const int descriptor : descriptors) {
    ::close(descriptor);
  }
}

HandOverChannel::HandOverChannel(HandOverChannel&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

HandOverChannel& HandOverChannel::operator=(HandOverChannel&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

HandOverChannel::~HandOverChannel() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

Result<HandOverChannel> HandOverChannel::connect(const std::string& path) noexcept {
  const auto address = address_of(path);
  if (!address) {
    return tl::unexpected(address.error());
  }
  HandOverChannel channel(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (channel.descriptor_ < 0 ||
      ::connect(channel.descriptor_, reinterpret_cast<const sockaddr*>(&*address),
                sizeof(*address)) != 0) {
    return failure(errno);
  }
  return channel;
}

void HandOverChannel::limit_waiting(Duration limit) noexcept {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(limit);
  timeval value{};
  value.tv_sec = seconds.count();
  value.tv_usec = std::chrono::duration_cast<std::chrono::microseconds>(limit - seconds).count();
  static_cast<void>(::setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &value, sizeof(value)));
  static_cast<void>(::setsockopt(descriptor_, SOL_SOCKET, SO_SNDTIMEO, &value, sizeof(value)));
}

Result<unsigned> HandOverChannel::peer_user() const noexcept {
  return credentials(descriptor_).map([](const ucred& peer) { return unsigned{peer.uid}; });
}

Result<int> HandOverChannel::peer_process() const noexcept {
  return credentials(descriptor_).map([](const ucred& peer) { return int{peer.pid}; });
}

Result<void> HandOverChannel::send(char kind, std::string_view bytes,
                                   std::span<const int> descriptors) noexcept {
  if (bytes.size() > kBytesMax || descriptors.size() > kDescriptorsMax) {
    return failure(EMSGSIZE);
  }
  std::array<iovec, 2> parts{};
  parts[0] = {&kind, sizeof(kind)};
  parts[1] = {const_cast<char*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) ControlBytes control{};
  msghdr header{};
  header.msg_iov = parts.data();
  header.msg_iovlen = parts.size();
  if (!descriptors.empty()) {
    header.msg_control = control.data();
    header.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* part = CMSG_FIRSTHDR(&header);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(part), descriptors.data(), descriptors.size_bytes());
  }
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(descriptor_, &header, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) {
    return failure(errno);
  }
  return {};
}

Result<HandOverMessage> HandOverChannel::receive() {
  HandOverMessage message;
  message.bytes.resize(kBytesMax);
  std::array<iovec, 2> parts{};
  parts[0] = {&message.kind, sizeof(message.kind)};
  parts[1] = {message.bytes.data(), message.bytes.size()};
  alignas(cmsghdr) ControlBytes control{};
  msghdr header{};
  header.msg_iov = parts.data();
  header.msg_iovlen = parts.size();
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  ssize_t size = 0;
  do {
    size = ::recvmsg(descriptor_, &header, MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  if (size < 0) {
    return failure(errno);
  }
  take_descriptors(header, message.descriptors);
  if (size == 0) {
    return failure(ECONNRESET);
  }
  if ((header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
    return failure(EMSGSIZE);
  }
  message.bytes.resize(static_cast<std::size_t>(size) - sizeof(message.kind));
  return message;
}

HandOverServer::~HandOverServer() {
  close();
}

Result<void> HandOverServer::open(const std::string& path) noexcept {
  const auto address = address_of(path);
  if (!address) {
    return tl::unexpected(address.error());
  }
  const int descriptor = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) {
    return failure(errno);
  }
  ::unlink(path.c_str());
  // So that there is no moment in which others may connect.
  const mode_t before = ::umask(S_IRWXG | S_IRWXO | S_IXUSR);
  const int bound =
      ::bind(descriptor, reinterpret_cast<const sockaddr*>(&*address), sizeof(*address));
  const int error = errno;
  ::umask(before);
  if (bound != 0 || ::listen(descriptor, 1) != 0) {
    const int reason = bound != 0 ? error : errno;
    ::close(descriptor);
    return failure(reason);
  }
  close();
  descriptor_ = descriptor;
  path_ = path;
  return {};
}

Result<HandOverChannel> HandOverServer::accept() noexcept {
  const int descriptor = ::accept4(descriptor_, nullptr, nullptr, SOCK_CLOEXEC);
  if (descriptor < 0) {
    return failure(errno);
  }
  return HandOverChannel(descriptor);
}

void HandOverServer::close() noexcept {
  if (descriptor_ < 0) {
    return;
  }
  ::unlink(path_.c_str());
  ::close(std::exchange(descriptor_, -1));
}

}  // namespace io
