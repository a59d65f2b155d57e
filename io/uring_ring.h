#pragma once
// One io_uring and its ring of receive buffers, as the io_uring backend needs them: requests in,
// completions out, one system call for both. Private to io/uring*.cpp, as it shows liburing.
// Everything on the thread that made it.

#include "io/buffer_pool.h"
#include "io/time.h"

#include <liburing.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <thread>
#include <vector>

namespace io {

/// How one entry into the kernel waits for completions.
struct UringWait {
  std::uint32_t completions = 0;  ///< wait until so many are there; 0 = take what is ready
  TimePoint deadline = kNever;    ///< give up then
  std::uint32_t min_wait_us =
      0;  ///< before that even `completions` > 1 are waited for; then 1 is enough
  const sigset_t* blocked_signals = nullptr;  ///< while it waits; null = those of the thread
};

/// Owns the ring, the buffer ring and the slots lent to it. The pool must outlive it.
class UringRing {
 public:
  /// Requests that can be queued between two entries into the kernel. Twice as many would be colder
  /// in the cache: the queue is walked round and round.
  static constexpr std::uint32_t kRequestsMax = 512;
  /// Every lent slot can complete once, every request of one submission can fail, and every socket
  /// that is being closed in one submission ends; beyond that the kernel keeps completions on a
  /// list of its own.
  static constexpr std::uint32_t kCompletionsMax = 4096;
  /// Slots that can be lent to the kernel at once. A power of two.
  static constexpr std::uint32_t kLentMax = 2048;
  /// The kernel's name for our only group of buffers.
  static constexpr std::uint16_t kBufferGroup = 0;

  /// Throws std::system_error whose text names the step that the kernel refused.
  explicit UringRing(BufferPool& pool);
  UringRing(const UringRing&) = delete;
  UringRing& operator=(const UringRing&) = delete;
  UringRing(UringRing&&) = delete;
  UringRing& operator=(UringRing&&) = delete;
  /// Gives the lent slots back to the pool. Nothing may be in flight, or the kernel still writes to
  /// them.
  ~UringRing();

  /// True on the thread that made the ring; the kernel takes nothing from others.
  [[nodiscard]] bool is_owner() const noexcept { return std::this_thread::get_id() == owner_; }

  /// A request to fill in, or null when the queue is full: enter() first.
  [[nodiscard]] io_uring_sqe* next_request() noexcept { return io_uring_get_sqe(&ring_); }
  /// Requests that the kernel has not taken yet.
  [[nodiscard]] std::uint32_t unsubmitted() const noexcept { return io_uring_sq_ready(&ring_); }
  /// Takes back the sends (see uring_request.h) that the kernel refused to take; how many datagrams
  /// they were.
  [[nodiscard]] std::uint32_t withdraw_sends() noexcept;

  /// Submits what is queued, lets arrivals complete, and waits. 0 or more: requests taken;
  /// negative: -errno.
  [[nodiscard]] int enter(const UringWait& wait) noexcept;
  /// Submits what is queued without letting arrivals complete, so that no further buffers are
  /// filled.
  [[nodiscard]] int submit() noexcept;
  /// True if arrivals wait to be completed by enter().
  [[nodiscard]] bool has_pending_work() const noexcept {
    return (IO_URING_READ_ONCE(*ring_.sq.kflags) & IORING_SQ_TASKRUN) != 0;
  }
  /// True if the kernel has completions that found no place in the queue.
  [[nodiscard]] bool has_overflow() const noexcept { return io_uring_cq_has_overflow(&ring_); }
  /// True if the kernel can hold a wait back for more completions (since Linux 6.12).
  [[nodiscard]] bool has_min_wait() const noexcept { return has_min_wait_; }

  /// The oldest completion that was not taken, or null.
  [[nodiscard]] const io_uring_cqe* peek() const noexcept {
    const unsigned head = completions_head_;
    return head == io_uring_smp_load_acquire(ring_.cq.ktail)
               ? nullptr
               : &ring_.cq.cqes[head & ring_.cq.ring_mask];
  }
  /// Takes the completion that peek() showed; the kernel learns of it with release_completions().
  void take() noexcept { ++completions_head_; }
  /// Completions taken but not released.
  [[nodiscard]] std::uint32_t taken() const noexcept { return completions_head_ - *ring_.cq.khead; }
  void release_completions() noexcept {
    io_uring_smp_store_release(ring_.cq.khead, completions_head_);
  }

  /// Lends free slots of the pool to the kernel until `level` (at most kLentMax) are lent or the
  /// pool is empty.
  void lend(std::uint32_t level) noexcept;
  /// Slots that the kernel has and did not fill.
  [[nodiscard]] std::uint32_t lent() const noexcept { return lent_; }
  /// The slot that the kernel filled, as a Buffer again. `buffer_id` comes from the completion's
  /// flags.
  [[nodiscard]] Buffer take_back(std::uint16_t buffer_id) noexcept;

 private:
  void publish_requests() noexcept;
  void set_up_ring();
  void set_up_buffers();
  void probe_timer();
  void tear_down() noexcept;

  BufferPool& pool_;
  std::thread::id owner_ = std::this_thread::get_id();
  io_uring ring_{};
  bool ring_made_ = false;
  io_uring_buf_ring* buffers_ = nullptr;  // shared with the kernel
  unsigned completions_head_ = 0;
  std::uint32_t lent_ = 0;
  unsigned enter_flags_ = 0;
  bool has_absolute_timer_ = false;
  bool has_min_wait_ = false;
  std::vector<std::uint16_t> free_ids_;  // a stack: the last used id is the warmest
  std::array<std::uint32_t, kLentMax> slot_of_id_{};
};

}  // namespace io
