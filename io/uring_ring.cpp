#include "io/uring_ring.h"

#include "io/assert.h"
#include "io/uring_request.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <system_error>

namespace io {

namespace {

// Kernel interface that liburing 2.3's headers don't have yet (linux/io_uring.h of Linux 6.15).
constexpr unsigned kFeatureMinTimeout = 1U << 15;
constexpr unsigned kFeatureNoIoWait = 1U << 17;
constexpr unsigned kEnterAbsoluteTimer = 1U << 5;
constexpr unsigned kEnterNoIoWait = 1U << 7;

/// Extended wait argument, no lost completions, silent successes: all older than what the ring
/// set-up flags need.
constexpr unsigned kFeaturesNeeded =
    IORING_FEAT_EXT_ARG | IORING_FEAT_NODROP | IORING_FEAT_CQE_SKIP | IORING_FEAT_SUBMIT_STABLE;

constexpr std::uint32_t kSignalMaskBytes = 8;  // of the kernel's sigset_t; no mask is given
constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;

__kernel_timespec to_timespec(Duration duration) noexcept {
  const std::int64_t count = std::max<std::int64_t>(duration.count(), 0);
  __kernel_timespec time{};
  time.tv_sec = count / kNanosecondsPerSecond;
  time.tv_nsec = count % kNanosecondsPerSecond;
  return time;
}

[[noreturn]] void fail(int error, const char* step) {
  throw std::system_error(error, std::generic_category(), step);
}

}  // namespace

UringRing::UringRing(BufferPool& pool) : pool_(pool) {
  free_ids_.reserve(kLentMax);
  for (std::uint32_t id = kLentMax; id > 0; --id) {
    free_ids_.push_back(static_cast<std::uint16_t>(id - 1));
  }
  try {
    set_up_ring();
    set_up_buffers();
    probe_timer();
  } catch (...) {
    tear_down();
    throw;
  }
}

UringRing::~UringRing() {
  tear_down();
}

void UringRing::set_up_ring() {
  io_uring_params parameters{};
  // DEFER_TASKRUN: arrivals are worked off inside our own waiting call, in batches, instead of
  // interrupting whatever the thread does. SUBMIT_ALL: one refused request does not hold up those
  // behind it.
  parameters.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
                     IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SUBMIT_ALL | IORING_SETUP_CQSIZE |
                     IORING_SETUP_CLAMP;
  parameters.cq_entries = kCompletionsMax;
  const int result = io_uring_queue_init_params(kRequestsMax, &ring_, &parameters);
  if (result < 0) {
    fail(-result, "io_uring_setup");
  }
  ring_made_ = true;
  if ((parameters.features & kFeaturesNeeded) != kFeaturesNeeded) {
    fail(EOPNOTSUPP, "io_uring_setup: features");
  }
  has_min_wait_ = (parameters.features & kFeatureMinTimeout) != 0;
  enter_flags_ = IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG;
  if ((parameters.features & kFeatureNoIoWait) != 0) {
    // A thread that waits for packets is idle, not waiting for a disk.
    enter_flags_ |= kEnterNoIoWait;
  }
  // Saves looking the ring's descriptor up in every call; there are 16 such places per thread, so
  // it may be refused.
  if (io_uring_register_ring_fd(&ring_) == 1) {
    enter_flags_ |= IORING_ENTER_REGISTERED_RING;
  }
  completions_head_ = *ring_.cq.khead;
}

void UringRing::set_up_buffers() {
  constexpr std::size_t kBytes = sizeof(io_uring_buf) * kLentMax;
  void* memory =
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    fail(ENOMEM, "memory for the buffer ring");
  }
  buffers_ = static_cast<io_uring_buf_ring*>(memory);
  io_uring_buf_ring_init(buffers_);
  io_uring_buf_reg registration{};
  registration.ring_addr = reinterpret_cast<std::uintptr_t>(memory);
  registration.ring_entries = kLentMax;
  registration.bgid = kBufferGroup;
  const int result = io_uring_register_buf_ring(&ring_, &registration, 0);
  if (result < 0) {
    fail(-result, "io_uring_register: buffer ring");
  }
}

void UringRing::probe_timer() {
  __kernel_timespec past{};
  past.tv_nsec = 1;
  io_uring_getevents_arg argument{};
  argument.sigmask_sz = kSignalMaskBytes;
  argument.ts = reinterpret_cast<std::uintptr_t>(&past);
  const int result = io_uring_enter2(static_cast<unsigned>(ring_.enter_ring_fd), 0, 1,
                                     enter_flags_ | kEnterAbsoluteTimer,
                                     reinterpret_cast<sigset_t*>(&argument), sizeof(argument));
  if (result != -ETIME && result != -EINVAL) {
    fail(result < 0 ? -result : EIO, "io_uring_enter");
  }
  has_absolute_timer_ = result == -ETIME;
  has_min_wait_ = has_min_wait_ && has_absolute_timer_;  // both came with Linux 6.12
}

void UringRing::tear_down() noexcept {
  if (ring_made_) {
    if (!is_owner()) {
      // The place in the table of registered rings is the owner's; ours at the same place may be
      // another ring.
      ring_.enter_ring_fd = ring_.ring_fd;
      ring_.int_flags = 0;
    }
    if (buffers_ != nullptr) {
      static_cast<void>(io_uring_unregister_buf_ring(&ring_, kBufferGroup));
    }
    io_uring_queue_exit(&ring_);
    ring_made_ = false;
  }
  if (buffers_ != nullptr) {
    static_cast<void>(::munmap(buffers_, sizeof(io_uring_buf) * kLentMax));
    buffers_ = nullptr;
  }
  // What is not on the stack of free ids is lent.
  std::array<bool, kLentMax> is_free{};
  for (const std::uint16_t id : free_ids_) {
    is_free[id] = true;
  }
  for (std::uint32_t id = 0; id < kLentMax; ++id) {
    if (!is_free[id]) {
      static_cast<void>(pool_.adopt(slot_of_id_[id]));
    }
  }
  free_ids_.clear();
  lent_ = 0;
}

std::uint32_t UringRing::withdraw_sends() noexcept {
  std::uint32_t withdrawn = 0;
  for (unsigned place = *ring_.sq.khead; place != ring_.sq.sqe_tail; ++place) {
    io_uring_sqe& request = ring_.sq.sqes[place & ring_.sq.ring_mask];
    const std::uint64_t user_data = request.user_data;
    const std::uint32_t datagrams = datagrams_sent_by(user_data);
    if (datagrams > 0 && request.opcode != IORING_OP_NOP) {
      io_uring_prep_nop(&request);
      request.user_data = user_data;
      request.flags = IOSQE_CQE_SKIP_SUCCESS;
      withdrawn += datagrams;
    }
  }
  return withdrawn;
}

void UringRing::publish_requests() noexcept {
  ring_.sq.sqe_head = ring_.sq.sqe_tail;
  io_uring_smp_store_release(ring_.sq.ktail, ring_.sq.sqe_tail);
}

int UringRing::submit() noexcept {
  publish_requests();
  return io_uring_enter2(static_cast<unsigned>(ring_.enter_ring_fd), unsubmitted(), 0,
                         enter_flags_ & IORING_ENTER_REGISTERED_RING, nullptr, 0);
}

int UringRing::enter(const UringWait& wait) noexcept {
  publish_requests();

  unsigned flags = enter_flags_;
  __kernel_timespec time{};
  io_uring_getevents_arg argument{};
  argument.sigmask_sz = kSignalMaskBytes;
  if (wait.completions > 0) {
    argument.pad = wait.min_wait_us;  // named min_wait_usec since liburing 2.8
    argument.sigmask = reinterpret_cast<std::uintptr_t>(wait.blocked_signals);
    if (wait.deadline != kNever) {
      if (has_absolute_timer_) {
        time = to_timespec(wait.deadline.time_since_epoch());
        flags |= kEnterAbsoluteTimer;
      } else {
        time = to_timespec(wait.deadline - std::chrono::steady_clock::now());
      }
      argument.ts = reinterpret_cast<std::uintptr_t>(&time);
    }
  }
  return io_uring_enter2(static_cast<unsigned>(ring_.enter_ring_fd), unsubmitted(),
                         wait.completions, flags, reinterpret_cast<sigset_t*>(&argument),
                         sizeof(argument));
}

void UringRing::lend(std::uint32_t level) noexcept {
  MGW_ASSERT(level <= kLentMax);
  if (lent_ >= level) {
    return;
  }
  const std::uint32_t wanted =
      std::min({level - lent_, pool_.available(), static_cast<std::uint32_t>(free_ids_.size())});
  for (std::uint32_t count = 0; count < wanted; ++count) {
    const std::uint32_t slot = pool_.take().detach();
    const std::uint16_t id = free_ids_.back();
    free_ids_.pop_back();
    slot_of_id_[id] = slot;
    io_uring_buf_ring_add(buffers_, pool_.slot_data(slot), pool_.slot_bytes(), id,
                          io_uring_buf_ring_mask(kLentMax), static_cast<int>(count));
  }
  if (wanted > 0) {
    io_uring_buf_ring_advance(buffers_, static_cast<int>(wanted));
    lent_ += wanted;
  }
}

Buffer UringRing::take_back(std::uint16_t buffer_id) noexcept {
  MGW_ASSERT(buffer_id < kLentMax);
  MGW_ASSERT(lent_ > 0);
  free_ids_.push_back(buffer_id);
  --lent_;
  return pool_.adopt(slot_of_id_[buffer_id]);
}

}  // namespace io
