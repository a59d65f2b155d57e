#include "io/uring_backend.h"

#include "io/assert.h"
#include "io/uring_request.h"
#include "io/uring_ring.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

namespace io {

namespace {

/// Buffers lent to the kernel: enough for one call, which takes up to 32 datagrams from each of
/// 20 sockets; fewer when that never happens, as the kernel walks through all of them
/// and few stay in the cache; more when sockets starve. From 128 to 1024 made no measurable
/// difference to the CPU time per packet of 400 calls.
constexpr std::uint32_t kLendLevelMin = 256;
constexpr std::uint32_t kLendLevelStart = 1024;
/// After so many passes without starvation the level is halved.
constexpr std::uint32_t kPassesUntilLower = 1U << 16;
/// Starved sockets wait until this part of the target is lent, at most so many buffers.
constexpr std::uint32_t kLowMarkDivisor = 4;
constexpr std::uint32_t kLowMarkMax = 64;

/// One call works off up to 20 sockets. Waiting for more with a deadline that has passed would cost
/// 21 microseconds, another call a quarter of one. So when more is there, a pass that sends nothing
/// makes further calls until it has so many datagrams: larger passes don't get cheaper, and the
/// first datagram waits for the last.
constexpr std::size_t kGatherMax = 256;
/// A coalescing wait ends early at so many completions.
constexpr std::uint32_t kCoalesceMax = 256;
/// Stands for "no deadline" where the kernel needs one.
constexpr Duration kLongWait = std::chrono::hours(1);
/// A wait for cancelled receives to end works off so many in one call.
constexpr std::uint32_t kCancelsPerWait = 256;
/// Rest after the kernel refused requests for want of memory, or a call altogether.
constexpr Duration kRefusalPause = std::chrono::milliseconds(1);
constexpr int kSubmitAttemptsMax = 3;
/// Rounds of the destructor before it leaves the rest to the kernel.
constexpr int kShutDownRoundsMax = 100'000;

std::uint32_t open_files_limit() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > kIndexMask) {
    return kIndexMask;
  }
  return static_cast<std::uint32_t>(limit.rlim_cur);
}

/// Takes the error that is pending on a socket, 0 if none.
int take_error(int file) noexcept {
  int error = 0;
  socklen_t size = sizeof(error);
  return ::getsockopt(file, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : 0;
}

bool is_connected(int file) noexcept {
  sockaddr_storage peer{};
  socklen_t size = sizeof(peer);
  return ::getpeername(file, reinterpret_cast<sockaddr*>(&peer), &size) == 0;
}

}  // namespace

UringBackend::UringBackend(BufferPool& pool, const BackendOptions& options)
    : pool_(pool),
      options_(options),
      coalescing_(options.coalescing),
      ring_(std::make_unique<UringRing>(pool)),
      sockets_max_(std::min(options.sockets_max != 0 ? options.sockets_max : open_files_limit(),
                            kIndexMask)),
      lend_level_(kLendLevelStart) {
  outgoing_.reserve(kReceivedPerPassMax * 2);
  received_.reserve(kReceivedPerPassMax);
  // Blocking: a read that cannot go on at once must stay armed in the ring instead of failing with
  // EAGAIN.
  wake_file_ = ::eventfd(0, EFD_CLOEXEC);
  if (wake_file_ < 0) {
    throw std::system_error(errno, std::generic_category(), "eventfd");
  }
  if (coalescing_.enabled()) {
    interrupter_.emplace();
  }
}

UringBackend::~UringBackend() {
  if (ring_->is_owner()) {
    shut_down();
  }
  received_.clear();
  outgoing_.clear();
  ring_.reset();
  for (const Socket& socket : sockets_) {
    if (socket.file >= 0) {
      ::close(socket.file);
    }
  }
  ::close(wake_file_);
}

void UringBackend::shut_down() noexcept {
  for (std::uint32_t index = 0; index < sockets_.size(); ++index) {
    if (sockets_[index].state == State::open) {
      close(SocketId{index, sockets_[index].generation});
    }
  }
  for (int round = 0; (in_use_ > 0 || !outgoing_.empty()) && round < kShutDownRoundsMax; ++round) {
    static_cast<void>(pass(TimePoint{}));
  }
  if (!wake_reading_) {
    return;
  }
  if (io_uring_sqe* request = next_request(); request != nullptr) {
    io_uring_prep_cancel64(request, user_data(RequestKind::wake, 0, 0), 0);
    request->user_data = user_data(RequestKind::cancel, kIndexMask, 0);
    request->flags = IOSQE_CQE_SKIP_SUCCESS;
  }
  for (int round = 0; wake_reading_ && round < kShutDownRoundsMax; ++round) {
    enter({.completions = 0, .deadline = TimePoint{}});
    static_cast<void>(reap());
  }
}

UringBackend::Socket* UringBackend::find(SocketId id) noexcept {
  if (id.index >= sockets_.size()) {
    return nullptr;
  }
  Socket& socket = sockets_[id.index];
  return socket.generation == id.generation && socket.state != State::free ? &socket : nullptr;
}

bool UringBackend::grow() noexcept {
  constexpr std::size_t kFirst = 64;
  const std::size_t before = sockets_.size();
  const std::size_t size = std::min<std::size_t>(std::max(kFirst, before * 2), sockets_max_);
  if (size <= before) {
    return false;
  }
  try {
    for (auto* list : {&free_, &to_arm_, &starved_, &parked_, &to_cancel_, &to_finish_}) {
      list->reserve(size);
    }
    events_.reserve(size * 2);  // a receive error and the closing of each
    sockets_.resize(size);
  } catch (const std::bad_alloc&) {
    return false;
  }
  for (std::size_t index = size; index > before; --index) {
    free_.push_back(static_cast<std::uint32_t>(index - 1));
    sockets_[index - 1].generation = 1;
  }
  return true;
}

Result<SocketId> UringBackend::open(BoundSocket&& socket, std::uint64_t tag) noexcept {
  BoundSocket taken = std::move(socket);
  if (!taken) {
    return failure(EBADF);
  }
  if (free_.empty() && !grow()) {
    return failure(in_use_ >= sockets_max_ ? ENFILE : ENOMEM);
  }
  try {
    if (taken.joins_received()) {
      joined_.prepare();
    }
  } catch (const std::bad_alloc&) {
    return failure(ENOMEM);
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  Socket& entry = sockets_[index];
  MGW_ASSERT(entry.state == State::free);
  MGW_ASSERT(!entry.receiving);
  // A plain descriptor: registering it with the ring made no measurable difference to the CPU time
  // per packet, and would be one more reference to give up before the port is free.
  entry.joins_received = taken.joins_received();
  entry.join_limit = taken.joins_sent() ? join_limit_of(taken.handle()) : std::uint16_t{0};
  entry.file = taken.release();
  entry.tag = tag;
  entry.state = State::open;
  entry.connected = is_connected(entry.file);
  // An error from before would be reported to the first datagram, which then would not leave.
  entry.error = entry.connected ? take_error(entry.file) : 0;
  to_arm_.push_back(index);
  counters_.sockets.set(++in_use_);
  return SocketId{index, entry.generation};
}

void UringBackend::close(SocketId id) noexcept {
  Socket* socket = find(id);
  if (socket == nullptr || socket->state != State::open) {
    return;
  }
  socket->state = State::closing;
  socket->sends_before_close = static_cast<std::uint32_t>(outgoing_.size());
  if (socket->receiving) {
    to_cancel_.push_back(id.index);
    return;
  }
  std::erase(starved_, id.index);
  std::erase(parked_, id.index);
  to_finish_.push_back(id.index);
}

void UringBackend::wake() noexcept {
  const int saved_errno = errno;
  const std::uint64_t one = 1;
  wakes_asked_.fetch_add(1);
  static_cast<void>(!::write(wake_file_, &one, sizeof(one)));
  // Not before the write: what is interrupted finds its reason there.
  if (waits_for_company_.load()) {
    interrupter_->interrupt();
  }
  errno = saved_errno;
}

PassResult UringBackend::pass(TimePoint deadline) noexcept {
  MGW_ASSERT(ring_->is_owner());
  received_.clear();
  events_.clear();
  woken_ = false;
  do {
    lend_buffers();
    resume_joined();
    queue_sends();
    queue_wake_read();
    queue_receives();
    queue_cancellations();
    submit_and_wait(deadline);
    // While it relays, the next pass has something to submit and takes the next turn with that
    // call.
    const std::size_t wanted = outgoing_.empty() ? kGatherMax : 1;
    outgoing_.clear();
    gather(wanted);
    for (const std::uint32_t index : to_finish_) {
      finish_close(index);
    }
    to_finish_.clear();
  } while (received_.empty() && events_.empty() && !woken_ && deadline > TimePoint{} &&
           std::chrono::steady_clock::now() < deadline);
  if (coalescing_.enabled()) {
    coalescing_.on_pass(received_.size(), std::chrono::steady_clock::now());
    counters_.coalescing_window_ns.set(static_cast<std::uint64_t>(coalescing_.window().count()));
  }
  counters_.passes.add();
  return {received_, events_, woken_};
}

std::uint32_t UringBackend::lend_target() const noexcept {
  // Half of a small pool stays with the gateway, which needs buffers for packets of its own.
  return std::min(lend_level_, std::max(1U, pool_.slots() / 2));
}

void UringBackend::lend_buffers() noexcept {
  if (++passes_well_fed_ >= kPassesUntilLower) {
    passes_well_fed_ = 0;
    lend_level_ = std::max(kLendLevelMin, lend_level_ / 2);
  }
  const std::uint32_t target = lend_target();
  ring_->lend(target);
  if (starved_.empty()) {
    return;
  }
  const std::uint32_t low_mark = std::clamp(target / kLowMarkDivisor, 1U, kLowMarkMax);
  if (ring_->lent() < low_mark) {
    return;
  }
  // No more than the buffers allow: a socket may take kReceivedPerSocketMax at once, and those that
  // find none left would only starve again. The oldest first, so that all get their turn.
  const std::size_t count = std::min<std::size_t>(
      starved_.size(), std::max<std::size_t>(1, ring_->lent() / kReceivedPerSocketMax));
  const auto last = starved_.begin() + static_cast<std::ptrdiff_t>(count);
  to_arm_.insert(to_arm_.end(), starved_.begin(), last);
  starved_.erase(starved_.begin(), last);
}

io_uring_sqe* UringBackend::next_request() noexcept {
  io_uring_sqe* request = ring_->next_request();
  if (request == nullptr) {
    submit();
    request = ring_->next_request();
  }
  return request;
}

void UringBackend::queue_sends() noexcept {
  messages_used_ = 0;  // all of the last pass are submitted
  vectors_used_ = 0;
  const std::span<const Datagram> queued(outgoing_);
  std::size_t place = 0;
  while (place < queued.size()) {
    const Datagram& datagram = queued[place];
    Socket* socket = find(datagram.socket);
    const std::size_t end = socket != nullptr && socket->state == State::closing
                                ? std::min<std::size_t>(socket->sends_before_close, queued.size())
                                : queued.size();
    if (socket == nullptr || place >= end) {
      counters_.send_closed.add();
      ++place;
      continue;
    }
    if (place + 1 < end && queued[place + 1].socket == datagram.socket) {
      if (const std::size_t joined = queue_joined(*socket, queued.subspan(place, end - place));
          joined > 0) {
        place += joined;
        continue;
      }
    }
    ++place;
    io_uring_sqe* request = next_request();
    if (request == nullptr) {
      counters_.send_failed.add();
      continue;
    }
    io_uring_prep_send(request, socket->file, datagram.bytes().data(), datagram.size,
                       MSG_DONTWAIT | MSG_NOSIGNAL);
    if (!socket->connected) {
      io_uring_prep_send_set_addr(request, datagram.peer.kernel_address(),
                                  static_cast<std::uint16_t>(datagram.peer.kernel_size()));
    }
    request->flags = IOSQE_CQE_SKIP_SUCCESS;
    request->user_data =
        user_data(RequestKind::send, datagram.socket.index, datagram.socket.generation);
    ++sends_queued_;
  }
}

void UringBackend::queue_wake_read() noexcept {
  if (wake_reading_) {
    return;
  }
  if (io_uring_sqe* request = next_request(); request != nullptr) {
    io_uring_prep_read(request, wake_file_, &wake_value_, sizeof(wake_value_), 0);
    request->user_data = user_data(RequestKind::wake, 0, 0);
    wake_reading_ = true;
  }
}

void UringBackend::queue_receives() noexcept {
  // The kernel reads from it only how much room address and control data get.
  static msghdr shape = [] {
    msghdr message{};
    message.msg_namelen = sizeof(sockaddr_in6);
    return message;
  }();
  while (!to_arm_.empty()) {
    const std::uint32_t index = to_arm_.back();
    Socket& socket = sockets_[index];
    if (socket.state != State::open || socket.receiving) {
      to_arm_.pop_back();  // closed since
      continue;
    }
    io_uring_sqe* request = next_request();
    if (request == nullptr) {
      return;
    }
    to_arm_.pop_back();
    if (socket.joins_received) {
      io_uring_prep_poll_add(request, socket.file, POLLIN);
    } else {
      io_uring_prep_recvmsg_multishot(request, socket.file, &shape, 0);
      // Most sockets are empty when armed: ask for readiness first instead of trying in vain.
      request->ioprio |= IORING_RECVSEND_POLL_FIRST;
      request->flags = IOSQE_BUFFER_SELECT;
      request->buf_group = UringRing::kBufferGroup;
    }
    request->user_data = user_data(RequestKind::receive, index, socket.generation);
    socket.receiving = true;
    if (socket.error != 0) {
      report_error(index, std::exchange(socket.error, 0));
    }
  }
}

void UringBackend::queue_cancellations() noexcept {
  while (!to_cancel_.empty()) {
    io_uring_sqe* request = next_request();
    if (request == nullptr) {
      return;
    }
    const std::uint32_t index = to_cancel_.back();
    to_cancel_.pop_back();
    sockets_[index].sends_before_close = 0;  // what comes later is too late
    const std::uint32_t generation = sockets_[index].generation;
    io_uring_prep_cancel64(request, user_data(RequestKind::receive, index, generation), 0);
    request->flags = IOSQE_CQE_SKIP_SUCCESS;
    request->user_data = user_data(RequestKind::cancel, index, generation);
    ++cancels_queued_;
  }
}

bool UringBackend::may_wait(TimePoint deadline) const noexcept {
  const bool starved = !starved_.empty() || !parked_.empty();
  const bool buffers_come_back = starved && !outgoing_.empty();
  return deadline > TimePoint{} && received_.empty() && events_.empty() && to_finish_.empty() &&
         !buffers_come_back;
}

void UringBackend::submit_and_wait(TimePoint deadline) noexcept {
  if (ring_->peek() != nullptr) {
    // Left over from a full pass. More arrivals would fill buffers faster than passes hand them
    // out.
    submit();
  } else if (!may_wait(deadline)) {
    enter({.completions = 0, .deadline = deadline});
  } else if (cancels_queued_ > 0) {
    // Each cancellation brings a completion at once, its own failure or the end of the receive.
    // Waiting for all lets the kernel work them off in one call; without it stops at 20.
    enter({.completions = std::min(cancels_queued_, kCancelsPerWait), .deadline = deadline});
  } else if (coalescing_.window() > Duration::zero()) {
    coalesce(deadline);
  } else {
    enter({.completions = 1, .deadline = deadline});
  }
  cancels_queued_ = 0;
}

void UringBackend::coalesce(TimePoint deadline) noexcept {
  const TimePoint now = std::chrono::steady_clock::now();
  if (!ring_->has_min_wait()) {
    enter({.completions = 1, .deadline = deadline});
    const TimePoint end = std::min(coalescing_.earliest_wake_up(), deadline);
    if (ring_->peek() != nullptr && now < end) {
      wait_for_company({.completions = kCoalesceMax, .deadline = end});
    }
    return;
  }
  // The kernel does not look at the deadline during the minimum wait, and without any it gives up
  // at its end instead of waiting for the first completion.
  const TimePoint end = std::min(deadline, now + kLongWait);
  const auto left = std::chrono::duration_cast<std::chrono::microseconds>(
      std::min(coalescing_.earliest_wake_up(), end) - now);
  if (left > std::chrono::microseconds::zero()) {
    wait_for_company({.completions = kCoalesceMax,
                      .deadline = end,
                      .min_wait_us = static_cast<std::uint32_t>(left.count())});
  } else {
    enter({.completions = 1, .deadline = deadline});
  }
}

void UringBackend::wait_for_company(const UringWait& wait) noexcept {
  const TimePoint from = std::chrono::steady_clock::now();
  UringWait interruptible = wait;
  interruptible.blocked_signals = &interrupter_->mask();
  waits_for_company_.store(true);
  if (wakes_asked_.load() != wakes_seen_) {
    // Asked before the store, so perhaps not interrupted.
    interruptible = {.completions = 1, .deadline = wait.deadline};
  }
  enter(interruptible);
  waits_for_company_.store(false);
  const Duration limit =
      wait.min_wait_us > 0 ? std::chrono::microseconds(wait.min_wait_us) : Duration::max();
  const Duration waited = std::min<Duration>(std::chrono::steady_clock::now() - from, limit);
  counters_.coalescing_waits.add();
  counters_.coalescing_ns.add(static_cast<std::uint64_t>(waited.count()));
}

void UringBackend::enter(const UringWait& wait) noexcept {
  const int result = ring_->enter(wait);
  counters_.system_calls.add();
  if (result < 0 && result != -ETIME && result != -EINTR) {
    recover(-result);
  }
  if (ring_->unsubmitted() > 0) {
    submit();
  }
}

void UringBackend::submit() noexcept {
  // The kernel stops early only when it has no memory for another request.
  for (int attempt = 0; ring_->unsubmitted() > 0 && attempt < kSubmitAttemptsMax; ++attempt) {
    const int result = ring_->submit();
    counters_.system_calls.add();
    if (result < 0 && result != -EINTR) {
      recover(-result);
    }
  }
  if (ring_->unsubmitted() > 0) {
    // The buffers of these sends are about to be used for others.
    const std::uint32_t withdrawn = ring_->withdraw_sends();
    counters_.send_failed.add(withdrawn);
    sends_queued_ -= withdrawn;
  }
}

void UringBackend::recover(int error) noexcept {
  if (error == EBADR) {
    // Completions were lost, and among them perhaps ends of receives: end all, then arm again.
    completions_lost_ = true;
    to_cancel_.clear();
    for (std::uint32_t index = 0; index < sockets_.size(); ++index) {
      if (sockets_[index].receiving) {
        to_cancel_.push_back(index);
      }
    }
    return;
  }
  std::this_thread::sleep_for(kRefusalPause);
}

}  // namespace io
