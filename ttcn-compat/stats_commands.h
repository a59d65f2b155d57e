#pragma once
// The commands about statistics: reporters (node config-stats), reports on request, counters.

#include "ttcn-compat/command.h"

#include <span>

namespace ttcn_compat {

/// Their tables. Static data.
[[nodiscard]] std::span<const CommandTable> stats_command_tables() noexcept;

}  // namespace ttcn_compat
