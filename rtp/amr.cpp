#include "rtp/amr.h"

#include <algorithm>
#include <cstring>

namespace rtp {
namespace {

constexpr std::uint16_t kReserved = 0xffff;
using FrameBits = std::array<std::uint16_t, kAmrFrameTypes>;

// 4.75 .. 12.2 kbit/s, AMR SID, GSM-EFR SID, TDMA-EFR SID, PDC-EFR SID, reserved, NO_DATA.
constexpr FrameBits kNarrowbandBits{95, 103, 118, 134, 148,       159,       204,       244,
                                    39, 43,  38,  37,  kReserved, kReserved, kReserved, 0};
// 6.60 .. 23.85 kbit/s, AMR-WB SID, reserved, SPEECH_LOST, NO_DATA.
constexpr FrameBits kWidebandBits{132, 177, 253,       285,       317,       365,       397, 461,
                                  477, 40,  kReserved, kReserved, kReserved, kReserved, 0,   0};

constexpr std::size_t kModeRequestBits = 4;
constexpr std::size_t kEntryBits = 6;

constexpr std::size_t octets_of(std::size_t bits) noexcept {
  return (bits + 7) / 8;
}

/// The octet whose first bit is bit `at` of `bytes`; zeros behind the end.
unsigned octet_at_bit(std::span<const std::byte> bytes, std::size_t at) noexcept {
  const std::size_t index = at / 8;
  const auto shift = static_cast<unsigned>(at % 8);
  const unsigned first = index < bytes.size() ? std::to_integer<unsigned>(bytes[index]) : 0;
  const unsigned second =
      index + 1 < bytes.size() ? std::to_integer<unsigned>(bytes[index + 1]) : 0;
  return ((first << 8U | second) >> (8U - shift)) & 0xffU;
}

/// Adds one entry of the table of contents, which came as F, FT and Q in the upper 6 bits of
/// `entry`.
std::optional<ConversionError> add_frame(AmrPayload& payload, AmrCodec codec,
                                         unsigned entry) noexcept {
  if (payload.frame_count == kAmrFramesMax) {
    return ConversionError::too_many_frames;
  }
  AmrFrame& frame = payload.frames[payload.frame_count];
  frame.type = static_cast<std::uint8_t>(entry >> 3U & 0x0fU);
  frame.good = (entry & 0x04U) != 0;
  const auto bits = amr_frame_bits(codec, frame.type);
  if (!bits) {
    return ConversionError::invalid_frame_type;
  }
  frame.bits = *bits;
  ++payload.frame_count;
  return std::nullopt;
}

/// Why the payload can't be read; none if it was.
using ReadError = std::optional<ConversionError>;

ReadError read_octet_aligned(std::span<const std::byte> bytes, AmrCodec codec,
                             AmrPayload& payload) noexcept {
  if (bytes.size() < 2 || (bytes[0] & std::byte{0x0f}) != std::byte{0}) {
    return ConversionError::wrong_length;
  }
  payload.mode_request = std::to_integer<std::uint8_t>(bytes[0] >> 4U);
  std::size_t at = 1;
  for (bool follows = true; follows; ++at) {
    if (at >= bytes.size()) {
      return ConversionError::wrong_length;
    }
    const auto entry = std::to_integer<unsigned>(bytes[at]);
    if ((entry & 0x03U) != 0) {
      return ConversionError::wrong_length;
    }
    if (const auto error = add_frame(payload, codec, entry)) {
      return error;
    }
    follows = (entry & 0x80U) != 0;
  }
  for (AmrFrame& frame : std::span(payload.frames).first(payload.frame_count)) {
    frame.offset_bits = static_cast<std::uint32_t>(at * 8);
    at += octets_of(frame.bits);
  }
  if (at != bytes.size()) {
    return ConversionError::wrong_length;
  }
  return std::nullopt;
}

ReadError read_bandwidth_efficient(std::span<const std::byte> bytes, AmrCodec codec,
                                   AmrPayload& payload) noexcept {
  std::size_t at = kModeRequestBits;
  for (bool follows = true; follows; at += kEntryBits) {
    if (at + kEntryBits > bytes.size() * 8) {
      return ConversionError::wrong_length;
    }
    const unsigned entry = octet_at_bit(bytes, at);
    if (const auto error = add_frame(payload, codec, entry)) {
      return error;
    }
    follows = (entry & 0x80U) != 0;
  }
  payload.mode_request = std::to_integer<std::uint8_t>(bytes[0] >> 4U);
  for (AmrFrame& frame : std::span(payload.frames).first(payload.frame_count)) {
    frame.offset_bits = static_cast<std::uint32_t>(at);
    at += frame.bits;
  }
  if (octets_of(at) != bytes.size()) {
    return ConversionError::wrong_length;
  }
  const bool padding_is_zero = at % 8 == 0 || octet_at_bit(bytes, at) == 0;
  AmrPayload other;
  if (!padding_is_zero && !read_octet_aligned(bytes, codec, other)) {
    return ConversionError::wrong_length;
  }
  return std::nullopt;
}

ReadError read(std::span<const std::byte> bytes, AmrCodec codec, AmrFormat format,
               AmrPayload& payload) noexcept {
  return format == AmrFormat::octet_aligned ? read_octet_aligned(bytes, codec, payload)
                                            : read_bandwidth_efficient(bytes, codec, payload);
}

/// Copies `bits` bits (at least 1) from bit `at` of `in` to the front of `out`; the rest of the
/// last octet becomes 0.
void unpack_bits(std::span<const std::byte> in, std::size_t at, std::size_t bits,
                 std::byte* out) noexcept {
  const auto shift = static_cast<unsigned>(at % 8);
  const std::byte* from = in.data() + at / 8;
  const std::size_t last = octets_of(bits) - 1;
  for (std::size_t index = 0; index < last; ++index) {
    out[index] = from[index] << shift | from[index + 1] >> (8U - shift);
  }
  const std::size_t rest = bits - last * 8;
  out[last] = static_cast<std::byte>(octet_at_bit(in, at + last * 8) & (0xff00U >> rest) & 0xffU);
}

/// Puts the upper `bits` bits of `octet` at bit `at` of `out`, where there are zeros.
void pack_octet(unsigned octet, std::size_t bits, std::span<std::byte> out,
                std::size_t at) noexcept {
  const unsigned kept = octet & (0xff00U >> bits) & 0xffU;
  const unsigned spread = kept << (8U - at % 8);
  out[at / 8] |= static_cast<std::byte>(spread >> 8U);
  if (at % 8 + bits > 8) {
    out[at / 8 + 1] |= static_cast<std::byte>(spread & 0xffU);
  }
}

/// F, FT and Q in the upper 6 bits.
unsigned entry_of(const AmrPayload& payload, std::size_t index) noexcept {
  const AmrFrame& frame = payload.frames[index];
  const unsigned follows = index + 1 < payload.frame_count ? 0x80U : 0U;
  return follows | static_cast<unsigned>(frame.type) << 3U | (frame.good ? 0x04U : 0U);
}

std::size_t size_in(const AmrPayload& payload, AmrFormat format) noexcept {
  const auto frames = std::span(payload.frames).first(payload.frame_count);
  std::size_t octets = 1 + frames.size();
  std::size_t bits = kModeRequestBits + kEntryBits * frames.size();
  for (const AmrFrame& frame : frames) {
    octets += octets_of(frame.bits);
    bits += frame.bits;
  }
  return format == AmrFormat::octet_aligned ? octets : octets_of(bits);
}

/// Puts the first `bits` bits of `in` at bit `at` of `out`, where there are zeros.
void pack_bits(const std::byte* in, std::size_t bits, std::span<std::byte> out,
               std::size_t at) noexcept {
  const auto shift = static_cast<unsigned>(at % 8);
  const std::size_t whole = bits / 8;
  std::byte* to = out.data() + at / 8;
  if (shift == 0) {
    std::memcpy(to, in, whole);
  } else {
    std::byte begun = to[0];
    for (std::size_t index = 0; index < whole; ++index) {
      to[index] = begun | in[index] >> shift;
      begun = in[index] << (8U - shift);
    }
    to[whole] = begun;
  }
  if (bits % 8 != 0) {
    pack_octet(std::to_integer<unsigned>(in[whole]), bits % 8, out, at + whole * 8);
  }
}

void write_octet_aligned(std::span<const std::byte> in, const AmrPayload& payload,
                         std::span<std::byte> out) noexcept {
  out[0] = static_cast<std::byte>(payload.mode_request << 4U);
  for (std::size_t index = 0; index < payload.frame_count; ++index) {
    out[1 + index] = static_cast<std::byte>(entry_of(payload, index));
  }
  std::size_t at = 1 + payload.frame_count;
  for (const AmrFrame& frame : std::span(payload.frames).first(payload.frame_count)) {
    if (frame.bits != 0) {
      unpack_bits(in, frame.offset_bits, frame.bits, out.data() + at);
      at += octets_of(frame.bits);
    }
  }
}

void write_bandwidth_efficient(std::span<const std::byte> in, const AmrPayload& payload,
                               std::span<std::byte> out) noexcept {
  std::fill(out.begin(), out.end(), std::byte{0});
  pack_octet(static_cast<unsigned>(payload.mode_request) << 4U, kModeRequestBits, out, 0);
  std::size_t at = kModeRequestBits;
  for (std::size_t index = 0; index < payload.frame_count; ++index) {
    pack_octet(entry_of(payload, index), kEntryBits, out, at);
    at += kEntryBits;
  }
  for (const AmrFrame& frame : std::span(payload.frames).first(payload.frame_count)) {
    if (frame.bits != 0) {
      pack_bits(in.data() + frame.offset_bits / 8, frame.bits, out, at);
      at += frame.bits;
    }
  }
}

}  // namespace

std::optional<std::uint16_t> amr_frame_bits(AmrCodec codec, std::uint8_t frame_type) noexcept {
  if (frame_type >= kAmrFrameTypes) {
    return std::nullopt;
  }
  const FrameBits& table = codec == AmrCodec::narrowband ? kNarrowbandBits : kWidebandBits;
  const std::uint16_t bits = table[frame_type];
  return bits == kReserved ? std::nullopt : std::optional(bits);
}

tl::expected<AmrPayload, ConversionError> parse_amr(std::span<const std::byte> payload,
                                                    AmrCodec codec, AmrFormat format) noexcept {
  AmrPayload parsed;
  if (const auto error = read(payload, codec, format, parsed)) {
    return tl::unexpected(*error);
  }
  return parsed;
}

bool has_amr_format(std::span<const std::byte> payload, AmrCodec codec, AmrFormat format) noexcept {
  AmrPayload parsed;
  return !read(payload, codec, format, parsed);
}

tl::expected<std::size_t, ConversionError> convert_amr(std::span<const std::byte> payload,
                                                       AmrCodec codec, AmrFormat target,
                                                       std::span<std::byte> out) noexcept {
  const bool to_octets = target == AmrFormat::octet_aligned;
  AmrPayload parsed;
  const auto error =
      read(payload, codec, to_octets ? AmrFormat::bandwidth_efficient : AmrFormat::octet_aligned,
           parsed);
  if (error && !has_amr_format(payload, codec, target)) {
    return tl::unexpected(*error);
  }
  const std::size_t size = error ? payload.size() : size_in(parsed, target);
  if (size > out.size()) {
    return tl::unexpected(ConversionError::no_room);
  }
  const std::span<std::byte> written = out.first(size);
  if (error) {
    std::memcpy(written.data(), payload.data(), size);
  } else if (to_octets) {
    write_octet_aligned(payload, parsed, written);
  } else {
    write_bandwidth_efficient(payload, parsed, written);
  }
  return size;
}

}  // namespace rtp
