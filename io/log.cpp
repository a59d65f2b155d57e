#include "io/log.h"

#include "io/log_format.h"
#include "io/log_output.h"
#include "io/log_record.h"
#include "io/log_targets.h"

#include <pthread.h>
#include <signal.h>
#include <spdlog/common.h>
#include <spdlog/details/circular_q.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace io {

namespace {

constexpr Duration kLimiterInterval = std::chrono::seconds(1);

/// Lines that wait for the writing thread; then the oldest are lost. A second of a busy gateway at
/// level info, and at most 10 MiB (2,048 of kLogMessageBytesMax and fields).
constexpr std::size_t kQueueMax = 2048;

/// No target wants a line of any level.
constexpr auto kNoLevel = static_cast<LogLevel>(static_cast<int>(LogLevel::fatal) + 1);

template <std::size_t... Index>
consteval LogThresholds initial_thresholds(std::index_sequence<Index...> /*categories*/) {
  return {{{((void)Index, LogLevel::notice)...}}};
}

/// The place and time of a line that logging itself has to say.
LogRecord own_record(std::string_view message) {
  return make_log_record(LogLevel::error, LogCategory::lglobal, {}, message,
                         std::chrono::system_clock::now());
}

/// The lowest level that `filter` lets through in a category.
LogLevel threshold_of(const LogFilter& filter, std::size_t category) {
  if (!filter.all) {
    return kNoLevel;
  }
  return filter.force_all.value_or(filter.levels[category]);
}

}  // namespace

constinit LogThresholds log_thresholds =
    initial_thresholds(std::make_index_sequence<kLogCategories.size()>{});

/// What all threads share. The mutex is held for moments only: formatting for sessions, moving a
/// record; never while a target writes. Never destroyed, so that threads and destructors may log
/// until the very end.
class LogCore {
 public:
  static LogCore& instance() {
    static LogCore* const core = new LogCore;
    return *core;
  }

  void write(LogRecord&& record) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (alarms_max_ != 0 && record.level >= LogLevel::error) {
      alarms_.push_back({record.time, record.level, record.category, format_log_message(record)});
      trim_alarms();
    }
    for (LogSession* const session : sessions_) {
      if (session->filter_.passes(record.level, record.category)) {
        offer(*session, record);
      }
    }
    const bool wanted = std::ranges::any_of(*targets_, [&record](const Target& target) {
      return target.output && target.options.filter.passes(record.level, record.category);
    });
    if (wanted) {
      queue_.push_back(std::move(record));
      start_writer();
      work_->notify_one();
    }
  }

  /// Never waits for the writing thread.
  tl::expected<std::vector<std::string>, std::string> set_targets(
      const std::vector<LogTarget>& wanted) {
    if (wanted.size() > kLogTargetsMax) {
      return tl::unexpected(fmt::format("more than {} log targets", kLogTargetsMax));
    }
    std::vector<std::string> warnings;
    auto targets = std::make_shared<std::vector<Target>>();
    for (const LogTarget& target : wanted) {
      std::shared_ptr<LogOutput> output = output_of(target);
      if (!output && target.kind != LogTarget::Kind::alarms) {
        auto made = make_log_output(target);
        if (!made) {
          return tl::unexpected(made.error());
        }
        output = std::move(*made);
        if (std::string warning = output->warning(); !warning.empty()) {
          warnings.push_back(std::move(warning));
        }
      }
      targets->push_back({target, std::move(output)});
    }
    Targets exchanged = std::move(targets);  // files of old ones are closed without the lock
    const std::lock_guard<std::mutex> lock(mutex_);
    targets_.swap(exchanged);
    alarms_max_ = 0;
    for (const LogTarget& target : wanted) {
      alarms_max_ = target.kind == LogTarget::Kind::alarms
                        ? std::max(alarms_max_, std::min(target.alarms, kLogAlarmsMax))
                        : alarms_max_;
    }
    trim_alarms();
    set_thresholds();
    return warnings;
  }

  std::vector<LogTarget> targets() {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<LogTarget> result;
    for (const Target& target : *targets_) {
      result.push_back(target.options);
    }
    return result;
  }

  std::vector<LogAlarm> alarms() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return {alarms_.begin(), alarms_.end()};
  }

  void add(LogSession& session) {
    const std::lock_guard<std::mutex> lock(mutex_);
    sessions_.push_back(&session);
    set_thresholds();
  }
  void remove(LogSession& session) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::erase(sessions_, &session);
    set_thresholds();
  }
  void change(LogSession& session, const LogFilter& filter, const LogStyle& style) {
    const std::lock_guard<std::mutex> lock(mutex_);
    session.filter_ = filter;
    session.style_ = style;
    set_thresholds();
  }
  std::vector<std::string> take(LogSession& session) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<std::string> lines;
    if (session.lost_ != 0) {
      lines.push_back(fmt::format("{} log lines were lost", session.lost_));
      session.lost_ = 0;
    }
    std::ranges::move(session.backlog_, std::back_inserter(lines));
    session.backlog_.clear();
    return lines;
  }

  void reopen() {
    const std::lock_guard<std::mutex> lock(mutex_);
    reopen_ = true;
    start_writer();
    work_->notify_one();
  }

  bool flush(std::chrono::milliseconds limit) {
    std::unique_lock<std::mutex> lock(mutex_);
    return done_->wait_for(lock, limit,
                           [this] { return queue_.empty() && !reopen_ && !is_writing_; });
  }

  std::uint64_t lost() const noexcept { return lost_.load(std::memory_order_relaxed); }
  void count_lost(std::uint64_t lines) noexcept {
    lost_.fetch_add(lines, std::memory_order_relaxed);
  }

 private:
  struct Target {
    LogTarget options;
    std::shared_ptr<LogOutput> output;  ///< none: kept in memory
  };
  using Targets = std::shared_ptr<const std::vector<Target>>;

  LogCore() {
    LogTarget target;
    target.style.layout = LogStyle::Layout::standard;
    target.style.colour = false;
    static_cast<void>(set_targets({target}));
    // A child made by fork(2) has no writing thread, and its parent writes what was queued.
    ::pthread_atfork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); },
                     [] { instance().become_child(); });
  }

  void become_child() {
    queue_ = Queue(kQueueMax);
    overrun_told_ = 0;
    has_writer_ = false;
    is_writing_ = false;
    // They may remember the parent's threads as waiting, so they can't even be destroyed.
    static_cast<void>(work_.release());
    static_cast<void>(done_.release());
    work_ = std::make_unique<std::condition_variable>();
    done_ = std::make_unique<std::condition_variable>();
    mutex_.unlock();
  }

  /// What writes to the same place already.
  std::shared_ptr<LogOutput> output_of(const LogTarget& wanted) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = std::ranges::find_if(*targets_, [&wanted](const Target& target) {
      const LogTarget& options = target.options;
      return options.kind == wanted.kind && options.destination == wanted.destination &&
             options.port == wanted.port && options.raw == wanted.raw;
    });
    return found != targets_->end() ? found->output : nullptr;
  }

  void set_thresholds() {
    for (std::size_t category = 0; category < kLogCategories.size(); ++category) {
      LogLevel lowest = kNoLevel;
      for (const Target& target : *targets_) {
        const LogLevel own = threshold_of(target.options.filter, category);
        lowest = std::min(lowest, target.output ? own : std::max(own, LogLevel::error));
      }
      for (const LogSession* const session : sessions_) {
        lowest = std::min(lowest, threshold_of(session->filter_, category));
      }
      log_thresholds.levels[category].store(lowest, std::memory_order_relaxed);
    }
  }

  void offer(LogSession& session, const LogRecord& record) {
    const bool was_empty = session.backlog_.empty();
    if (session.backlog_.size() == LogSession::kBacklogMax) {
      session.backlog_.pop_front();
      ++session.lost_;
      count_lost(1);
    }
    session.backlog_.push_back(
        format_log(record, session.style_, session.style_.colour ? LogColour::on : LogColour::off));
    if (was_empty && session.wake_) {
      session.wake_();
    }
  }

  void trim_alarms() {
    while (alarms_.size() > alarms_max_) {
      alarms_.pop_front();
    }
  }

  /// With the mutex held. Signals are for the other threads; a pipe without reader is an error of
  /// write(2) for this one.
  void start_writer() {
    if (has_writer_) {
      return;
    }
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      std::thread writer([this] { run(); });
      ::pthread_setname_np(writer.native_handle(), "log");
      writer.detach();  // one that hangs in a target must not keep the program from ending
      has_writer_ = true;
    } catch (const std::system_error&) {
      // Tried again with the next line.
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  [[noreturn]] void run() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      work_->wait(lock, [this] { return !queue_.empty() || reopen_; });
      is_writing_ = true;
      const bool reopen = std::exchange(reopen_, false);
      LogRecord record;
      const bool has_record = !queue_.empty();
      if (has_record) {
        record = std::move(queue_.front());
        queue_.pop_front();
      }
      const std::size_t overrun = queue_.overrun_counter() - overrun_told_;
      overrun_told_ += overrun;
      const Targets targets = targets_;
      lock.unlock();
      for (const Target& target : *targets) {
        serve(target, reopen, has_record ? &record : nullptr, overrun);
      }
      lock.lock();
      is_writing_ = false;
      if (queue_.empty()) {
        done_->notify_all();
      }
    }
  }

  /// On the writing thread: one line to one target.
  void serve(const Target& target, bool reopen, const LogRecord* record, std::size_t overrun) {
    if (!target.output) {
      return;
    }
    LogOutput& output = *target.output;
    const LogTarget& options = target.options;
    count_lost(overrun);
    output.lost += overrun;
    try {
      if (reopen) {
        output.reopen();
      }
      if (record == nullptr || !options.filter.passes(record->level, record->category)) {
        return;
      }
      if (!output.write(*record, options.style)) {
        ++output.lost;
        count_lost(1);
      } else if (output.lost != 0 &&
                 output.write(own_record(fmt::format("{} log lines were lost", output.lost)),
                              options.style)) {
        output.lost = 0;
      }
    } catch (const std::exception&) {
      // Out of memory: a line less is better than a gateway less.
      ++output.lost;
      count_lost(1);
    }
  }

  using Queue = spdlog::details::circular_q<LogRecord>;

  std::mutex mutex_;
  std::unique_ptr<std::condition_variable> work_ = std::make_unique<std::condition_variable>();
  std::unique_ptr<std::condition_variable> done_ = std::make_unique<std::condition_variable>();
  Queue queue_{kQueueMax};
  std::size_t overrun_told_ = 0;
  Targets targets_ = std::make_shared<const std::vector<Target>>();
  std::vector<LogSession*> sessions_;
  std::deque<LogAlarm> alarms_;
  std::uint32_t alarms_max_ = 0;
  bool reopen_ = false;
  bool has_writer_ = false;
  bool is_writing_ = false;
  std::atomic<std::uint64_t> lost_{0};
};

void start_logging(const LogOptions& options) {
  LogTarget target;
  target.kind = options.file.empty() ? LogTarget::Kind::standard_error : LogTarget::Kind::file;
  target.destination = options.file;
  target.filter.set_all(options.level);
  target.style.layout = options.json ? LogStyle::Layout::json : LogStyle::Layout::standard;
  target.style.colour = options.colour;
  if (const auto set = set_log_targets({target}); !set) {
    throw std::runtime_error(set.error());
  }
}

tl::expected<std::vector<std::string>, std::string> set_log_targets(
    const std::vector<LogTarget>& targets) {
  return LogCore::instance().set_targets(targets);
}

std::vector<LogTarget> log_targets() {
  return LogCore::instance().targets();
}

std::vector<LogAlarm> log_alarms() {
  return LogCore::instance().alarms();
}

void reopen_log() noexcept {
  try {
    LogCore::instance().reopen();
  } catch (...) {
    static_cast<void>(std::fputs("log files could not be opened again\n", stderr));
  }
}

bool flush_log(std::chrono::milliseconds limit) noexcept {
  try {
    return LogCore::instance().flush(limit);
  } catch (...) {
    return false;
  }
}

std::uint64_t lost_log_lines() noexcept {
  return LogCore::instance().lost();
}

void log_line(LogAt at, LogCategory category, LogFields fields, std::string_view message) noexcept {
  LogCore& core = LogCore::instance();
  try {
    core.write(make_log_record(at, category, fields, message, std::chrono::system_clock::now()));
  } catch (...) {
    core.count_lost(1);  // out of memory: a line less is better than a gateway less
  }
}

LogRecord make_log_record(LogAt at, LogCategory category, LogFields fields,
                          std::string_view message, std::chrono::system_clock::time_point time) {
  LogRecord record;
  record.time = time;
  record.level = at.level;
  record.category = category;
  record.file = at.file;
  record.line = at.line;
  record.thread_id = ::gettid();
  record.message = message.substr(0, kLogMessageBytesMax);
  record.fields.reserve(fields.size());
  for (const LogField& field : fields) {
    if (field.is_number()) {
      record.fields.push_back({field.key(), fmt::to_string(field.number()), true});
    } else if (!field.text().empty()) {
      record.fields.push_back(
          {field.key(), std::string(field.text().substr(0, kLogValueBytesMax)), false});
    }
  }
  return record;
}

LogSession::LogSession(const LogFilter& filter, const LogStyle& style, std::function<void()> wake)
    : filter_(filter), style_(style), wake_(std::move(wake)) {
  LogCore::instance().add(*this);
}

LogSession::~LogSession() {
  LogCore::instance().remove(*this);
}

void LogSession::change(const LogFilter& filter, const LogStyle& style) {
  LogCore::instance().change(*this, filter, style);
}

std::vector<std::string> LogSession::take() {
  return LogCore::instance().take(*this);
}

bool LogLimiter::allow(TimePoint now) noexcept {
  if (now < next_) {
    ++count_;
    return false;
  }
  next_ = now + kLimiterInterval;
  suppressed_ = count_;
  count_ = 0;
  return true;
}

}  // namespace io
