#pragma once
// The RTP payload formats of GSM full rate and enhanced full rate: bare frames (RFC 3551
// section 4.5.8 and 4.5.9) and frames behind one octet that says how they were received
// (Themyscira TW-TS-001, fmtp tw-ts-001=1). Pure functions over bytes, any thread.

#include "rtp/payload_conversion.h"

#include <tl/expected.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace rtp {

/// Which of the two codecs: they differ in length and in the signature of their first four bits.
enum class GsmFrCodec : std::uint8_t { full_rate, enhanced_full_rate };

/// fmtp tw-ts-001=0 (or absent) and tw-ts-001=1.
enum class GsmFrFormat : std::uint8_t { bare, extended };

/// Octets of one frame, its signature included: 33 and 31.
[[nodiscard]] std::size_t gsm_fr_frame_bytes(GsmFrCodec codec) noexcept;
/// Most bare frames of one packet.
inline constexpr std::size_t kGsmFrFramesMax = 12;
/// Octets of the largest payload.
inline constexpr std::size_t kGsmFrPayloadBytesMax = kGsmFrFramesMax * 33;

/// Writes `payload` in the format `target` to `out`, which must not overlap it, and returns the
/// octets written. One that is in that format already is copied. Towards the extended format a
/// frame is marked as good; several frames have no_equivalent. Towards bare frames a frame that is
/// marked as bad, or missing, has no_equivalent: nothing is sent instead. What else the octet says
/// (DTXd, TAF) is lost, the speech bits never change.
[[nodiscard]] tl::expected<std::size_t, ConversionError> convert_gsm_fr(
    std::span<const std::byte> payload, GsmFrCodec codec, GsmFrFormat target,
    std::span<std::byte> out) noexcept;

}  // namespace rtp
