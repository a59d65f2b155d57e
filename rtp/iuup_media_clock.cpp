#include "rtp/iuup_media_clock.h"

#include <algorithm>
#include <cstdlib>

namespace rtp {
namespace {

/// Sequence numbers ahead or behind by more are a stream that began anew (RFC 3550 appendix A.1).
constexpr int kDropoutMax = 3000;
constexpr int kMisorderMax = 100;
/// Frames that a source may seem late by the arrival clock before that clock is believed.
constexpr int kLateStepsMax = 3;
/// The same where silence was announced and the numbers can't tell a pause: the shortest, from the
/// first silence descriptor to the next, is 3 frames.
constexpr int kLateToldMax = 1;
/// A round of frame numbers, and half of it.
constexpr int kRound = static_cast<int>(kIuupFrameNumbers);
constexpr int kHalfRound = kRound / 2;
/// Frames without any packet, 1 s, that are a pause also where no silence was announced.
constexpr int kStallStepsMax = 50;
/// Frames of an hour: no pause is longer than what a timestamp of 32 bits can tell.
constexpr std::int64_t kElapsedStepsMax = 180'000;

int distance_between(std::uint16_t later, std::uint16_t earlier) noexcept {
  return static_cast<std::int16_t>(static_cast<std::uint16_t>(later - earlier));
}

int intervals_between(io::TimePoint later, io::TimePoint earlier) noexcept {
  return static_cast<int>(std::min<std::int64_t>(
      (later - earlier + kIuupInterval / 2) / kIuupInterval, kElapsedStepsMax));
}

}  // namespace

void IuupMediaClock::skip(std::uint32_t ssrc, std::uint16_t sequence) noexcept {
  const bool again = has_skip_ && distance_between(sequence, skip_sequence_) <= 0;
  if (!started_ || ssrc != last_.ssrc || again || distance_between(sequence, last_.sequence) <= 0) {
    return;
  }
  ++pending_skips_;
  skip_sequence_ = sequence;
  has_skip_ = true;
}

IuupMediaNumbers IuupMediaClock::next(const IuupArrival& arrival, IuupNumbering numbering,
                                      std::uint32_t ticks, io::TimePoint now) noexcept {
  if (!started_ || arrival.ssrc != last_.ssrc) {
    *this = IuupMediaClock{};
    started_ = true;
    last_ = arrival;
    last_at_ = now;
    return {arrival.sequence, arrival.timestamp};
  }
  int distance = distance_between(arrival.sequence, last_.sequence);
  const bool anew = distance > kDropoutMax || distance < -kMisorderMax;
  if (distance <= 0 && !anew) {
    return late(arrival, distance, numbering, ticks);
  }
  int steps = std::max(intervals_between(now, last_at_), 1);
  if (!anew) {
    if (has_skip_ && distance_between(arrival.sequence, skip_sequence_) > 0 &&
        distance > pending_skips_) {
      distance -= pending_skips_;
      skipped_ = static_cast<std::uint16_t>(skipped_ + pending_skips_);
      pending_skips_ = 0;
    }
    steps = steps_to(arrival, distance, numbering, now);
  }
  if (steps != distance) {
    pause_steps_ = steps - distance;
    pause_sequence_ = arrival.sequence;
  }
  const std::uint32_t timestamp = last_.timestamp + static_cast<std::uint32_t>(steps) * ticks;
  last_ = arrival;
  last_.timestamp = timestamp;
  last_at_ = now;
  return {static_cast<std::uint16_t>(arrival.sequence - skipped_), timestamp};
}

IuupMediaNumbers IuupMediaClock::late(const IuupArrival& arrival, int distance,
                                      IuupNumbering numbering, std::uint32_t ticks) const noexcept {
  int steps = distance;
  if (pause_steps_ != 0 && distance_between(arrival.sequence, pause_sequence_) < 0) {
    // Before the pause, or lost in it and after its true end: the frame number knows.
    const int back = (last_.frame_number - arrival.frame_number + kRound) % kRound;
    const bool after = numbering == IuupNumbering::by_time && back == -distance % kRound;
    steps = after ? distance : distance - pause_steps_;
  }
  const bool before_skip =
      has_skip_ && pending_skips_ == 0 && distance_between(arrival.sequence, skip_sequence_) < 0;
  const int skipped = before_skip ? skipped_ - 1 : skipped_;
  return {static_cast<std::uint16_t>(arrival.sequence - skipped),
          last_.timestamp + static_cast<std::uint32_t>(steps) * ticks};
}

int IuupMediaClock::steps_to(const IuupArrival& arrival, int distance, IuupNumbering numbering,
                             io::TimePoint now) const noexcept {
  const int elapsed = intervals_between(now, last_at_);
  // Within speech the network may stall: what then comes late is no pause.
  const bool may_be_pause = last_.silence || distance > 1 || elapsed > kStallStepsMax;
  const int numbered = (arrival.frame_number - last_.frame_number + kRound) % kRound;
  int tolerance = last_.silence ? kLateToldMax : kLateStepsMax;
  if (numbering == IuupNumbering::by_time) {
    tolerance = kLateStepsMax;
    const bool back = numbered > kHalfRound && elapsed < kLateStepsMax;
    const int rounds =
        may_be_pause ? (std::max(elapsed, distance) - numbered + kHalfRound) / kRound : 0;
    const int steps = numbered + std::max(rounds, 0) * kRound;
    const bool by_clock = std::abs(steps - elapsed) <= kLateStepsMax;
    // Numbers that stand still, go back or count PDUs don't tell the time.
    const bool tells_time =
        steps > 0 && !back && (by_clock || (numbered != 0 && numbered != distance % kRound));
    if (tells_time) {
      return steps;
    }
  }
  return may_be_pause && elapsed > distance + tolerance ? elapsed : distance;
}

}  // namespace rtp
