#pragma once
// Log lines for operators: one per event of a call, with category and key=value fields. The packet
// path counts, it does not log; what it has to say goes through a LogLimiter. Where lines go is
// io/log_targets.h. A line is handed to a thread that writes it, so no caller waits for a disk, a
// pipe or a log daemon that has stopped.

#include "io/log_category.h"
#include "io/time.h"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace io {

/// Error means that a person must act, fatal that the program cannot go on.
enum class LogLevel : std::uint8_t { debug, info, notice, warning, error, fatal };

/// The level of a line and the place in the source that writes it: made from a level where log()
/// is called.
struct LogAt {
  LogLevel level;
  const char* file;
  std::uint32_t line;

  /// The place is the caller's. (std::source_location is not to be had with clang 14.)
  // NOLINTNEXTLINE(google-explicit-constructor): callers write a level
  constexpr LogAt(LogLevel of_line, const char* in_file = __builtin_FILE(),
                  std::uint32_t at_line = __builtin_LINE()) noexcept
      : level(of_line), file(in_file), line(at_line) {}
};

/// One key with its value, for the time of the call. In text it is `key=value`, in JSON a member,
/// in the journal a field of that name in capitals. Lines about a call carry, as far as known and
/// in this order: endpoint, conn, call, trans.
class LogField {
 public:
  /// `key` is a literal. An empty value is left out.
  LogField(const char* key, std::string_view value) noexcept : key_(key), text_(value) {}
  /// A number.
  template <typename Number>
  requires std::is_integral_v<Number> LogField(const char* key, Number value)
  noexcept : key_(key), number_(static_cast<std::uint64_t>(value)), is_number_(true) {}

  [[nodiscard]] const char* key() const noexcept { return key_; }
  [[nodiscard]] bool is_number() const noexcept { return is_number_; }
  [[nodiscard]] std::string_view text() const noexcept { return text_; }
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }

 private:
  const char* key_;
  std::string_view text_;
  std::uint64_t number_ = 0;
  bool is_number_ = false;
};

/// The fields of a line; views, for the time of the call.
using LogFields = std::initializer_list<LogField>;

/// The simple form: one target.
struct LogOptions {
  LogLevel level = LogLevel::notice;
  bool colour = false;  ///< colour levels on a terminal
  std::string file;     ///< empty = standard error
  bool json = false;    ///< one JSON object a line instead of text
};

/// Sets logging up with one target; may be called again, also while threads log. Before the first
/// call, lines from notice on go to standard error. Throws std::runtime_error if the file can't be
/// opened; then nothing has changed.
void start_logging(const LogOptions& options);
/// Has log files opened again under their names, for rotation. Any thread.
void reopen_log() noexcept;
/// Waits until all lines so far are written, at most `limit`; false: some are not, because whoever
/// takes them does not. Before the program ends, and for tests.
bool flush_log(std::chrono::milliseconds limit) noexcept;
/// Lines that could not be written since the start: the queue was full, or the target failed.
/// Counted once for each target concerned. Any thread.
[[nodiscard]] std::uint64_t lost_log_lines() noexcept;

/// The lowest level that any target wants, by category. For log_enabled().
struct LogThresholds {
  std::array<std::atomic<LogLevel>, kLogCategories.size()> levels;
};
extern constinit LogThresholds log_thresholds;

/// True if a line of this level would be written. One relaxed load. Any thread.
[[nodiscard]] inline bool log_enabled(LogLevel level, LogCategory category) noexcept {
  return level >= log_thresholds.levels[index_of(category)].load(std::memory_order_relaxed);
}
/// Writes one line. Any thread; never throws, never waits for a target.
void log_line(LogAt at, LogCategory category, LogFields fields, std::string_view message) noexcept;

/// Formats (fmt syntax) and writes one line, if the level is enabled. Arguments that cost something
/// belong inside `if (log_enabled(..))`. Not for the packet path.
template <typename... Arguments>
void log(LogAt at, LogCategory category, fmt::format_string<Arguments...> format,
         Arguments&&... arguments) {
  if (log_enabled(at.level, category)) {
    log_line(at, category, {}, fmt::format(format, std::forward<Arguments>(arguments)...));
  }
}
/// The same with fields.
template <typename... Arguments>
void log(LogAt at, LogCategory category, LogFields fields, fmt::format_string<Arguments...> format,
         Arguments&&... arguments) {
  if (log_enabled(at.level, category)) {
    log_line(at, category, fields, fmt::format(format, std::forward<Arguments>(arguments)...));
  }
}

/// Lets one line through per `interval` (one second) and counts the rest. Owner thread only.
class LogLimiter {
 public:
  /// True if a line may be written now; `suppressed()` then tells how many were not since the last
  /// one.
  [[nodiscard]] bool allow(TimePoint now) noexcept;
  [[nodiscard]] std::uint64_t suppressed() const noexcept { return suppressed_; }

 private:
  TimePoint next_{};
  std::uint64_t count_ = 0;
  std::uint64_t suppressed_ = 0;
};

}  // namespace io
