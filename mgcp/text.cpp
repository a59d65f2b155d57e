#include "mgcp/text.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace mgcp::text {

bool equal_ignoring_case(std::string_view left, std::string_view right) noexcept {
  return left.size() == right.size() &&
         std::equal(left.begin(), left.end(), right.begin(),
                    [](char a, char b) { return to_lower(a) == to_lower(b); });
}

bool starts_with_ignoring_case(std::string_view text, std::string_view prefix) noexcept {
  return text.size() >= prefix.size() && equal_ignoring_case(text.substr(0, prefix.size()), prefix);
}

std::string_view trim(std::string_view text) noexcept {
  while (!text.empty() && is_blank(text.front())) {
    text.remove_prefix(1);
  }
  while (!text.empty() && is_blank(text.back())) {
    text.remove_suffix(1);
  }
  return text;
}

std::string_view take_token(std::string_view& rest) noexcept {
  std::size_t begin = 0;
  while (begin < rest.size() && is_blank(rest[begin])) {
    ++begin;
  }
  std::size_t end = begin;
  while (end < rest.size() && !is_blank(rest[end])) {
    ++end;
  }
  const std::string_view token = rest.substr(begin, end - begin);
  rest.remove_prefix(end);
  return token;
}

std::string_view take_until(std::string_view& rest, char separator) noexcept {
  const std::size_t end = rest.find(separator);
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return part;
}

std::optional<std::uint64_t> parse_decimal(std::string_view text, std::uint64_t maximum) noexcept {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size() || value > maximum) {
    return std::nullopt;
  }
  return value;
}

namespace {

template <typename Number>
void append_number(std::string& out, Number value) {
  std::array<char, 24> digits;  // 20 digits and a sign
  const auto result = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  out.append(digits.data(), result.ptr);
}

}  // namespace

void append_decimal(std::string& out, std::uint64_t value) {
  append_number(out, value);
}

void append_signed(std::string& out, std::int64_t value) {
  append_number(out, value);
}

std::optional<std::string_view> LineReader::next() noexcept {
  if (position_ == text_.size()) {
    return std::nullopt;
  }
  if (line_feed_ < position_) {
    line_feed_ = std::min(text_.find('\n', position_), text_.size());
  }
  std::string_view line = text_.substr(position_, line_feed_ - position_);
  line = line.substr(0, line.find('\r'));
  position_ += line.size();
  if (position_ < text_.size()) {
    const bool two = text_[position_] == '\r' && position_ + 1 == line_feed_;
    position_ += two && line_feed_ < text_.size() ? 2U : 1U;
  }
  return line;
}

}  // namespace mgcp::text
