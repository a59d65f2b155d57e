// What mgwctl shows: answers, metrics, status; and the HTTP it speaks.
#include "tools/mgwctl/answer.h"
#include "tools/mgwctl/http_client.h"
#include "tools/mgwctl/metrics_text.h"
#include "tools/mgwctl/status.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace {

using namespace std::chrono_literals;
using nlohmann::json;

constexpr auto kCreated =
    "200 7 OK\r\nZ: rtpbridge/1@mgw\r\nI: 58752493\r\n\r\nv=0\r\no=- 58752493 23 IN IP4 "
    "127.0.0.1\r\ns=-\r\n"
    "c=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 4002 RTP/AVP 112\r\na=rtpmap:112 "
    "AMR/8000/1\r\na=fmtp:112 octet-align=1\r\n"
    "a=ptime:20\r\n";
constexpr auto kDeleted = "250 8 OK\r\nP: PS=9, OS=4339, PR=10, OR=4361, PL=-8, JI=290\r\n";

constexpr auto kMetrics = R"(# HELP mgw_endpoints Endpoints.
# TYPE mgw_endpoints gauge
mgw_endpoints 512
mgw_endpoints_used 12
mgw_connections 24
mgw_backend_info{backend="io_uring",fallback_reason=""} 1
mgw_datagrams_dropped_total{worker="0",cause="unknown_source"} 3
mgw_datagrams_dropped_total{worker="1",cause="unknown_source"} 4
mgw_datagrams_dropped_total{worker="1",cause="mode"} 0
mgw_rtp_packets_received_total{worker="0"} 1000
mgw_rtp_packets_received_total{worker="1"} 2e3
mgw_mgcp_transactions_total{verb="CRCX",code="200"} 24
mgw_mgcp_transaction_seconds_bucket{le="0.001"} 5
mgw_mgcp_transaction_seconds_sum 0.25 1700000000
process_open_fds 9
)";

std::string value_of(const std::vector<mgwctl::SummaryLine>& lines, const std::string& title) {
  for (const auto& line : lines) {
    if (line.title == title) {
      return line.value;
    }
  }
  return "none";
}

}  // namespace

TEST_CASE("an answer's connection, address, codec and statistics are shown and exported") {
  const std::string text = mgwctl::answer_text(kCreated);
  for (const char* part : {"200 OK", "rtpbridge/1@mgw", "58752493", "127.0.0.1:4002",
                           "112 AMR/8000/1 (octet-align=1)"}) {
    CAPTURE(part);
    CHECK(text.find(part) != std::string::npos);
  }
  const json created = json::parse(mgwctl::answer_json(kCreated, 1500us));
  CHECK(created.at("code") == 200);
  CHECK(created.at("transaction_id") == 7);
  CHECK(created.at("endpoint") == "rtpbridge/1@mgw");
  CHECK(created.at("port") == 4002);
  CHECK(created.at("codecs").at(0).at("fmtp") == "octet-align=1");
  CHECK(created.at("round_trip_us") == 1500);
  const json deleted = json::parse(mgwctl::answer_json(kDeleted, 0us));
  CHECK(deleted.at("statistics").at("packets_lost") == -8);
  CHECK(mgwctl::answer_text(kDeleted).find("10 packets, 4361 octets") != std::string::npos);
}

TEST_CASE("exit statuses are 0 for success, 1 for a refusal, 2 for what is no response") {
  CHECK(mgwctl::exit_status(kCreated) == 0);
  CHECK(mgwctl::exit_status(kDeleted) == 0);
  CHECK(mgwctl::exit_status("403 1 FAIL\r\n") == 1);
  CHECK(mgwctl::exit_status("510 000000 FAIL\r\n") == 1);
  CHECK(mgwctl::exit_status("hello") == 2);
  CHECK(mgwctl::exit_status("") == 2);
}

TEST_CASE("any bytes make valid JSON") {
  CHECK(json::accept(mgwctl::raw_json("\xff\xfe\x01\"", 1us)));
  CHECK(json::accept(mgwctl::answer_json("200 1 \xff\r\n", 1us)));
  CHECK(json::accept(mgwctl::error_json("\x80")));
}

TEST_CASE("metrics are read with labels, escapes, timestamps and special values") {
  const auto samples = mgwctl::parse_metrics(
      "a 1\n b{x=\"q\\\"\\\\\\n\", y=\"}\"} -2.5 1700000000\r\nc{} +Inf\n# d 1\nbroken\nbad{x=\"1 "
      "2\nbad{x} 1\nbad x\n\ne 3");
  REQUIRE(samples.size() == 4);
  CHECK(samples[0].value == 1);
  CHECK(samples[1].labels.at("x") == "q\"\\\n");
  CHECK(samples[1].labels.at("y") == "}");
  CHECK(samples[1].value == -2.5);
  CHECK(samples[2].value > 1e300);
  CHECK(samples[3].name == "e");
}

TEST_CASE("the summary adds workers up, names the causes and leaves out what is not there") {
  const auto lines = mgwctl::summarise(mgwctl::parse_metrics(kMetrics));
  CHECK(value_of(lines, "endpoints") == "12 of 512");
  CHECK(value_of(lines, "connections") == "24");
  CHECK(value_of(lines, "backend") == "io_uring");
  CHECK(value_of(lines, "RTP in") == "3000");
  CHECK(value_of(lines, "dropped") == "7 (unknown_source: 7)");
  CHECK(value_of(lines, "MGCP") == "24 (200 CRCX: 24)");
  CHECK(value_of(lines, "RTP out") == "none");
  CHECK(mgwctl::summarise({}).empty());
}

TEST_CASE("status says what is missing and stays one JSON object") {
  mgwctl::Status status;
  status.gateway = "127.0.0.1:2427";
  status.mgcp_error = "no answer from 127.0.0.1:2427";
  status.metrics_error = "connection refused";
  CHECK(mgwctl::status_text(status).find("not available: connection refused") != std::string::npos);
  CHECK(json::parse(mgwctl::status_json(status)).at("metrics").is_null());
  status.mgcp_answer = "200 1 OK";
  status.metrics_text = kMetrics;
  CHECK(mgwctl::status_text(status).find("12 of 512") != std::string::npos);
  const json object = json::parse(mgwctl::status_json(status));
  CHECK(object.at("metrics").at("mgw_endpoints") == 512);
  CHECK(object.at("metrics").at("mgw_datagrams_dropped_total{cause=unknown_source}") == 7);
  CHECK_FALSE(object.at("metrics").contains("process_open_fds"));
  CHECK_FALSE(object.at("metrics").contains("mgw_mgcp_transaction_seconds_bucket"));
}

TEST_CASE("metrics addresses are numbers or localhost, with or without scheme and path") {
  CHECK(mgwctl::parse_metrics_address("127.0.0.1:9747")->path == "/metrics");
  CHECK(mgwctl::parse_metrics_address("http://[::1]:9747/x/y")->path == "/x/y");
  CHECK(mgwctl::parse_metrics_address("http://[::1]:9747")->server.text() == "[::1]:9747");
  CHECK(mgwctl::parse_metrics_address("localhost:1")->server.text() == "127.0.0.1:1");
  for (const char* wrong : {"", "host:1", "127.0.0.1", "https://127.0.0.1:1"}) {
    CAPTURE(wrong);
    CHECK_FALSE(mgwctl::parse_metrics_address(wrong).has_value());
  }
}

TEST_CASE("HTTP bodies come plain or in chunks, everything else is an error") {
  using mgwctl::parse_http_response;
  CHECK(parse_http_response("HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody") == "body");
  CHECK(parse_http_response("HTTP/1.1 200 OK\r\nTransfer-Encoding: "
                            "Chunked\r\n\r\n4\r\nbody\r\n3;x=y\r\nabc\r\n0\r\n\r\n") == "bodyabc");
  for (const char* wrong :
       {"", "HTTP/1.1 404 Not Found\r\n\r\n", "HTTP/1.1 200 OK\r\n", "hello\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\nshort",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nx\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffffff\r\n"}) {
    CAPTURE(wrong);
    CHECK_FALSE(parse_http_response(wrong).has_value());
  }
}
