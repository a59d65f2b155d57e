#include "rtp/trau_rtp.h"

#include "rtp/bit_string.h"
#include "rtp/gsm_hr.h"
#include "rtp/trau_clear_data.h"
#include "rtp/trau_silence.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace rtp {
namespace {

using PayloadSize = tl::expected<std::size_t, TrauError>;
using FrameCount = tl::expected<std::size_t, TrauError>;

// FR and EFR: four bits that tell them apart, then the speech. TW-TS-001 puts an octet before it,
// of four bits that are neither signature and four flags.
constexpr std::size_t kSignatureBits = 4;
constexpr unsigned kFullRateSignature = 0xd;
constexpr unsigned kEnhancedSignature = 0xc;
constexpr std::size_t kFullRateBytes = 33;
constexpr std::size_t kEnhancedBytes = 31;
constexpr unsigned kExtensionSignature = 0xe0;
constexpr unsigned kExtensionMask = 0xf0;

// Flags of TW-TS-001 and TW-TS-002.
constexpr unsigned kFlagDtx = 0x08;
constexpr unsigned kFlagNoData = 0x04;      // TW-TS-001
constexpr unsigned kFlagVerbose = 0x04;     // TW-TS-002: an invalid SID with its bits
constexpr unsigned kFlagBad = 0x02;         // TW-TS-001
constexpr unsigned kFlagUnreliable = 0x02;  // TW-TS-002
constexpr unsigned kFlagAlignment = 0x01;

// Frame types of TW-TS-002 that RFC 5993 has not.
constexpr unsigned kHalfRateInvalidSid = 1;
constexpr unsigned kHalfRateBadSpeech = 6;
constexpr unsigned kHalfRateNoData = 7;

/// What FR and EFR differ in.
struct SignedCodec {
  TrauFrameType type;
  unsigned signature;
  std::size_t bytes;
  std::uint16_t bits;
};
constexpr SignedCodec kFullRate{TrauFrameType::full_rate, kFullRateSignature, kFullRateBytes,
                                kFullRateBits};
constexpr SignedCodec kEnhanced{TrauFrameType::enhanced_full_rate, kEnhancedSignature,
                                kEnhancedBytes, kEnhancedFullRateBits};

std::size_t write_signed(const TrauFrame& frame, const SignedCodec& codec,
                         std::span<std::byte> out) noexcept {
  set_bits(out, 0, kSignatureBits, codec.signature);
  copy_bits(frame.content, 0, out, kSignatureBits, codec.bits);
  return codec.bytes;
}

unsigned flag(bool set, unsigned value) noexcept {
  return set ? value : 0U;
}

PayloadSize signed_to_rtp(TrauFrame frame, const SignedCodec& codec, TrauExtension extension,
                          std::span<std::byte> out) noexcept {
  if (extension == TrauExtension::none) {
    if (frame.bad_frame || !frame.crc_good) {
      return tl::unexpected(frame.bad_frame ? TrauError::bad_frame : TrauError::bad_crc);
    }
    return write_signed(frame, codec, out);
  }
  const unsigned header = kExtensionSignature | flag(frame.dtx_downlink, kFlagDtx) |
                          flag(frame.time_alignment_flag, kFlagAlignment);
  if (!frame.crc_good) {
    out[0] = static_cast<std::byte>(header | kFlagBad | kFlagNoData);
    return std::size_t{1};
  }
  out[0] = static_cast<std::byte>(header | flag(frame.bad_frame, kFlagBad));
  // A receiver tells a SID by its bits: what the base station calls bad speech must not be one.
  if (frame.bad_frame && frame.sid == SidClass::speech && classify_sid(frame) != SidClass::speech) {
    break_sid(frame);
  }
  return 1 + write_signed(frame, codec, out.subspan(1));
}

/// The frame type of RFC 5993 with the extension's.
unsigned half_rate_type(const TrauFrame& frame) noexcept {
  if (!frame.crc_good) {
    return kHalfRateNoData;
  }
  if (frame.sid == SidClass::invalid_sid || (frame.sid == SidClass::valid_sid && frame.bad_frame)) {
    return kHalfRateInvalidSid;
  }
  if (frame.bad_frame) {
    return kHalfRateBadSpeech;
  }
  return static_cast<unsigned>(frame.sid == SidClass::valid_sid ? GsmHrFrameType::silence_descriptor
                                                                : GsmHrFrameType::speech);
}

PayloadSize half_rate_to_rtp(TrauFrame frame, TrauExtension extension,
                             std::span<std::byte> out) noexcept {
  const unsigned type = half_rate_type(frame);
  const bool is_sid = type == static_cast<unsigned>(GsmHrFrameType::silence_descriptor);
  const bool is_good = is_sid || type == static_cast<unsigned>(GsmHrFrameType::speech);
  unsigned entry = type << 4U;
  if (extension == TrauExtension::none) {
    if (!is_good) {
      return tl::unexpected(frame.crc_good ? TrauError::bad_frame : TrauError::bad_crc);
    }
  } else {
    entry |= flag(frame.dtx_downlink, kFlagDtx) | flag(type == kHalfRateInvalidSid, kFlagVerbose) |
             flag(frame.unreliable, kFlagUnreliable) |
             flag(frame.time_alignment_flag, kFlagAlignment);
  }
  if (is_sid) {
    normalise_half_rate_sid(frame);
  }
  out[0] = static_cast<std::byte>(entry);
  if (type == kHalfRateNoData) {
    return std::size_t{1};
  }
  std::memcpy(out.data() + 1, frame.content.data(), kGsmHrFrameBytes);
  return 1 + kGsmHrFrameBytes;
}

constexpr unsigned kAmrSid = 8;

PayloadSize amr_to_rtp(const TrauFrame& frame, AmrFormat format, std::uint8_t mode_request,
                       std::span<std::byte> out) noexcept {
  const bool is_speech = frame.amr_class != AmrFrameClass::no_speech;
  const bool is_sid = !is_speech && frame.content_bits == kAmrSidBits;
  if (!is_speech && !is_sid) {
    return tl::unexpected(TrauError::nothing);
  }
  const bool is_bad = is_sid ? frame.amr_no_speech == AmrNoSpeech::sid_bad
                             : frame.amr_class == AmrFrameClass::speech_bad || !frame.crc_good;
  const unsigned type = is_sid ? kAmrSid : frame.amr_mode;
  // The format's own order: CMR, F, FT, Q, with padding behind each of them if octet-aligned.
  const bool aligned = format == AmrFormat::octet_aligned;
  const std::size_t contents_at = aligned ? 8 : 4;
  const std::size_t speech_at = aligned ? 16 : 10;
  const std::size_t size = (speech_at + frame.content_bits + 7) / 8;
  std::fill_n(out.begin(), size, std::byte{0});
  set_bits(out, 0, 4, mode_request);
  set_bits(out, contents_at, 6, type << 1U | (is_bad ? 0U : 1U));
  copy_bits(frame.content, 0, out, speech_at, frame.content_bits);
  return size;
}

FrameCount read_signed(std::span<const std::byte> payload, const SignedCodec& codec,
                       std::span<TrauFrame> out) noexcept {
  if (payload.empty()) {
    return tl::unexpected(TrauError::wrong_length);
  }
  const auto first = std::to_integer<unsigned>(payload[0]);
  if ((first & kExtensionMask) == kExtensionSignature) {
    if ((first & (kFlagBad | kFlagNoData)) != 0) {
      return tl::unexpected(TrauError::bad_frame);
    }
    payload = payload.subspan(1);
  }
  const std::size_t count = payload.size() / codec.bytes;
  if (count == 0 || payload.size() % codec.bytes != 0) {
    return tl::unexpected(TrauError::wrong_length);
  }
  const std::size_t taken = std::min(count, out.size());
  for (std::size_t index = 0; index < taken; ++index) {
    const auto one = payload.subspan(index * codec.bytes, codec.bytes);
    if (get_bits(one, 0, kSignatureBits) != codec.signature) {
      return tl::unexpected(TrauError::wrong_type);
    }
    TrauFrame& frame = out[index];
    frame = TrauFrame{};
    frame.type = codec.type;
    frame.direction = TrauDirection::downlink;
    copy_bits(one, kSignatureBits, frame.content, 0, codec.bits);
    frame.content_bits = codec.bits;
    frame.sid = is_perfect_sid(frame) ? SidClass::valid_sid : SidClass::speech;
  }
  return taken;
}

FrameCount read_half_rate(std::span<const std::byte> payload, std::span<TrauFrame> out) noexcept {
  std::array<std::byte, kGsmHrPayloadBytesMax> bare;
  const auto size = convert_gsm_hr(payload, GsmHrFormat::ts101318, bare);
  if (!size) {
    switch (size.error()) {
      case ConversionError::invalid_frame_type:
      case ConversionError::no_equivalent:
        return tl::unexpected(TrauError::bad_frame);
      default:
        return tl::unexpected(TrauError::wrong_length);
    }
  }
  const std::size_t taken = std::min(*size / kGsmHrFrameBytes, out.size());
  for (std::size_t index = 0; index < taken; ++index) {
    TrauFrame& frame = out[index];
    frame = TrauFrame{};
    frame.type = TrauFrameType::half_rate;
    frame.direction = TrauDirection::downlink;
    std::memcpy(frame.content.data(), bare.data() + index * kGsmHrFrameBytes, kGsmHrFrameBytes);
    frame.content_bits = kHalfRateBits;
    frame.sid = is_perfect_sid(frame) ? SidClass::valid_sid : SidClass::speech;
  }
  return taken;
}

/// Fills in what a frame type of the table of contents means; false if TRAU frames can't say it.
bool set_amr_kind(const AmrFrame& entry, std::span<const std::byte> payload,
                  TrauFrame& frame) noexcept {
  constexpr std::size_t kSidTypeAt = 35;
  if (entry.type < kAmrSid) {
    frame.amr_mode = entry.type;
    frame.amr_class = entry.good ? AmrFrameClass::speech_good : AmrFrameClass::speech_bad;
    return true;
  }
  if (entry.type == kAmrSid) {
    const bool is_update = get_bit(payload, entry.offset_bits + kSidTypeAt);
    frame.amr_no_speech = !entry.good ? AmrNoSpeech::sid_bad
                          : is_update ? AmrNoSpeech::sid_update
                                      : AmrNoSpeech::sid_first;
    return true;
  }
  return entry.type == kAmrNoData;
}

FrameCount read_amr(std::span<const std::byte> payload, const TrauMapping& mapping,
                    std::span<TrauFrame> out) noexcept {
  const auto parsed = parse_amr(payload, AmrCodec::narrowband, mapping.amr_format);
  if (!parsed) {
    return tl::unexpected(parsed.error() == ConversionError::invalid_frame_type
                              ? TrauError::unknown_type
                              : TrauError::wrong_length);
  }
  const std::size_t taken = std::min(parsed->frame_count, out.size());
  for (std::size_t index = 0; index < taken; ++index) {
    const AmrFrame& entry = parsed->frames[index];
    TrauFrame& frame = out[index];
    frame = TrauFrame{};
    frame.type = TrauFrameType::adaptive_multi_rate;
    frame.direction = TrauDirection::downlink;
    const bool is_known = set_amr_kind(entry, payload, frame);
    const bool is_slow =
        mapping.framing == TrauFraming::trau_16k || frame.amr_mode <= kAmrMode8kMax;
    if (!is_known || !is_slow) {
      return tl::unexpected(TrauError::unsupported);
    }
    if (parsed->mode_request <= 7) {
      frame.amr_mode_request = parsed->mode_request;
    }
    copy_bits(payload, entry.offset_bits, frame.content, 0, entry.bits);
    frame.content_bits = entry.bits;
  }
  return taken;
}

FrameCount read_data(std::span<const std::byte> payload, std::span<TrauFrame> out) noexcept {
  const std::size_t count = payload.size() / kClearDataBytes;
  if (count == 0 || payload.size() % kClearDataBytes != 0) {
    return tl::unexpected(TrauError::wrong_length);
  }
  const std::size_t taken = std::min(count, out.size());
  for (std::size_t index = 0; index < taken; ++index) {
    const auto one = payload.subspan(index * kClearDataBytes).first<kClearDataBytes>();
    const auto frame = clear_data_to_trau(one);
    if (!frame) {
      return tl::unexpected(frame.error());
    }
    out[index] = *frame;
  }
  return taken;
}

}  // namespace

std::optional<TrauFraming> trau_framing_of(TrauCodec codec, unsigned rate_kbps) noexcept {
  const bool is_pcm = codec == TrauCodec::pcma || codec == TrauCodec::pcmu;
  if (rate_kbps == (is_pcm ? 64U : 16U)) {
    return TrauFraming::trau_16k;
  }
  if (rate_kbps == 8 && codec == TrauCodec::half_rate) {
    return TrauFraming::hr_8k;
  }
  if (rate_kbps == 8 && codec == TrauCodec::adaptive_multi_rate) {
    return TrauFraming::amr_8k;
  }
  return std::nullopt;
}

TrauFrameType trau_frame_type_of(TrauCodec codec) noexcept {
  switch (codec) {
    case TrauCodec::full_rate:
      return TrauFrameType::full_rate;
    case TrauCodec::enhanced_full_rate:
      return TrauFrameType::enhanced_full_rate;
    case TrauCodec::half_rate:
      return TrauFrameType::half_rate;
    case TrauCodec::adaptive_multi_rate:
      return TrauFrameType::adaptive_multi_rate;
    case TrauCodec::clear_data:
      return TrauFrameType::data;
    case TrauCodec::pcma:
    case TrauCodec::pcmu:
      break;
  }
  return TrauFrameType::idle;
}

PayloadSize trau_to_rtp(const TrauFrame& frame, const TrauMapping& mapping,
                        std::uint8_t mode_request, std::span<std::byte> out) noexcept {
  if (out.size() < kTrauPayloadBytesMax) {
    return tl::unexpected(TrauError::no_room);
  }
  if (frame.type == TrauFrameType::idle || frame.type == TrauFrameType::operation_maintenance) {
    return tl::unexpected(TrauError::nothing);
  }
  if (frame.type != trau_frame_type_of(mapping.codec)) {
    return tl::unexpected(TrauError::wrong_type);
  }
  switch (mapping.codec) {
    case TrauCodec::full_rate:
      return signed_to_rtp(frame, kFullRate, mapping.extension, out);
    case TrauCodec::enhanced_full_rate:
      return signed_to_rtp(frame, kEnhanced, mapping.extension, out);
    case TrauCodec::half_rate:
      return half_rate_to_rtp(frame, mapping.extension, out);
    case TrauCodec::adaptive_multi_rate:
      return amr_to_rtp(frame, mapping.amr_format, mode_request, out);
    case TrauCodec::clear_data:
      return trau_to_clear_data(frame, out.first<kClearDataBytes>());
    case TrauCodec::pcma:
    case TrauCodec::pcmu:
      break;
  }
  return tl::unexpected(TrauError::unsupported);
}

FrameCount rtp_to_trau(std::span<const std::byte> payload, const TrauMapping& mapping,
                       std::span<TrauFrame> out) noexcept {
  switch (mapping.codec) {
    case TrauCodec::full_rate:
      return read_signed(payload, kFullRate, out);
    case TrauCodec::enhanced_full_rate:
      return read_signed(payload, kEnhanced, out);
    case TrauCodec::half_rate:
      return read_half_rate(payload, out);
    case TrauCodec::adaptive_multi_rate:
      return read_amr(payload, mapping, out);
    case TrauCodec::clear_data:
      return read_data(payload, out);
    case TrauCodec::pcma:
    case TrauCodec::pcmu:
      break;
  }
  return tl::unexpected(TrauError::unsupported);
}

}  // namespace rtp
