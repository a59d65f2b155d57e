#include "rtp/rtp_header.h"

#include "rtp/byte_order.h"

#include <limits>

namespace rtp {
namespace {

constexpr unsigned kVersion = 2;
constexpr std::byte kPaddingBit{0x20};
constexpr std::byte kMarkerBit{0x80};

}  // namespace

std::string_view to_string(RtpMalformed cause) noexcept {
  switch (cause) {
    case RtpMalformed::too_short:
      return "too_short";
    case RtpMalformed::bad_version:
      return "bad_version";
    case RtpMalformed::csrc_overrun:
      return "csrc_overrun";
    case RtpMalformed::extension_overrun:
      return "extension_overrun";
    case RtpMalformed::bad_padding:
      return "bad_padding";
  }
  return "unknown";
}

tl::expected<RtpHeader, RtpMalformed> parse_rtp(std::span<const std::byte> packet) noexcept {
  if (packet.size() < kRtpHeaderBytes ||
      packet.size() > std::numeric_limits<std::uint16_t>::max()) {
    return tl::unexpected(RtpMalformed::too_short);
  }
  const auto first = std::to_integer<unsigned>(packet[0]);
  if (first >> 6U != kVersion) {
    return tl::unexpected(RtpMalformed::bad_version);
  }
  RtpHeader header;
  header.csrc_count = static_cast<std::uint8_t>(first & 0x0fU);
  header.has_extension = (first & 0x10U) != 0;
  std::size_t offset = kRtpHeaderBytes + std::size_t{header.csrc_count} * 4;
  if (offset > packet.size()) {
    return tl::unexpected(RtpMalformed::csrc_overrun);
  }
  if (header.has_extension) {
    if (packet.size() - offset < 4) {
      return tl::unexpected(RtpMalformed::extension_overrun);
    }
    offset += 4 + std::size_t{load_u16(packet.data() + offset + 2)} * 4;
    if (offset > packet.size()) {
      return tl::unexpected(RtpMalformed::extension_overrun);
    }
  }
  if ((packet[0] & kPaddingBit) != std::byte{0}) {
    header.padding_size = std::to_integer<std::uint8_t>(packet.back());
    if (header.padding_size == 0 || header.padding_size > packet.size() - offset) {
      return tl::unexpected(RtpMalformed::bad_padding);
    }
  }
  header.marker = (packet[1] & kMarkerBit) != std::byte{0};
  header.payload_type = std::to_integer<std::uint8_t>(packet[1] & ~kMarkerBit);
  header.sequence = load_u16(packet.data() + 2);
  header.timestamp = load_u32(packet.data() + 4);
  header.ssrc = load_u32(packet.data() + 8);
  header.payload_offset = static_cast<std::uint16_t>(offset);
  header.payload_size = static_cast<std::uint16_t>(packet.size() - offset - header.padding_size);
  return header;
}

void set_payload_type(std::span<std::byte> packet, std::uint8_t payload_type) noexcept {
  packet[1] = (packet[1] & kMarkerBit) | (std::byte{payload_type} & ~kMarkerBit);
}

void set_marker(std::span<std::byte> packet, bool marker) noexcept {
  packet[1] = (packet[1] & ~kMarkerBit) | (marker ? kMarkerBit : std::byte{0});
}

void set_sequence(std::span<std::byte> packet, std::uint16_t sequence) noexcept {
  store_u16(packet.subspan(2, 2).data(), sequence);
}

void set_timestamp(std::span<std::byte> packet, std::uint32_t timestamp) noexcept {
  store_u32(packet.subspan(4, 4).data(), timestamp);
}

void set_ssrc(std::span<std::byte> packet, std::uint32_t ssrc) noexcept {
  store_u32(packet.subspan(8, 4).data(), ssrc);
}

std::size_t remove_padding(std::span<std::byte> packet, RtpHeader& header) noexcept {
  packet[0] &= ~kPaddingBit;
  header.padding_size = 0;
  return std::size_t{header.payload_offset} + header.payload_size;
}

std::size_t write_rtp_header(std::span<std::byte> out, const RtpHeader& header) noexcept {
  if (out.size() < kRtpHeaderBytes) {
    return 0;
  }
  out[0] = std::byte{kVersion << 6U};
  out[1] = std::byte{0};
  set_payload_type(out, header.payload_type);
  set_marker(out, header.marker);
  set_sequence(out, header.sequence);
  set_timestamp(out, header.timestamp);
  set_ssrc(out, header.ssrc);
  return kRtpHeaderBytes;
}

}  // namespace rtp
