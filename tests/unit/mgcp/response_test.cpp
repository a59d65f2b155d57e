// The agent's side: responses of any gateway.
#include "mgcp/parser.h"
#include "mgcp/writer.h"

#include <doctest/doctest.h>

#include <string>

using mgcp::parse_response;
using mgcp::Response;
using mgcp::ResponseCode;

TEST_CASE("a CRCX answer gives code, id, endpoint, connection, circuit and description") {
  const auto response = parse_response(
      "200 17 OK\r\nZ: rtpbridge/1@mgw\r\nI: 58752493\r\nX-Osmux: 3\r\n\r\nv=0\r\nm=audio 1\r\n");
  REQUIRE(response);
  CHECK(response->code == ResponseCode::ok);
  CHECK(response->transaction_id == 17);
  CHECK(response->reason == "OK");
  CHECK(response->endpoint == "rtpbridge/1@mgw");
  CHECK(response->connection_id == "58752493");
  CHECK(response->osmux_circuit_id == 3);
  CHECK(response->sdp == "v=0\r\nm=audio 1\r\n");
}

TEST_CASE("statistics are read in any order and letter case, unknown ones are ignored") {
  const auto response = parse_response("250 1 OK\np: or=4, PS=1,os=2 , PL=-8, FOO=bar, JI=5, LA=6");
  REQUIRE(response);
  REQUIRE(response->statistics);
  CHECK(response->statistics->octets_received == 4);
  CHECK(response->statistics->packets_sent == 1);
  CHECK(response->statistics->octets_sent == 2);
  CHECK(response->statistics->packets_lost == -8);
  CHECK(response->statistics->jitter == 5);
  CHECK(response->statistics->latency_ms == 6U);
}

TEST_CASE("parameters without a field of their own are kept in order, more endpoints too") {
  const auto response = parse_response("200 1\nZ: 1@m\nZ: 2@m\nA: a:PCMU\nM: sendrecv\n");
  REQUIRE(response);
  CHECK(response->reason.empty());
  CHECK(response->endpoint == "1@m");
  CHECK(response->parameters ==
        std::vector<mgcp::Parameter>{{"Z", "2@m"}, {"A", "a:PCMU"}, {"M", "sendrecv"}});
}

TEST_CASE("what is no response, or has a malformed parameter, is refused") {
  for (const char* text : {"", "CRCX 1 a@b MGCP 1.0", "200", "200 x OK", "200 1 OK\nno parameter",
                           "200 1 OK\nX-Osmux: 256", "200 1 OK\nX-Osmux: x", "250 1 OK\nP: PS=x",
                           "250 1 OK\nP: PS", "250 1 OK\nP: PL=--1", "250 1 OK\nP: PS=-1",
                           "250 1 OK\nP: LA=4294967296", "250 1 OK\nX-Osmo-CP: TI=0",
                           "250 1 OK\nX-Osmo-CP: EC TI=x", "250 1 OK\nX-Osmux-ST: CR=x"}) {
    CAPTURE(text);
    const auto response = parse_response(text);
    REQUIRE_FALSE(response);
    CHECK(response.error().code == ResponseCode::protocol_error);
  }
}

TEST_CASE("responses read back as they were written") {
  Response created;
  created.transaction_id = 999'999'999;
  created.reason = "OK";
  created.endpoint = "rtpbridge/1@mgw";
  created.connection_id = "AB";
  created.osmux_circuit_id = 255;
  created.sdp = "v=0\r\ns=-\r\n";
  Response deleted;
  deleted.code = ResponseCode::connection_deleted;
  deleted.transaction_id = 1;
  deleted.reason = "OK";
  deleted.statistics = mgcp::ConnectionStatistics{
      UINT64_MAX, 2, 3, 4, -INT64_MAX, 6, std::optional<std::uint32_t>(UINT32_MAX)};
  deleted.timestamp_errors = mgcp::TimestampErrors{7, 8};
  deleted.osmux_statistics = mgcp::OsmuxStatistics{9, 10};
  Response audited;
  audited.code = static_cast<ResponseCode>(777);
  audited.reason = "strange code";
  audited.parameters = {{"A", "a:PCMU, m:sendrecv"}, {"I", ""}};
  for (const Response& response : {created, deleted, audited}) {
    std::string text;
    write_response(text, response);
    CAPTURE(text);
    const auto parsed = parse_response(text);
    REQUIRE(parsed);
    CHECK(parsed->code == response.code);
    CHECK(parsed->transaction_id == response.transaction_id);
    CHECK(parsed->reason == response.reason);
    CHECK(parsed->endpoint == response.endpoint);
    CHECK(parsed->connection_id == response.connection_id);
    CHECK(parsed->osmux_circuit_id == response.osmux_circuit_id);
    CHECK(parsed->statistics == response.statistics);
    CHECK(parsed->timestamp_errors == response.timestamp_errors);
    CHECK(parsed->osmux_statistics == response.osmux_statistics);
    CHECK(parsed->sdp == response.sdp);
  }
}
