#include "io/timer_queue.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>

using namespace std::chrono_literals;

namespace {

io::TimePoint at(io::Duration instant) {
  return io::TimePoint(instant);
}

}  // namespace

TEST_CASE("an empty timer queue never expires") {
  io::TimerQueue queue;
  io::TimerQueue::Timer timer;
  CHECK(queue.next_expiry() == io::kNever);
  CHECK_FALSE(queue.take_due(io::kNever, timer));
}

TEST_CASE("a timer is due at its instant and not before") {
  io::TimerQueue queue;
  queue.arm(at(5ms), 42, 7);
  CHECK(queue.next_expiry() == at(5ms));
  io::TimerQueue::Timer timer;
  CHECK_FALSE(queue.take_due(at(5ms - 1ns), timer));
  REQUIRE(queue.take_due(at(5ms), timer));
  CHECK(timer.key == 42);
  CHECK(timer.generation == 7);
  CHECK(queue.size() == 0);
}

TEST_CASE("timers fire by instant, those of one instant in the order of arming") {
  io::TimerQueue queue;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> expected;
  std::uint64_t random = 1;
  for (std::uint64_t key = 0; key < 2000; ++key) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    const std::uint64_t instant = (random >> 40U) % 50;
    queue.arm(at(io::Duration(instant)), key, 0);
    expected.emplace_back(instant, key);
  }
  std::sort(expected.begin(), expected.end());
  std::vector<std::pair<std::uint64_t, std::uint64_t>> fired;
  io::TimerQueue::Timer timer;
  for (std::uint64_t instant = 0; instant < 50; ++instant) {
    while (queue.take_due(at(io::Duration(instant)), timer)) {
      fired.emplace_back(instant, timer.key);
    }
  }
  CHECK(fired == expected);
}

TEST_CASE("a timer may be armed while due ones are taken") {
  io::TimerQueue queue;
  queue.arm(at(1ms), 0, 0);
  io::TimerQueue::Timer timer;
  int fired = 0;
  while (fired < 100 && queue.take_due(at(1ms), timer)) {
    ++fired;
    queue.arm(timer.at + 20ms, timer.key, 0);
  }
  CHECK(fired == 1);
  CHECK(queue.next_expiry() == at(21ms));
}
