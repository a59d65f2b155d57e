// RSIP of the gateway to its agent: what is sent, when it is repeated, what ends it.

#include "mgw/restart_notifier.h"

#include "mgw/call_control.h"
#include "tests/sim/sim_world.h"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace {

constexpr auto ok = mgcp::ResponseCode::ok;

struct SentBox final : mgw::AgentSender {
  void send(const io::SocketAddress& agent, std::string_view datagram) noexcept override {
    to.push_back(agent);
    texts.emplace_back(datagram);
  }
  std::vector<io::SocketAddress> to;
  std::vector<std::string> texts;
};

}  // namespace

TEST_CASE("without an entity to notify no RSIP is sent") {
  SentBox sent;
  mgw::RestartNotifier notifier(conf::Config(), sent, 5);
  notifier.notify(mgcp::RestartMethod::restart, io::TimePoint{1s});
  notifier.on_tick(io::TimePoint{100s});
  CHECK(sent.texts.empty());
  CHECK_FALSE(notifier.waiting());
}

TEST_CASE("RSIP is repeated at growing intervals until its answer comes from the right agent") {
  conf::Config config;
  config.mgcp.notify_entity = "agent@198.51.100.1:2727";
  SentBox sent;
  mgw::RestartNotifier notifier(config, sent, mgcp::kTransactionIdMax);
  const io::TimePoint start{1000s};
  notifier.notify(mgcp::RestartMethod::restart, start);
  REQUIRE(sent.texts.size() == 1);
  CHECK(sent.to[0].text() == "198.51.100.1:2727");
  CHECK(sent.texts[0].starts_with("RSIP 999999999 *@mgw MGCP 1.0\r\n"));
  CHECK(sent.texts[0].find("RM: restart\r\n") != std::string::npos);
  for (io::Duration at = 100ms; at <= 8s; at += 100ms) {
    notifier.on_tick(start + at);
  }
  CHECK(sent.texts.size() == 5);  // 0, 0.5, 1.5, 3.5, 7.5 s
  CHECK(sent.texts[4] == sent.texts[0]);
  notifier.on_response(sim::address("198.51.100.1", 2728), mgcp::kTransactionIdMax, ok, start + 8s);
  notifier.on_response(sim::address("198.51.100.1", 2727), 1, ok, start + 8s);
  CHECK(notifier.waiting());
  notifier.on_response(sim::address("198.51.100.1", 2727), mgcp::kTransactionIdMax, ok, start + 8s);
  CHECK_FALSE(notifier.waiting());
  notifier.on_tick(start + 20s);
  CHECK(sent.texts.size() == 5);
  notifier.notify(mgcp::RestartMethod::forced, start + 30s);  // after the last id comes the first
  CHECK(sent.texts[5].starts_with("RSIP 1 *@mgw MGCP 1.0\r\n"));
}

TEST_CASE("RSIP is given up after twenty seconds, and a later one replaces it") {
  conf::Config config;
  config.mgcp.notify_entity = "agent@198.51.100.1:2727";
  SentBox sent;
  mgw::RestartNotifier notifier(config, sent, 7);
  notifier.notify(mgcp::RestartMethod::restart, io::TimePoint{0s});
  notifier.notify(mgcp::RestartMethod::graceful, io::TimePoint{1s});
  // Of the first: too late.
  notifier.on_response(sim::address("198.51.100.1", 2727), 7, ok, io::TimePoint{1s});
  CHECK(notifier.waiting());
  io::TimePoint now{1s};
  while (notifier.waiting() && now < io::TimePoint{60s}) {
    now += 500ms;
    notifier.on_tick(now);
  }
  CHECK(now >= io::TimePoint{21s});
  CHECK(now <= io::TimePoint{26s});
}

TEST_CASE("a provisional response makes the repetitions rarer and does not end them") {
  conf::Config config;
  config.mgcp.notify_entity = "agent@198.51.100.1:2727";
  const auto agent = sim::address("198.51.100.1", 2727);
  SentBox sent;
  mgw::RestartNotifier notifier(config, sent, 7);
  const io::TimePoint start{1000s};
  notifier.notify(mgcp::RestartMethod::restart, start);
  notifier.on_response(agent, 7, mgcp::ResponseCode::provisional, start + 100ms);
  CHECK(notifier.waiting());
  for (io::Duration at = 200ms; at <= 11s; at += 100ms) {
    notifier.on_tick(start + at);
  }
  CHECK(sent.texts.size() == 3);  // 0, 5.1, 10.1 s
  notifier.on_response(agent, 7, mgcp::ResponseCode{199}, start + 11s);
  CHECK(notifier.waiting());
  SUBCASE("until the final one comes, whether it is good or bad") {
    notifier.on_response(agent, 7, mgcp::ResponseCode::protocol_error, start + 12s);
    CHECK_FALSE(notifier.waiting());
  }
  SUBCASE("or the agent has been silent for too long") {
    for (io::Duration at = 11s; at <= 30s; at += 100ms) {
      notifier.on_tick(start + at);
    }
    CHECK_FALSE(notifier.waiting());
  }
}
