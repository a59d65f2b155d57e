#include "ttcn-compat/configuration_text.h"

namespace ttcn_compat {

void ConfigurationText::block(std::string_view header, Node node, std::string key) {
  line("{}", header);
  key_.swap(key);
  ++depth_;
  write_node(node);
  --depth_;
  key_.swap(key);
}

void ConfigurationText::write_node(Node node) {
  for (const ParsedCommand* const command : tree_.commands(node)) {
    if (command->command->writer != nullptr && !command->negated) {
      command->command->writer(*this);
    }
  }
}

std::string write_configuration(const CommandTree& tree, const conf::Config& config) {
  std::string text;
  ConfigurationText(tree, config, text).write_node(Node::config);
  return text;
}

}  // namespace ttcn_compat
