#include "tools/mgwctl/options.h"

#include "ttcn-compat/gateway_access.h"

#include <CLI/CLI.hpp>

#include <array>
#include <iostream>

namespace mgwctl {
namespace {

void add_endpoint(CLI::App& app, Command& command, bool is_required) {
  const std::string fallback = default_endpoint(command.verb);
  auto* option =
      app.add_option("-e,--endpoint", command.endpoint,
                     fallback.empty() ? "Endpoint" : "Endpoint (default " + fallback + ")");
  if (is_required) {
    option->required();
  }
}

void add_connection_options(CLI::App& app, Command& command) {
  app.add_option("--mode,-m", command.mode,
                 "recvonly, sendonly, sendrecv, inactive, loopback, confecho");
  app.add_option("--codec", command.codecs,
                 "NAME[/RATE] or PT/NAME[/RATE[/CHANNELS]]; may be repeated")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--fmtp", command.format_parameters,
                 "Format parameters of the codec at the same place")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--remote,-r", command.remote, "Where the gateway shall send to, HOST:PORT");
  app.add_option("--ptime", command.ptime_ms, "Packet duration, ms")->check(CLI::Range(1U, 1000U));
  app.add_option("--osmux", command.osmux, "Osmux circuit id, or *");
  app.add_option("--tap", command.tap, "X-Mgw-Tap, e.g. 'both pcap call.pcap'")
      ->expected(1)
      ->allow_extra_args(false);
  app.add_flag("--ignore-call-id", command.ignore_call_id, "X-Osmo-IGN: C");
}

// One set of options per verb; the subcommand that was given is copied to Options.
struct VerbCommand {
  CLI::App* app = nullptr;
  Command command;
};

CLI::App* add_verb(CLI::App& app, VerbCommand& verb, mgcp::Verb which, const std::string& name,
                   const std::string& description) {
  verb.command.verb = which;
  verb.app = app.add_subcommand(name, description);
  return verb.app;
}

void add_call_verbs(CLI::App& app, VerbCommand& crcx, VerbCommand& mdcx, VerbCommand& dlcx) {
  CLI::App* create = add_verb(app, crcx, mgcp::Verb::crcx, "crcx", "Create a connection");
  crcx.command.call_id = "1";
  crcx.command.mode = "recvonly";
  add_endpoint(*create, crcx.command, false);
  create->add_option("-c,--call-id", crcx.command.call_id, "Call (default 1)");
  add_connection_options(*create, crcx.command);

  CLI::App* modify = add_verb(app, mdcx, mgcp::Verb::mdcx, "mdcx", "Modify a connection");
  add_endpoint(*modify, mdcx.command, true);
  modify->add_option("-c,--call-id", mdcx.command.call_id, "Call");
  modify->add_option("-i,--connection-id", mdcx.command.connection_id, "Connection")->required();
  add_connection_options(*modify, mdcx.command);

  CLI::App* remove =
      add_verb(app, dlcx, mgcp::Verb::dlcx, "dlcx", "Delete a connection, or all of an endpoint");
  add_endpoint(*remove, dlcx.command, true);
  remove->add_option("-c,--call-id", dlcx.command.call_id, "Call");
  remove->add_option("-i,--connection-id", dlcx.command.connection_id, "Connection (default: all)");
}

// An MDCX that says nothing but what is to be copied.
void add_tap(CLI::App& app, VerbCommand& tap) {
  CLI::App* command = add_verb(app, tap, mgcp::Verb::mdcx, "tap",
                               "Copy a connection's packets to an address or into a file, or stop "
                               "that");
  command->add_option("endpoint", tap.command.endpoint, "Endpoint")->required();
  command->add_option("connection", tap.command.connection_id, "Connection")->required();
  command
      ->add_option("tap", tap.command.tap,
                   "in|out|both udp HOST:PORT, in|out|both pcap FILE, [in|out|both] off")
      ->required();
}

void add_other_verbs(CLI::App& app, VerbCommand& auep, VerbCommand& aucx, VerbCommand& rqnt,
                     VerbCommand& rsip) {
  CLI::App* audit = add_verb(app, auep, mgcp::Verb::auep, "auep", "Audit an endpoint");
  add_endpoint(*audit, auep.command, false);
  audit->add_option("--info", auep.command.requested_info, "What to ask for, e.g. I,C,A");

  CLI::App* audit_connection = add_verb(app, aucx, mgcp::Verb::aucx, "aucx", "Audit a connection");
  add_endpoint(*audit_connection, aucx.command, true);
  audit_connection->add_option("-i,--connection-id", aucx.command.connection_id, "Connection")
      ->required();
  audit_connection->add_option("--info", aucx.command.requested_info,
                               "What to ask for, e.g. C,M,P,LC,X-Mgw-Streams,X-Mgw-Tap");

  CLI::App* request = add_verb(app, rqnt, mgcp::Verb::rqnt, "rqnt", "Request signals");
  add_endpoint(*request, rqnt.command, true);
  request->add_option("--request-id", rqnt.command.request_id, "Request");
  request->add_option("--signals", rqnt.command.signals, "S: line, e.g. D/1");

  CLI::App* restart =
      add_verb(app, rsip, mgcp::Verb::rsip, "rsip", "Reset the endpoints of a trunk");
  add_endpoint(*restart, rsip.command, false);
  restart->add_option("--method", rsip.command.restart_method,
                      "graceful, forced, restart, disconnected");
}

// Taking the gateway out of service, and back.
struct DrainCommands {
  CLI::App* drain = nullptr;
  CLI::App* undrain = nullptr;
  std::string ctrl = "127.0.0.1:4267";
};

void add_drain(CLI::App& app, DrainCommands& commands, DrainOptions& options) {
  commands.drain = app.add_subcommand(
      "drain", "Refuse new calls, let those that are up go on, end the gateway with the last one");
  commands.drain
      ->add_option("--deadline", options.deadline_s,
                   "End the calls that are left after so many seconds")
      ->check(CLI::Range(1U, ttcn_compat::kDrainSecondsMax));
  commands.drain->add_flag("--stay", options.stay, "The gateway does not end")
      ->excludes("--deadline");
  commands.drain->add_flag("--wait", options.wait, "Return when the last call is over");
  commands.undrain = app.add_subcommand("undrain", "Take new calls again");
  for (CLI::App* command : {commands.drain, commands.undrain}) {
    command->add_option("--ctrl", commands.ctrl,
                        "Control interface of the gateway (default 127.0.0.1:4267)");
  }
}

CLI::App* add_convert(CLI::App& app, Options& options) {
  CLI::App* convert = app.add_subcommand(
      "convert-config", "Turn an osmo-mgw configuration file (*.cfg) into YAML, or YAML into one");
  convert->add_option("file", options.convert_from, "The file")->required();
  convert->add_option("output", options.convert_to, "Where to (default: standard output)");
  return convert;
}

// What the words on the command line of `top` become once they are read.
struct TopWords {
  std::string sort = "endpoint";
  std::uint32_t interval_ms = 1000;
  bool reverse = false;
};

CLI::App* add_top(CLI::App& app, Options& options, TopWords& words) {
  CLI::App* top = app.add_subcommand("top", "Watch the gateway and its calls");
  top->add_option("--metrics", options.metrics,
                  "Metrics, HOST:PORT or URL (default 127.0.0.1:9747)");
  top->add_option("--interval", words.interval_ms, "How often to ask, ms (default 1000)")
      ->check(CLI::Range(200U, 60'000U));
  top->add_flag("--once", options.top.once, "Print it once as plain text");
  top->add_option("--sort", words.sort, "What the calls are sorted by")
      ->check(CLI::IsMember({"endpoint", "call_id", "age", "packets", "loss", "jitter",
                             "round_trip", "mos", "drops"}));
  top->add_flag("--reverse", words.reverse, "The other way round");
  top->add_option("--filter", options.top.choice.filter,
                  "Calls with this in their endpoint, call id, codec, mode or addresses");
  return top;
}

void finish_top(const TopWords& words, TopOptions& options) {
  options.interval = std::chrono::milliseconds(words.interval_ms);
  options.choice.sort = parse_top_sort(words.sort).value_or(TopSort::endpoint);
  options.choice.descending = is_ascending_first(options.choice.sort) == words.reverse;
}

}  // namespace

std::variant<Options, int> parse_command_line(int count, const char* const* arguments) {
  CLI::App app("Talks to a media gateway: MGCP commands, raw messages, status.", "mgwctl");
  Options options;
  std::string gateway = "127.0.0.1:2427";
  std::uint32_t timeout_ms = 5000;
  app.add_option("--mgcp", gateway, "MGCP address of the gateway (default 127.0.0.1:2427)");
  app.add_option("--timeout", timeout_ms, "How long to wait for an answer, ms")
      ->check(CLI::Range(1U, 120'000U));
  app.add_flag("--json", options.json, "One JSON object instead of text");
  app.require_subcommand(1);
  app.fallthrough();
  std::array<VerbCommand, 8> verbs;
  add_call_verbs(app, verbs[0], verbs[1], verbs[2]);
  add_other_verbs(app, verbs[3], verbs[4], verbs[5], verbs[6]);
  add_tap(app, verbs[7]);
  CLI::App* raw = app.add_subcommand("raw", "Send a message as it is and print what comes back");
  raw->add_option("message", options.raw_message,
                  "The message, \\n for line ends (default: standard input)");
  CLI::App* status = app.add_subcommand("status", "Is the gateway there, and what does it do");
  status->add_option("--metrics", options.metrics,
                     "Metrics, HOST:PORT or URL (default 127.0.0.1:9747)");
  TopWords top_words;
  CLI::App* top = add_top(app, options, top_words);
  CLI::App* convert = add_convert(app, options);
  DrainCommands drain;
  add_drain(app, drain, options.drain);
  try {
    app.parse(count, arguments);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitGood : kExitNoAnswer;
  }
  const auto address = io::SocketAddress::parse_with_port(gateway);
  if (!address) {
    std::cerr << "mgwctl: --mgcp: not a numeric HOST:PORT\n";
    return kExitNoAnswer;
  }
  const auto ctrl = io::SocketAddress::parse_with_port(drain.ctrl);
  if (!ctrl) {
    std::cerr << "mgwctl: --ctrl: not a numeric HOST:PORT\n";
    return kExitNoAnswer;
  }
  options.gateway = *address;
  options.drain.ctrl = *ctrl;
  options.timeout = std::chrono::milliseconds(timeout_ms);
  finish_top(top_words, options.top);
  options.action = raw->parsed()             ? Action::raw
                   : status->parsed()        ? Action::status
                   : top->parsed()           ? Action::top
                   : convert->parsed()       ? Action::convert
                   : drain.drain->parsed()   ? Action::drain
                   : drain.undrain->parsed() ? Action::undrain
                                             : Action::command;
  for (const VerbCommand& verb : verbs) {
    if (verb.app->parsed()) {
      options.command = verb.command;
    }
  }
  return options;
}

}  // namespace mgwctl
