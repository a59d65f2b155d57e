// Configuration files: blocks by indentation, faults with their line, and writing what was read.

#include "tests/unit/ttcn-compat/fake_gateway.h"
#include "ttcn-compat/command_context.h"
#include "ttcn-compat/configuration_reader.h"
#include "ttcn-compat/configuration_text.h"
#include "ttcn-compat/generic_commands.h"

#include <doctest/doctest.h>

#include <array>
#include <string>

using namespace ttcn_compat;

namespace {

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

CommandResult enter_trunk(CommandContext& context) {
  context.edit().e1.trunks.push_back(static_cast<std::uint32_t>(context.number(0)));
  context.edit().e1.lines.push_back(0);
  context.path().enter(Node::config_mgcp_trunk, std::string(context.argument(0)));
  return CommandResult::done;
}

CommandResult set_line(CommandContext& context) {
  for (std::size_t i = 0; i < context.config().e1.trunks.size(); ++i) {
    if (std::to_string(context.config().e1.trunks[i]) == context.path().key()) {
      context.edit().e1.lines[i] = static_cast<std::uint32_t>(context.number(0));
    }
  }
  return CommandResult::done;
}

CommandResult deprecated(CommandContext& context) {
  context.output().write("% Deprecated\n");
  return CommandResult::done;
}

void write_domain(ConfigurationText& text) {
  text.line("domain {}", text.config().mgcp.domain);
}
void write_mgcp(ConfigurationText& text) {
  text.block("mgcp", Node::config_mgcp);
}
void write_trunks(ConfigurationText& text) {
  for (const std::uint32_t trunk : text.config().e1.trunks) {
    text.block("trunk " + std::to_string(trunk), Node::config_mgcp_trunk, std::to_string(trunk));
  }
}
void write_line(ConfigurationText& text) {
  for (std::size_t i = 0; i < text.config().e1.trunks.size(); ++i) {
    if (std::to_string(text.config().e1.trunks[i]) == text.key()) {
      text.line("line {}", text.config().e1.lines[i]);
    }
  }
}

constexpr std::array kConfig{Command{"mgcp", "Gateway", enter_mgcp, kNoFlags, write_mgcp}};
constexpr std::array kMgcp{
    Command{"domain NAME", "Domain\nName", set_domain, kNoFlags, write_domain},
    Command{"loop", "Old", deprecated, kDeprecated | kHasNoForm},
    Command{"trunk <0-64>", "Trunk\nNumber", enter_trunk, kNoFlags, write_trunks},
};
constexpr std::array kTrunk{
    Command{"line <0-255>", "Line\nNumber", set_line, kNoFlags, write_line}};

const CommandTree& tree() {
  static const CommandTree tree = [] {
    std::vector<CommandTable> tables{
        {Node::config, kConfig}, {Node::config_mgcp, kMgcp}, {Node::config_mgcp_trunk, kTrunk}};
    for (const CommandTable& table : generic_command_tables()) {
      tables.push_back(table);
    }
    return CommandTree(tables, {});
  }();
  return tree;
}

conf::Config read(std::string_view text) {
  conf::Config config;
  const auto remarks = read_configuration(tree(), text, config);
  CHECK_MESSAGE(remarks.has_value(), (remarks ? "" : remarks.error().message));
  return config;
}

ConfigurationRemark fault_of(std::string_view text) {
  conf::Config config;
  const auto remarks = read_configuration(tree(), text, config);
  REQUIRE_FALSE(remarks.has_value());
  return remarks.error();
}

}  // namespace

TEST_CASE("indentation opens and closes blocks") {
  const conf::Config config = read(
      "mgcp\n"
      " trunk 1\n"
      "  line 7\n"
      " domain first\n"
      " trunk 2\n"
      " \tline 8\n"
      "mgcp\n"
      "   domain second\n"
      "   trunk 3\n"
      "mgcp\n"
      "\tdomain third\n");
  CHECK(config.mgcp.domain == "third");
  CHECK(config.e1.trunks == std::vector<std::uint32_t>{1, 2, 3});
  CHECK(config.e1.lines == std::vector<std::uint32_t>{7, 8, 0});
}

TEST_CASE("a file may be indented as a whole") {
  CHECK(read("  mgcp\n   domain x\n  mgcp\n   domain y\n").mgcp.domain == "y");
}

TEST_CASE("comments, empty lines and line ends of all kinds mean nothing") {
  const conf::Config config = read(
      "! a comment\n"
      "# another\r\n"
      "\n"
      "mgcp\r\n"
      "     ! deeper\n"
      " domain x  \r\n"
      "\t\n"
      "!\n"
      " domain y");
  CHECK(config.mgcp.domain == "y");
}

TEST_CASE("exit and end are accepted and change nothing") {
  const conf::Config config = read("mgcp\n domain x\n exit\n domain y\nexit\nmgcp\n end\nend\n");
  CHECK(config.mgcp.domain == "y");
}

TEST_CASE("a fault is told with its line, its text and the reason") {
  ConfigurationRemark fault = fault_of("!\nmgcp\n domian x\n");
  CHECK(fault.line == 3);
  CHECK(fault.text == " domian x");
  CHECK(fault.message == "There is no such command.");
  fault = fault_of("mgcp\n domain\n");
  CHECK(fault.line == 2);
  CHECK(fault.message == "Command incomplete.");
  CHECK(fault_of("mgcp\n domain bad\n").message == "% Not this one");
  CHECK(fault_of("mgcp\n dom x\n").message == "There is no such command.");
  CHECK(fault_of("mgcp\ndomain x\n").message == "There is no such command.");
  CHECK(fault_of("show version\n").message == "There is no such command.");
  CHECK(fault_of("list\n").message == "There is no such command.");
  CHECK(fault_of("do show version\n").message == "There is no such command.");
  CHECK(fault_of(std::string_view("mgcp\n domain a\0b\n", 17)).line == 2);
  CHECK(fault_of("mgcp\n domain " + std::string(kConfigurationLineBytesMax, 'x') + "\n").line == 2);
}

TEST_CASE("indentation that fits no block is a fault") {
  for (const char* const text : {
           "mgcp\n domain x\n  domain y\n",
           "mgcp\n domain x\n\tdomain y\n",
           "mgcp\n  domain x\n domain y\n",
           "  mgcp\n domain x\n",
           "mgcp\n \ttrunk 1\n \tdomain x\n  domain y\n",
       }) {
    CHECK_MESSAGE(fault_of(text).message.starts_with("The indentation"), text);
  }
}

TEST_CASE("what a command that works has to say is kept with its line") {
  conf::Config config;
  const auto remarks = read_configuration(tree(), "mgcp\n loop\n domain x\n no loop\n", config);
  REQUIRE(remarks.has_value());
  REQUIRE(remarks->size() == 2);
  CHECK((*remarks)[0].line == 2);
  CHECK((*remarks)[0].text == " loop");
  CHECK((*remarks)[0].message == "% Deprecated");
  CHECK((*remarks)[1].line == 4);
}

TEST_CASE("what is written reads as the same configuration") {
  const conf::Config config = read("mgcp\n domain x\n trunk 5\n  line 3\n trunk 2\n");
  const std::string text = write_configuration(tree(), config);
  CHECK(text == "mgcp\n domain x\n trunk 5\n  line 3\n trunk 2\n  line 0\n");
  CHECK(read(text) == config);
}
