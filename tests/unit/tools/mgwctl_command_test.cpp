// mgwctl's commands: what their text says to a gateway's parser.
#include "mgcp/parser.h"
#include "tools/mgwctl/command.h"
#include "tools/mgwctl/ctrl_client.h"
#include "tools/mgwctl/drain.h"
#include "ttcn-compat/ctrl_protocol.h"

#include <doctest/doctest.h>

#include <string>

namespace {

using mgwctl::Command;

std::string text_of(const Command& command) {
  return mgwctl::write_command(command, 77).value();
}

mgcp::Request read(const std::string& text) {
  const mgcp::FirstLine first_line = mgcp::parse_first_line(text);
  return mgcp::parse_parameters(std::get<mgcp::CommandLine>(first_line)).value();
}

}  // namespace

TEST_CASE("CRCX with a remote address describes its codecs") {
  Command command;
  command.verb = mgcp::Verb::crcx;
  command.call_id = "c0ffee";
  command.mode = "sendrecv";
  command.codecs = {"GSM-EFR", "112/AMR/8000/1", "AMR-WB/16000"};
  command.format_parameters = {"", "octet-align=1"};
  command.remote = "[::1]:5004";
  command.ptime_ms = 20;
  command.osmux = "*";
  command.ignore_call_id = true;
  const std::string text = text_of(command);
  const mgcp::Request request = read(text);
  CHECK(request.transaction_id == 77);
  CHECK(request.endpoint == "rtpbridge/*@mgw");
  CHECK(request.call_id == "c0ffee");
  CHECK(request.mode.mode == mgcp::ConnectionMode::sendrecv);
  CHECK(request.osmux.state == mgcp::OsmuxParameter::State::any);
  CHECK(request.ignore_call_id);
  REQUIRE(request.sdp.has_value());
  CHECK(request.sdp->address->host_text() == "::1");
  CHECK(request.sdp->port == 5004);
  CHECK(request.sdp->ptime_ms == 20U);
  REQUIRE(request.sdp->codecs.size() == 3);
  CHECK(request.sdp->codecs[0].payload_type == 110);
  CHECK(request.sdp->codecs[1].payload_type == 112);
  CHECK(request.sdp->codecs[1].octet_align() == true);
  CHECK(request.sdp->codecs[2].clock_rate_hz == 16000);
}

TEST_CASE("a tap is an MDCX that says nothing else") {
  Command command;
  command.verb = mgcp::Verb::mdcx;
  command.endpoint = "rtpbridge/1@mgw";
  command.connection_id = "1A";
  command.tap = {"both", "pcap", "call.pcap"};
  CHECK(text_of(command) ==
        "MDCX 77 rtpbridge/1@mgw MGCP 1.0\r\nI: 1A\r\nX-Mgw-Tap: both pcap call.pcap\r\n");
  CHECK(read(text_of(command)).tap.file == "call.pcap");
}

TEST_CASE("CRCX without a remote address names its codecs in the options") {
  Command command;
  command.verb = mgcp::Verb::crcx;
  command.codecs = {"AMR", "PCMU"};
  command.ptime_ms = 20;
  const std::string text = text_of(command);
  const mgcp::Request request = read(text);
  CHECK(request.sdp_text.empty());
  CHECK(request.local_options->codecs == std::vector<std::string>{"AMR", "PCMU"});
  CHECK(request.local_options->packetisation->minimum_ms == 20);
}

TEST_CASE("each verb says only what was asked for") {
  Command command;
  command.verb = mgcp::Verb::auep;
  CHECK(text_of(command) == "AUEP 77 null@mgw MGCP 1.0\r\n");
  command.requested_info = "I,C";
  CHECK(text_of(command) == "AUEP 77 null@mgw MGCP 1.0\r\nF: I,C\r\n");
  command = {};
  command.verb = mgcp::Verb::dlcx;
  command.endpoint = "rtpbridge/1@mgw";
  command.connection_id = "AB";
  CHECK(text_of(command) == "DLCX 77 rtpbridge/1@mgw MGCP 1.0\r\nI: AB\r\n");
  command = {};
  command.verb = mgcp::Verb::rsip;
  command.restart_method = "forced";
  CHECK(text_of(command) == "RSIP 77 rtpbridge/*@mgw MGCP 1.0\r\nRM: forced\r\n");
}

TEST_CASE("what can't be said is refused with a reason") {
  Command command;
  command.verb = mgcp::Verb::mdcx;
  CHECK_FALSE(mgwctl::write_command(command, 1).has_value());
  command.endpoint = "rtpbridge/1@mgw";
  command.remote = "somewhere";
  CHECK_FALSE(mgwctl::write_command(command, 1).has_value());
  command.remote.clear();
  for (const char* codec : {"", "128/AMR/8000", "96/", "AMR/fast"}) {
    CAPTURE(codec);
    command.codecs = {codec};
    CHECK_FALSE(mgwctl::write_command(command, 1).has_value());
  }
}

TEST_CASE("raw messages get proper line ends whatever was typed") {
  CHECK(mgwctl::normalise_raw("AUEP 1 null@mgw MGCP 1.0") == "AUEP 1 null@mgw MGCP 1.0\r\n");
  CHECK(mgwctl::normalise_raw("a\\nb\\r\\nc\nd\r\ne\r\n") == "a\r\nb\r\nc\r\nd\r\ne\r\n");
  CHECK(mgwctl::normalise_raw("a\\n\\nv=0") == "a\r\n\r\nv=0\r\n");
  CHECK(mgwctl::normalise_raw("\\") == "\\\r\n");
  CHECK(mgwctl::normalise_raw("").empty());
}

TEST_CASE("messages of the control interface are taken one by one, other streams are skipped") {
  const std::string ping("\0\1\xFE\0", 4);
  std::string received = ping;
  ttcn_compat::append_ctrl_frame(received, "GET_REPLY 1 calls 3");
  ttcn_compat::append_ctrl_frame(received, "GET_REPLY 2 calls 2");
  const std::string rest = received.substr(received.size() - 5);
  received.resize(received.size() - 5);
  CHECK(mgwctl::take_ctrl_message(received) == "GET_REPLY 1 calls 3");
  CHECK_FALSE(mgwctl::take_ctrl_message(received));
  received += rest;
  CHECK(mgwctl::take_ctrl_message(received) == "GET_REPLY 2 calls 2");
  CHECK_FALSE(mgwctl::take_ctrl_message(received));
  CHECK(received.empty());
}

TEST_CASE("what a drain came to is told to people and to programs") {
  mgwctl::DrainResult result;
  result.calls = "3";
  CHECK(mgwctl::drain_text(result) == "new calls are taken; 3 are up\n");
  result.draining = true;
  result.end = "60";
  CHECK(mgwctl::drain_text(result) ==
        "draining: new calls are refused, 3 are up; they are ended in 60 s\n");
  CHECK(mgwctl::drain_json(result) ==
        "{\"draining\": true, \"end\": \"60\", \"calls\": 3, \"over\": false}\n");
  result.is_over = true;
  CHECK(mgwctl::drain_text(result) == "drained: the gateway has ended\n");
  result.end = "never";
  CHECK(mgwctl::drain_text(result) == "drained: no call is left\n");
}
