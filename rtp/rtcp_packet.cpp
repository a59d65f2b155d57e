#include "rtp/rtcp_packet.h"

#include "rtp/byte_order.h"

#include <algorithm>
#include <cstring>

namespace rtp {
namespace {

constexpr unsigned kVersion = 2;
constexpr std::size_t kSsrcBytes = 4;
constexpr std::size_t kSenderInfoBytes = 20;
constexpr std::uint8_t kSdesEnd = 0;
constexpr std::uint8_t kSdesCname = 1;
constexpr std::size_t kTextBytesMax = 255;
constexpr std::int32_t kCumulativeLostMax = 0x7fffff;
constexpr std::int32_t kCumulativeLostMin = -0x800000;

bool is_type(const RtcpPacket& packet, RtcpType type) noexcept {
  return packet.type == static_cast<std::uint8_t>(type);
}

/// Octets of the packet at the front of `bytes` (at least 4), as its length field says.
std::size_t length_of(std::span<const std::byte> bytes) noexcept {
  return (std::size_t{load_u16(bytes.data() + 2)} + 1) * 4;
}

unsigned version_of(std::span<const std::byte> bytes) noexcept {
  return std::to_integer<unsigned>(bytes[0]) >> 6U;
}

std::string_view text_of(std::span<const std::byte> bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Where the report blocks begin in the body of an SR or RR; 0 for packets without report blocks.
std::size_t report_blocks_offset(const RtcpPacket& packet) noexcept {
  if (is_type(packet, RtcpType::sender_report)) {
    return kSsrcBytes + kSenderInfoBytes;
  }
  return is_type(packet, RtcpType::receiver_report) ? kSsrcBytes : 0;
}

void write_report_block(std::byte* out, const ReportBlock& block) noexcept {
  store_u32(out, block.ssrc);
  out[4] = std::byte{block.fraction_lost};
  const auto lost = std::clamp(block.cumulative_lost, kCumulativeLostMin, kCumulativeLostMax);
  store_u24(out + 5, static_cast<std::uint32_t>(lost));
  store_u32(out + 8, block.highest_sequence);
  store_u32(out + 12, block.jitter);
  store_u32(out + 16, block.last_sender_report);
  store_u32(out + 20, block.delay_since_last_report);
}

void write_text(std::byte* out, std::string_view text) noexcept {
  if (!text.empty()) {
    std::memcpy(out, text.data(), text.size());
  }
}

}  // namespace

std::string_view to_string(RtcpMalformed cause) noexcept {
  switch (cause) {
    case RtcpMalformed::too_short:
      return "too_short";
    case RtcpMalformed::bad_version:
      return "bad_version";
    case RtcpMalformed::length_overrun:
      return "length_overrun";
    case RtcpMalformed::unknown_type:
      return "unknown_type";
  }
  return "unknown";
}

tl::expected<void, RtcpMalformed> validate_rtcp(std::span<const std::byte> datagram) noexcept {
  if (datagram.size() < kRtcpHeaderBytes) {
    return tl::unexpected(RtcpMalformed::too_short);
  }
  if (version_of(datagram) != kVersion) {
    return tl::unexpected(RtcpMalformed::bad_version);
  }
  if (length_of(datagram) > datagram.size()) {
    return tl::unexpected(RtcpMalformed::length_overrun);
  }
  const auto type = std::to_integer<unsigned>(datagram[1]);
  const bool known = (type >= 192 && type <= 195) || (type >= 200 && type <= 213);
  if (!known) {
    return tl::unexpected(RtcpMalformed::unknown_type);
  }
  return {};
}

std::optional<RtcpPacket> RtcpReader::next() noexcept {
  if (rest_.size() < kRtcpHeaderBytes || version_of(rest_) != kVersion) {
    return std::nullopt;
  }
  const std::size_t length = length_of(rest_);
  if (length > rest_.size()) {
    return std::nullopt;
  }
  RtcpPacket packet;
  const auto first = std::to_integer<unsigned>(rest_[0]);
  packet.bytes = rest_.first(length);
  packet.body = packet.bytes.subspan(kRtcpHeaderBytes);
  if ((first & 0x20U) != 0) {
    const std::size_t padding =
        packet.body.empty() ? 0 : std::to_integer<std::size_t>(packet.body.back());
    if (padding == 0 || padding > packet.body.size()) {
      return std::nullopt;
    }
    packet.body = packet.body.first(packet.body.size() - padding);
  }
  packet.count = static_cast<std::uint8_t>(first & 0x1fU);
  packet.type = std::to_integer<std::uint8_t>(rest_[1]);
  rest_ = rest_.subspan(length);
  return packet;
}

std::optional<std::uint32_t> rtcp_ssrc(const RtcpPacket& packet) noexcept {
  if (packet.body.size() < kSsrcBytes) {
    return std::nullopt;
  }
  const bool is_list =
      is_type(packet, RtcpType::goodbye) || is_type(packet, RtcpType::source_description);
  if (is_list && packet.count == 0) {
    return std::nullopt;
  }
  return load_u32(packet.body.data());
}

std::optional<SenderInfo> read_sender_info(const RtcpPacket& packet) noexcept {
  if (!is_type(packet, RtcpType::sender_report) ||
      packet.body.size() < kSsrcBytes + kSenderInfoBytes) {
    return std::nullopt;
  }
  const std::byte* body = packet.body.data();
  SenderInfo sender;
  sender.ssrc = load_u32(body);
  sender.ntp_timestamp = std::uint64_t{load_u32(body + 4)} << 32U | load_u32(body + 8);
  sender.rtp_timestamp = load_u32(body + 12);
  sender.packet_count = load_u32(body + 16);
  sender.octet_count = load_u32(body + 20);
  return sender;
}

std::size_t report_block_count(const RtcpPacket& packet) noexcept {
  const std::size_t offset = report_blocks_offset(packet);
  if (offset == 0 || packet.body.size() < offset) {
    return 0;
  }
  return std::min<std::size_t>(packet.count, (packet.body.size() - offset) / kReportBlockBytes);
}

std::optional<ReportBlock> read_report_block(const RtcpPacket& packet, std::size_t index) noexcept {
  if (index >= report_block_count(packet)) {
    return std::nullopt;
  }
  const std::byte* bytes =
      packet.body.data() + report_blocks_offset(packet) + index * kReportBlockBytes;
  ReportBlock block;
  block.ssrc = load_u32(bytes);
  block.fraction_lost = std::to_integer<std::uint8_t>(bytes[4]);
  const auto lost = static_cast<std::int32_t>(load_u24(bytes + 5));
  block.cumulative_lost = lost > kCumulativeLostMax ? lost - 0x1000000 : lost;
  block.highest_sequence = load_u32(bytes + 8);
  block.jitter = load_u32(bytes + 12);
  block.last_sender_report = load_u32(bytes + 16);
  block.delay_since_last_report = load_u32(bytes + 20);
  return block;
}

std::optional<SdesChunk> read_sdes_chunk(std::span<const std::byte> chunks) noexcept {
  if (chunks.size() < kSsrcBytes) {
    return std::nullopt;
  }
  SdesChunk chunk;
  chunk.ssrc = load_u32(chunks.data());
  std::size_t at = kSsrcBytes;
  while (at < chunks.size()) {
    const auto item = std::to_integer<std::uint8_t>(chunks[at]);
    if (item == kSdesEnd) {
      // The list ends with at least one zero octet and is filled up to the next multiple of 4.
      chunk.size = (at / 4 + 1) * 4;
      if (chunk.size > chunks.size()) {
        return std::nullopt;
      }
      return chunk;
    }
    if (chunks.size() - at < 2) {
      return std::nullopt;
    }
    const auto length = std::to_integer<std::size_t>(chunks[at + 1]);
    if (chunks.size() - at - 2 < length) {
      return std::nullopt;
    }
    if (item == kSdesCname && chunk.cname.empty()) {
      chunk.cname = text_of(chunks.subspan(at + 2, length));
    }
    at += 2 + length;
  }
  return std::nullopt;
}

std::optional<std::uint32_t> read_bye_source(const RtcpPacket& packet, std::size_t index) noexcept {
  if (!is_type(packet, RtcpType::goodbye) || index >= packet.count ||
      packet.body.size() < (index + 1) * kSsrcBytes) {
    return std::nullopt;
  }
  return load_u32(packet.body.data() + index * kSsrcBytes);
}

std::byte* RtcpWriter::begin_packet(RtcpType type, std::size_t count,
                                    std::size_t packet_bytes) noexcept {
  if (count > kRtcpCountMax || packet_bytes > out_.size() - size_) {
    return nullptr;
  }
  std::byte* packet = out_.data() + size_;
  std::fill_n(packet, packet_bytes, std::byte{0});
  packet[0] = static_cast<std::byte>(kVersion << 6U | count);
  packet[1] = static_cast<std::byte>(type);
  store_u16(packet + 2, static_cast<std::uint16_t>(packet_bytes / 4 - 1));
  size_ += packet_bytes;
  return packet + kRtcpHeaderBytes;
}

bool RtcpWriter::add_sender_report(const SenderInfo& sender,
                                   std::span<const ReportBlock> blocks) noexcept {
  std::byte* body = begin_packet(
      RtcpType::sender_report, blocks.size(),
      kRtcpHeaderBytes + kSsrcBytes + kSenderInfoBytes + blocks.size() * kReportBlockBytes);
  if (body == nullptr) {
    return false;
  }
  store_u32(body, sender.ssrc);
  store_u32(body + 4, static_cast<std::uint32_t>(sender.ntp_timestamp >> 32U));
  store_u32(body + 8, static_cast<std::uint32_t>(sender.ntp_timestamp & 0xffffffffU));
  store_u32(body + 12, sender.rtp_timestamp);
  store_u32(body + 16, sender.packet_count);
  store_u32(body + 20, sender.octet_count);
  std::byte* at = body + kSsrcBytes + kSenderInfoBytes;
  for (const ReportBlock& block : blocks) {
    write_report_block(at, block);
    at += kReportBlockBytes;
  }
  return true;
}

bool RtcpWriter::add_receiver_report(std::uint32_t ssrc,
                                     std::span<const ReportBlock> blocks) noexcept {
  std::byte* body = begin_packet(RtcpType::receiver_report, blocks.size(),
                                 kRtcpHeaderBytes + kSsrcBytes + blocks.size() * kReportBlockBytes);
  if (body == nullptr) {
    return false;
  }
  store_u32(body, ssrc);
  std::byte* at = body + kSsrcBytes;
  for (const ReportBlock& block : blocks) {
    write_report_block(at, block);
    at += kReportBlockBytes;
  }
  return true;
}

bool RtcpWriter::add_cname(std::uint32_t ssrc, std::string_view cname) noexcept {
  if (cname.size() > kTextBytesMax) {
    return false;
  }
  // Item type, length and text, at least one zero octet, filled up to a multiple of 4.
  const std::size_t item_bytes = (2 + cname.size() + 1 + 3) / 4 * 4;
  std::byte* body =
      begin_packet(RtcpType::source_description, 1, kRtcpHeaderBytes + kSsrcBytes + item_bytes);
  if (body == nullptr) {
    return false;
  }
  store_u32(body, ssrc);
  body[4] = std::byte{kSdesCname};
  body[5] = static_cast<std::byte>(cname.size());
  write_text(body + 6, cname);
  return true;
}

bool RtcpWriter::add_bye(std::uint32_t ssrc, std::string_view reason) noexcept {
  if (reason.size() > kTextBytesMax) {
    return false;
  }
  const std::size_t reason_bytes = reason.empty() ? 0 : (1 + reason.size() + 3) / 4 * 4;
  std::byte* body =
      begin_packet(RtcpType::goodbye, 1, kRtcpHeaderBytes + kSsrcBytes + reason_bytes);
  if (body == nullptr) {
    return false;
  }
  store_u32(body, ssrc);
  if (!reason.empty()) {
    body[4] = static_cast<std::byte>(reason.size());
    write_text(body + 5, reason);
  }
  return true;
}

}  // namespace rtp
