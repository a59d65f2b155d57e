#pragma once
// All counters of the gateway in the groups and under the names that osmo-mgw has: one view, from
// which VTY, CTRL and the reporters of statistics make theirs. Nothing is counted here.

#include "mgw/call_control.h"
#include "ttcn-compat/gateway_access.h"

#include <cstddef>
#include <string>

namespace mgw {

/// Calls the visitor with each group, in the order in which osmo-mgw lists them: connections, those
/// of the last E1 trunk down to the first, general, those of the virtual trunk, then the items of
/// the trunks. Control thread only. It reads 13 numbers of each connection: some 2 ms for 20,000 of
/// them.
void visit_counter_groups(const CallControl& control,
                          const ttcn_compat::CounterGroupVisitor& visitor);

/// A trunk by its position (the virtual one, then those of E1 lines) as counters name it:
/// "virtual-0", "e1-1".
[[nodiscard]] std::string trunk_label(const ControlCounters& control, std::size_t position);

}  // namespace mgw
