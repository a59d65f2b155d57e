#pragma once
// A configuration as the text of an osmo-mgw configuration file: the writers of the commands, one
// after the other. Values in, text out.

#include "conf/config.h"
#include "ttcn-compat/command_tree.h"

#include <fmt/format.h>

#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

namespace ttcn_compat {

/// What writers append to. Each line is indented by one blank for each block around it.
class ConfigurationText {
 public:
  /// Everything given must outlive this.
  ConfigurationText(const CommandTree& tree, const conf::Config& config, std::string& target)
      : tree_(tree), config_(config), target_(target) {}

  [[nodiscard]] const conf::Config& config() const noexcept { return config_; }
  /// What the block that is being written is about, as NodePath::key().
  [[nodiscard]] const std::string& key() const noexcept { return key_; }

  /// One line (fmt syntax).
  template <typename... Arguments>
  void line(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    target_.append(depth_, ' ');
    fmt::format_to(std::back_inserter(target_), format, std::forward<Arguments>(arguments)...);
    target_ += '\n';
  }
  /// A line that enters a node, and the lines of all writers of that node.
  void block(std::string_view header, Node node, std::string key = {});
  /// The lines of all writers of a node.
  void write_node(Node node);

 private:
  const CommandTree& tree_;
  const conf::Config& config_;
  std::string& target_;
  std::string key_;
  std::size_t depth_ = 0;
};

/// The whole configuration: reading it again gives the same one.
[[nodiscard]] std::string write_configuration(const CommandTree& tree, const conf::Config& config);

}  // namespace ttcn_compat
