#pragma once
// The commands that show what the gateway is doing.

#include "ttcn-compat/command.h"

#include <span>

namespace ttcn_compat {

/// Their tables. Static data.
[[nodiscard]] std::span<const CommandTable> show_command_tables() noexcept;

}  // namespace ttcn_compat
