#include "rtp/rtcp_rewrite.h"

#include "rtp/byte_order.h"
#include "rtp/rtcp_packet.h"
#include "rtp/sequence.h"

#include <algorithm>
#include <cstring>

namespace rtp {
namespace {

constexpr std::size_t kSsrcBytes = 4;
constexpr unsigned kNack = 1;              // RFC 4585 section 6.2.1
constexpr unsigned kRateRequest = 3;       // RFC 5104 section 4.2.1, TMMBR
constexpr unsigned kRateNotice = 4;        // RFC 5104 section 4.2.2, TMMBN
constexpr unsigned kFullIntraRequest = 4;  // RFC 5104 section 4.3.1, FIR
constexpr std::size_t kRateEntryBytes = 8;
constexpr std::size_t kNackEntryBytes = 4;
constexpr std::size_t kDlrrEntryBytes = 12;

/// Body of one packet, to write to. `count` and the length change where entries are removed.
struct PacketBody {
  std::span<std::byte> bytes;
  std::uint8_t type = 0;
  std::uint8_t count = 0;
  bool removed = false;  // nothing of the packet is left
  bool shorter = false;  // entries were removed: `bytes` and `count` are the new ones
};

/// Whether `ssrc` belongs to a stream that the source gave up but whose number the output still
/// uses.
bool is_retired(const StreamMapping& sender, std::uint32_t ssrc) noexcept {
  return sender.active && ssrc == sender.output_ssrc && ssrc != sender.source_ssrc;
}

bool is_source(const StreamMapping& sender, std::uint32_t ssrc) noexcept {
  return sender.active && ssrc == sender.source_ssrc;
}

/// Puts an SSRC that names the reported stream back to the source's.
void restore_ssrc(std::byte* field, const StreamMapping& reported) noexcept {
  if (reported.active && load_u32(field) == reported.output_ssrc) {
    store_u32(field, reported.source_ssrc);
  }
}

void restore_sequence(std::byte* field, const StreamMapping& reported) noexcept {
  store_u16(field, static_cast<std::uint16_t>(load_u16(field) - reported.sequence_offset));
}

/// The source's extended number for an output number that its receiver reports. Cycles are the
/// source's: the receiver may have counted from a later start, and it can't have seen what was not
/// sent yet.
std::uint32_t source_extended_sequence(std::uint32_t output,
                                       const StreamMapping& reported) noexcept {
  const auto low = static_cast<std::uint16_t>((output & 0xffffU) - reported.sequence_offset);
  const std::int64_t highest = reported.source_highest_sequence;
  std::int64_t extended = extend_sequence(highest, low);
  if (extended > highest) {
    extended -= 0x10000;
  }
  return extended < 0 ? low : static_cast<std::uint32_t>(extended);
}

void rewrite_report_blocks(std::span<std::byte> blocks, std::size_t count,
                           const StreamMapping& reported) noexcept {
  const std::size_t present = std::min(count, blocks.size() / kReportBlockBytes);
  for (std::size_t index = 0; index < present; ++index) {
    std::byte* block = blocks.data() + index * kReportBlockBytes;
    if (reported.active && load_u32(block) == reported.output_ssrc) {
      store_u32(block, reported.source_ssrc);
      store_u32(block + 8, source_extended_sequence(load_u32(block + 8), reported));
    }
  }
}

void rewrite_report(PacketBody& body, const RtcpRewrite& rewrite) noexcept {
  const bool is_sender = body.type == static_cast<std::uint8_t>(RtcpType::sender_report);
  const std::size_t blocks_at = is_sender ? 24 : kSsrcBytes;
  if (body.bytes.size() < blocks_at) {
    return;
  }
  const std::uint32_t ssrc = load_u32(body.bytes.data());
  if (is_sender && is_retired(rewrite.sender, ssrc)) {
    body.removed = true;
    return;
  }
  if (is_source(rewrite.sender, ssrc)) {
    std::byte* at = body.bytes.data();
    store_u32(at, rewrite.sender.output_ssrc);
    if (is_sender) {
      store_u32(at + 12, load_u32(at + 12) + rewrite.sender.timestamp_offset);
      store_u32(at + 16, load_u32(at + 16) + rewrite.sender.packets_before);
      store_u32(at + 20, load_u32(at + 20) + rewrite.sender.octets_before);
    }
  }
  rewrite_report_blocks(body.bytes.subspan(blocks_at), body.count, rewrite.reported);
}

/// Takes `size` octets at `at` out of the body; what is behind them moves up.
void remove_entry(PacketBody& body, std::size_t at, std::size_t size) noexcept {
  const std::size_t behind = body.bytes.size() - at - size;
  std::memmove(body.bytes.data() + at, body.bytes.data() + at + size, behind);
  body.bytes = body.bytes.first(body.bytes.size() - size);
  --body.count;
  body.shorter = true;
  body.removed = body.count == 0;
}

void rewrite_source_description(PacketBody& body, const StreamMapping& sender) noexcept {
  std::size_t at = 0;
  for (unsigned left = body.count; left > 0; --left) {
    const auto chunk = read_sdes_chunk(body.bytes.subspan(at));
    if (!chunk) {
      return;
    }
    if (is_retired(sender, chunk->ssrc)) {
      remove_entry(body, at, chunk->size);
      continue;
    }
    if (is_source(sender, chunk->ssrc)) {
      store_u32(body.bytes.data() + at, sender.output_ssrc);
    }
    at += chunk->size;
  }
}

void rewrite_goodbye(PacketBody& body, const StreamMapping& sender) noexcept {
  std::size_t at = 0;
  for (unsigned left = body.count; left > 0 && body.bytes.size() - at >= kSsrcBytes; --left) {
    const std::uint32_t ssrc = load_u32(body.bytes.data() + at);
    if (is_retired(sender, ssrc)) {
      remove_entry(body, at, kSsrcBytes);
      continue;
    }
    if (is_source(sender, ssrc)) {
      store_u32(body.bytes.data() + at, sender.output_ssrc);
    }
    at += kSsrcBytes;
  }
}

void rewrite_sender_field(std::span<std::byte> bytes, const StreamMapping& sender) noexcept {
  if (bytes.size() >= kSsrcBytes && is_source(sender, load_u32(bytes.data()))) {
    store_u32(bytes.data(), sender.output_ssrc);
  }
}

void rewrite_feedback(PacketBody& body, const RtcpRewrite& rewrite) noexcept {
  rewrite_sender_field(body.bytes, rewrite.sender);
  if (body.bytes.size() < 2 * kSsrcBytes || !rewrite.reported.active) {
    return;
  }
  std::byte* media_source = body.bytes.data() + kSsrcBytes;
  const bool names_stream = load_u32(media_source) == rewrite.reported.output_ssrc;
  restore_ssrc(media_source, rewrite.reported);
  const std::span<std::byte> entries = body.bytes.subspan(2 * kSsrcBytes);
  const bool is_transport = body.type == static_cast<std::uint8_t>(RtcpType::transport_feedback);
  if (is_transport && body.count == kNack && names_stream) {
    for (std::size_t at = 0; at + kNackEntryBytes <= entries.size(); at += kNackEntryBytes) {
      restore_sequence(entries.data() + at, rewrite.reported);
    }
  }
  const bool names_in_entries = is_transport
                                    ? body.count == kRateRequest || body.count == kRateNotice
                                    : body.count == kFullIntraRequest;
  if (names_in_entries) {
    for (std::size_t at = 0; at + kRateEntryBytes <= entries.size(); at += kRateEntryBytes) {
      restore_ssrc(entries.data() + at, rewrite.reported);
    }
  }
}

/// One report block of an extended report, with its 4-octet header (RFC 3611 section 4).
void rewrite_extended_block(std::span<std::byte> block, const StreamMapping& reported) noexcept {
  constexpr unsigned kLossRle = 1;
  constexpr unsigned kReceiptTimes = 3;
  constexpr unsigned kDlrr = 5;
  constexpr unsigned kStatisticsSummary = 6;
  constexpr unsigned kVoipMetrics = 7;
  const auto type = std::to_integer<unsigned>(block[0]);
  if (type == kDlrr) {
    for (std::size_t at = 4; at + kDlrrEntryBytes <= block.size(); at += kDlrrEntryBytes) {
      restore_ssrc(block.data() + at, reported);
    }
    return;
  }
  const bool has_range = (type >= kLossRle && type <= kReceiptTimes) || type == kStatisticsSummary;
  if (block.size() < 12 || (!has_range && type != kVoipMetrics) || !reported.active ||
      load_u32(block.data() + 4) != reported.output_ssrc) {
    return;
  }
  restore_ssrc(block.data() + 4, reported);
  if (has_range) {
    restore_sequence(block.data() + 8, reported);
    restore_sequence(block.data() + 10, reported);
  }
}

void rewrite_extended_report(PacketBody& body, const RtcpRewrite& rewrite) noexcept {
  rewrite_sender_field(body.bytes, rewrite.sender);
  std::size_t at = kSsrcBytes;
  while (at + 4 <= body.bytes.size()) {
    const std::size_t size = 4 + std::size_t{load_u16(body.bytes.data() + at + 2)} * 4;
    if (size > body.bytes.size() - at) {
      return;
    }
    rewrite_extended_block(body.bytes.subspan(at, size), rewrite.reported);
    at += size;
  }
}

void rewrite_body(PacketBody& body, const RtcpRewrite& rewrite) noexcept {
  switch (static_cast<RtcpType>(body.type)) {
    case RtcpType::sender_report:
    case RtcpType::receiver_report:
      rewrite_report(body, rewrite);
      break;
    case RtcpType::source_description:
      rewrite_source_description(body, rewrite.sender);
      break;
    case RtcpType::goodbye:
      rewrite_goodbye(body, rewrite.sender);
      break;
    case RtcpType::transport_feedback:
    case RtcpType::payload_feedback:
      rewrite_feedback(body, rewrite);
      break;
    case RtcpType::extended_report:
      rewrite_extended_report(body, rewrite);
      break;
    case RtcpType::application:
      rewrite_sender_field(body.bytes, rewrite.sender);
      break;
  }
}

/// Rewrites the packet in `bytes`; returns how many of its octets are left, 0 = none.
std::size_t rewrite_packet(const RtcpPacket& packet, std::span<std::byte> bytes,
                           const RtcpRewrite& rewrite) noexcept {
  PacketBody body{bytes.subspan(kRtcpHeaderBytes, packet.body.size()), packet.type, packet.count};
  rewrite_body(body, rewrite);
  if (body.removed) {
    return 0;
  }
  if (!body.shorter) {
    return bytes.size();
  }
  // Entries went: the padding goes too, and the header says so. Chunks and sources are multiples of
  // 4 octets; a BYE's reason that is not is cut down to whole words.
  const std::size_t size = (kRtcpHeaderBytes + body.bytes.size()) / 4 * 4;
  bytes[0] = static_cast<std::byte>(0x80U | body.count);
  store_u16(bytes.data() + 2, static_cast<std::uint16_t>(size / 4 - 1));
  return size;
}

/// Whether the packet speaks of sequence numbers, timestamps or counts of media.
bool is_report(const RtcpPacket& packet) noexcept {
  switch (static_cast<RtcpType>(packet.type)) {
    case RtcpType::sender_report:
    case RtcpType::receiver_report:
    case RtcpType::transport_feedback:
    case RtcpType::payload_feedback:
    case RtcpType::extended_report:
      return true;
    default:
      return false;
  }
}

/// Leaves reports out; the first packet, if it is SR or RR, becomes an empty RR. Returns the new
/// size, 0 if nothing is left that is worth a packet.
std::size_t leave_out_reports(std::span<std::byte> compound) noexcept {
  constexpr std::size_t kEmptyReportBytes = kRtcpHeaderBytes + kSsrcBytes;
  RtcpReader reader(compound);
  std::size_t read = 0;
  std::size_t written = 0;
  bool worth = false;
  while (const auto packet = reader.next()) {
    const std::size_t size = packet->bytes.size();
    std::size_t left = size;
    if (is_report(*packet)) {
      const bool leads = read == 0 && size >= kEmptyReportBytes &&
                         packet->type <= static_cast<std::uint8_t>(RtcpType::receiver_report);
      left = leads ? kEmptyReportBytes : 0;
      if (leads) {
        compound[0] = std::byte{0x80};
        compound[1] = static_cast<std::byte>(RtcpType::receiver_report);
        store_u16(compound.data() + 2, kEmptyReportBytes / 4 - 1);
      }
    } else {
      worth = worth || packet->type != static_cast<std::uint8_t>(RtcpType::source_description);
    }
    std::memmove(compound.data() + written, compound.data() + read, left);
    read += size;
    written += left;
  }
  return worth ? written : 0;
}

}  // namespace

std::size_t rewrite_rtcp(std::span<std::byte> compound, const RtcpRewrite& rewrite) noexcept {
  if (rewrite.without_reports) {
    compound = compound.first(leave_out_reports(compound));
  }
  if (!rewrite.sender.active && !rewrite.reported.active) {
    return compound.size();
  }
  RtcpReader reader(compound);
  std::size_t read = 0;
  std::size_t written = 0;
  while (const auto packet = reader.next()) {
    const std::size_t size = packet->bytes.size();
    const std::size_t left = rewrite_packet(*packet, compound.subspan(read, size), rewrite);
    std::memmove(compound.data() + written, compound.data() + read, left);
    read += size;
    written += left;
  }
  const std::size_t rest = compound.size() - read;
  if (written == read) {
    return compound.size();
  }
  std::memmove(compound.data() + written, compound.data() + read, rest);
  // Where the first packet went, what follows it may be nothing that can stand alone.
  const std::size_t left = written + rest;
  return validate_rtcp(compound.first(left)) ? left : 0;
}

}  // namespace rtp
