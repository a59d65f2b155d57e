#include "tools/rtpload/g711.h"

#include <algorithm>
#include <bit>

namespace rtpload {
namespace {

constexpr std::uint8_t kEvenBits = 0x55;  // A-law inverts every second bit on the line
constexpr int kUlawBias = 0x84;
constexpr int kUlawMax = 32635;
constexpr std::uint8_t kSign = 0x80;

}  // namespace

std::uint8_t encode_alaw(std::int16_t sample) noexcept {
  // 12-bit magnitude; negative values are mirrored at -1/2 so that -1 is the smallest negative
  // step.
  const bool is_positive = sample >= 0;
  const auto magnitude = static_cast<unsigned>(is_positive ? sample >> 4 : (-1 - sample) >> 4);
  const unsigned segment =
      magnitude < 32 ? (magnitude >> 4U) : static_cast<unsigned>(std::bit_width(magnitude)) - 4U;
  const unsigned step = segment < 2 ? magnitude & 0xfU : (magnitude >> (segment - 1U)) & 0xfU;
  const unsigned code = (segment << 4U) | step | (is_positive ? kSign : 0U);
  return static_cast<std::uint8_t>(code ^ kEvenBits);
}

std::int16_t decode_alaw(std::uint8_t octet) noexcept {
  const unsigned code = octet ^ kEvenBits;
  const unsigned segment = (code >> 4U) & 7U;
  unsigned magnitude = ((code & 0xfU) << 4U) + 8U;
  if (segment > 0) {
    magnitude = (magnitude + 0x100U) << (segment - 1U);
  }
  const auto value = static_cast<int>(magnitude);
  return static_cast<std::int16_t>((code & kSign) != 0 ? value : -value);
}

std::uint8_t encode_ulaw(std::int16_t sample) noexcept {
  const bool is_negative = sample < 0;
  const int clipped =
      std::min(is_negative ? -static_cast<int>(sample) : static_cast<int>(sample), kUlawMax);
  const auto biased = static_cast<unsigned>(clipped + kUlawBias);
  const unsigned segment = static_cast<unsigned>(std::bit_width(biased)) - 8U;
  const unsigned step = (biased >> (segment + 3U)) & 0xfU;
  return static_cast<std::uint8_t>(~((is_negative ? kSign : 0U) | (segment << 4U) | step));
}

std::int16_t decode_ulaw(std::uint8_t octet) noexcept {
  const unsigned code = ~static_cast<unsigned>(octet) & 0xffU;
  const unsigned segment = (code >> 4U) & 7U;
  const int magnitude = static_cast<int>((((code & 0xfU) << 3U) + 0x84U) << segment) - kUlawBias;
  return static_cast<std::int16_t>((code & kSign) != 0 ? -magnitude : magnitude);
}

}  // namespace rtpload
