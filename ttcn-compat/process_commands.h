#pragma once
// The commands about the process and what is around the gateway: VTY, CTRL, E1 lines, scheduling,
// and those that osmo-mgw's files may hold and that mean nothing here.

#include "ttcn-compat/command.h"

#include <span>

namespace ttcn_compat {

/// Those about the program as a whole, which `write` puts first. Static data.
[[nodiscard]] std::span<const CommandTable> program_command_tables() noexcept;
/// The others. Static data.
[[nodiscard]] std::span<const CommandTable> process_command_tables() noexcept;

}  // namespace ttcn_compat
