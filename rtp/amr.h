#pragma once
// The RTP payload format of AMR and AMR-WB (RFC 4867 section 4): both forms, bandwidth-efficient
// and octet-aligned, with several frames per packet; without interleaving, robust sorting and CRC,
// which nobody negotiates with a gateway. Pure functions over bytes, any thread. At most
// kAmrFramesMax frames per packet.

#include "rtp/payload_conversion.h"

#include <tl/expected.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace rtp {

/// Which of the two codecs: they share the format, not the frame types.
enum class AmrCodec : std::uint8_t { narrowband, wideband };

/// The two forms of the payload: fmtp octet-align=0 (or absent) and octet-align=1.
enum class AmrFormat : std::uint8_t { bandwidth_efficient, octet_aligned };

/// Frame types are 4 bits.
inline constexpr std::size_t kAmrFrameTypes = 16;
/// Frame type 15 of both codecs: nothing to send.
inline constexpr std::uint8_t kAmrNoData = 15;
/// Most frames of one packet: 640 ms, far beyond what a speech call packs together.
inline constexpr std::size_t kAmrFramesMax = 32;
/// Octets of the largest payload of kAmrFramesMax frames (AMR-WB 23.85: 477 bits in 60 octets).
inline constexpr std::size_t kAmrPayloadBytesMax = 1 + kAmrFramesMax * (1 + 60);

/// Speech bits of a frame type (3GPP TS 26.101 table 1a and TS 26.201 table 1a; RFC 4867
/// section 4.3.2), none if it is reserved: 12..14 of AMR, 10..13 of AMR-WB.
[[nodiscard]] std::optional<std::uint16_t> amr_frame_bits(AmrCodec codec,
                                                          std::uint8_t frame_type) noexcept;

/// One entry of the table of contents.
struct AmrFrame {
  std::uint8_t type;
  bool good;  ///< The Q bit; false = the frame was damaged.
  std::uint16_t bits;
  std::uint32_t offset_bits;  ///< Where its speech bits begin in the payload.
};

/// What a payload says, its speech bits apart.
struct AmrPayload {
  std::uint8_t mode_request = 15;  ///< CMR, 4 bits as they came; 15 = no request.
  std::size_t frame_count = 0;
  std::array<AmrFrame, kAmrFramesMax> frames;  ///< The first frame_count are set.
};

/// Reads a payload as being in `format`. It must be exactly as long as its frames say; an
/// octet-aligned one must have zeros in its reserved bits. A bandwidth-efficient one must not be a
/// well-formed octet-aligned one with its last bits set: padding is zero, and that is how the two
/// forms of a 4.75 kbit/s frame are told apart.
[[nodiscard]] tl::expected<AmrPayload, ConversionError> parse_amr(
    std::span<const std::byte> payload, AmrCodec codec, AmrFormat format) noexcept;

/// Whether a payload is what its sender announced (fmtp octet-align). For sources that announced
/// nothing, don't ask.
[[nodiscard]] bool has_amr_format(std::span<const std::byte> payload, AmrCodec codec,
                                  AmrFormat format) noexcept;

/// Writes `payload` in the form `target` to `out`, which must not overlap it, and returns the
/// octets written. CMR, F, FT, Q and every speech bit stay; padding bits become 0. A payload that
/// is in form `target` already is copied.
[[nodiscard]] tl::expected<std::size_t, ConversionError> convert_amr(
    std::span<const std::byte> payload, AmrCodec codec, AmrFormat target,
    std::span<std::byte> out) noexcept;

}  // namespace rtp
