#include "mgw/call_sampler.h"

#include <algorithm>
#include <numeric>

namespace mgw {

namespace {

constexpr std::chrono::seconds kWatchedInterval{1};
/// Rates over a shorter time say more about the moment of the sample than about the traffic.
constexpr std::chrono::milliseconds kRateTimeMin{500};

std::uint64_t dropped_by(const MediaCounters& media) noexcept {
  return std::accumulate(
      media.dropped.begin(), media.dropped.end(), std::uint64_t{0},
      [](std::uint64_t sum, const io::Counter& counter) { return sum + counter.value(); });
}

double milliseconds(io::Duration duration) noexcept {
  return std::chrono::duration<double, std::milli>(duration).count();
}

}  // namespace

CallSampler::CallSampler(CallSamplerParts parts)
    : parts_(std::move(parts)),
      started_(parts_.clock.now()),
      places_(parts_.media.workers()),
      seen_(parts_.media.workers()) {
  history_.reserve(kHistoryPointsMax);
  last_ = totals();
  counters_.finished_at.set(started_);
  last_history_ = last_;
}

bool CallSampler::is_due(io::TimePoint now) const noexcept {
  if (under_way_) {
    return false;
  }
  const io::Duration age = now - begun_;
  if (begun_ == io::TimePoint{} || age >= kHistoryInterval) {
    return true;
  }
  return parts_.board.is_watched(now) && (age >= kWatchedInterval || !had_calls_);
}

void CallSampler::on_tick() {
  if (is_due(parts_.clock.now())) {
    begin(parts_.board.is_watched(parts_.clock.now()));
  }
}

void CallSampler::on_asked() {
  if (is_due(parts_.clock.now())) {
    begin(parts_.board.is_watched(parts_.clock.now()));
  }
}

void CallSampler::begin_whole() {
  if (!under_way_) {
    begin(true);
  }
}

void CallSampler::begin(bool keeps_calls) {
  begun_ = parts_.clock.now();
  under_way_ = true;
  next_endpoint_ = 1;
  findings_ = Findings();
  findings_.keeps_calls = keeps_calls;
  had_calls_ = findings_.keeps_calls;
  step();
}

void CallSampler::step() {
  step_calls_.clear();
  std::ranges::for_each(places_, [](auto& places) { places.clear(); });
  std::vector<std::unique_ptr<MediaCommand>> commands(places_.size());
  std::size_t legs = 0;
  const Trunks& trunks = parts_.control.trunks();
  auto number = trunks.next_used(next_endpoint_);
  for (; number && legs < kLegsPerStep; number = trunks.next_used(next_endpoint_)) {
    add_endpoint(*number, commands);
    legs += step_calls_.back().legs.size();
    next_endpoint_ = *number + 1;
  }
  for (std::uint32_t worker = 0; worker < commands.size(); ++worker) {
    if (commands[worker] != nullptr) {
      ++outstanding_;
      parts_.media.submit(worker, std::move(commands[worker]));
    }
  }
  if (outstanding_ == 0) {
    finish();
  } else {
    parts_.media.flush();
  }
}

void CallSampler::add_endpoint(std::uint32_t number,
                               std::vector<std::unique_ptr<MediaCommand>>& commands) {
  const Endpoint& endpoint = *parts_.control.trunks().find(number);
  CallSnapshot& call = step_calls_.emplace_back();
  call.endpoint = parts_.control.endpoint_name(number);
  call.call_id = endpoint.call_id;
  auto& command = commands[endpoint.worker];
  for (const Connection* connection : endpoint.legs()) {
    if (command == nullptr) {
      command = std::make_unique<MediaCommand>();
      command->ticket = kTicket;
      command->audits_streams = false;
      command->audits.reserve(kLegsPerStep);
      command->audited.reserve(kLegsPerStep);
    }
    places_[endpoint.worker].push_back(
        {step_calls_.size() - 1, call.legs.size(), connection->slot});
    command->audits.push_back(connection->slot);
    call.legs.push_back(leg_snapshot(*connection, {}));
  }
}

bool CallSampler::take(std::uint32_t worker, MediaEvent& event) {
  if (event.kind != MediaEvent::Kind::command_done || event.command->ticket != kTicket) {
    return false;
  }
  const std::vector<Place>& places = places_[worker];
  for (std::size_t i = 0; i < places.size() && i < event.command->audited.size(); ++i) {
    step_calls_[places[i].call].legs[places[i].leg].counters = event.command->audited[i];
    evaluate(worker, places[i]);
  }
  if (--outstanding_ == 0) {
    if (findings_.keeps_calls) {
      std::ranges::move(step_calls_, std::back_inserter(findings_.calls));
    }
    step();
  }
  return true;
}

void CallSampler::evaluate(std::uint32_t worker, const Place& place) {
  const LegSnapshot& leg = step_calls_[place.call].legs[place.leg];
  Seen& seen = this->seen(worker, place.slot);
  if (seen.id != leg.id) {
    seen = {leg.id, 0, 0};
  }
  count_losses(seen, leg.counters);
  const auto mos = leg.mos();
  ++findings_.qualities[static_cast<std::size_t>(quality_class(mos))];
  if (mos) {
    findings_.mos_sum += *mos;
    ++findings_.rated;
  }
  if (leg.counters.totals.received != 0) {
    findings_.jitter_sum += leg.jitter();
    findings_.jitter_max = std::max(findings_.jitter_max, leg.jitter());
    ++findings_.receiving;
  }
}

CallSampler::Seen& CallSampler::seen(std::uint32_t worker, std::uint32_t slot) {
  std::vector<Seen>& slots = seen_[worker];
  if (slot >= slots.size()) {
    slots.resize(std::max<std::size_t>(slot + 1U, 2 * slots.size()));
  }
  return slots[slot];
}

void CallSampler::count_losses(Seen& seen, const ConnectionCounters& counters) {
  // A late packet takes a loss back; the sums only grow.
  const std::uint64_t expected = std::max(seen.expected, counters.totals.expected);
  const std::uint64_t lost = std::max(seen.lost, counters.totals.lost());
  expected_ += expected - seen.expected;
  lost_ += lost - seen.lost;
  seen.expected = expected;
  seen.lost = lost;
}

void CallSampler::leg_ended(std::uint32_t worker, std::uint32_t slot,
                            const ConnectionCounters& counters) {
  Seen& seen = this->seen(worker, slot);
  count_losses(seen, counters);
  seen = {};  // the slot's next leg begins at 0
  counters_.packets_expected.set(expected_);
  counters_.packets_lost.set(lost_);
}

CallSampler::Totals CallSampler::totals() const {
  Totals sum;
  sum.at = parts_.clock.now();
  for (const WorkerView& worker : parts_.workers) {
    const MediaCounters& media = *worker.media;
    sum.packets_in += media.rtp_packets_received.value();
    sum.packets_out += media.rtp_packets_sent.value();
    sum.octets_in += media.rtp_octets_received.value();
    sum.octets_out += media.rtp_octets_sent.value();
    sum.drops += dropped_by(media);
    sum.datagrams += media.received.value();
    sum.cpu += cpu_time(worker);
  }
  sum.commands = parts_.control.counters().handled.value();
  sum.expected = expected_;
  sum.lost = lost_;
  return sum;
}

HistoryPoint CallSampler::point_since(const Totals& before, const Totals& now) const {
  HistoryPoint point;
  point.at = now.at;
  const double seconds = std::chrono::duration<double>(now.at - before.at).count();
  if (seconds <= 0) {
    return point;
  }
  const auto rate = [seconds](std::uint64_t then, std::uint64_t today) {
    return static_cast<double>(today - then) / seconds;
  };
  point.calls = parts_.control.calls();
  point.packets_in = rate(before.packets_in, now.packets_in);
  point.packets_out = rate(before.packets_out, now.packets_out);
  point.octets_in = rate(before.octets_in, now.octets_in);
  point.octets_out = rate(before.octets_out, now.octets_out);
  point.drops = rate(before.drops, now.drops);
  point.commands = rate(before.commands, now.commands);
  if (now.expected != before.expected) {
    point.loss = static_cast<double>(now.lost - before.lost) /
                 static_cast<double>(now.expected - before.expected);
  }
  if (findings_.receiving != 0) {
    point.jitter_ms = milliseconds(findings_.jitter_sum) / static_cast<double>(findings_.receiving);
  }
  if (findings_.rated != 0) {
    point.mos = findings_.mos_sum / static_cast<double>(findings_.rated);
  }
  const auto cpu_ns = static_cast<double>((now.cpu - before.cpu).count());
  if (!parts_.workers.empty()) {
    point.cpu_cores = cpu_ns / (seconds * 1e9);
  }
  if (now.datagrams != before.datagrams) {
    point.cpu_ns_per_packet = cpu_ns / static_cast<double>(now.datagrams - before.datagrams);
  }
  return point;
}

void CallSampler::finish() {
  under_way_ = false;
  const Totals now = totals();
  counters_.finished_at.set(now.at);
  if (now.at - last_.at >= kRateTimeMin) {
    now_ = point_since(last_, now);
    last_ = now;
  }
  now_.calls = parts_.control.calls();
  if (history_.empty() || now.at - last_history_.at >= kHistoryInterval) {
    if (history_.size() == kHistoryPointsMax) {
      history_.erase(history_.begin());
    }
    history_.push_back(point_since(last_history_, now));
    last_history_ = now;
  }
  set_counters();
  parts_.board.publish(make_snapshot(now.at));
}

void CallSampler::set_counters() {
  counters_.packets_expected.set(expected_);
  counters_.packets_lost.set(lost_);
  for (std::size_t i = 0; i < kQualityClasses; ++i) {
    counters_.legs[i].set(findings_.qualities[i]);
  }
  const auto microseconds = [](io::Duration duration) {
    return static_cast<std::uint64_t>(duration.count() / 1000);
  };
  counters_.jitter_max_us.set(microseconds(findings_.jitter_max));
  counters_.jitter_mean_us.set(
      findings_.receiving == 0 ? 0 : microseconds(findings_.jitter_sum) / findings_.receiving);
}

std::shared_ptr<const GatewaySnapshot> CallSampler::make_snapshot(io::TimePoint now) {
  auto snapshot = std::make_shared<GatewaySnapshot>();
  const ControlCounters& control = parts_.control.counters();
  snapshot->facts = parts_.facts;
  snapshot->at = now;
  snapshot->started = started_;
  snapshot->draining = parts_.control.draining();
  if (parts_.states) {
    snapshot->states = parts_.states();
  }
  snapshot->endpoints_total = parts_.control.trunks().virtual_total() +
                              control.e1_trunks.size() * std::uint64_t{kE1EndpointsPerTrunk};
  snapshot->endpoints_used = parts_.control.calls();
  snapshot->connections = control.connections.value();
  snapshot->ports_total = control.ports_total.value();
  snapshot->ports_used = control.ports_used.value();
  for (const WorkerView& worker : parts_.workers) {
    snapshot->buffers += worker.buffers;
    snapshot->buffers_free += worker.buffers_free->value();
    for (std::size_t cause = 0; cause < kDropCauseCount; ++cause) {
      snapshot->drops[cause] += worker.media->dropped[cause].value();
    }
  }
  snapshot->qualities = findings_.qualities;
  snapshot->now = now_;
  snapshot->history = history_;
  if (findings_.keeps_calls) {
    snapshot->calls = std::move(findings_.calls);
  }
  findings_.calls = {};
  return snapshot;
}

}  // namespace mgw
