#pragma once
// All commands of the VTY and of osmo-mgw's configuration files, in one place.

#include "ttcn-compat/command_tree.h"

namespace ttcn_compat {

/// The tree of all commands; built on the first call.
[[nodiscard]] const CommandTree& command_tree();

}  // namespace ttcn_compat
