#pragma once
// The commands that do something to endpoints and to the program.

#include "ttcn-compat/command.h"

#include <span>

namespace ttcn_compat {

/// Their tables. Static data.
[[nodiscard]] std::span<const CommandTable> action_command_tables() noexcept;

}  // namespace ttcn_compat
