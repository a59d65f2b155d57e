#pragma once
// The two RTP payload formats of GSM half rate: bare frames of 14 octets (ETSI TS 101 318
// section 5.2) and frames behind a table of contents (RFC 5993 section 5). Themyscira TW-TS-002
// extends the latter by frame types for damaged frames and by flags in the reserved bits. Pure
// functions over bytes, any thread.

#include "rtp/payload_conversion.h"

#include <tl/expected.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace rtp {

/// Octets of one frame: 112 bits, speech or SID.
inline constexpr std::size_t kGsmHrFrameBytes = 14;
/// Most frames of one packet. Up to here a payload's length tells how many frames it holds in which
/// of the two formats.
inline constexpr std::size_t kGsmHrFramesMax = 12;
/// Octets of the largest payload of kGsmHrFramesMax frames.
inline constexpr std::size_t kGsmHrPayloadBytesMax = kGsmHrFramesMax * (1 + kGsmHrFrameBytes);

/// fmtp gsm-hr-format.
enum class GsmHrFormat : std::uint8_t { ts101318, rfc5993 };

/// The frame types of RFC 5993 section 5.2 that say something; the others are reserved (TW-TS-002
/// uses some of them for damaged frames).
enum class GsmHrFrameType : std::uint8_t { speech = 0, silence_descriptor = 2, no_data = 7 };

/// Whether a frame is a SID: behind its 33 bits of parameters all 79 bits are set (TS 101 318
/// section 5.2.2).
[[nodiscard]] bool is_gsm_hr_silence(std::span<const std::byte, kGsmHrFrameBytes> frame) noexcept;

/// Writes `payload` in the format `target` to `out`, which must not overlap it, and returns the
/// octets written. One that is in that format already is copied, with the reserved bits of its
/// table of contents cleared (RFC 5993 section 5.2; TW-TS-002 has flags there). Towards RFC 5993
/// the frame type says whether a frame is a SID. Towards TS 101 318 a packet with a No_Data frame
/// has no_equivalent: there nothing is sent instead.
[[nodiscard]] tl::expected<std::size_t, ConversionError> convert_gsm_hr(
    std::span<const std::byte> payload, GsmHrFormat target, std::span<std::byte> out) noexcept;

/// `rtp-patch rfc5993hr`: 14 octets get the octet 0 in front, 15 octets lose the first one if it
/// names a speech or SID frame; any other length is an error. Takes no notice of what was
/// negotiated.
[[nodiscard]] tl::expected<std::size_t, ConversionError> toggle_gsm_hr(
    std::span<const std::byte> payload, std::span<std::byte> out) noexcept;

}  // namespace rtp
