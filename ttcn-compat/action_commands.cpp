#include "ttcn-compat/action_commands.h"

#include "ttcn-compat/command_context.h"
#include "ttcn-compat/trunk_lookup.h"

#include <array>
#include <optional>

namespace ttcn_compat {

namespace {

/// An endpoint that a command is about.
struct Target {
  std::size_t trunk;
  std::uint32_t index;
};

/// The endpoint that arguments 0 and 1 name; otherwise why there is none is printed.
std::optional<Target> target_of(CommandContext& context) {
  const auto number = static_cast<std::uint32_t>(context.number(0));
  const std::vector<TrunkView> trunks = context.gateway()->trunks();
  const auto trunk = find_trunk(trunks, number);
  if (!trunk) {
    context.output().print("%Trunk {} not found in the config.\n", number);
    return std::nullopt;
  }
  const auto index =
      find_endpoint(*context.gateway(), *trunk, trunks[*trunk].endpoints, context.argument(1));
  if (!index) {
    context.output().print("Endpoint number {} is invalid.\n", context.argument(1));
    return std::nullopt;
  }
  return Target{*trunk, *index};
}

CommandResult outcome(CommandContext& context, const tl::expected<void, Failure>& result) {
  return result ? CommandResult::done : context.fail(result.error());
}

CommandResult loop_endpoint(CommandContext& context) {
  const auto target = target_of(context);
  return target ? outcome(context, context.gateway()->loop_endpoint(target->trunk, target->index,
                                                                    context.argument(2) == "1"))
                : CommandResult::failed;
}

CommandResult tap(CommandContext& context) {
  const auto target = target_of(context);
  const auto address =
      io::SocketAddress::parse(context.argument(4), static_cast<std::uint16_t>(context.number(5)));
  if (!target || !address) {
    return CommandResult::failed;
  }
  return outcome(context, context.gateway()->tap(target->trunk, target->index, context.argument(2),
                                                 context.argument(3) == "in", *address));
}

CommandResult free_endpoint(CommandContext& context) {
  const auto target = target_of(context);
  if (!target) {
    return CommandResult::failed;
  }
  context.gateway()->free_endpoint(target->trunk, target->index);
  return CommandResult::done;
}

CommandResult told(CommandContext& context, bool agent_told) {
  if (!agent_told) {
    context.output().write("Error -1 during endpoint reset.\n");
  }
  return agent_told ? CommandResult::done : CommandResult::failed;
}

CommandResult reset_endpoint(CommandContext& context) {
  const auto target = target_of(context);
  return target ? told(context, context.gateway()->reset_endpoint(target->trunk, target->index))
                : CommandResult::failed;
}

CommandResult reset_all_endpoints(CommandContext& context) {
  GatewayAccess& gateway = *context.gateway();
  bool agent_told = true;
  const std::size_t trunks = gateway.trunks().size();
  for (std::size_t trunk = 0; trunk < trunks; ++trunk) {
    for (auto index = gateway.next_used(trunk, 0); index;
         index = gateway.next_used(trunk, *index + 1)) {
      agent_told = gateway.reset_endpoint(trunk, *index) && agent_told;
    }
  }
  return told(context, agent_told);
}

CommandResult drain(CommandContext& context) {
  context.gateway()->set_draining(!context.negated());
  return CommandResult::done;
}

CommandResult drain_and_end(CommandContext& context) {
  context.gateway()->drain_and_end(std::nullopt);
  return CommandResult::done;
}

CommandResult drain_until(CommandContext& context) {
  context.gateway()->drain_and_end(std::chrono::seconds(context.number(0)));
  return CommandResult::done;
}

CommandResult show_drain(CommandContext& context) {
  const DrainView drain = context.gateway()->drain();
  if (!drain.active) {
    context.output().write("Not draining: new calls are accepted\n");
    return CommandResult::done;
  }
  context.output().write("Draining: new calls are refused\n");
  if (drain.ends) {
    context.output().write("The program ends with the last call\n");
  }
  if (drain.remaining) {
    context.output().print("Calls that are left are ended in {} s\n", drain.remaining->count());
  }
  return CommandResult::done;
}

CommandResult shut_down(CommandContext& context) {
  context.gateway()->shut_down();
  return CommandResult::done;
}

constexpr std::array kEnableCommands{
    Command{"loop-endpoint <0-64> NAME (0|1)",
            "Return media to their senders\nNumber of an E1 trunk; 0 is the virtual one too\n"
            "Endpoint, by index from 0 in hexadecimal or by name\nNo\nYes",
            loop_endpoint},
    Command{"tap-rtp <0-64> ENDPOINT CONN (in|out) (A.B.C.D|X:X::X:X) <0-65534>",
            "Send copies of media\nNumber of an E1 trunk; 0 is the virtual one too\n"
            "Endpoint, by index from 0 in hexadecimal or by name\nIdentifier of the connection\n"
            "Of what is received\nOf what is sent\nTo this IPv4 address\nTo this IPv6 address\n"
            "UDP port; 0: no more copies",
            tap},
    Command{"free-endpoint <0-64> NUMBER",
            "Delete all connections of an endpoint\n"
            "Number of an E1 trunk; 0 is the virtual one too\n"
            "Endpoint, by index from 0 in hexadecimal or by name",
            free_endpoint},
    Command{"reset-endpoint <0-64> NUMBER",
            "The same, and tell the call agent (RSIP)\n"
            "Number of an E1 trunk; 0 is the virtual one too\n"
            "Endpoint, by index from 0 in hexadecimal or by name",
            reset_endpoint},
    Command{"reset-all-endpoints", "The same for all endpoints in use", reset_all_endpoints},
    Command{"drain", "Refuse new calls, those that are up go on", drain, kHasNoForm},
    Command{"drain exit",
            "Refuse new calls, those that are up go on\nEnd the program with the last call",
            drain_and_end},
    Command{"drain exit <1-604800>",
            "Refuse new calls, those that are up go on\nEnd the program with the last call\n"
            "End the calls that are left after so many seconds",
            drain_until},
    Command{"show drain", "Whether new calls are refused", show_drain},
    Command{"shutdown", "End the program", shut_down},
};

constexpr std::array kTables{CommandTable{Node::enable, kEnableCommands}};

}  // namespace

std::span<const CommandTable> action_command_tables() noexcept {
  return kTables;
}

}  // namespace ttcn_compat
