#include "rtp/trau_frame_bits.h"

#include <array>

namespace rtp {
namespace {

constexpr std::size_t kD1 = 15;  // behind C15 of the 16 kbit/s frames

/// For each of b1..b260 of GSM 06.10 table 1.1, in which the frame goes, the bit of the RTP
/// payload: its parameters are the same, but their most significant bits come first.
constexpr std::array<std::uint16_t, kFullRateBits> make_full_rate_order() noexcept {
  constexpr std::array<std::uint8_t, 8> kReflections{6, 6, 5, 5, 4, 4, 3, 3};
  constexpr std::array<std::uint8_t, 4> kSubFrame{7, 2, 2, 6};
  constexpr std::size_t kPulses = 13;
  std::array<std::uint16_t, kFullRateBits> order{};
  std::size_t at = 0;
  const auto add = [&](std::size_t width) {
    for (std::size_t bit = 0; bit < width; ++bit) {
      order[at + bit] = static_cast<std::uint16_t>(at + width - 1 - bit);
    }
    at += width;
  };
  for (const std::uint8_t width : kReflections) {
    add(width);
  }
  for (int sub_frame = 0; sub_frame < 4; ++sub_frame) {
    for (const std::uint8_t width : kSubFrame) {
      add(width);
    }
    for (std::size_t pulse = 0; pulse < kPulses; ++pulse) {
      add(3);
    }
  }
  return order;
}

constexpr auto kFullRateOrder = make_full_rate_order();
static_assert(kFullRateOrder[0] == 5 && kFullRateOrder[kFullRateBits - 1] == kFullRateBits - 3);

/// A run of D bits, first and last counted from D1.
struct Run {
  std::uint16_t first;
  std::uint16_t last;
};

/// One of the five groups of EFR: its speech bits; its CRC is in the three bits behind them.
struct EnhancedGroup {
  Run speech;
  std::array<Run, 3> covered;
};

// TS 48.060: D1 is 1. An empty run has its last bit before its first.
constexpr std::array<EnhancedGroup, 5> kEnhancedGroups{{
    {{2, 39}, {{{1, 22}, {25, 27}, {29, 29}}}},
    {{43, 95}, {{{43, 52}, {91, 92}, {1, 0}}}},
    {{99, 148}, {{{99, 103}, {105, 105}, {144, 145}}}},
    {{152, 204}, {{{152, 161}, {200, 201}, {1, 0}}}},
    {{208, 257}, {{{208, 212}, {214, 214}, {253, 254}}}},
}};

constexpr std::size_t place_of(std::size_t data_bit) noexcept {
  return kD1 + data_bit - 1;
}

unsigned enhanced_crc(const FrameReader& reader, const EnhancedGroup& group) noexcept {
  Crc3 crc;
  for (const Run run : group.covered) {
    for (std::size_t bit = run.first; bit <= run.last; ++bit) {
      crc.add(reader.bit(place_of(bit)));
    }
  }
  return crc.value();
}

unsigned half_rate_crc(std::span<const std::byte> content) noexcept {
  Crc3 crc;
  for (std::size_t bit = 0; bit < 44; ++bit) {
    crc.add(get_bit(content, bit));
  }
  return crc.value();
}

constexpr std::size_t kHalfRateCrcAfter = 44;

/// Where bit `index` of a data frame is: behind the first bit of each octet from the fifth on.
constexpr std::size_t data_place(std::size_t index) noexcept {
  return 32 + index / 7 * 8 + 1 + index % 7;
}
static_assert(data_place(kTrauDataBits - 1) == kTrauFrameBitsMax - 1);

}  // namespace

void parse_full_rate(const FrameReader& reader, TrauFrame& frame) noexcept {
  for (std::size_t bit = 0; bit < kFullRateBits; ++bit) {
    set_bit(frame.content, kFullRateOrder[bit], reader.bit(kD1 + bit));
  }
  frame.content_bits = kFullRateBits;
}

void build_full_rate(const TrauFrame& frame, FrameWriter& writer) noexcept {
  for (std::size_t bit = 0; bit < kFullRateBits; ++bit) {
    writer.set(kD1 + bit, get_bit(frame.content, kFullRateOrder[bit]));
  }
}

void parse_enhanced_full_rate(const FrameReader& reader, TrauFrame& frame) noexcept {
  std::size_t at = 0;
  for (const EnhancedGroup& group : kEnhancedGroups) {
    for (std::size_t bit = group.speech.first; bit <= group.speech.last; ++bit) {
      set_bit(frame.content, at++, reader.bit(place_of(bit)));
    }
    const unsigned received = reader.field(place_of(group.speech.last + 1U), 3);
    frame.crc_good = frame.crc_good && received == enhanced_crc(reader, group);
  }
  frame.content_bits = kEnhancedFullRateBits;
}

void build_enhanced_full_rate(const TrauFrame& frame, FrameWriter& writer) noexcept {
  std::size_t at = 0;
  for (const EnhancedGroup& group : kEnhancedGroups) {
    for (std::size_t bit = group.speech.first; bit <= group.speech.last; ++bit) {
      writer.set(place_of(bit), get_bit(frame.content, at++));
    }
    const unsigned crc = enhanced_crc(writer.reader(), group);
    writer.set_field(place_of(group.speech.last + 1U), 3, crc);
  }
}

void parse_half_rate(const FrameReader& reader, HalfRatePlaces places, TrauFrame& frame) noexcept {
  frame.unreliable = reader.bit(places.unreliable);
  for (std::size_t bit = 0; bit < kHalfRateBits; ++bit) {
    const std::size_t behind_crc = bit < kHalfRateCrcAfter ? 0 : 3;
    set_bit(frame.content, bit, reader.bit(places.first_data + bit + behind_crc));
  }
  frame.content_bits = kHalfRateBits;
  frame.crc_good =
      reader.field(places.first_data + kHalfRateCrcAfter, 3) == half_rate_crc(frame.content);
}

void build_half_rate(const TrauFrame& frame, HalfRatePlaces places, FrameWriter& writer) noexcept {
  writer.set(places.unreliable, frame.unreliable || frame.direction == TrauDirection::downlink);
  for (std::size_t bit = 0; bit < kHalfRateBits; ++bit) {
    const std::size_t behind_crc = bit < kHalfRateCrcAfter ? 0 : 3;
    writer.set(places.first_data + bit + behind_crc, get_bit(frame.content, bit));
  }
  writer.set_field(places.first_data + kHalfRateCrcAfter, 3, half_rate_crc(frame.content));
}

void parse_data(std::span<const std::byte> bits, TrauFrame& frame) noexcept {
  for (std::size_t bit = 0; bit < kTrauDataBits; ++bit) {
    set_bit(frame.content, bit, get_bit(bits, data_place(bit)));
  }
  frame.content_bits = kTrauDataBits;
}

void build_data(const TrauFrame& frame, std::span<std::byte> out) noexcept {
  for (std::size_t bit = 0; bit < kTrauDataBits; ++bit) {
    set_bit(out, data_place(bit), get_bit(frame.content, bit));
  }
}

}  // namespace rtp
