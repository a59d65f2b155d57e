#include "rtp/iuup_frame_number.h"

#include <algorithm>

namespace rtp {
namespace {

/// Frames of 30 s: a longer silence within a call is a new beginning.
constexpr int kGapMax = 1500;
/// How far back a late RTP packet may stand; less than half the numbers, or it would look early.
constexpr int kLateMax = 8;
/// The same for a source of which only 4 bits are known: the other steps are losses.
constexpr unsigned kLateIuupMax = 4;

/// Less than this between two frames is jitter; the shortest pause of DTX, from the first SID to
/// the next, is 60 ms.
constexpr io::Duration kPauseMin = std::chrono::milliseconds(50);

/// The nearest whole number of intervals.
int intervals_of(std::int64_t amount, std::int64_t interval) noexcept {
  const std::int64_t half = amount < 0 ? -interval / 2 : interval / 2;
  const std::int64_t limit = interval * (kGapMax + 1);
  return static_cast<int>((std::clamp(amount, -limit, limit) + half) / interval);
}

int signed_difference(std::uint16_t later, std::uint16_t earlier) noexcept {
  return static_cast<std::int16_t>(static_cast<std::uint16_t>(later - earlier));
}

}  // namespace

std::uint8_t IuupFrameNumber::next(const IuupPosition& position, IuupNumbering numbering,
                                   io::TimePoint now) noexcept {
  int advance = 1;
  if (!started_) {
    started_ = true;
    last_number_ = static_cast<std::uint8_t>(position.sequence % kIuupFrameNumbers);
    advance = 0;
  } else if (!source_changed_) {
    advance = step(position, numbering, now);
  }
  const auto number = static_cast<std::uint8_t>(
      (last_number_ + kIuupFrameNumbers * (kLateMax + 1U) + static_cast<unsigned>(advance)) %
      kIuupFrameNumbers);
  if (advance >= 0) {
    last_number_ = number;
    last_ = position;
    last_time_ = now;
  }
  source_changed_ = false;
  return number;
}

int IuupFrameNumber::step(const IuupPosition& position, IuupNumbering numbering,
                          io::TimePoint now) const noexcept {
  if (position.kind != last_.kind) {
    return 1;
  }
  if (position.kind == IuupPosition::Kind::iuup) {
    // Also by time: the source's numbers count what ours count, for it was told the same intervals.
    const unsigned steps =
        (position.sequence + kIuupFrameNumbers - last_.sequence % kIuupFrameNumbers) %
        kIuupFrameNumbers;
    return steps < kIuupFrameNumbers - kLateIuupMax
               ? static_cast<int>(steps)
               : static_cast<int>(steps) - static_cast<int>(kIuupFrameNumbers);
  }
  int steps = 1;
  if (position.kind == IuupPosition::Kind::rtp) {
    steps = signed_difference(position.sequence, last_.sequence);
    if (numbering == IuupNumbering::by_time) {
      const auto ticks = static_cast<std::int32_t>(position.timestamp - last_.timestamp);
      const int by_time = intervals_of(ticks, std::max<std::uint16_t>(position.interval_ticks, 1));
      // A timestamp that stands still says nothing.
      steps = by_time == 0 ? steps : by_time;
    }
  } else if (numbering == IuupNumbering::by_time && now - last_time_ >= kPauseMin) {
    steps = intervals_of((now - last_time_).count(), kIuupInterval.count());
  }
  const bool plausible = steps >= -kLateMax && steps <= kGapMax;
  return plausible ? steps : 1;
}

}  // namespace rtp
