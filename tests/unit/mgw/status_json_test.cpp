#include "mgw/status_json.h"

#include "mgw/call_recorder.h"
#include "mgw/record_writer.h"
#include "mgw/snapshot_board.h"
#include "tests/sim/temporary_directory.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using mgw::CallQuery;
using mgw::DropCause;
using mgw::EndReason;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr io::TimePoint kStart{seconds(1'000)};

mgw::Connection connection(std::uint32_t id, std::uint32_t slot) {
  mgw::Connection made;
  made.id = id;
  made.slot = slot;
  made.created = kStart;
  made.mode = mgcp::ConnectionMode::sendrecv;
  made.codecs.push_back(mgcp::default_codec());
  return made;
}

mgw::ConnectionCounters counters(std::uint64_t expected, std::uint64_t received) {
  mgw::ConnectionCounters made;
  made.totals.expected = expected;
  made.totals.received = received;
  made.jitter_ticks = 40;
  return made;
}

mgw::CallSnapshot call(const std::string& endpoint, std::uint64_t received) {
  mgw::CallSnapshot made;
  made.endpoint = endpoint;
  made.call_id = "c" + endpoint;
  made.legs.push_back(mgw::leg_snapshot(connection(1, 0), counters(100, received)));
  return made;
}

mgw::GatewaySnapshot snapshot() {
  mgw::GatewaySnapshot made;
  made.at = kStart + seconds(10);
  made.calls = {call("a@mgw", 90), call("b@mgw", 100), call("c@mgw", 50), call("d@mgw", 0)};
  return made;
}

bool has(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

/// The endpoints of an answer, in their order.
std::string order_of(const char* query) {
  const std::string json =
      mgw::calls_json(snapshot(), mgw::parse_call_query(query).value_or(CallQuery()));
  std::string order;
  constexpr std::string_view kName = "\"endpoint\":\"";
  for (std::size_t at = json.find(kName); at != std::string::npos; at = json.find(kName, at + 1)) {
    order += json[at + kName.size()];
  }
  return order;
}

class Clock final : public io::Clock {
 public:
  [[nodiscard]] io::TimePoint now() const noexcept override { return now_; }
  [[nodiscard]] io::Duration wall_clock_offset() const noexcept override {
    return seconds(1'700'000'000);
  }
  io::TimePoint now_ = kStart;
};

struct Sink final : mgw::RecordSink {
  void take(std::string record) override { records.push_back(std::move(record)); }
  std::vector<std::string> records;
};

}  // namespace

TEST_CASE("JSON stays JSON whatever is quoted in it") {
  io::JsonWriter json;
  json.begin_object().member("a", "q\"\\\n<\xff\xc3\xa9").member("b", 1.5).member("c", true);
  json.member("d", std::optional<int>()).member("e", 1.0 / 0.0).key("f").begin_array();
  json.value(1).value(2).begin_object().end_object().end_array().end_object();
  CHECK(json.text() ==
        "{\"a\":\"q\\\"\\\\\\u000a<\\ufffd\xc3\xa9\",\"b\":1.5,\"c\":true,\"d\":null,\"e\":null,"
        "\"f\":[1,2,{}]}");
}

TEST_CASE("Calls are sorted, filtered and cut") {
  CHECK(order_of("") == "abcd");
  CHECK(order_of("order=desc") == "dcba");
  CHECK(order_of("sort=mos") == "cabd");
  CHECK(order_of("sort=loss&order=desc") == "dcab");
  CHECK(order_of("filter=B%40") == "b");
  CHECK(order_of("filter=pcmu&limit=2&offset=1") == "bc");
  CHECK(order_of("offset=99").empty());
  for (const char* wrong : {"sort=", "sort=x", "order=up", "limit=501", "limit=-1", "offset=1x"}) {
    CHECK_FALSE(mgw::parse_call_query(wrong).has_value());
  }
  CHECK(mgw::parse_call_query("unknown=1&&x").has_value());
  CHECK(mgw::percent_decoded("a%2Fb%zz%4") == "a/b%zz%4");
}

TEST_CASE("One call is found by its endpoint, with or without domain") {
  mgw::GatewaySnapshot given = snapshot();
  given.calls->front().legs[0].counters.drops[0] = 3;
  const auto json = mgw::call_json(given, "a");
  REQUIRE(json.has_value());
  CHECK(has(*json, "\"loss\":0.1,\"jitter_ms\":5,"));
  CHECK(has(*json, "\"drops_by_cause\":[{\"cause\":\"rtp_too_short\",\"count\":3}]"));
  CHECK(mgw::call_json(given, "b@mgw").has_value());
  CHECK_FALSE(mgw::call_json(given, "e").has_value());
  CHECK_FALSE(mgw::call_json(mgw::GatewaySnapshot(), "a").has_value());
}

TEST_CASE("The board asks for a sample when there is none that is fresh") {
  int asked = 0;
  mgw::SnapshotBoard board([&asked] { ++asked; });
  CHECK_FALSE(board.is_watched(kStart));
  CHECK(board.ask(kStart) == nullptr);
  CHECK(asked == 1);
  CHECK(board.is_watched(kStart));
  CHECK_FALSE(board.is_watched(kStart + mgw::SnapshotBoard::kAttention + milliseconds(1)));
  auto taken = std::make_shared<mgw::GatewaySnapshot>();
  taken->at = kStart;
  board.publish(taken);
  CHECK(board.ask(kStart) == nullptr);  // it has no calls
  taken = std::make_shared<mgw::GatewaySnapshot>(snapshot());
  board.publish(taken);
  CHECK(board.ask(taken->at) == taken);
  CHECK(asked == 2);
  CHECK(board.ask(taken->at + seconds(2)) == nullptr);
  CHECK(board.latest() == taken);
}

TEST_CASE("A call is recorded when its last leg has come back from its worker") {
  Clock clock;
  Sink sink;
  mgw::CallRecorder recorder(clock, sink);
  mgw::Endpoint endpoint;
  endpoint.call_id = "<1>";
  const mgw::Connection first = connection(1, 4);
  const mgw::Connection second = connection(2, 5);
  recorder.leg_removed(9, "rtpbridge/9@mgw", endpoint, first, EndReason::deleted);
  recorder.leg_counted(0, 4, counters(100, 90));
  clock.now_ += seconds(5);
  recorder.leg_removed(9, "rtpbridge/9@mgw", endpoint, second, EndReason::timed_out);
  recorder.call_ended(9);
  CHECK(sink.records.empty());
  recorder.leg_counted(0, 4, counters(1, 1));  // of a later call in that slot
  recorder.leg_counted(0, 5, counters(100, 100));
  REQUIRE(sink.records.size() == 1);
  const std::string& record = sink.records[0];
  CHECK(has(record, "{\"time\":\"2023-11-14T22:30:05.000Z\",\"endpoint\":\"rtpbridge/9@mgw\""));
  CHECK(has(record, "\"call_id\":\"<1>\",\"ended_by\":\"timed_out\""));
  CHECK(has(record, "\"started\":\"2023-11-14T22:30:00.000Z\",\"duration_s\":5,\"loss\":0.1,"));
  CHECK(has(record, "\"connection\":\"00000001\""));
  CHECK(has(record, "\"lost\":10"));
  CHECK(record.ends_with("\"legs_omitted\":0}"));
}

TEST_CASE("A record names so many legs and counts the others") {
  Clock clock;
  Sink sink;
  mgw::CallRecorder recorder(clock, sink);
  const mgw::Endpoint endpoint;
  for (std::uint32_t i = 0; i < 20; ++i) {
    recorder.leg_removed(1, "x", endpoint, connection(i + 1, i), EndReason::by_operator);
  }
  recorder.call_ended(1);
  for (std::uint32_t i = 0; i < 20; ++i) {
    CHECK(sink.records.size() == (i < 16 ? 0 : 1));
    recorder.leg_counted(0, i, {});
  }
  CHECK(sink.records[0].ends_with("\"legs_omitted\":4}"));
}

TEST_CASE("Records go to a file, a line each, and what it does not take is counted") {
  const sim::TemporaryDirectory directory;
  const std::string path = directory.path() + "/records";
  {
    mgw::RecordWriter writer(path, false);
    writer.take("{\"a\":1}");
    writer.take("{\"a\":2}");
    writer.take(std::string(mgw::RecordWriter::kWaitingBytesMax + 1, 'x'));
    CHECK(writer.lost() == 1);
  }
  CHECK(directory.read("records") == "{\"a\":1}\n{\"a\":2}\n");
}
