// Joined sends and receives of the io_uring backend.

#include "io/assert.h"
#include "io/uring_backend.h"
#include "io/uring_request.h"
#include "io/uring_ring.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace io {

namespace {

constexpr int kSendFlags = MSG_DONTWAIT | MSG_NOSIGNAL;
/// The first joined send to a peer costs two system calls more; shorter runs, as a call has now and
/// then, are not worth that.
constexpr std::size_t kFirstRunMin = 4;

}  // namespace

std::size_t UringBackend::queue_joined(Socket& socket, std::span<const Datagram> queued) noexcept {
  const std::size_t count = joinable(queued, socket.join_limit);
  if (count == 1) {
    return 0;
  }
  const std::span<const Datagram> run = queued.first(count);
  if (!proofs_.holds(run.front())) {
    if (count < kFirstRunMin) {
      return 0;
    }
    send_first_run(socket, run);
    return count;
  }
  if (messages_used_ == kMessagesMax || vectors_used_ + count > kVectorsMax) {
    submit();
    messages_used_ = 0;
    vectors_used_ = 0;
  }
  io_uring_sqe* request = next_request();
  if (request == nullptr) {
    return 0;
  }
  msghdr& message = messages_[messages_used_];
  fill_message(message, std::span(vectors_).subspan(vectors_used_, count),
               controls_[messages_used_], run, socket.connected);
  ++messages_used_;
  vectors_used_ += count;
  io_uring_prep_sendmsg(request, socket.file, &message, kSendFlags);
  request->flags = IOSQE_CQE_SKIP_SUCCESS;
  request->user_data =
      user_data(send_of(count), run.front().socket.index, run.front().socket.generation);
  sends_queued_ += static_cast<std::uint32_t>(count);
  joined_queued_ += static_cast<std::uint32_t>(count);
  counters_.joined_sends.add();
  return count;
}

void UringBackend::send_first_run(Socket& socket, std::span<const Datagram> run) noexcept {
  submit();  // what is queued leaves before it
  std::array<iovec, kJoinedMax> vectors;
  JoinedControl control;
  msghdr message;
  fill_message(message, vectors, control, run, socket.connected);
  const int error = ::sendmsg(socket.file, &message, kSendFlags) < 0 ? errno : 0;
  counters_.system_calls.add();
  if (error == 0) {
    proofs_.add(run.front());
    counters_.sent.add(run.size());
    counters_.sent_joined.add(run.size());
    counters_.joined_sends.add();
  } else if (is_joining_refusal(error)) {
    send_apart(socket, run, error);
  } else {
    for (std::size_t i = 0; i < run.size(); ++i) {
      count_send_error(error);
    }
  }
}

void UringBackend::send_apart(Socket& socket, std::span<const Datagram> run, int refusal) noexcept {
  bool any = false;
  for (const Datagram& datagram : run) {
    iovec vector;
    JoinedControl control;
    msghdr message;
    fill_message(message, {&vector, 1}, control, {&datagram, 1}, socket.connected);
    const ssize_t sent = ::sendmsg(socket.file, &message, kSendFlags);
    counters_.system_calls.add();
    if (sent < 0) {
      count_send_error(errno);
    } else {
      counters_.sent.add();
      any = true;
    }
  }
  if (any) {
    // Singly it works, so it was the joining.
    socket.join_limit = join_limit_after(refusal, run.front().size);
    counters_.joining_refused.add();
  }
}

void UringBackend::on_send_failed(std::uint64_t user_data, int error) noexcept {
  const std::uint32_t count = datagrams_sent_by(user_data);
  sends_failed_ += count;
  for (std::uint32_t i = 0; i < count; ++i) {
    count_send_error(error);
  }
  if (count == 1) {
    return;
  }
  joined_failed_ += count;
  const auto index = static_cast<std::uint32_t>(user_data >> kIndexShift) & kIndexMask;
  const auto generation = static_cast<std::uint32_t>(user_data);
  Socket* socket = find(SocketId{index, generation});
  if (socket != nullptr && is_joining_refusal(error)) {
    // It went well before, so the path has changed. Those behind it have left: too late to send
    // these singly.
    socket->join_limit = 0;
    counters_.joining_refused.add();
  }
}

void UringBackend::on_readable(std::uint32_t index) noexcept {
  Socket& socket = sockets_[index];
  MGW_ASSERT(socket.receiving);
  socket.receiving = false;
  const std::size_t enough =
      std::min(received_.size() + kReceivedPerSocketMax, kReceivedPerPassMax);
  for (std::size_t calls = 0;
       calls < kReceivedPerSocketMax && !joined_.pending() && received_.size() < enough; ++calls) {
    const int error = joined_.receive(socket.file, {index, socket.generation}, socket.tag);
    counters_.system_calls.add();
    if (error != 0) {
      if (error != EAGAIN && error != EINTR) {
        report_error(index, error);
      }
      break;
    }
    split_joined();
    if (joined_.pending() && received_.size() < kReceivedPerPassMax) {
      counters_.received_no_buffer.add();
    }
  }
  // What is left in the socket is reported at once when it is polled again.
  (joined_.pending() ? parked_ : to_arm_).push_back(index);
}

void UringBackend::split_joined() noexcept {
  joined_.split(received_, pool_.slot_bytes(), counters_,
                [this]() noexcept { return pool_.take(); });
}

void UringBackend::resume_joined() noexcept {
  if (joined_.pending()) {
    const Socket* socket = find(joined_.socket());
    if (socket == nullptr || socket->state != State::open) {
      joined_.discard();  // closed since
    } else {
      split_joined();
    }
  }
  if (!joined_.pending() && !parked_.empty()) {
    to_arm_.insert(to_arm_.end(), parked_.begin(), parked_.end());
    parked_.clear();
  }
}

}  // namespace io
