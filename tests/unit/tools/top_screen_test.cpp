#include "tools/mgwctl/top.h"
#include "tools/mgwctl/top_text.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>

using mgwctl::Signs;
using mgwctl::TopAnswers;
using mgwctl::TopChoice;
using mgwctl::TopEvent;
using mgwctl::TopKey;
using mgwctl::TopSize;
using mgwctl::TopSort;

namespace {

constexpr TopSize kSmall{80, 24};
constexpr TopSize kLarge{200, 50};

std::string leg_json(int number) {
  return fmt::format(
      R"({{"connection":"0000000{0}","kind":"rtp","mode":"sendrecv","codec":"PCMA/8000",)"
      R"("local":"10.0.0.1:160{0}0","remote":"192.0.2.{0}:4000","age_s":12,"packets_in":600,)"
      R"("packets_out":590,"lost":6,"loss":0.02,"jitter_ms":1.25,"round_trip_ms":null,"mos":4.12,)"
      R"("drops":3,"reordered":0,"duplicates":0,"timestamp_errors_in":0,"timestamp_errors_out":1,)"
      R"("peer_reports":null,"drops_by_cause":[{{"cause":"unknown_source","count":3}}]}})",
      number);
}

std::string call_json(int number, const std::string& call_id) {
  return fmt::format(
      R"({{"endpoint":"rtpbridge/{:x}@mgw","call_id":"{}","age_s":3725,"packets":1200,"loss":0.02,)"
      R"("jitter_ms":1.25,"round_trip_ms":null,"mos":4.12,"drops":6,"legs":[{},{}]}})",
      number, call_id, leg_json(1), leg_json(2));
}

TopAnswers answers(int calls, const std::string& call_id = "1a2b") {
  TopAnswers answers;
  answers.gateway = "127.0.0.1:9747";
  answers.overview =
      R"({"version":"0.1.0","backend":"io_uring","workers":2,"uptime_s":60,"draining":false,)"
      R"("states":[],"endpoints":{"used":2,"total":512},"port_pairs":{"used":4,"total":8192},)"
      R"("now":{"packets_in_per_s":200,"packets_out_per_s":200,"loss":0.001,"jitter_ms":1.5,)"
      R"("mos":4.1,"cpu_ns_per_packet":7300,"cpu_cores":0.02,"drops_per_s":1},)"
      R"("drops_by_cause":[{"cause":"unknown_source","count":17}],)"
      R"("history":[{"packets_in_per_s":0},{"packets_in_per_s":100},{"packets_in_per_s":200}]})";
  answers.calls = fmt::format(R"({{"total":{0},"matching":{0},"offset":0,"calls":[)", calls);
  for (int i = 1; i <= calls; ++i) {
    answers.calls += (i == 1 ? "" : ",") + call_json(i, call_id);
  }
  answers.calls += "]}";
  return answers;
}

std::string screen(const TopAnswers& given, const TopChoice& choice, TopSize size,
                   Signs signs = Signs::ascii) {
  return mgwctl::plain_text(mgwctl::top_screen(given, choice, size, signs));
}

bool has(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("A screen of top fits its size, whatever there is to show") {
  for (const TopSize size : {kSmall, kLarge, TopSize{40, 10}, TopSize{500, 200}}) {
    for (const int calls : {0, 1, 300}) {
      TopChoice open;
      open.opened = "rtpbridge/1@mgw";
      TopAnswers given = answers(calls);
      given.call = call_json(1, std::string(300, 'x'));
      for (const TopChoice& choice : {TopChoice(), open}) {
        const auto lines = mgwctl::top_screen(given, choice, size, Signs::unicode);
        CHECK(lines.size() <= size.rows);
        for (const auto& line : lines) {
          std::size_t columns = 0;
          for (const auto& span : line) {
            columns += mgwctl::columns_of(span.text);
          }
          CHECK(columns <= size.columns);
        }
      }
    }
  }
}

TEST_CASE("The list has the gateway's figures, a heading, the calls and the keys") {
  const std::string small = screen(answers(3), {}, kSmall);
  CHECK(has(small, "mgw 0.1.0  io_uring  2 workers  up 0:01:00"));
  CHECK(has(small, "calls 2/512"));
  CHECK(has(small, "loss 0.10 %   jitter 1.5 ms   MOS 4.10   CPU 7.3 us/packet"));
  CHECK(has(small, "unknown source 17"));
  CHECK(has(small, "ENDPOINT^"));
  CHECK(has(small, "rtpbridge/2     1a2b          PCMA PCMA   1:02:05   2.00    1.2 4.12       6"));
  CHECK(has(small, "3 of 3 calls"));
  CHECK_FALSE(has(small, "192.0.2.1"));
  const std::string large = screen(answers(3), {}, kLarge, Signs::unicode);
  CHECK(has(large, "192.0.2.1:4000  192.0.2.2:4000"));
  CHECK(has(large, "\u2581\u2585\u2588"));
  CHECK(std::ranges::count(large, '\n') == 50);
}

TEST_CASE("An open call shows both legs and its path, also on 24 lines") {
  TopAnswers given = answers(1);
  given.call = call_json(1, "1a2b");
  TopChoice choice;
  choice.opened = "rtpbridge/1@mgw";
  const std::string text = screen(given, choice, kSmall);
  CHECK(has(text, "rtpbridge/1@mgw  call 1a2b  up 1:02:05"));
  CHECK(has(text, "192.0.2.1:4000 <-> PCMA/8000 <-> rtpbridge/1 <-> PCMA/8000 <-> 192"));
  CHECK(has(text, "  peer             192.0.2.1:4000                192.0.2.2:4000"));
  CHECK(has(text, "  lost             6 (2.00 %)"));
  CHECK(has(text, "Esc back"));
  given.call.clear();
  CHECK(has(screen(given, choice, kSmall), "no call any more"));
}

TEST_CASE("What strangers wrote can't speak to the terminal") {
  TopAnswers given = answers(1, "\\u001b[2J\\u0007\\u009b1m\xc3\xa9");
  CHECK(has(screen(given, {}, kSmall), "?[2J??1m?"));
  TopChoice choice;
  choice.filter = "\x1b[31m";
  const std::string painted =
      mgwctl::painted(mgwctl::top_screen(given, choice, kSmall, Signs::ascii), true);
  CHECK_FALSE(has(painted, "\x1b[2J"));
  CHECK_FALSE(has(painted, "\x1b[31m\""));
}

TEST_CASE("A gateway that does not answer is told of, and what it said last stays") {
  TopAnswers given = answers(2);
  given.error = "127.0.0.1:9747: Connection refused";
  CHECK(has(screen(given, {}, kSmall), "Connection refused"));
  CHECK(has(screen(given, {}, kSmall), "rtpbridge/2"));
  given.overview = "{\"half";
  CHECK(has(screen(given, {}, kSmall), "127.0.0.1:9747"));
}

TEST_CASE("An update of the terminal draws over what is there") {
  const auto lines = mgwctl::top_screen(answers(1), {}, kSmall, Signs::ascii);
  const std::string with = mgwctl::painted(lines, true);
  CHECK(with.starts_with("\x1b[?2026h\x1b[H"));
  CHECK(with.ends_with("\x1b[J\x1b[?2026l"));
  CHECK_FALSE(has(with, "\x1b[2J"));
  CHECK(has(with, "\x1b[32m"));
  CHECK_FALSE(has(mgwctl::painted(lines, false), "\x1b[32m"));
}

TEST_CASE("Keys are read from what a terminal sends") {
  std::string bytes = "a\x1b[A\x1b[6~\x1b[1;5C/\x7f\r\x1b";
  CHECK(mgwctl::take_key(bytes).character == 'a');
  CHECK(mgwctl::take_key(bytes).key == TopKey::up);
  CHECK(mgwctl::take_key(bytes).key == TopKey::page_down);
  CHECK(mgwctl::take_key(bytes).character == '/');
  CHECK(mgwctl::take_key(bytes).key == TopKey::backspace);
  CHECK(mgwctl::take_key(bytes).key == TopKey::enter);
  CHECK(mgwctl::take_key(bytes).key == TopKey::escape);
  CHECK(mgwctl::take_key(bytes).key == TopKey::none);
  bytes = "\x03";
  CHECK(mgwctl::take_key(bytes).key == TopKey::ended);
}

TEST_CASE("Keys move the cursor, sort, filter, open and close") {
  TopAnswers given = answers(17);
  mgwctl::ListedCalls listed = mgwctl::listed_calls(given.calls);
  listed.matching = 40;
  TopChoice choice;
  const auto press = [&](TopEvent event) {
    return mgwctl::apply_key(event, listed, kSmall, choice);
  };
  for (int i = 0; i < 20; ++i) {
    CHECK_FALSE(press({TopKey::down}));
  }
  CHECK(choice.offset == 4);
  CHECK(choice.selected == 16);
  press({TopKey::page_down});
  press({TopKey::page_down});
  CHECK(choice.offset + choice.selected == 39);
  press({TopKey::home});
  CHECK(choice.offset + choice.selected == 0);
  press({TopKey::up});
  CHECK(choice.offset + choice.selected == 0);
  press({TopKey::text, 's'});
  CHECK(choice.sort == TopSort::call_id);
  press({TopKey::right});
  CHECK(choice.sort == TopSort::age);
  CHECK(choice.descending);
  press({TopKey::text, 'r'});
  CHECK_FALSE(choice.descending);
  press({TopKey::text, '/'});
  press({TopKey::text, 'q'});
  CHECK(choice.filter == "q");
  press({TopKey::enter});
  CHECK_FALSE(choice.edits_filter);
  press({TopKey::down});
  press({TopKey::enter});
  CHECK(choice.opened == "rtpbridge/2@mgw");
  press({TopKey::escape});
  CHECK(choice.opened.empty());
  CHECK(choice.filter == "q");
  press({TopKey::escape});
  CHECK(choice.filter.empty());
  CHECK(press({TopKey::text, 'q'}));
  CHECK(press({TopKey::ended}));
}
