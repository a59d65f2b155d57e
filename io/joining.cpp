#include "io/joining.h"

#include "io/assert.h"

#include <netinet/udp.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace io {

namespace {

/// More than the longest datagram, joined or not (65,527 bytes over IPv6).
constexpr std::size_t kScratchBytes = 65'536;
/// Fits wherever a joined send of shorter segments went well: what every path must carry (RFC 1122
/// section 3.3.3: 576 bytes) less the headers of IPv6 and UDP.
constexpr std::uint32_t kFitsAnyPathBytes = 576 - 48;

/// Never 0. Two keys that are the same by chance cost one lost run where a path is narrower.
std::uint64_t proof_key(const Datagram& first) noexcept {
  constexpr std::uint64_t kMultiplier = 0x9e3779b97f4a7c15;  // spreads over the upper bits
  const std::uint64_t socket = std::uint64_t{first.socket.generation} << 32U | first.socket.index;
  return ((socket * kMultiplier) ^ first.peer.hash()) * kMultiplier | 1U;
}

/// The size of the datagrams that came joined in `message`; 0 if it is one datagram.
std::uint32_t segment_bytes_of(msghdr& message) noexcept {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level == SOL_UDP && part->cmsg_type == UDP_GRO) {
      int value = 0;
      std::memcpy(&value, CMSG_DATA(part), sizeof(value));
      return value > 0 ? static_cast<std::uint32_t>(value) : 0;
    }
  }
  return 0;
}

}  // namespace

std::uint16_t join_limit_of(int descriptor) noexcept {
  int value = 0;
  socklen_t size = sizeof(value);
  const bool known = ::getsockopt(descriptor, SOL_UDP, UDP_SEGMENT, &value, &size) == 0;
  return known ? kJoinedBytesMax : std::uint16_t{0};
}

bool is_joining_refusal(int error) noexcept {
  return error == EINVAL || error == EMSGSIZE || error == EIO || error == EOPNOTSUPP;
}

std::uint16_t join_limit_after(int error, std::uint32_t segment_bytes) noexcept {
  const bool too_long = error == EINVAL || error == EMSGSIZE;
  return too_long && segment_bytes > 0 ? static_cast<std::uint16_t>(segment_bytes - 1) : 0;
}

std::size_t count_joinable(std::span<const Datagram> queued, std::uint16_t limit) noexcept {
  const Datagram& first = queued.front();
  if (first.size == 0 || first.size > limit) {
    return 1;
  }
  const std::size_t most =
      std::min({kJoinedMax, std::size_t{kJoinedBytesMax} / first.size, queued.size()});
  std::size_t count = 1;
  while (count < most && queued[count - 1].size == first.size) {
    const Datagram& next = queued[count];
    if (next.socket != first.socket || next.size > first.size || next.size == 0 ||
        next.peer != first.peer) {
      break;
    }
    ++count;
  }
  return count;
}

void fill_message(msghdr& header, std::span<iovec> vectors, JoinedControl& control,
                  std::span<const Datagram> run, bool connected) noexcept {
  MGW_ASSERT(vectors.size() >= run.size());
  for (std::size_t i = 0; i < run.size(); ++i) {
    vectors[i] = iovec{run[i].buffer.data() + run[i].offset, run[i].size};
  }
  const Datagram& first = run.front();
  header = msghdr{};
  header.msg_iov = vectors.data();
  header.msg_iovlen = run.size();
  if (!connected) {
    // sendmsg(2) only reads it.
    header.msg_name = const_cast<sockaddr*>(first.peer.kernel_address());
    header.msg_namelen = first.peer.kernel_size();
  }
  if (run.size() > 1) {
    header.msg_control = control.bytes.data();
    header.msg_controllen = control.bytes.size();
    cmsghdr* part = CMSG_FIRSTHDR(&header);
    part->cmsg_level = SOL_UDP;
    part->cmsg_type = UDP_SEGMENT;
    part->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
    const auto segment_bytes = static_cast<std::uint16_t>(first.size);
    std::memcpy(CMSG_DATA(part), &segment_bytes, sizeof(segment_bytes));
  }
}

bool JoiningProofs::holds(const Datagram& first) const noexcept {
  const std::uint64_t key = proof_key(first);
  const Entry& entry = entries_[(key >> 32U) % kEntries];
  return entry.key == key && first.size <= entry.segment_bytes;
}

void JoiningProofs::add(const Datagram& first) noexcept {
  const std::uint64_t key = proof_key(first);
  entries_[(key >> 32U) % kEntries] = {key, std::max(first.size, kFitsAnyPathBytes)};
}

void JoinedReceiver::prepare() {
  if (!scratch_) {
    scratch_ = std::make_unique<std::byte[]>(kScratchBytes);
  }
}

int JoinedReceiver::receive(int descriptor, SocketId socket, std::uint64_t tag) noexcept {
  MGW_ASSERT(scratch_);
  MGW_ASSERT(!pending_);
  iovec vector{scratch_.get(), kScratchBytes};
  sockaddr_in6 name{};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_name = &name;
  message.msg_namelen = sizeof(name);
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t size = ::recvmsg(descriptor, &message, MSG_DONTWAIT);
  if (size < 0) {
    return errno;
  }
  pending_ = true;
  position_ = 0;
  size_ = static_cast<std::uint32_t>(size);
  const std::uint32_t segment_bytes = segment_bytes_of(message);
  segment_bytes_ = segment_bytes != 0 ? segment_bytes : size_;
  socket_ = socket;
  tag_ = tag;
  peer_ = SocketAddress::from_kernel(&name, message.msg_namelen);
  return 0;
}

std::uint32_t JoinedReceiver::next_bytes() const noexcept {
  return std::min(segment_bytes_, size_ - position_);
}

void JoinedReceiver::move_next_to(Datagram& datagram, Buffer&& buffer) noexcept {
  datagram.buffer = std::move(buffer);
  datagram.offset = kHeadroomBytes;
  datagram.size = next_bytes();
  datagram.socket = socket_;
  datagram.tag = tag_;
  datagram.peer = peer_;
  std::memcpy(datagram.bytes().data(), scratch_.get() + position_, datagram.size);
  advance();
}

void JoinedReceiver::advance() noexcept {
  position_ += next_bytes();
  pending_ = position_ < size_;
}

}  // namespace io
