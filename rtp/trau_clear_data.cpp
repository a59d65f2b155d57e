#include "rtp/trau_clear_data.h"

#include "rtp/bit_string.h"

#include <array>
#include <cstdint>

namespace rtp {
namespace {

constexpr std::size_t kFrames = 4;
constexpr std::size_t kFrameBits = 80;
constexpr std::uint8_t kRate16k = 0x20;  // C6 of the bits C6..C11

using V110Bits = std::array<std::byte, kFrames * kFrameBits / 8>;

/// Whether a bit of a V.110 frame belongs to its pattern: the first octet, and the first bit of the
/// others.
constexpr bool is_pattern(std::size_t bit) noexcept {
  return bit < 8 || bit % 8 == 0;
}

constexpr bool pattern_value(std::size_t bit) noexcept {
  return bit >= 8;
}

}  // namespace

tl::expected<std::size_t, TrauError> trau_to_clear_data(
    const TrauFrame& frame, std::span<std::byte, kClearDataBytes> out) noexcept {
  if ((frame.time_alignment & kRate16k) == 0) {
    return tl::unexpected(TrauError::unsupported);
  }
  V110Bits v110{};
  std::size_t taken = 0;
  for (std::size_t at = 0; at < kFrames * kFrameBits; ++at) {
    const std::size_t bit = at % kFrameBits;
    set_bit(v110, at, is_pattern(bit) ? pattern_value(bit) : get_bit(frame.content, taken++));
  }
  for (std::size_t index = 0; index < kClearDataBytes; ++index) {
    constexpr unsigned kUnusedBits = 0x3f;
    out[index] = static_cast<std::byte>(get_bits(v110, index * 2, 2) << 6U | kUnusedBits);
  }
  return kClearDataBytes;
}

tl::expected<TrauFrame, TrauError> clear_data_to_trau(
    std::span<const std::byte, kClearDataBytes> octets) noexcept {
  V110Bits v110{};
  for (std::size_t index = 0; index < kClearDataBytes; ++index) {
    set_bits(v110, index * 2, 2, std::to_integer<std::uint32_t>(octets[index] >> 6U));
  }
  TrauFrame frame;
  frame.type = TrauFrameType::data;
  frame.direction = TrauDirection::downlink;
  frame.time_alignment = kRate16k | (kRate16k - 1);  // C7..C11 are spare here: 1
  frame.content_bits = kTrauDataBits;
  std::size_t written = 0;
  for (std::size_t at = 0; at < kFrames * kFrameBits; ++at) {
    const std::size_t bit = at % kFrameBits;
    const bool value = get_bit(v110, at);
    if (!is_pattern(bit)) {
      set_bit(frame.content, written++, value);
    } else if (value != pattern_value(bit)) {
      return tl::unexpected(TrauError::unsupported);
    }
  }
  return frame;
}

}  // namespace rtp
