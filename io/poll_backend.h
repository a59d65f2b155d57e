#pragma once
// The backend that runs on every Linux kernel: readiness through epoll (level-triggered), one
// receive call per ready socket, one send call per datagram or run of datagrams of a socket.

#include "io/backend.h"
#include "io/buffer_pool.h"
#include "io/joining.h"

#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <thread>

namespace io {

/// See Backend for the contract. Holds up to kSparesMax buffers of the pool (at most a quarter of
/// it) ready for the next receive call. When the pool is empty it does not look at the sockets
/// until buffers are back: datagrams wait in the kernel, and nothing spins.
class PollBackend final : public Backend {
 public:
  /// `pool` must outlive it. Throws std::system_error when the kernel gives no epoll or eventfd.
  PollBackend(BufferPool& pool, const BackendOptions& options);
  ~PollBackend() override;

  [[nodiscard]] std::string_view name() const noexcept override { return "poll"; }
  [[nodiscard]] Result<SocketId> open(BoundSocket&& socket, std::uint64_t tag) noexcept override;
  void close(SocketId socket) noexcept override;
  void set_peer(SocketId socket, const SocketAddress& peer) noexcept override;
  [[nodiscard]] PassResult pass(TimePoint deadline) noexcept override;
  void wake() noexcept override;
  [[nodiscard]] std::uint32_t sockets() const noexcept override { return open_sockets_; }

 private:
  /// Buffers kept ready: as many as one receive call can fill.
  static constexpr std::size_t kSparesMax = kReceivedPerSocketMax;
  /// Datagrams of one socket that one sendmmsg call takes.
  static constexpr std::size_t kSendRunMax = kJoinedMax;
  /// Ready sockets that one wait reports; more stay ready and come first with the next wait.
  static constexpr std::size_t kReadyMax = 512;

  /// Far from the numbers of the first passes.
  static constexpr std::uint32_t kNoPass = 0x80000000;

  enum class SlotState : std::uint8_t { unused, open, closing };

  struct Slot {
    int descriptor = -1;
    std::uint32_t generation = 0;
    std::uint64_t tag = 0;
    std::size_t close_mark = 0;  // closing: datagrams queued from this position on are refused
    std::uint32_t ready_in_pass = kNoPass;  // the last pass in which datagrams waited
    SocketAddress peer;                     // of set_peer(); family none = not connected
    std::uint16_t join_limit = 0;           // sends of up to so many bytes each may be joined
    SlotState state = SlotState::unused;
    bool connected = false;  // when it was opened; then nothing is sent to others
    bool joins_received = false;
    bool burst = false;  // several datagrams waited at once
  };

  [[nodiscard]] Slot* find(SocketId socket) noexcept;
  [[nodiscard]] std::uint32_t take_slot();
  void start_pass() noexcept;
  void flush() noexcept;
  void send_run(std::uint32_t index, std::size_t first, std::size_t count) noexcept;
  [[nodiscard]] std::size_t count_sent(int messages) noexcept;
  [[nodiscard]] int send_some(const Slot& slot, std::size_t first, std::size_t count,
                              std::uint16_t join_limit) noexcept;
  void finish_closing() noexcept;
  void arm(std::size_t spare) noexcept;
  void top_up_spares() noexcept;
  void replace_spares(std::size_t used) noexcept;
  void coalesce(TimePoint deadline) noexcept;
  [[nodiscard]] bool nothing_to_report() const noexcept {
    return events_.empty() && !wake_pending_.load();
  }
  /// True when no more waiting is due: `deadline` is reached.
  [[nodiscard]] bool wait(TimePoint deadline) noexcept;
  void wait_for_wake(TimePoint deadline) noexcept;
  void drain_wake() noexcept;
  void harvest() noexcept;
  [[nodiscard]] bool expects_burst(Slot& slot) noexcept;
  [[nodiscard]] int receive_some(Slot& slot) noexcept;
  void receive_from(std::uint32_t index) noexcept;
  void receive_joined(std::uint32_t index) noexcept;
  void split_joined() noexcept;
  void report_error(std::uint32_t index, int error) noexcept;

  BufferPool& pool_;
  BackendOptions options_;
  CoalescingPolicy coalescing_;
  int epoll_ = -1;
  int wake_event_ = -1;
  std::atomic<bool> wake_pending_{false};
  std::thread::id owner_;
  bool precise_wait_ = true;  // epoll_pwait2 is there
  bool behind_ = false;       // the last pass was full
  bool paused_ = false;       // receiving stands still for want of buffers

  std::vector<Slot> slots_;
  std::vector<std::uint32_t> unused_slots_;
  std::vector<std::uint32_t> closing_slots_;
  std::uint32_t open_sockets_ = 0;

  DatagramVector received_;
  std::vector<SocketEvent> events_;
  std::array<epoll_event, kReadyMax> ready_{};
  std::size_t ready_count_ = 0;
  std::size_t ready_next_ = 0;  // ready_[ready_next_..ready_count_) is left over from a full pass

  std::size_t spares_target_;
  std::size_t spares_armed_ = 0;  // spares_[0..spares_armed_) have a buffer
  std::array<Buffer, kSparesMax> spares_;
  std::array<sockaddr_in6, kSparesMax> receive_names_{};
  std::array<iovec, kSparesMax> receive_vectors_{};
  std::array<mmsghdr, kSparesMax> receive_headers_{};
  std::array<iovec, kSendRunMax> send_vectors_{};
  std::array<mmsghdr, kSendRunMax> send_headers_{};
  std::array<JoinedControl, kSendRunMax> send_controls_{};
  std::array<std::uint8_t, kSendRunMax> send_counts_{};  // datagrams of each message
  JoinedReceiver joined_;
};

}  // namespace io
