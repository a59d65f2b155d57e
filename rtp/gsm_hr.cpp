#include "rtp/gsm_hr.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace rtp {
namespace {

using ConvertedSize = tl::expected<std::size_t, ConversionError>;

constexpr std::byte kFollowsBit{0x80};
constexpr std::byte kReservedBits{0x0f};

unsigned frame_type_of(std::byte entry) noexcept {
  return std::to_integer<unsigned>(entry >> 4U) & 0x07U;
}

bool is_type(std::byte entry, GsmHrFrameType type) noexcept {
  return frame_type_of(entry) == static_cast<unsigned>(type);
}

/// How many entries a table of contents has, and how many of them have a frame behind it.
struct Contents {
  std::size_t entries = 0;
  std::size_t frames = 0;
};

tl::expected<Contents, ConversionError> read_contents(std::span<const std::byte> payload) noexcept {
  Contents contents;
  for (bool follows = true; follows;) {
    if (contents.entries == payload.size()) {
      return tl::unexpected(ConversionError::wrong_length);
    }
    if (contents.entries == kGsmHrFramesMax) {
      return tl::unexpected(ConversionError::too_many_frames);
    }
    const std::byte entry = payload[contents.entries];
    const bool has_frame = is_type(entry, GsmHrFrameType::speech) ||
                           is_type(entry, GsmHrFrameType::silence_descriptor);
    if (!has_frame && !is_type(entry, GsmHrFrameType::no_data)) {
      return tl::unexpected(ConversionError::invalid_frame_type);
    }
    contents.frames += has_frame ? 1 : 0;
    ++contents.entries;
    follows = (entry & kFollowsBit) != std::byte{0};
  }
  if (payload.size() != contents.entries + contents.frames * kGsmHrFrameBytes) {
    return tl::unexpected(ConversionError::wrong_length);
  }
  return contents;
}

bool is_bare(std::span<const std::byte> payload) noexcept {
  return !payload.empty() && payload.size() % kGsmHrFrameBytes == 0 &&
         payload.size() / kGsmHrFrameBytes <= kGsmHrFramesMax;
}

ConvertedSize copy(std::span<const std::byte> bytes, std::span<std::byte> out) noexcept {
  if (bytes.size() > out.size()) {
    return tl::unexpected(ConversionError::no_room);
  }
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return bytes.size();
}

ConvertedSize add_contents(std::span<const std::byte> frames, std::span<std::byte> out) noexcept {
  const std::size_t count = frames.size() / kGsmHrFrameBytes;
  const std::size_t size = count + frames.size();
  if (size > out.size()) {
    return tl::unexpected(ConversionError::no_room);
  }
  for (std::size_t index = 0; index < count; ++index) {
    const auto frame = frames.subspan(index * kGsmHrFrameBytes).first<kGsmHrFrameBytes>();
    const auto type =
        is_gsm_hr_silence(frame) ? GsmHrFrameType::silence_descriptor : GsmHrFrameType::speech;
    const auto entry = static_cast<std::byte>(static_cast<unsigned>(type) << 4U);
    out[index] = index + 1 < count ? entry | kFollowsBit : entry;
  }
  std::memcpy(out.data() + count, frames.data(), frames.size());
  return size;
}

}  // namespace

bool is_gsm_hr_silence(std::span<const std::byte, kGsmHrFrameBytes> frame) noexcept {
  constexpr std::byte kLastParameterBit{0x80};
  const auto code_word = frame.subspan<5>();
  return (frame[4] | kLastParameterBit) == std::byte{0xff} &&
         std::all_of(code_word.begin(), code_word.end(),
                     [](std::byte octet) { return octet == std::byte{0xff}; });
}

tl::expected<std::size_t, ConversionError> convert_gsm_hr(std::span<const std::byte> payload,
                                                          GsmHrFormat target,
                                                          std::span<std::byte> out) noexcept {
  if (is_bare(payload)) {
    return target == GsmHrFormat::ts101318 ? copy(payload, out) : add_contents(payload, out);
  }
  const auto contents = read_contents(payload);
  if (!contents) {
    return tl::unexpected(contents.error());
  }
  if (target == GsmHrFormat::rfc5993) {
    const auto size = copy(payload, out);
    for (std::size_t index = 0; size && index < contents->entries; ++index) {
      out[index] &= ~kReservedBits;
    }
    return size;
  }
  if (contents->frames != contents->entries) {
    return tl::unexpected(ConversionError::no_equivalent);
  }
  return copy(payload.subspan(contents->entries), out);
}

tl::expected<std::size_t, ConversionError> toggle_gsm_hr(std::span<const std::byte> payload,
                                                         std::span<std::byte> out) noexcept {
  if (payload.size() == kGsmHrFrameBytes) {
    if (out.size() <= kGsmHrFrameBytes) {
      return tl::unexpected(ConversionError::no_room);
    }
    out[0] = std::byte{0};
    std::memcpy(out.data() + 1, payload.data(), kGsmHrFrameBytes);
    return kGsmHrFrameBytes + 1;
  }
  const auto contents = read_contents(payload);
  if (!contents) {
    return tl::unexpected(contents.error());
  }
  if (contents->frames != 1 || contents->entries != 1) {
    return tl::unexpected(ConversionError::no_equivalent);
  }
  return copy(payload.subspan(1), out);
}

}  // namespace rtp
