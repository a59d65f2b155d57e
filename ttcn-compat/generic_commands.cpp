#include "ttcn-compat/generic_commands.h"

#include "ttcn-compat/command_context.h"

#include <array>

namespace ttcn_compat {

namespace {

CommandResult help(CommandContext& context) {
  context.output().write(
      "Type '?' at any place of a line to see what may stand there, with a word of explanation.\n"
      "TAB completes a word. Words may be shortened as long as only one is meant: 'sh ru' is\n"
      "'show running-config'. 'list' prints all commands of this node, 'exit' leads one node up,\n"
      "'end' leaves the configuration; there, 'do' before a command runs it as if outside.\n"
      "Keys: control-A E B F to move, control-D K U W to erase, control-P N for earlier lines.\n");
  return CommandResult::done;
}

std::string_view flag_text(const Command& command) noexcept {
  if ((command.flags & kDeprecated) != 0) {
    return "d";
  }
  return (command.flags & kHidden) != 0 ? "^" : ".";
}

CommandResult list(CommandContext& context) {
  const bool with_flags = context.has(0);
  const bool all = context.session()->visibility() == Visibility::all;
  for (const ParsedCommand* const command : context.tree().commands(context.path().current())) {
    if (!all && !command->is_visible()) {
      continue;
    }
    if (with_flags) {
      context.output().print("  {}  {}\n", flag_text(*command->command), command->text);
    } else {
      context.output().print("  {}\n", command->text);
    }
  }
  return CommandResult::done;
}

CommandResult enable(CommandContext& context) {
  if (context.has(0)) {
    context.session()->set_visibility(Visibility::all);
  }
  context.path().enter(Node::enable, {});
  return CommandResult::done;
}

CommandResult disable(CommandContext& context) {
  context.session()->set_visibility(Visibility::offered);
  context.path().leave_to_node(Node::view);
  return CommandResult::done;
}

CommandResult configure_terminal(CommandContext& context) {
  context.path().enter(Node::config, {});
  return CommandResult::done;
}

/// In a file, indentation says where a block ends: `exit` and `end` change nothing there.
CommandResult exit_node(CommandContext& context) {
  if (context.in_file()) {
    return CommandResult::done;
  }
  if (is_configuration(context.path().current())) {
    context.path().leave();
  } else {
    context.session()->close();
  }
  return CommandResult::done;
}

CommandResult end(CommandContext& context) {
  if (!context.in_file()) {
    context.path().leave_to_node(Node::enable);
  }
  return CommandResult::done;
}

CommandResult terminal_length(CommandContext& context) {
  context.session()->set_terminal_length(static_cast<std::uint32_t>(context.number(0)));
  return CommandResult::done;
}

CommandResult terminal_no_length(CommandContext& context) {
  context.session()->set_terminal_length(context.session()->window_lines());
  return CommandResult::done;
}

CommandResult echo(CommandContext& context) {
  context.output().print("{}\n", context.argument(0));
  return CommandResult::done;
}

CommandResult who(CommandContext& context) {
  std::size_t number = 0;
  for (const std::string& peer : context.session()->peers()) {
    context.output().print(" vty[{}] connected from {}.\n", number++, peer);
  }
  return CommandResult::done;
}

CommandResult show_history(CommandContext& context) {
  for (const std::string& line : context.session()->history()) {
    context.output().print("  {}\n", line);
  }
  return CommandResult::done;
}

CommandResult show_version(CommandContext& context) {
  context.output().write(context.session()->version());
  return CommandResult::done;
}

constexpr NodeSet kEverywhere{Node::view,
                              Node::enable,
                              Node::config,
                              Node::config_mgcp,
                              Node::config_line,
                              Node::config_log,
                              Node::config_mgcp_trunk,
                              Node::config_ctrl,
                              Node::config_stats,
                              Node::config_cpu_sched,
                              Node::config_e1_input};
constexpr NodeSet kConfiguration{
    Node::config,       Node::config_mgcp,      Node::config_mgcp_trunk,
    Node::config_line,  Node::config_log,       Node::config_ctrl,
    Node::config_stats, Node::config_cpu_sched, Node::config_e1_input};
constexpr NodeSet kLooking{Node::view, Node::enable};

constexpr std::array kEverywhereCommands{
    Command{"help", "How to find one's way", help, kSessionOnly},
    Command{"list [with-flags]", "All commands of this node\nWith how they are treated", list,
            kSessionOnly},
    Command{"exit", "One node up, or the end of the session", exit_node},
    Command{"quit", "One node up, or the end of the session", exit_node, kSessionOnly | kHidden},
};
constexpr std::array kConfigurationCommands{
    Command{"end", "Back to the enable node", end},
    Command{"do .COMMAND", "Run a command of the enable node\nThe command", nullptr, kRedirected},
};
constexpr std::array kViewCommands{
    Command{"enable [expert-mode]", "To the enable node\nShow hidden commands too", enable,
            kSessionOnly},
};
constexpr std::array kEnableCommands{
    Command{"disable", "Back to the view node", disable, kSessionOnly},
    Command{"configure terminal", "To the configuration\nFrom this terminal", configure_terminal,
            kSessionOnly},
};
constexpr std::array kLookingCommands{
    Command{"terminal length <0-512>",
            "The terminal of this session\nWhen output pauses\nAfter so many lines; 0: never",
            terminal_length, kSessionOnly},
    Command{"terminal no length",
            "The terminal of this session\nUndo or switch off\nAs long as the client's window",
            terminal_no_length, kSessionOnly},
    Command{"echo .TEXT", "Print something here\nWhat", echo, kSessionOnly},
    Command{"who", "All sessions", who, kSessionOnly},
    Command{"show version", "The program and its version", show_version, kSessionOnly},
    Command{"show history", "The commands of this session", show_history, kSessionOnly},
};

constexpr std::array kTables{
    CommandTable{Node::view, kViewCommands},
    CommandTable{Node::enable, kEnableCommands},
    CommandTable{kEverywhere, kEverywhereCommands},
    CommandTable{kConfiguration, kConfigurationCommands},
    CommandTable{kLooking, kLookingCommands},
};

}  // namespace

std::span<const CommandTable> generic_command_tables() noexcept {
  return kTables;
}

}  // namespace ttcn_compat
