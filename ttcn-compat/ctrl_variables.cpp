#include "ttcn-compat/ctrl_variables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <optional>
#include <utility>

namespace ttcn_compat {

namespace {

using Kind = CounterGroupView::Kind;

constexpr std::string_view kUnknown = "Command not found";
constexpr std::string_view kItemForm =
    "Stat item must be of form stat_item.type.group_name.N.item_name, e.g. "
    "'stat_item.last.bsc.0.msc_num:connected'";

tl::unexpected<std::string> failure(std::string_view text) {
  return tl::unexpected(std::string(text));
}

/// Takes what stands before the next dot, and the dot.
std::string_view take_part(std::string_view& text) {
  const std::string_view part = text.substr(0, text.find('.'));
  text.remove_prefix(std::min(part.size() + 1, text.size()));
  return part;
}

std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty()
             ? std::optional(value)
             : std::nullopt;
}

using Reader = std::uint64_t (*)(const CounterFigure&);

/// How a figure is read for an interval's name; null if there is no such interval.
Reader reader_of(std::string_view interval) {
  constexpr std::array<std::pair<std::string_view, Reader>, 5> kReaders = {{
      {"abs", [](const CounterFigure& figure) { return figure.value; }},
      {"per_sec", [](const CounterFigure& figure) { return figure.rates.second; }},
      {"per_min", [](const CounterFigure& figure) { return figure.rates.minute; }},
      {"per_hour", [](const CounterFigure& figure) { return figure.rates.hour; }},
      {"per_day", [](const CounterFigure& figure) { return figure.rates.day; }},
  }};
  const auto found = std::find_if(kReaders.begin(), kReaders.end(), [interval](const auto& reader) {
    return reader.first == interval;
  });
  return found != kReaders.end() ? found->second : nullptr;
}

/// As in the names of counter groups.
std::string trunk_name(const TrunkView& trunk) {
  return trunk.is_virtual ? "virtual-0" : fmt::format("e1-{}", trunk.number);
}

/// The trunk that a name "trunk.NAME.rest" is about.
std::optional<TrunkView> find_trunk(const CtrlSources& sources, std::string_view name) {
  take_part(name);
  const std::string_view wanted = take_part(name);
  for (const TrunkView& trunk : sources.gateway.trunks()) {
    if (trunk_name(trunk) == wanted) {
      return trunk;
    }
  }
  return std::nullopt;
}

/// The sum over the trunks, or of the one that the name is about.
TrunkView endpoints(const CtrlSources& sources, std::string_view name) {
  if (name.starts_with("trunk.")) {
    return find_trunk(sources, name).value_or(TrunkView());
  }
  TrunkView sum;
  for (const TrunkView& trunk : sources.gateway.trunks()) {
    sum.endpoints += trunk.endpoints;
    sum.used += trunk.used;
  }
  return sum;
}

std::string get_endpoints_total(const CtrlSources& sources, std::string_view name,
                                io::TimePoint /*now*/) {
  return std::to_string(endpoints(sources, name).endpoints);
}

std::string get_endpoints_used(const CtrlSources& sources, std::string_view name,
                               io::TimePoint /*now*/) {
  return std::to_string(endpoints(sources, name).used);
}

std::string get_endpoints_free(const CtrlSources& sources, std::string_view name,
                               io::TimePoint /*now*/) {
  const TrunkView sum = endpoints(sources, name);
  return std::to_string(sum.endpoints - sum.used);
}

std::string get_connections(const CtrlSources& sources, std::string_view /*name*/,
                            io::TimePoint /*now*/) {
  std::size_t connections = 0;
  sources.gateway.visit_counters([&connections](const CounterGroupView& group) {
    connections += group.of_connection && group.prefix == "conn_rtp" ? 1U : 0U;
  });
  return std::to_string(connections);
}

std::string get_drain(const CtrlSources& sources, std::string_view /*name*/,
                      io::TimePoint /*now*/) {
  return sources.gateway.drain().active ? "1" : "0";
}

bool set_drain(CtrlSources& sources, std::string_view value) {
  if (value != "0" && value != "1") {
    return false;
  }
  sources.gateway.set_draining(value == "1");
  return true;
}

std::string get_drain_end(const CtrlSources& sources, std::string_view /*name*/,
                          io::TimePoint /*now*/) {
  const DrainView drain = sources.gateway.drain();
  if (!drain.ends) {
    return "never";
  }
  return drain.remaining ? std::to_string(drain.remaining->count()) : "empty";
}

bool set_drain_end(CtrlSources& sources, std::string_view value) {
  const auto seconds = number(value);
  if (value != "empty" && (!seconds || *seconds == 0 || *seconds > kDrainSecondsMax)) {
    return false;
  }
  sources.gateway.drain_and_end(seconds ? std::optional(std::chrono::seconds(*seconds))
                                        : std::nullopt);
  return true;
}

std::string get_osmux_circuits(const CtrlSources& sources, std::string_view /*name*/,
                               io::TimePoint /*now*/) {
  return std::to_string(sources.gateway.osmux_circuits_used());
}

std::string get_backend(const CtrlSources& sources, std::string_view /*name*/,
                        io::TimePoint /*now*/) {
  return std::string(sources.gateway.backend());
}

std::string get_version(const CtrlSources& sources, std::string_view /*name*/,
                        io::TimePoint /*now*/) {
  return sources.version;
}

std::string get_uptime(const CtrlSources& sources, std::string_view /*name*/, io::TimePoint now) {
  return std::to_string(
      std::chrono::duration_cast<std::chrono::seconds>(now - sources.started).count());
}

constexpr std::array kTable = {
    CtrlVariable{"endpoints.total", "Endpoints of all trunks.", get_endpoints_total},
    CtrlVariable{"endpoints.used", "Those with a call.", get_endpoints_used},
    CtrlVariable{"endpoints.free", "Those without.", get_endpoints_free},
    CtrlVariable{"trunk.NAME.endpoints.total",
                 "Endpoints of one trunk: `virtual-0`, or `e1-1` for E1 trunk 1.",
                 get_endpoints_total},
    CtrlVariable{"trunk.NAME.endpoints.used", "Those with a call.", get_endpoints_used},
    CtrlVariable{"trunk.NAME.endpoints.free", "Those without.", get_endpoints_free},
    CtrlVariable{"calls", "Calls that are up: endpoints in use.", get_endpoints_used},
    CtrlVariable{"connections", "Connections (legs) that exist.", get_connections},
    CtrlVariable{"osmux.circuits.used", "Osmux circuits in use.", get_osmux_circuits},
    CtrlVariable{"drain",
                 "1 while new calls are refused and those that are up go on, else 0; SET begins "
                 "and ends that.",
                 get_drain, set_drain},
    CtrlVariable{"drain.end",
                 "When a drain ends the gateway: `never`, `empty` (with the last call), or the "
                 "seconds after which calls that are left are ended; SET begins such a drain.",
                 get_drain_end, set_drain_end},
    CtrlVariable{"backend", "How packets get in and out: `poll` or `io_uring`.", get_backend},
    CtrlVariable{"version", "The gateway's version.", get_version},
    CtrlVariable{"uptime", "Full seconds since the gateway was started.", get_uptime},
};

const CtrlVariable* find_variable(const CtrlSources& sources, std::string_view name) {
  const auto matches = [&sources, name](const CtrlVariable& variable) {
    constexpr std::string_view kOfTrunk = "trunk.NAME.";
    if (!variable.name.starts_with(kOfTrunk)) {
      return variable.name == name;
    }
    std::string_view rest = name;
    if (take_part(rest) != "trunk") {
      return false;
    }
    take_part(rest);
    return rest == variable.name.substr(kOfTrunk.size()) && find_trunk(sources, name).has_value();
  };
  const auto* const found = std::find_if(kTable.begin(), kTable.end(), matches);
  return found != kTable.end() ? found : nullptr;
}

}  // namespace

std::span<const CtrlVariable> CtrlVariables::table() noexcept {
  return kTable;
}

CtrlAnswer CtrlVariables::rate_counter(std::string_view rest) {
  const Reader read = reader_of(take_part(rest));
  if (read == nullptr) {
    return failure(
        "Wrong interval. Expecting 'per_sec', 'per_min', 'per_hour', 'per_day' or 'abs' value.");
  }
  const std::string_view prefix = take_part(rest);
  const std::string_view index_text = take_part(rest);
  if (prefix.empty() || index_text.empty()) {
    return failure("Counter group must be of name.index form e. g. e1inp.0");
  }
  CtrlAnswer answer = failure("Counter group with given name and index not found");
  const auto index = number(index_text);
  sources_.gateway.visit_counters([&](const CounterGroupView& group) {
    if (group.kind != Kind::counters || group.prefix != prefix || group.index != index) {
      return;
    }
    const auto& figures = sources_.history.read(group);
    std::string all;
    answer = failure("Counter name not found.");
    for (std::size_t i = 0; i < figures.size(); ++i) {
      if (group.counters[i].name == rest) {
        answer = std::to_string(read(figures[i]));
      }
      fmt::format_to(std::back_inserter(all), "{} {};", group.counters[i].name, read(figures[i]));
    }
    if (rest.empty()) {
      answer = std::move(all);
    }
  });
  return answer;
}

CtrlAnswer CtrlVariables::stat_item(std::string_view rest) {
  const std::string_view type = take_part(rest);
  const std::string_view prefix = take_part(rest);
  const std::string_view index_text = take_part(rest);
  const bool by_name = index_text == "by_name";
  const std::string_view name = by_name ? take_part(rest) : std::string_view();
  const auto index = number(index_text);
  const std::string_view item = take_part(rest);
  if (type != "last" || (!by_name && !index) || item.empty()) {
    return failure(kItemForm);
  }
  if (!rest.empty()) {
    return failure("Garbage after stat item name");
  }
  CtrlAnswer answer = failure("Stat group with given name and index not found");
  sources_.gateway.visit_counters([&](const CounterGroupView& group) {
    const bool meant = by_name ? group.name == name : group.index == index;
    if (group.kind != Kind::items || group.prefix != prefix || !meant) {
      return;
    }
    answer = failure("No such stat item found");
    for (const CounterView& counter : group.counters) {
      if (counter.name == item) {
        answer = std::to_string(counter.value);
      }
    }
  });
  return answer;
}

CtrlAnswer CtrlVariables::get(std::string_view variable, io::TimePoint now) {
  std::string_view rest = variable;
  const std::string_view first = take_part(rest);
  if (!rest.empty() && first == "rate_ctr") {
    return rate_counter(rest);
  }
  if (!rest.empty() && first == "stat_item") {
    return stat_item(rest);
  }
  if (!rest.empty() && first == "counter") {
    return failure("Counter name not found.");  // there are none without a group
  }
  const CtrlVariable* known = find_variable(sources_, variable);
  if (known == nullptr) {
    return failure(kUnknown);
  }
  return known->get(sources_, variable, now);
}

CtrlAnswer CtrlVariables::set(std::string_view variable, std::string_view value,
                              io::TimePoint now) {
  std::string_view rest = variable;
  const std::string_view first = take_part(rest);
  if (!rest.empty() && first == "rate_ctr") {
    return failure("Can't set rate counter.");
  }
  if (!rest.empty() && first == "counter") {
    return failure("Can't set counter.");
  }
  const CtrlVariable* known = find_variable(sources_, variable);
  const bool is_item = !rest.empty() && first == "stat_item";
  if (known == nullptr && !is_item) {
    return failure(kUnknown);
  }
  if (is_item || known->set == nullptr) {
    return failure("Read Only attribute");
  }
  if (!known->set(sources_, value)) {
    return failure("Value failed verification.");
  }
  return known->get(sources_, variable, now);
}

}  // namespace ttcn_compat
