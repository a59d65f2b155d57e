#include "tools/rtpload/wav.h"

#include <algorithm>
#include <string_view>

namespace rtpload {
namespace {

constexpr std::size_t kRiffHeaderBytes = 12;
constexpr std::size_t kChunkHeaderBytes = 8;
constexpr std::size_t kFormatBytes = 16;
constexpr std::uint32_t kRateHz = 8000;

std::uint32_t little_endian(std::span<const std::uint8_t> bytes, std::size_t size) noexcept {
  std::uint32_t value = 0;
  for (std::size_t i = size; i > 0; --i) {
    value = (value << 8U) | bytes[i - 1];
  }
  return value;
}

bool has_tag(std::span<const std::uint8_t> bytes, std::string_view tag) noexcept {
  return bytes.size() >= tag.size() && std::equal(tag.begin(), tag.end(), bytes.begin());
}

bool is_wanted_format(std::span<const std::uint8_t> format) noexcept {
  constexpr std::uint32_t kLinear = 1;
  constexpr std::uint32_t kExtensible = 0xfffe;
  const std::uint32_t kind = little_endian(format, 2);
  return (kind == kLinear || kind == kExtensible) && little_endian(format.subspan(2), 2) == 1 &&
         little_endian(format.subspan(4), 4) == kRateHz &&
         little_endian(format.subspan(14), 2) == 16;
}

void append(std::vector<std::uint8_t>& out, std::string_view tag) {
  out.insert(out.end(), tag.begin(), tag.end());
}

void append(std::vector<std::uint8_t>& out, std::uint32_t value, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i, value >>= 8U) {
    out.push_back(static_cast<std::uint8_t>(value));
  }
}

}  // namespace

tl::expected<std::vector<std::int16_t>, std::string> parse_wav(std::span<const std::uint8_t> file) {
  if (file.size() < kRiffHeaderBytes || !has_tag(file, "RIFF") ||
      !has_tag(file.subspan(8), "WAVE")) {
    return tl::unexpected(std::string("not a WAV file"));
  }
  bool format_is_right = false;
  std::span<const std::uint8_t> rest = file.subspan(kRiffHeaderBytes);
  while (rest.size() >= kChunkHeaderBytes) {
    // A file that was written to a pipe says nonsense about its size: what is there counts.
    const std::size_t size =
        std::min<std::size_t>(little_endian(rest.subspan(4), 4), rest.size() - kChunkHeaderBytes);
    const std::span<const std::uint8_t> content = rest.subspan(kChunkHeaderBytes, size);
    if (has_tag(rest, "fmt ") && size >= kFormatBytes) {
      format_is_right = is_wanted_format(content);
    } else if (has_tag(rest, "data") && format_is_right) {
      std::vector<std::int16_t> samples(std::min(size / 2, kSamplesMax));
      for (std::size_t i = 0; i < samples.size(); ++i) {
        samples[i] = static_cast<std::int16_t>(little_endian(content.subspan(2 * i), 2));
      }
      return samples;
    }
    rest = rest.subspan(std::min(rest.size(), kChunkHeaderBytes + size + size % 2));
  }
  return tl::unexpected(std::string("not 8000 Hz, mono, 16 bit"));
}

std::vector<std::uint8_t> make_wav(std::span<const std::int16_t> samples) {
  const auto data_bytes = static_cast<std::uint32_t>(samples.size() * 2);
  std::vector<std::uint8_t> file;
  append(file, "RIFF");
  append(file, data_bytes + 36, 4);
  append(file, "WAVEfmt ");
  append(file, kFormatBytes, 4);
  append(file, 1, 2);
  append(file, 1, 2);
  append(file, kRateHz, 4);
  append(file, kRateHz * 2, 4);
  append(file, 2, 2);
  append(file, 16, 2);
  append(file, "data");
  append(file, data_bytes, 4);
  for (const std::int16_t sample : samples) {
    append(file, static_cast<std::uint16_t>(sample), 2);
  }
  return file;
}

}  // namespace rtpload
