#include "rtp/osmux_chunk.h"

#include "rtp/amr.h"
#include "rtp/rtp_header.h"

#include <algorithm>
#include <limits>

namespace rtp {
namespace {

constexpr unsigned kTypeSignalling = 0;
constexpr unsigned kTypeVoice = 1;
constexpr unsigned kTypeDummy = 2;

constexpr std::size_t kLegacyDummyBytes = 2;
constexpr std::byte kLegacyDummyOctet{0x23};

// CMR and table of contents of an octet-aligned payload with one frame.
constexpr std::size_t kAmrPrefixBytes = 2;

OsmuxHeader read_header(std::span<const std::byte> bytes) noexcept {
  const auto first = std::to_integer<unsigned>(bytes[0]);
  const auto last = std::to_integer<unsigned>(bytes[3]);
  OsmuxHeader header;
  header.kind = (first >> 5U & 3U) == kTypeDummy ? OsmuxKind::dummy : OsmuxKind::voice;
  header.marker = (first & 0x80U) != 0;
  header.frame_count = static_cast<std::uint8_t>((first >> 2U & 7U) + 1);
  header.followed = (first & 2U) != 0;
  header.good = (first & 1U) != 0;
  header.sequence = std::to_integer<std::uint8_t>(bytes[1]);
  header.circuit = std::to_integer<std::uint8_t>(bytes[2]);
  header.frame_type = static_cast<std::uint8_t>(last >> 4U);
  header.mode_request = static_cast<std::uint8_t>(last & 0x0fU);
  return header;
}

}  // namespace

std::string_view to_string(OsmuxMalformed cause) noexcept {
  switch (cause) {
    case OsmuxMalformed::too_short:
      return "too_short";
    case OsmuxMalformed::signalling:
      return "signalling";
    case OsmuxMalformed::bad_type:
      return "bad_type";
    case OsmuxMalformed::reserved_frame_type:
      return "reserved_frame_type";
    case OsmuxMalformed::frames_overrun:
      return "frames_overrun";
  }
  return "unknown";
}

std::optional<std::size_t> osmux_frame_bytes(std::uint8_t frame_type) noexcept {
  const auto bits = amr_frame_bits(AmrCodec::narrowband, frame_type);
  if (!bits) {
    return std::nullopt;
  }
  return (std::size_t{*bits} + 7) / 8;
}

void write_osmux_header(std::span<std::byte> out, const OsmuxHeader& header) noexcept {
  const unsigned type = header.kind == OsmuxKind::voice ? kTypeVoice : kTypeDummy;
  const unsigned first = (header.marker ? 0x80U : 0U) | type << 5U |
                         ((header.frame_count - 1U) & 7U) << 2U | (header.followed ? 2U : 0U) |
                         (header.good ? 1U : 0U);
  out[0] = static_cast<std::byte>(first);
  out[1] = std::byte{header.sequence};
  out[2] = std::byte{header.circuit};
  out[3] =
      static_cast<std::byte>((header.frame_type & 0x0fU) << 4U | (header.mode_request & 0x0fU));
}

std::size_t write_osmux_dummy(std::span<std::byte> out, std::uint8_t circuit) noexcept {
  if (out.size() < kOsmuxDummyBytes) {
    return 0;
  }
  write_osmux_header(out, {.kind = OsmuxKind::dummy,
                           .marker = false,
                           .frame_count = 1,
                           .followed = false,
                           .good = false,
                           .sequence = 0,
                           .circuit = circuit,
                           .frame_type = 0,
                           .mode_request = 0});
  std::ranges::fill(out.subspan(kOsmuxHeaderBytes, kOsmuxDummyBytes - kOsmuxHeaderBytes),
                    std::byte{0});
  return kOsmuxDummyBytes;
}

OsmuxReader::OsmuxReader(std::span<const std::byte> datagram) noexcept
    : rest_(datagram),
      legacy_(datagram.size() == kLegacyDummyBytes && datagram[0] == kLegacyDummyOctet) {
  if (datagram.empty()) {
    give_up(OsmuxMalformed::too_short);
  }
}

std::optional<OsmuxChunk> OsmuxReader::next() noexcept {
  if (done_ || rest_.empty()) {
    return std::nullopt;
  }
  if (legacy_) {
    done_ = true;
    OsmuxChunk chunk;
    chunk.header.kind = OsmuxKind::legacy_dummy;
    chunk.header.circuit = std::to_integer<std::uint8_t>(rest_[1]);
    return chunk;
  }
  if (rest_.size() < kOsmuxHeaderBytes) {
    return give_up(OsmuxMalformed::too_short);
  }
  const unsigned type = std::to_integer<unsigned>(rest_[0]) >> 5U & 3U;
  if (type != kTypeVoice && type != kTypeDummy) {
    return give_up(type == kTypeSignalling ? OsmuxMalformed::signalling : OsmuxMalformed::bad_type);
  }
  OsmuxChunk chunk;
  chunk.header = read_header(rest_);
  const auto frame_bytes = osmux_frame_bytes(chunk.header.frame_type);
  if (!frame_bytes) {
    return give_up(OsmuxMalformed::reserved_frame_type);
  }
  const std::size_t bytes = *frame_bytes * chunk.header.frame_count;
  if (bytes > rest_.size() - kOsmuxHeaderBytes) {
    return give_up(OsmuxMalformed::frames_overrun);
  }
  chunk.frames = rest_.subspan(kOsmuxHeaderBytes, bytes);
  rest_ = rest_.subspan(kOsmuxHeaderBytes + bytes);
  if (chunk.header.kind == OsmuxKind::voice) {
    chunk.continues = seen_[chunk.header.circuit];
    seen_[chunk.header.circuit] = true;
  }
  return chunk;
}

std::optional<OsmuxChunk> OsmuxReader::give_up(OsmuxMalformed cause) noexcept {
  malformed_ = cause;
  done_ = true;
  return std::nullopt;
}

std::size_t plain_rtp_bytes(std::size_t frame_bytes, std::size_t packet_overhead_bytes) noexcept {
  return packet_overhead_bytes + kRtpHeaderBytes + kAmrPrefixBytes + frame_bytes;
}

std::uint32_t osmux_ssrc(std::uint8_t remote_circuit, std::uint32_t random) noexcept {
  constexpr std::uint32_t kWindow = std::numeric_limits<std::uint32_t>::max() / kOsmuxCircuits;
  return remote_circuit * kWindow + random % kWindow;
}

}  // namespace rtp
