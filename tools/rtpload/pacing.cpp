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
    : period_(period), rounds_(rounds), taken_(streams, 0) {
  std::mt19937 random(seed);
  slots_.reserve(streams);
  for (std::uint32_t stream = 0; stream < streams; ++stream) {
    slots_.push_back({phase_of(stream, streams, period, plan, random), stream});
  }
  std::stable_sort(slots_.begin(), slots_.end(),
                   [](const Slot& left, const Slot& right) { return left.phase < right.phase; });
}

io::TimePoint PacingSchedule::next_due() const noexcept {
  return finished() ? io::kNever : start_ + period_ * round_ + slots_[next_slot_].phase;
}

bool PacingSchedule::take_due(io::TimePoint now, DuePacket& packet) noexcept {
  skip_missed(now);
  const io::TimePoint due = next_due();
  if (due > now || finished()) {
    return false;
  }
  const std::uint32_t stream = slots_[next_slot_].stream;
  packet = {stream, taken_[stream]++, due};
  next_slot();
  return true;
}

void PacingSchedule::skip_missed(io::TimePoint now) noexcept {
  if (!limit_ || finished() || next_due() >= now - *limit_) {
    return;
  }
  // Whole rounds at once: a process may have been stopped for hours.
  const auto whole = static_cast<std::uint64_t>((now - next_due()) / period_);
  const auto rounds = static_cast<std::uint32_t>(std::min<std::uint64_t>(whole, rounds_ - round_));
  missed_ += std::uint64_t{rounds} * slots_.size();
  round_ += rounds;
  while (!finished() && next_due() < now) {
    ++missed_;
    next_slot();
  }
}

void PacingSchedule::next_slot() noexcept {
  if (++next_slot_ == slots_.size()) {
    next_slot_ = 0;
    ++round_;
  }
}

void WakePlan::on_woken(io::TimePoint now, io::TimePoint planned, io::TimePoint woke) noexcept {
  const io::Duration late = std::max(io::Duration{}, woke - planned);
  if (is_probe(now) && late <= kCoarse) {
    early_ = {};
  }
  last_woke_ = woke;
  late_by_[count_ % kSleeps] = late;
  if (++count_ % kSleeps != 0) {
    return;
  }
  // The middle one says what the timers are like, the latest how early a sleep has to end.
  std::sort(late_by_.begin(), late_by_.end());
  early_ = {};
  if (late_by_[kSleeps / 2] > kCoarse) {
    early_ = std::min(late_by_[kSleeps - 1], kAwakeMax);
  }
}

}  // namespace rtpload
