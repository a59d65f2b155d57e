// Messages as they are written, and that parsing gives back what was written.
#include "mgcp/writer.h"

#include "mgcp/parser.h"

#include <doctest/doctest.h>

#include <string>

using mgcp::Request;
using mgcp::Response;
using mgcp::ResponseCode;

namespace {

std::string written(const Response& response) {
  std::string text;
  write_response(text, response);
  return text;
}

std::string written(const Request& request) {
  std::string text;
  write_request(text, request);
  return text;
}

/// Parses `text` as a command, whole; it must outlive the result.
Request reparsed(std::string_view text) {
  return mgcp::parse_parameters(std::get<mgcp::CommandLine>(mgcp::parse_first_line(text))).value();
}

}  // namespace

TEST_CASE("a CRCX answer has Z, I, X-Osmux, an empty line and the description") {
  Response response;
  response.transaction_id = 17;
  response.endpoint = "rtpbridge/1@mgw";
  response.connection_id = "58752493";
  response.osmux_circuit_id = 0;
  response.sdp = "v=0\r\n";
  CHECK(written(response) ==
        "200 17 OK\r\nZ: rtpbridge/1@mgw\r\nI: 58752493\r\nX-Osmux: 0\r\n\r\nv=0\r\n");
}

TEST_CASE("a DLCX answer has its statistics in osmo-mgw's format") {
  Response response;
  response.code = ResponseCode::connection_deleted;
  response.transaction_id = 5;
  response.statistics = mgcp::ConnectionStatistics{9, 4339, 10, 4361, -8, 290, std::nullopt};
  CHECK(written(response) == "250 5 OK\r\nP: PS=9, OS=4339, PR=10, OR=4361, PL=-8, JI=290\r\n");
  response.statistics->latency_ms = 12;
  response.timestamp_errors = mgcp::TimestampErrors{1, 2};
  response.osmux_statistics = mgcp::OsmuxStatistics{3, 4};
  CHECK(written(response) ==
        "250 5 OK\r\nP: PS=9, OS=4339, PR=10, OR=4361, PL=-8, JI=290, LA=12\r\n"
        "X-Osmo-CP: EC TI=1, TO=2\r\nX-Osmux-ST: CR=3, BR=4\r\n");
}

TEST_CASE("an error answer carries its reason, and 000000 if no transaction id was read") {
  std::string text;
  mgcp::write_error(text, 17, {ResponseCode::no_free_endpoint, {}});
  CHECK(text == "403 17 no free endpoint\r\n");
  text.clear();
  mgcp::write_error(text, mgcp::kNoTransactionId, {ResponseCode::protocol_error, "bad line"});
  CHECK(text == "510 000000 bad line\r\n");
}

TEST_CASE("an acknowledgement has three digits") {
  Response response;
  response.code = ResponseCode::acknowledgement;
  response.transaction_id = 21;
  CHECK(written(response).starts_with("000 21 "));
}

TEST_CASE("a command is written with its parameters in a fixed order") {
  Request request;
  request.verb = mgcp::Verb::crcx;
  request.transaction_id = 3;
  request.endpoint = "rtpbridge/*@mgw";
  request.call_id = "2a";
  request.local_options.emplace().packetisation = mgcp::PacketisationPeriod{20, 20};
  request.local_options->codecs = {"AMR", "PCMU"};
  request.mode = {mgcp::ModeParameter::State::known, mgcp::ConnectionMode::recvonly};
  request.osmux.state = mgcp::OsmuxParameter::State::any;
  request.ignore_call_id = true;
  request.sdp_text = "v=0\r\n";
  CHECK(written(request) ==
        "CRCX 3 rtpbridge/*@mgw MGCP 1.0\r\nC: 2a\r\nL: p:20, a:AMR;PCMU\r\nM: recvonly\r\n"
        "X-Osmux: *\r\nX-Osmo-IGN: C\r\n\r\nv=0\r\n");
}

TEST_CASE("commands read back as they were written") {
  Request connection;
  connection.verb = mgcp::Verb::mdcx;
  connection.transaction_id = 999'999'999;
  connection.endpoint = "rtpbridge/1f@mgw";
  connection.profile = "NCS 1.0";
  connection.call_id = "2A";
  connection.connection_id = "ABCDEF";
  connection.mode = {mgcp::ModeParameter::State::known, mgcp::ConnectionMode::confecho};
  connection.local_options.emplace().codecs = {"GSM-EFR", "GSM"};
  connection.osmux = {mgcp::OsmuxParameter::State::number, 255};
  connection.acknowledged = {{1, 1}, {5, 9}};
  Request audit;
  audit.verb = mgcp::Verb::auep;
  audit.transaction_id = 1;
  audit.endpoint = "null@mgw";
  audit.requested_info.add(mgcp::RequestedItem::bearer_information);
  audit.requested_info.add(mgcp::RequestedItem::maximum_datagram);
  Request restart;
  restart.verb = mgcp::Verb::rsip;
  restart.transaction_id = 2;
  restart.endpoint = "rtpbridge/*@mgw";
  restart.restart_method = mgcp::RestartMethod::forced;
  restart.restart_delay_s = 5;
  restart.reason_code = "900 endpoint malfunctioning";
  Request notify;
  notify.verb = mgcp::Verb::rqnt;
  notify.transaction_id = 4;
  notify.endpoint = "rtpbridge/2@mgw";
  notify.request_id = "7";
  notify.notified_entity = "ca@agent:2727";
  notify.signals = "";
  notify.observed_events = "D/1";
  for (const Request& request : {connection, audit, restart, notify}) {
    const std::string text = written(request);
    CAPTURE(text);
    CHECK(reparsed(text) == request);
  }
}

TEST_CASE("a description in a command comes back as text and as values") {
  mgcp::SessionDescription description;
  description.address = io::SocketAddress::parse("::1", 0);
  description.port = 4000;
  description.codecs = {mgcp::parse_rtpmap(98, "AMR/8000").value()};
  std::string sdp;
  write_sdp(sdp, description, "1");
  Request request;
  request.verb = mgcp::Verb::crcx;
  request.transaction_id = 6;
  request.endpoint = "1@mgw";
  request.sdp_text = sdp;
  const std::string text = written(request);
  CHECK(reparsed(text).sdp_text == sdp);
  CHECK(reparsed(text).sdp == description);
}

TEST_CASE("parameters without a field of their own are written as they are") {
  Request request;
  request.verb = mgcp::Verb::crcx;
  request.transaction_id = 6;
  request.endpoint = "1@mgw";
  request.other_parameters = {{"N", "foobar"}};
  CHECK(written(request) == "CRCX 6 1@mgw MGCP 1.0\r\nN: foobar\r\n");
}

TEST_CASE("messages are joined by a line with a dot as long as they fit") {
  std::string datagram;
  CHECK(mgcp::append_piggybacked(datagram, "200 1 OK\r\n", 5));
  CHECK(datagram == "200 1 OK\r\n");
  CHECK_FALSE(mgcp::append_piggybacked(datagram, "200 2 OK\r\n", 22));
  CHECK(datagram == "200 1 OK\r\n");
  CHECK(mgcp::append_piggybacked(datagram, "200 2 OK\r\n", 23));
  CHECK(datagram == "200 1 OK\r\n.\r\n200 2 OK\r\n");
  datagram = "200 1 OK\r\n\r\nv=0";
  CHECK(mgcp::append_piggybacked(datagram, "200 2 OK\r\n", 100));
  CHECK(datagram == "200 1 OK\r\n\r\nv=0\r\n.\r\n200 2 OK\r\n");
  mgcp::MessageSplitter splitter(datagram);
  CHECK(splitter.next().has_value());
  CHECK(splitter.next() == std::string_view("\r\n200 2 OK\r\n"));
}

TEST_CASE("a tap is written as it is read") {
  for (const char* value : {"both udp 192.0.2.1:5000", "in udp [2001:db8::1]:5000",
                            "out pcap call-1.pcap", "both off", "in off"}) {
    CAPTURE(value);
    mgcp::Request request;
    request.verb = mgcp::Verb::mdcx;
    request.transaction_id = 7;
    request.endpoint = "rtpbridge/1@mgw";
    const auto tap = mgcp::parse_tap(value);
    REQUIRE(tap);
    request.tap = *tap;
    std::string text;
    mgcp::write_request(text, request);
    CHECK(text.find(std::string("X-Mgw-Tap: ") + value + "\r\n") != std::string::npos);
  }
}
