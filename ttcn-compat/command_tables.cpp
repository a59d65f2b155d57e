#include "ttcn-compat/command_tables.h"

#include "ttcn-compat/generic_commands.h"

#include <array>
#include <vector>

namespace ttcn_compat {

namespace {

constexpr std::array kSharedWords{
    SharedWord{"show", "Look at something"},
    SharedWord{"no", "Undo or switch off"},
};

}  // namespace

const CommandTree& command_tree() {
  static const CommandTree tree = [] {
    std::vector<CommandTable> tables;
    for (const auto part : {generic_command_tables()}) {
      tables.insert(tables.end(), part.begin(), part.end());
    }
    return CommandTree(tables, kSharedWords);
  }();
  return tree;
}

}  // namespace ttcn_compat
