#pragma once
// One worker: the connections of its endpoints, the backend that carries their packets, the inbox
// of commands. The loop of a worker thread, or of a simulation, calls run_pass() again and again.

#include "io/backend.h"
#include "io/buffer_pool.h"
#include "io/inbox.h"
#include "io/time.h"
#include "io/timer_queue.h"
#include "mgw/kernel_flows.h"
#include "mgw/media_command.h"
#include "mgw/media_path.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace mgw {

/// The queues between the control thread and one worker. Each end belongs to one thread.
struct WorkerQueues {
  /// Commands under way to one worker at once. A burst of 2,000 CRCX with 64 in flight needs 64; a
  /// restart of a BSC deletes everything in a handful.
  static constexpr std::size_t kCommandsMax = 4096;
  /// Every command comes back as an event; the rest is room for timeouts and notes about drops.
  static constexpr std::size_t kEventsMax = 2 * kCommandsMax;

  io::Inbox<std::unique_ptr<MediaCommand>> commands{kCommandsMax};
  io::Inbox<MediaEvent> events{kEventsMax};
};

/// What wakes the control thread when a worker has put events into its queue. Called on the
/// worker's thread, once per pass at most.
class EventSignal {
 public:
  EventSignal() = default;
  EventSignal(const EventSignal&) = delete;
  EventSignal& operator=(const EventSignal&) = delete;
  EventSignal(EventSignal&&) = delete;
  EventSignal& operator=(EventSignal&&) = delete;
  virtual ~EventSignal() = default;
  /// Called on the thread of a worker that has events to fetch.
  virtual void signal() noexcept = 0;
};

/// Worker thread only, but for counters().
class alignas(io::kCacheLineBytes) Worker {
 public:
  /// All must outlive it.
  Worker(io::Backend& backend, io::BufferPool& pool, const io::Clock& clock, WorkerQueues& queues,
         EventSignal& signal);

  /// From now on the kernel forwards what it can by itself. Before the first connection.
  void use_kernel_path(std::unique_ptr<io::KernelFlowTable> table, KernelFlowMarks marks);

  /// One pass: sends what the last one left, waits (no longer than `latest`), applies commands,
  /// forwards what came, runs timers. Returns true if there was anything to do.
  bool run_pass(io::TimePoint latest);
  /// When a timer or a report of drops is due next; io::kNever if none is.
  [[nodiscard]] io::TimePoint next_timer() const noexcept {
    const io::TimePoint next = std::min(
        {timers_.next_expiry(), media_.next_due(), kernel_ ? kernel_->next_due() : io::kNever});
    return media_.has_notable() ? std::min(next_report_, next) : next;
  }
  /// Removes all connections and runs passes until the kernel has let go of their sockets. Used at
  /// shutdown, when the control thread sends no more commands. `quietly`: without telling the
  /// peers, for the calls go on in another process.
  void close_all(bool quietly = false);

  [[nodiscard]] const MediaCounters& counters() const noexcept { return media_.counters(); }

 private:
  /// What a timer is for; the lowest two bits of its key, the slot number above them.
  enum class TimerKind : std::uint8_t { connection_timeout = 0, keep_alive = 1, rtcp_report = 2 };
  /// When the slot's timers fire, by kind. They stay armed when a connection goes and serve its
  /// successor, so there is one of a kind for a slot however many calls come and go; an earlier one
  /// may be armed instead, and then the later entry means nothing when it fires.
  using SlotTimers = std::array<io::TimePoint, 3>;
  static constexpr SlotTimers kNoTimers = {io::kNever, io::kNever, io::kNever};

  void apply(std::unique_ptr<MediaCommand> command, io::TimePoint now);
  /// Saves where the media of the command's `saves` stand.
  void save_media_of(MediaCommand& command);
  [[nodiscard]] bool install_devices(MediaCommand& command);
  [[nodiscard]] bool install_all(MediaCommand& command, io::TimePoint now);
  /// Opens the pair's sockets, those that it has.
  [[nodiscard]] bool open_pair(MediaInstall& install, MediaCommand& command, io::SocketId& rtp,
                               io::SocketId& rtcp);
  /// A new description came: if it names another peer, a latched source is learned anew.
  static void expect_new_source(MediaConnection& connection,
                                const io::SocketAddress& described_before,
                                io::TimePoint now) noexcept;
  void entry_applied(std::uint32_t slot, MediaConnection& connection, io::TimePoint now);
  /// The connections that the command changes or removes are the sockets' again.
  void take_from_kernel(const MediaCommand& command) noexcept;
  /// Does nothing if there is none.
  void close_socket(io::SocketId socket, MediaCommand& command);
  void on_closed(const io::SocketEvent& event);
  void finish(std::unique_ptr<MediaCommand> command);
  void run_timers(io::TimePoint now);
  void on_connection_timer(std::uint32_t slot, io::TimePoint now);
  void on_keep_alive_timer(std::uint32_t slot, io::TimePoint now);
  void on_rtcp_timer(std::uint32_t slot, io::TimePoint now);
  /// Arms the timer if the slot's present one of that kind is later.
  void arm_no_later(TimerKind kind, std::uint32_t slot, io::TimePoint at);
  void arm(TimerKind kind, std::uint32_t slot, io::TimePoint at);
  void report_failures();
  void report_drops(io::TimePoint now);
  [[nodiscard]] bool post(MediaEvent&& event) noexcept;

  io::Backend& backend_;
  const io::Clock& clock_;
  WorkerQueues& queues_;
  EventSignal& signal_;
  MediaPath media_;
  std::unique_ptr<KernelFlows> kernel_;  ///< null: there is no kernel fast path
  io::TimerQueue timers_;
  std::vector<SlotTimers> slot_timers_;
  std::vector<std::unique_ptr<MediaCommand>> waiting_;  // commands whose sockets are closing
  std::vector<MediaCommand*> closing_;  // by the socket's index: the command that waits for its end
  std::vector<std::uint32_t> notable_;  // scratch space of report_drops
  std::vector<io::SocketId> device_sockets_;
  io::TimePoint next_report_{};
  bool events_posted_ = false;
};

}  // namespace mgw
