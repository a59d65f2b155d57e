#pragma once
// One reporter of `stats.reporters`: turns the counters into statsd datagrams or log lines. It
// neither sends nor logs: each datagram or line goes to the caller. Control thread only.

#include "conf/operation.h"
#include "ttcn-compat/counter_history.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ttcn_compat {

/// See above.
///
/// A counter is reported as what it grew by since the reporter's last report (or since `stats
/// reset`, if that was later), an item as it is. What was reported last is remembered by group,
/// 0.2 KiB for a connection, and forgotten when the group is gone. The group of a connection is of
/// level global, as with osmo-mgw, so a report about 20,000 connections in calls has some 140,000
/// lines and takes 35 ms.
class CounterReporter {
 public:
  /// Bytes of a datagram as long as no MTU is configured.
  static constexpr std::size_t kDatagramBytes = 256;
  /// What IP and UDP headers take of an MTU.
  static constexpr std::size_t kHeaderBytes = 28;

  /// What a report holds.
  enum class Extent : std::uint8_t {
    periodic,    ///< all in the first report and each flush_period-th after it, else what changed
    everything,  ///< all; asked for by a person
  };
  /// Takes a datagram, or a log line without its end; valid during the call.
  using Sink = std::function<void(std::string_view)>;

  explicit CounterReporter(conf::StatsReporter options) : options_(std::move(options)) {}

  /// Another configuration from the next report on; what was reported stays known.
  void set_options(conf::StatsReporter options) { options_ = std::move(options); }
  [[nodiscard]] const conf::StatsReporter& options() const noexcept { return options_; }

  /// Makes a report, whether or not the reporter is enabled. A line that is longer than a datagram
  /// may be is one by itself.
  void report(const CounterSource& source, const CounterHistory& history, Extent extent,
              const Sink& sink);
  /// Groups that are remembered.
  [[nodiscard]] std::size_t groups() const noexcept { return reported_.size(); }

 private:
  struct Reported {
    std::vector<std::uint64_t> values;
    std::uint64_t report = 0;  // the last one that met the group
  };

  void report_group(const CounterGroupView& group, const CounterHistory& history, bool all,
                    const Sink& sink);
  void append_statsd(const CounterGroupView& group, const CounterView& counter, std::uint64_t value,
                     const Sink& sink);
  void emit_log(const CounterGroupView& group, const CounterView& counter, std::uint64_t value,
                const Sink& sink);
  [[nodiscard]] std::size_t datagram_bytes() const noexcept;

  conf::StatsReporter options_;
  std::unordered_map<CounterGroupKey, Reported, CounterGroupKeyHash> reported_;
  std::uint64_t reports_ = 0;   // made so far, the present one included
  std::uint64_t periodic_ = 0;  // of these, periodic ones since all values were sent
  std::string datagram_;        // scratch space, keeps its capacity
  std::string line_;
};

}  // namespace ttcn_compat
