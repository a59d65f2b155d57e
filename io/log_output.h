#pragma once
// What log targets write to, each as its kind demands. The writing thread alone calls them, so one
// that waits for a disk or a daemon holds nobody up but other targets.

#include "io/log_record.h"
#include "io/log_targets.h"

#include <tl/expected.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace io {

/// Takes lines. One thread.
class LogOutput {
 public:
  LogOutput() = default;
  LogOutput(const LogOutput&) = delete;
  LogOutput& operator=(const LogOutput&) = delete;
  LogOutput(LogOutput&&) = delete;
  LogOutput& operator=(LogOutput&&) = delete;
  virtual ~LogOutput() = default;

  /// Writes a line; false: it is lost.
  [[nodiscard]] virtual bool write(const LogRecord& record, const LogStyle& style) = 0;
  /// Opens a file anew under its name.
  virtual void reopen() {}
  /// Why lines are lost at the moment; empty: nothing known. Asked once, by the thread that made
  /// it, before the first line.
  [[nodiscard]] virtual std::string warning() const { return {}; }

  /// Lines lost since the last one that was written; for the writing thread.
  std::uint64_t lost = 0;
};

/// Makes what `target` writes to; null for alarms, which are kept in memory. The error is a
/// sentence.
[[nodiscard]] tl::expected<std::shared_ptr<LogOutput>, std::string> make_log_output(
    const LogTarget& target);

}  // namespace io
