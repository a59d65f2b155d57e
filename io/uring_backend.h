#pragma once
// The io_uring backend. One ring per worker, made and used by one thread. Each socket has one
// receive that goes on for ever and fills buffers that the ring lent to the kernel. Everything else
// (sends, re-armed receives, cancellations) is queued and submitted once per pass, inside the
// system call that also waits.

#include "io/backend.h"
#include "io/buffer_pool.h"
#include "io/joining.h"
#include "io/wait_interrupter.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

// Of liburing.
struct io_uring_cqe;
struct io_uring_sqe;

namespace io {

class UringRing;
struct UringWait;

/// Sockets, their datagrams and sends through one io_uring. Needs Linux 6.1 (SINGLE_ISSUER,
/// DEFER_TASKRUN, multishot recvmsg); from 6.12 on coalescing costs one system call per pass
/// instead of two.
///
/// Order: every send carries MSG_DONTWAIT, so it is over, sent or refused, when the submitting call
/// returns, in the order of the queue. On a connected socket an ICMP error that arrives just before
/// a submission can be reported to the next send instead of to the receive; that datagram does not
/// leave and is counted as unreachable. It is not sent again, as those behind it have left by then.
///
/// Joined sends: for the same reason one that the path can't do must not be found out in the ring.
/// The first run from a socket to a peer is sent by a call of its own, between two submissions.
/// Sockets that receive joined datagrams have a poll request in the ring instead of a receive, and
/// are read by calls of their own: the lent buffers are too small for 64 KiB.
class UringBackend final : public Backend {
 public:
  /// On the thread that will run it. Throws std::system_error when the kernel refuses; its text
  /// names the step.
  UringBackend(BufferPool& pool, const BackendOptions& options);
  UringBackend(const UringBackend&) = delete;
  UringBackend& operator=(const UringBackend&) = delete;
  UringBackend(UringBackend&&) = delete;
  UringBackend& operator=(UringBackend&&) = delete;
  /// Submits what is queued, cancels all, and waits until nothing is in flight; then all ports are
  /// free. On another thread than the constructor's the kernel refuses that, and ports become free
  /// a few milliseconds later.
  ~UringBackend() override;

  [[nodiscard]] std::string_view name() const noexcept override { return "io_uring"; }
  [[nodiscard]] Result<SocketId> open(BoundSocket&& socket, std::uint64_t tag) noexcept override;
  void close(SocketId socket) noexcept override;
  /// A pass that coalesces returns at once when wake() is called.
  [[nodiscard]] PassResult pass(TimePoint deadline) noexcept override;
  void wake() noexcept override;
  [[nodiscard]] std::uint32_t sockets() const noexcept override { return in_use_; }

 private:
  enum class State : std::uint8_t { free, open, closing };
  struct Socket {
    int file = -1;
    std::uint32_t generation = 0;
    std::uint64_t tag = 0;
    int error = 0;                         // was pending when opened, not reported yet
    std::uint32_t sends_before_close = 0;  // of outgoing_, while closing: these still leave
    std::uint16_t join_limit = 0;          // sends of up to so many bytes each may be joined
    State state = State::free;
    bool connected = false;
    bool joins_received = false;
    bool receiving = false;  // the kernel has our receive, or our poll if it joins
  };

  [[nodiscard]] Socket* find(SocketId id) noexcept;
  [[nodiscard]] bool grow() noexcept;
  [[nodiscard]] std::uint32_t lend_target() const noexcept;

  // Queueing; each may submit without waiting when the queue of requests is full.
  void lend_buffers() noexcept;
  void queue_sends() noexcept;
  [[nodiscard]] std::size_t queue_joined(Socket& socket, std::span<const Datagram> queued) noexcept;
  void send_first_run(Socket& socket, std::span<const Datagram> run) noexcept;
  void send_apart(Socket& socket, std::span<const Datagram> run, int refusal) noexcept;
  void on_send_failed(std::uint64_t user_data, int error) noexcept;
  void queue_wake_read() noexcept;
  void queue_receives() noexcept;
  void queue_cancellations() noexcept;
  [[nodiscard]] io_uring_sqe* next_request() noexcept;

  void submit_and_wait(TimePoint deadline) noexcept;
  [[nodiscard]] bool may_wait(TimePoint deadline) const noexcept;
  void coalesce(TimePoint deadline) noexcept;
  void wait_for_company(const UringWait& wait) noexcept;
  void enter(const UringWait& wait) noexcept;
  void submit() noexcept;
  void recover(int error) noexcept;

  void gather(std::size_t wanted) noexcept;
  /// How many completions were taken; 0 if the pass is full.
  std::uint32_t reap() noexcept;
  void on_completion(const io_uring_cqe& completion) noexcept;
  void on_receive(std::uint32_t index, const io_uring_cqe& completion) noexcept;
  void hand_out(std::uint32_t index, Buffer&& buffer, std::uint32_t size) noexcept;
  void on_receive_end(std::uint32_t index, int result) noexcept;
  void on_readable(std::uint32_t index) noexcept;
  void split_joined() noexcept;
  void resume_joined() noexcept;
  void on_cancel_failed(std::uint32_t index, std::uint32_t generation) noexcept;
  void report_error(std::uint32_t index, int error) noexcept;
  void finish_close(std::uint32_t index) noexcept;
  void settle_sends() noexcept;
  void shut_down() noexcept;

  BufferPool& pool_;
  BackendOptions options_;
  CoalescingPolicy coalescing_;
  std::unique_ptr<UringRing> ring_;
  int wake_file_ = -1;
  std::uint64_t wake_value_ = 0;  // the kernel reads the eventfd to here
  bool wake_reading_ = false;
  std::optional<WaitInterrupter> interrupter_;  // if it coalesces
  std::atomic<bool> waits_for_company_{false};  // wake() has to interrupt
  std::atomic<std::uint64_t> wakes_asked_{0};   // by wake(), before it writes to the eventfd
  std::uint64_t wakes_seen_ = 0;

  std::uint32_t sockets_max_ = 0;
  std::uint32_t in_use_ = 0;
  std::vector<Socket> sockets_;
  // Indices of sockets_, each with room for all, so that only open() allocates.
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> to_arm_;  // open, without a receive
  std::vector<std::uint32_t>
      starved_;  // open, their receive ended for want of buffers; oldest first
  std::vector<std::uint32_t> parked_;     // open, joining: wait until joined_ is split
  std::vector<std::uint32_t> to_cancel_;  // with a receive that is to end
  std::vector<std::uint32_t> to_finish_;  // closing, without a receive

  DatagramVector received_;
  std::vector<SocketEvent> events_;
  bool woken_ = false;

  std::uint32_t sends_queued_ = 0;   // not counted as sent yet
  std::uint32_t sends_failed_ = 0;   // of those
  std::uint32_t joined_queued_ = 0;  // of those queued: in joined sends
  std::uint32_t joined_failed_ = 0;  // of those
  std::uint32_t cancels_queued_ = 0;
  bool completions_lost_ = false;  // the kernel had no memory to keep completions
  std::uint32_t lend_level_;
  std::uint32_t passes_well_fed_ = 0;  // since a receive last ended for want of buffers

  // Messages of joined sends, in use until they are submitted; then the places are used again.
  static constexpr std::size_t kMessagesMax = 64;
  static constexpr std::size_t kVectorsMax = 1024;
  std::array<msghdr, kMessagesMax> messages_{};
  std::array<JoinedControl, kMessagesMax> controls_{};
  std::array<iovec, kVectorsMax> vectors_{};
  std::size_t messages_used_ = 0;
  std::size_t vectors_used_ = 0;
  JoiningProofs proofs_;
  JoinedReceiver joined_;
};

}  // namespace io
