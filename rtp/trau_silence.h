#pragma once
// Silence descriptors of FR and EFR, told from speech by their code words, and the frames that fill
// a line while nothing is there to send. Pure functions over bytes, any thread.

#include "rtp/trau_frame.h"

#include <cstddef>
#include <span>

namespace rtp {

/// Fewer wrong bits of the code word than this make a valid SID (GSM 06.31 and GSM 06.81).
inline constexpr unsigned kValidSidErrors = 2;
/// Fewer than this make an invalid SID, more make speech.
inline constexpr unsigned kInvalidSidErrors = 16;

/// How many bits of the SID code word are wrong in the content of an FR frame: 95 bits of its
/// pulses, all 0 (GSM 06.12). `content` has 260 bits in the order of the RTP payload.
[[nodiscard]] unsigned full_rate_sid_errors(std::span<const std::byte> content) noexcept;

/// The same of an EFR frame: 95 bits, all 1 (GSM 06.62). `content` has 244 bits.
[[nodiscard]] unsigned enhanced_full_rate_sid_errors(std::span<const std::byte> content) noexcept;

/// How the bits of an FR, EFR or HR frame look; speech for all other types.
[[nodiscard]] SidClass classify_sid(const TrauFrame& frame) noexcept;

/// Whether the code word is there without an error, so that the frame goes with SP = 0. FR, EFR,
/// HR.
[[nodiscard]] bool is_perfect_sid(const TrauFrame& frame) noexcept;

/// Damages the code word of an FR or EFR frame until nobody takes the frame for a SID.
void break_sid(TrauFrame& frame) noexcept;

/// Sets all bits of the code word of an HR frame.
void normalise_half_rate_sid(TrauFrame& frame) noexcept;

/// What is sent in the downlink when nothing is there to send: FR and HR silence, the decoder
/// homing frame of EFR, AMR No_Data, data frames and all others of ones only.
[[nodiscard]] TrauFrame make_filler(TrauFrameType type) noexcept;

}  // namespace rtp
