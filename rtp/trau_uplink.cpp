#include "rtp/trau_uplink.h"

#include "rtp/bit_string.h"

#include <algorithm>

namespace rtp {

TrauUplink::TrauUplink(TrauMapping mapping, std::uint16_t first_sequence,
                       std::uint32_t first_timestamp) noexcept
    : mapping_(mapping),
      sync_(mapping.framing),
      timestamp_(first_timestamp),
      sequence_(first_sequence) {}

bool TrauUplink::is_pcm() const noexcept {
  return mapping_.codec == TrauCodec::pcma || mapping_.codec == TrauCodec::pcmu;
}

bool TrauUplink::aligned() const noexcept {
  return is_pcm() || sync_.aligned();
}

std::span<const TrauUplinkPayload> TrauUplink::push(std::span<const std::byte> bits,
                                                    std::size_t bit_count) noexcept {
  payload_count_ = 0;
  const std::size_t count = std::min(bit_count, bits.size() * 8);
  if (is_pcm()) {
    for (const std::byte octet : bits.first(count / 8)) {
      push_sample(octet);
    }
  } else {
    for (std::size_t at = 0; at < count; ++at) {
      push_bit(get_bit(bits, at));
    }
  }
  return std::span(payloads_).first(payload_count_);
}

void TrauUplink::push_sample(std::byte octet) noexcept {
  samples_[sample_count_++] = octet;
  if (sample_count_ < samples_.size()) {
    return;
  }
  sample_count_ = 0;
  ++counters_.frames;
  if (started_) {
    timestamp_ += kTrauFrameTicks;
  }
  started_ = true;
  TrauUplinkPayload* const payload = next_payload();
  if (payload == nullptr) {
    fail(TrauError::no_room);
    return;
  }
  payload->octets = samples_;
  commit(*payload, samples_.size());
}

void TrauUplink::push_bit(bool bit) noexcept {
  ++bits_since_frame_;
  const bool was_aligned = sync_.aligned();
  switch (sync_.push(bit)) {
    case TrauSyncEvent::none:
      return;
    case TrauSyncEvent::lost:
      ++counters_.sync_lost;
      return;
    case TrauSyncEvent::frame:
      counters_.aligned += was_aligned ? 0U : 1U;
      take_frame();
  }
}

/// By whole frame intervals of the bits that came.
void TrauUplink::advance_time() noexcept {
  const std::uint64_t length = trau_frame_bits(mapping_.framing);
  const std::uint64_t intervals =
      std::max<std::uint64_t>(1, (bits_since_frame_ + length / 2) / length);
  if (started_) {
    timestamp_ += static_cast<std::uint32_t>(intervals * kTrauFrameTicks);
  }
  started_ = true;
  bits_since_frame_ = 0;
}

void TrauUplink::take_frame() noexcept {
  ++counters_.frames;
  advance_time();
  TrauUplinkPayload* const payload = next_payload();
  if (payload == nullptr) {
    fail(TrauError::no_room);
    return;
  }
  const auto size = convert(payload->octets);
  if (!size) {
    fail(size.error());
    return;
  }
  commit(*payload, *size);
}

tl::expected<std::size_t, TrauError> TrauUplink::convert(std::span<std::byte> out) noexcept {
  if (sync_.pattern_errors() > kPatternErrorsMax) {
    return tl::unexpected(TrauError::bad_frame);
  }
  const auto frame = parse_trau_frame(sync_.frame(), mapping_.framing, amr_mode_);
  if (!frame) {
    return tl::unexpected(frame.error());
  }
  if (frame->direction == TrauDirection::uplink) {
    time_alignment_ = time_alignment_request(*frame, mapping_.framing);
  }
  if (frame->type == TrauFrameType::adaptive_multi_rate && frame->crc_good) {
    follow_modes(*frame);
  }
  return trau_to_rtp(*frame, mapping_, amr_mode_request_, out);
}

void TrauUplink::follow_modes(const TrauFrame& frame) noexcept {
  if (frame.amr_says_request) {
    amr_mode_request_ = frame.amr_mode_request;
  } else if (mapping_.framing == TrauFraming::amr_8k) {
    amr_mode_request_ = kNoModeRequest;  // there each frame says it
  }
  if (frame.amr_class != AmrFrameClass::no_speech) {
    amr_mode_ = frame.amr_mode;
  }
}

TrauUplinkPayload* TrauUplink::next_payload() noexcept {
  return payload_count_ < payloads_.size() ? &payloads_[payload_count_] : nullptr;
}

void TrauUplink::commit(TrauUplinkPayload& payload, std::size_t size) noexcept {
  payload.size = size;
  payload.timestamp = timestamp_;
  payload.sequence = sequence_++;
  ++payload_count_;
  ++counters_.payloads;
}

void TrauUplink::fail(TrauError error) noexcept {
  ++counters_.errors[static_cast<std::size_t>(error)];
}

std::optional<int> TrauUplink::take_time_alignment() noexcept {
  const std::optional<int> taken = time_alignment_;
  time_alignment_.reset();
  return taken;
}

}  // namespace rtp
