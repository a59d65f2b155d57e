#include "ttcn-compat/process_commands.h"

#include "ttcn-compat/command_context.h"
#include "ttcn-compat/configuration_text.h"

#include <algorithm>
#include <array>

namespace ttcn_compat {

namespace {

/// CPUs that a mask may name, as WorkerOptions::cpu_affinity.
constexpr std::size_t kCpusMax = 1024;

template <Node To>
CommandResult enter(CommandContext& context) {
  context.path().enter(To, {});
  return CommandResult::done;
}

CommandResult no_effect(CommandContext& context) {
  context.output().print("% '{}' has no effect\n", context.keywords());
  return CommandResult::done;
}

CommandResult nothing(CommandContext& /*context*/) {
  return CommandResult::done;
}

CommandResult set_password(CommandContext& context) {
  context.edit().vty.password = context.argument(0);
  return CommandResult::done;
}

void write_password(ConfigurationText& text) {
  if (!text.config().vty.password.empty()) {
    text.line("password {}", text.config().vty.password);
  }
}

CommandResult refuse_hashed_password(CommandContext& context) {
  return context.fail("Only passwords in clear text are known");
}

CommandResult set_login(CommandContext& context) {
  context.edit().vty.login = !context.negated();
  return CommandResult::done;
}

template <auto Section>
CommandResult set_bind(CommandContext& context) {
  auto& section = context.edit().*Section;
  section.bind = context.argument(0);
  if (context.has(1)) {
    section.port = static_cast<std::uint16_t>(context.number(1));
  }
  return CommandResult::done;
}

void write_bind(ConfigurationText& text, const std::string& address, std::uint16_t port,
                std::uint16_t usual_port) {
  text.line("bind {}{}", address, port == usual_port ? "" : fmt::format(" {}", port));
}

void write_vty(ConfigurationText& text) {
  text.block("line vty", Node::config_line);
  text.line("!");
}

void write_ctrl(ConfigurationText& text) {
  if (text.config().ctrl.enabled) {
    text.block("ctrl", Node::config_ctrl);
  }
}

CommandResult set_policy(CommandContext& context) {
  context.edit().workers.realtime_priority = static_cast<std::uint32_t>(context.number(0));
  return CommandResult::done;
}

unsigned hexadecimal_value(char c) noexcept {
  return static_cast<unsigned>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
}

/// Threads of osmo-mgw have no counterpart here; what is set for the program is meant for those
/// that do its work.
CommandResult set_affinity(CommandContext& context) {
  const std::string_view who = context.argument(0);
  if (who != "self" && who != "all" && who != "osmo-mgw") {
    context.output().print("% There is no thread '{}' that can be bound to CPUs: use 'all'\n", who);
    return CommandResult::done;
  }
  std::string_view mask = context.argument(1);
  if (mask.starts_with("0x") || mask.starts_with("0X")) {
    mask.remove_prefix(2);
  }
  std::vector<std::uint32_t> cpus;
  for (std::uint32_t cpu = 0; cpu < mask.size() * 4; ++cpu) {
    const char digit = mask[mask.size() - 1 - cpu / 4];
    if ((hexadecimal_value(digit) >> (cpu % 4) & 1U) != 0) {
      cpus.push_back(cpu);
    }
  }
  if (cpus.empty() || cpus.back() >= kCpusMax) {
    return context.fail(fmt::format("A mask names CPUs from 0 to {}, at least one", kCpusMax - 1));
  }
  context.edit().workers.cpu_affinity = std::move(cpus);
  return CommandResult::done;
}

void write_scheduling(ConfigurationText& text) {
  const conf::WorkerOptions& workers = text.config().workers;
  if (workers.realtime_priority != 0) {
    text.line("policy rr {}", workers.realtime_priority);
  }
  if (workers.cpu_affinity.empty()) {
    return;
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  const std::size_t digits = std::ranges::max(workers.cpu_affinity) / 4 + 1;
  std::string mask(digits, '0');
  for (const std::uint32_t cpu : workers.cpu_affinity) {
    char& digit = mask[digits - 1 - cpu / 4];
    digit = kDigits[hexadecimal_value(digit) | 1U << (cpu % 4)];
  }
  text.line("cpu-affinity all 0x{}", mask);
}

void write_scheduling_block(ConfigurationText& text) {
  const conf::WorkerOptions& workers = text.config().workers;
  if (workers.realtime_priority != 0 || !workers.cpu_affinity.empty()) {
    text.block("cpu-sched", Node::config_cpu_sched);
  }
}

/// The options of the line that a command names; they are made if there are none.
conf::E1LineOptions& line_of(CommandContext& context) {
  auto& lines = context.edit().e1.line_options;
  const auto number = static_cast<std::uint8_t>(context.number(0));
  const auto found = std::ranges::find(lines, number, &conf::E1LineOptions::line);
  if (found != lines.end()) {
    return *found;
  }
  lines.emplace_back();
  lines.back().line = number;
  return lines.back();
}

CommandResult set_driver(CommandContext& context) {
  const auto word = std::ranges::find(conf::kE1DriverWords, context.argument(1));
  line_of(context).driver = static_cast<conf::E1Driver>(word - conf::kE1DriverWords.begin());
  return CommandResult::done;
}

CommandResult set_line_port(CommandContext& context) {
  line_of(context).port = static_cast<std::uint8_t>(context.number(1));
  return CommandResult::done;
}

CommandResult set_line_name(CommandContext& context) {
  line_of(context).name = context.argument(1);
  return CommandResult::done;
}

CommandResult set_line_socket(CommandContext& context) {
  line_of(context).socket = context.argument(1);
  return CommandResult::done;
}

CommandResult set_line_capture(CommandContext& context) {
  line_of(context).pcap = context.argument(1);
  return CommandResult::done;
}

CommandResult unset_line_capture(CommandContext& context) {
  line_of(context).pcap.clear();
  return CommandResult::done;
}

void write_line(ConfigurationText& text, const conf::E1LineOptions& line) {
  if (line.driver != conf::E1Driver::none) {
    text.line("e1_line {} driver {}", line.line,
              conf::kE1DriverWords[static_cast<std::size_t>(line.driver)]);
  }
  text.line("e1_line {} port {}", line.line, line.port);
  if (!line.name.empty()) {
    text.line("e1_line {} name {}", line.line, line.name);
  }
  if (!line.socket.empty()) {
    text.line("e1_line {} socket {}", line.line, line.socket);
  }
  if (!line.pcap.empty()) {
    text.line("e1_line {} pcap {}", line.line, line.pcap);
  }
  text.line("no e1_line {} keepalive", line.line);
}

void write_lines(ConfigurationText& text) {
  for (const conf::E1LineOptions& line : text.config().e1.line_options) {
    write_line(text, line);
  }
}

void write_e1_input(ConfigurationText& text) {
  if (!text.config().e1.line_options.empty()) {
    text.block("e1_input", Node::config_e1_input);
  }
}

constexpr std::array kProgramCommands{
    Command{"password 8 HASH", "The VTY's password\nEncrypted\nNot known here",
            refuse_hashed_password, kHidden},
    Command{"password .LINE", "The VTY's password\nThe password, for sessions with 'login'",
            set_password, kHasNoForm, write_password},
    Command{"hostname NAME", "Without effect\nA name", no_effect, kHidden | kHasNoForm},
    Command{"enable password .LINE", "Without effect\nWithout effect\nA password", no_effect,
            kHidden | kHasNoForm},
    Command{"banner motd default", "Without effect\nWithout effect\nWithout effect", nothing,
            kHidden | kHasNoForm},
    Command{"banner motd file [FILE]", "Without effect\nWithout effect\nWithout effect\nA file",
            no_effect, kHidden},
    Command{"no banner motd", "Undo or switch off\nWithout effect\nWithout effect", nothing,
            kHidden},
    Command{"service terminal-length <0-512>", "Without effect\nWithout effect\nLines", no_effect,
            kHidden | kHasNoForm},
    Command{"service advanced-vty", "Without effect\nWithout effect", nothing,
            kHidden | kHasNoForm},
};

constexpr std::array kConfigCommands{
    Command{"line vty", "A terminal line\nThe VTY", enter<Node::config_line>, kNoFlags, write_vty},
    Command{"e1_input", "The E1 lines", enter<Node::config_e1_input>, kNoFlags, write_e1_input},
    Command{"ctrl", "The control interface", enter<Node::config_ctrl>, kNoFlags, write_ctrl},
    Command{"cpu-sched", "How threads are scheduled", enter<Node::config_cpu_sched>, kNoFlags,
            write_scheduling_block},
    Command{"mgcp", "The media gateway", enter<Node::config_mgcp>, kNoFlags,
            [](ConfigurationText& text) { text.block("mgcp", Node::config_mgcp); }},
};

constexpr std::array kLineCommands{
    Command{"login", "Ask for the password first", set_login, kHasNoForm,
            [](ConfigurationText& text) {
              text.line("{}login", text.config().vty.login ? "" : "no ");
            }},
    Command{"bind (A.B.C.D|X:X::X:X) [<0-65535>]",
            "Where the VTY listens\nIPv4 address\nIPv6 address\nTCP port",
            set_bind<&conf::Config::vty>, kNoFlags,
            [](ConfigurationText& text) {
              const conf::VtyOptions& vty = text.config().vty;
              write_bind(text, vty.bind, vty.port, conf::VtyOptions{}.port);
            }},
};

constexpr std::array kCtrlCommands{
    Command{"bind (A.B.C.D|X:X::X:X) [<0-65535>]",
            "Where the control interface listens\nIPv4 address\nIPv6 address\nTCP port",
            set_bind<&conf::Config::ctrl>, kNoFlags,
            [](ConfigurationText& text) {
              const conf::CtrlOptions& ctrl = text.config().ctrl;
              write_bind(text, ctrl.bind, ctrl.port, conf::CtrlOptions{}.port);
            }},
};

constexpr std::array kSchedulingCommands{
    Command{"policy rr <1-32>", "Scheduling policy of the workers\nRound robin\nPriority",
            set_policy, kNoFlags, write_scheduling},
    Command{"cpu-affinity (self|all|<0-4294967295>|THREADNAME) HEXMASK [delay]",
            "On which CPUs the workers run\nAs all\nAll of them\nWithout effect\nWithout effect\n"
            "Bit mask of the CPUs\nWithout effect",
            set_affinity},
};

constexpr std::array kE1Commands{
    Command{"e1_line <0-255> driver (misdn|misdn_lapd|dahdi|e1d|ipa|unixsocket|virtual)",
            "Number of the line\nWhat drives it\nWithout effect\nWithout effect\nWithout effect\n"
            "osmo-e1d\nWithout effect\nWithout effect\nMemory, for tests",
            set_driver, kNoFlags, write_lines},
    Command{"e1_line <0-255> port <0-255>",
            "Number of the line\nWhich line of the driver\nIts number", set_line_port},
    Command{"e1_line <0-255> name .LINE", "Number of the line\nA name for it\nThe name",
            set_line_name},
    Command{"e1_line <0-255> socket .SOCKET", "Number of the line\nThe driver's socket\nIts path",
            set_line_socket},
    Command{"e1_line <0-255> pcap .FILE",
            "Number of the line\nCapture file, which is not written\nIts path", set_line_capture},
    Command{"no e1_line <0-255> pcap",
            "Undo or switch off\nAn E1 line\nNumber of the line\nCapture file", unset_line_capture},
    Command{"e1_line <0-255> keepalive", "Number of the line\nWithout effect", no_effect, kHidden},
    Command{"e1_line <0-255> keepalive <1-300> <1-20> <1-300>",
            "Number of the line\nWithout effect\nSeconds\nProbes\nSeconds", no_effect, kHidden},
    Command{"no e1_line <0-255> keepalive",
            "Undo or switch off\nAn E1 line\nNumber of the line\nIs not there", nothing, kHidden},
    Command{"e1_line <0-255> ipa-keepalive <1-300> <1-300>",
            "Number of the line\nWithout effect\nSeconds\nSeconds", no_effect, kHidden},
    Command{"no e1_line <0-255> ipa-keepalive",
            "Undo or switch off\nAn E1 line\nNumber of the line\nIs not there", nothing, kHidden},
    Command{"ipa bind A.B.C.D", "Without effect\nWithout effect\nAn address", no_effect, kHidden},
    Command{"ipa ip-dscp (oml|rsl) <0-63>",
            "Without effect\nWithout effect\nOML\nRSL\nA code point", no_effect, kHidden},
    Command{"ipa socket-priority (oml|rsl) <0-255>",
            "Without effect\nWithout effect\nOML\nRSL\nA priority", no_effect, kHidden},
};

constexpr std::array kProgramTables{CommandTable{Node::config, kProgramCommands}};
constexpr std::array kTables{
    CommandTable{Node::config, kConfigCommands},
    CommandTable{Node::config_line, kLineCommands},
    CommandTable{Node::config_ctrl, kCtrlCommands},
    CommandTable{Node::config_cpu_sched, kSchedulingCommands},
    CommandTable{Node::config_e1_input, kE1Commands},
};

}  // namespace

std::span<const CommandTable> program_command_tables() noexcept {
  return kProgramTables;
}

std::span<const CommandTable> process_command_tables() noexcept {
  return kTables;
}

}  // namespace ttcn_compat
