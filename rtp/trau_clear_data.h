#pragma once
// Circuit-switched data at an intermediate rate of 16 kbit/s: the data frames of TS 48.060 to V.110
// in a 64 kbit/s clear channel (RFC 4040) and back. A V.110 frame has 80 bits, 17 of them a fixed
// pattern (ITU-T V.110; TS 44.021), which data frames leave out; rate adaption to 64
// kbit/s puts two bits into each octet, its first two, and ones behind them. Pure functions, any
// thread.

#include "rtp/trau_frame.h"

#include <tl/expected.hpp>

#include <cstddef>
#include <span>

namespace rtp {

/// Octets of 20 ms of the clear channel: the four V.110 frames of a data frame.
inline constexpr std::size_t kClearDataBytes = 160;

/// Writes the clear channel's octets and returns their number. unsupported: a frame that says an
/// intermediate rate of 8 kbit/s (C6 = 0, TS 48.060).
[[nodiscard]] tl::expected<std::size_t, TrauError> trau_to_clear_data(
    const TrauFrame& frame, std::span<std::byte, kClearDataBytes> out) noexcept;

/// Reads four V.110 frames that begin with the first octet as a downlink data frame. unsupported:
/// there are no four such frames, for example because the sender's packets are out of step with
/// them. The last six bits of the octets are not looked at.
[[nodiscard]] tl::expected<TrauFrame, TrauError> clear_data_to_trau(
    std::span<const std::byte, kClearDataBytes> octets) noexcept;

}  // namespace rtp
