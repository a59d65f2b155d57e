// Commands as data: what a line means, what may follow it.

#include "ttcn-compat/command_tree.h"

#include "ttcn-compat/command_context.h"
#include "ttcn-compat/command_tables.h"

#include <doctest/doctest.h>

#include <array>
#include <string>

using namespace ttcn_compat;

namespace {

CommandResult nothing(CommandContext&) {
  return CommandResult::done;
}

constexpr std::array kView{
    Command{"show version", "Look\nVersion", nothing},
    Command{"show stats [skip-zero]", "Look\nCounters\nNot zeros", nothing},
    Command{"show stats level (global|peer|subscriber) [skip-zero]",
            "Look\nCounters\nOf level\nGlobal\nPeer\nSubscriber\nNot zeros", nothing},
    Command{"show line [<0-255>] [stats]", "Look\nLines\nNumber\nCounters", nothing},
    Command{"shutdown", "End", nothing},
};
constexpr std::array kEnable{
    Command{"show version", "Look\nVersion", nothing},
    Command{"show running-config", "Look\nConfiguration", nothing},
};
constexpr std::array kConfig{
    Command{"mgcp", "Gateway", nothing},
    Command{"do .COMMAND", "Run\nCommand", nullptr, kRedirected},
    Command{"log file NAME", "Log\nFile\nPath", nothing},
    Command{"secret", "Nothing to see", nothing, kHidden},
    Command{"now", "Session", nothing, kSessionOnly},
};
constexpr std::array kMgcp{
    Command{"bind ip (A.B.C.D|X:X::X:X)", "Bind\nAddress\nIPv4\nIPv6", nothing},
    Command{"rtp port-range <1024-65534> <1025-65535>", "RTP\nPorts\nFirst\nLast", nothing},
    Command{"rtp bind-ip A.B.C.D", "RTP\nAddress\nIPv4", nothing, kHasNoForm},
    Command{"rtp keep-alive <1-120>", "RTP\nKeep\nSeconds", nothing},
    Command{"rtp keep-alive once", "RTP\nKeep\nOnce", nothing, kHasNoForm},
    Command{"rtp net-range <0-65534> <0-65534>", "RTP\nOld\nFirst\nLast", nothing, kDeprecated},
    Command{"sdp audio fmtp-extra .NAME", "SDP\nAudio\nExtra\nText", nothing},
    Command{"affinity HEXMASK [delay]", "CPU\nMask\nLater", nothing},
    Command{"call agent", "Old\nOld", nothing, kDeprecated},
    Command{"call-agent ip A.B.C.D", "Agent\nAddress\nIPv4", nothing},
    Command{"clear", "Clear", nothing},
};
constexpr std::array kTables{
    CommandTable{Node::view, kView},
    CommandTable{Node::enable, kEnable},
    CommandTable{Node::config, kConfig},
    CommandTable{Node::config_mgcp, kMgcp},
};

const CommandTree& tree() {
  static const CommandTree tree(kTables, {});
  return tree;
}

MatchKind kind_of(Node node, std::string_view line) {
  return tree().match(node, line, Spelling::abbreviated).kind;
}

std::string_view text_of(Node node, std::string_view line) {
  const CommandMatch match = tree().match(node, line, Spelling::abbreviated);
  return match.kind == MatchKind::complete ? match.command->text : "";
}

std::vector<std::string_view> arguments_of(Node node, std::string_view line) {
  return tree().match(node, line, Spelling::abbreviated).arguments;
}

std::vector<std::string> help_of(Node node, std::string_view line) {
  std::vector<std::string> words;
  for (const HelpLine& help : tree().suggest(node, line, Visibility::offered).lines) {
    words.push_back(help.word);
  }
  return words;
}

std::vector<std::string_view> completions_of(Node node, std::string_view line) {
  return tree().suggest(node, line, Visibility::offered).words;
}

using Words = std::vector<std::string_view>;
using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("the tables of all commands have no faults") {
  for (const std::string& fault : command_tree().faults()) {
    FAIL_CHECK(fault);
  }
}

TEST_CASE("faults of command tables are found") {
  static constexpr std::array kBad{
      Command{"bind <5-1>", "a\nb", nothing},
      Command{"a (b|", "a\nb", nothing},
      Command{".ALL more", "a\nb", nothing},
      Command{"", "", nothing},
      Command{"twice", "a\nb", nothing},
      Command{"no help at all", "last", nothing},
      Command{"same word", "a\nb", nothing},
      Command{"same word", "a\nb", nothing},
      Command{"good <1-2> [x]", "a\nb\nc", nothing},
  };
  const std::array tables{CommandTable{Node::view, kBad}};
  const CommandTree bad(tables, {});
  CHECK(bad.commands(Node::view).size() == 4);
  CHECK(bad.faults().size() == 5 + 3 + 1);
}

TEST_CASE("words may be shortened as long as one command is meant") {
  CHECK(text_of(Node::view, "show version") == "show version");
  CHECK(text_of(Node::view, "  sho   v ") == "show version");
  CHECK(kind_of(Node::view, "sh v") == MatchKind::ambiguous);
  CHECK(kind_of(Node::view, "") == MatchKind::empty);
  CHECK(kind_of(Node::view, " \t ") == MatchKind::empty);
  CHECK(kind_of(Node::view, "nonsense") == MatchKind::unknown);
  CHECK(kind_of(Node::view, "show") == MatchKind::incomplete);
  CHECK(kind_of(Node::view, "show version now") == MatchKind::unknown);
  CHECK(kind_of(Node::view, "shutdown") == MatchKind::complete);
  CHECK(kind_of(Node::view, "Show version") == MatchKind::unknown);
}

TEST_CASE("a whole word wins over words that begin with it") {
  CHECK(text_of(Node::config_mgcp, "call agent") == "call agent");
  CHECK(text_of(Node::config_mgcp, "call-agent ip 1.2.3.4") == "call-agent ip A.B.C.D");
}

TEST_CASE("commands that are not offered make no abbreviation ambiguous") {
  CHECK(text_of(Node::config_mgcp, "ca ip 1.2.3.4") == "call-agent ip A.B.C.D");
  CHECK(kind_of(Node::config_mgcp, "c") == MatchKind::ambiguous);
  CHECK(text_of(Node::config, "sec") == "secret");
}

TEST_CASE("optional words may be left out, each with an empty argument") {
  CHECK(arguments_of(Node::view, "show stats") == Words{""});
  CHECK(arguments_of(Node::view, "show stats skip") == Words{"skip-zero"});
  CHECK(arguments_of(Node::view, "show stats l g") == Words{"global", ""});
  CHECK(arguments_of(Node::view, "show stats level peer s") == Words{"peer", "skip-zero"});
  CHECK(arguments_of(Node::view, "show line") == Words{"", ""});
  CHECK(arguments_of(Node::view, "show line 7") == Words{"7", ""});
  CHECK(arguments_of(Node::view, "show line stats") == Words{"", "stats"});
  CHECK(arguments_of(Node::view, "show line 7 st") == Words{"7", "stats"});
  CHECK(kind_of(Node::view, "show line stats 7") == MatchKind::unknown);
  CHECK(kind_of(Node::view, "show line 256") == MatchKind::unknown);
}

TEST_CASE("parameters take what their form says and nothing else") {
  CHECK(arguments_of(Node::config_mgcp, "bind ip 10.0.0.1") == Words{"10.0.0.1"});
  CHECK(arguments_of(Node::config_mgcp, "bind ip 2001:db8::5") == Words{"2001:db8::5"});
  CHECK(kind_of(Node::config_mgcp, "bind ip 10.0.0") == MatchKind::unknown);
  CHECK(kind_of(Node::config_mgcp, "bind ip localhost") == MatchKind::unknown);
  CHECK(kind_of(Node::config_mgcp, "rtp bind-ip ::1") == MatchKind::unknown);
  CHECK(arguments_of(Node::config_mgcp, "rtp port-range 4002 16001") == Words{"4002", "16001"});
  for (const char* const bad :
       {"rtp port-range 1023 2000", "rtp port-range 4002 65536", "rtp port-range -4002 16001",
        "rtp port-range 4002x 16001", "rtp port-range 99999999999999999999999 16001"}) {
    CHECK_MESSAGE(kind_of(Node::config_mgcp, bad) == MatchKind::unknown, bad);
  }
  CHECK(arguments_of(Node::config_mgcp, "affinity 0xfF") == Words{"0xfF", ""});
  CHECK(kind_of(Node::config_mgcp, "affinity 0x") == MatchKind::unknown);
  CHECK(kind_of(Node::config_mgcp, "affinity fg") == MatchKind::unknown);
  CHECK(arguments_of(Node::config, "log file /tmp/a") == Words{"/tmp/a"});
}

TEST_CASE("the rest of a line is one argument with its blanks") {
  CHECK(arguments_of(Node::config_mgcp, "sdp audio fmtp-extra  a=fmtp:126  x; y  ") ==
        Words{"a=fmtp:126  x; y"});
  CHECK(kind_of(Node::config_mgcp, "sdp audio fmtp-extra") == MatchKind::incomplete);
}

TEST_CASE("a command with a no form works with no in front, without its parameters") {
  CommandMatch match = tree().match(Node::config_mgcp, "no rtp bind", Spelling::abbreviated);
  REQUIRE(match.kind == MatchKind::complete);
  CHECK(match.negated);
  CHECK(match.command->text == "rtp bind-ip A.B.C.D");
  CHECK(match.arguments.empty());
  CHECK(kind_of(Node::config_mgcp, "no rtp bind-ip 1.2.3.4") == MatchKind::unknown);
  CHECK(kind_of(Node::config_mgcp, "no bind ip") == MatchKind::unknown);
  match = tree().match(Node::config_mgcp, "rtp bind-ip 1.2.3.4", Spelling::abbreviated);
  CHECK_FALSE(match.negated);
}

TEST_CASE("an unknown command of a configuration node is looked for in the nodes above") {
  const CommandMatch match = tree().match(Node::config_mgcp_trunk, "mgcp", Spelling::abbreviated);
  CHECK(match.kind == MatchKind::complete);
  CHECK(match.node == Node::config);
  CHECK(tree().match(Node::config_mgcp_trunk, "clear", Spelling::abbreviated).node ==
        Node::config_mgcp);
  CHECK(kind_of(Node::config_mgcp, "show version") == MatchKind::unknown);
  CHECK(kind_of(Node::view, "mgcp") == MatchKind::unknown);
  CHECK(help_of(Node::config_mgcp_trunk, "log ") == Texts{"file"});
}

TEST_CASE("do runs a command of the enable node and stays") {
  const CommandMatch match = tree().match(Node::config, "do show run", Spelling::abbreviated);
  CHECK(match.kind == MatchKind::complete);
  CHECK(match.node == Node::config);
  CHECK(match.command->text == "show running-config");
  CHECK(kind_of(Node::config, "do") == MatchKind::incomplete);
  CHECK(kind_of(Node::config, "do  ") == MatchKind::incomplete);
  CHECK(kind_of(Node::config, "do mgcp") == MatchKind::unknown);
  CHECK(kind_of(Node::config_mgcp, "do mgcp") == MatchKind::unknown);
  CHECK(help_of(Node::config, "do show ") == Texts{"version", "running-config"});
}

TEST_CASE("in files words are whole, nodes are not left, and commands of sessions are unknown") {
  const auto kind = [](Node node, std::string_view line) {
    return tree().match(node, line, Spelling::exact).kind;
  };
  CHECK(kind(Node::config_mgcp, "rtp bind-ip 1.2.3.4") == MatchKind::complete);
  CHECK(kind(Node::config_mgcp, "rtp bind 1.2.3.4") == MatchKind::unknown);
  CHECK(kind(Node::config_mgcp, "mgcp") == MatchKind::unknown);
  CHECK(kind(Node::config, "now") == MatchKind::unknown);
  CHECK(kind(Node::config, "do show version") == MatchKind::unknown);
  CHECK(kind(Node::config_mgcp, "rtp net-range 1 2") == MatchKind::complete);
}

TEST_CASE("help lists what may follow, in the order of the commands") {
  CHECK(help_of(Node::view, "") == Texts{"show", "shutdown"});
  CHECK(help_of(Node::view, "sh") == Texts{"show", "shutdown"});
  CHECK(help_of(Node::view, "show ") == Texts{"version", "stats", "line"});
  CHECK(help_of(Node::view, "show stats ") == Texts{"[skip-zero]", "level", "<cr>"});
  CHECK(help_of(Node::view, "show line ") == Texts{"[<0-255>]", "[stats]", "<cr>"});
  CHECK(help_of(Node::view, "show version ") == Texts{"<cr>"});
  CHECK(help_of(Node::view, "show nonsense ").empty());
  CHECK(help_of(Node::config_mgcp, "bind ip ") == Texts{"A.B.C.D", "X:X::X:X"});
  CHECK(help_of(Node::config_mgcp, "rtp ") ==
        Texts{"port-range", "bind-ip", "keep-alive"});  // net-range is deprecated
  CHECK(help_of(Node::config_mgcp, "sdp audio fmtp-extra x ") == Texts{"<cr>"});
  CHECK(tree().suggest(Node::view, "sh v", Visibility::offered).kind == MatchKind::ambiguous);
  const Suggestions hidden = tree().suggest(Node::config, "sec", Visibility::all);
  CHECK(hidden.words == Words{"secret"});
  CHECK(help_of(Node::config, "sec").empty());
}

TEST_CASE("completion knows the keywords") {
  CHECK(completions_of(Node::view, "sho") == Words{"show"});
  CHECK(completions_of(Node::view, "show s") == Words{"stats"});
  CHECK(completions_of(Node::config_mgcp, "rtp bind-ip ").empty());
  CHECK(completions_of(Node::config_mgcp, "no rtp ") == Words{"bind-ip", "keep-alive"});
}
