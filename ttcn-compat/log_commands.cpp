#include "ttcn-compat/log_commands.h"

#include "io/log_category.h"
#include "io/socket_address.h"
#include "ttcn-compat/command_context.h"
#include "ttcn-compat/configuration_text.h"

#include <algorithm>
#include <array>

namespace ttcn_compat {

namespace {

using Kind = conf::LogTarget::Kind;

// The command `logging level` has all categories of io/log_category.h as words.
constexpr std::string_view kLevelStart = "logging level (";
constexpr std::string_view kLevelEnd = ") (debug|info|notice|error|fatal)";
constexpr std::string_view kLevelHelpStart = "Log lines\nFrom which severity on\n";
constexpr std::string_view kLevelHelpEnd =
    "\nEverything\nFrom information on\nFrom notices on\nErrors only\nFatal errors only";

constexpr std::size_t joined_size(std::string_view start,
                                  std::string_view io::LogCategoryInfo::*field,
                                  std::string_view end) {
  std::size_t size = start.size() + end.size() + io::kLogCategories.size() - 1;
  for (const io::LogCategoryInfo& category : io::kLogCategories) {
    size += (category.*field).size();
  }
  return size;
}

template <std::size_t Size>
constexpr std::array<char, Size> join(std::string_view start,
                                      std::string_view io::LogCategoryInfo::*field, char separator,
                                      std::string_view end) {
  std::array<char, Size> text{};
  std::size_t at = 0;
  const auto append = [&](std::string_view part) {
    for (const char c : part) {
      text[at++] = c;
    }
  };
  append(start);
  for (std::size_t i = 0; i < io::kLogCategories.size(); ++i) {
    append(i == 0 ? std::string_view{} : std::string_view(&separator, 1));
    append(io::kLogCategories[i].*field);
  }
  append(end);
  return text;
}

constexpr auto kLevelText = join<joined_size(kLevelStart, &io::LogCategoryInfo::name, kLevelEnd)>(
    kLevelStart, &io::LogCategoryInfo::name, '|', kLevelEnd);
constexpr auto kLevelHelp =
    join<joined_size(kLevelHelpStart, &io::LogCategoryInfo::help, kLevelHelpEnd)>(
        kLevelHelpStart, &io::LogCategoryInfo::help, '\n', kLevelHelpEnd);

constexpr std::string_view text_of(std::span<const char> characters) {
  return {characters.data(), characters.size()};
}

conf::LogLevel level_of(std::string_view word) noexcept {
  return word == "debug"    ? conf::LogLevel::debug
         : word == "info"   ? conf::LogLevel::info
         : word == "notice" ? conf::LogLevel::notice
         : word == "error"  ? conf::LogLevel::error
                            : conf::LogLevel::fatal;
}

/// osmo-mgw has no level between notice and error.
std::string_view word_of(conf::LogLevel level) noexcept {
  constexpr std::array<std::string_view, 6> kWords{"debug",  "info",  "notice",
                                                   "notice", "error", "fatal"};
  return kWords[static_cast<std::size_t>(level)];
}

conf::LogLevel level_at(const conf::LogTarget& target, std::string_view category) {
  const auto own = std::ranges::find(target.levels, category, &conf::LogCategoryLevel::category);
  return own == target.levels.end() ? target.level : own->level;
}

/// What `log` and `no log` name a target by: "stderr", "file PATH", "gsmtap ADDRESS".
std::string key_of(const conf::LogTarget& target) {
  switch (target.kind) {
    case Kind::standard_error:
      return "stderr";
    case Kind::file:
      return "file " + target.destination;
    case Kind::syslog:
      return "syslog";
    case Kind::systemd_journal:
      return "systemd-journal";
    case Kind::gsmtap:
      return "gsmtap " + target.destination;
    case Kind::alarms:
      return "alarms";
  }
  return {};
}

/// The line that makes a target.
std::string header_of(const conf::LogTarget& target) {
  constexpr std::string_view kLocal = "local";
  switch (target.kind) {
    case Kind::syslog:
      return target.destination.starts_with(kLocal)
                 ? "log syslog local " + target.destination.substr(kLocal.size())
                 : "log syslog " + target.destination;
    case Kind::systemd_journal:
      return target.raw ? "log systemd-journal raw" : "log systemd-journal";
    case Kind::alarms:
      return fmt::format("log alarms {}", target.alarms);
    default:
      return "log " + key_of(target);
  }
}

/// Goes into the node of a target, which replaces what the target of that name was made with.
CommandResult enter_target(CommandContext& context, conf::LogTarget target) {
  auto& targets = context.edit().log.targets;
  const std::string key = key_of(target);
  const auto found = std::ranges::find(targets, key, key_of);
  if (found != targets.end()) {
    found->destination = target.destination;
    found->raw = target.raw;
    found->alarms = target.alarms;
  } else if (targets.size() >= conf::kLogTargetsMax) {
    return context.fail(fmt::format("There are {} log targets already", targets.size()));
  } else {
    targets.push_back(std::move(target));
  }
  context.path().enter(Node::config_log, key);
  return CommandResult::done;
}

CommandResult remove_target(CommandContext& context, const std::string& key,
                            std::string_view name) {
  auto& targets = context.edit().log.targets;
  if (std::erase_if(targets, [&](const auto& target) { return key_of(target) == key; }) == 0) {
    return context.fail(fmt::format("No such log {}", name));
  }
  return CommandResult::done;
}

conf::LogTarget made(Kind kind, std::string_view destination = {}) {
  conf::LogTarget target;
  target.kind = kind;
  target.destination = destination;
  return target;
}

CommandResult log_stderr(CommandContext& context) {
  return enter_target(context, made(Kind::standard_error));
}

CommandResult log_file(CommandContext& context) {
  return enter_target(context, made(Kind::file, context.argument(0)));
}

CommandResult log_syslog(CommandContext& context) {
  return enter_target(context, made(Kind::syslog, context.argument(0)));
}

CommandResult log_syslog_local(CommandContext& context) {
  return enter_target(context, made(Kind::syslog, fmt::format("local{}", context.number(0))));
}

CommandResult log_journal(CommandContext& context) {
  conf::LogTarget target = made(Kind::systemd_journal);
  target.raw = context.has(0);
  return enter_target(context, target);
}

/// The address that a gsmtap target is given; empty if it is none.
std::string gsmtap_address(std::string_view host) {
  if (host.empty() || host == "localhost") {
    return "127.0.0.1";
  }
  return io::SocketAddress::parse(host, 0) ? std::string(host) : std::string{};
}

CommandResult log_gsmtap(CommandContext& context) {
  const std::string address = gsmtap_address(context.argument(0));
  if (address.empty()) {
    return context.fail("Host names are not looked up: an address is needed");
  }
  return enter_target(context, made(Kind::gsmtap, address));
}

CommandResult log_alarms(CommandContext& context) {
  conf::LogTarget target = made(Kind::alarms);
  target.alarms = static_cast<std::uint32_t>(context.number(0));
  return enter_target(context, target);
}

CommandResult no_log_stderr(CommandContext& context) {
  return remove_target(context, "stderr", "stderr");
}
CommandResult no_log_file(CommandContext& context) {
  const std::string path(context.argument(0));
  return remove_target(context, "file " + path, "file '" + path + "'");
}
CommandResult no_log_syslog(CommandContext& context) {
  return remove_target(context, "syslog", "syslog");
}
CommandResult no_log_journal(CommandContext& context) {
  return remove_target(context, "systemd-journal", "systemd-journal");
}
CommandResult no_log_gsmtap(CommandContext& context) {
  return remove_target(context, "gsmtap " + gsmtap_address(context.argument(0)), "gsmtap");
}
CommandResult no_log_alarms(CommandContext& context) {
  return remove_target(context, "alarms", "alarms");
}

/// The target that `logging` commands change: the session's own, outside node config-log.
conf::LogTarget* target_of(CommandContext& context) {
  if (context.path().current() != Node::config_log) {
    return &context.session()->log().target;
  }
  auto& targets = context.edit().log.targets;
  const auto found = std::ranges::find(targets, context.path().key(), key_of);
  return found == targets.end() ? nullptr : &*found;
}

template <auto Change>
CommandResult change_target(CommandContext& context) {
  conf::LogTarget* const target = target_of(context);
  if (target == nullptr) {
    return context.fail("This log target was removed");
  }
  Change(*target, context);
  return CommandResult::done;
}

template <bool conf::LogTarget::*Field>
void put_flag(conf::LogTarget& target, CommandContext& context) {
  target.*Field = context.argument(0) == "1";
}

template <bool conf::LogTarget::*Field>
CommandResult set_flag(CommandContext& context) {
  return change_target<put_flag<Field>>(context);
}

void set_print_file(conf::LogTarget& target, CommandContext& context) {
  target.file = context.argument(0) == "0"   ? conf::LogPrintFile::off
                : context.argument(0) == "1" ? conf::LogPrintFile::path
                                             : conf::LogPrintFile::basename;
  target.file_last = context.has(1);
}

void set_level(conf::LogTarget& target, CommandContext& context) {
  const std::string category(context.argument(0));
  const conf::LogLevel level = level_of(context.argument(1));
  std::erase_if(target.levels, [&](const auto& own) { return own.category == category; });
  if (level != target.level) {
    target.levels.push_back({category, level});
  }
}

void set_all_levels(conf::LogTarget& target, CommandContext& context) {
  target.level = level_of(context.argument(0));
  target.levels.clear();
}

void force_all_levels(conf::LogTarget& target, CommandContext& context) {
  target.force_all.reset();
  if (!context.negated()) {
    target.force_all = level_of(context.argument(0));
  }
}

CommandResult enable_session_log(CommandContext& context) {
  context.session()->log().enabled = true;
  return CommandResult::done;
}

CommandResult disable_session_log(CommandContext& context) {
  context.session()->log().enabled = false;
  return CommandResult::done;
}

CommandResult write_to_log(CommandContext& context) {
  const std::string_view category = context.argument(0);
  if (std::ranges::find(io::kLogCategories, category, &io::LogCategoryInfo::name) ==
      io::kLogCategories.end()) {
    return context.fail(fmt::format("There is no category {}", category));
  }
  context.services()->write_log(level_of(context.argument(1)), category, context.argument(2));
  return CommandResult::done;
}

CommandResult show_logging(CommandContext& context) {
  const SessionLog& log = context.session()->log();
  if (!log.enabled) {
    return context.fail("Logging was not enabled.");
  }
  const auto on_or_off = [](bool on) { return on ? "On" : "Off"; };
  Output& output = context.output();
  if (log.target.force_all) {
    output.print(" Global Loglevel: {}\n", word_of(*log.target.force_all));
  }
  output.print(" Use color: {}, Print Timestamp: {}\n Log Level specific information:\n",
               on_or_off(log.target.colour), on_or_off(log.target.timestamp));
  for (const io::LogCategoryInfo& category : io::kLogCategories) {
    const auto upper = [](std::string_view text) {
      std::string result(text);
      for (char& c : result) {
        c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
      }
      return result;
    };
    output.print("  {:<10} {:<10} {:<8} {}\n", upper(category.name),
                 upper(word_of(level_at(log.target, category.name))), "Enabled", category.help);
  }
  output.print(" Log Filter 'ALL': {}\n", log.target.filter_all ? "Enabled" : "Disabled");
  return CommandResult::done;
}

CommandResult show_alarms(CommandContext& context) {
  const std::vector<std::string> alarms = context.services()->alarms();
  if (alarms.empty()) {
    context.output().write("% No alarms, there might be no alarm configured.\n");
    return CommandResult::done;
  }
  context.output().print("% Showing {} alarms\n", alarms.size());
  for (const std::string& alarm : alarms) {
    context.output().print("% {}\n", alarm);
  }
  return CommandResult::done;
}

void write_flag(ConfigurationText& text, std::string_view name, bool on) {
  text.line("logging {} {}", name, on ? 1 : 0);
}

/// What node config-log holds of one target.
void write_target(ConfigurationText& text) {
  const auto& targets = text.config().log.targets;
  const auto found = std::ranges::find(targets, text.key(), key_of);
  if (found == targets.end()) {
    return;
  }
  const conf::LogTarget& target = *found;
  write_flag(text, "filter all", target.filter_all);
  write_flag(text, "color", target.colour);
  write_flag(text, "print category-hex", target.category_hex);
  write_flag(text, "print category", target.category);
  write_flag(text, "print thread-id", target.thread_id);
  if (target.extended_timestamp) {
    write_flag(text, "print extended-timestamp", true);
  }
  if (!target.extended_timestamp || target.timestamp) {
    write_flag(text, "timestamp", target.timestamp);
  }
  if (target.show_level) {
    write_flag(text, "print level", true);
  }
  text.line("logging print file {}{}",
            target.file == conf::LogPrintFile::off    ? "0"
            : target.file == conf::LogPrintFile::path ? "1"
                                                      : "basename",
            target.file_last ? " last" : "");
  if (target.level != conf::LogLevel::notice) {
    text.line("logging level set-all {}", word_of(target.level));
  }
  for (const io::LogCategoryInfo& category : io::kLogCategories) {
    text.line("logging level {} {}", category.name, word_of(level_at(target, category.name)));
  }
  if (target.force_all) {
    text.line("logging level force-all {}", word_of(*target.force_all));
  }
}

void write_targets(ConfigurationText& text) {
  text.line("!");
  for (const conf::LogTarget& target : text.config().log.targets) {
    text.block(header_of(target), Node::config_log, key_of(target));
  }
  text.line("!");
}

constexpr std::array kLoggingCommands{
    Command{"logging filter all (0|1)", "Log lines\nWhich ones\nAll of them\nNo\nYes",
            set_flag<&conf::LogTarget::filter_all>, kNoFlags, write_target},
    Command{"logging color (0|1)", "Log lines\nColours\nOff\nOn",
            set_flag<&conf::LogTarget::colour>},
    Command{"logging timestamp (0|1)", "Log lines\nDate and time\nOff\nOn",
            set_flag<&conf::LogTarget::timestamp>},
    Command{"logging print extended-timestamp (0|1)",
            "Log lines\nWhat stands before the text\nDate and time to the millisecond\nOff\nOn",
            set_flag<&conf::LogTarget::extended_timestamp>},
    Command{"logging print thread-id (0|1)",
            "Log lines\nWhat stands before the text\nNumber of the thread\nOff\nOn",
            set_flag<&conf::LogTarget::thread_id>},
    Command{"logging print category (0|1)",
            "Log lines\nWhat stands before the text\nName of the category\nOff\nOn",
            set_flag<&conf::LogTarget::category>},
    Command{"logging print category-hex (0|1)",
            "Log lines\nWhat stands before the text\nNumber of the category\nOff\nOn",
            set_flag<&conf::LogTarget::category_hex>},
    Command{"logging print level (0|1)",
            "Log lines\nWhat stands before the text\nThe severity\nOff\nOn",
            set_flag<&conf::LogTarget::show_level>},
    Command{"logging print file (0|1|basename) [last]",
            "Log lines\nWhat stands before the text\nPlace in the source\nNot\nWith its folder\n"
            "Without its folder\nAt the end of the line instead",
            change_target<set_print_file>},
    Command{text_of(kLevelText), text_of(kLevelHelp), change_target<set_level>},
    Command{"logging level set-all (debug|info|notice|error|fatal)",
            "Log lines\nFrom which severity on\nOf all categories, once\nEverything\n"
            "From information on\nFrom notices on\nErrors only\nFatal errors only",
            change_target<set_all_levels>},
    Command{"logging level force-all (debug|info|notice|error|fatal)",
            "Log lines\nFrom which severity on\nOf all categories, until it is taken back\n"
            "Everything\nFrom information on\nFrom notices on\nErrors only\nFatal errors only",
            change_target<force_all_levels>, kHasNoForm},
};

constexpr std::array kSessionCommands{
    Command{"logging enable", "Log lines\nShow them in this session", enable_session_log},
    Command{"logging disable", "Log lines\nShow none in this session", disable_session_log},
    Command{"logp CATEGORY (debug|info|notice|error|fatal) .TEXT",
            "Write a log line\nIts category, as with 'logging level'\nFor debugging\nInformation\n"
            "A notice\nAn error\nA fatal error\nIts text",
            write_to_log},
    Command{"show logging vty", "Log lines\nOf this session", show_logging},
    Command{"show alarms", "The last log lines of target 'alarms'", show_alarms},
};

constexpr std::array kConfigCommands{
    Command{"log stderr [blocking-io|nonblocking-io|wq]",
            "A target of log lines\nStandard error\nWithout effect\nWithout effect\nWithout effect",
            log_stderr, kNoFlags, write_targets},
    Command{"no log stderr", "Undo or switch off\nA target of log lines\nStandard error",
            no_log_stderr},
    Command{"log file FILENAME [blocking-io|nonblocking-io|wq]",
            "A target of log lines\nA file\nIts path\nWithout effect\nWithout effect\n"
            "Without effect",
            log_file},
    Command{"no log file FILENAME", "Undo or switch off\nA target of log lines\nA file\nIts path",
            no_log_file},
    Command{"log syslog (authpriv|cron|daemon|ftp|lpr|mail|news|user|uucp)",
            "A target of log lines\nSyslog\nFacility authpriv\nFacility cron\nFacility daemon\n"
            "Facility ftp\nFacility lpr\nFacility mail\nFacility news\nFacility user\n"
            "Facility uucp",
            log_syslog},
    Command{"log syslog local <0-7>", "A target of log lines\nSyslog\nA local facility\nIts number",
            log_syslog_local},
    Command{"no log syslog", "Undo or switch off\nA target of log lines\nSyslog", no_log_syslog},
    Command{"log systemd-journal [raw]",
            "A target of log lines\nThe journal of systemd\nText instead of fields", log_journal},
    Command{"no log systemd-journal",
            "Undo or switch off\nA target of log lines\nThe journal of systemd", no_log_journal},
    Command{"log gsmtap [HOST]",
            "A target of log lines\nGSMTAP datagrams, for Wireshark\nTo which address", log_gsmtap},
    Command{"no log gsmtap [HOST]",
            "Undo or switch off\nA target of log lines\nGSMTAP datagrams\nTo which address",
            no_log_gsmtap},
    Command{"log alarms <2-32700>",
            "A target of log lines\nMemory, for 'show alarms'\nHow many lines", log_alarms},
    Command{"no log alarms", "Undo or switch off\nA target of log lines\nMemory", no_log_alarms},
};

constexpr NodeSet kLooking{Node::view, Node::enable};

constexpr std::array kTables{
    CommandTable{Node::config, kConfigCommands},
    CommandTable{NodeSet{Node::view, Node::enable, Node::config_log}, kLoggingCommands},
    CommandTable{kLooking, kSessionCommands},
};

}  // namespace

std::span<const CommandTable> log_command_tables() noexcept {
  return kTables;
}

}  // namespace ttcn_compat
