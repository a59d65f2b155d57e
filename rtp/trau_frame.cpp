#include "rtp/trau_frame.h"

#include "rtp/amr.h"
#include "rtp/bit_string.h"
#include "rtp/trau_frame_bits.h"

#include <bit>

namespace rtp {
namespace {

using ParsedFrame = tl::expected<TrauFrame, TrauError>;

// Places of the control and other bits among those that are no synchronisation bits.
constexpr std::size_t kTypeAt = 0;
constexpr std::size_t kTypeBits = 5;
constexpr std::size_t kTimeAlignmentAt = 5;
constexpr std::size_t kTimeAlignmentBits = 6;
constexpr std::size_t kC12 = 11;
constexpr std::size_t kC13 = 12;
constexpr std::size_t kC15 = 14;
constexpr std::size_t kBehindC15 = 15;
constexpr std::size_t kTailC16 = 275;  // FR, EFR and HR have C16..C21 just before T1..T4
constexpr std::size_t kTailC17 = kTailC16 + 1;
constexpr unsigned kSidBothOnes = 3;

/// C1..C5 of a 16 kbit/s frame.
struct TypeCode {
  unsigned code;
  TrauFrameType type;
  TrauDirection direction;
};

constexpr std::array<TypeCode, 12> kTypeCodes{{
    {0b00010, TrauFrameType::full_rate, TrauDirection::uplink},
    {0b11100, TrauFrameType::full_rate, TrauDirection::downlink},
    {0b11010, TrauFrameType::enhanced_full_rate, TrauDirection::uplink},
    {0b00011, TrauFrameType::half_rate, TrauDirection::uplink},
    {0b11101, TrauFrameType::half_rate, TrauDirection::downlink},
    {0b00110, TrauFrameType::adaptive_multi_rate, TrauDirection::uplink},
    {0b10000, TrauFrameType::idle, TrauDirection::uplink},
    {0b01110, TrauFrameType::idle, TrauDirection::downlink},
    {0b00101, TrauFrameType::operation_maintenance, TrauDirection::uplink},
    {0b11011, TrauFrameType::operation_maintenance, TrauDirection::downlink},
    {0b01000, TrauFrameType::data, TrauDirection::uplink},
    {0b10110, TrauFrameType::data, TrauDirection::downlink},
}};

/// EFR and AMR have one code for both directions.
unsigned code_of(TrauFrameType type, TrauDirection direction) noexcept {
  const TypeCode* found = kTypeCodes.data();
  for (const TypeCode& entry : kTypeCodes) {
    if (entry.type == type) {
      found = &entry;
      if (entry.direction == direction) {
        break;
      }
    }
  }
  return found->code;
}

/// Where D1 of AMR is among the free bits, and where the CRC-3 is among D1..D256.
constexpr std::size_t kAmrD1 = 25;
constexpr std::size_t kAmrCrcAt = kAmrD1 + 253;
constexpr std::size_t kAmrSidModeAt = kAmrD1 + kAmrSidBits;

/// Bits of class A of the modes (3GPP TS 26.101 table 2).
constexpr std::array<std::uint8_t, 8> kAmrClassABits{42, 49, 55, 58, 61, 75, 65, 81};

std::uint16_t amr_bits(std::uint8_t mode) noexcept {
  return amr_frame_bits(AmrCodec::narrowband, mode & 7U).value_or(0);
}

unsigned amr_crc(std::span<const std::byte> content, std::uint8_t mode) noexcept {
  Crc3 crc;
  for (std::size_t bit = 0; bit < kAmrClassABits[mode & 7U]; ++bit) {
    crc.add(get_bit(content, bit));
  }
  return crc.value();
}

bool is_amr_sid(AmrNoSpeech kind) noexcept {
  return kind == AmrNoSpeech::sid_first || kind == AmrNoSpeech::sid_update ||
         kind == AmrNoSpeech::sid_bad;
}

AmrNoSpeech to_no_speech(unsigned value) noexcept {
  return value >= static_cast<unsigned>(AmrNoSpeech::sid_bad) ? static_cast<AmrNoSpeech>(value)
                                                              : AmrNoSpeech::no_data;
}

void parse_amr_16k(const FrameReader& reader, TrauFrame& frame, std::uint8_t mode) noexcept {
  frame.amr_says_request = reader.bit(kC12);
  frame.dtx_downlink = reader.bit(18);
  frame.amr_class = static_cast<AmrFrameClass>(reader.field(20, 2));
  const unsigned code = reader.field(22, 3);
  if (frame.amr_class == AmrFrameClass::no_speech) {
    frame.amr_no_speech = to_no_speech(code);
    frame.amr_mode = static_cast<std::uint8_t>(reader.field(kAmrSidModeAt, 3));
    if (frame.amr_says_request) {
      frame.amr_mode_request = static_cast<std::uint8_t>(reader.field(kAmrSidModeAt + 3, 3));
    }
    frame.content_bits = is_amr_sid(frame.amr_no_speech) ? kAmrSidBits : 0;
    reader.copy(kAmrD1, frame.content_bits, frame.content);
    return;
  }
  frame.amr_mode = static_cast<std::uint8_t>(frame.amr_says_request ? mode & 7U : code);
  if (frame.amr_says_request) {
    frame.amr_mode_request = static_cast<std::uint8_t>(code);
  }
  frame.content_bits = amr_bits(frame.amr_mode);
  reader.copy(kAmrD1, frame.content_bits, frame.content);
  frame.crc_good = amr_crc(frame.content, frame.amr_mode) == reader.field(kAmrCrcAt, 3);
}

void build_amr_16k(const TrauFrame& frame, FrameWriter& writer) noexcept {
  writer.set(kC12, frame.amr_says_request);
  writer.set_field(13, 5, 0);  // C14..C18: no configuration message
  writer.set(18, frame.dtx_downlink || frame.direction == TrauDirection::downlink);
  writer.set(19, false);  // C20: no tandem free operation
  writer.set_field(20, 2, static_cast<unsigned>(frame.amr_class));
  if (frame.amr_class == AmrFrameClass::no_speech) {
    writer.set_field(22, 3, static_cast<unsigned>(frame.amr_no_speech));
    writer.copy(kAmrD1, is_amr_sid(frame.amr_no_speech) ? kAmrSidBits : 0, frame.content);
    writer.set_field(kAmrSidModeAt, 3, frame.amr_mode);
    writer.set_field(kAmrSidModeAt + 3, 3, frame.amr_mode_request);
    return;
  }
  writer.set_field(22, 3, frame.amr_says_request ? frame.amr_mode_request : frame.amr_mode);
  writer.copy(kAmrD1, amr_bits(frame.amr_mode), frame.content);
  writer.set_field(kAmrCrcAt, 3, amr_crc(frame.content, frame.amr_mode));
}

void parse_speech_16k(const FrameReader& reader, TrauFrame& frame) noexcept {
  if (frame.type == TrauFrameType::half_rate) {
    parse_half_rate(reader, kHalfRate16k, frame);
  } else if (frame.type == TrauFrameType::enhanced_full_rate) {
    parse_enhanced_full_rate(reader, frame);
  } else {
    parse_full_rate(reader, frame);
  }
  const unsigned sid = reader.field(kC13, 2);
  if (frame.type == TrauFrameType::enhanced_full_rate && sid == kSidBothOnes) {
    frame.direction = TrauDirection::downlink;
  }
  if (frame.direction == TrauDirection::downlink) {
    frame.sid = reader.bit(kTailC16) ? SidClass::speech : SidClass::valid_sid;
    frame.unreliable = false;
    return;
  }
  frame.bad_frame = reader.bit(kC12);
  frame.sid = sid == kSidBothOnes ? SidClass::invalid_sid : static_cast<SidClass>(sid);
  frame.time_alignment_flag = reader.bit(kC15);
  frame.dtx_downlink = reader.bit(kTailC17);
}

void build_speech_16k(const TrauFrame& frame, FrameWriter& writer) noexcept {
  if (frame.direction == TrauDirection::uplink) {
    writer.set(kC12, frame.bad_frame);
    writer.set_field(kC13, 2, static_cast<unsigned>(frame.sid));
    writer.set(kC15, frame.time_alignment_flag);
    writer.set(kTailC17, frame.dtx_downlink);
  } else {
    writer.set(kTailC16, frame.sid != SidClass::valid_sid);
  }
  if (frame.type == TrauFrameType::half_rate) {
    build_half_rate(frame, kHalfRate16k, writer);
  } else if (frame.type == TrauFrameType::enhanced_full_rate) {
    build_enhanced_full_rate(frame, writer);
  } else {
    build_full_rate(frame, writer);
  }
}

ParsedFrame parse_16k(std::span<const std::byte> bits, std::uint8_t amr_mode) noexcept {
  const FrameReader reader(bits, kTrauLayout16k);
  const unsigned code = reader.field(kTypeAt, kTypeBits);
  const TypeCode* found = nullptr;
  for (const TypeCode& entry : kTypeCodes) {
    found = entry.code == code ? &entry : found;
  }
  if (found == nullptr) {
    return tl::unexpected(TrauError::unknown_type);
  }
  TrauFrame frame;
  frame.type = found->type;
  frame.direction = found->direction;
  frame.time_alignment =
      static_cast<std::uint8_t>(reader.field(kTimeAlignmentAt, kTimeAlignmentBits));
  switch (frame.type) {
    case TrauFrameType::adaptive_multi_rate:
      parse_amr_16k(reader, frame, amr_mode);
      break;
    case TrauFrameType::data:
      parse_data(bits, frame);
      break;
    case TrauFrameType::operation_maintenance:
      frame.content_bits = kTrauContentBitsMax;
      reader.copy(kBehindC15, kTrauContentBitsMax, frame.content);
      break;
    case TrauFrameType::idle:
      break;
    default:
      parse_speech_16k(reader, frame);
  }
  return frame;
}

void build_16k(const TrauFrame& frame, std::span<std::byte> out) noexcept {
  FrameWriter writer(out, kTrauLayout16k);
  writer.set_field(kTypeAt, kTypeBits, code_of(frame.type, frame.direction));
  writer.set_field(kTimeAlignmentAt, kTimeAlignmentBits, frame.time_alignment);
  switch (frame.type) {
    case TrauFrameType::adaptive_multi_rate:
      build_amr_16k(frame, writer);
      break;
    case TrauFrameType::data:
      build_data(frame, out);
      break;
    case TrauFrameType::operation_maintenance:
      writer.copy(kBehindC15, kTrauContentBitsMax, frame.content);
      break;
    case TrauFrameType::idle:
      break;
    default:
      build_speech_16k(frame, writer);
  }
}

}  // namespace

std::string_view to_string(TrauError error) noexcept {
  constexpr std::array<std::string_view, kTrauErrorCount> kNames{
      "wrong_length", "unknown_type", "unsupported", "no_room",
      "wrong_type",   "bad_frame",    "bad_crc",     "nothing"};
  return kNames[static_cast<std::size_t>(error)];
}

bool trau_is_standard(TrauFrameType type, TrauFraming framing) noexcept {
  return framing != TrauFraming::amr_8k && type != TrauFrameType::adaptive_multi_rate;
}

ParsedFrame parse_trau_frame(std::span<const std::byte> bits, TrauFraming framing,
                             std::uint8_t amr_mode) noexcept {
  if (bits.size() * 8 != trau_frame_bits(framing)) {
    return tl::unexpected(TrauError::wrong_length);
  }
  switch (framing) {
    case TrauFraming::trau_16k:
      return parse_16k(bits, amr_mode);
    case TrauFraming::hr_8k:
      return parse_half_rate_8k(bits);
    case TrauFraming::amr_8k:
      break;
  }
  return parse_amr_8k(bits);
}

tl::expected<void, TrauError> build_trau_frame(const TrauFrame& frame, TrauFraming framing,
                                               std::span<std::byte> out) noexcept {
  const std::size_t octets = trau_frame_bits(framing) / 8;
  if (out.size() < octets) {
    return tl::unexpected(TrauError::no_room);
  }
  const std::span<std::byte> written = out.first(octets);
  if (framing == TrauFraming::trau_16k) {
    build_16k(frame, written);
    return {};
  }
  const bool is_amr = framing == TrauFraming::amr_8k;
  if (frame.type != (is_amr ? TrauFrameType::adaptive_multi_rate : TrauFrameType::half_rate)) {
    return tl::unexpected(TrauError::wrong_type);
  }
  if (!is_amr) {
    build_half_rate_8k(frame, written);
    return {};
  }
  return build_amr_8k(frame, written);
}

std::optional<int> time_alignment_request(const TrauFrame& frame, TrauFraming framing) noexcept {
  constexpr unsigned kDelayMax = 39;
  const unsigned value = frame.time_alignment;
  if (framing == TrauFraming::amr_8k) {
    return std::nullopt;
  }
  if (framing != TrauFraming::trau_16k) {
    constexpr std::array<int, 8> kSteps{36, 24, 8, 2, 4, 1, -1, 0};
    const int steps = kSteps[value & 7U];
    return steps == 0 ? std::nullopt : std::optional(steps);
  }
  if (value >= 1 && value <= kDelayMax) {
    return static_cast<int>(value * 2);
  }
  if (value == 62) {
    return 1;
  }
  return value == 63 ? std::optional(-1) : std::nullopt;
}

}  // namespace rtp
