#pragma once
// A command of the VTY as data: its words, what they mean, in which nodes it stands, what it does
// and how `write` renders its setting. One declaration serves the parser, `?`, TAB, configuration
// files, `write` and the reference in docs/. Everything here is constant data.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

namespace ttcn_compat {

class CommandContext;
class ConfigurationText;

/// Where in the tree of modes a session, or a line of a file, stands.
enum class Node : std::uint8_t {
  view,
  enable,
  config,
  config_mgcp,
  config_mgcp_trunk,
  config_line,
  config_log,
  config_ctrl,
  config_stats,
  config_cpu_sched,
  config_e1_input,
};

inline constexpr std::size_t kNodeCount = 11;

/// What is the same for a whole node.
struct NodeInfo {
  Node node;
  Node parent;              ///< where `exit` leads; its own for those that it leaves the VTY from
  std::string_view prompt;  ///< what follows the name of the program, without the last blank
  std::string_view help;    ///< a sentence for the reference
};

/// The description of a node.
[[nodiscard]] const NodeInfo& node_info(Node node) noexcept;

/// Whether settings are edited there: `config` and all nodes below it.
[[nodiscard]] constexpr bool is_configuration(Node node) noexcept {
  return node >= Node::config;
}

/// A set of nodes.
class NodeSet {
 public:
  constexpr NodeSet(Node node) noexcept : bits_(bit(node)) {}
  constexpr NodeSet(std::initializer_list<Node> nodes) noexcept {
    for (const Node node : nodes) {
      bits_ |= bit(node);
    }
  }
  /// Whether `node` is in it.
  [[nodiscard]] constexpr bool contains(Node node) const noexcept {
    return (bits_ & bit(node)) != 0;
  }

 private:
  static constexpr std::uint32_t bit(Node node) noexcept {
    return std::uint32_t{1} << static_cast<unsigned>(node);
  }
  std::uint32_t bits_ = 0;
};

/// What became of a command.
enum class CommandResult : std::uint8_t {
  done,
  failed,  ///< why is in the output; an error in a configuration file
};

/// What a command does. Called on the control thread; must not block.
using CommandHandler = CommandResult (*)(CommandContext&);

/// Renders what a command sets as lines of a configuration file.
using CommandWriter = void (*)(ConfigurationText&);

/// How a command is treated: any of the bits below.
using CommandFlags = std::uint8_t;
inline constexpr CommandFlags kNoFlags = 0;
/// Works, but is not offered.
inline constexpr CommandFlags kHidden = 1;
/// Not offered, and listed as deprecated in the reference.
inline constexpr CommandFlags kDeprecated = 2;
/// Works with `no` in front too, then without its parameters: `no rtp bind-ip`.
inline constexpr CommandFlags kHasNoForm = 4;
/// Not known in configuration files.
inline constexpr CommandFlags kSessionOnly = 8;
/// The rest of the line is a command of node enable; has no handler. Session only.
inline constexpr CommandFlags kRedirected = 16;

/// One command. The text is made of blank-separated words:
///   word                 as it is
///   (one|two|three)      one of these, parameters too
///   [word] [one|two]     may be left out
///   <1-10>               a decimal number of that range
///   A.B.C.D  X:X::X:X    an IPv4, an IPv6 address
///   NAME                 any word; HEXMASK: hexadecimal digits, with or without 0x
///   .TEXT                the rest of the line, at least one word
struct Command {
  std::string_view text;
  /// One line for each word and each alternative, in their order. Where there are fewer lines than
  /// words, the first words are those of kSharedWords (command_tables.h).
  std::string_view help;
  CommandHandler handler = nullptr;
  CommandFlags flags = kNoFlags;
  CommandWriter writer = nullptr;
};

/// Commands that stand in the same nodes.
struct CommandTable {
  NodeSet nodes;
  std::span<const Command> commands;
};

/// The help of words that many commands begin with.
struct SharedWord {
  std::string_view path;  ///< "rtp", or "sdp audio-payload" for the word audio-payload after sdp
  std::string_view help;
};

}  // namespace ttcn_compat
