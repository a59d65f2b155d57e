#include "ttcn-compat/write_commands.h"

#include "conf/config_writer.h"
#include "ttcn-compat/command_context.h"
#include "ttcn-compat/configuration_text.h"
#include "ttcn-compat/vty_reference.h"

#include <array>
#include <sstream>

namespace ttcn_compat {

namespace {

CommandResult show_running(CommandContext& context) {
  context.output().print("\nCurrent configuration:\n!\n{}end\n",
                         write_configuration(context.tree(), context.gateway()->config()));
  return CommandResult::done;
}

/// The configuration in the form that the file's name asks for: a gateway that was started with
/// YAML keeps YAML.
std::string text_for(CommandContext& context, const std::string& path) {
  if (path.ends_with(".yaml") || path.ends_with(".yml")) {
    std::ostringstream text;
    conf::write_config(text, context.gateway()->config());
    return text.str();
  }
  return "!\n! Configuration saved from the VTY\n!!\n" +
         write_configuration(context.tree(), context.gateway()->config());
}

CommandResult save(CommandContext& context, const std::string& path) {
  if (path.empty()) {
    return context.fail("There is no configuration file: name one with 'write file PATH'");
  }
  const auto saved = context.services()->replace_file(path, text_for(context, path));
  if (!saved) {
    context.output().print("Can't open configuration file {}: {}.\n", path, saved.error());
    return CommandResult::failed;
  }
  context.output().print("Configuration saved to {}\n", path);
  return CommandResult::done;
}

CommandResult write_memory(CommandContext& context) {
  return save(context, context.gateway()->configuration_file());
}

CommandResult write_file(CommandContext& context) {
  return context.has(0) ? save(context, std::string(context.argument(0))) : write_memory(context);
}

CommandResult show_startup(CommandContext& context) {
  const std::string& path = context.gateway()->configuration_file();
  const auto text = context.services()->read_file(path);
  if (!text) {
    context.output().print("Can't open configuration file [{}]\n", path);
    return CommandResult::failed;
  }
  context.output().write(*text);
  if (!text->ends_with('\n')) {
    context.output().write("\n");
  }
  return CommandResult::done;
}

/// One node after the other: it is long.
CommandResult show_online_help(CommandContext& context) {
  context.continue_with([&tree = context.tree(), node = std::size_t{0}](Output& output) mutable {
    output.write(node == 0 ? kReferenceXmlStart : "");
    output.write(reference_xml(tree, static_cast<Node>(node)));
    ++node;
    output.write(node == kNodeCount ? kReferenceXmlEnd : "");
    return node < kNodeCount;
  });
  return CommandResult::done;
}

constexpr NodeSet kChanging{
    Node::enable,           Node::config,         Node::config_mgcp, Node::config_mgcp_trunk,
    Node::config_line,      Node::config_log,     Node::config_ctrl, Node::config_stats,
    Node::config_cpu_sched, Node::config_e1_input};

constexpr std::array kWriteCommands{
    Command{"write [memory]", "Save the configuration\nIn its file", write_memory, kSessionOnly},
    Command{"write file [PATH]", "Save the configuration\nIn a file\nOf this name", write_file,
            kSessionOnly},
    Command{"write terminal", "Save the configuration\nPrint it instead", show_running,
            kSessionOnly},
    Command{"show running-config", "The configuration that is in force", show_running,
            kSessionOnly},
};

constexpr std::array kEnableCommands{
    Command{"copy running-config startup-config",
            "Save the configuration\nThat which is in force\nIn its file", write_memory},
    Command{"show startup-config", "The configuration file", show_startup},
};

constexpr std::array kLookingCommands{
    Command{"show online-help", "All commands, as XML", show_online_help},
};

constexpr std::array kTables{
    CommandTable{kChanging, kWriteCommands},
    CommandTable{Node::enable, kEnableCommands},
    CommandTable{NodeSet{Node::view, Node::enable}, kLookingCommands},
};

}  // namespace

std::span<const CommandTable> write_command_tables() noexcept {
  return kTables;
}

}  // namespace ttcn_compat
