#pragma once
// Recordings as WAV files: 8000 Hz, mono, 16-bit linear samples.

#include <tl/expected.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rtpload {

/// Longest recording: 20 minutes, within which the 16-bit RTP sequence number tells all packets
/// apart.
inline constexpr std::size_t kSamplesMax = 20UL * 60 * 8000;

/// Takes a WAV file's bytes apart. Text of the error if it is none, or another format.
[[nodiscard]] tl::expected<std::vector<std::int16_t>, std::string> parse_wav(
    std::span<const std::uint8_t> file);
/// The bytes of a WAV file.
[[nodiscard]] std::vector<std::uint8_t> make_wav(std::span<const std::int16_t> samples);

}  // namespace rtpload
