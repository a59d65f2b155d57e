#pragma once
// TRAU frames between a base station and its transcoder, read and written as values: 16 kbit/s
// (3GPP TS 48.060; TS 48.061 clause 5.1 for half rate) and 8 kbit/s (TS 48.061 clause 5.2). Pure
// functions over bytes, any thread.
//
// Of the AMR frames at 16 kbit/s the places of the control, data and T bits are the standard's. The
// order of the speech bits within D1..D256 (that of RFC 4867, then the mode bits of a SID and one
// CRC-3 over the class A bits) and all of the AMR frames at 8 kbit/s are mgw's own: they carry AMR
// between two mgw, and not to a base station. trau_is_standard() tells which is which.

#include "rtp/trau_layout.h"

#include <tl/expected.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace rtp {

/// What a frame carries (C1..C5 of the 16 kbit/s frames).
enum class TrauFrameType : std::uint8_t {
  full_rate,
  enhanced_full_rate,
  half_rate,
  adaptive_multi_rate,
  data,  ///< Circuit-switched data: four V.110 frames of 63 bits each (252 bits).
  idle,
  operation_maintenance,  ///< The 270 bits behind C15, as they are.
};

/// Uplink = from the base station. EFR frames don't say it; they are downlink if C13 and C14 are
/// both 1, which no uplink frame has. AMR frames at 16 kbit/s don't say it at all: uplink.
enum class TrauDirection : std::uint8_t { uplink, downlink };

/// Classes of silence descriptors (C13, C14); downlink frames say valid by C16 (SP) = 0.
enum class SidClass : std::uint8_t { speech = 0, invalid_sid = 1, valid_sid = 2 };

/// Classes of AMR frames (C21, C22).
enum class AmrFrameClass : std::uint8_t {
  no_speech = 0,
  speech_bad = 1,
  speech_degraded = 2,
  speech_good = 3
};

/// What an AMR frame without speech is (C23..C25 of those).
enum class AmrNoSpeech : std::uint8_t {
  no_data = 0,
  sid_bad = 4,
  sid_update = 5,
  onset = 6,
  sid_first = 7
};

/// Number of bits of the longest content (O&M).
inline constexpr std::size_t kTrauContentBitsMax = 270;
/// Octets for it.
inline constexpr std::size_t kTrauContentBytesMax = (kTrauContentBitsMax + 7) / 8;
/// Bits of a frame's speech: GSM 06.10, GSM 06.60, GSM 06.20.
inline constexpr std::uint16_t kFullRateBits = 260;
inline constexpr std::uint16_t kEnhancedFullRateBits = 244;
inline constexpr std::uint16_t kHalfRateBits = 112;
/// Bits of a data frame's content.
inline constexpr std::uint16_t kTrauDataBits = 252;
/// Bits of an AMR SID: 35 parameters, the SID type and three mode bits (RFC 4867 section 4.3.2).
inline constexpr std::uint16_t kAmrSidBits = 39;
/// mode_request of a frame that says nothing about it.
inline constexpr std::uint8_t kNoModeRequest = 15;
/// Fastest AMR mode at 8 kbit/s: 7.40 kbit/s.
inline constexpr std::uint8_t kAmrMode8kMax = 4;

/// One frame. `content` is in the order of the RTP payload (FR, EFR: behind the signature; HR;
/// AMR: behind the table of contents), packed from its first bit on.
struct TrauFrame {
  TrauFrameType type = TrauFrameType::idle;
  TrauDirection direction = TrauDirection::uplink;
  std::uint8_t time_alignment = 0;   ///< C6..C11, at 8 kbit/s C6..C8, as they are.
  SidClass sid = SidClass::speech;   ///< FR, EFR, HR
  bool bad_frame = false;            ///< C12 (BFI) of uplink FR, EFR, HR
  bool time_alignment_flag = false;  ///< C15 (TAF) of uplink FR, EFR, HR
  bool dtx_downlink = false;         ///< C17 (DTXd), AMR C19, at 8 kbit/s C9; uplink
  bool unreliable = false;           ///< UFI of uplink HR
  bool crc_good = true;              ///< EFR, HR and AMR at 16 kbit/s; others have none.
  AmrFrameClass amr_class = AmrFrameClass::no_speech;
  AmrNoSpeech amr_no_speech = AmrNoSpeech::no_data;
  bool amr_says_request = false;  ///< RIF: C23..C25 are mode_request, not amr_mode.
  std::uint8_t amr_mode = 0;      ///< Of the speech bits: 0 (4.75) .. 7 (12.2 kbit/s).
  std::uint8_t amr_mode_request = kNoModeRequest;  ///< 0..7
  std::uint16_t content_bits = 0;
  std::array<std::byte, kTrauContentBytesMax> content{};
};

/// Why a frame is of no use. The first four say that it can't be read or written.
enum class TrauError : std::uint8_t {
  wrong_length,  ///< Not as many bits or octets as the frame or payload has.
  unknown_type,  ///< Control bits that name no frame, or with a wrong parity.
  unsupported,   ///< Nothing says how the one form's content is written in the other.
  no_room,       ///< The result does not fit into the buffer.
  wrong_type,    ///< A frame or payload of another codec than the one agreed.
  bad_frame,     ///< Damaged on the radio, and the payload format can't say so.
  bad_crc,       ///< Damaged on the line.
  nothing,       ///< Idle, O&M or No_Data: nothing to send, and no fault.
};

/// Number of enumerators of TrauError, for counters by cause.
inline constexpr std::size_t kTrauErrorCount = 8;

/// The cause as in metrics and logs, for example "bad_crc".
[[nodiscard]] std::string_view to_string(TrauError error) noexcept;

/// Whether frames of this type and framing are those of the standard, so that a base station reads
/// them; the others are understood by mgw alone.
[[nodiscard]] bool trau_is_standard(TrauFrameType type, TrauFraming framing) noexcept;

/// Reads a frame of exactly trau_frame_bits. The synchronisation bits are not looked at, except at
/// amr_8k to find the layout. Bits errors in C1..C5 are not corrected. `amr_mode` (0..7) is the
/// mode of the AMR speech before: a frame that says a mode request does not say its own mode.
[[nodiscard]] tl::expected<TrauFrame, TrauError> parse_trau_frame(std::span<const std::byte> bits,
                                                                  TrauFraming framing,
                                                                  std::uint8_t amr_mode) noexcept;

/// Writes `frame` with its synchronisation bits, CRCs and parities, spare and T bits 1, to the
/// first trau_frame_bits of `out`. Uplink frames say all of `frame`; downlink ones as TS 48.060
/// has it: type, time alignment, SP, content.
[[nodiscard]] tl::expected<void, TrauError> build_trau_frame(const TrauFrame& frame,
                                                             TrauFraming framing,
                                                             std::span<std::byte> out) noexcept;

/// What an uplink frame asks of the next downlink frame, in steps of 250 us: positive = later (the
/// frame is lengthened), -1 = earlier (shortened), none = nothing or no valid value
/// (TS 48.060, TS 48.061).
[[nodiscard]] std::optional<int> time_alignment_request(const TrauFrame& frame,
                                                        TrauFraming framing) noexcept;

/// The longest delay that a base station can ask for, in steps of 250 us: 19.5 ms, at 8 kbit/s 9
/// ms. AMR at 8 kbit/s has no room for the request.
[[nodiscard]] constexpr std::size_t time_alignment_steps_max(TrauFraming framing) noexcept {
  switch (framing) {
    case TrauFraming::trau_16k:
      return 78;
    case TrauFraming::hr_8k:
      return 36;
    case TrauFraming::amr_8k:
      break;
  }
  return 0;
}

/// Bits of 250 us of the sub-slot.
[[nodiscard]] constexpr std::size_t time_alignment_step_bits(TrauFraming framing) noexcept {
  return trau_frame_bits(framing) / 80;
}

}  // namespace rtp
