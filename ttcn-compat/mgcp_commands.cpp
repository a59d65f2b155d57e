#include "ttcn-compat/mgcp_commands.h"

#include "ttcn-compat/command_context.h"
#include "ttcn-compat/configuration_text.h"
#include "ttcn-compat/osmo_configuration.h"

#include <algorithm>
#include <array>

namespace ttcn_compat {

namespace {

constexpr std::size_t kDomainBytesMax = 255;

/// Puts an address into the field of its family.
void set_address(std::string_view address, std::string& ipv4, std::string& ipv6) {
  (address.find(':') == std::string_view::npos ? ipv4 : ipv6) = address;
}

CommandResult set_domain(CommandContext& context) {
  if (context.argument(0).size() > kDomainBytesMax) {
    return context.fail(fmt::format("A domain has at most {} characters", kDomainBytesMax));
  }
  context.edit().mgcp.domain = context.argument(0);
  return CommandResult::done;
}

CommandResult set_local_address(CommandContext& context) {
  conf::RtpOptions& rtp = context.edit().rtp;
  set_address(context.argument(0), rtp.advertise, rtp.advertise_v6);
  return CommandResult::done;
}

CommandResult set_bind_address(CommandContext& context) {
  context.edit().mgcp.bind = context.argument(0);
  return CommandResult::done;
}

CommandResult set_bind_port(CommandContext& context) {
  context.edit().mgcp.port = static_cast<std::uint16_t>(context.number(0));
  return CommandResult::done;
}

CommandResult set_port_range(CommandContext& context) {
  auto first = static_cast<std::uint16_t>(context.number(0));
  auto last = static_cast<std::uint16_t>(context.number(1));
  if (last <= first) {
    context.output().print("range end port ({}) must be greater than the range start port ({})!\n",
                           last, first);
    return CommandResult::failed;
  }
  if (first % 2 != 0) {
    context.output().print(
        "range must begin at an even port number, autocorrecting port ({}) to: {}\n", first,
        first - 1);
    --first;
  }
  if (last % 2 == 0) {
    context.output().print(
        "range must end at an odd port number, autocorrecting port ({}) to: {}\n", last, last + 1);
    ++last;
  }
  conf::RtpOptions& rtp = context.edit().rtp;
  rtp.port_min = first;
  rtp.port_max = last;
  return CommandResult::done;
}

CommandResult set_rtp_bind(CommandContext& context) {
  context.edit().rtp.bind = context.argument(0);
  return CommandResult::done;
}

CommandResult set_rtp_bind_v6(CommandContext& context) {
  context.edit().rtp.bind_v6 = context.argument(0);
  return CommandResult::done;
}

CommandResult set_ip_probing(CommandContext& context) {
  context.edit().rtp.ip_probing = !context.negated();
  return CommandResult::done;
}

CommandResult set_dscp(CommandContext& context) {
  context.edit().rtp.dscp = static_cast<std::uint8_t>(context.number(0));
  return CommandResult::done;
}

CommandResult set_socket_priority(CommandContext& context) {
  context.edit().rtp.socket_priority = static_cast<std::uint8_t>(context.number(0));
  return CommandResult::done;
}

CommandResult set_endpoints(CommandContext& context) {
  context.edit().endpoints.count = static_cast<std::uint32_t>(context.number(0));
  return CommandResult::done;
}

CommandResult set_call_agent(CommandContext& context) {
  context.edit().mgcp.call_agent = context.argument(0);
  return CommandResult::done;
}

CommandResult set_force_ptime(CommandContext& context) {
  context.edit().endpoints.options.force_ptime = std::chrono::milliseconds(context.number(0));
  return CommandResult::done;
}

/// It is one setting of osmo-mgw's whole gateway.
CommandResult set_connection_timeout(CommandContext& context) {
  const std::chrono::seconds timeout(context.number(0));
  conf::Config& config = context.edit();
  config.endpoints.options.connection_timeout = timeout;
  for (conf::E1TrunkOptions& trunk : config.e1.trunk_options) {
    trunk.options.connection_timeout = timeout;
  }
  return CommandResult::done;
}

CommandResult set_osmux_mode(CommandContext& context) {
  const std::string_view mode = context.argument(0);
  context.edit().osmux.mode = mode == "on"    ? conf::OsmuxMode::on
                              : mode == "off" ? conf::OsmuxMode::off
                                              : conf::OsmuxMode::only;
  return CommandResult::done;
}

CommandResult set_osmux_bind(CommandContext& context) {
  conf::OsmuxOptions& osmux = context.edit().osmux;
  set_address(context.argument(0), osmux.bind, osmux.bind_v6);
  return CommandResult::done;
}

CommandResult set_osmux_batch_factor(CommandContext& context) {
  context.edit().osmux.batch_factor = static_cast<std::uint8_t>(context.number(0));
  return CommandResult::done;
}

CommandResult set_osmux_batch_size(CommandContext& context) {
  context.edit().osmux.batch_bytes = static_cast<std::uint16_t>(context.number(0));
  return CommandResult::done;
}

CommandResult set_osmux_port(CommandContext& context) {
  context.edit().osmux.port = static_cast<std::uint16_t>(context.number(0));
  return CommandResult::done;
}

CommandResult set_osmux_dummy(CommandContext& context) {
  context.edit().osmux.dummy_padding = context.argument(0) == "on";
  return CommandResult::done;
}

CommandResult set_osmux_peer_behind_nat(CommandContext& context) {
  context.edit().osmux.peer_behind_nat = context.argument(0) == "on";
  return CommandResult::done;
}

CommandResult enter_trunk(CommandContext& context) {
  // The trunk is made by looking for it.
  static_cast<void>(
      e1_trunk_options(context.edit(), static_cast<std::uint32_t>(context.number(0))));
  context.path().enter(Node::config_mgcp_trunk, std::to_string(context.number(0)));
  return CommandResult::done;
}

void write_local_address(ConfigurationText& text) {
  for (const std::string& address : {text.config().rtp.advertise, text.config().rtp.advertise_v6}) {
    if (!address.empty()) {
      text.line("local ip {}", address);
    }
  }
}

void write_rtp_addresses(ConfigurationText& text) {
  const conf::RtpOptions& rtp = text.config().rtp;
  if (!rtp.bind.empty()) {
    text.line("rtp bind-ip {}", rtp.bind);
  }
  if (!rtp.bind_v6.empty()) {
    text.line("rtp bind-ip-v6 {}", rtp.bind_v6);
  }
}

void write_socket_priority(ConfigurationText& text) {
  if (text.config().rtp.socket_priority != 0) {
    text.line("rtp socket-priority {}", text.config().rtp.socket_priority);
  }
}

void write_call_agent(ConfigurationText& text) {
  if (!text.config().mgcp.call_agent.empty()) {
    text.line("call-agent ip {}", text.config().mgcp.call_agent);
  }
}

void write_force_ptime(ConfigurationText& text) {
  const auto ptime = text.config().endpoints.options.force_ptime;
  if (ptime.count() != 0) {
    text.line("rtp force-ptime {}", ptime.count());
  }
}

std::string_view on_or_off(bool on) noexcept {
  return on ? "on" : "off";
}

/// With Osmux off only what differs from the defaults is worth a line.
void write_osmux(ConfigurationText& text) {
  const conf::OsmuxOptions& osmux = text.config().osmux;
  const conf::OsmuxOptions defaults;
  const bool is_off = osmux.mode == conf::OsmuxMode::off;
  text.line("osmux {}", is_off ? "off" : osmux.mode == conf::OsmuxMode::on ? "on" : "only");
  if (!osmux.bind.empty()) {
    text.line("osmux bind-ip {}", osmux.bind);
  }
  if (!osmux.bind_v6.empty()) {
    text.line("osmux bind-ip-v6 {}", osmux.bind_v6);
  }
  if (!is_off || osmux.batch_factor != defaults.batch_factor) {
    text.line("osmux batch-factor {}", osmux.batch_factor);
  }
  if (!is_off || osmux.batch_bytes != defaults.batch_bytes) {
    text.line("osmux batch-size {}", osmux.batch_bytes);
  }
  if (!is_off || osmux.port != defaults.port) {
    text.line("osmux port {}", osmux.port);
  }
  if (!is_off || osmux.dummy_padding != defaults.dummy_padding) {
    text.line("osmux dummy {}", on_or_off(osmux.dummy_padding));
  }
  if (!is_off || osmux.peer_behind_nat != defaults.peer_behind_nat) {
    text.line("osmux peer-behind-nat {}", on_or_off(osmux.peer_behind_nat));
  }
}

void write_trunks(ConfigurationText& text) {
  for (const conf::E1Trunk& trunk : text.config().e1.all_trunks()) {
    text.block(fmt::format("trunk {}", trunk.trunk), Node::config_mgcp_trunk,
               std::to_string(trunk.trunk));
  }
}

// Their order is that in which osmo-mgw writes its settings. Those that all trunks have stand in
// the table of trunk_commands.cpp; the writers call theirs in between.
constexpr std::array kGatewayCommands{
    Command{"domain NAME",
            "Domain of the endpoints' names\nThe domain, any letter case; * accepts all",
            set_domain, kNoFlags,
            [](ConfigurationText& text) { text.line("domain {}", text.config().mgcp.domain); }},
    Command{"local ip (A.B.C.D|X:X::X:X)",
            "What is told to peers\nThe gateway's address in SDP\nIPv4 address\nIPv6 address",
            set_local_address, kNoFlags, write_local_address},
    Command{"bind ip (A.B.C.D|X:X::X:X)",
            "Where MGCP is received\nAddress\nIPv4 address\nIPv6 address", set_bind_address,
            kNoFlags,
            [](ConfigurationText& text) { text.line("bind ip {}", text.config().mgcp.bind); }},
    Command{"bind port <0-65534>", "Where MGCP is received\nUDP port\nThe port", set_bind_port,
            kNoFlags,
            [](ConfigurationText& text) { text.line("bind port {}", text.config().mgcp.port); }},
    Command{"rtp port-range <1024-65534> <1025-65535>",
            "Local ports\nThe first port, an even one\nThe last port, an odd one", set_port_range,
            kNoFlags,
            [](ConfigurationText& text) {
              text.line("rtp port-range {} {}", text.config().rtp.port_min,
                        text.config().rtp.port_max);
            }},
    Command{"rtp bind-ip A.B.C.D", "Local IPv4 address of media\nThe address", set_rtp_bind,
            kHasNoForm, write_rtp_addresses},
    Command{"rtp bind-ip-v6 X:X::X:X", "Local IPv6 address of media\nThe address", set_rtp_bind_v6,
            kHasNoForm},
    Command{"rtp ip-probing", "Bind to the address from which the peer is reached", set_ip_probing,
            kHasNoForm,
            [](ConfigurationText& text) {
              text.line("{}rtp ip-probing", text.config().rtp.ip_probing ? "" : "no ");
            }},
    Command{"rtp ip-dscp <0-63>", "Differentiated services code point of media\nThe code point",
            set_dscp, kNoFlags,
            [](ConfigurationText& text) { text.line("rtp ip-dscp {}", text.config().rtp.dscp); }},
    Command{"rtp socket-priority <0-255>",
            "Priority of media in the kernel's queues\nThe priority; above 6 needs CAP_NET_ADMIN",
            set_socket_priority, kNoFlags,
            [](ConfigurationText& text) {
              write_socket_priority(text);
              write_virtual_trunk(text);
            }},
    Command{"number endpoints <1-65534>", "How many there are\nOf the virtual trunk\nThe number",
            set_endpoints, kNoFlags,
            [](ConfigurationText& text) {
              text.line("number endpoints {}", text.config().endpoints.count);
            }},
    Command{"call-agent ip (A.B.C.D|X:X::X:X)",
            "The only call agent that is heard\nIts address\nIPv4 address\nIPv6 address",
            set_call_agent, kNoFlags, write_call_agent},
    Command{"rtp force-ptime (10|20|40)",
            "Announce a packet duration whatever peers ask for\n10 ms\n20 ms\n40 ms",
            set_force_ptime, kHasNoForm, write_force_ptime},
    Command{"osmux (on|off|only)", "Where peers want it\nNever\nA call without it is refused",
            set_osmux_mode, kNoFlags, write_osmux},
    Command{"osmux bind-ip (A.B.C.D|X:X::X:X)",
            "Local address\nIPv4 address\nIPv6 address, as bind-ip-v6", set_osmux_bind},
    Command{"osmux bind-ip-v6 X:X::X:X", "Local IPv6 address\nThe address", set_osmux_bind},
    Command{"osmux batch-factor <1-8>", "Frames of a call in a datagram\nThe number, 20 ms each",
            set_osmux_batch_factor},
    Command{"osmux batch-size <1-65535>", "Size of a datagram\nBytes at most",
            set_osmux_batch_size},
    Command{"osmux port <1-65535>", "Local UDP port\nThe port", set_osmux_port},
    Command{"osmux dummy (on|off)", "Dummy frames for calls that are silent\nSent\nNot sent",
            set_osmux_dummy},
    Command{"osmux peer-behind-nat (on|off)",
            "Where datagrams go\nWhere the peer's come from\nWhere its SDP says",
            set_osmux_peer_behind_nat},
    Command{"conn-timeout <0-65534>", "When a connection without media ends\nSeconds; 0: never",
            set_connection_timeout, kNoFlags,
            [](ConfigurationText& text) {
              text.line("conn-timeout {}",
                        text.config().endpoints.options.connection_timeout.count());
            }},
    Command{"trunk <0-64>", "An E1 trunk; it is made if it is not there\nIts number", enter_trunk,
            kNoFlags, write_trunks},
    Command{"rtp net-range <0-65534> <0-65534>",
            "Local ports, now port-range\nThe first port\nThe last port", set_port_range,
            kDeprecated},
    Command{"rtp net-bind-ip A.B.C.D", "Local address of media, now bind-ip\nThe address",
            set_rtp_bind, kDeprecated | kHasNoForm},
    Command{"call agent ip A.B.C.D", "Now call-agent\nNow call-agent\nIts address\nThe address",
            set_call_agent, kDeprecated},
    Command{"bind early (0|1)",
            "Where MGCP is received\nBinding of media\nWhen needed\nAt the start",
            deprecated_directive, kDeprecated},
};

constexpr std::array kTables{CommandTable{Node::config_mgcp, kGatewayCommands}};

}  // namespace

std::span<const CommandTable> mgcp_command_tables() noexcept {
  return kTables;
}

}  // namespace ttcn_compat
