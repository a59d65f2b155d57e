#pragma once
// The commands of the nodes config-mgcp and config-mgcp-trunk: the gateway, its virtual trunk and
// its E1 trunks.

#include "ttcn-compat/command.h"

#include <span>

namespace ttcn_compat {

/// Their tables. Static data.
[[nodiscard]] std::span<const CommandTable> mgcp_command_tables() noexcept;
/// Those of the settings that every trunk has.
[[nodiscard]] std::span<const CommandTable> trunk_command_tables() noexcept;

/// Writes those settings of the virtual trunk that stand between its sockets' and the number of its
/// endpoints.
void write_virtual_trunk(ConfigurationText& text);

/// What a deprecated directive does: it says that it has no effect any more.
CommandResult deprecated_directive(CommandContext& context);

}  // namespace ttcn_compat
