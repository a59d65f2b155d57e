#pragma once
// What is known of the gateway's counters beyond their values: how fast they grew, and from where
// on `stats reset` wants them counted. The counters themselves belong to the gateway and are never
// set back. Control thread only.
//
// All groups of the gateway and its trunks are sampled. A connection's group is sampled from the
// first time that somebody looks at it, until kConnectionWatchTime after the last, or until the
// connection is gone. So a gateway with 20,000 connections pays one walk over its counters a second
// (2 ms) and nothing else; if all of them are looked at, 0.7 KiB and some 100 ns a second for each.

#include "io/time.h"
#include "ttcn-compat/gateway_access.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ttcn_compat {

/// Calls the visitor with all groups, as GatewayAccess::visit_counters does.
using CounterSource = std::function<void(const CounterGroupVisitor&)>;

/// Which group of counters: what its name is made of.
struct CounterGroupKey {
  std::string_view prefix;  ///< a literal
  std::string name;
  std::uint32_t index = 0;
  friend bool operator==(const CounterGroupKey&, const CounterGroupKey&) = default;
};

/// For hash tables.
struct CounterGroupKeyHash {
  [[nodiscard]] std::size_t operator()(const CounterGroupKey& key) const noexcept;
};

/// The key of a group.
[[nodiscard]] inline CounterGroupKey key_of(const CounterGroupView& group) {
  return {group.prefix, group.name, group.index};
}

/// How much a counter grew in the last full second, minute, hour and day.
struct CounterRates {
  std::uint64_t second = 0;
  std::uint64_t minute = 0;
  std::uint64_t hour = 0;
  std::uint64_t day = 0;
};

/// A counter as VTY and CTRL show it.
struct CounterFigure {
  std::uint64_t value = 0;  ///< since the last reset; of an item, the value of the moment
  CounterRates rates;       ///< of an item, zero
};

/// See above.
class CounterHistory {
 public:
  /// How long after the last look a connection's counters are still sampled.
  static constexpr io::Duration kConnectionWatchTime = std::chrono::minutes(10);

  /// To be called once a second; called more often it does nothing. After a pause the rate of a
  /// second is the average of those that were missed, and so on.
  void tick(io::TimePoint now, const CounterSource& source);
  /// From now on values count from here, and rates are zero again. Items are as before.
  void reset(const CounterSource& source);
  /// What VTY and CTRL show of a group: one figure for each of its counters. Valid until the next
  /// call of anything here.
  [[nodiscard]] const std::vector<CounterFigure>& read(const CounterGroupView& group);
  /// The value of a counter at the last reset; 0 without one. Items have none.
  [[nodiscard]] std::uint64_t baseline(const CounterGroupView& group, std::size_t counter) const;
  /// Groups that are remembered.
  [[nodiscard]] std::size_t groups() const noexcept { return records_.size(); }

 private:
  static constexpr std::size_t kIntervals = 4;
  using PerInterval = std::array<std::uint64_t, kIntervals>;
  struct Sample {
    std::uint64_t baseline = 0;
    PerInterval at{};  // the value when the interval began
    PerInterval rates{};
  };
  struct Record {
    std::vector<Sample> samples;
    std::uint64_t walk = 0;  // the last one that met the group
    io::TimePoint looked_at{};
    bool of_connection = false;
    bool was_reset = false;
  };
  enum class Start : std::uint8_t { at_zero, at_present };

  Record& make_record(const CounterGroupView& group, Start start);
  void sample(const CounterGroupView& group, const PerInterval& completed);
  void forget();

  std::unordered_map<CounterGroupKey, Record, CounterGroupKeyHash> records_;
  std::size_t connection_records_ = 0;
  std::vector<CounterFigure> figures_;  // scratch space of read()
  bool started_ = false;
  io::TimePoint start_{};
  io::TimePoint now_{};
  std::uint64_t second_ = 0;  // full seconds since start_
  std::uint64_t walk_ = 0;
};

}  // namespace ttcn_compat
