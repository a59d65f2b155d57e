// What holds senders down: packets of a peer, commands of an agent, passwords of a host; and what
// the gateway lets in.

#include "mgw/admission.h"
#include "mgw/agent_limiter.h"
#include "mgw/endpoint.h"
#include "mgw/password_delays.h"
#include "mgw/token_bucket.h"
#include "tests/sim/sim_world.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>
#include <chrono>

using namespace std::chrono_literals;
using mgw::AgentVerdict;
using mgw::LimitCause;

namespace {

constexpr io::TimePoint kStart{1000s};

/// An admission with everything that it looks at.
struct Gate {
  conf::Config config;
  mgw::LimitCounters counters;
  mgw::Admission admission{config, counters};

  int code(const mgw::Admission::Candidate& candidate, io::TimePoint now = kStart) {
    const auto error = admission.check(candidate, now);
    return error ? mgcp::number(error->code) : 200;
  }
  [[nodiscard]] std::uint64_t refused(LimitCause cause) const {
    return counters.refused[static_cast<std::size_t>(cause)].value();
  }
};

mgw::Connection connection_with(const char* codec, std::uint32_t ptime_ms) {
  mgw::Connection connection;
  connection.codecs.push_back(mgcp::default_codec());
  connection.codecs.back().name = codec;
  connection.ptime_ms = ptime_ms;
  return connection;
}

}  // namespace

TEST_CASE("a bucket lets a burst through and then the rate") {
  mgw::TokenBucket bucket;
  const auto taken_at = [&bucket](io::TimePoint now) {
    int taken = 0;
    while (taken < 1000 && bucket.take(now, 10ms, 100ms)) {
      ++taken;
    }
    return taken;
  };
  CHECK(taken_at(kStart) == 10);
  CHECK(taken_at(kStart + 9ms) == 0);
  CHECK(taken_at(kStart + 10ms) == 1);
  CHECK(taken_at(kStart + 45ms) == 3);
  CHECK(taken_at(kStart + 10s) == 10);
}

TEST_CASE("an agent above its rate is refused, above twice of it ignored, others notice nothing") {
  mgw::AgentLimiter limiter;
  const auto wild = sim::address("198.51.100.1", 2727);
  const auto same_host = sim::address("198.51.100.1", 4000);
  const auto quiet = sim::address("198.51.100.2", 2727);
  std::array<int, 3> verdicts{};
  for (int i = 0; i < 1000; ++i) {
    const auto& from = i % 2 == 0 ? wild : same_host;
    ++verdicts[static_cast<std::size_t>(limiter.judge(from, 100, 20, kStart))];
  }
  CHECK(verdicts[static_cast<std::size_t>(AgentVerdict::admitted)] == 20);
  CHECK(verdicts[static_cast<std::size_t>(AgentVerdict::refused)] == 20);
  CHECK(verdicts[static_cast<std::size_t>(AgentVerdict::ignored)] == 960);
  CHECK(limiter.judge(quiet, 100, 20, kStart) == AgentVerdict::admitted);
  CHECK(limiter.judge(wild, 100, 20, kStart + 10ms) == AgentVerdict::admitted);
  CHECK(limiter.judge(wild, 100, 20, kStart + 10ms) == AgentVerdict::refused);
  CHECK(limiter.judge(wild, 0, 1, kStart) == AgentVerdict::admitted);
  CHECK(limiter.agents() == 2);
}

TEST_CASE("the table of agents does not grow with made-up senders, and keeps those it hears from") {
  mgw::AgentLimiter limiter;
  const auto known = sim::address("198.51.100.1", 2727);
  CHECK(limiter.judge(known, 1, 1, kStart) == AgentVerdict::admitted);
  for (std::uint32_t i = 0; i < 5000; ++i) {
    const auto made_up = sim::address(fmt::format("10.0.{}.{}", i / 250, 1 + i % 250), 2727);
    static_cast<void>(limiter.judge(made_up, 1, 1, kStart));
    CHECK(limiter.judge(known, 1, 1, kStart) != AgentVerdict::admitted);
  }
  CHECK(limiter.agents() == mgw::AgentLimiter::kAgentsMax);
  CHECK(limiter.judge(sim::address("::1", 1), 1, 1, kStart) == AgentVerdict::admitted);
}

TEST_CASE("connections and bandwidth are limited, and each refusal is counted by its cause") {
  Gate gate;
  CHECK(gate.code({true, 0, true, 1000000, 1000000000}) == 200);
  gate.config.limits.connections = 10;
  CHECK(gate.code({true, 0, true, 9, 0}) == 200);
  CHECK(gate.code({false, 0, true, 10, 0}) == 403);
  gate.config.limits.bandwidth_kbps = 200;
  mgw::Connection first = connection_with("PCMA", 20);
  gate.admission.update(first);
  CHECK(gate.counters.bandwidth_bps.value() == 80000);
  CHECK(gate.code({true, 0, true, 1, 120000}) == 200);
  CHECK(gate.code({true, 0, true, 1, 120001}) == 404);
  first.codecs[0].name = "amr";
  gate.admission.update(first);
  CHECK(gate.counters.bandwidth_bps.value() == 28800);
  gate.admission.remove(first);
  CHECK(gate.counters.bandwidth_bps.value() == 0);
  CHECK(gate.code({false, 0, false, 1, 0}) == 409);
  CHECK(gate.refused(LimitCause::connections) == 1);
  CHECK(gate.refused(LimitCause::bandwidth) == 1);
  CHECK(gate.refused(LimitCause::worker_queue) == 1);
}

TEST_CASE("bandwidth follows codec and packet duration") {
  CHECK(mgw::bandwidth_bps(connection_with("PCMU", 20)) == 64000 + 16000);
  CHECK(mgw::bandwidth_bps(connection_with("PCMU", 10)) == 64000 + 32000);
  CHECK(mgw::bandwidth_bps(connection_with("GSM", 0)) == 13200 + 16000);
  CHECK(mgw::bandwidth_bps(connection_with("nobody-knows", 20)) == 64000 + 16000);
}

TEST_CASE("a worker that is busy for some seconds gets no new calls, but further legs") {
  Gate gate;
  gate.config.limits.cpu_percent = 80;
  std::array<io::Duration, 2> used{};
  io::TimePoint now = kStart;
  const auto second = [&](io::Duration first, io::Duration other) {
    used[0] += first;
    used[1] += other;
    now += 1s;
    gate.admission.on_cpu_times(used, now);
  };
  second(0ms, 0ms);
  second(1000ms, 100ms);
  CHECK(gate.code({true, 0}) == 200);  // a peak
  second(1000ms, 100ms);
  second(1000ms, 100ms);
  CHECK(gate.code({true, 0}) == 409);
  CHECK(gate.code({false, 0}) == 200);
  CHECK(gate.code({true, 1}) == 200);
  second(100ms, 100ms);
  second(100ms, 100ms);
  CHECK(gate.code({true, 0}) == 200);
  CHECK(gate.refused(LimitCause::cpu) == 1);
}

TEST_CASE("while commands wait on the socket for long, new calls are refused") {
  Gate gate;
  gate.admission.on_burst_end(false, kStart);
  CHECK(gate.code({true, 0}, kStart + 249ms) == 200);
  gate.admission.on_burst_end(false, kStart + 250ms);
  CHECK(gate.code({true, 0}, kStart + 250ms) == 409);
  CHECK(gate.code({false, 0}, kStart + 250ms) == 200);
  gate.admission.on_burst_end(true, kStart + 300ms);
  CHECK(gate.code({true, 0}, kStart + 600ms) == 200);
  gate.admission.on_burst_end(false, kStart + 700ms);
  CHECK(gate.code({true, 0}, kStart + 800ms) == 200);
}

TEST_CASE("who tries passwords waits longer and longer, over all of its connections") {
  mgw::PasswordDelays delays;
  CHECK(delays.until("192.0.2.1") == io::TimePoint());
  CHECK(delays.note("192.0.2.1", kStart) == kStart + 1s);
  CHECK(delays.note("192.0.2.1", kStart + 1s) == kStart + 3s);
  CHECK(delays.note("192.0.2.1", kStart + 3s) == kStart + 7s);
  CHECK(delays.note("192.0.2.1", kStart + 3s) == kStart + 15s);  // over another connection
  CHECK(delays.note("192.0.2.2", kStart + 3s) == kStart + 4s);
  io::TimePoint now = kStart;
  for (int i = 0; i < 20; ++i) {
    now = delays.note("192.0.2.1", now);
  }
  CHECK(delays.note("192.0.2.1", now) == now + 60s);
  CHECK(delays.any(now + 61s));
  CHECK_FALSE(delays.any(now + 63s));
  CHECK(delays.note("192.0.2.1", now + 700s) == now + 701s);
}

TEST_CASE("hosts that try passwords are forgotten before they are too many") {
  mgw::PasswordDelays delays;
  static_cast<void>(delays.note("keep", kStart));
  static_cast<void>(delays.note("keep", kStart));
  static_cast<void>(delays.note("keep", kStart));
  for (int i = 0; i < 1000; ++i) {
    static_cast<void>(delays.note(std::to_string(i), kStart));
  }
  CHECK(delays.until("keep") == kStart + 7s);
  CHECK(delays.until("0") == io::TimePoint());
  CHECK(delays.until("999") == kStart + 1s);
}
