#include "io/coalescing.h"

#include <doctest/doctest.h>

namespace {

using namespace std::chrono_literals;

io::TimePoint at(io::Duration time) {
  return io::TimePoint{} + 1h + time;
}

/// Passes of `per_pass` datagrams every `interval` for a second, from `start` on.
io::Duration run_second(io::CoalescingPolicy& policy, io::Duration start, io::Duration interval,
                        std::size_t per_pass) {
  io::Duration time = start;
  for (; time < start + 1s; time += interval) {
    policy.on_pass(per_pass, at(time));
  }
  return time;
}

}  // namespace

TEST_CASE("without a limit no pass waits for more") {
  io::CoalescingPolicy policy({.limit_us = 0, .adaptive = true});
  CHECK_FALSE(policy.enabled());
  run_second(policy, 0s, 50us, 3);
  CHECK(policy.window() == 0us);
}

TEST_CASE("a fixed limit is waited out after a pass that brought several datagrams") {
  io::CoalescingPolicy policy({.limit_us = 300});
  policy.on_pass(2, at(0s));
  CHECK(policy.window() == 300us);
  CHECK(policy.earliest_wake_up() == at(300us));
  policy.on_pass(1, at(1ms));
  CHECK(policy.window() == 0us);
}

TEST_CASE("the adaptive wait is not entered at a rate at which wake-ups cost little") {
  io::CoalescingPolicy policy({.limit_us = 1000, .adaptive = true});
  run_second(policy, 0s, 1ms, 1);
  CHECK(policy.window() == 0us);
}

TEST_CASE("the adaptive wait is as long as brings enough datagrams, and never above its limit") {
  io::CoalescingPolicy policy({.limit_us = 1000, .adaptive = true});
  io::Duration time = run_second(policy, 0s, 100us, 1);
  CHECK(policy.window() == 1ms);
  time = run_second(policy, time, 50us, 4);
  CHECK(policy.window() > 200us);
  CHECK(policy.window() < 260us);
}

TEST_CASE("packets that come all at once every 20 ms count as their average rate") {
  io::CoalescingPolicy policy({.limit_us = 1000, .adaptive = true});
  run_second(policy, 0s, 20ms, 400);
  CHECK(policy.window() == 1ms);
}

TEST_CASE("the adaptive wait is left when the packets cease") {
  io::CoalescingPolicy policy({.limit_us = 1000, .adaptive = true});
  io::Duration time = run_second(policy, 0s, 100us, 2);
  REQUIRE(policy.window() > 0us);
  for (int pass = 0; pass < 4; ++pass) {
    time += 100ms;
    policy.on_pass(1, at(time));
  }
  CHECK(policy.window() == 0us);
}
