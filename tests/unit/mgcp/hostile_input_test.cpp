// Inputs that are far larger than any datagram and made to be slow: work must stay linear. A parser
// that looks at each byte once per other byte would need days for these, so that such a fault shows
// as a test that never ends.
#include "mgcp/parser.h"

#include <doctest/doctest.h>

#include <string>

namespace {

constexpr std::size_t kHostileBytes = std::size_t{8} * 1024 * 1024;

std::string repeat(std::string_view piece) {
  std::string text;
  text.reserve(kHostileBytes + piece.size());
  while (text.size() < kHostileBytes) {
    text += piece;
  }
  return text;
}

/// Takes a datagram through all that the gateway does with its text.
std::size_t read_all(std::string_view datagram) {
  mgcp::MessageSplitter splitter(datagram);
  std::size_t messages = 0;
  while (const auto message = splitter.next()) {
    const auto line = mgcp::parse_first_line(*message);
    if (const auto* command = std::get_if<mgcp::CommandLine>(&line)) {
      static_cast<void>(mgcp::parse_endpoint_name(command->endpoint));
      static_cast<void>(mgcp::parse_parameters(*command));
    }
    static_cast<void>(mgcp::parse_response(*message));
    ++messages;
  }
  return messages;
}

}  // namespace

TEST_CASE("splitting is linear in dots, blanks, line ends and separators") {
  CHECK(read_all(repeat(".\n")) == 0);
  CHECK(read_all(repeat(". \t")) == 1);
  CHECK(read_all(repeat("\n.   x")) == 1);
  CHECK(read_all(repeat("\r\n")) == 0);
  CHECK(read_all(repeat("\n.\nx\n.\n")) == mgcp::kMessagesPerDatagramMax);
  CHECK(read_all(repeat(" ")) == 0);
}

TEST_CASE("first lines and parameters are linear in tokens, lines and list items") {
  const std::string head = "CRCX 1 rtpbridge/1@mgw MGCP 1.0\n";
  CHECK(read_all("CRCX 1 " + repeat("a ")) == 1);
  CHECK(read_all(repeat("1")) == 1);
  CHECK(read_all(head + repeat("C: 1\n")) == 1);
  CHECK(read_all(head + "K: " + repeat("1,")) == 1);
  CHECK(read_all(head + "L: " + repeat("a:b,")) == 1);
  CHECK(read_all("200 1 OK\n" + repeat("P: PS=1\n")) == 1);
  CHECK(read_all("200 1 OK\nP: " + repeat("PS=1,")) == 1);
  CHECK_FALSE(mgcp::parse_endpoint_name(repeat("rtpbridge/")));
}

TEST_CASE("descriptions are linear in lines, payload types and format parameters") {
  CHECK_FALSE(mgcp::parse_sdp(repeat("a=fmtp:96 x\n")));
  CHECK_FALSE(mgcp::parse_sdp(repeat("m=audio 1 RTP/AVP 0\n")));
  CHECK_FALSE(mgcp::parse_sdp("m=audio 1 RTP/AVP " + repeat("96 ")));
  CHECK(mgcp::format_parameters(repeat("a=1, ")).size() == 1);
  CHECK(mgcp::format_parameters(repeat("a ; ")).size() == kHostileBytes / 4);
  CHECK_FALSE(mgcp::parse_local_options(repeat("\"a,")));
}
