#include "ttcn-compat/counter_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

namespace ttcn_compat {

namespace {

using Kind = CounterGroupView::Kind;

void append_rates(std::string& out, const CounterRates& rates) {
  fmt::format_to(std::back_inserter(out), "({}/s {}/m {}/h {}/d)", rates.second, rates.minute,
                 rates.hour, rates.day);
}

bool is_left_out(const CounterFigure& figure, ZeroCounters zeros) {
  return zeros == ZeroCounters::skipped && figure.value == 0;
}

/// The lines that name each counter, behind `indent`.
void append_named(std::string& out, const CounterGroupView& group, CounterHistory& history,
                  ZeroCounters zeros, std::string_view indent) {
  const auto& figures = history.read(group);
  for (std::size_t i = 0; i < figures.size(); ++i) {
    if (is_left_out(figures[i], zeros)) {
      continue;
    }
    fmt::format_to(std::back_inserter(out), "{}{:>25}: {:10} ", indent, group.counters[i].name,
                   figures[i].value);
    append_rates(out, figures[i].rates);
    fmt::format_to(std::back_inserter(out), " {}\n", group.counters[i].description);
  }
}

void append_described(std::string& out, const CounterGroupView& group, CounterHistory& history,
                      ZeroCounters zeros) {
  fmt::format_to(std::back_inserter(out), "{} ({})", group.description, group.index);
  if (!group.name.empty()) {
    fmt::format_to(std::back_inserter(out), "('{}')", group.name);
  }
  out += ":\n";
  const auto& figures = history.read(group);
  for (std::size_t i = 0; i < figures.size(); ++i) {
    if (is_left_out(figures[i], zeros)) {
      continue;
    }
    fmt::format_to(std::back_inserter(out), " {}: {:8} ", group.counters[i].description,
                   figures[i].value);
    if (group.kind == Kind::counters) {
      append_rates(out, figures[i].rates);
    }
    out += '\n';
  }
}

/// Where a group stands among those of its trunk.
std::size_t rank(std::string_view prefix) {
  constexpr std::array<std::string_view, 6> kOrder = {"crcx",         "dlcx",           "mdcx",
                                                      "all_rtp_conn", "all_osmux_conn", "e1"};
  return static_cast<std::size_t>(std::find(kOrder.begin(), kOrder.end(), prefix) - kOrder.begin());
}

void append_group(std::string& out, const CounterGroupView& group, CounterHistory& history) {
  fmt::format_to(std::back_inserter(out), "   {}:\n", group.description);
  append_named(out, group, history, ZeroCounters::shown, "   ");
}

}  // namespace

std::string show_stats(const CounterSource& source, CounterHistory& history, conf::StatsLevel level,
                       ZeroCounters zeros) {
  std::string counters = "Ungrouped counters:\n";
  std::string items;
  source([&](const CounterGroupView& group) {
    if (group.level <= level) {
      append_described(group.kind == Kind::items ? items : counters, group, history, zeros);
    }
  });
  return counters + items;
}

std::string show_rate_counters(const CounterSource& source, CounterHistory& history,
                               ZeroCounters zeros) {
  std::string out;
  source([&](const CounterGroupView& group) {
    if (group.kind == Kind::items) {
      return;
    }
    fmt::format_to(std::back_inserter(out), "{} {}", group.description, group.index);
    if (!group.name.empty()) {
      fmt::format_to(std::back_inserter(out), " ({})", group.name);
    }
    out += ":\n";
    append_named(out, group, history, zeros, "");
  });
  return out;
}

std::string trunk_rate_counters(const CounterSource& source, CounterHistory& history,
                                std::size_t trunk) {
  std::array<std::string, 7> parts;
  source([&](const CounterGroupView& group) {
    if (group.kind == Kind::counters && !group.of_connection && group.trunk == trunk) {
      append_group(parts[rank(group.prefix)], group, history);
    }
  });
  std::string out = "Rate counters (trunk):\n";
  for (const std::string& part : parts) {
    out += part;
  }
  return out;
}

std::string global_rate_counters(const CounterSource& source, CounterHistory& history) {
  std::string out = "Rate counters (global):\n";
  source([&](const CounterGroupView& group) {
    if (group.kind == Kind::counters && !group.of_connection && !group.trunk) {
      append_group(out, group, history);
    }
  });
  return out;
}

}  // namespace ttcn_compat
