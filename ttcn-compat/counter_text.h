#pragma once
// Counters as the VTY shows them, in osmo-mgw's layouts. Lines end with "\n".

#include "conf/operation.h"
#include "ttcn-compat/counter_history.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace ttcn_compat {

/// Whether counters and items that are 0 are listed; groups without any others keep their heading.
enum class ZeroCounters : std::uint8_t { shown, skipped };

/// `show stats`, and with `level` `show stats level ...`: the groups up to that level, counters
/// first, then items, by their descriptions.
[[nodiscard]] std::string show_stats(const CounterSource& source, CounterHistory& history,
                                     conf::StatsLevel level, ZeroCounters zeros);
/// `show rate-counters`: all counters, by their names.
[[nodiscard]] std::string show_rate_counters(const CounterSource& source, CounterHistory& history,
                                             ZeroCounters zeros);
/// The part of `show mgcp stats` about the trunk at `trunk` of GatewayAccess::trunks().
[[nodiscard]] std::string trunk_rate_counters(const CounterSource& source, CounterHistory& history,
                                              std::size_t trunk);
/// The last part of `show mgcp stats`: what belongs to no trunk.
[[nodiscard]] std::string global_rate_counters(const CounterSource& source,
                                               CounterHistory& history);

}  // namespace ttcn_compat
