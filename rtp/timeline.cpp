#include "rtp/timeline.h"

#include <algorithm>

namespace rtp {
namespace {

constexpr std::uint32_t kDefaultClockRateHz = 8000;
constexpr std::uint32_t kDefaultPacketsPerSecond = 50;

TimelineTiming with_defaults(TimelineTiming timing) noexcept {
  if (timing.clock_rate_hz == 0) {
    timing.clock_rate_hz = kDefaultClockRateHz;
  }
  if (timing.packet_duration_ticks == 0) {
    timing.packet_duration_ticks =
        std::max<std::uint32_t>(timing.clock_rate_hz / kDefaultPacketsPerSecond, 1);
  }
  return timing;
}

}  // namespace

void Timeline::start(const RtpHeader& header) noexcept {
  current_ = Mapping{header.ssrc, 0, 0, header.sequence};
  has_previous_ = false;
  output_ssrc_ = header.ssrc;
  newest_sequence_ = static_cast<std::uint16_t>(header.sequence - 1U);
  newest_timestamp_ = header.timestamp;
  source_sequence_ = ExtendedSequence{};
  packets_ = 0;
  octets_ = 0;
  packets_before_ = 0;
  octets_before_ = 0;
  started_ = true;
}

bool Timeline::is_late(const RtpHeader& header) const noexcept {
  if (!has_previous_ || header.ssrc != previous_.source_ssrc) {
    return false;
  }
  const auto output = static_cast<std::uint16_t>(header.sequence + previous_.sequence_offset);
  const int before_change = sequence_distance(output, current_.first_output);
  return before_change > 0 && before_change < kMaxMisorder;
}

bool Timeline::is_newest(std::uint16_t output_sequence) const noexcept {
  const int steps = sequence_distance(newest_sequence_, output_sequence);
  return steps > 0 || steps <= -kMaxMisorder;
}

TimelinePatch Timeline::map(const RtpHeader& header, const Mapping& mapping) const noexcept {
  return TimelinePatch{output_ssrc_, header.timestamp + mapping.timestamp_offset,
                       static_cast<std::uint16_t>(header.sequence + mapping.sequence_offset)};
}

void Timeline::continue_with(const RtpHeader& header, io::TimePoint now,
                             TimelineTiming timing) noexcept {
  const io::TimePoint elapsed{std::max(now - newest_at_, io::Duration::zero())};
  const std::uint64_t ticks = to_rtp_ticks(elapsed, timing.clock_rate_hz);
  const std::uint64_t duration = timing.packet_duration_ticks;
  const auto packets = std::max<std::uint64_t>((ticks + duration / 2) / duration, 1);
  const auto step = static_cast<std::uint32_t>((packets * duration) & 0xffffffffU);

  previous_ = current_;
  has_previous_ = true;
  current_.source_ssrc = header.ssrc;
  current_.first_output =
      static_cast<std::uint16_t>(newest_sequence_ + (resumed_ ? packets & 0xffffU : 1U));
  current_.sequence_offset = static_cast<std::uint16_t>(current_.first_output - header.sequence);
  current_.timestamp_offset = newest_timestamp_ + step - header.timestamp;
  source_sequence_ = ExtendedSequence{};
  packets_before_ += packets_;
  octets_before_ += octets_;
  packets_ = 0;
  octets_ = 0;
}

void Timeline::align(const RtpHeader& header, std::uint32_t packet_duration_ticks) noexcept {
  const TimelinePatch patch = map(header, current_);
  if (header.marker || !is_newest(patch.sequence)) {
    return;
  }
  const std::int64_t step = static_cast<std::int32_t>(patch.timestamp - newest_timestamp_);
  const std::int64_t duration = packet_duration_ticks;
  const std::int64_t over = (step % duration + duration) % duration;
  if (over != 0) {
    previous_ = current_;
    has_previous_ = true;
    current_.timestamp_offset += static_cast<std::uint32_t>(duration - over);
    current_.first_output = patch.sequence;
  }
}

void Timeline::select_mapping(const RtpHeader& header, io::TimePoint now, TimelineOptions options,
                              TimelineTiming timing) noexcept {
  const bool known_source = started_ && header.ssrc == current_.source_ssrc;
  // Without patch_ssrc every SSRC is a stream of its own and passes under its own numbers.
  const bool own_numbers =
      known_source && output_ssrc_ == header.ssrc && current_.sequence_offset == 0;
  if (!started_ || (!options.patch_ssrc && !own_numbers)) {
    start(header);
  } else if (!known_source) {
    continue_with(header, now, timing);
  }
  if (options.align_timestamp) {
    align(header, timing.packet_duration_ticks);
  }
}

void Timeline::note_newest(std::uint16_t sequence, std::uint32_t timestamp,
                           io::TimePoint now) noexcept {
  newest_sequence_ = sequence;
  newest_timestamp_ = timestamp;
  newest_at_ = now;
  const int since_change = sequence_distance(current_.first_output, newest_sequence_);
  has_previous_ = has_previous_ && since_change >= 0 && since_change < kMaxMisorder;
}

std::optional<StreamMapping> Timeline::steady_mapping(std::uint32_t ssrc, std::uint16_t sequence,
                                                      std::uint32_t timestamp) const noexcept {
  const auto output = static_cast<std::uint16_t>(sequence + current_.sequence_offset);
  if (!started_ || current_.source_ssrc != ssrc || output != newest_sequence_ ||
      timestamp + current_.timestamp_offset != newest_timestamp_) {
    return std::nullopt;
  }
  return mapping();
}

void Timeline::advance(const StreamProgress& progress) noexcept {
  if (progress.packets == 0) {
    return;
  }
  note_newest(static_cast<std::uint16_t>(newest_sequence_ + progress.steps),
              progress.timestamp + current_.timestamp_offset, progress.arrival);
  has_previous_ = has_previous_ && progress.steps < kMaxMisorder;  // it may have gone round
  source_sequence_.advance(progress.steps);
  packets_ += static_cast<std::uint32_t>(progress.packets);
  octets_ += static_cast<std::uint32_t>(progress.octets);
  check_.advance(newest_sequence_, newest_timestamp_, progress.timestamp_errors);
}

void Timeline::advance(const RtpHeader& header, const TimelinePatch& patch,
                       io::TimePoint now) noexcept {
  resumed_ = false;
  if (is_newest(patch.sequence)) {
    note_newest(patch.sequence, patch.timestamp, now);
  }
  static_cast<void>(source_sequence_.update(header.sequence));
  ++packets_;
  octets_ += header.payload_size;
}

TimelinePatch Timeline::next(const RtpHeader& header, io::TimePoint now, TimelineOptions options,
                             TimelineTiming timing) noexcept {
  const TimelineTiming checked = with_defaults(timing);
  if (is_late(header)) {
    const bool same_source = header.ssrc == current_.source_ssrc;
    ++(same_source ? packets_ : packets_before_);
    (same_source ? octets_ : octets_before_) += header.payload_size;
    return map(header, previous_);
  }
  select_mapping(header, now, options, checked);
  const TimelinePatch patch = map(header, current_);
  advance(header, patch, now);
  check_.on_packet(patch.ssrc, patch.sequence, patch.timestamp, header.marker,
                   checked.packet_duration_ticks);
  return patch;
}

void Timeline::apply(std::span<std::byte> packet, RtpHeader& header, io::TimePoint now,
                     TimelineOptions options, TimelineTiming timing) noexcept {
  const TimelinePatch patch = next(header, now, options, timing);
  write_patch(packet, patch);
  header.ssrc = patch.ssrc;
  header.timestamp = patch.timestamp;
  header.sequence = patch.sequence;
}

StreamMapping Timeline::mapping() const noexcept {
  StreamMapping mapping;
  mapping.source_ssrc = current_.source_ssrc;
  mapping.output_ssrc = output_ssrc_;
  mapping.timestamp_offset = current_.timestamp_offset;
  mapping.sequence_offset = current_.sequence_offset;
  mapping.source_highest_sequence = static_cast<std::uint32_t>(
      static_cast<std::uint64_t>(source_sequence_.highest()) & 0xffffffffU);
  mapping.packets_before = packets_before_;
  mapping.octets_before = octets_before_;
  mapping.active = started_ && (current_.source_ssrc != output_ssrc_ || packets_before_ != 0 ||
                                current_.sequence_offset != 0 || current_.timestamp_offset != 0);
  return mapping;
}

void write_patch(std::span<std::byte> packet, const TimelinePatch& patch) noexcept {
  set_sequence(packet, patch.sequence);
  set_timestamp(packet, patch.timestamp);
  set_ssrc(packet, patch.ssrc);
}

}  // namespace rtp
