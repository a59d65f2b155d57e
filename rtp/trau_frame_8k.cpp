// The frames of 8 kbit/s sub-slots.
#include "rtp/amr.h"
#include "rtp/trau_frame_bits.h"

#include <bit>

namespace rtp {
namespace {

// Half rate (TS 48.061 clause 5.2): places among the bits that are no synchronisation bits.
constexpr std::size_t kControlBits = 5;  // C1..C5
constexpr std::size_t kDirectionAt = 3;  // C4
constexpr std::size_t kExtraAt = 5;      // XC1..XC6
constexpr std::size_t kExtraClassBits = 4;
constexpr std::size_t kExtraParityAt = 10;
constexpr std::size_t kTailC6 = 126;
constexpr std::size_t kTailC9 = 129;

// XC1..XC4; the lowest bit of the bad ones is TAF.
constexpr unsigned kExtraSpeech = 0;
constexpr unsigned kExtraValidSid = 1;
constexpr unsigned kExtraInvalidSid = 4;
constexpr unsigned kExtraBadFrame = 6;

bool has_odd_parity(unsigned field) noexcept {
  return std::popcount(field) % 2 == 1;
}

void write_odd_parity(FrameWriter& writer, std::size_t at, std::size_t count) noexcept {
  writer.set(at + count, !has_odd_parity(writer.reader().field(at, count)));
}

/// Reads XC1..XC4 into SID class, BFI and TAF.
void parse_extra(unsigned value, TrauFrame& frame) noexcept {
  const unsigned kind = value & ~1U;
  if (value == kExtraValidSid) {
    frame.sid = SidClass::valid_sid;
  } else if (kind == kExtraInvalidSid) {
    frame.sid = SidClass::invalid_sid;
  } else if (value != kExtraSpeech) {
    frame.bad_frame = true;
  }
  frame.time_alignment_flag =
      (kind == kExtraInvalidSid || kind == kExtraBadFrame) && (value & 1U) != 0;
}

unsigned extra_of(const TrauFrame& frame) noexcept {
  const unsigned flag = frame.time_alignment_flag ? 1U : 0U;
  if (frame.sid == SidClass::invalid_sid || (frame.sid == SidClass::valid_sid && frame.bad_frame)) {
    return kExtraInvalidSid | flag;
  }
  if (frame.bad_frame) {
    return kExtraBadFrame | flag;
  }
  return frame.sid == SidClass::valid_sid ? kExtraValidSid : kExtraSpeech;
}

// AMR. All layouts end with T1, T2 except that of 7.40 kbit/s, which has no room for them.
constexpr unsigned kAmrLowType = 0b001;  // C1..C3; half rate has 000
constexpr unsigned kNoRequest = 7;
constexpr std::uint8_t kMode670 = 3;
constexpr std::uint8_t kMode740 = 4;
constexpr std::size_t kLowClassAt = 5;
constexpr std::size_t kLowKindAt = 7;
constexpr std::size_t kLowRequestAt = 9;
constexpr std::size_t kLowDataAt = 12;

/// The places in the layouts of the two faster modes.
struct FastPlaces {
  std::size_t good;
  std::size_t request;
  std::size_t data;
};
constexpr FastPlaces kPlaces670{1, 2, 6};
constexpr FastPlaces kPlaces740{0, 1, 4};

// The two bits that say what a frame without speech is.
constexpr std::array<AmrNoSpeech, 4> kNoSpeechKinds{AmrNoSpeech::no_data, AmrNoSpeech::sid_first,
                                                    AmrNoSpeech::sid_update, AmrNoSpeech::sid_bad};

unsigned no_speech_code(AmrNoSpeech kind) noexcept {
  for (unsigned code = 0; code < kNoSpeechKinds.size(); ++code) {
    if (kNoSpeechKinds[code] == kind) {
      return code;
    }
  }
  return 0;  // an onset has no content either
}

void set_request(TrauFrame& frame, unsigned code) noexcept {
  frame.amr_says_request = code <= kAmrMode8kMax;
  frame.amr_mode_request =
      frame.amr_says_request ? static_cast<std::uint8_t>(code) : kNoModeRequest;
}

unsigned request_of(const TrauFrame& frame) noexcept {
  return frame.amr_mode_request <= kAmrMode8kMax ? frame.amr_mode_request : kNoRequest;
}

std::uint16_t amr_bits(std::uint8_t mode) noexcept {
  return amr_frame_bits(AmrCodec::narrowband, mode).value_or(0);
}

tl::expected<TrauFrame, TrauError> parse_amr_low(const FrameReader& reader,
                                                 TrauFrame frame) noexcept {
  if (reader.field(0, 3) != kAmrLowType || !has_odd_parity(reader.field(0, kControlBits))) {
    return tl::unexpected(TrauError::unknown_type);
  }
  frame.direction = reader.bit(kDirectionAt) ? TrauDirection::downlink : TrauDirection::uplink;
  frame.amr_class = static_cast<AmrFrameClass>(reader.field(kLowClassAt, 2));
  const unsigned kind = reader.field(kLowKindAt, 2);
  set_request(frame, reader.field(kLowRequestAt, 3));
  if (frame.amr_class == AmrFrameClass::no_speech) {
    frame.amr_no_speech = kNoSpeechKinds[kind];
    frame.content_bits = frame.amr_no_speech == AmrNoSpeech::no_data ? 0 : kAmrSidBits;
  } else if (kind < kMode670) {
    frame.amr_mode = static_cast<std::uint8_t>(kind);
    frame.content_bits = amr_bits(frame.amr_mode);
  } else {
    return tl::unexpected(TrauError::unknown_type);
  }
  reader.copy(kLowDataAt, frame.content_bits, frame.content);
  return frame;
}

void build_amr_low(const TrauFrame& frame, FrameWriter& writer) noexcept {
  const bool is_speech = frame.amr_class != AmrFrameClass::no_speech;
  writer.set_field(0, 3, kAmrLowType);
  writer.set(kDirectionAt, frame.direction == TrauDirection::downlink);
  write_odd_parity(writer, 0, kControlBits - 1);
  writer.set_field(kLowClassAt, 2, static_cast<unsigned>(frame.amr_class));
  const unsigned no_speech = no_speech_code(frame.amr_no_speech);
  writer.set_field(kLowKindAt, 2, is_speech ? frame.amr_mode : no_speech);
  writer.set_field(kLowRequestAt, 3, request_of(frame));
  const std::size_t silence_bits = no_speech == 0 ? 0 : kAmrSidBits;
  writer.copy(kLowDataAt, is_speech ? amr_bits(frame.amr_mode) : silence_bits, frame.content);
}

}  // namespace

tl::expected<TrauFrame, TrauError> parse_half_rate_8k(std::span<const std::byte> bits) noexcept {
  const FrameReader reader(bits, kTrauLayout8k);
  if (reader.field(0, 3) != 0 || !has_odd_parity(reader.field(0, kControlBits))) {
    return tl::unexpected(TrauError::unknown_type);
  }
  TrauFrame frame;
  frame.type = TrauFrameType::half_rate;
  frame.direction = reader.bit(kDirectionAt) ? TrauDirection::downlink : TrauDirection::uplink;
  parse_half_rate(reader, kHalfRate8k, frame);
  parse_extra(reader.field(kExtraAt, kExtraClassBits), frame);
  const bool parity_good = has_odd_parity(reader.field(kExtraAt, kExtraParityAt + 1 - kExtraAt));
  frame.bad_frame = frame.bad_frame || !parity_good;
  frame.time_alignment = static_cast<std::uint8_t>(reader.field(kTailC6, 3));
  frame.dtx_downlink = frame.direction == TrauDirection::uplink && reader.bit(kTailC9);
  return frame;
}

void build_half_rate_8k(const TrauFrame& frame, std::span<std::byte> out) noexcept {
  FrameWriter writer(out, kTrauLayout8k);
  const bool is_uplink = frame.direction == TrauDirection::uplink;
  writer.set_field(0, 3, 0);
  writer.set(kDirectionAt, !is_uplink);
  write_odd_parity(writer, 0, kControlBits - 1);
  build_half_rate(frame, kHalfRate8k, writer);
  writer.set(kHalfRate8k.unreliable, is_uplink && frame.unreliable);
  writer.set_field(kExtraAt, kExtraClassBits, extra_of(frame));
  write_odd_parity(writer, kExtraAt, kExtraParityAt - kExtraAt);
  if (is_uplink) {
    writer.set_field(kTailC6, 3, frame.time_alignment);
    writer.set(kTailC9, frame.dtx_downlink);
  }
}

tl::expected<TrauFrame, TrauError> parse_amr_8k(std::span<const std::byte> bits) noexcept {
  const TrauLayout& layout = find_amr_8k_layout(bits);
  const FrameReader reader(bits, layout);
  TrauFrame frame;
  frame.type = TrauFrameType::adaptive_multi_rate;
  if (&layout == &kTrauLayout8k) {
    return parse_amr_low(reader, frame);
  }
  const bool is_670 = &layout == &kTrauLayout8kAmr670;
  const FastPlaces places = is_670 ? kPlaces670 : kPlaces740;
  if (is_670 && reader.bit(0)) {
    frame.direction = TrauDirection::downlink;
  }
  frame.amr_class =
      reader.bit(places.good) ? AmrFrameClass::speech_good : AmrFrameClass::speech_bad;
  set_request(frame, reader.field(places.request, 3));
  frame.amr_mode = is_670 ? kMode670 : kMode740;
  frame.content_bits = amr_bits(frame.amr_mode);
  reader.copy(places.data, frame.content_bits, frame.content);
  return frame;
}

tl::expected<void, TrauError> build_amr_8k(const TrauFrame& frame,
                                           std::span<std::byte> out) noexcept {
  const bool is_speech = frame.amr_class != AmrFrameClass::no_speech;
  if (is_speech && frame.amr_mode > kAmrMode8kMax) {
    return tl::unexpected(TrauError::unsupported);
  }
  if (!is_speech || frame.amr_mode < kMode670) {
    FrameWriter writer(out, kTrauLayout8k);
    build_amr_low(frame, writer);
    return {};
  }
  const bool is_670 = frame.amr_mode == kMode670;
  const FastPlaces places = is_670 ? kPlaces670 : kPlaces740;
  FrameWriter writer(out, is_670 ? kTrauLayout8kAmr670 : kTrauLayout8kAmr740);
  if (is_670) {
    writer.set(0, frame.direction == TrauDirection::downlink);
  }
  writer.set(places.good, frame.amr_class != AmrFrameClass::speech_bad);
  writer.set_field(places.request, 3, request_of(frame));
  writer.copy(places.data, amr_bits(frame.amr_mode), frame.content);
  return {};
}

}  // namespace rtp
