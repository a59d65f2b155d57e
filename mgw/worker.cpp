#include "mgw/worker.h"

#include "io/assert.h"
#include "mgw/saved_state.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace mgw {

namespace {

/// Drops are reported to the control thread at most this often.
constexpr io::Duration kReportInterval = std::chrono::seconds(1);
/// Packets that were on their way when a peer moved have arrived after this.
constexpr io::Duration kLatePacketsEnd = std::chrono::seconds(2);
/// Timers handled in one pass; more are handled in the next, which does not wait.
constexpr int kTimersPerPassMax = 256;
/// The part of a timer's key that says its kind.
constexpr unsigned kTimerKindBits = 2;
constexpr std::uint64_t kTimerKindMask = (1U << kTimerKindBits) - 1;

}  // namespace

Worker::Worker(io::Backend& backend, io::BufferPool& pool, const io::Clock& clock,
               WorkerQueues& queues, EventSignal& signal)
    : backend_(backend), clock_(clock), queues_(queues), signal_(signal), media_(backend, pool) {}

void Worker::use_kernel_path(std::unique_ptr<io::KernelFlowTable> table, KernelFlowMarks marks) {
  kernel_ = std::make_unique<KernelFlows>(media_, std::move(table), marks);
  media_.use_kernel_flows(*kernel_);
}

bool Worker::run_pass(io::TimePoint latest) {
  const io::PassResult result = backend_.pass(std::min(latest, next_timer()));
  const io::TimePoint now = clock_.now();
  bool busy = !result.received.empty() || !result.events.empty();
  media_.forward(result.received, now);
  // Endings before commands: a command may get a socket index that has just become free.
  for (const io::SocketEvent& event : result.events) {
    if (event.kind == io::SocketEventKind::closed) {
      on_closed(event);
    }
  }
  std::unique_ptr<MediaCommand> command;
  while (queues_.commands.pop(command)) {
    busy = true;
    apply(std::move(command), now);
  }
  run_timers(now);
  media_.run_due(now);
  if (kernel_) {
    kernel_->run(now);
  }
  report_failures();
  report_drops(now);
  if (events_posted_) {
    events_posted_ = false;
    signal_.signal();
  }
  return busy;
}

void Worker::take_from_kernel(const MediaCommand& command) noexcept {
  for (const MediaInstall& install : command.installs) {
    kernel_->on_release(install.slot);
  }
  for (const MediaUpdate& update : command.updates) {
    kernel_->on_change(update.slot);
  }
  for (const MediaTap& tap : command.taps) {
    kernel_->on_change(tap.slot);
  }
  for (const std::uint32_t slot : command.removals) {
    kernel_->on_release(slot);
  }
  for (const std::uint32_t slot : command.audits) {
    kernel_->update(slot);
  }
  for (const std::uint32_t slot : command.saves) {
    kernel_->update(slot);
  }
}

void Worker::apply(std::unique_ptr<MediaCommand> command, io::TimePoint now) {
  if (kernel_) {
    take_from_kernel(*command);
  }
  if (install_devices(*command) && install_all(*command, now)) {
    for (MediaUpdate& update : command->updates) {
      // Null where an install failed after this command had been sent: the control thread learns of
      // it soon.
      if (MediaConnection* connection = media_.find(update.slot); connection != nullptr) {
        std::swap(connection->entry, update.entry);
        if (update.exchanges_leg) {
          update.leg = media_.exchange_leg(update.slot, std::move(update.leg), now);
        }
        if (connection->entry.new_description) {
          expect_new_source(*connection, update.entry.remote_rtp, now);
        }
        entry_applied(update.slot, *connection, now);
      }
    }
    for (MediaTap& tap : command->taps) {
      if (MediaConnection* connection = media_.find(tap.slot); connection != nullptr) {
        std::swap(connection->tap, tap.tap);
      }
    }
    for (const std::uint32_t slot : command->removals) {
      if (MediaConnection* leaving = media_.find(slot); leaving != nullptr) {
        if (!command->is_quiet) {
          media_.send_goodbye(*leaving, now);
        }
        auto connection = media_.remove(slot, now);
        if (command->is_quiet) {  // who gets the sockets gets them open to anybody
          for (const io::SocketId socket : {connection->rtp_socket, connection->rtcp_socket}) {
            backend_.set_peer(socket, io::SocketAddress());
          }
        }
        close_socket(connection->rtp_socket, *command);
        close_socket(connection->rtcp_socket, *command);
        command->removed.push_back(std::move(connection));
      }
    }
    for (const std::uint32_t slot : command->audits) {
      const MediaConnection* connection = media_.find(slot);
      command->audited.push_back(connection != nullptr ? connection->counters()
                                                       : ConnectionCounters());
      if (command->audits_streams) {
        command->audited_streams.push_back(connection != nullptr ? connection->statistics.streams()
                                                                 : rtp::StreamList());
      }
    }
    save_media_of(*command);
  }
  if (command->sockets_closing == 0) {
    finish(std::move(command));
  } else {
    waiting_.push_back(std::move(command));
  }
}

void Worker::save_media_of(MediaCommand& command) {
  for (std::size_t i = 0; i < command.saves.size(); ++i) {
    if (const MediaConnection* connection = media_.find(command.saves[i]); connection != nullptr) {
      append_media(command.saved[i], *connection);
    }
  }
}

bool Worker::install_devices(MediaCommand& command) {
  for (MediaDeviceInstall& install : command.devices) {
    const std::uint32_t number = media_.add_device(std::move(install.device));
    std::vector<io::SocketId> opened;
    for (io::BoundSocket& socket : install.sockets) {
      const auto id = backend_.open(std::move(socket), MediaPath::kDeviceTag + number);
      if (!id) {
        command.error = id.error().value();
        break;
      }
      opened.push_back(*id);
    }
    if (command.error != 0) {  // its ports are free again for the next that is tried
      for (const io::SocketId id : std::exchange(opened, {})) {
        close_socket(id, command);
      }
    }
    device_sockets_.insert(device_sockets_.end(), opened.begin(), opened.end());
    media_.device(number).opened(opened);
  }
  return command.error == 0;
}

bool Worker::open_pair(MediaInstall& install, MediaCommand& command, io::SocketId& rtp,
                       io::SocketId& rtcp) {
  if (install.connection != nullptr && install.connection->leg &&
      !install.connection->leg->is_usable()) {
    command.error = ENODEV;
    return false;
  }
  if (!install.sockets.rtp) {
    return true;
  }
  const auto first = backend_.open(std::move(install.sockets.rtp), install.slot);
  if (!first) {
    command.error = first.error().value();
    return false;
  }
  const auto second = backend_.open(std::move(install.sockets.rtcp), install.slot);
  if (!second) {
    command.error = second.error().value();
    close_socket(*first, command);
    return false;
  }
  rtp = *first;
  rtcp = *second;
  return true;
}

bool Worker::install_all(MediaCommand& command, io::TimePoint now) {
  struct Opened {
    io::SocketId rtp;
    io::SocketId rtcp;
    io::SocketAddress local;
  };
  std::vector<Opened> opened;
  for (MediaInstall& install : command.installs) {
    Opened pair;
    pair.local = install.sockets.rtp.local();
    if (!open_pair(install, command, pair.rtp, pair.rtcp)) {
      break;
    }
    opened.push_back(pair);
  }
  if (command.error != 0) {
    for (const Opened& pair : opened) {
      close_socket(pair.rtp, command);
      close_socket(pair.rtcp, command);
    }
    return false;
  }
  for (std::size_t i = 0; i < opened.size(); ++i) {
    MediaInstall& install = command.installs[i];
    const bool is_new = install.connection != nullptr;
    if (is_new) {
      media_.install(install.slot, std::move(install.connection));
    }
    MediaConnection* connection = media_.find(install.slot);
    MGW_ASSERT(connection != nullptr);
    if (!is_new) {
      close_socket(connection->rtp_socket, command);
      close_socket(connection->rtcp_socket, command);
    }
    connection->rtp_socket = opened[i].rtp;
    connection->rtcp_socket = opened[i].rtcp;
    connection->local_rtp = opened[i].local;
    if (is_new) {
      entry_applied(install.slot, *connection, now);
    }
  }
  return true;
}

void Worker::expect_new_source(MediaConnection& connection,
                               const io::SocketAddress& described_before,
                               io::TimePoint now) noexcept {
  if (connection.entry.remote_rtp == described_before) {
    return;  // the same peer told once more: it sends from where it did
  }
  connection.refused_source = connection.learned_source;
  connection.refused_until = now + kLatePacketsEnd;
  if (connection.refused_source == connection.entry.remote_rtp) {
    connection.refused_source = io::SocketAddress();
  }
  connection.learned_source = io::SocketAddress();
  connection.learned_rtcp = io::SocketAddress();
}

void Worker::entry_applied(std::uint32_t slot, MediaConnection& connection, io::TimePoint now) {
  const ForwardingEntry& entry = connection.entry;
  if (entry.commanded) {
    connection.live.last_activity.set(now);
  }
  connection.statistics.set_clock_rate(entry.timing.clock_rate_hz);
  if (connection.rtp_socket != io::SocketId()) {
    // A leg such as IuUP may take packets from others than the peer of the description.
    const bool one_peer = entry.source == SourceCheck::strict && !connection.leg;
    backend_.set_peer(connection.rtp_socket, one_peer ? entry.remote_rtp : io::SocketAddress());
  }
  media_.entry_applied(slot, connection, now);
  if (entry.keep_alive_now) {
    media_.send_keep_alive(slot, connection, now);
  }
  if (slot >= slot_timers_.size()) {
    slot_timers_.resize(std::max<std::size_t>(slot + 1U, 2 * slot_timers_.size()), kNoTimers);
  }
  if (entry.connection_timeout > io::Duration::zero()) {
    arm_no_later(TimerKind::connection_timeout, slot,
                 connection.live.last_activity.value() + entry.connection_timeout);
  }
  if (entry.keep_alive_interval > io::Duration::zero()) {
    arm_no_later(TimerKind::keep_alive, slot, now + entry.keep_alive_interval);
  }
  if (connection.rtcp != nullptr) {
    connection.rtcp->start(now);
    arm_no_later(TimerKind::rtcp_report, slot, connection.rtcp->next());
  }
}

void Worker::close_socket(io::SocketId socket, MediaCommand& command) {
  if (socket == io::SocketId()) {
    return;
  }
  if (socket.index >= closing_.size()) {
    closing_.resize(std::max<std::size_t>(socket.index + 1U, 2 * closing_.size()));
  }
  MGW_ASSERT(closing_[socket.index] == nullptr);
  closing_[socket.index] = &command;
  ++command.sockets_closing;
  backend_.close(socket);
}

void Worker::on_closed(const io::SocketEvent& event) {
  MGW_ASSERT(event.socket.index < closing_.size());
  MediaCommand* command = std::exchange(closing_[event.socket.index], nullptr);
  MGW_ASSERT(command != nullptr);
  if (--command->sockets_closing > 0) {
    return;
  }
  const auto found = std::find_if(waiting_.begin(), waiting_.end(), [command](const auto& waiting) {
    return waiting.get() == command;
  });
  MGW_ASSERT(found != waiting_.end());
  std::unique_ptr<MediaCommand> done = std::move(*found);
  *found = std::move(waiting_.back());
  waiting_.pop_back();
  finish(std::move(done));
}

void Worker::finish(std::unique_ptr<MediaCommand> command) {
  MediaEvent event;
  event.command = std::move(command);
  // The control thread has at most kCommandsMax commands under way, and other events leave that
  // much room.
  const bool posted = queues_.events.push(std::move(event));
  MGW_ASSERT(posted || queues_.events.size() < WorkerQueues::kEventsMax);
  events_posted_ = true;
}

void Worker::run_timers(io::TimePoint now) {
  io::TimerQueue::Timer timer;
  for (int i = 0; i < kTimersPerPassMax && timers_.take_due(now, timer); ++i) {
    const auto slot = static_cast<std::uint32_t>(timer.key >> kTimerKindBits);
    const auto kind = timer.key & kTimerKindMask;
    io::TimePoint& armed_at = slot_timers_[slot][kind];
    if (armed_at != timer.at) {
      continue;
    }
    armed_at = io::kNever;
    switch (static_cast<TimerKind>(kind)) {
      case TimerKind::connection_timeout:
        on_connection_timer(slot, now);
        break;
      case TimerKind::keep_alive:
        on_keep_alive_timer(slot, now);
        break;
      case TimerKind::rtcp_report:
        on_rtcp_timer(slot, now);
        break;
    }
  }
}

void Worker::on_connection_timer(std::uint32_t slot, io::TimePoint now) {
  if (kernel_) {
    kernel_->update(slot);
  }
  const MediaConnection* connection = media_.find(slot);
  if (connection == nullptr || connection->entry.connection_timeout <= io::Duration::zero()) {
    return;
  }
  const io::Duration timeout = connection->entry.connection_timeout;
  if (connection->live.last_activity.value() + timeout > now) {
    arm(TimerKind::connection_timeout, slot, connection->live.last_activity.value() + timeout);
    return;
  }
  MediaEvent event;
  event.kind = MediaEvent::Kind::connection_timeout;
  event.slot = slot;
  if (post(std::move(event))) {
    media_.counters().connection_timeouts.add();
  } else {
    arm(TimerKind::connection_timeout, slot, now + kReportInterval);
  }
}

void Worker::on_keep_alive_timer(std::uint32_t slot, io::TimePoint now) {
  MediaConnection* connection = media_.find(slot);
  if (connection == nullptr || connection->entry.keep_alive_interval <= io::Duration::zero()) {
    return;
  }
  media_.send_keep_alive(slot, *connection, now);
  arm(TimerKind::keep_alive, slot, now + connection->entry.keep_alive_interval);
}

void Worker::on_rtcp_timer(std::uint32_t slot, io::TimePoint now) {
  MediaConnection* connection = media_.find(slot);
  if (connection == nullptr || connection->rtcp == nullptr) {
    return;
  }
  if (connection->rtcp->next() <= now) {
    if (kernel_) {
      kernel_->update(slot);
    }
    media_.send_report(*connection, now);
  }
  arm(TimerKind::rtcp_report, slot, connection->rtcp->next());
}

void Worker::arm(TimerKind kind, std::uint32_t slot, io::TimePoint at) {
  slot_timers_[slot][static_cast<std::size_t>(kind)] = at;
  timers_.arm(at, std::uint64_t{slot} << kTimerKindBits | static_cast<std::uint64_t>(kind), 0);
}

void Worker::arm_no_later(TimerKind kind, std::uint32_t slot, io::TimePoint at) {
  if (slot_timers_[slot][static_cast<std::size_t>(kind)] > at) {
    arm(kind, slot, at);
  }
}

void Worker::report_failures() {
  media_.take_failures(notable_);
  for (const std::uint32_t slot : notable_) {
    MediaEvent event;
    event.kind = MediaEvent::Kind::leg_failed;
    event.slot = slot;
    static_cast<void>(post(std::move(event)));  // the counter has it
  }
}

void Worker::report_drops(io::TimePoint now) {
  if (!media_.has_notable() || now < next_report_) {
    return;
  }
  next_report_ = now + kReportInterval;
  media_.take_notable(notable_);
  for (const std::uint32_t slot : notable_) {
    MediaConnection* connection = media_.find(slot);
    if (connection == nullptr || connection->notable_drops == 0) {
      continue;  // removed meanwhile, perhaps with a successor in its slot
    }
    MediaEvent event;
    event.kind = MediaEvent::Kind::drops_noted;
    event.slot = slot;
    event.cause = connection->notable_cause;
    event.count = std::exchange(connection->notable_drops, 0);
    static_cast<void>(
        post(std::move(event)));  // a note that finds no room is not missed: the counters have it
  }
}

bool Worker::post(MediaEvent&& event) noexcept {
  if (queues_.events.size() >= WorkerQueues::kEventsMax - WorkerQueues::kCommandsMax ||
      !queues_.events.push(std::move(event))) {
    return false;
  }
  events_posted_ = true;
  return true;
}

void Worker::close_all(bool quietly) {
  std::unique_ptr<MediaCommand> command;
  while (queues_.commands.pop(command)) {
    command.reset();  // nobody waits for the answer any more; sockets not yet opened close by
                      // themselves
  }
  auto last = std::make_unique<MediaCommand>();
  last->is_quiet = quietly;
  for (std::uint32_t slot = 0; slot < media_.slots(); ++slot) {
    if (media_.find(slot) != nullptr) {
      last->removals.push_back(slot);
    }
  }
  for (const io::SocketId socket : std::exchange(device_sockets_, {})) {
    close_socket(socket, *last);
  }
  apply(std::move(last), clock_.now());
  while (backend_.sockets() > 0) {
    run_pass(clock_.now() + std::chrono::milliseconds(10));
    MediaEvent event;
    while (queues_.events.pop(event)) {
      event = MediaEvent();
    }
  }
}

}  // namespace mgw
