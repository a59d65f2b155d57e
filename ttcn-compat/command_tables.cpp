#include "ttcn-compat/command_tables.h"

#include "ttcn-compat/action_commands.h"
#include "ttcn-compat/generic_commands.h"
#include "ttcn-compat/log_commands.h"
#include "ttcn-compat/mgcp_commands.h"
#include "ttcn-compat/process_commands.h"
#include "ttcn-compat/show_commands.h"
#include "ttcn-compat/stats_commands.h"
#include "ttcn-compat/write_commands.h"

#include <array>
#include <vector>

namespace ttcn_compat {

namespace {

constexpr std::array kSharedWords{
    SharedWord{"show", "Look at something"},
    SharedWord{"rtp", "RTP and RTCP"},
    SharedWord{"sdp", "How legs are described"},
    SharedWord{"sdp audio-payload", "The codec"},
    SharedWord{"osmux", "Osmux, many calls in one datagram"},
    SharedWord{"e1_line", "An E1 line"},
};

}  // namespace

const CommandTree& command_tree() {
  static const CommandTree tree = [] {
    // In this order they are listed by '?' and written by 'write'.
    std::vector<CommandTable> tables;
    for (const auto part : {show_command_tables(), action_command_tables(),
                            program_command_tables(), log_command_tables(), stats_command_tables(),
                            process_command_tables(), mgcp_command_tables(), trunk_command_tables(),
                            write_command_tables(), generic_command_tables()}) {
      tables.insert(tables.end(), part.begin(), part.end());
    }
    return CommandTree(tables, kSharedWords);
  }();
  return tree;
}

}  // namespace ttcn_compat
