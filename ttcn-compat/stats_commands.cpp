#include "ttcn-compat/stats_commands.h"

#include "io/socket_address.h"
#include "ttcn-compat/command_context.h"
#include "ttcn-compat/configuration_text.h"
#include "ttcn-compat/counter_text.h"

#include <algorithm>
#include <array>

namespace ttcn_compat {

namespace {

using conf::StatsReporter;

std::string_view kind_word(const StatsReporter& reporter) noexcept {
  return reporter.kind == StatsReporter::Kind::statsd ? "statsd" : "log";
}

/// What a reporter is named by: "statsd" or "statsd NAME".
std::string key_of(const StatsReporter& reporter) {
  return fmt::format("{}{}{}", kind_word(reporter), reporter.name.empty() ? "" : " ",
                     reporter.name);
}

StatsReporter named(const CommandContext& context) {
  StatsReporter reporter;
  reporter.kind =
      context.argument(0) == "log" ? StatsReporter::Kind::log : StatsReporter::Kind::statsd;
  reporter.name = context.argument(1);
  return reporter;
}

CommandResult enter_reporter(CommandContext& context) {
  auto& reporters = context.edit().stats.reporters;
  StatsReporter reporter = named(context);
  const std::string key = key_of(reporter);
  if (std::ranges::find(reporters, key, key_of) == reporters.end()) {
    if (reporters.size() >= conf::kStatsReportersMax) {
      return context.fail(fmt::format("There are {} reporters already", reporters.size()));
    }
    reporters.push_back(std::move(reporter));
  }
  context.path().enter(Node::config_stats, key);
  return CommandResult::done;
}

CommandResult remove_reporter(CommandContext& context) {
  const StatsReporter reporter = named(context);
  const std::string key = key_of(reporter);
  auto& reporters = context.edit().stats.reporters;
  if (std::erase_if(reporters, [&](const auto& each) { return key_of(each) == key; }) == 0) {
    return context.fail(fmt::format("There is no such {} reporter with name '{}'",
                                    kind_word(reporter), reporter.name));
  }
  return CommandResult::done;
}

CommandResult set_interval(CommandContext& context) {
  context.edit().stats.interval = std::chrono::seconds(context.number(0));
  return CommandResult::done;
}

CommandResult ignore_tcp_statistics(CommandContext& context) {
  context.output().print("% '{}' has no effect: there are no statistics of TCP connections\n",
                         context.keywords());
  return CommandResult::done;
}

template <auto Change>
CommandResult change_reporter(CommandContext& context) {
  auto& reporters = context.edit().stats.reporters;
  const auto found = std::ranges::find(reporters, context.path().key(), key_of);
  if (found == reporters.end()) {
    return context.fail("This reporter was removed");
  }
  return Change(*found, context);
}

CommandResult set_local_address(StatsReporter& reporter, CommandContext& context) {
  if (!context.negated() && !io::SocketAddress::parse(context.argument(0), 0)) {
    return context.fail("Unable to set local address: Invalid argument");
  }
  reporter.local_address = context.argument(0);
  return CommandResult::done;
}

CommandResult set_remote_address(StatsReporter& reporter, CommandContext& context) {
  if (!io::SocketAddress::parse(context.argument(0), 0)) {
    return context.fail("Unable to set remote address: Invalid argument");
  }
  reporter.remote_address = context.argument(0);
  return CommandResult::done;
}

CommandResult set_remote_port(StatsReporter& reporter, CommandContext& context) {
  reporter.remote_port = static_cast<std::uint16_t>(context.number(0));
  return CommandResult::done;
}

CommandResult set_mtu(StatsReporter& reporter, CommandContext& context) {
  reporter.mtu =
      context.negated() ? std::uint16_t{0} : static_cast<std::uint16_t>(context.number(0));
  return CommandResult::done;
}

CommandResult set_prefix(StatsReporter& reporter, CommandContext& context) {
  reporter.prefix = context.argument(0);
  return CommandResult::done;
}

conf::StatsLevel level_of(std::string_view word) noexcept {
  return word == "global" ? conf::StatsLevel::global
         : word == "peer" ? conf::StatsLevel::peer
                          : conf::StatsLevel::subscriber;
}

std::string_view word_of(conf::StatsLevel level) noexcept {
  constexpr std::array<std::string_view, 3> kWords{"global", "peer", "subscriber"};
  return kWords[static_cast<std::size_t>(level)];
}

CommandResult set_level(StatsReporter& reporter, CommandContext& context) {
  reporter.level = level_of(context.argument(0));
  return CommandResult::done;
}

CommandResult set_flush_period(StatsReporter& reporter, CommandContext& context) {
  reporter.flush_period = static_cast<std::uint16_t>(context.number(0));
  return CommandResult::done;
}

CommandResult enable_reporter(StatsReporter& reporter, CommandContext& /*context*/) {
  reporter.enabled = true;
  return CommandResult::done;
}

CommandResult disable_reporter(StatsReporter& reporter, CommandContext& /*context*/) {
  reporter.enabled = false;
  return CommandResult::done;
}

void write_reporter(ConfigurationText& text) {
  const auto& reporters = text.config().stats.reporters;
  const auto found = std::ranges::find(reporters, text.key(), key_of);
  if (found == reporters.end()) {
    return;
  }
  if (found->kind == StatsReporter::Kind::statsd) {
    if (!found->local_address.empty()) {
      text.line("local-ip {}", found->local_address);
    }
    text.line("remote-ip {}", found->remote_address);
    text.line("remote-port {}", found->remote_port);
    if (found->mtu != 0) {
      text.line("mtu {}", found->mtu);
    }
  }
  text.line("level {}", word_of(found->level));
  if (found->prefix.empty()) {
    text.line("no prefix");
  } else {
    text.line("prefix {}", found->prefix);
  }
  if (found->flush_period != 0) {
    text.line("flush-period {}", found->flush_period);
  }
  text.line("{}", found->enabled ? "enable" : "disable");
}

void write_statistics(ConfigurationText& text) {
  text.line("stats interval {}", text.config().stats.interval.count());
  for (const StatsReporter& reporter : text.config().stats.reporters) {
    text.block("stats reporter " + key_of(reporter), Node::config_stats, key_of(reporter));
  }
  text.line("!");
}

CounterSource source_of(const GatewayAccess& gateway) {
  return [&gateway](const CounterGroupVisitor& visit) { gateway.visit_counters(visit); };
}

ZeroCounters zeros_of(std::string_view argument) noexcept {
  return argument.empty() ? ZeroCounters::shown : ZeroCounters::skipped;
}

CommandResult report(CommandContext& context) {
  context.services()->report_statistics();
  return CommandResult::done;
}

CommandResult reset(CommandContext& context) {
  context.services()->reset_statistics();
  return CommandResult::done;
}

CommandResult show_all_stats(CommandContext& context) {
  context.output().write(show_stats(source_of(*context.gateway()),
                                    context.services()->counter_history(),
                                    conf::StatsLevel::subscriber, zeros_of(context.argument(0))));
  return CommandResult::done;
}

CommandResult show_stats_level(CommandContext& context) {
  context.output().write(show_stats(source_of(*context.gateway()),
                                    context.services()->counter_history(),
                                    level_of(context.argument(0)), zeros_of(context.argument(1))));
  return CommandResult::done;
}

CommandResult show_all_rate_counters(CommandContext& context) {
  context.output().write(show_rate_counters(source_of(*context.gateway()),
                                            context.services()->counter_history(),
                                            zeros_of(context.argument(0))));
  return CommandResult::done;
}

constexpr std::array kReporterCommands{
    Command{"local-ip ADDR", "From which address\nNumeric address",
            change_reporter<set_local_address>, kHasNoForm, write_reporter},
    Command{"remote-ip ADDR", "The statsd server's address\nNumeric address",
            change_reporter<set_remote_address>},
    Command{"remote-port <1-65535>", "The statsd server's UDP port\nThe port",
            change_reporter<set_remote_port>},
    Command{"mtu <100-65535>", "Size of an IP packet; without it datagrams have 256 bytes\nBytes",
            change_reporter<set_mtu>, kHasNoForm},
    Command{"prefix PREFIX", "What stands before each name\nThe text", change_reporter<set_prefix>,
            kHasNoForm},
    Command{"level (global|peer|subscriber)",
            "Which counters\nOf the gateway\nOf peers too\nOf subscribers too",
            change_reporter<set_level>},
    Command{"flush-period <0-65535>",
            "How often values that did not change are sent too\nEach so many reports; 0: never",
            change_reporter<set_flush_period>},
    Command{"enable", "Send reports", change_reporter<enable_reporter>},
    Command{"disable", "Send none", change_reporter<disable_reporter>},
};

constexpr std::array kConfigCommands{
    Command{"stats interval <0-65535>",
            "Statistics\nTime between reports\nSeconds; 0: only when asked for", set_interval,
            kNoFlags, write_statistics},
    Command{"stats reporter (statsd|log) [NAME]",
            "Statistics\nWhere reports go\nTo a statsd server\nInto the log\nName of the reporter",
            enter_reporter},
    Command{"no stats reporter (statsd|log) [NAME]",
            "Undo or switch off\nStatistics\nWhere reports go\nTo a statsd server\nInto the log\n"
            "Name of the reporter",
            remove_reporter},
    Command{"stats-tcp interval <0-65535>",
            "Statistics of TCP connections, which are not kept\nTime between reports\nSeconds",
            ignore_tcp_statistics, kHidden},
    Command{"stats-tcp batch-size <1-65535>",
            "Statistics of TCP connections, which are not kept\nConnections at a time\nThe number",
            ignore_tcp_statistics, kHidden},
};

constexpr std::array kEnableCommands{
    Command{"stats report", "Statistics\nHave all reporters report now", report},
    Command{"stats reset", "Statistics\nCount from here on", reset},
};

constexpr std::array kLookingCommands{
    Command{"show stats [skip-zero]", "Counters and gauges\nWithout those that are 0",
            show_all_stats},
    Command{"show stats level (global|peer|subscriber) [skip-zero]",
            "Counters and gauges\nUp to a level\nOf the gateway\nOf peers too\n"
            "Of subscribers too\nWithout those that are 0",
            show_stats_level},
    Command{"show rate-counters [skip-zero]",
            "Counters and how fast they grow\n"
            "Without those that are 0",
            show_all_rate_counters},
};

constexpr std::array kTables{
    CommandTable{Node::config, kConfigCommands},
    CommandTable{Node::config_stats, kReporterCommands},
    CommandTable{Node::enable, kEnableCommands},
    CommandTable{NodeSet{Node::view, Node::enable}, kLookingCommands},
};

}  // namespace

std::span<const CommandTable> stats_command_tables() noexcept {
  return kTables;
}

}  // namespace ttcn_compat
