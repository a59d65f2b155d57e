#include "ttcn-compat/counter_reporter.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace ttcn_compat {

namespace {

using Kind = CounterGroupView::Kind;

/// Statsd takes a colon for the end of the name.
void append_name(std::string& out, std::string_view name) {
  const std::size_t begin = out.size();
  out += name;
  std::replace(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end(), ':', '.');
}

}  // namespace

std::size_t CounterReporter::datagram_bytes() const noexcept {
  return options_.mtu == 0 ? kDatagramBytes
                           : std::max<std::size_t>(options_.mtu, kHeaderBytes + 1) - kHeaderBytes;
}

void CounterReporter::append_statsd(const CounterGroupView& group, const CounterView& counter,
                                    std::uint64_t value, const Sink& sink) {
  line_ = options_.prefix;
  if (!line_.empty()) {
    line_ += '.';
  }
  append_name(line_, group.prefix);
  line_ += '.';
  if (group.name.empty()) {
    fmt::format_to(std::back_inserter(line_), "{}", group.index);
  } else {
    append_name(line_, group.name);
  }
  line_ += '.';
  append_name(line_, counter.name);
  fmt::format_to(std::back_inserter(line_), ":{}|{}", value,
                 group.kind == Kind::counters ? 'c' : 'g');
  if (!datagram_.empty() && datagram_.size() + 1 + line_.size() > datagram_bytes()) {
    sink(datagram_);
    datagram_.clear();
  }
  if (!datagram_.empty()) {
    datagram_ += '\n';
  }
  datagram_ += line_;
}

void CounterReporter::emit_log(const CounterGroupView& group, const CounterView& counter,
                               std::uint64_t value, const Sink& sink) {
  line_.clear();
  fmt::format_to(std::back_inserter(line_),
                 "stats t={} p={} g={} i={} n={} v={} u=", group.kind == Kind::counters ? 'c' : 'i',
                 options_.prefix, group.prefix, group.index, counter.name, value);
  sink(line_);
}

void CounterReporter::report_group(const CounterGroupView& group, const CounterHistory& history,
                                   bool all, const Sink& sink) {
  if (group.level > options_.level) {
    return;
  }
  const auto [found, first_time] = reported_.try_emplace(key_of(group));
  Reported& reported = found->second;
  reported.report = reports_;
  reported.values.resize(group.counters.size());
  for (std::size_t i = 0; i < group.counters.size(); ++i) {
    const std::uint64_t now = group.counters[i].value;
    const std::uint64_t before = std::exchange(reported.values[i], now);
    std::uint64_t value = now;
    bool changed = first_time || now != before;
    if (group.kind == Kind::counters) {
      value = now - std::min(now, std::max(before, history.baseline(group, i)));
      changed = value != 0;
    }
    if (!all && !changed) {
      continue;
    }
    if (options_.kind == conf::StatsReporter::Kind::log) {
      emit_log(group, group.counters[i], value, sink);
    } else {
      append_statsd(group, group.counters[i], value, sink);
    }
  }
}

void CounterReporter::report(const CounterSource& source, const CounterHistory& history,
                             Extent extent, const Sink& sink) {
  const bool first = reports_ == 0;
  ++reports_;
  ++periodic_;
  const bool flush = options_.flush_period != 0 && periodic_ >= options_.flush_period;
  const bool all = extent == Extent::everything || first || flush;
  if (all) {
    periodic_ = 0;
  }
  source([&](const CounterGroupView& group) { report_group(group, history, all, sink); });
  if (!datagram_.empty()) {
    sink(datagram_);
    datagram_.clear();
  }
  std::erase_if(reported_, [this](const auto& entry) { return entry.second.report != reports_; });
}

}  // namespace ttcn_compat
