#pragma once
// The part of the configuration that concerns how a gateway is run and watched: the VTY, CTRL, the
// reporters of statistics, and where log lines go. Plain structs whose initial values are the
// defaults.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace conf {

/// Section `vty`: the command line over telnet.
struct VtyOptions {
  bool enabled = false;
  /// Numeric address to bind to, IPv4 or IPv6.
  std::string bind = "127.0.0.1";
  /// TCP port, 0..65535; 0 = chosen by the system and told in the log.
  std::uint16_t port = 4243;
  /// Asks for a password first, which `password` holds; without one nobody gets in.
  bool login = false;
  std::string password;
  friend bool operator==(const VtyOptions&, const VtyOptions&) = default;
};

/// Section `ctrl`: the control interface (IPA framing) for programs.
struct CtrlOptions {
  bool enabled = false;
  /// Numeric address to bind to, IPv4 or IPv6.
  std::string bind = "127.0.0.1";
  /// TCP port, 0..65535; 0 = chosen by the system and told in the log.
  std::uint16_t port = 4267;
  friend bool operator==(const CtrlOptions&, const CtrlOptions&) = default;
};

/// What SIGTERM does.
enum class OnSigterm : std::uint8_t {
  stop,   ///< ends the gateway at once
  drain,  ///< refuses new calls and ends the gateway when the last one is over
};

/// Section `stop`: how the gateway ends.
struct StopOptions {
  OnSigterm on_sigterm = OnSigterm::stop;
  /// How long a drain by SIGTERM may take, 0..604800 s; 0 = until the last call is over.
  std::chrono::seconds drain_deadline{0};
  friend bool operator==(const StopOptions&, const StopOptions&) = default;
};

/// Which counters a reporter sends: each level includes the ones before it.
enum class StatsLevel : std::uint8_t { global, peer, subscriber };

/// One of `stats.reporters`: where the counters are sent from time to time.
struct StatsReporter {
  /// What a report becomes.
  enum class Kind : std::uint8_t {
    statsd,  ///< datagrams to a statsd server
    log,     ///< log lines
  };
  Kind kind = Kind::statsd;
  std::string name;      ///< tells reporters of one kind apart; may be empty
  bool enabled = false;  ///< reports are sent
  /// Numeric address from which datagrams are sent; empty = the system's choice.
  std::string local_address;
  /// Numeric address of the statsd server.
  std::string remote_address = "127.0.0.1";
  /// Its UDP port, 1..65535.
  std::uint16_t remote_port = 8125;
  /// Bytes of an IP packet, 100..65535; 0 = datagrams of at most 256 bytes.
  std::uint16_t mtu = 0;
  /// Stands before each name, with a dot; empty = nothing.
  std::string prefix;
  StatsLevel level = StatsLevel::global;
  /// Every so many reports all values are sent, 1..65535; 0 = after the first report only those
  /// that have changed.
  std::uint16_t flush_period = 0;
  friend bool operator==(const StatsReporter&, const StatsReporter&) = default;
};

/// Reporters at most: each report walks all counters.
inline constexpr std::size_t kStatsReportersMax = 16;

/// Section `stats`.
struct StatsOptions {
  /// Time between two reports, 0..65535 s; 0 = only when asked for.
  std::chrono::seconds interval{5};
  std::vector<StatsReporter> reporters;
  friend bool operator==(const StatsOptions&, const StatsOptions&) = default;
};

/// From which severity on a line is logged.
enum class LogLevel : std::uint8_t { debug, info, notice, warning, error, fatal };

/// How a log line names the place in the source that wrote it.
enum class LogPrintFile : std::uint8_t { off, path, basename };

/// The level of one category at one target.
struct LogCategoryLevel {
  std::string category;  ///< a name of io/log_category.h, such as "lmgcp"
  LogLevel level = LogLevel::notice;
  friend bool operator==(const LogCategoryLevel&, const LogCategoryLevel&) = default;
};

/// One of `log.targets`.
struct LogTarget {
  /// Where lines go.
  enum class Kind : std::uint8_t {
    standard_error,
    file,             ///< `destination` is its path
    syslog,           ///< `destination` is the facility, "daemon" or "local0" for example
    systemd_journal,  ///< with fields
    gsmtap,           ///< `destination` is a numeric address, UDP port 4729
    alarms,           ///< the last `alarms` lines of level error, kept for `show alarms`
  };
  Kind kind = Kind::standard_error;
  std::string destination;
  bool raw = false;           ///< systemd journal: message and fields without the print options
  std::uint32_t alarms = 98;  ///< 2..32700
  /// False: no lines at all. (`logging filter all` of osmo-mgw.)
  bool filter_all = true;
  bool colour = true;  ///< levels and categories, on a terminal only
  bool timestamp = false;
  bool extended_timestamp = false;  ///< with date and milliseconds
  bool thread_id = false;
  bool category = false;
  bool category_hex = true;
  bool show_level = false;
  LogPrintFile file = LogPrintFile::path;
  bool file_last = false;  ///< at the end of the line instead of before the message
  /// One JSON object a line instead of text.
  bool json = false;
  /// A level for all categories that stands above those of the categories; empty = theirs.
  std::optional<LogLevel> force_all;
  /// The level of categories that `levels` does not name.
  LogLevel level = LogLevel::notice;
  std::vector<LogCategoryLevel> levels;
  friend bool operator==(const LogTarget&, const LogTarget&) = default;
};

/// Targets at most: each line is offered to all of them.
inline constexpr std::size_t kLogTargetsMax = 16;

/// Section `log`. `level`, `file` and `json` are the simple form: one target, standard error or
/// the file. `targets`, if there are any, take its place.
struct LogOptions {
  LogLevel level = LogLevel::notice;
  /// Path of the log file, appended to; empty = standard error.
  std::string file;
  /// One JSON object a line instead of text.
  bool json = false;
  std::vector<LogTarget> targets;
  friend bool operator==(const LogOptions&, const LogOptions&) = default;
};

}  // namespace conf
