#pragma once
// The RTP header (RFC 3550 section 5.1): checked and read as a value, and rewritten in place. Pure
// functions, any thread; a packet is at most 65,535 octets (it came in a UDP datagram).

#include <tl/expected.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace rtp {

/// Octets of an RTP header without CSRCs and extension.
inline constexpr std::size_t kRtpHeaderBytes = 12;

/// Why a datagram is no RTP packet.
enum class RtpMalformed : std::uint8_t {
  too_short,     ///< Less than the 12 octets of the fixed header, or more than a datagram can hold.
  bad_version,   ///< The version is not 2.
  csrc_overrun,  ///< The CSRC list ends behind the datagram.
  extension_overrun,  ///< The header extension ends behind the datagram.
  bad_padding,        ///< P bit set, and the count is 0 or reaches into the header.
};

/// Number of enumerators of RtpMalformed, for counters by cause.
inline constexpr std::size_t kRtpMalformedCount = 5;

/// The cause as in metrics and logs, for example "bad_version".
[[nodiscard]] std::string_view to_string(RtpMalformed cause) noexcept;

/// The header of one valid packet. payload_offset + payload_size + padding_size is the packet's
/// size.
struct RtpHeader {
  std::uint32_t timestamp = 0;
  std::uint32_t ssrc = 0;
  std::uint16_t sequence = 0;
  std::uint16_t payload_offset = 0;  ///< Octets of header, CSRCs and extension.
  std::uint16_t payload_size = 0;    ///< Octets of payload, without padding; may be 0.
  std::uint8_t padding_size = 0;     ///< Octets of padding, its count octet included; 0 = none.
  std::uint8_t payload_type = 0;     ///< 0..127
  std::uint8_t csrc_count = 0;       ///< 0..15
  bool marker = false;
  bool has_extension = false;
};

/// Checks `packet` whole (version, CSRCs, extension and padding inside the datagram) and reads its
/// header.
[[nodiscard]] tl::expected<RtpHeader, RtpMalformed> parse_rtp(
    std::span<const std::byte> packet) noexcept;

/// Puts `payload_type` (0..127) into the packet; the marker stays. Like the other writers it needs
/// a packet that parse_rtp accepted.
void set_payload_type(std::span<std::byte> packet, std::uint8_t payload_type) noexcept;
/// Sets or clears the marker bit; the payload type stays.
void set_marker(std::span<std::byte> packet, bool marker) noexcept;
/// Puts the sequence number into the packet.
void set_sequence(std::span<std::byte> packet, std::uint16_t sequence) noexcept;
/// Puts the timestamp into the packet.
void set_timestamp(std::span<std::byte> packet, std::uint32_t timestamp) noexcept;
/// Puts the SSRC into the packet.
void set_ssrc(std::span<std::byte> packet, std::uint32_t ssrc) noexcept;
/// Takes the padding off a packet that `header` describes: clears the P bit and
/// header.padding_size, and returns the new size of the packet.
[[nodiscard]] std::size_t remove_padding(std::span<std::byte> packet, RtpHeader& header) noexcept;

/// Writes a plain 12-octet header (version 2; no padding, extension or CSRC) with the payload type,
/// marker, sequence, timestamp and SSRC of `header`. Returns 12, or 0 and nothing written if `out`
/// is shorter.
std::size_t write_rtp_header(std::span<std::byte> out, const RtpHeader& header) noexcept;

}  // namespace rtp
