#include "mgw/kernel_flows.h"

#include "io/assert.h"
#include "mgw/media_path.h"

#include <algorithm>
#include <utility>

namespace mgw {

namespace {

using namespace std::chrono_literals;

/// So long nothing may have come of a stream that is given to the kernel: its last packet has left
/// the machine by then. Packets of voice are 10 ms apart and more.
constexpr io::Duration kQuiet = 1ms;
/// The counters of the flows are read so often, those of a part of all flows.
constexpr io::Duration kLook = 50ms;
constexpr std::size_t kLooksPerRound = 10;
/// A route that has changed is noticed within this.
constexpr io::Duration kWayValid = 3s;
/// After an interruption a stream stays with the sockets for a while: the longer the less time it
/// had with the kernel, so that what never suits the kernel costs nothing.
constexpr io::Duration kPauseMin = 20ms;
constexpr io::Duration kPauseMax = 10s;
constexpr int kWorthwhilePauses = 10;
/// When a refusal is looked at again that a command does not lift.
constexpr io::Duration kRetry = 1s;

/// Whether the refusal lasts until a command changes the connection or its partner.
bool lasts(KernelRefusal refusal) noexcept {
  switch (refusal) {
    case KernelRefusal::leg_kind:
    case KernelRefusal::tapped:
    case KernelRefusal::mode:
    case KernelRefusal::routes:
    case KernelRefusal::mixed_families:
      return true;
    case KernelRefusal::address:  // the partner may yet be learned
    case KernelRefusal::payload_type:
    case KernelRefusal::out_of_step:
    case KernelRefusal::no_way:
    case KernelRefusal::full:
      break;
  }
  return false;
}

rtp::StreamProgress progress_of(const io::KernelFlowState& seen,
                                const io::KernelFlowState& state) noexcept {
  rtp::StreamProgress progress;
  progress.packets = state.packets - seen.packets;
  progress.octets = state.payload_octets - seen.payload_octets;
  progress.steps = state.highest - seen.highest;
  progress.timestamp_errors = state.timestamp_errors - seen.timestamp_errors;
  progress.timestamp = state.timestamp;
  progress.arrival = io::TimePoint(io::Duration(static_cast<std::int64_t>(state.arrival_ns)));
  progress.highest = state.highest;
  progress.window_low = state.window_low;
  progress.window_high = state.window_high;
  progress.transit = state.transit;
  progress.jitter_scaled = state.jitter_scaled;
  progress.transit_known = state.transit_known != 0;
  return progress;
}

/// What has left of the source's stream, as its receiver sees it.
rtp::SentPacket sent_run(const MediaConnection& source, const rtp::StreamProgress& progress,
                         std::uint32_t clock_rate_hz) noexcept {
  const rtp::StreamMapping mapping = source.timeline.mapping();
  const auto newest = static_cast<std::uint16_t>(progress.highest & 0xffff);
  return {mapping.output_ssrc,
          progress.timestamp + mapping.timestamp_offset,
          static_cast<std::uint16_t>(newest + mapping.sequence_offset),
          static_cast<std::size_t>(progress.octets),
          clock_rate_hz,
          static_cast<std::uint32_t>(progress.packets)};
}

}  // namespace

KernelFlows::KernelFlows(MediaPath& path, std::unique_ptr<io::KernelFlowTable> table,
                         KernelFlowMarks marks)
    : path_(path), table_(std::move(table)), marks_(marks), flows_(table_->size()) {
  free_.reserve(flows_.size());
  active_.reserve(flows_.size());
  for (std::uint32_t number = table_->size(); number > 0; --number) {
    free_.push_back(number - 1);
  }
}

KernelFlows::~KernelFlows() = default;

void KernelFlows::reserve(std::size_t slots) {
  quiet_.reserve(slots);
  first_to_.resize(std::max(slots, first_to_.size()), kNone);
}

void KernelFlows::on_forwarded(std::uint32_t slot, MediaConnection& connection,
                               std::uint8_t payload_type, io::TimePoint now) noexcept {
  KernelFlowPlace& place = connection.kernel;
  place.payload_type = payload_type;
  place.forwarded_at = now;
  place.quiet_since = io::TimePoint();
  if (place.quiet || place.not_before > now || quiet_.size() == quiet_.capacity()) {
    return;
  }
  place.quiet = true;
  quiet_.push_back(slot);
  next_due_ = std::min(next_due_, now);
}

void KernelFlows::run(io::TimePoint now) noexcept {
  if (next_due_ > now) {
    return;
  }
  std::size_t kept = 0;
  io::TimePoint due = io::kNever;
  for (const std::uint32_t slot : quiet_) {
    MediaConnection* const connection = path_.find(slot);
    if (connection == nullptr || !connection->kernel.quiet) {
      continue;  // removed meanwhile
    }
    KernelFlowPlace& place = connection->kernel;
    if (place.quiet_since == io::TimePoint() && place.forwarded_at < now) {
      place.quiet_since = now;  // a later pass: the backend has sent what the one before left
    }
    const io::TimePoint ready = std::max(place.quiet_since, place.forwarded_at) + kQuiet;
    if (place.quiet_since == io::TimePoint() || ready > now) {
      due = std::min(due, ready);
      quiet_[kept++] = slot;
      continue;
    }
    place.quiet = false;
    activate(slot, *connection, now);
  }
  quiet_.resize(kept);
  if (look_due_ <= now) {
    look(now);
  }
  next_due_ = std::min(due, look_due_);
}

void KernelFlows::refuse(MediaConnection& connection, KernelRefusal refusal,
                         io::TimePoint now) noexcept {
  path_.counters().kernel.refusals[static_cast<std::size_t>(refusal)].add();
  connection.kernel.not_before = lasts(refusal) ? io::kNever : now + kRetry;
}

bool KernelFlows::take_flow(std::uint32_t slot, MediaConnection& connection) noexcept {
  if (connection.kernel.flow != kNone) {
    return true;
  }
  if (free_.empty()) {
    return false;
  }
  const std::uint32_t number = free_.back();
  if (!table_->bind(connection.local_rtp, number)) {
    return false;
  }
  free_.pop_back();
  flows_[number] = Flow();
  flows_[number].source = slot;
  flows_[number].local = connection.local_rtp;
  connection.kernel.flow = number;
  return true;
}

void KernelFlows::activate(std::uint32_t slot, MediaConnection& connection,
                           io::TimePoint now) noexcept {
  const auto& routes = connection.entry.routes;
  const std::uint32_t target = routes.empty() ? kNone : routes.front().slot;
  auto plan = plan_kernel_flow(connection, path_.find(target), marks_);
  if (!plan) {
    refuse(connection, plan.error(), now);
    return;
  }
  const auto way = table_->find_way(plan->from, plan->target);
  if (!way) {
    refuse(connection, KernelRefusal::no_way, now);
    return;
  }
  if (!take_flow(slot, connection)) {
    refuse(connection, KernelRefusal::full, now);
    return;
  }
  const std::uint32_t number = connection.kernel.flow;
  Flow& flow = flows_[number];
  plan->entry.device = way->device;
  std::copy(std::begin(way->from_mac), std::end(way->from_mac), plan->entry.from_mac);
  std::copy(std::begin(way->target_mac), std::end(way->target_mac), plan->entry.target_mac);
  flow.target = target;
  flow.next_to_target = std::exchange(first_to_[target], number);
  flow.from = plan->from;
  flow.remote = plan->target;
  flow.way = *way;
  flow.way_checked = now;
  flow.activated = now;
  flow.seen = plan->seed;
  flow.position = static_cast<std::uint32_t>(active_.size());
  active_.push_back(number);
  connection.kernel.active = true;
  table_->activate(number, plan->entry, plan->seed);
  KernelPathCounters& counters = path_.counters().kernel;
  counters.activations.add();
  counters.flows.set(active_.size());
  look_due_ = std::min(look_due_, now + kLook);
}

void KernelFlows::account(Flow& flow, const io::KernelFlowState& state) noexcept {
  const rtp::StreamProgress progress = progress_of(flow.seen, state);
  if (progress.packets == 0) {
    return;
  }
  MediaConnection* const source = path_.find(flow.source);
  MediaConnection* const target = path_.find(flow.target);
  MGW_ASSERT(source != nullptr);
  MGW_ASSERT(target != nullptr);
  const Traffic traffic{progress.packets, state.octets - flow.seen.octets};
  flow.seen = state;
  source->statistics.advance(progress);
  source->timeline.advance(progress);
  source->pace.set_full_at(io::TimePoint(io::Duration(state.pace_ns)));
  source->live.rtp_received.add(traffic);
  source->live.timestamp_errors_in.set(source->statistics.timestamp_errors());
  source->live.timestamp_errors_out.set(source->timeline.timestamp_errors());
  source->live.last_activity.set(std::max(source->live.last_activity.value(), progress.arrival));
  target->live.rtp_sent.add(traffic);
  if (source->rtcp) {
    source->rtcp->on_rtp_received();
  }
  if (target->rtcp) {
    target->rtcp->on_rtp_run_sent(sent_run(*source, progress, target->entry.timing.clock_rate_hz),
                                  target->statistics, progress.arrival);
  }
  MediaCounters& counters = path_.counters();
  counters.received.add(traffic.packets);
  counters.rtp_packets_received.add(traffic.packets);
  counters.rtp_octets_received.add(traffic.octets);
  counters.rtp_packets_sent.add(traffic.packets);
  counters.rtp_octets_sent.add(traffic.octets);
  counters.sent.add(traffic.packets);
  counters.kernel.packets.add(traffic.packets);
  counters.kernel.octets.add(traffic.octets);
}

void KernelFlows::end(std::uint32_t number) noexcept {
  Flow& flow = flows_[number];
  account(flow, table_->stop(number));
  std::uint32_t* link = &first_to_[flow.target];
  while (*link != number) {
    link = &flows_[*link].next_to_target;
  }
  *link = flow.next_to_target;
  flow.target = kNone;
  const std::uint32_t last = active_.back();
  active_[flow.position] = last;
  flows_[last].position = flow.position;
  active_.pop_back();
  path_.find(flow.source)->kernel.active = false;
  path_.counters().kernel.flows.set(active_.size());
}

void KernelFlows::interrupt(MediaConnection& connection, io::TimePoint now) noexcept {
  const std::uint32_t number = connection.kernel.flow;
  Flow& flow = flows_[number];
  end(number);
  path_.counters().kernel.interruptions.add();
  const bool was_worthwhile = now - flow.activated >= kWorthwhilePauses * flow.pause;
  flow.pause = std::clamp(was_worthwhile ? flow.pause / 2 : 2 * flow.pause, io::Duration(kPauseMin),
                          io::Duration(kPauseMax));
  connection.kernel.not_before = now + flow.pause;
}

void KernelFlows::update_flow(std::uint32_t number) noexcept {
  if (const auto state = table_->read(number)) {
    account(flows_[number], *state);
  }
}

void KernelFlows::update(std::uint32_t slot) noexcept {
  if (const MediaConnection* connection = path_.find(slot);
      connection != nullptr && connection->kernel.active) {
    update_flow(connection->kernel.flow);
  }
  if (slot < first_to_.size()) {
    for (std::uint32_t number = first_to_[slot]; number != kNone;
         number = flows_[number].next_to_target) {
      update_flow(number);
    }
  }
}

void KernelFlows::look(io::TimePoint now) noexcept {
  const std::size_t share = (active_.size() + kLooksPerRound - 1) / kLooksPerRound;
  for (std::size_t i = 0; i < share && !active_.empty(); ++i) {
    next_look_ = next_look_ < active_.size() ? next_look_ : 0;
    const std::uint32_t number = active_[next_look_++];
    update_flow(number);
    check_way(number, now);
  }
  look_due_ = active_.empty() ? io::kNever : now + kLook;
}

void KernelFlows::check_way(std::uint32_t number, io::TimePoint now) noexcept {
  Flow& flow = flows_[number];
  if (flow.way_checked + kWayValid > now) {
    return;
  }
  flow.way_checked = now;
  if (table_->find_way(flow.from, flow.remote) != flow.way) {
    end(number);
  }
}

void KernelFlows::on_change(std::uint32_t slot) noexcept {
  MediaConnection* const connection = path_.find(slot);
  if (connection != nullptr) {
    if (connection->kernel.active) {
      end(connection->kernel.flow);
    }
    connection->kernel.not_before = io::TimePoint();
  }
  while (slot < first_to_.size() && first_to_[slot] != kNone) {
    const std::uint32_t number = first_to_[slot];
    const std::uint32_t source = flows_[number].source;
    end(number);
    path_.find(source)->kernel.not_before = io::TimePoint();
  }
}

void KernelFlows::on_release(std::uint32_t slot) noexcept {
  on_change(slot);
  MediaConnection* const connection = path_.find(slot);
  if (connection == nullptr || connection->kernel.flow == kNone) {
    return;
  }
  const std::uint32_t number = std::exchange(connection->kernel.flow, kNone);
  table_->unbind(flows_[number].local);
  flows_[number] = Flow();
  free_.push_back(number);
}

}  // namespace mgw
