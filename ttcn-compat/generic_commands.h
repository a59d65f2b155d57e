#pragma once
// The commands that every VTY of this family has: moving between nodes, help, the terminal, the
// session itself.

#include "ttcn-compat/command.h"

#include <span>

namespace ttcn_compat {

/// Their tables. Static data.
[[nodiscard]] std::span<const CommandTable> generic_command_tables() noexcept;

}  // namespace ttcn_compat
