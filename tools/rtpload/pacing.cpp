#include "tools/rtpload/pacing.h"

#include <algorithm>
#include <array>
#include <random>
#include <utility>

namespace rtpload {
namespace {

constexpr std::uint32_t kBurstStreams = 64;

io::Duration phase_of(std::uint32_t stream, std::uint32_t streams, io::Duration period,
                      PhasePlan plan, std::mt19937& random) {
  switch (plan) {
    case PhasePlan::random:
      return io::Duration(static_cast<std::int64_t>(random()) * period.count() /
                          (std::int64_t{1} << 32));
    case PhasePlan::bursts: {
      const std::uint32_t bursts = (streams + kBurstStreams - 1) / kBurstStreams;
      return period * (stream / kBurstStreams) / bursts;
    }
    case PhasePlan::even:
      break;
  }
  return period * stream / streams;
}

}  // namespace

std::optional<PhasePlan> find_phase_plan(std::string_view name) noexcept {
  constexpr std::array<std::pair<std::string_view, PhasePlan>, 3> kPlans{
      {{"even", PhasePlan::even}, {"random", PhasePlan::random}, {"bursts", PhasePlan::bursts}}};
  for (const auto& [plan_name, plan] : kPlans) {
    if (plan_name == name) {
      return plan;
    }
  }
  return std::nullopt;
}

PacingSchedule::PacingSchedule(std::uint32_t streams, std::uint32_t rounds, io::Duration period,
                               PhasePlan plan, std::uint32_t seed)
    : period_(period), rounds_(rounds), slot_of_(streams) {
  std::mt19937 random(seed);
  slots_.reserve(streams);
  for (std::uint32_t stream = 0; stream < streams; ++stream) {
    slots_.push_back({phase_of(stream, streams, period, plan, random), stream});
  }
  std::stable_sort(slots_.begin(), slots_.end(),
                   [](const Slot& left, const Slot& right) { return left.phase < right.phase; });
  for (std::uint32_t slot = 0; slot < streams; ++slot) {
    slot_of_[slots_[slot].stream] = slot;
  }
}

io::TimePoint PacingSchedule::next_due() const noexcept {
  return finished() ? io::kNever : start_ + period_ * round_ + slots_[next_slot_].phase;
}

bool PacingSchedule::take_due(io::TimePoint now, DuePacket& packet) noexcept {
  const io::TimePoint due = next_due();
  if (due > now || finished()) {
    return false;
  }
  packet = {slots_[next_slot_].stream, round_, due};
  if (++next_slot_ == slots_.size()) {
    next_slot_ = 0;
    ++round_;
  }
  return true;
}

std::uint32_t PacingSchedule::taken(std::uint32_t stream) const noexcept {
  return round_ + (slot_of_[stream] < next_slot_ ? 1 : 0);
}

}  // namespace rtpload
