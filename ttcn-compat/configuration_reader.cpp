#include "ttcn-compat/configuration_reader.h"

#include "ttcn-compat/command_context.h"

#include <algorithm>
#include <utility>

namespace ttcn_compat {

namespace {

constexpr std::string_view kBlanks = " \t";

/// The blocks that are open, by their indentation.
class Indentation {
 public:
  explicit Indentation(NodePath& path) : path_(path) {}

  /// Opens or closes blocks so that a line with this indentation fits; false if it can't.
  [[nodiscard]] bool move_to(std::string_view indent) {
    if (blocks_.empty()) {
      blocks_.push_back({indent, path_.depth()});
      return true;
    }
    if (path_.depth() > blocks_.back().depth && indent.size() > blocks_.back().indent.size() &&
        indent.starts_with(blocks_.back().indent)) {
      blocks_.push_back({indent, path_.depth()});
      return true;
    }
    while (blocks_.size() > 1 && indent.size() < blocks_.back().indent.size()) {
      blocks_.pop_back();
    }
    path_.leave_to(blocks_.back().depth);
    return indent == blocks_.back().indent;
  }

 private:
  struct Block {
    std::string_view indent;
    std::size_t depth;
  };
  NodePath& path_;
  std::vector<Block> blocks_;
};

bool has_control_character(std::string_view line) noexcept {
  return std::ranges::any_of(
      line, [](char c) { return (c >= 0 && c < ' ' && c != '\t') || c == '\x7f'; });
}

std::string_view without_end(std::string_view text) noexcept {
  const std::size_t last = text.find_last_not_of("\r\n \t");
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

/// Why a line means nothing.
std::string_view mismatch_text(MatchKind kind) noexcept {
  return kind == MatchKind::incomplete ? "Command incomplete." : "There is no such command.";
}

/// Runs one line; the message of the result says what is wrong, or is worth knowing.
std::pair<CommandResult, std::string> run_line(const CommandTree& tree, std::string_view command,
                                               NodePath& path, conf::Config& config) {
  const CommandMatch match = tree.match(path.current(), command, Spelling::exact);
  if (match.kind != MatchKind::complete) {
    return {CommandResult::failed, std::string(mismatch_text(match.kind))};
  }
  std::string output;
  CommandContext context(tree, path, output, FileReading{config});
  const CommandResult result = context.run(match);
  return {result, std::string(without_end(output))};
}

}  // namespace

tl::expected<std::vector<ConfigurationRemark>, ConfigurationRemark> read_configuration(
    const CommandTree& tree, std::string_view text, conf::Config& config) {
  std::vector<ConfigurationRemark> remarks;
  NodePath path(Node::config);
  Indentation indentation(path);
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = without_end(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t begin = line.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos || line[begin] == '!' || line[begin] == '#') {
      continue;
    }
    const auto fault = [&](std::string message) {
      return tl::make_unexpected(ConfigurationRemark{
          number, std::string(line.substr(0, kConfigurationLineBytesMax)), std::move(message)});
    };
    if (line.size() > kConfigurationLineBytesMax) {
      return fault("The line is too long.");
    }
    if (has_control_character(line)) {
      return fault("There is a control character in the line.");
    }
    if (!indentation.move_to(line.substr(0, begin))) {
      return fault(
          "The indentation fits no block: lines of a block begin with the same blanks and "
          "tabs, and only a command that has a block of its own may be followed by more.");
    }
    auto [result, message] = run_line(tree, line.substr(begin), path, config);
    if (result == CommandResult::failed) {
      return fault(std::move(message));
    }
    if (!message.empty()) {
      remarks.push_back({number, std::string(line), std::move(message)});
    }
  }
  return remarks;
}

}  // namespace ttcn_compat
