#pragma once
// G.711: 16-bit linear samples to and from A-law and mu-law octets (ITU-T G.711). Pure functions.

#include <cstdint>

namespace rtpload {

/// A-law and mu-law of ITU-T G.711, from and to 16-bit linear samples.
[[nodiscard]] std::uint8_t encode_alaw(std::int16_t sample) noexcept;
[[nodiscard]] std::int16_t decode_alaw(std::uint8_t octet) noexcept;
[[nodiscard]] std::uint8_t encode_ulaw(std::int16_t sample) noexcept;
[[nodiscard]] std::int16_t decode_ulaw(std::uint8_t octet) noexcept;

}  // namespace rtpload
