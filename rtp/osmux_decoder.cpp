#include "rtp/osmux_decoder.h"

#include <algorithm>

namespace rtp {
namespace {

// What each frame works off of surplus delay: far less than a listener or a jitter buffer notices.
constexpr io::Duration kCatchUpStep = std::chrono::microseconds(250);
// Delay that is kept, so that the next round of jitter does not cause a gap at once.
constexpr io::Duration kHoldMargin = std::chrono::milliseconds(5);
// A pass that comes so long after its time is late: what it reads may have waited for it.
constexpr io::Duration kLatePass = std::chrono::milliseconds(1);
// A chunk that comes so long after its time comes after a pause: networks seldom stray as far.
constexpr io::Duration kPauseMin = std::chrono::milliseconds(40);
// Of how many batches the usual hold is made.
constexpr int kUsualHoldBatches = 16;
// Batches whose shortest hold counts: 4 s with four frames each.
constexpr std::uint32_t kHoldSamples = 50;
// A chunk that is at most so many numbers older than the newest one is late; a peer that counts
// anew is further away, or the chunk after this many refused in a row tells.
constexpr int kLateChunksMax = 8;
constexpr std::uint8_t kLateRunMax = 2;
// After so long without any chunk a number says nothing about age.
constexpr io::Duration kSequenceLifetime = std::chrono::seconds(1);

}  // namespace

OsmuxPlayout::OsmuxPlayout(const OsmuxPlayoutOptions& options) noexcept
    : options_(options), frames_{} {}

void OsmuxPlayout::on_chunk(const OsmuxChunk& chunk, io::TimePoint now) noexcept {
  if (chunk.header.kind != OsmuxKind::voice || !accept_sequence(chunk.header.sequence, now)) {
    return;
  }
  const auto expected = static_cast<std::uint8_t>(chunk_sequence_ + 1);
  const bool gap = chunk.header.sequence != expected;
  statistics_.gaps += gap && started_ ? 1U : 0U;
  const auto lost = static_cast<std::uint8_t>(chunk.header.sequence - expected);
  // A chunk that goes on in the datagram of the one before has nothing to wait for.
  if (!chunk.continues || !started_ || chunk_at_ != now) {
    start_batch(now, std::size_t{lost} * chunk_frames_);
  }
  const std::size_t frames = chunk.header.frame_count;
  chunk_frames_ = chunk.header.frame_count;
  awaits_chunk_ = true;
  if (count_ + frames > kOsmuxPendingMax) {
    play_at_once(now);
  }
  started_ = true;
  chunk_sequence_ = chunk.header.sequence;
  chunk_at_ = now;
  for (std::size_t index = 0; index < frames; ++index) {
    append(chunk, index, index == 0 && (gap || chunk.header.marker));
  }
  ++statistics_.chunks_in;
  statistics_.octets_in += kOsmuxHeaderBytes + chunk.frames.size();
  statistics_.frames_in += frames;
}

io::TimePoint OsmuxPlayout::next_due() const noexcept {
  return count_ == 0 ? io::kNever : frames_[first_].due;
}

io::TimePoint OsmuxPlayout::next_look() const noexcept {
  return count_ == 0 && awaits_chunk_ ? next_free_ : next_due();
}

std::size_t OsmuxPlayout::take_due(io::TimePoint now, std::span<std::byte> out) noexcept {
  if (count_ == 0 && awaits_chunk_ && next_free_ <= now) {
    note_pass(next_free_, now);
    awaits_chunk_ = false;
  }
  if (next_due() > now || count_ == 0 || out.size() < kOsmuxRtpBytesMax) {
    return 0;
  }
  const Frame& frame = frames_[first_];
  note_pass(frame.due, now);
  RtpHeader header;
  header.payload_type = options_.payload_type;
  header.marker = frame.marker;
  header.sequence = options_.sequence++;
  header.timestamp = options_.timestamp;
  header.ssrc = options_.ssrc;
  options_.timestamp += kOsmuxFrameTicks;
  auto rest = out.subspan(write_rtp_header(out, header));
  std::ranges::copy(frame.prefix, rest.begin());
  rest = rest.subspan(frame.prefix.size());
  std::ranges::copy(std::span(frame.octets).first(frame.bytes), rest.begin());
  first_ = (first_ + 1) % kFramesMax;
  --count_;
  ++statistics_.packets_out;
  statistics_.amr_octets_out += frame.bytes;
  return kRtpHeaderBytes + frame.prefix.size() + frame.bytes;
}

bool OsmuxPlayout::accept_sequence(std::uint8_t sequence, io::TimePoint now) noexcept {
  const int distance =
      static_cast<std::int8_t>(static_cast<std::uint8_t>(sequence - chunk_sequence_));
  const bool young = started_ && now - chunk_at_ < kSequenceLifetime;
  if (!young || distance > 0 || -distance > kLateChunksMax) {
    late_run_ = 0;
    return true;
  }
  if (distance == 0) {
    ++statistics_.duplicates;
    return false;
  }
  const bool consecutive = sequence == static_cast<std::uint8_t>(late_sequence_ + 1);
  late_run_ = consecutive ? static_cast<std::uint8_t>(late_run_ + 1) : 1;
  late_sequence_ = sequence;
  if (late_run_ > kLateRunMax) {
    late_run_ = 0;
    return true;
  }
  ++statistics_.late;
  return false;
}

void OsmuxPlayout::note_pass(io::TimePoint due, io::TimePoint now) noexcept {
  if (now - due >= kLatePass && late_pass_ != now) {
    late_pass_ = now;
    late_since_ = due;
  }
}

void OsmuxPlayout::start_batch(io::TimePoint now, std::size_t skipped) noexcept {
  if (!started_) {
    next_free_ = now;
    return;
  }
  io::TimePoint place = next_free_ + static_cast<std::int64_t>(skipped) * kOsmuxFrameDuration;
  if (skipped > 0 && place - now > options_.hold_max) {
    place = next_free_;  // a peer that counts anew has lost nothing
  }
  const io::Duration hold = place - now;
  if (hold > options_.hold_max) {
    play_at_once(now);
    next_free_ = now;
    sample_hold(io::Duration::zero());
    return;
  }
  const bool read_late = late_pass_ == now;
  const io::TimePoint came = read_late ? late_since_ : now;  // at the earliest
  if (came - place >= kPauseMin) {
    next_free_ = after_pause(now);
    return;
  }
  next_free_ = std::max(place, came);
  if (!read_late) {
    sample_hold(std::max(hold, io::Duration::zero()));
  }
}

io::TimePoint OsmuxPlayout::after_pause(io::TimePoint now) const noexcept {
  const io::Duration wanted = std::min(usual_hold_, options_.hold_max) - kHoldMargin;
  if (wanted <= io::Duration::zero()) {
    return now;
  }
  const auto frames = (now + wanted - next_free_) / kOsmuxFrameDuration + 1;
  const io::TimePoint place = next_free_ + frames * kOsmuxFrameDuration;
  return place - now > options_.hold_max ? now : place;
}

void OsmuxPlayout::sample_hold(io::Duration hold) noexcept {
  usual_hold_ += (hold - usual_hold_) / kUsualHoldBatches;
  if (hold == io::Duration::zero()) {
    excess_ = io::Duration::zero();
    hold_samples_ = 0;
    return;
  }
  shortest_hold_ = hold_samples_ == 0 ? hold : std::min(shortest_hold_, hold);
  if (++hold_samples_ == kHoldSamples) {
    excess_ = std::max(shortest_hold_ - kHoldMargin, io::Duration::zero());
    hold_samples_ = 0;
  }
}

void OsmuxPlayout::play_at_once(io::TimePoint now) noexcept {
  for (std::size_t place = 0; place < count_; ++place) {
    Frame& frame = at(place);
    statistics_.hurried += frame.due > now ? 1U : 0U;
    frame.due = std::min(frame.due, now);
  }
  next_free_ = std::min(next_free_, now);
}

void OsmuxPlayout::append(const OsmuxChunk& chunk, std::size_t index, bool marker) noexcept {
  if (count_ == kFramesMax) {
    first_ = (first_ + 1) % kFramesMax;
    --count_;
    ++statistics_.overflowed;
  }
  const OsmuxHeader& header = chunk.header;
  const std::size_t bytes = chunk.frames.size() / header.frame_count;
  Frame& frame = at(count_++);
  std::ranges::copy(chunk.frames.subspan(index * bytes, bytes), frame.octets.begin());
  frame.bytes = static_cast<std::uint8_t>(bytes);
  frame.prefix[0] = static_cast<std::byte>(header.mode_request << 4U);
  frame.prefix[1] = static_cast<std::byte>((header.followed ? 0x80U : 0U) | header.frame_type * 8U |
                                           (header.good ? 0x04U : 0U));
  frame.marker = marker;
  frame.due = next_free_;
  const io::Duration step = std::min(kCatchUpStep, excess_);
  excess_ -= step;
  next_free_ += kOsmuxFrameDuration - step;
}

OsmuxPlayout::Frame& OsmuxPlayout::at(std::size_t place) noexcept {
  return frames_[(first_ + place) % kFramesMax];
}

}  // namespace rtp
