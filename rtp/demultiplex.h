#pragma once
// What a datagram is, from its first two octets: RFC 5761 section 4 (RTP and RTCP on one port) and
// RFC 7983 section 7 (STUN, DTLS and others beside them). It says what the sender meant; whether
// the packet is valid is parse_rtp's and validate_rtcp's question.

#include <cstddef>
#include <cstdint>
#include <span>

namespace rtp {

/// The single octet of a keep-alive datagram; nothing else about it means anything.
inline constexpr std::byte kKeepAliveByte{0x23};

/// The protocols that may meet on a media port.
enum class PacketKind : std::uint8_t {
  rtp,
  rtcp,
  stun,
  zrtp,
  dtls,
  turn_channel,
  keep_alive,  ///< One octet 0x23, as media gateways send it to open a NAT's binding.
  other,  ///< Empty, or a first octet that no protocol here uses (RTP of a version other than 2).
};

/// Sorts a datagram. RTP and RTCP are parted by the second octet: 192..223 is RTCP (payload
/// types 64..95 with marker, which RFC 5761 keeps free of RTP). A lone octet in the range of RTP
/// counts as rtp and is found too short there.
[[nodiscard]] constexpr PacketKind classify(std::span<const std::byte> datagram) noexcept {
  if (datagram.empty()) {
    return PacketKind::other;
  }
  if (datagram.size() == 1 && datagram[0] == kKeepAliveByte) {
    return PacketKind::keep_alive;
  }
  const auto first = std::to_integer<unsigned>(datagram[0]);
  if (first >= 128 && first <= 191) {
    const auto second = datagram.size() > 1 ? std::to_integer<unsigned>(datagram[1]) : 0U;
    return second >= 192 && second <= 223 ? PacketKind::rtcp : PacketKind::rtp;
  }
  if (first <= 3) {
    return PacketKind::stun;
  }
  if (first >= 16 && first <= 19) {
    return PacketKind::zrtp;
  }
  if (first >= 20 && first <= 63) {
    return PacketKind::dtls;
  }
  if (first >= 64 && first <= 79) {
    return PacketKind::turn_channel;
  }
  return PacketKind::other;
}

}  // namespace rtp
