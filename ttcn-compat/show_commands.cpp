#include "ttcn-compat/show_commands.h"

#include "ttcn-compat/command_context.h"
#include "ttcn-compat/counter_text.h"
#include "ttcn-compat/mgcp_text.h"
#include "ttcn-compat/trunk_lookup.h"

#include <array>
#include <chrono>

namespace ttcn_compat {

namespace {

/// Endpoints that are printed in one portion of `show mgcp`.
constexpr std::uint32_t kEndpointsPerPortion = 64;

/// Which endpoints `show mgcp` prints, and what about them.
enum class MgcpView : std::uint8_t { all, active, with_statistics };

/// Prints trunk after trunk, endpoint after endpoint.
class MgcpListing {
 public:
  MgcpListing(GatewayAccess& gateway, CounterHistory& history, MgcpView view)
      : gateway_(gateway), history_(history), view_(view) {}

  /// The next portion; false after the last.
  [[nodiscard]] bool print(Output& output) {
    // Trunks are made at the start only, but the numbers in their views change.
    const std::vector<TrunkView> trunks = gateway_.trunks();
    if (trunk_ >= trunks.size()) {
      end(output);
      return false;
    }
    const TrunkView& trunk = trunks[trunk_];
    if (next_ == 0) {
      output.print("{} with {} endpoints:\n", trunk_title(trunk), trunk.endpoints);
    }
    for (std::uint32_t printed = 0; printed < kEndpointsPerPortion; ++printed) {
      if (view_ == MgcpView::active) {
        next_ = gateway_.next_used(trunk_, next_).value_or(trunk.endpoints);
      }
      if (next_ >= trunk.endpoints) {
        end_trunk(output, trunk);
        return true;
      }
      const EndpointView endpoint = gateway_.endpoint(trunk_, next_);
      output.write(endpoint_text(trunk, endpoint,
                                 view_ == MgcpView::with_statistics ? ConnectionDetail::statistics
                                                                    : ConnectionDetail::name));
      ++next_;
      if (next_ < trunk.endpoints) {
        output.write("\n");
      }
    }
    return true;
  }

 private:
  [[nodiscard]] CounterSource source() const {
    return [this](const CounterGroupVisitor& visit) { gateway_.visit_counters(visit); };
  }

  void end_trunk(Output& output, const TrunkView& trunk) {
    if (trunk.used == 0) {
      output.write("No endpoints in use.\n");
    }
    if (view_ == MgcpView::with_statistics) {
      output.write("\n");
      output.write(trunk_rate_counters(source(), history_, trunk_));
    }
    ++trunk_;
    next_ = 0;
  }

  void end(Output& output) {
    if (gateway_.config().osmux.mode != conf::OsmuxMode::off) {
      output.print("Osmux used CID: {}\n", gateway_.osmux_circuits_used());
    }
    if (view_ == MgcpView::with_statistics) {
      output.write("\n");
      output.write(global_rate_counters(source(), history_));
    }
  }

  GatewayAccess& gateway_;
  CounterHistory& history_;
  MgcpView view_;
  std::size_t trunk_ = 0;
  std::uint32_t next_ = 0;
};

CommandResult show_mgcp_view(CommandContext& context, MgcpView view) {
  context.continue_with(
      [listing = MgcpListing(*context.gateway(), context.services()->counter_history(), view)](
          Output& output) mutable { return listing.print(output); });
  return CommandResult::done;
}

CommandResult show_mgcp(CommandContext& context) {
  return show_mgcp_view(context, context.has(0) ? MgcpView::with_statistics : MgcpView::all);
}

CommandResult show_mgcp_active(CommandContext& context) {
  return show_mgcp_view(context, MgcpView::active);
}

CommandResult show_endpoint(CommandContext& context) {
  const std::string_view name = context.argument(0);
  const std::vector<TrunkView> trunks = context.gateway()->trunks();
  for (std::size_t trunk = 0; trunk < trunks.size(); ++trunk) {
    if (const auto index = context.gateway()->find_endpoint(trunk, name)) {
      context.output().write(endpoint_text(
          trunks[trunk], context.gateway()->endpoint(trunk, *index), ConnectionDetail::statistics));
      return CommandResult::done;
    }
  }
  context.output().print("endpoint {} not configured\n", name);
  return CommandResult::failed;
}

CommandResult show_trunk_endpoint(CommandContext& context) {
  const auto number = static_cast<std::uint32_t>(context.number(0));
  const std::string_view name = context.argument(1);
  const std::vector<TrunkView> trunks = context.gateway()->trunks();
  const auto trunk = find_trunk(trunks, number);
  if (!trunk) {
    context.output().print("trunk {} not found\n", number);
    return CommandResult::failed;
  }
  const auto index = context.gateway()->find_endpoint(*trunk, name);
  if (!index) {
    context.output().print("endpoint {} not configured on trunk {}\n", name, number);
    return CommandResult::failed;
  }
  context.output().write(endpoint_text(trunks[*trunk], context.gateway()->endpoint(*trunk, *index),
                                       ConnectionDetail::statistics));
  return CommandResult::done;
}

CommandResult show_drivers(CommandContext& context) {
  context.output().write("E1 Input Driver e1d\nE1 Input Driver virtual\n");
  return CommandResult::done;
}

template <auto Print>
CommandResult for_each_line(CommandContext& context) {
  for (const E1LineView& line : context.gateway()->e1_lines()) {
    if (!context.has(0) || context.number(0) == line.line) {
      Print(context, line);
    }
  }
  return CommandResult::done;
}

void print_line(CommandContext& context, const E1LineView& line) {
  context.output().print("E1 Line Number {}, Name {}, Driver {}\n", line.line, line.name,
                         line.driver);
  if (context.has(1)) {
    context.output().print(" Line is {}, {} timeslots in use\n", line.up ? "up" : "down",
                           line.timeslots_used);
  }
}

void print_timeslots(CommandContext& context, const E1LineView& line) {
  context.output().print("E1 Line Number {}: {} timeslots in use\n", line.line,
                         line.timeslots_used);
}

CommandResult show_threads(CommandContext& context) {
  context.output().print("Thread list for PID {}:\n", context.services()->process_id());
  for (const ThreadView& thread : context.gateway()->threads()) {
    context.output().print(" TID: {}, NAME: '{}'\n", thread.id, thread.name);
  }
  return CommandResult::done;
}

CommandResult show_memory(CommandContext& context) {
  context.output().print("{} talloc report on '{}' (total {:6} bytes in {:3} blocks)\n",
                         context.argument(1) == "brief" ? "brief" : "full", context.argument(0),
                         context.services()->memory_bytes(), 1);
  return CommandResult::done;
}

CommandResult show_uptime(CommandContext& context) {
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(context.services()->uptime()).count();
  context.output().print("mgw has been running for {}d {}h {}m {}s\n", seconds / 86400,
                         seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
  return CommandResult::done;
}

CommandResult show_pid(CommandContext& context) {
  context.output().print("{}\n", context.services()->process_id());
  return CommandResult::done;
}

CommandResult show_backend(CommandContext& context) {
  context.output().print("I/O backend: {}\n", context.gateway()->backend());
  context.output().print("Kernel fast path: {}\n", context.gateway()->kernel_path());
  return CommandResult::done;
}

constexpr std::array kLookingCommands{
    Command{"show mgcp [stats]", "Trunks, endpoints and connections\nWith all statistics",
            show_mgcp},
    Command{"show mgcp active", "Trunks, endpoints and connections\nOnly endpoints in use",
            show_mgcp_active},
    Command{"show mgcp endpoint NAME", "Trunks, endpoints and connections\nOne endpoint\nIts name",
            show_endpoint},
    Command{"show mgcp trunk <0-64> endpoint NAME",
            "Trunks, endpoints and connections\nOf an E1 trunk; 0 is the virtual one too\n"
            "Its number\nOne endpoint\nIts name",
            show_trunk_endpoint},
    Command{"show e1_driver", "What can drive E1 lines", show_drivers},
    Command{"show e1_line [<0-255>] [stats]", "E1 lines\nNumber of one line\nWith its state",
            for_each_line<print_line>},
    Command{"show e1_timeslot [<0-255>] [<0-31>]",
            "Timeslots of E1 lines\nNumber of one line\nNumber of one timeslot",
            for_each_line<print_timeslots>},
    Command{"show cpu-sched threads", "Scheduling\nThe threads of the gateway", show_threads},
    Command{"show io-backend", "How packets get in and out of the kernel", show_backend},
    Command{"show talloc-context (application|global|all) (full|brief|DEPTH)",
            "Memory in use\nOf the program\nOf the program\nOf the program\n"
            "All there is to say\nThe sum\nAll there is to say",
            show_memory},
    Command{"show uptime", "How long the program has been running", show_uptime},
    Command{"show pid", "Number of the process", show_pid},
};

constexpr std::array kTables{
    CommandTable{NodeSet{Node::view, Node::enable}, kLookingCommands},
};

}  // namespace

std::span<const CommandTable> show_command_tables() noexcept {
  return kTables;
}

}  // namespace ttcn_compat
