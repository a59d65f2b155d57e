#pragma once
// Packets and random bytes for the tests of this folder. The random numbers are the same in every
// run.

#include "rtp/rtcp_packet.h"
#include "rtp/rtp_header.h"

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace test {

using Bytes = std::vector<std::byte>;

/// The octets that a string of hexadecimal digits names; blanks are skipped.
inline Bytes from_hex(std::string_view digits) {
  Bytes bytes;
  unsigned value = 0;
  bool half = false;
  for (const char digit : digits) {
    if (digit == ' ') {
      continue;
    }
    const auto nibble = static_cast<unsigned>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
    value = value << 4U | nibble;
    if (half) {
      bytes.push_back(static_cast<std::byte>(value & 0xffU));
    }
    half = !half;
  }
  return bytes;
}

/// A source of the same numbers in every run.
class Random {
 public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}
  /// A number below `limit`.
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(engine_() % limit); }
  /// `size` random octets.
  Bytes bytes(std::size_t size) {
    Bytes result(size);
    for (std::byte& octet : result) {
      octet = static_cast<std::byte>(below(256));
    }
    return result;
  }

 private:
  std::mt19937 engine_;
};

/// The reason text of a BYE; empty if there is none.
inline std::string bye_reason(const rtp::RtcpPacket& packet) {
  const std::size_t at = std::size_t{packet.count} * 4;
  if (packet.body.size() <= at) {
    return {};
  }
  const auto text = packet.body.subspan(at + 1, std::to_integer<std::size_t>(packet.body[at]));
  return {reinterpret_cast<const char*>(text.data()), text.size()};
}

/// An RTP packet: the plain header with `header`'s fields, then `payload`.
inline Bytes rtp_packet(const rtp::RtpHeader& header, const Bytes& payload) {
  Bytes packet(rtp::kRtpHeaderBytes);
  rtp::write_rtp_header(packet, header);
  packet.insert(packet.end(), payload.begin(), payload.end());
  return packet;
}

}  // namespace test
