#pragma once
// Random TRAU frames, and strings of bits, for the tests of this folder.

#include "rtp/amr.h"
#include "rtp/bit_string.h"
#include "rtp/trau_frame.h"
#include "tests/unit/rtp/test_packets.h"

#include <vector>

namespace test {

using Bits = std::vector<bool>;

/// The bits of octets.
inline Bits to_bits(std::span<const std::byte> octets) {
  Bits bits;
  for (std::size_t at = 0; at < octets.size() * 8; ++at) {
    bits.push_back(rtp::get_bit(octets, at));
  }
  return bits;
}

/// The bits `first` to `last` of a frame, both included.
inline Bits bit_range(const Bits& bits, std::size_t first, std::size_t last) {
  return {bits.begin() + static_cast<std::ptrdiff_t>(first),
          bits.begin() + static_cast<std::ptrdiff_t>(last) + 1};
}

/// A number as `count` bits, most significant first.
inline Bits field(unsigned value, unsigned count) {
  Bits bits;
  for (unsigned bit = count; bit-- > 0;) {
    bits.push_back((value >> bit & 1U) != 0);
  }
  return bits;
}

/// Fills the content with random bits, `bits` of them.
inline void set_random_content(Random& random, std::uint16_t bits, rtp::TrauFrame& frame) {
  frame.content = {};
  frame.content_bits = bits;
  for (std::size_t bit = 0; bit < bits; ++bit) {
    rtp::set_bit(frame.content, bit, random.below(2) == 1);
  }
}

/// Bits of the content of a frame type without AMR.
inline std::uint16_t content_bits_of(rtp::TrauFrameType type) {
  switch (type) {
    case rtp::TrauFrameType::full_rate:
      return 260;
    case rtp::TrauFrameType::enhanced_full_rate:
      return 244;
    case rtp::TrauFrameType::half_rate:
      return 112;
    case rtp::TrauFrameType::data:
      return 252;
    case rtp::TrauFrameType::operation_maintenance:
      return 270;
    default:
      return 0;
  }
}

/// A frame of random speech and random flags that its type and direction have.
inline rtp::TrauFrame random_frame(Random& random, rtp::TrauFrameType type,
                                   rtp::TrauDirection direction) {
  rtp::TrauFrame frame;
  frame.type = type;
  frame.direction = direction;
  set_random_content(random, content_bits_of(type), frame);
  const bool is_speech = type == rtp::TrauFrameType::full_rate ||
                         type == rtp::TrauFrameType::enhanced_full_rate ||
                         type == rtp::TrauFrameType::half_rate;
  if (direction == rtp::TrauDirection::uplink) {
    frame.time_alignment = static_cast<std::uint8_t>(random.below(8));
    if (is_speech) {
      frame.bad_frame = random.below(2) == 1;
      frame.sid = static_cast<rtp::SidClass>(random.below(3));
      frame.time_alignment_flag = random.below(2) == 1;
      frame.dtx_downlink = random.below(2) == 1;
      frame.unreliable = type == rtp::TrauFrameType::half_rate && random.below(2) == 1;
    }
  } else if (is_speech) {
    frame.sid = random.below(2) == 1 ? rtp::SidClass::valid_sid : rtp::SidClass::speech;
  }
  return frame;
}

/// A random AMR speech frame of the mode.
inline rtp::TrauFrame random_amr_frame(Random& random, std::uint8_t mode) {
  rtp::TrauFrame frame;
  frame.type = rtp::TrauFrameType::adaptive_multi_rate;
  frame.amr_class = rtp::AmrFrameClass::speech_good;
  frame.amr_mode = mode;
  set_random_content(random, *rtp::amr_frame_bits(rtp::AmrCodec::narrowband, mode), frame);
  return frame;
}

/// The frame as it goes over the line.
inline Bytes built(const rtp::TrauFrame& frame, rtp::TrauFraming framing) {
  Bytes out(rtp::trau_frame_bits(framing) / 8);
  if (!rtp::build_trau_frame(frame, framing, out)) {
    return {};
  }
  return out;
}

}  // namespace test
