#include "io/printable_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace io {

std::size_t utf8_size(std::string_view text) noexcept {
  const auto byte = [text](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xc0U) == 0x80U; };
  const unsigned first = byte(0);
  if (first < 0x80U) {
    return 1;
  }
  if (first >= 0xc2U && first <= 0xdfU) {
    return continues(1) ? 2 : 0;
  }
  if (first >= 0xe0U && first <= 0xefU) {
    const bool overlong = first == 0xe0U && byte(1) < 0xa0U;
    const bool surrogate = first == 0xedU && byte(1) > 0x9fU;
    return continues(1) && continues(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xf0U && first <= 0xf4U) {
    const bool overlong = first == 0xf0U && byte(1) < 0x90U;
    const bool beyond = first == 0xf4U && byte(1) > 0x8fU;
    return continues(1) && continues(2) && continues(3) && !overlong && !beyond ? 4 : 0;
  }
  return 0;
}

bool is_control(std::string_view sequence) noexcept {
  const auto byte = [sequence](std::size_t i) { return static_cast<unsigned char>(sequence[i]); };
  if (sequence.size() == 1) {
    return byte(0) < 0x20U || byte(0) == 0x7fU;
  }
  return sequence.size() == 2 && byte(0) == 0xc2U && byte(1) < 0xa0U;
}

void append_printable(std::string& out, std::string_view text) {
  while (!text.empty()) {
    const std::size_t size = utf8_size(text);
    const std::string_view piece = text.substr(0, std::max<std::size_t>(size, 1));
    if (size != 0 && !is_control(piece)) {
      out += piece;
    } else {
      for (const char character : piece) {
        fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(character));
      }
    }
    text.remove_prefix(piece.size());
  }
}

std::string printable(std::string_view text) {
  std::string out;
  append_printable(out, text);
  return out;
}

}  // namespace io
