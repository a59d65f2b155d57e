// Datagrams into messages, and first lines into commands, errors with their transaction id,
// responses or garbage.
#include "mgcp/parser.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace std::string_view_literals;
using mgcp::ResponseCode;
using mgcp::Verb;

namespace {

std::vector<std::string> messages_of(std::string_view datagram) {
  std::vector<std::string> messages;
  mgcp::MessageSplitter splitter(datagram);
  while (const auto message = splitter.next()) {
    messages.emplace_back(*message);
  }
  return messages;
}

mgcp::CommandLine command(std::string_view message) {
  return std::get<mgcp::CommandLine>(mgcp::parse_first_line(message));
}

mgcp::CommandLineError error(std::string_view message) {
  return std::get<mgcp::CommandLineError>(mgcp::parse_first_line(message));
}

bool is_garbage(std::string_view message) {
  return std::holds_alternative<mgcp::Garbage>(mgcp::parse_first_line(message));
}

using Messages = std::vector<std::string>;

}  // namespace

TEST_CASE("a datagram without separator is one message") {
  CHECK(messages_of("AUEP 1 null@mgw MGCP 1.0\r\n") == Messages{"AUEP 1 null@mgw MGCP 1.0\r\n"});
}

TEST_CASE("a line with a single dot parts messages, whatever ends the lines") {
  const Messages two{"AUEP 1 a@mgw MGCP 1.0", "AUEP 2 b@mgw MGCP 1.0"};
  for (const std::string separator :
       {"\r\n.\r\n", "\n.\n", "\r.\r", "\n.\r\n", "\n. \t\n", "\n.\n\n.\n"}) {
    std::vector<std::string> messages = messages_of(two[0] + separator + two[1]);
    REQUIRE(messages.size() == 2);
    for (std::size_t i = 0; i < 2; ++i) {
      CHECK(messages[i].find(two[i]) != std::string::npos);
      CHECK(messages[i].find("\n.") == std::string::npos);
    }
  }
}

TEST_CASE("dots within lines do not part messages") {
  for (const char* text : {"AUEP 1 a@mgw.example MGCP 1.0\r\nX: .\r\n", "AUEP 1 a@b MGCP 1.0\n..\n",
                           "AUEP 1 a@b MGCP 1.0\n.x\n", "AUEP 1 a@b MGCP 1.0\n .\n"}) {
    CAPTURE(text);
    CHECK(messages_of(text).size() == 1);
  }
}

TEST_CASE("a separator at the beginning or the end makes no empty message") {
  CHECK(messages_of(".\r\nAUEP 1 a@b MGCP 1.0\r\n.\r\n").size() == 1);
  CHECK(messages_of(".\n.\n.\n.\n").empty());
}

TEST_CASE("datagrams of a few bytes, or of zeros, hold no message") {
  for (const std::string& text :
       {std::string(), std::string("A"), std::string("AUE"), std::string(64, '\0'),
        std::string("A\0\0\0\0", 5), std::string("\r\n\r\n\r\n"), std::string(3, '\0')}) {
    CHECK(messages_of(text).empty());
  }
}

TEST_CASE("more piggybacked messages than the limit are cut off and reported") {
  std::string text;
  for (std::size_t i = 0; i < mgcp::kMessagesPerDatagramMax; ++i) {
    text += "AUEP 1 a@b MGCP 1.0\n.\n";
  }
  mgcp::MessageSplitter fits(text);
  std::size_t count = 0;
  while (fits.next()) {
    ++count;
  }
  CHECK(count == mgcp::kMessagesPerDatagramMax);
  CHECK_FALSE(fits.truncated());
  text += "AUEP 1 a@b MGCP 1.0\n.\nAUEP 1 a@b MGCP 1.0\n";
  mgcp::MessageSplitter surplus(text);
  for (count = 0; surplus.next(); ++count) {}
  CHECK(count == mgcp::kMessagesPerDatagramMax);
  CHECK(surplus.truncated());
}

TEST_CASE("a command line is read with verbs in any case and any run of blanks") {
  for (const char* text : {"CRCX 17 rtpbridge/*@mgw MGCP 1.0\r\nC: 1\r\n",
                           "crcx 17 rtpbridge/*@mgw mgcp 1.0\nC: 1\r\n",
                           "CrCx  17\trtpbridge/*@mgw   MGCP 1.0  \rC: 1\r\n",
                           "\r\n\r\nCRCX 000017 rtpbridge/*@mgw MGCP 1.0\nC: 1\r\n"}) {
    CAPTURE(text);
    const mgcp::CommandLine line = command(text);
    CHECK(line.verb == Verb::crcx);
    CHECK(line.transaction_id == 17);
    CHECK(line.endpoint == "rtpbridge/*@mgw");
    CHECK(line.profile.empty());
    CHECK(line.body == "C: 1\r\n");
  }
}

TEST_CASE("every verb is known by its name") {
  for (const Verb verb : {Verb::crcx, Verb::mdcx, Verb::dlcx, Verb::auep, Verb::aucx, Verb::rqnt,
                          Verb::rsip, Verb::epcf, Verb::ntfy}) {
    CHECK(command(std::string(to_text(verb)) + " 1 a@b MGCP 1.0").verb == verb);
  }
}

TEST_CASE("a profile name after the version is accepted") {
  CHECK(command("AUEP 1 a@b MGCP 1.0 NCS 1.0\r\n").profile == "NCS 1.0");
}

TEST_CASE("trailing NULs and a missing line end do not matter") {
  CHECK(command("AUEP 1 a@b MGCP 1.0\0\0"sv).transaction_id == 1);
  CHECK(command("AUEP 1 a@b MGCP 1.0\0\r\n"sv).body.empty());
}

TEST_CASE("an unknown verb is 504 with the transaction id that was read") {
  CHECK(error("AUXX 44 E MGCP 1.0").error.code == ResponseCode::unknown_command);
  CHECK(error("AUXX 44 E MGCP 1.0").transaction_id == 44);
  CHECK(error("AUXX").transaction_id == mgcp::kNoTransactionId);
  CHECK(error("hello world").error.code == ResponseCode::unknown_command);
  CHECK(error("MESG 7 a@b MGCP 1.0").transaction_id == 7);
  CHECK(error("CRCXX 7 a@b MGCP 1.0").error.code == ResponseCode::unknown_command);
}

TEST_CASE("a malformed command line is 510 with the transaction id that was read") {
  for (const char* text : {"CRCX 44", "CRCX 44 a@b", "CRCX 44 a@b MGCP", "CRCX 44 a@b MGPC 1.0",
                           "CRCX 44 a@b NCS 1.0"}) {
    CAPTURE(text);
    CHECK(error(text).error.code == ResponseCode::protocol_error);
    CHECK(error(text).transaction_id == 44);
    CHECK(error(text).verb == Verb::crcx);
  }
}

TEST_CASE("a version other than 1.0 is 528 with the transaction id") {
  for (const char* text :
       {"CRCX 45 a@b MGCP 0.1", "CRCX 45 a@b MGCP 1.00", "crcx 45 a@b mgcp 2.0"}) {
    CHECK(error(text).error.code == ResponseCode::incompatible_version);
    CHECK(error(text).transaction_id == 45);
  }
}

TEST_CASE("a transaction id that is none is 510 without id") {
  for (const char* text :
       {"CRCX", "CRCX 0 a@b MGCP 1.0", "CRCX 000 a@b MGCP 1.0", "CRCX x a@b MGCP 1.0",
        "CRCX -1 a@b MGCP 1.0", "CRCX 1000000000 a@b MGCP 1.0", "CRCX 1x a@b MGCP 1.0",
        "CRCX 99999999999999999999999999 a@b MGCP 1.0"}) {
    CAPTURE(text);
    CHECK(error(text).error.code == ResponseCode::protocol_error);
    CHECK(error(text).transaction_id == mgcp::kNoTransactionId);
  }
  CHECK(command("CRCX 1 a@b MGCP 1.0").transaction_id == 1);
  CHECK(command("CRCX 999999999 a@b MGCP 1.0").transaction_id == 999'999'999);
}

TEST_CASE("a command line longer than the limit is 510") {
  const std::string head = "CRCX 9 ";
  const std::string tail = " MGCP 1.0";
  const std::string fits(mgcp::kLineBytesMax - head.size() - tail.size(), 'e');
  CHECK(command(head + fits + tail).endpoint == fits);
  CHECK(error(head + fits + "e" + tail).error.code == ResponseCode::protocol_error);
  CHECK(error(head + fits + "e" + tail).transaction_id == 9);
}

TEST_CASE("responses are recognised, so that nobody answers an answer") {
  const auto line = [](std::string_view text) {
    return std::get<mgcp::ResponseLine>(mgcp::parse_first_line(text));
  };
  CHECK(line("200 21 OK").code == ResponseCode::ok);
  CHECK(line("200 21 OK").transaction_id == 21);
  CHECK(line("000 21").code == ResponseCode::acknowledgement);
  CHECK(line("504 000000 FAIL\r\n").transaction_id == mgcp::kNoTransactionId);
  CHECK(line("200 21 OK\r\nI: 1\r\n").body == "I: 1\r\n");
  CHECK(line("403 17 no free endpoint").reason == "no free endpoint");
}

TEST_CASE("numbers that are no response, and bytes that are no text, are garbage") {
  for (const std::string_view text :
       {"200"sv, "200 x OK"sv, "2000 21 OK"sv, "12345678"sv, " \r\n "sv,
        "\x80\x60\x01\x02 1 a@b MGCP 1.0"sv, "\xff\xff\xff\xff"sv, "-200 1 x"sv, "."sv, "...."sv}) {
    CHECK(is_garbage(text));
  }
}
