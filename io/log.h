#pragma once
// Log lines for operators: one per event of a call, with category and key=value fields. The packet
// path counts, it does not log; what it has to say goes through a LogLimiter.

#include "io/time.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace io {

/// Error means that a person must act, fatal that the program cannot go on.
enum class LogLevel : std::uint8_t { debug, info, notice, warning, error, fatal };

/// Where log lines go and which.
struct LogOptions {
  LogLevel level = LogLevel::notice;
  bool colour = false;  ///< colour levels on a terminal
  std::string file;     ///< empty = standard error
};

/// Sets logging up; may be called again. Before the first call lines go to standard error. Throws
/// std::runtime_error if the file can't be opened. Main thread, before others start.
void start_logging(const LogOptions& options);
/// Reopens the log file, for rotation. Any thread.
void reopen_log() noexcept;
/// True if a line of this level would be written. Any thread.
[[nodiscard]] bool log_enabled(LogLevel level) noexcept;
/// Writes one line. Any thread; never throws.
void log_line(LogLevel level, std::string_view category, std::string_view message) noexcept;

/// Formats (fmt syntax) and writes one line, if the level is enabled. Not for the packet path.
template <typename... Arguments>
void log(LogLevel level, std::string_view category, fmt::format_string<Arguments...> format,
         Arguments&&... arguments) {
  if (log_enabled(level)) {
    log_line(level, category, fmt::format(format, std::forward<Arguments>(arguments)...));
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
