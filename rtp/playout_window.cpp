#include "rtp/playout_window.h"

#include "rtp/sequence.h"

#include <algorithm>

namespace rtp {
namespace {

// Timestamps that stray further than this have begun anew: 50 places, one second of speech.
constexpr std::uint32_t kJumpFrames = 50;
// An older number than this is a new sequence, not an old packet (MAX_MISORDER of RFC 3550
// appendix A.1).
constexpr int kMisorderMax = 100;

}  // namespace

PlayoutWindow::PlayoutWindow(PlayoutOptions options, std::uint32_t frame_ticks) noexcept
    : frame_ticks_(std::max(frame_ticks, 1U)),
      target_frames_(0),
      frames_max_(std::clamp(options.frames_max, std::uint8_t{2}, kPlayoutFramesMax)) {
  target_frames_ = std::clamp(options.target_frames, std::uint8_t{1},
                              static_cast<std::uint8_t>(frames_max_ - 1));
}

Placement PlayoutWindow::restart(std::uint32_t ssrc, std::uint32_t timestamp) noexcept {
  started_ = true;
  ssrc_ = ssrc;
  const std::uint32_t offset = target_frames_ * frame_ticks_;
  next_timestamp_ = timestamp - offset;
  return {PlayoutVerdict::restart, 0, offset};
}

Placement PlayoutWindow::place(std::uint32_t ssrc, std::uint16_t sequence, std::uint32_t timestamp,
                               bool empty) noexcept {
  if (!started_ || ssrc != ssrc_) {
    newest_sequence_ = sequence;
    return restart(ssrc, timestamp);
  }
  const int distance = sequence_distance(newest_sequence_, sequence);
  const bool is_old = distance <= 0 && distance > -kMisorderMax;
  if (!is_old) {
    newest_sequence_ = sequence;
  }
  const auto offset = static_cast<std::int32_t>(timestamp - next_timestamp_);
  const auto jump = static_cast<std::int32_t>(kJumpFrames * frame_ticks_);
  if (is_old && (offset < 0 || offset > jump)) {
    return {};
  }
  const bool ran_dry = empty && offset < 0;
  if (!is_old && (ran_dry || offset < -jump || offset > jump)) {
    return restart(ssrc, timestamp);
  }
  if (offset < 0) {
    return {};
  }
  const auto ahead = static_cast<std::uint32_t>(offset);
  if (ahead < frames_max_ * frame_ticks_) {
    return {PlayoutVerdict::place, 0, ahead};
  }
  const std::uint32_t drop = ahead / frame_ticks_ - target_frames_;
  next_timestamp_ += drop * frame_ticks_;
  return {PlayoutVerdict::advance, drop, ahead - drop * frame_ticks_};
}

}  // namespace rtp
