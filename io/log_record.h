#pragma once
// A log line on its way from whoever logs to the targets.

#include "io/log.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace io {

/// Bytes of a message at most, the rest is cut off: what peers send is quoted in some.
inline constexpr std::size_t kLogMessageBytesMax = 2048;
/// Bytes of the value of a field at most: call ids and names of endpoints have fewer.
inline constexpr std::size_t kLogValueBytesMax = 256;

/// One line, not yet formatted; bytes as they came.
struct LogRecord {
  /// A field, see LogField.
  struct Field {
    std::string_view key;  ///< a literal
    std::string value;
    bool is_number = false;
  };

  std::chrono::system_clock::time_point time;
  LogLevel level = LogLevel::debug;
  LogCategory category = LogCategory::lglobal;
  const char* file = "";  ///< as the compiler names it
  std::uint32_t line = 0;
  std::int32_t thread_id = 0;  ///< of the kernel
  std::string message;
  std::vector<Field> fields;
};

/// Copies what a caller of log_line() says, cut to the limits.
[[nodiscard]] LogRecord make_log_record(LogAt at, LogCategory category, LogFields fields,
                                        std::string_view message,
                                        std::chrono::system_clock::time_point time);

}  // namespace io
