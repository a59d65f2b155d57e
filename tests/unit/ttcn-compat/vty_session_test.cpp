// Sessions of the VTY: what is typed goes in, what the terminal is sent comes out.

#include "ttcn-compat/vty_session.h"

#include "tests/unit/ttcn-compat/vty_peer.h"
#include "ttcn-compat/command_tables.h"
#include "ttcn-compat/generic_commands.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <string>

using namespace ttcn_compat;
using test::prompt;

namespace {

CommandResult count_to_many(CommandContext& context) {
  context.continue_with([number = 0](Output& output) mutable {
    output.print("line {}\n", ++number);
    return number < 100000;
  });
  return CommandResult::done;
}

CommandResult print_six(CommandContext& context) {
  context.output().write("1\n2\n3\n4\n5\n6\n");
  return CommandResult::done;
}

CommandResult enter_mgcp(CommandContext& context) {
  context.path().enter(Node::config_mgcp, {});
  return CommandResult::done;
}

CommandResult set_domain(CommandContext& context) {
  if (context.argument(0) == "bad") {
    return context.fail("Not this one");
  }
  context.edit().mgcp.domain = context.argument(0);
  return CommandResult::done;
}

constexpr std::array kLooking{
    Command{"count", "Much output", count_to_many},
    Command{"six", "Six lines", print_six},
};
constexpr std::array kConfig{Command{"mgcp", "Gateway", enter_mgcp}};
constexpr std::array kMgcp{Command{"domain NAME", "Domain\nName", set_domain}};

const CommandTree& tree() {
  static const CommandTree tree = [] {
    std::vector<CommandTable> tables{
        {NodeSet{Node::view, Node::enable}, kLooking},
        {Node::config, kConfig},
        {Node::config_mgcp, kMgcp},
    };
    for (const CommandTable& table : generic_command_tables()) {
      tables.push_back(table);
    }
    return CommandTree(tables, {});
  }();
  return tree;
}

/// Has the commands of this file.
struct Peer : test::VtyPeer {
  Peer() : VtyPeer(tree()) {}
};

}  // namespace

TEST_CASE("a session begins with the banner, the telnet negotiation and a prompt, in one send") {
  Peer peer;
  peer.connect();
  CHECK(peer.session->take_output() ==
        "Hello\r\n\xff\xfb\x01\xff\xfb\x03\xff\xfe\x22\xff\xfd\x1fOsmoMGW> ");
}

TEST_CASE("a command is echoed, and its output and the prompt leave in one send") {
  Peer peer;
  peer.session->receive("six\n");
  CHECK(peer.session->take_output() == "six\r\n1\r\n2\r\n3\r\n4\r\n5\r\n6\r\nOsmoMGW> ");
  CHECK(peer.session->take_output().empty());
}

TEST_CASE("line ends are LF, CR, CR LF and CR NUL") {
  Peer peer;
  const std::string once = "six\r\n1\r\n2\r\n3\r\n4\r\n5\r\n6\r\nOsmoMGW> ";
  CHECK(peer.type("six\n") == once);
  CHECK(peer.type("six\r") == once);
  CHECK(peer.type("\n").empty());
  CHECK(peer.type("six\r\n") == once);
  CHECK(peer.type(std::string_view("six\r\0", 5)) == once);
  CHECK(peer.type("\n\n") == "\r\nOsmoMGW> \r\nOsmoMGW> ");
}

TEST_CASE("the prompt tells the node, and exit, end, control-Z and control-D lead out of it") {
  Peer peer;
  CHECK(peer.type("enable\n") == "enable\r\n" + prompt("#"));
  CHECK(peer.type("configure terminal\n") == "configure terminal\r\n" + prompt("(config)#"));
  CHECK(peer.type("mgcp\n") == "mgcp\r\n" + prompt("(config-mgcp)#"));
  CHECK(peer.type("mgcp\n") == "mgcp\r\n" + prompt("(config-mgcp)#"));
  CHECK(peer.type("exit\n") == "exit\r\n" + prompt("(config)#"));
  peer.type("mgcp\n");
  CHECK(peer.type("end\n") == "end\r\n" + prompt("#"));
  peer.type("configure terminal\nmgcp\n");
  CHECK(peer.type("\x1a") == "\r\n" + prompt("#"));
  peer.type("configure terminal\nmgcp\n");
  CHECK(peer.type("\x04") == "\r\n" + prompt("(config)#"));
  peer.type("end\n");
  CHECK(peer.type("disable\n") == "disable\r\n" + prompt(">"));
  CHECK_FALSE(peer.session->is_over());
  CHECK(peer.type("quit\n") == "quit\r\n");
  CHECK(peer.session->is_over());
}

TEST_CASE("what can't be executed is told") {
  Peer peer;
  CHECK(peer.type("foo\n") == "foo\r\n% Unknown command.\r\n" + prompt(">"));
  CHECK(peer.type("e\n") == "e\r\n% Ambiguous command.\r\n" + prompt(">"));
  CHECK(peer.type("show\n") == "show\r\n% Command incomplete.\r\n" + prompt(">"));
}

TEST_CASE("a session edits a copy of the configuration, which the gateway takes or refuses") {
  Peer peer;
  peer.type("enable\nconfigure terminal\nmgcp\n");
  CHECK(peer.type("domain example\n") == "domain example\r\n" + prompt("(config-mgcp)#"));
  CHECK(peer.gateway.configuration.mgcp.domain == "example");
  CHECK(peer.gateway.reconfigured == 1);
  peer.type("domain example\n");
  CHECK(peer.gateway.reconfigured == 1);  // nothing changed
  CHECK(peer.type("domain bad\n") == "domain bad\r\n% Not this one\r\n" + prompt("(config-mgcp)#"));
  peer.gateway.refusal = "They contradict";
  CHECK(peer.type("domain other\n") ==
        "domain other\r\n% They contradict\r\n" + prompt("(config-mgcp)#"));
  CHECK(peer.gateway.configuration.mgcp.domain == "example");
  peer.gateway.refusal.clear();
  peer.gateway.needs_restart = {"mgcp.domain"};
  CHECK(peer.type("domain third\n").find("started again (mgcp.domain)") != std::string::npos);
  CHECK(peer.type("do six\n").ends_with("6\r\n" + prompt("(config-mgcp)#")));
}

TEST_CASE("editing keys change the line and show it") {
  Peer peer;
  CHECK(peer.type("sh\x7f\x08\x08") == "sh\b \b\b \b");
  CHECK(peer.type("conf\x01") == "conf\b\b\b\b");
  CHECK(peer.type("x") == "xconf\b\b\b\b");
  CHECK(peer.type("\x05") == "conf");
  CHECK(peer.type("\x02\x02Y") == "\b\bYnf\b\b");
  CHECK(peer.type("\x04") == "f \b\b");
  CHECK(peer.type("\x06\x02") == "f\b");
  CHECK(peer.type("\x0b") == " \b");
  CHECK(peer.type("\n").ends_with("% Unknown command.\r\n" + prompt(">")));
  CHECK(peer.type("one two  \x17") == "one two  \b\b\b\b\b     \b\b\b\b\b");
  CHECK(peer.type("\x15") == "\b\b\b\b    \b\b\b\b");
  CHECK(peer.type("six\x03") == "six\r\n" + prompt(">"));
  CHECK(peer.type("ixe\x01\x1b[Cs\x02\x02s\x1b[F\x7f\n").find("\n6\r\n") == std::string::npos);
  CHECK(peer.type("ix\x1bOHs\n").ends_with("6\r\n" + prompt(">")));
  CHECK(peer.type("sxix\x1b[1~\x1b[C\x1b[3~\n").ends_with("6\r\n" + prompt(">")));
}

TEST_CASE("earlier lines come back with control-P, control-N and the arrows") {
  Peer peer;
  peer.type("six\necho two\necho two\n \n");
  CHECK(peer.type("\x10") == "echo two");
  CHECK(peer.type("\x1b[A") == "\b\b\b\b\b\b\b\b        \b\b\b\b\b\b\b\bsix");
  CHECK(peer.type("\x10").empty());
  CHECK(peer.type("\x0e\x1b[B\n").ends_with("\r\n" + prompt(">")));
  CHECK(peer.type("show history\n") ==
        "show history\r\n  six\r\n  echo two\r\n  show history\r\n" + prompt(">"));
  for (std::size_t i = 0; i < 2 * kHistoryLinesMax; ++i) {
    peer.type("echo " + std::to_string(i) + "\n");
  }
  const std::string all = peer.type("show history\n");
  CHECK(std::ranges::count(all, '\n') == static_cast<std::ptrdiff_t>(kHistoryLinesMax + 1));
}

TEST_CASE("a line that is too long is refused whole") {
  Peer peer;
  CHECK(peer.type("echo " + std::string(kLineBytesMax - 5, 'a') + "\n").find("%") ==
        std::string::npos);
  const std::string answer = peer.type("echo " + std::string(kLineBytesMax, 'b') + "\n");
  CHECK(answer.find("% Line too long") != std::string::npos);
  CHECK(answer.ends_with(prompt(">")));
  for (int i = 0; i < 1000; ++i) {
    CHECK(peer.type(std::string(kSessionInputBytesMax, 'c')).size() <= kLineBytesMax);
  }
  CHECK(peer.type("\nsix\n").ends_with("6\r\n" + prompt(">")));
}

TEST_CASE("a question mark shows at once what may follow, and the line stays") {
  Peer peer;
  CHECK(peer.type("terminal ?") ==
        "terminal \r\n  length  When output pauses\r\n  no      Undo or switch off\r\n" +
            prompt(">") + "terminal ");
  CHECK(peer.type("length 0\n") == "length 0\r\n" + prompt(">"));
  CHECK(peer.type("six ?") == "six \r\n  <cr>\r\n" + prompt(">") + "six ");
  CHECK(peer.type("\x15x?") ==
        "\b\b\b\b    \b\b\b\bx\r\n% There is no matching command.\r\n" + prompt(">") + "x");
}

TEST_CASE("TAB completes a word as far as it is clear, and shows the choices") {
  Peer peer;
  CHECK(peer.type("en\t") == "enable ");
  CHECK(peer.type("\x15te\t") == "\b\b\b\b\b\b\b       \b\b\b\b\b\b\bterminal ");
  CHECK(peer.type("\x15") == "\b\b\b\b\b\b\b\b\b         \b\b\b\b\b\b\b\b\b");
  CHECK(peer.type("e\t") == "e\r\nenable  exit    echo    \r\n" + prompt(">") + "e");
  CHECK(peer.type("\x15nothing\t") == "\b \bnothing");
}

TEST_CASE("telnet negotiations are taken out wherever they are cut") {
  const std::string negotiation("\xff\xfd\x01\xff\xfb\x1f\xff\xfa\x1f\0P\0\x18\xff\xf0\xff\xf1",
                                17);
  const std::string typed = negotiation.substr(0, 6) + "s" + negotiation.substr(6) + "ix\n";
  for (std::size_t cut = 0; cut <= typed.size(); ++cut) {
    Peer peer;
    std::string answer = peer.type(std::string_view(typed).substr(0, cut));
    answer += peer.type(std::string_view(typed).substr(cut));
    CHECK(answer == "six\r\n1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n" + prompt(">"));
  }
  Peer peer;
  CHECK(peer.type("\xff\xfa" + std::string(4000, 'x')).empty());  // never ends
  CHECK(peer.type("\xff\xf0six\xff\xf8\xff\xf4") == "six\b\b\b   \b\b\b\r\n" + prompt(">"));
}

TEST_CASE("terminal length pauses long output, on request as long as the client's window") {
  Peer peer;
  CHECK(peer.type("terminal length 3\n") == "terminal length 3\r\n" + prompt(">"));
  CHECK(peer.type("six\n") == "six\r\n1\r\n2\r\n --More-- ");
  CHECK(peer.type("\r\n") == "\r          \r3\r\n --More-- ");
  CHECK(peer.type(" ") == "\r          \r4\r\n5\r\n --More-- ");
  CHECK(peer.type("q") == "\r          \r" + prompt(">"));
  peer.type(std::string_view("\xff\xfa\x1f\0P\0\x05\xff\xf0", 9));
  CHECK(peer.type("terminal no length\n") == "terminal no length\r\n" + prompt(">"));
  CHECK(peer.type("six\n") == "six\r\n1\r\n2\r\n3\r\n4\r\n --More-- ");
  CHECK(peer.type("\x03") == "\r          \r" + prompt(">"));
  peer.type("terminal length 0\n");
  CHECK(peer.type("six\n").ends_with("6\r\n" + prompt(">")));
}

TEST_CASE("output without end stops while the peer does not read, and goes on when it does") {
  Peer peer;
  peer.session->receive("count\n");
  const std::string first = peer.session->take_output();
  CHECK(first.size() >= kSessionOutputBytesMax);
  CHECK(first.size() < kSessionOutputBytesMax + kOutputPortionBytes);
  CHECK(peer.session->wants_input());
  peer.session->receive("echo after\n");  // is executed after it
  CHECK_FALSE(peer.session->wants_input());
  const std::string rest = peer.read();
  CHECK(rest.find("line 100000\r\nOsmoMGW> echo after\r\nafter\r\n") != std::string::npos);
  CHECK(peer.session->wants_input());
}

TEST_CASE("control-C and telnet's interrupt give up an output that is too long") {
  Peer peer;
  for (const char* const interrupt : {"\x03", "\xff\xf4"}) {
    peer.session->receive("count\n");
    CHECK(peer.session->take_output().size() >= kSessionOutputBytesMax);
    peer.session->receive(interrupt);
    CHECK(peer.read().ends_with(prompt(">")));
    CHECK(peer.type("echo x\n") == "echo x\r\nx\r\n" + prompt(">"));
  }
  peer.session->receive("count\n");
  CHECK(peer.session->take_output().size() >= kSessionOutputBytesMax);
  peer.session->receive("\xff\xfd\x03");  // DO SUPPRESS-GO-AHEAD
  CHECK(peer.read().find("line 100000\r\n") != std::string::npos);
}

TEST_CASE("a peer that never reads costs a bounded amount of memory") {
  Peer peer;
  while (peer.session->wants_input()) {
    peer.session->receive(std::string(1000, '\x01') + std::string(1000, 'x') + "\x05");
  }
  for (int i = 0; i < 100000; ++i) {
    peer.session->write_log("a log line of some length, as they are");
  }
  CHECK(peer.session->take_output().size() < 2 * kSessionOutputBytesMax);
}

TEST_CASE("log lines come between everything else, and those that were dropped are counted") {
  Peer peer;
  peer.session->log().enabled = true;
  peer.type("ec");
  peer.session->write_log("something\nhappened");
  CHECK(peer.read() == "something\r\nhappened\r\n");
  CHECK(peer.type("ho x\n") == "ho x\r\nx\r\n" + prompt(">"));
  const std::string line(1000, 'l');
  for (int i = 0; i < 50; ++i) {
    peer.session->write_log(line);
  }
  const auto shown = peer.read().size() / (line.size() + 2);
  CHECK(shown == 1 + kLogBacklogBytesMax / (line.size() + 2));
  peer.session->write_log("again");
  CHECK(peer.read() ==
        "% " + std::to_string(50 - shown) + " log lines were not shown\r\nagain\r\n");
}

TEST_CASE("with login a session asks for the password, which is not shown") {
  Peer peer;
  peer.gateway.configuration.vty.login = true;
  peer.gateway.configuration.vty.password = "secret?";
  peer.connect();
  CHECK(peer.read().ends_with("\x1fPassword: "));
  CHECK(peer.type("enable\n") == "\r\nPassword: ");
  CHECK(peer.type("secrex\x7ft?\n") == "\r\n" + prompt(">"));
  CHECK(peer.type("show history\n") == "show history\r\n  show history\r\n" + prompt(">"));

  peer.connect();
  peer.read();
  CHECK(peer.type("a\nb\nc\nsecret?\n") ==
        "\r\nPassword: \r\nPassword: \r\n% Wrong password, too often.\r\n");
  CHECK(peer.session->is_over());

  peer.gateway.configuration.vty.password.clear();
  peer.connect();
  CHECK(peer.read().find("nobody gets in") != std::string::npos);
  CHECK(peer.session->is_over());
}

TEST_CASE("of many commands that come at once, each waits until the answer before is sent") {
  Peer peer;
  peer.session->receive("echo a\necho b\nech");
  CHECK(peer.session->take_output() == "echo a\r\na\r\n" + prompt(">"));
  CHECK_FALSE(peer.session->wants_input());
  CHECK(peer.session->take_output().empty());
  peer.session->on_sent();
  CHECK(peer.session->take_output() == "echo b\r\nb\r\n" + prompt(">"));
  peer.session->on_sent();
  CHECK(peer.session->take_output() == "ech");
  CHECK(peer.session->wants_input());
}

TEST_CASE("who tells all sessions") {
  Peer peer;
  peer.options.other_peers = [] { return std::vector<std::string>{"127.0.0.1:40000", "[::1]:5"}; };
  CHECK(peer.type("who\n") ==
        "who\r\n vty[0] connected from 127.0.0.1:40000.\r\n"
        " vty[1] connected from [::1]:5.\r\n" +
            prompt(">"));
}

TEST_CASE("hidden commands are listed in expert mode") {
  Peer peer;
  CHECK(peer.type("list with-flags\n").find("quit") == std::string::npos);
  peer.type("enable expert-mode\n");
  CHECK(peer.type("list with-flags\n").find("  ^  quit\r\n") != std::string::npos);
  peer.type("disable\n");
  CHECK(peer.type("list\n").find("quit") == std::string::npos);
}

TEST_CASE("ten thousand random command lines harm nobody") {
  std::mt19937 random(4243);
  const auto below = [&](std::size_t limit) { return random() % limit; };
  std::vector<std::string> words{"no",   "do",    "?",        "\t",           "1",
                                 "4000", "65536", "10.0.0.1", "::1",          "rtpbridge/1@mgw",
                                 "0xff", "\x01",  "\x10",     "\xff\xfb\x01", "-1"};
  for (std::size_t node = 0; node < kNodeCount; ++node) {
    for (const ParsedCommand* command : command_tree().commands(static_cast<Node>(node))) {
      for (const std::string_view word : split_words(command->text)) {
        words.emplace_back(word);
      }
    }
  }
  test::VtyPeer peer(command_tree());
  for (int i = 0; i < 10000; ++i) {
    std::string line;
    for (std::size_t count = below(6); count > 0; --count) {
      std::string word = words[below(words.size())];
      if (below(4) == 0 && !word.empty()) {
        word[below(word.size())] = static_cast<char>(below(256));
      } else if (below(3) == 0) {
        word.resize(1 + below(word.size()));
      }
      line += word + (below(10) == 0 ? "  " : " ");
    }
    peer.type(line + "\n");
    if (peer.session->is_over()) {
      peer.connect();
      peer.read();
    }
    if (below(20) == 0) {
      peer.type("enable\n");
    }
    if (below(20) == 0) {
      peer.type("configure terminal\nmgcp\n");
    }
  }
  peer.connect();
  peer.read();
  CHECK(peer.type("enable\n") == "enable\r\n" + prompt("#"));
}
