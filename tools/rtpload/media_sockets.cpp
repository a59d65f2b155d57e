#include "tools/rtpload/media_sockets.h"

#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <system_error>

namespace rtpload {
namespace {

// A socket that is shared by hundreds of legs must hold what all of them hear in some milliseconds.
constexpr int kSocketBufferBytes = 4 * 1024 * 1024;
// The kernel hands out ports; about every second one is even and has a free successor.
constexpr int kBindAttemptsMax = 200;
constexpr std::size_t kControlBytes = CMSG_SPACE(sizeof(timespec));

std::string error_text(const char* what) {
  return std::string(what) + ": " + std::generic_category().message(errno);
}

// A bound non-blocking UDP socket with receive stamps, or -1.
int open_bound(const io::SocketAddress& local) noexcept {
  const int descriptor =
      ::socket(local.kernel_address()->sa_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor < 0) {
    return -1;
  }
  const int on = 1;
  ::setsockopt(descriptor, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
  ::setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &kSocketBufferBytes, sizeof kSocketBufferBytes);
  ::setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &kSocketBufferBytes, sizeof kSocketBufferBytes);
  if (::bind(descriptor, local.kernel_address(), local.kernel_size()) != 0) {
    const int error = errno;
    ::close(descriptor);
    errno = error;
    return -1;
  }
  return descriptor;
}

io::SocketAddress address_of(int descriptor) noexcept {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&storage), &size);
  return io::SocketAddress::from_kernel(&storage, size);
}

std::uint64_t wall_ns(const timespec& time) noexcept {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(time.tv_nsec);
}

std::uint64_t stamp_of(msghdr& header) noexcept {
  const cmsghdr* control = CMSG_FIRSTHDR(&header);
  if (control == nullptr || control->cmsg_level != SOL_SOCKET ||
      control->cmsg_type != SCM_TIMESTAMPNS) {
    return 0;
  }
  timespec stamp{};
  std::memcpy(&stamp, CMSG_DATA(control), sizeof stamp);
  return wall_ns(stamp);
}

}  // namespace

ClockReading read_clocks() noexcept {
  timespec wall{};
  clock_gettime(CLOCK_REALTIME, &wall);
  return {io::MonotonicClock().now(), wall_ns(wall)};
}

void sleep_until(io::TimePoint deadline) noexcept {
  const std::int64_t nanoseconds = deadline.time_since_epoch().count();
  const timespec until{static_cast<std::time_t>(nanoseconds / 1'000'000'000),
                       static_cast<long>(nanoseconds % 1'000'000'000)};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
}

void prepare_precise_sleep() noexcept {
  ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
}

// What the kernel reads and writes, filled in once so that a call only sets what changes.
struct MediaSockets::Vectors {
  struct Outgoing {
    std::array<std::uint8_t, kDatagramBytesMax> bytes;
    io::SocketAddress target;
    iovec vector;
    int descriptor;
  };
  struct Incoming {
    std::array<std::uint8_t, kDatagramBytesMax> bytes;
    alignas(cmsghdr) std::array<std::uint8_t, kControlBytes> control;
    sockaddr_in6 source;
    iovec vector;
  };

  Vectors() {
    for (std::size_t i = 0; i < kReceiveVectorMax; ++i) {
      Incoming& slot = incoming[i];
      slot.vector = {slot.bytes.data(), slot.bytes.size()};
      msghdr& header = incoming_headers[i].msg_hdr;
      header.msg_name = &slot.source;
      header.msg_iov = &slot.vector;
      header.msg_iovlen = 1;
      header.msg_control = slot.control.data();
    }
  }

  std::array<Outgoing, kSendVectorMax> outgoing{};
  std::array<mmsghdr, kSendVectorMax> outgoing_headers{};
  std::array<bool, kSendVectorMax> taken{};
  std::array<Incoming, kReceiveVectorMax> incoming{};
  std::array<mmsghdr, kReceiveVectorMax> incoming_headers{};
  std::array<ReceivedDatagram, kReceiveVectorMax> received{};
  std::array<epoll_event, kReadyMax> events{};
  std::array<Ready, kReadyMax> ready{};
};

MediaSockets::MediaSockets() : vectors_(std::make_unique<Vectors>()) {}

MediaSockets::~MediaSockets() {
  for (const Pair& pair : pairs_) {
    ::close(pair.rtp);
    ::close(pair.rtcp);
  }
  if (epoll_ >= 0) {
    ::close(epoll_);
  }
}

tl::expected<std::unique_ptr<MediaSockets>, std::string> MediaSockets::open(
    const io::SocketAddress& host, std::size_t pairs) {
  std::unique_ptr<MediaSockets> sockets(new MediaSockets());
  sockets->epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  if (sockets->epoll_ < 0) {
    return tl::unexpected(error_text("epoll"));
  }
  sockets->pairs_.reserve(pairs);
  while (sockets->pairs_.size() < pairs) {
    std::string error = sockets->bind_pair(host);
    if (!error.empty()) {
      return tl::unexpected(std::move(error));
    }
  }
  return sockets;
}

// Binds an even port and its successor. Sockets with an odd port are kept until the end, so that
// the kernel offers others.
std::string MediaSockets::bind_pair(const io::SocketAddress& host) {
  std::vector<int> rejected;
  std::string error = "no free pair of ports";
  for (int attempt = 0; attempt < kBindAttemptsMax; ++attempt) {
    const int rtp = open_bound(host.with_port(0));
    if (rtp < 0) {
      error = error_text(host.host_text().c_str());
      break;
    }
    const io::SocketAddress local = address_of(rtp);
    const int rtcp = local.port() % 2 == 0
                         ? open_bound(local.with_port(static_cast<std::uint16_t>(local.port() + 1)))
                         : -1;
    if (rtcp < 0) {
      rejected.push_back(rtp);
      continue;
    }
    const auto socket = static_cast<std::uint32_t>(pairs_.size());
    pairs_.push_back({rtp, rtcp, local});
    const bool watched = watch(rtp, socket, MediaKind::rtp) && watch(rtcp, socket, MediaKind::rtcp);
    error = watched ? std::string() : error_text("epoll");
    break;
  }
  for (const int descriptor : rejected) {
    ::close(descriptor);
  }
  return error;
}

bool MediaSockets::watch(int descriptor, std::uint32_t socket, MediaKind kind) const noexcept {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = (std::uint64_t{socket} << 1U) | (kind == MediaKind::rtcp ? 1U : 0U);
  return ::epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event) == 0;
}

std::span<std::uint8_t> MediaSockets::send_room() noexcept {
  return vectors_->outgoing[queued_].bytes;
}

void MediaSockets::queue(MediaKind kind, std::uint32_t socket, const io::SocketAddress& target,
                         std::size_t bytes) noexcept {
  Vectors::Outgoing& slot = vectors_->outgoing[queued_];
  slot.target = target;
  slot.vector = {slot.bytes.data(), bytes};
  slot.descriptor = kind == MediaKind::rtp ? pairs_[socket].rtp : pairs_[socket].rtcp;
  msghdr& header = vectors_->outgoing_headers[queued_].msg_hdr;
  header.msg_name = const_cast<sockaddr*>(slot.target.kernel_address());
  header.msg_namelen = slot.target.kernel_size();
  header.msg_iov = &slot.vector;
  header.msg_iovlen = 1;
  ++queued_;
}

std::span<const bool> MediaSockets::flush() noexcept {
  std::size_t first = 0;
  while (first < queued_) {
    const int descriptor = vectors_->outgoing[first].descriptor;
    std::size_t end = first + 1;
    while (end < queued_ && vectors_->outgoing[end].descriptor == descriptor) {
      ++end;
    }
    const int count = ::sendmmsg(descriptor, &vectors_->outgoing_headers[first],
                                 static_cast<unsigned>(end - first), MSG_DONTWAIT);
    const std::size_t sent = count > 0 ? static_cast<std::size_t>(count) : 0;
    std::fill_n(vectors_->taken.begin() + static_cast<std::ptrdiff_t>(first), sent, true);
    first += sent;
    if (first < end) {  // The kernel stopped at this one: it is lost, the others still go.
      vectors_->taken[first++] = false;
    }
  }
  const std::size_t queued = queued_;
  queued_ = 0;
  return {vectors_->taken.data(), queued};
}

std::span<const MediaSockets::Ready> MediaSockets::ready() noexcept {
  const int count = ::epoll_wait(epoll_, vectors_->events.data(), static_cast<int>(kReadyMax), 0);
  const std::size_t found = count > 0 ? static_cast<std::size_t>(count) : 0;
  for (std::size_t i = 0; i < found; ++i) {
    const std::uint64_t data = vectors_->events[i].data.u64;
    vectors_->ready[i] = {static_cast<std::uint32_t>(data >> 1U),
                          (data & 1U) != 0 ? MediaKind::rtcp : MediaKind::rtp};
  }
  return {vectors_->ready.data(), found};
}

std::span<const ReceivedDatagram> MediaSockets::receive(const Ready& from) noexcept {
  const int descriptor =
      from.kind == MediaKind::rtp ? pairs_[from.socket].rtp : pairs_[from.socket].rtcp;
  for (mmsghdr& header : vectors_->incoming_headers) {
    header.msg_hdr.msg_namelen = sizeof(sockaddr_in6);
    header.msg_hdr.msg_controllen = kControlBytes;
  }
  const int count = ::recvmmsg(descriptor, vectors_->incoming_headers.data(),
                               static_cast<unsigned>(kReceiveVectorMax), MSG_DONTWAIT, nullptr);
  const std::size_t got = count > 0 ? static_cast<std::size_t>(count) : 0;
  for (std::size_t i = 0; i < got; ++i) {
    mmsghdr& header = vectors_->incoming_headers[i];
    const Vectors::Incoming& slot = vectors_->incoming[i];
    vectors_->received[i] = {
        {slot.bytes.data(), header.msg_len},
        io::SocketAddress::from_kernel(&slot.source, header.msg_hdr.msg_namelen),
        stamp_of(header.msg_hdr),
        from.socket};
  }
  return {vectors_->received.data(), got};
}

}  // namespace rtpload
