// Lines, tokens and numbers: what every parser of mgcp/ is built from.
#include "mgcp/text.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace std::string_view_literals;
namespace text = mgcp::text;

namespace {

std::vector<std::string> lines_of(std::string_view input) {
  std::vector<std::string> lines;
  text::LineReader reader(input);
  while (const auto line = reader.next()) {
    lines.emplace_back(*line);
  }
  return lines;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("CR, LF and CRLF each end one line, in any mixture") {
  CHECK(lines_of("a\rb\nc\r\nd") == Lines{"a", "b", "c", "d"});
  CHECK(lines_of("a\r\rb") == Lines{"a", "", "b"});
  CHECK(lines_of("a\n\r\nb\n") == Lines{"a", "", "b"});
  CHECK(lines_of("a\r") == Lines{"a"});
  CHECK(lines_of("").empty());
}

TEST_CASE("tokens are parted by blanks, tabs and NULs, and the rest is left") {
  std::string_view rest = " \tone\0two  three "sv;
  CHECK(text::take_token(rest) == "one");
  CHECK(text::take_token(rest) == "two");
  CHECK(rest == "  three ");
  CHECK(text::take_token(rest) == "three");
  CHECK(text::take_token(rest).empty());
}

TEST_CASE("take_until gives the last part whole and then nothing") {
  std::string_view rest = "a,b";
  CHECK(text::take_until(rest, ',') == "a");
  CHECK(text::take_until(rest, ',') == "b");
  CHECK(rest.empty());
}

TEST_CASE("a decimal number is digits only and within its limit") {
  CHECK(text::parse_decimal("0", 10) == 0U);
  CHECK(text::parse_decimal("010", 10) == 10U);
  CHECK_FALSE(text::parse_decimal("11", 10));
  CHECK_FALSE(text::parse_decimal("", 10));
  CHECK_FALSE(text::parse_decimal("-1", 10));
  CHECK_FALSE(text::parse_decimal("+1", 10));
  CHECK_FALSE(text::parse_decimal("1 ", 10));
  CHECK_FALSE(text::parse_decimal("0x1", 10));
  CHECK_FALSE(text::parse_decimal("99999999999999999999999", UINT64_MAX));
  CHECK(text::parse_decimal("18446744073709551615", UINT64_MAX) == UINT64_MAX);
}

TEST_CASE("comparison ignores the case of ASCII letters only") {
  CHECK(text::equal_ignoring_case("AbC-9", "aBc-9"));
  CHECK_FALSE(text::equal_ignoring_case("abc", "abcd"));
  CHECK_FALSE(text::equal_ignoring_case("[", "{"));
  CHECK(text::starts_with_ignoring_case("RTPBridge/1", "rtpbridge/"));
  CHECK_FALSE(text::starts_with_ignoring_case("rtp", "rtpbridge/"));
}

TEST_CASE("trim takes blanks, tabs and NULs off both ends") {
  CHECK(text::trim(" \t a b\0 "sv) == "a b");
  CHECK(text::trim(" \0 "sv).empty());
}
