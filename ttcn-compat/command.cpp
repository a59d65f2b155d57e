#include "ttcn-compat/command.h"

#include <array>

namespace ttcn_compat {

namespace {

constexpr std::array<NodeInfo, kNodeCount> kNodes{{
    {Node::view, Node::view, ">", "Where a session begins: looking, without changing anything."},
    {Node::enable, Node::enable, "#", "Everything that needs no configuration mode."},
    {Node::config, Node::enable, "(config)#", "The nodes of the configuration."},
    {Node::config_mgcp, Node::config, "(config-mgcp)#", "The media gateway and its virtual trunk."},
    {Node::config_mgcp_trunk, Node::config_mgcp, "(config-mgcp-trunk)#", "One E1 trunk."},
    {Node::config_line, Node::config, "(config-line)#", "The VTY itself."},
    {Node::config_log, Node::config, "(config-log)#", "One target of log lines."},
    {Node::config_ctrl, Node::config, "(config-ctrl)#", "The control interface."},
    {Node::config_stats, Node::config, "(config-stats)#", "One reporter of statistics."},
    {Node::config_cpu_sched, Node::config, "(config-cpu-sched)#", "How threads are scheduled."},
    {Node::config_e1_input, Node::config, "(config-e1_input)#", "The E1 lines."},
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kNodeCount; ++i) {
    if (kNodes[i].node != static_cast<Node>(i)) {
      return false;
    }
  }
  return true;
}
static_assert(in_order());

}  // namespace

const NodeInfo& node_info(Node node) noexcept {
  return kNodes[static_cast<std::size_t>(node)];
}

}  // namespace ttcn_compat
