#include "rtp/trau_downlink.h"

#include "rtp/bit_string.h"
#include "rtp/trau_silence.h"

#include <algorithm>
#include <cstring>

namespace rtp {
namespace {

// Silence of G.711: the value nearest to zero.
constexpr std::byte kSilencePcma{0xd5};
constexpr std::byte kSilencePcmu{0xff};

}  // namespace

TrauDownlink::TrauDownlink(TrauMapping mapping, PlayoutOptions options) noexcept
    : mapping_(mapping), window_(options, kTrauFrameTicks) {}

bool TrauDownlink::is_pcm() const noexcept {
  return mapping_.codec == TrauCodec::pcma || mapping_.codec == TrauCodec::pcmu;
}

TrauDownlink::Place& TrauDownlink::place(std::size_t index) noexcept {
  return places_[(first_ + index) % places_.size()];
}

std::size_t TrauDownlink::buffered_frames() const noexcept {
  return static_cast<std::size_t>(std::count_if(places_.begin(), places_.end(),
                                                [](const Place& place) { return place.filled; }));
}

void TrauDownlink::drop_places(std::size_t count) noexcept {
  for (std::size_t index = 0; index < std::min(count, window_.places()); ++index) {
    counters_.overflowed += place(index).filled ? 1U : 0U;
    place(index).filled = false;
  }
  first_ = (first_ + count) % places_.size();
}

/// False if the packet's turn is over.
bool TrauDownlink::make_room(const Placement& placement) noexcept {
  switch (placement.verdict) {
    case PlayoutVerdict::late:
      return false;
    case PlayoutVerdict::advance:
      drop_places(placement.drop);
      break;
    case PlayoutVerdict::restart:
      drop_places(window_.places());
      break;
    case PlayoutVerdict::place:
      break;
  }
  return true;
}

void TrauDownlink::put(const RtpHeader& header, std::span<const std::byte> payload) noexcept {
  ++counters_.packets;
  std::array<TrauFrame, kPlayoutFramesMax> frames;
  std::size_t frame_count = 0;
  if (!is_pcm()) {
    const auto read = rtp_to_trau(payload, mapping_, frames);
    if (!read) {
      ++counters_.errors[static_cast<std::size_t>(read.error())];
      return;
    }
    frame_count = *read;
  } else if (payload.empty()) {
    ++counters_.errors[static_cast<std::size_t>(TrauError::wrong_length)];
    return;
  }
  const bool empty = buffered_frames() == 0;
  const Placement placement = window_.place(header.ssrc, header.sequence, header.timestamp, empty);
  if (!make_room(placement)) {
    ++counters_.late;
    return;
  }
  finish(is_pcm() ? put_samples(payload, placement.offset_ticks)
                  : put_frames(std::span(frames).first(frame_count), placement.offset_ticks));
}

void TrauDownlink::finish(bool stored) noexcept {
  ++(stored ? counters_.accepted : counters_.duplicate);
}

/// Frames behind the last place are given up. False if all the others were there.
bool TrauDownlink::put_frames(std::span<const TrauFrame> frames, std::uint32_t offset) noexcept {
  // A sender that strays from the grid of frames is taken to the place before.
  std::size_t index = offset / kTrauFrameTicks;
  bool stored = false;
  for (const TrauFrame& frame : frames) {
    if (index >= window_.places()) {
      ++counters_.overflowed;
      stored = true;
    } else if (!place(index).filled) {
      place(index).frame = frame;
      place(index).filled = true;
      stored = true;
    }
    ++index;
  }
  return stored;
}

/// Packets of PCM may have any length: their samples go where their time is. A place that is only
/// partly covered is silent for the rest. Always true: what came twice is the same twice.
bool TrauDownlink::put_samples(std::span<const std::byte> samples, std::uint32_t offset) noexcept {
  std::size_t at = offset;
  while (!samples.empty() && at / kTrauFrameTicks < window_.places()) {
    Place& target = place(at / kTrauFrameTicks);
    if (!target.filled) {
      target.samples.fill(mapping_.codec == TrauCodec::pcma ? kSilencePcma : kSilencePcmu);
      target.filled = true;
    }
    const std::size_t begin = at % kTrauFrameTicks;
    const std::size_t count = std::min(samples.size(), kTrauFrameTicks - begin);
    std::memcpy(target.samples.data() + begin, samples.data(), count);
    samples = samples.subspan(count);
    at += count;
  }
  counters_.overflowed += samples.empty() ? 0U : 1U;
  return true;
}

void TrauDownlink::align_time(int steps) noexcept {
  const auto steps_max = static_cast<int>(time_alignment_steps_max(mapping_.framing));
  if (alignment_pause_ == 0 && !is_pcm() && steps_max != 0) {
    alignment_steps_ = std::clamp(steps, -1, steps_max);
  }
}

/// AMR says its mode and its mode request in turns, but a new mode at once: its bits can't be read
/// otherwise (TS 48.060).
void TrauDownlink::choose_mode_field(TrauFrame& frame) noexcept {
  const bool is_speech = frame.amr_class != AmrFrameClass::no_speech;
  const bool is_known = !is_speech || frame.amr_mode == said_mode_;
  const bool has_request = frame.amr_mode_request != kNoModeRequest;
  frame.amr_says_request = has_request && is_known && (said_mode_last_ || !is_speech);
  said_mode_last_ = !frame.amr_says_request;
  if (is_speech && said_mode_last_) {
    said_mode_ = frame.amr_mode;
  }
}

void TrauDownlink::take_place(Place& taken) noexcept {
  ++(taken.filled ? counters_.frames : counters_.fillers);
  if (is_pcm()) {
    if (!taken.filled) {
      taken.samples.fill(mapping_.codec == TrauCodec::pcma ? kSilencePcma : kSilencePcmu);
    }
    current_ = taken.samples;
    current_bits_ = kTrauPayloadBytesMax * 8;
  } else {
    TrauFrame frame = taken.filled ? taken.frame : make_filler(trau_frame_type_of(mapping_.codec));
    if (frame.type == TrauFrameType::adaptive_multi_rate) {
      choose_mode_field(frame);
    }
    current_bits_ = trau_frame_bits(mapping_.framing);
    if (!build_trau_frame(frame, mapping_.framing, current_)) {
      current_.fill(kIdleOctet);
    }
  }
  taken.filled = false;
}

void TrauDownlink::begin_frame() noexcept {
  take_place(place(0));
  first_ = (first_ + 1) % places_.size();
  window_.advance();
  sent_bits_ = 0;
  if (alignment_pause_ != 0) {
    --alignment_pause_;
  }
  if (alignment_steps_ == 0) {
    return;
  }
  const std::size_t step = time_alignment_step_bits(mapping_.framing);
  if (alignment_steps_ < 0) {
    current_bits_ -= step;
  } else {
    current_bits_ += static_cast<std::size_t>(alignment_steps_) * step;
  }
  alignment_steps_ = 0;
  alignment_pause_ = kAlignmentPauseFrames;
  ++counters_.alignments;
}

/// Behind the frame there are the ones of a lengthened one.
void TrauDownlink::copy_current(std::span<std::byte> out, std::size_t at,
                                std::size_t count) const noexcept {
  const std::size_t built = is_pcm() ? kTrauPayloadBytesMax * 8 : trau_frame_bits(mapping_.framing);
  const std::size_t coded = sent_bits_ < built ? std::min(count, built - sent_bits_) : 0;
  if (at % 8 == 0 && sent_bits_ % 8 == 0 && coded % 8 == 0) {
    std::memcpy(out.data() + at / 8, current_.data() + sent_bits_ / 8, coded / 8);
  } else {
    copy_bits(current_, sent_bits_, out, at, coded);
  }
  for (std::size_t bit = coded; bit < count; ++bit) {
    set_bit(out, at + bit, true);
  }
}

void TrauDownlink::pull(std::span<std::byte> out) noexcept {
  const std::size_t wanted = out.size() * 8;
  for (std::size_t at = 0; at < wanted;) {
    if (sent_bits_ == current_bits_) {
      begin_frame();
    }
    const std::size_t count = std::min(wanted - at, current_bits_ - sent_bits_);
    copy_current(out, at, count);
    at += count;
    sent_bits_ += count;
  }
}

}  // namespace rtp
