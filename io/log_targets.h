#pragma once
// Where log lines go: several targets at once, each with a level for each category and a style. For
// the configuration (set_log_targets) and for the VTY: LogSession is `logging enable` of one
// session, kLogCategories (io/log_category.h) has the names and help texts, log_alarms() is `show
// alarms`, and `logp CATEGORY LEVEL TEXT` is io::log(level, category, "{}", text).
//
// Levels are kept as atomics by category (io/log.h), so whatever is changed here takes effect for
// all threads at once, and a line that nobody wants costs one load. No function here waits for a
// target.

#include "io/log.h"

#include <tl/expected.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace io {

/// The word for a level in commands and lines, "notice".
[[nodiscard]] std::string_view to_string(LogLevel level) noexcept;
/// The level of that word, letter case does not matter.
[[nodiscard]] std::optional<LogLevel> find_log_level(std::string_view name) noexcept;

/// Which lines a target wants.
struct LogFilter {
  /// `logging filter all`: false = none.
  bool all = true;
  /// `logging level force-all`: in place of `levels`, for all categories.
  std::optional<LogLevel> force_all;
  /// By category, from which level on.
  std::array<LogLevel, kLogCategories.size()> levels = all_at(LogLevel::notice);

  /// The same level for each category.
  [[nodiscard]] static std::array<LogLevel, kLogCategories.size()> all_at(LogLevel level) noexcept;
  /// `logging level CAT LEVEL`
  void set(LogCategory category, LogLevel level) noexcept { levels[index_of(category)] = level; }
  /// `logging level set-all LEVEL`
  void set_all(LogLevel level) noexcept { levels = all_at(level); }
  /// True if a line of that level and category is wanted.
  [[nodiscard]] bool passes(LogLevel level, LogCategory category) const noexcept;
  friend bool operator==(const LogFilter&, const LogFilter&) = default;
};

/// How a line looks.
struct LogStyle {
  /// Which of the three forms.
  enum class Layout : std::uint8_t {
    standard,  ///< time, level, category, message, fields; ignores what follows but `colour`
    osmocom,   ///< as Osmocom's programs print it, fields at the end
    json,      ///< one object: time, level, category, message, and the fields
  };
  /// `logging print file`
  enum class File : std::uint8_t { off, path, basename };

  Layout layout = Layout::osmocom;
  bool colour = true;               ///< `logging color`; standard error: on a terminal only
  bool timestamp = false;           ///< `logging timestamp`: day and time in words
  bool extended_timestamp = false;  ///< digits down to milliseconds; instead of `timestamp`
  bool thread_id = false;           ///< the kernel's number
  bool category = false;            ///< "DLMGCP"
  bool category_hex = true;         ///< "<0013>"
  bool level = false;               ///< "NOTICE"
  File file = File::path;           ///< with the line number
  bool file_last = false;           ///< at the end of the line instead of before the message
  friend bool operator==(const LogStyle&, const LogStyle&) = default;
};

/// The registered port of GSMTAP.
inline constexpr std::uint16_t kGsmtapPort = 4729;

/// A target of the configuration.
struct LogTarget {
  /// Where lines go.
  enum class Kind : std::uint8_t {
    standard_error,
    file,     ///< `destination` is its path; lines are appended
    syslog,   ///< `destination` is the facility, "daemon" or "local0" for example
    journal,  ///< of systemd, with the fields
    gsmtap,   ///< `destination` is a numeric address, `port` its UDP port
    alarms,   ///< the last `alarms` lines from error on are kept for log_alarms()
  };
  Kind kind = Kind::standard_error;
  std::string destination;
  std::uint16_t port = kGsmtapPort;
  bool raw = false;           ///< journal: message and fields without the print options
  std::uint32_t alarms = 98;  ///< 2..kLogAlarmsMax
  LogFilter filter;
  LogStyle style;
  friend bool operator==(const LogTarget&, const LogTarget&) = default;
};

/// Targets of the configuration at most: each line is offered to all of them.
inline constexpr std::size_t kLogTargetsMax = 16;
/// Alarms kept at most, as osmo-mgw has it; with lines of 2 KiB that is 64 MiB at worst.
inline constexpr std::uint32_t kLogAlarmsMax = 32'700;

/// Replaces the targets of the configuration. One that is there already (same kind and destination)
/// goes on with the new filter and style, alarms stay. Returns warnings, one sentence each: a log
/// daemon that is not running, for example, whose lines are lost until it runs. An error (a file
/// that can't be opened, an unknown facility, no numeric address, too many) changes nothing.
/// Control thread, also while others log.
[[nodiscard]] tl::expected<std::vector<std::string>, std::string> set_log_targets(
    const std::vector<LogTarget>& targets);
/// The targets of the configuration. Control thread.
[[nodiscard]] std::vector<LogTarget> log_targets();

/// A line that was kept.
struct LogAlarm {
  std::chrono::system_clock::time_point time;
  LogLevel level = LogLevel::error;
  LogCategory category = LogCategory::lglobal;
  std::string text;  ///< message and fields, printable
};
/// The alarms, oldest first; empty without a target of that kind.
[[nodiscard]] std::vector<LogAlarm> log_alarms();

/// The log lines of one VTY session, kept until it takes them. Owned by the control thread, filled
/// by any thread; ends with the object.
class LogSession {
 public:
  /// Lines kept at most; a session that takes none loses the oldest.
  static constexpr std::size_t kBacklogMax = 256;

  /// `wake` is called when a line comes and none was waiting, by whichever thread logs and with
  /// logging locked: it may only post to the owner's event loop, and must not log.
  LogSession(const LogFilter& filter, const LogStyle& style, std::function<void()> wake);
  LogSession(const LogSession&) = delete;
  LogSession& operator=(const LogSession&) = delete;
  LogSession(LogSession&&) = delete;
  LogSession& operator=(LogSession&&) = delete;
  ~LogSession();

  [[nodiscard]] const LogFilter& filter() const noexcept { return filter_; }
  [[nodiscard]] const LogStyle& style() const noexcept { return style_; }
  /// Takes effect with the next line.
  void change(const LogFilter& filter, const LogStyle& style);
  /// The lines since the last call, oldest first, without line ends. If some were lost, the first
  /// one says how many.
  [[nodiscard]] std::vector<std::string> take();

 private:
  friend class LogCore;

  LogFilter filter_;
  LogStyle style_;
  std::function<void()> wake_;
  std::deque<std::string> backlog_;
  std::uint64_t lost_ = 0;
};

}  // namespace io
