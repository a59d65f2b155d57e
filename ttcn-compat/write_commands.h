#pragma once
// The commands that print and save the configuration.

#include "ttcn-compat/command.h"

#include <span>

namespace ttcn_compat {

/// Their tables. Static data.
[[nodiscard]] std::span<const CommandTable> write_command_tables() noexcept;

}  // namespace ttcn_compat
