#include "ttcn-compat/counter_history.h"

#include <algorithm>

namespace ttcn_compat {

namespace {

constexpr std::array<std::uint64_t, 4> kIntervalSeconds = {1, 60, 3600, 86400};

}  // namespace

std::size_t CounterGroupKeyHash::operator()(const CounterGroupKey& key) const noexcept {
  constexpr std::size_t kMultiplier = 0x9e3779b97f4a7c15U;
  std::size_t hash = std::hash<std::string_view>()(key.prefix);
  hash = hash * kMultiplier + std::hash<std::string_view>()(key.name);
  return hash * kMultiplier + key.index;
}

CounterHistory::Record& CounterHistory::make_record(const CounterGroupView& group, Start start) {
  const auto [found, made] = records_.try_emplace(key_of(group));
  Record& record = found->second;
  if (made) {
    record.of_connection = group.of_connection;
    connection_records_ += group.of_connection ? 1 : 0;
    record.looked_at = now_;
    record.walk = walk_;
  }
  if (record.samples.size() != group.counters.size()) {
    record.samples.resize(group.counters.size());
    for (std::size_t i = 0; made && start == Start::at_present && i < record.samples.size(); ++i) {
      record.samples[i].at.fill(group.counters[i].value);
    }
  }
  return record;
}

void CounterHistory::sample(const CounterGroupView& group, const PerInterval& completed) {
  if (group.kind == CounterGroupView::Kind::items ||
      (group.of_connection && connection_records_ == 0)) {
    return;
  }
  Record* record = nullptr;
  if (group.of_connection) {
    const auto found = records_.find(key_of(group));
    if (found == records_.end()) {
      return;
    }
    record = &found->second;
  } else {
    record = &make_record(group, Start::at_zero);
  }
  record->walk = walk_;
  const std::size_t count = std::min(record->samples.size(), group.counters.size());
  for (std::size_t i = 0; i < count; ++i) {
    Sample& sample = record->samples[i];
    const std::uint64_t value = group.counters[i].value;
    for (std::size_t interval = 0; interval < kIntervals; ++interval) {
      if (completed[interval] != 0) {
        sample.rates[interval] = (value - sample.at[interval]) / completed[interval];
        sample.at[interval] = value;
      }
    }
  }
}

void CounterHistory::tick(io::TimePoint now, const CounterSource& source) {
  if (!started_) {
    started_ = true;
    start_ = now;
  } else if (now < start_ + std::chrono::seconds(second_ + 1)) {
    return;
  }
  const auto second = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::seconds>(now - start_).count());
  PerInterval completed{};
  for (std::size_t i = 0; i < kIntervals; ++i) {
    completed[i] = second / kIntervalSeconds[i] - second_ / kIntervalSeconds[i];
  }
  second_ = second;
  now_ = now;
  ++walk_;
  source([this, &completed](const CounterGroupView& group) { sample(group, completed); });
  forget();
}

void CounterHistory::forget() {
  std::erase_if(records_, [this](const auto& entry) {
    const Record& record = entry.second;
    const bool gone = record.walk != walk_;
    const bool unwatched =
        record.of_connection && !record.was_reset && now_ - record.looked_at > kConnectionWatchTime;
    connection_records_ -= record.of_connection && (gone || unwatched) ? 1 : 0;
    return gone || unwatched;
  });
}

void CounterHistory::reset(const CounterSource& source) {
  source([this](const CounterGroupView& group) {
    const bool counted = std::any_of(group.counters.begin(), group.counters.end(),
                                     [](const CounterView& counter) { return counter.value != 0; });
    if (group.kind == CounterGroupView::Kind::items || (group.of_connection && !counted)) {
      return;
    }
    Record& record = make_record(group, Start::at_present);
    record.was_reset = true;
    for (std::size_t i = 0; i < group.counters.size(); ++i) {
      const std::uint64_t value = group.counters[i].value;
      record.samples[i].baseline = value;
      record.samples[i].at.fill(value);
      record.samples[i].rates.fill(0);
    }
  });
}

const std::vector<CounterFigure>& CounterHistory::read(const CounterGroupView& group) {
  figures_.assign(group.counters.size(), {});
  if (group.kind == CounterGroupView::Kind::items) {
    for (std::size_t i = 0; i < group.counters.size(); ++i) {
      figures_[i].value = group.counters[i].value;
    }
    return figures_;
  }
  Record& record = make_record(group, group.of_connection ? Start::at_present : Start::at_zero);
  record.looked_at = now_;
  for (std::size_t i = 0; i < group.counters.size(); ++i) {
    const Sample& sample = record.samples[i];
    figures_[i] = {group.counters[i].value - sample.baseline,
                   {sample.rates[0], sample.rates[1], sample.rates[2], sample.rates[3]}};
  }
  return figures_;
}

std::uint64_t CounterHistory::baseline(const CounterGroupView& group, std::size_t counter) const {
  if (group.kind == CounterGroupView::Kind::items ||
      (group.of_connection && connection_records_ == 0)) {
    return 0;
  }
  const auto found = records_.find(key_of(group));
  return found != records_.end() && counter < found->second.samples.size()
             ? found->second.samples[counter].baseline
             : 0;
}

}  // namespace ttcn_compat
