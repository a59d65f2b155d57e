#pragma once
// What operators' commands need besides the gateway's calls: statistics, the log, the process.
// Whoever puts the programs' parts together implements it. Control thread only.

#include "conf/operation.h"
#include "io/time.h"
#include "ttcn-compat/counter_history.h"

#include <tl/expected.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ttcn_compat {

/// See above.
class OperatorServices {
 public:
  OperatorServices() = default;
  OperatorServices(const OperatorServices&) = delete;
  OperatorServices& operator=(const OperatorServices&) = delete;
  OperatorServices(OperatorServices&&) = delete;
  OperatorServices& operator=(OperatorServices&&) = delete;
  virtual ~OperatorServices() = default;

  /// The rates of counters, one history for all views.
  [[nodiscard]] virtual CounterHistory& counter_history() = 0;
  /// Has all enabled reporters report everything now.
  virtual void report_statistics() = 0;
  /// Counters are counted from here on.
  virtual void reset_statistics() = 0;
  /// Writes a log line of a category of io/log_category.h.
  virtual void write_log(conf::LogLevel level, std::string_view category,
                         std::string_view text) = 0;
  /// The last lines of the log target `alarms`, the oldest first, without line ends.
  [[nodiscard]] virtual std::vector<std::string> alarms() const = 0;
  /// The text of a file, and putting a text into its place; otherwise why it can't be done. On the
  /// disk (ttcn-compat/configuration_file.h), unless a test has them elsewhere.
  [[nodiscard]] virtual tl::expected<std::string, std::string> read_file(const std::string& path);
  [[nodiscard]] virtual tl::expected<void, std::string> replace_file(const std::string& path,
                                                                     std::string_view text);
  /// Since the start of the program.
  [[nodiscard]] virtual io::Duration uptime() const = 0;
  /// Of the program.
  [[nodiscard]] virtual std::int32_t process_id() const = 0;
  /// Memory that the program has in use, in bytes.
  [[nodiscard]] virtual std::uint64_t memory_bytes() const = 0;
};

}  // namespace ttcn_compat
