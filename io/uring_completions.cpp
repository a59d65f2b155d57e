// What the kernel completed, as datagrams, events and counts: the second half of UringBackend.

#include "io/assert.h"
#include "io/uring_backend.h"
#include "io/uring_request.h"
#include "io/uring_ring.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace io {

namespace {

/// What the kernel writes before the payload of a multishot recvmsg with room for an address and no
/// control data.
constexpr std::uint32_t kReceiveHeaderBytes = sizeof(io_uring_recvmsg_out) + sizeof(sockaddr_in6);
static_assert(kReceiveHeaderBytes == kHeadroomBytes);

/// The kernel works off no more sockets in one call that need not wait for more completions.
constexpr std::uint32_t kSocketsPerTurn = 20;
/// Completions taken before the kernel is told that their places are free.
constexpr std::uint32_t kReleaseChunk = 64;

}  // namespace

void UringBackend::gather(std::size_t wanted) noexcept {
  std::uint32_t count = reap();
  // Completions that overflowed come with the next call.
  while ((count >= kSocketsPerTurn && received_.size() < wanted && ring_->has_pending_work()) ||
         (count > 0 && ring_->has_overflow())) {
    ring_->lend(lend_target());
    enter({.completions = 0, .deadline = TimePoint{}});
    count = reap();
  }
}

std::uint32_t UringBackend::reap() noexcept {
  std::uint32_t count = 0;
  while (const io_uring_cqe* completion = ring_->peek()) {
    if (received_.size() >= kReceivedPerPassMax && (completion->flags & IORING_CQE_F_BUFFER) != 0) {
      ring_->release_completions();
      return 0;
    }
    ++count;
    on_completion(*completion);
    ring_->take();
    if (ring_->taken() >= kReleaseChunk) {
      ring_->release_completions();
    }
  }
  ring_->release_completions();
  if (!ring_->has_overflow()) {
    settle_sends();
  }
  return count;
}

void UringBackend::on_completion(const io_uring_cqe& completion) noexcept {
  const auto index = static_cast<std::uint32_t>(completion.user_data >> kIndexShift) & kIndexMask;
  const auto generation = static_cast<std::uint32_t>(completion.user_data);
  if (datagrams_sent_by(completion.user_data) > 0) {
    if (completion.res < 0) {
      on_send_failed(completion.user_data, -completion.res);
    }
    return;
  }
  switch (static_cast<RequestKind>(completion.user_data >> kKindShift)) {
    case RequestKind::receive:
      MGW_ASSERT(index < sockets_.size());
      MGW_ASSERT(sockets_[index].generation == generation);
      on_receive(index, completion);
      break;
    case RequestKind::send:
    case RequestKind::joined_send:
      break;  // were above
    case RequestKind::wake:
      wake_reading_ = false;
      wakes_seen_ += completion.res > 0 ? wake_value_ : 0;
      woken_ = woken_ || completion.res > 0;
      break;
    case RequestKind::cancel:
      on_cancel_failed(index, generation);
      break;
  }
}

void UringBackend::on_receive(std::uint32_t index, const io_uring_cqe& completion) noexcept {
  if ((completion.flags & IORING_CQE_F_BUFFER) != 0) {
    Buffer buffer =
        ring_->take_back(static_cast<std::uint16_t>(completion.flags >> IORING_CQE_BUFFER_SHIFT));
    if (sockets_[index].state == State::open &&
        completion.res >= static_cast<int>(kReceiveHeaderBytes)) {
      hand_out(index, std::move(buffer),
               static_cast<std::uint32_t>(completion.res) - kReceiveHeaderBytes);
    }
  }
  const bool readable =
      sockets_[index].joins_received && completion.res > 0 && sockets_[index].state == State::open;
  if (readable) {
    on_readable(index);
  } else if ((completion.flags & IORING_CQE_F_MORE) == 0) {
    on_receive_end(index, completion.res);
  }
}

void UringBackend::hand_out(std::uint32_t index, Buffer&& buffer, std::uint32_t size) noexcept {
  const Socket& socket = sockets_[index];
  const auto* header = reinterpret_cast<const io_uring_recvmsg_out*>(buffer.data());
  if ((header->flags & MSG_TRUNC) != 0) {
    counters_.received_oversize.add();
    return;
  }
  Datagram& datagram = received_.emplace_back();
  datagram.peer =
      SocketAddress::from_kernel(buffer.data() + sizeof(io_uring_recvmsg_out), header->namelen);
  datagram.buffer = std::move(buffer);
  datagram.offset = kReceiveHeaderBytes;
  datagram.size = size;
  datagram.socket = SocketId{index, socket.generation};
  datagram.tag = socket.tag;
  counters_.received.add();
}

void UringBackend::on_receive_end(std::uint32_t index, int result) noexcept {
  Socket& socket = sockets_[index];
  MGW_ASSERT(socket.receiving);
  socket.receiving = false;
  if (socket.state == State::closing) {
    std::erase(to_cancel_, index);
    to_finish_.push_back(index);
    return;
  }
  if (result == -ENOBUFS) {
    // The datagrams wait in the socket. To arm again without buffers would spin.
    starved_.push_back(index);
    counters_.received_no_buffer.add();
    if (passes_well_fed_ > 0) {  // not yet in this pass
      lend_level_ = std::min(UringRing::kLentMax, lend_level_ * 2);
    }
    passes_well_fed_ = 0;
    return;
  }
  if (result < 0 && result != -ECANCELED) {
    report_error(index, -result);
  }
  to_arm_.push_back(index);
}

void UringBackend::report_error(std::uint32_t index, int error) noexcept {
  const Socket& socket = sockets_[index];
  counters_.receive_errors.add();
  events_.push_back(
      {SocketId{index, socket.generation}, socket.tag, SocketEventKind::receive_error, error});
}

void UringBackend::on_cancel_failed(std::uint32_t index, std::uint32_t generation) noexcept {
  if (index >= sockets_.size() || sockets_[index].generation != generation ||
      !sockets_[index].receiving) {
    return;  // the receive ended by itself before
  }
  if (completions_lost_) {
    on_receive_end(index, -ECANCELED);
  } else {
    // The kernel was just moving the receive from one list to another.
    to_cancel_.push_back(index);
  }
}

void UringBackend::settle_sends() noexcept {
  // Failed sends have completed by now, as all of them complete inside the submitting call; the
  // rest was sent.
  MGW_ASSERT(sends_failed_ <= sends_queued_);
  counters_.sent.add(sends_queued_ - sends_failed_);
  counters_.sent_joined.add(joined_queued_ - joined_failed_);
  sends_queued_ = 0;
  sends_failed_ = 0;
  joined_queued_ = 0;
  joined_failed_ = 0;
}

void UringBackend::finish_close(std::uint32_t index) noexcept {
  Socket& socket = sockets_[index];
  MGW_ASSERT(socket.state == State::closing);
  MGW_ASSERT(!socket.receiving);
  // The last reference: the port is free when the call returns. Closed any earlier, the receive in
  // flight would hold it.
  ::close(socket.file);
  events_.push_back({SocketId{index, socket.generation}, socket.tag, SocketEventKind::closed, 0});
  const std::uint32_t generation = socket.generation + 1;
  socket = Socket{};
  socket.generation = generation;
  free_.push_back(index);
  counters_.sockets.set(--in_use_);
}

}  // namespace io
