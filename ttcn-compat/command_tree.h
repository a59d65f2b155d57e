#pragma once
// All commands by node: finds the command that a line means, lists what may follow, completes
// words. Built once from constant tables; const afterwards, any thread.

#include "ttcn-compat/command.h"
#include "ttcn-compat/command_grammar.h"

#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ttcn_compat {

/// A command taken apart, or its form with `no`.
struct ParsedCommand {
  const Command* command = nullptr;
  NodeSet nodes{};
  bool negated = false;
  std::string text;  ///< as Command::text, of the form with `no` where it is one
  std::vector<Element> elements;

  /// Whether `?`, TAB and `list` show it.
  [[nodiscard]] bool is_visible() const noexcept {
    return (command->flags & (kHidden | kDeprecated)) == 0;
  }
};

/// Whether words may be shortened.
enum class Spelling : std::uint8_t {
  abbreviated,  ///< unambiguous beginnings are enough, parent nodes are tried: at the prompt
  exact,        ///< whole words of this very node: in files
};

/// Whether hidden commands are shown too.
enum class Visibility : std::uint8_t { offered, all };

/// What a line came to.
enum class MatchKind : std::uint8_t { empty, complete, unknown, incomplete, ambiguous };

/// The command that a line means. The views point into the line and into constant data.
struct CommandMatch {
  MatchKind kind = MatchKind::unknown;
  Node node = Node::view;  ///< where the command stands: the node asked for or one of its parents
  const Command* command = nullptr;  ///< if complete
  bool negated = false;
  /// One for each element that is an argument, keywords in full; empty where it was left out.
  std::vector<std::string_view> arguments;
};

/// One line of what `?` shows.
struct HelpLine {
  std::string word;
  std::string_view help;
};

/// What may follow a line that is not finished.
struct Suggestions {
  MatchKind kind = MatchKind::unknown;  ///< complete: there are some
  std::vector<HelpLine> lines;          ///< for `?`
  std::vector<std::string_view> words;  ///< for TAB: keywords only
};

/// The tree. `tables` and what they point to must outlive it.
class CommandTree {
 public:
  /// Commands with texts that are not well-formed are left out and told by faults().
  CommandTree(std::span<const CommandTable> tables, std::span<const SharedWord> shared_words);

  /// The command that `line` means in `node`.
  [[nodiscard]] CommandMatch match(Node node, std::string_view line, Spelling spelling) const;
  /// What may stand at the end of `line`: its last word, or the next after a blank.
  [[nodiscard]] Suggestions suggest(Node node, std::string_view line, Visibility visibility) const;
  /// The commands of a node in the order of their tables.
  [[nodiscard]] std::span<const ParsedCommand* const> commands(Node node) const noexcept;
  /// What is wrong with the tables: bad texts, words without help, the same command twice.
  [[nodiscard]] std::vector<std::string> faults() const;

 private:
  /// A command and the element that comes next.
  struct State {
    const ParsedCommand* command;
    std::size_t position;
    bool in_rest;  ///< further words belong to the rest of the line
  };
  struct States {
    std::vector<State> all;
    bool ambiguous = false;
  };
  struct Place {
    Node node;
    std::string_view line;
  };

  void add(const Command& command, NodeSet nodes, std::span<const SharedWord> shared_words);
  void add_no_form(const ParsedCommand& form);
  [[nodiscard]] States start(Node node, Spelling spelling) const;
  [[nodiscard]] static States step(const States& states, std::string_view word, Spelling spelling);
  [[nodiscard]] States walk(Node node, std::span<const std::string_view> words,
                            Spelling spelling) const;
  [[nodiscard]] CommandMatch match_here(Node node, std::string_view line, Spelling spelling) const;
  [[nodiscard]] CommandMatch match_in(Node node, std::string_view line, Spelling spelling) const;
  [[nodiscard]] Suggestions suggest_in(Node node, std::string_view line,
                                       Visibility visibility) const;
  [[nodiscard]] Place behind_redirection(Node node, std::string_view line) const;

  std::deque<ParsedCommand> commands_;  // addresses stay
  std::array<std::vector<const ParsedCommand*>, kNodeCount> by_node_;
  std::vector<std::string> faults_;
};

}  // namespace ttcn_compat
