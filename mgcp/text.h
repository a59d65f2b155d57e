#pragma once
// Small text tools that the parsers share: lines, tokens, numbers, comparison without case. ASCII
// only, never the locale. Not for use outside mgcp/.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mgcp::text {

/// Lower case of A..Z, other bytes unchanged.
[[nodiscard]] constexpr char to_lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Upper case of a..z, other bytes unchanged.
[[nodiscard]] constexpr char to_upper(char c) noexcept {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

/// 0..9.
[[nodiscard]] constexpr bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

/// A..Z and a..z.
[[nodiscard]] constexpr bool is_letter(char c) noexcept {
  return to_lower(c) >= 'a' && to_lower(c) <= 'z';
}

/// Blank, tab, and NUL, which some agents send at the end of a datagram.
[[nodiscard]] constexpr bool is_blank(char c) noexcept {
  return c == ' ' || c == '\t' || c == '\0';
}

/// CR and LF.
[[nodiscard]] constexpr bool is_line_end(char c) noexcept {
  return c == '\r' || c == '\n';
}

/// The value of a hexadecimal digit, or -1.
[[nodiscard]] constexpr int hex_value(char c) noexcept {
  const char lower = to_lower(c);
  if (is_digit(c)) {
    return c - '0';
  }
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/// Equal without regard to the case of letters.
[[nodiscard]] bool equal_ignoring_case(std::string_view left, std::string_view right) noexcept;

/// True if `text` begins with `prefix`, without regard to case.
[[nodiscard]] bool starts_with_ignoring_case(std::string_view text,
                                             std::string_view prefix) noexcept;

/// Without blanks at both ends.
[[nodiscard]] std::string_view trim(std::string_view text) noexcept;

/// Takes the next blank-separated token off the front of `rest`; empty at the end.
[[nodiscard]] std::string_view take_token(std::string_view& rest) noexcept;

/// Takes the text up to the next `separator` (which goes too) off the front of `rest`; all of it if
/// there is none.
[[nodiscard]] std::string_view take_until(std::string_view& rest, char separator) noexcept;

/// Reads digits only, the whole text; nothing for an empty text or a value above `maximum`.
[[nodiscard]] std::optional<std::uint64_t> parse_decimal(std::string_view text,
                                                         std::uint64_t maximum) noexcept;

/// Appends a number in decimal.
void append_decimal(std::string& out, std::uint64_t value);
void append_signed(std::string& out, std::int64_t value);

/// Hands out lines; CR, LF and CRLF each end one, the last needs no end.
class LineReader {
 public:
  explicit LineReader(std::string_view text) noexcept
      : text_(text), line_feed_(std::min(text.find('\n'), text.size())) {}

  /// The next line without its end; nothing after the last.
  [[nodiscard]] std::optional<std::string_view> next() noexcept;
  /// What has not been handed out yet.
  [[nodiscard]] std::string_view rest() const noexcept { return text_.substr(position_); }

 private:
  std::string_view text_;
  std::size_t position_ = 0;  ///< where the next line begins
  std::size_t line_feed_ =
      0;  ///< the first LF from there on, or the end: no byte is searched twice for it
};

}  // namespace mgcp::text
