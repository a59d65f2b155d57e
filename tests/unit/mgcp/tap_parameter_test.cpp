// X-Mgw-Tap: what is understood, and that everything else is refused.

#include "mgcp/tap_parameter.h"

#include "mgcp/parser.h"

#include <doctest/doctest.h>

#include <string>
#include <variant>

using mgcp::TapParameter;
using State = mgcp::TapParameter::State;

namespace {

tl::expected<mgcp::Request, mgcp::ProtocolError> parse(const std::string& text) {
  return mgcp::parse_parameters(std::get<mgcp::CommandLine>(mgcp::parse_first_line(text)));
}

}  // namespace

TEST_CASE("taps to addresses and files are read, in any letter case, each direction by itself") {
  struct Row {
    const char* text;
    State state;
    bool in;
    bool out;
    const char* where;
  };
  for (const Row& row : {
           Row{"in udp 127.0.0.1:5000", State::udp, true, false, "127.0.0.1:5000"},
           Row{"OUT UDP [::1]:1", State::udp, false, true, "[::1]:1"},
           Row{"in,out udp 127.0.0.1:65535", State::udp, true, true, "127.0.0.1:65535"},
           Row{"out,in\tpcap  call1.pcap ", State::pcap, true, true, "call1.pcap"},
           Row{"both pcap A-b_c.9", State::pcap, true, true, "A-b_c.9"},
           Row{"in pcap x", State::pcap, true, false, "x"},
           Row{"off", State::off, true, true, ""},
           Row{"Out Off", State::off, false, true, ""},
       }) {
    CAPTURE(row.text);
    const auto tap = mgcp::parse_tap(row.text);
    REQUIRE(tap);
    CHECK(tap->state == row.state);
    CHECK(tap->in == row.in);
    CHECK(tap->out == row.out);
    CHECK((tap->state == State::udp ? tap->target.text() : std::string(tap->file)) == row.where);
  }
}

TEST_CASE("a malformed tap is refused with 510 and a reason") {
  const std::string longest(mgcp::kTapFileNameBytesMax, 'a');
  CHECK(mgcp::parse_tap("in pcap " + longest));
  const std::vector<std::string> rows = {"",
                                         " ",
                                         "udp 127.0.0.1:5000",
                                         "in",
                                         "both",
                                         "in,out",
                                         "in,",
                                         ",in udp 127.0.0.1:5000",
                                         "in,out,in udp 127.0.0.1:5000",
                                         "in, out udp 127.0.0.1:5000",
                                         "up udp 127.0.0.1:5000",
                                         "in udp",
                                         "in udp 127.0.0.1",
                                         "in udp 127.0.0.1:0",
                                         "in udp 0.0.0.0:5000",
                                         "in udp [::]:5000",
                                         "in udp localhost:5000",
                                         "in udp 127.0.0.1:65536",
                                         "in udp 127.0.0.1:5000 x",
                                         "in udp ::1:5000",
                                         "in tcp 127.0.0.1:5000",
                                         "off off",
                                         "off in",
                                         "in off now",
                                         "in pcap",
                                         "in pcap a b",
                                         "in pcap .hidden",
                                         "in pcap ..",
                                         "in pcap ../a",
                                         "in pcap /etc/passwd",
                                         "in pcap a/b",
                                         "in pcap a\\b",
                                         "in pcap -rf",
                                         "in pcap a%n",
                                         "in pcap a\x01",
                                         "in pcap \xc3\xa4",
                                         "in pcap a:b",
                                         "in pcap $HOME",
                                         "in pcap *",
                                         "in pcap " + longest + "a",
                                         std::string("in pcap a\0b", 11)};
  for (const std::string& row : rows) {
    CAPTURE(row);
    const auto tap = mgcp::parse_tap(row);
    REQUIRE_FALSE(tap);
    CHECK(tap.error().code == mgcp::ResponseCode::protocol_error);
    CHECK(tap.error().reason.find("X-Mgw-Tap: ") == 0);
  }
}

TEST_CASE("X-Mgw-Tap belongs to CRCX and MDCX; other commands ignore it whatever it says") {
  const auto request = parse("MDCX 1 a@b MGCP 1.0\nI: 1\nx-mgw-tap: in off\n");
  REQUIRE(request);
  CHECK(request->tap == TapParameter{State::off, true, false, {}, {}});
  CHECK(parse("CRCX 1 a@b MGCP 1.0\nX-Mgw-Tap: both pcap a\n")->tap.file == "a");
  CHECK(parse("CRCX 1 a@b MGCP 1.0\n")->tap.state == State::absent);
  CHECK_FALSE(parse("CRCX 1 a@b MGCP 1.0\nX-Mgw-Tap: both\n"));
  CHECK_FALSE(parse("MDCX 1 a@b MGCP 1.0\nX-Mgw-Tap:\n"));
  for (const std::string verb : {"DLCX", "AUCX", "AUEP", "RQNT", "RSIP"}) {
    CHECK(parse(verb + " 1 a@b MGCP 1.0\nX-Mgw-Tap: nonsense\n"));
    CHECK(parse(verb + " 1 a@b MGCP 1.0\nX-Mgw-Tap: off\n")->tap.state == State::absent);
  }
}
