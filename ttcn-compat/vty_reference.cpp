#include "ttcn-compat/vty_reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace ttcn_compat {

namespace {

/// A node's name as its prompt has it.
std::string name_of(Node node) {
  if (node == Node::view || node == Node::enable) {
    return node == Node::view ? "view" : "enable";
  }
  std::string_view prompt = node_info(node).prompt;
  prompt.remove_prefix(1);
  return std::string(prompt.substr(0, prompt.find(')')));
}

std::string xml_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '\'':
        out += "&apos;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string shown(const Element& element, const Alternative& alternative) {
  const std::string word(alternative.text);
  return element.optional ? "[" + word + "]" : word;
}

/// Commands that stand in every node that has some of them are told once.
bool is_everywhere(const ParsedCommand& command) {
  return command.nodes.contains(Node::config_mgcp) && command.nodes.contains(Node::config_line) &&
         command.nodes.contains(Node::config_e1_input);
}

void write_command(std::ostream& out, const ParsedCommand& command) {
  out << "\n`" << command.text << "`";
  if ((command.command->flags & kDeprecated) != 0) {
    out << " (deprecated)";
  }
  out << "\n\n";
  for (const Element& element : command.elements) {
    for (const Alternative& alternative : element.alternatives) {
      out << "- `" << shown(element, alternative) << "`: " << alternative.help << '\n';
    }
  }
}

template <typename Predicate>
void write_commands(std::ostream& out, const CommandTree& tree, Node node, Predicate wanted) {
  for (const ParsedCommand* const command : tree.commands(node)) {
    const bool is_hidden = (command->command->flags & kHidden) != 0;
    if (!is_hidden && wanted(*command)) {
      write_command(out, *command);
    }
  }
}

}  // namespace

void write_reference(std::ostream& out, const CommandTree& tree) {
  out << "# VTY reference\n\n"
         "All commands of the VTY (telnet, TCP port 4243) by node; those of `config` and the nodes "
         "below it are also the\ndirectives of an osmo-mgw configuration file, one per line, with "
         "indentation in place of `exit`.\n\n"
         "`(a|b)` is one of several words, `[a]` may be left out, `<1-10>` is a number, words in "
         "capitals stand for text,\n`.TEXT` for the rest of the line. Words may be shortened at "
         "the prompt, not in files. Generated from the\ndeclarations of the commands.\n";
  out << "\n## In all nodes of the configuration\n";
  write_commands(out, tree, Node::config_mgcp, is_everywhere);
  for (std::size_t i = 0; i < kNodeCount; ++i) {
    const auto node = static_cast<Node>(i);
    out << "\n## Node " << name_of(node) << "\n\n"
        << node_info(node).help << " Prompt: `OsmoMGW" << node_info(node).prompt << " `\n";
    write_commands(out, tree, node,
                   [](const ParsedCommand& command) { return !is_everywhere(command); });
  }
}

std::string reference_xml(const CommandTree& tree, Node node) {
  std::string out = fmt::format("  <node id='{0}'>\n    <name>{0}</name>\n", name_of(node));
  for (const ParsedCommand* const command : tree.commands(node)) {
    if (!command->is_visible()) {
      continue;
    }
    fmt::format_to(std::back_inserter(out), "    <command id='{}'>\n      <params>\n",
                   xml_text(command->text));
    for (const Element& element : command->elements) {
      for (const Alternative& alternative : element.alternatives) {
        fmt::format_to(std::back_inserter(out), "        <param name='{}' doc='{}' />\n",
                       xml_text(shown(element, alternative)), xml_text(alternative.help));
      }
    }
    out += "      </params>\n    </command>\n";
  }
  return out + "  </node>\n";
}

}  // namespace ttcn_compat
