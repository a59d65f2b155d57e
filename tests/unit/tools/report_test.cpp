// The report: every key of the contract is there, known or not, and faults decide the verdict.
#include "tools/rtpload/report.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace {

using namespace rtpload;
using nlohmann::json;

Report good_report() {
  Report report;
  report.mode = "calls";
  report.calls_wanted = report.calls = 2;
  report.connections = 4;
  report.codec = "GSM-EFR";
  report.seconds = 1;
  report.sent = report.received = 200;
  return report;
}

}  // namespace

TEST_CASE("all keys of the contract are there even if nothing is known") {
  const json object = json::parse(to_json(Report{}, 0));
  for (const char* key : {"calls", "connections", "codec", "seconds", "sent", "received", "lost",
                          "reordered", "duplicated", "corrupted", "wrong_stream"}) {
    CAPTURE(key);
    CHECK(object.contains(key));
    CHECK_FALSE(object.at(key).is_null());
  }
  for (const char* key : {"transactions", "per_second", "p50_us", "p99_us"}) {
    CHECK(object.at("setup").at(key).is_null());
  }
  for (const char* key : {"p50", "p99", "p999", "max"}) {
    CHECK(object.at("latency_us").at(key).is_null());
  }
  for (const char* key :
       {"cpu_percent", "cpu_us_per_packet", "rss_kib", "threads", "voluntary_switches"}) {
    CHECK(object.at("gateway").at(key).is_null());
  }
}

TEST_CASE("known figures appear under their keys") {
  Report report = good_report();
  report.setup = TransactionFigures{4, 1000, Quantiles{1, 2, 3, 4}};
  report.latency = Quantiles{10, 20, 30, 40};
  report.gateway = GatewayFigures{50, 2.5, 1234, 3, 99};
  report.gateway_counts = GatewayCounts{4, 200, 199, -1};
  report.errors["CRCX: 403 full"] = 7;
  report.generator.emplace();
  report.generator->pacing = Quantiles{1, 20, 480, 900};
  report.machine = MachineFigures{120, 3, 6.5};
  const json object = json::parse(to_json(report, 0));
  CHECK(object.at("generator").at("pacing_us").at("p999") == 480);
  CHECK(object.at("generator").at("missed") == 0);
  CHECK(object.at("machine").at("busy_us_per_packet") == 6.5);
  CHECK(object.at("machine").at("stolen_percent") == 3);
  CHECK(object.at("warnings").empty());
  CHECK(object.at("setup").at("p99_us") == 2);
  CHECK(object.at("latency_us").at("p999") == 30);
  CHECK(object.at("gateway").at("cpu_us_per_packet") == 2.5);
  CHECK(object.at("gateway").at("threads") == 3);
  CHECK(object.at("gateway_counts").at("packets_lost") == -1);
  CHECK(object.at("errors").at("CRCX: 403 full") == 7);
  CHECK(object.at("faults").empty());
}

TEST_CASE("each kind of fault is one, loss only beyond what is allowed") {
  CHECK(faults(good_report(), 0).empty());
  const std::vector<std::uint64_t Report::*> counts{&Report::reordered,    &Report::duplicated,
                                                    &Report::corrupted,    &Report::wrong_stream,
                                                    &Report::failed_calls, &Report::lost};
  for (const auto count : counts) {
    Report report = good_report();
    report.*count = 1;
    CHECK(faults(report, 0).size() == 1);
    CHECK(to_text(report, 0).find("FAULT") != std::string::npos);
  }
  Report report = good_report();
  report.lost = 2;
  CHECK(faults(report, 0.01).empty());
  CHECK(faults(report, 0.009).size() == 1);
  report = good_report();
  report.calls = 1;
  CHECK(faults(report, 0).size() == 1);
}

TEST_CASE("the text names the counts and says good only without faults") {
  Report report = good_report();
  report.lost = 3;
  report.received = 197;
  const std::string text = to_text(report, 0);
  CHECK(text.find("sent 200, received 197, lost 3") != std::string::npos);
  CHECK(text.find("good") == std::string::npos);
  CHECK(to_text(good_report(), 0).find("good") != std::string::npos);
}

TEST_CASE("a generator that did not keep its own time is a warning, no fault of the gateway") {
  Report report = good_report();
  report.generator.emplace();
  report.generator->pacing = Quantiles{50, 100, 499, 3000};
  CHECK(warnings(report).empty());
  report.generator->pacing->p999_us = 501;
  CHECK(warnings(report).size() == 1);
  report.generator->missed = 3;
  report.generator->send_refused = 1;
  CHECK(warnings(report).size() == 3);
  CHECK(faults(report, 0).empty());
}
