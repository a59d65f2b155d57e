#pragma once
// The codecs that the load generator can imitate: payload size, payload type and the bits by which
// a receiver recognises a valid frame. The speech itself is a test pattern (packet.h).

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rtpload {

/// Every codec here has one frame per packet: 20 ms, 160 samples at 8000 Hz (RFC 3551, RFC 4867).
inline constexpr std::uint32_t kSamplesPerPacket = 160;
/// The sampling rate of all codecs, Hz.
inline constexpr std::uint32_t kClockRateHz = 8000;

/// How a payload travels. Whatever its form, its frame is made and checked in the plain one.
enum class PayloadForm : std::uint8_t {
  plain,                ///< as the codec's own format says; AMR: octet-aligned
  bandwidth_efficient,  ///< AMR without the padding (RFC 4867 section 4.3)
  iuup,                 ///< AMR 12.2 in the Iu user plane (3GPP TS 25.415)
  osmux,                ///< AMR in a multiplex of all such legs (osmux_trunk.h)
};

/// Shape of one codec's RTP payload. A value without owners: all text is static.
struct Codec {
  std::string_view name;               ///< as on the command line, e.g. "AMR-12.2"
  std::string_view encoding;           ///< as in a=rtpmap, e.g. "AMR"
  std::string_view format_parameters;  ///< as in a=fmtp; empty if none
  std::uint8_t payload_type = 0;
  std::uint16_t payload_bytes = 0;          ///< whole payload of one packet in the plain form
  std::array<std::uint8_t, 2> signature{};  ///< first bytes of every payload, fixed
  std::uint8_t signature_bytes = 0;         ///< how many of `signature` count: 0 to 2
  std::uint8_t last_byte_mask =
      0xff;  ///< bits of the last byte that carry speech; the others are 0
  PayloadForm form = PayloadForm::plain;
  std::uint32_t described_rate_hz = kClockRateHz;  ///< as in a=rtpmap
};

/// Whether a gateway can hand the frames of one on as the other without loss: the same frames,
/// perhaps in another form or under another payload type.
[[nodiscard]] bool same_frames(const Codec& left, const Codec& right) noexcept;

/// The codec called `name`, whatever the letter case ("AMR" means "AMR-12.2"); empty if there is
/// none.
[[nodiscard]] std::optional<Codec> find_codec(std::string_view name) noexcept;

/// All names, for help texts.
[[nodiscard]] std::vector<std::string> codec_names();

}  // namespace rtpload
