// CTRL: the framing, the texts of requests and answers, and what can be asked for.

#include "tests/unit/ttcn-compat/sample_gateway.h"
#include "ttcn-compat/ctrl_protocol.h"
#include "ttcn-compat/ctrl_variables.h"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace {

using ttcn_compat::CounterHistory;
using ttcn_compat::CtrlSession;
using ttcn_compat::CtrlVariables;
using ttcn_compat_test::SampleGateway;
using namespace std::string_literals;
using namespace std::string_view_literals;
using namespace std::chrono_literals;

constexpr io::TimePoint kStart{io::Duration(100s)};

/// A gateway and somebody who asks it.
struct Desk {
  SampleGateway gateway;
  CounterHistory history;
  CtrlVariables variables{{gateway, history, "0.1.0", kStart}};
  CtrlSession session{variables};

  std::string ask(std::string_view request, io::TimePoint now = kStart) {
    return answer_ctrl_request(request, variables, now);
  }
  /// What comes back for raw bytes.
  std::string exchange(std::string_view bytes) {
    std::string out;
    do {
      REQUIRE(session.receive(bytes, kStart, out));
    } while (!bytes.empty());
    return out;
  }
};

std::string frame(std::string_view text) {
  std::string out;
  ttcn_compat::append_ctrl_frame(out, text);
  return out;
}

}  // namespace

TEST_CASE("a frame has the length of what follows the stream identifier, EE and 00") {
  CHECK(frame("GET 1 version") == "\x00\x0e\xee\x00GET 1 version"sv);
  CHECK(frame(std::string(300, 'x')).starts_with("\x01\x2d\xee\x00xx"sv));
  const std::string longest = frame(std::string(70000, 'x'));
  CHECK(longest.size() == 3 + 0xffff);
  CHECK(longest.starts_with("\xff\xff\xee\x00xx"sv));
}

TEST_CASE("requests are answered wherever the stream is cut") {
  Desk desk;
  const std::string requests = frame("GET 1 version") + "\x00\x01\xfe\x00"s + frame("GET 2 nope") +
                               "\x00\x03\x05"
                               "abc"s +
                               frame("GET 3 backend");
  const std::string answers = frame("GET_REPLY 1 version 0.1.0") + "\x00\x01\xfe\x01"s +
                              frame("ERROR 2 Command not found") +
                              frame("GET_REPLY 3 backend poll");
  CHECK(desk.exchange(requests) == answers);
  for (std::size_t size = 1; size < requests.size(); ++size) {
    CAPTURE(size);
    std::string got;
    for (std::size_t at = 0; at < requests.size(); at += size) {
      got += desk.exchange(std::string_view(requests).substr(at, size));
    }
    CHECK(got == answers);
  }
}

TEST_CASE("ping gets pong, an acknowledgement is acknowledged, other streams are ignored") {
  Desk desk;
  CHECK(desk.exchange("\x00\x01\xfe\x00"sv) == "\x00\x01\xfe\x01"sv);
  CHECK(desk.exchange("\x00\x01\xfe\x06"sv) == "\x00\x01\xfe\x06"sv);
  CHECK(desk.exchange("\x00\x01\xfe\x04"sv).empty());
  CHECK(desk.exchange("\x00\x00\xfe\x00\x00\xee"sv).empty());
  CHECK(desk.exchange("\x00\x05\xee\x01"
                      "abcd"sv)
            .empty());
  CHECK(desk.exchange(frame("GET 1 version")) == frame("GET_REPLY 1 version 0.1.0"));
}

TEST_CASE("a frame longer than a request may be ends the connection") {
  Desk desk;
  std::string out;
  const std::string longest = frame(std::string(CtrlSession::kRequestBytesMax - 1, 'x'));
  std::string_view bytes = longest;
  CHECK(desk.session.receive(bytes, kStart, out));
  CHECK(out == frame("ERROR err Request type unknown"));
  bytes = "\x10\x01\xee"sv;
  CHECK_FALSE(desk.session.receive(bytes, kStart, out));
}

TEST_CASE("of several requests at once one is answered at a time") {
  Desk desk;
  const std::string two = frame("GET 1 version") + frame("GET 2 version");
  std::string_view bytes = two;
  std::string out;
  CHECK(desk.session.receive(bytes, kStart, out));
  CHECK(out == frame("GET_REPLY 1 version 0.1.0"));
  CHECK(bytes == frame("GET 2 version"));
  out.clear();
  CHECK(desk.session.receive(bytes, kStart, out));
  CHECK(out == frame("GET_REPLY 2 version 0.1.0"));
  CHECK(bytes.empty());
}

TEST_CASE("malformed requests are told what is wrong with them") {
  Desk desk;
  struct Row {
    std::string_view request;
    std::string_view answer;
  };
  constexpr Row kRows[] = {
      {"", "ERROR err Request malformed"},
      {"   ", "ERROR err Request malformed"},
      {"FOO 1 x", "ERROR err Request type unknown"},
      {"GET", "ERROR err Missing ID"},
      {"SET ", "ERROR err Missing ID"},
      {"GET x nope", "ERROR err Invalid message ID number"},
      {"GET -1 nope", "ERROR err Invalid message ID number"},
      {"GET 26", "ERROR 26 GET incomplete"},
      {"SET 1 drain", "ERROR 1 SET incomplete"},
      {"SET 1 drain ", "ERROR 1 SET incomplete"},
      {"GET 24 rate_ctr.*", "ERROR 24 GET variable contains invalid characters"},
      {"GET 5 \xff", "ERROR 5 GET variable contains invalid characters"},
      {"SET 8 no*pe 1", "ERROR 8 SET variable contains invalid characters"},
      {"GET 5 nope extra", "ERROR 5 GET with trailing characters"},
      {"GET 5 nope", "ERROR 5 Command not found"},
      {"GET  5  nope\n", "ERROR 5 Command not found"},
      {"GET 5 nope\0garbage"sv, "ERROR 5 Command not found"},
      {"get 5 nope", "ERROR 5 Command not found"},
      {"GET 99999999999999 nope", "ERROR 99999999999999 Command not found"},
      {"SET 1 nope 5", "ERROR 1 Command not found"},
      {"GET_REPLY 5 a b", "ERROR 5 Trying to execute something not GET or SET"},
      {"TRAP 0 a b", "ERROR 0 Trying to execute something not GET or SET"},
      {"ERROR 5 foo", ""},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.request);
    CHECK(desk.ask(row.request) == row.answer);
  }
}

TEST_CASE("rate counters are had whole or one by one, as values and as rates") {
  Desk desk;
  desk.gateway.counters.value("crcx", "crcx:success") = 2;
  desk.history.tick(kStart, desk.gateway.counters.source());
  desk.history.tick(kStart + 60s, desk.gateway.counters.source());
  CHECK(desk.ask("GET 1 rate_ctr.abs.crcx.0") ==
        "GET_REPLY 1 rate_ctr.abs.crcx.0 crcx:success 2;crcx:bad_action 0;");
  CHECK(desk.ask("GET 2 rate_ctr.abs.crcx.0.crcx:success") ==
        "GET_REPLY 2 rate_ctr.abs.crcx.0.crcx:success 2");
  CHECK(desk.ask("GET 3 rate_ctr.per_min.crcx.0.crcx:success") ==
        "GET_REPLY 3 rate_ctr.per_min.crcx.0.crcx:success 2");
  CHECK(desk.ask("GET 4 rate_ctr.per_sec.crcx.0") ==
        "GET_REPLY 4 rate_ctr.per_sec.crcx.0 crcx:success 0;crcx:bad_action 0;");
  CHECK(desk.ask("GET 5 rate_ctr.per_hour.crcx.0.crcx:success").ends_with(" 0"));
  CHECK(desk.ask("GET 5 rate_ctr.per_day.crcx.0.crcx:success").ends_with(" 0"));
  CHECK(desk.ask("GET 6 rate_ctr.abs.conn_rtp.0") ==
        "GET_REPLY 6 rate_ctr.abs.conn_rtp.0 rtp:packets_rx 0;");
  desk.history.reset(desk.gateway.counters.source());
  CHECK(desk.ask("GET 7 rate_ctr.abs.crcx.0.crcx:success").ends_with(" 0"));
}

TEST_CASE("counter variables that do not exist are told apart") {
  Desk desk;
  constexpr std::string_view kItemForm =
      "ERROR 1 Stat item must be of form stat_item.type.group_name.N.item_name, e.g. "
      "'stat_item.last.bsc.0.msc_num:connected'";
  struct Row {
    std::string_view variable;
    std::string_view answer;
  };
  const Row rows[] = {
      {"rate_ctr.foo.crcx.0",
       "ERROR 1 Wrong interval. Expecting 'per_sec', 'per_min', 'per_hour', 'per_day' or 'abs' "
       "value."},
      {"rate_ctr.abs.nope.0", "ERROR 1 Counter group with given name and index not found"},
      {"rate_ctr.abs.crcx.9", "ERROR 1 Counter group with given name and index not found"},
      {"rate_ctr.abs.crcx.99999999999",
       "ERROR 1 Counter group with given name and index not found"},
      {"rate_ctr.abs.trunk.0", "ERROR 1 Counter group with given name and index not found"},
      {"rate_ctr.abs.crcx.0.nope", "ERROR 1 Counter name not found."},
      {"rate_ctr.abs.crcx.0.crcx:success.x", "ERROR 1 Counter name not found."},
      {"rate_ctr.abs", "ERROR 1 Counter group must be of name.index form e. g. e1inp.0"},
      {"rate_ctr.abs.crcx", "ERROR 1 Counter group must be of name.index form e. g. e1inp.0"},
      {"rate_ctr", "ERROR 1 Command not found"},
      {"counter", "ERROR 1 Command not found"},
      {"counter.foo", "ERROR 1 Counter name not found."},
      {"stat_item", "ERROR 1 Command not found"},
      {"stat_item.last", kItemForm},
      {"stat_item.last.trunk.0", kItemForm},
      {"stat_item.last.trunk.x.endpoints:used", kItemForm},
      {"stat_item.foo.trunk.0.endpoints:used", kItemForm},
      {"stat_item.last.trunk.by_name.virtual-0:common", kItemForm},
      {"stat_item.last.trunk.0.endpoints:used.x", "ERROR 1 Garbage after stat item name"},
      {"stat_item.last.trunk.by_name.nope.endpoints:used",
       "ERROR 1 Stat group with given name and index not found"},
      {"stat_item.last.crcx.0.x", "ERROR 1 Stat group with given name and index not found"},
      {"stat_item.last.trunk.0.nope", "ERROR 1 No such stat item found"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.variable);
    CHECK(desk.ask("GET 1 " + std::string(row.variable)) == row.answer);
  }
  CHECK(desk.ask("SET 2 rate_ctr.abs.crcx.0 5") == "ERROR 2 Can't set rate counter.");
  CHECK(desk.ask("SET 3 counter.x 4") == "ERROR 3 Can't set counter.");
  CHECK(desk.ask("SET 7 stat_item.last.trunk.0.endpoints:used 3") == "ERROR 7 Read Only attribute");
}

TEST_CASE("items are had by index and by the name of their group") {
  Desk desk;
  desk.gateway.counters.value("trunk", "endpoints:used", 1) = 16;
  CHECK(desk.ask("GET 1 stat_item.last.trunk.1.endpoints:used") ==
        "GET_REPLY 1 stat_item.last.trunk.1.endpoints:used 16");
  CHECK(desk.ask("GET 1 stat_item.last.trunk.by_name.e1-1:common.endpoints:used") ==
        "GET_REPLY 1 stat_item.last.trunk.by_name.e1-1:common.endpoints:used 16");
  CHECK(desk.ask("GET 1 stat_item.last.trunk.by_name.virtual-0:common.endpoints:used")
            .ends_with(" 0"));
}

TEST_CASE("the gateway's own variables say how it is") {
  Desk desk;
  struct Row {
    std::string_view variable;
    std::string_view value;
  };
  constexpr Row kRows[] = {
      {"endpoints.total", "765"},
      {"endpoints.used", "23"},
      {"endpoints.free", "742"},
      {"trunk.virtual-0.endpoints.total", "300"},
      {"trunk.virtual-0.endpoints.used", "7"},
      {"trunk.virtual-0.endpoints.free", "293"},
      {"trunk.e1-1.endpoints.used", "16"},
      {"calls", "23"},
      {"connections", "1"},
      {"osmux.circuits.used", "3"},
      {"drain", "0"},
      {"drain.end", "never"},
      {"backend", "poll"},
      {"version", "0.1.0"},
      {"uptime", "77"},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.variable);
    CHECK(desk.ask("GET 4 " + std::string(row.variable), kStart + 77900ms) ==
          "GET_REPLY 4 " + std::string(row.variable) + " " + std::string(row.value));
    if (row.variable == "drain.end") {
      continue;
    }
    const bool writable = row.variable == "drain";
    CHECK(desk.ask("SET 5 " + std::string(row.variable) + " 9") ==
          (writable ? "ERROR 5 Value failed verification." : "ERROR 5 Read Only attribute"));
  }
  CHECK(desk.ask("GET 4 trunk.e1-2.endpoints.used") == "ERROR 4 Command not found");
  CHECK(desk.ask("GET 4 trunk.NAME.endpoints.used") == "ERROR 4 Command not found");
  CHECK(desk.ask("GET 4 trunk.e1-1.endpoints") == "ERROR 4 Command not found");
}

TEST_CASE("drain is set and ended") {
  Desk desk;
  CHECK(desk.ask("SET 1 drain 1") == "SET_REPLY 1 drain 1");
  CHECK(desk.gateway.drains.active);
  CHECK(desk.ask("GET 2 drain") == "GET_REPLY 2 drain 1");
  CHECK(desk.ask("SET 3 drain 1 2") == "ERROR 3 Value failed verification.");
  CHECK(desk.ask("SET 3 drain 0\n") == "SET_REPLY 3 drain 0");
  CHECK_FALSE(desk.gateway.drains.active);
}

TEST_CASE("a drain is given an end, with or without a time") {
  Desk desk;
  CHECK(desk.ask("SET 1 drain.end 60") == "SET_REPLY 1 drain.end 60");
  CHECK(desk.gateway.drains.active);
  CHECK(desk.gateway.drains.remaining == std::chrono::seconds(60));
  CHECK(desk.ask("SET 2 drain.end empty") == "SET_REPLY 2 drain.end empty");
  CHECK_FALSE(desk.gateway.drains.remaining);
  for (const char* value : {"0", "never", "604801", "-1", "60s", "empty 1"}) {
    CAPTURE(value);
    CHECK(desk.ask(std::string("SET 3 drain.end ") + value) ==
          "ERROR 3 Value failed verification.");
  }
  CHECK(desk.gateway.drains.ends);
  CHECK(desk.ask("SET 4 drain 0") == "SET_REPLY 4 drain 0");
  CHECK(desk.ask("GET 5 drain.end") == "GET_REPLY 5 drain.end never");
}

TEST_CASE("docs/ctrl.md has a row for each of the gateway's own variables") {
  std::ifstream file(MGW_CTRL_DOCUMENT);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::string rows;
  for (const ttcn_compat::CtrlVariable& variable : CtrlVariables::table()) {
    rows += "| `" + std::string(variable.name) + "` | " + (variable.set ? "GET, SET" : "GET") +
            " | " + std::string(variable.description) + " |\n";
  }
  CAPTURE(rows);
  CHECK(text.find("|---|---|---|\n" + rows + "\n") != std::string::npos);
}
