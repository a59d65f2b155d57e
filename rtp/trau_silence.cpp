#include "rtp/trau_silence.h"

#include "rtp/bit_string.h"
#include "rtp/gsm_hr.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace rtp {
namespace {

constexpr std::size_t kCodeWordBits = 95;
using CodeWord = std::array<std::uint16_t, kCodeWordBits>;

/// The two upper bits of all pulses, except the last nine of the fourth sub-frame, of which it is
/// the uppermost only: the bits of class 1.
constexpr CodeWord make_full_rate_code_word() noexcept {
  constexpr std::size_t kReflectionBits = 36;
  constexpr std::size_t kSubFrameBits = 56;
  constexpr std::size_t kPulsesAt = 17;
  constexpr std::size_t kPulses = 13;
  constexpr std::size_t kLastPulsesOfTwo = 4;
  CodeWord places{};
  std::size_t count = 0;
  for (std::size_t sub_frame = 0; sub_frame < 4; ++sub_frame) {
    for (std::size_t pulse = 0; pulse < kPulses; ++pulse) {
      const std::size_t at = kReflectionBits + sub_frame * kSubFrameBits + kPulsesAt + pulse * 3;
      places[count++] = static_cast<std::uint16_t>(at);
      if (sub_frame < 3 || pulse < kLastPulsesOfTwo) {
        places[count++] = static_cast<std::uint16_t>(at + 1);
      }
    }
  }
  return places;
}

constexpr CodeWord kFullRateCodeWord = make_full_rate_code_word();
static_assert(kFullRateCodeWord.back() == 36 + 3 * 56 + 17 + 12 * 3);

// GSM 06.62.
constexpr CodeWord kEnhancedCodeWord{
    45,  46,  48,  49,  50,  51,  52,  53,  54,  55,  56,  57,  58,  59,  60,  61,  62,  63,  64,
    65,  66,  67,  68,  94,  95,  96,  98,  99,  100, 101, 102, 103, 104, 105, 106, 107, 108, 109,
    110, 111, 112, 113, 114, 115, 116, 117, 118, 148, 149, 150, 151, 152, 153, 154, 155, 156, 157,
    158, 159, 160, 161, 162, 163, 164, 165, 166, 167, 168, 169, 170, 171, 196, 197, 198, 199, 200,
    201, 202, 203, 204, 205, 206, 207, 208, 209, 212, 213, 214, 215, 216, 217, 218, 219, 220, 221};

unsigned count_wrong(std::span<const std::byte> content, const CodeWord& places,
                     bool right) noexcept {
  return static_cast<unsigned>(
      std::count_if(places.begin(), places.end(),
                    [=](std::uint16_t place) { return get_bit(content, place) != right; }));
}

template <std::size_t Size>
void fill(TrauFrame& frame, const std::array<std::uint8_t, Size>& payload, std::size_t skipped_bits,
          std::uint16_t bits) noexcept {
  copy_bits(std::as_bytes(std::span(payload)), skipped_bits, frame.content, 0, bits);
  frame.content_bits = bits;
}

// As RTP payloads: behind a signature of four bits.
constexpr std::array<std::uint8_t, 33> kFullRateSilence{
    0xda, 0xa7, 0xaa, 0xa5, 0x1a, 0x50, 0x20, 0x38, 0xe4, 0x6d, 0xb9,
    0x1b, 0x50, 0x20, 0x38, 0xe4, 0x6d, 0xb9, 0x1b, 0x50, 0x20, 0x38,
    0xe4, 0x6d, 0xb9, 0x1b, 0x50, 0x20, 0x38, 0xe4, 0x6d, 0xb9, 0x1b};
// GSM 06.60: its parameters one after the other.
constexpr std::array<std::uint8_t, 31> kEnhancedHoming{
    0xc0, 0x85, 0xeb, 0x49, 0x0f, 0xaa, 0xd6, 0x03, 0xe3, 0xa1, 0x86, 0x07, 0xb0, 0xc4, 0x2c, 0x08,
    0x04, 0x80, 0x55, 0x80, 0x00, 0x00, 0x00, 0x00, 0x03, 0x6b, 0x00, 0x00, 0x00, 0x00, 0x00};
constexpr std::array<std::uint8_t, kGsmHrFrameBytes> kHalfRateSilence{0x01, 0x64, 0xb8, 0xe5, 0x80};
constexpr std::size_t kSignatureBits = 4;
constexpr std::size_t kHalfRateSidParameterBits = 33;

}  // namespace

unsigned full_rate_sid_errors(std::span<const std::byte> content) noexcept {
  return count_wrong(content, kFullRateCodeWord, false);
}

unsigned enhanced_full_rate_sid_errors(std::span<const std::byte> content) noexcept {
  return count_wrong(content, kEnhancedCodeWord, true);
}

namespace {

/// As many as the code word has for a type that has none.
unsigned sid_errors(const TrauFrame& frame) noexcept {
  switch (frame.type) {
    case TrauFrameType::full_rate:
      return full_rate_sid_errors(frame.content);
    case TrauFrameType::enhanced_full_rate:
      return enhanced_full_rate_sid_errors(frame.content);
    case TrauFrameType::half_rate: {
      unsigned errors = 0;
      for (std::size_t bit = kHalfRateSidParameterBits; bit < kHalfRateBits; ++bit) {
        errors += get_bit(frame.content, bit) ? 0U : 1U;
      }
      return errors;
    }
    default:
      return kCodeWordBits;
  }
}

}  // namespace

SidClass classify_sid(const TrauFrame& frame) noexcept {
  const unsigned errors = sid_errors(frame);
  if (errors < kValidSidErrors) {
    return SidClass::valid_sid;
  }
  return errors < kInvalidSidErrors ? SidClass::invalid_sid : SidClass::speech;
}

bool is_perfect_sid(const TrauFrame& frame) noexcept {
  return sid_errors(frame) == 0;
}

void break_sid(TrauFrame& frame) noexcept {
  const bool is_full_rate = frame.type == TrauFrameType::full_rate;
  const CodeWord& places = is_full_rate ? kFullRateCodeWord : kEnhancedCodeWord;
  for (std::size_t index = 0; index < kInvalidSidErrors; ++index) {
    set_bit(frame.content, places[index], is_full_rate);
  }
}

void normalise_half_rate_sid(TrauFrame& frame) noexcept {
  for (std::size_t bit = kHalfRateSidParameterBits; bit < kHalfRateBits; ++bit) {
    set_bit(frame.content, bit, true);
  }
}

TrauFrame make_filler(TrauFrameType type) noexcept {
  TrauFrame frame;
  frame.type = type;
  frame.direction = TrauDirection::downlink;
  switch (type) {
    case TrauFrameType::full_rate:
      fill(frame, kFullRateSilence, kSignatureBits, kFullRateBits);
      break;
    case TrauFrameType::enhanced_full_rate:
      fill(frame, kEnhancedHoming, kSignatureBits, kEnhancedFullRateBits);
      break;
    case TrauFrameType::half_rate:
      fill(frame, kHalfRateSilence, 0, kHalfRateBits);
      break;
    case TrauFrameType::adaptive_multi_rate:
      break;
    case TrauFrameType::data:
      frame.content_bits = kTrauDataBits;
      frame.content.fill(std::byte{0xff});
      frame.time_alignment = 0x3f;  // C6 = 1: 16 kbit/s
      break;
    default:
      frame.content.fill(std::byte{0xff});
  }
  return frame;
}

}  // namespace rtp
