#pragma once
// The commands about log lines: the targets of the configuration (node config-log), and what a
// session wants to see.

#include "ttcn-compat/command.h"

#include <span>

namespace ttcn_compat {

/// Their tables. Static data.
[[nodiscard]] std::span<const CommandTable> log_command_tables() noexcept;

}  // namespace ttcn_compat
