// The timetable of the streams and the histogram that measures how well it is kept.
#include "tools/rtpload/histogram.h"
#include "tools/rtpload/pacing.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

namespace {

using namespace rtpload;
using namespace std::chrono_literals;

const io::TimePoint kStart = io::TimePoint(100s);

std::vector<DuePacket> take_all(PacingSchedule& schedule, io::TimePoint now) {
  std::vector<DuePacket> taken;
  DuePacket due;
  while (schedule.take_due(now, due)) {
    taken.push_back(due);
  }
  return taken;
}

}  // namespace

TEST_CASE("every stream sends exactly once per period, at the same phase, for all phase plans") {
  for (const PhasePlan plan : {PhasePlan::even, PhasePlan::random, PhasePlan::bursts}) {
    PacingSchedule schedule(333, 50, 20ms, plan, 5);
    schedule.start(kStart);
    std::map<std::uint32_t, std::vector<io::TimePoint>> by_stream;
    for (const DuePacket& due : take_all(schedule, kStart + 10s)) {
      CHECK(due.sequence == by_stream[due.stream].size());
      by_stream[due.stream].push_back(due.due);
    }
    CHECK(by_stream.size() == 333);
    for (const auto& [stream, instants] : by_stream) {
      REQUIRE(instants.size() == 50);
      CHECK(instants.front() >= kStart);
      CHECK(instants.front() < kStart + 20ms);
      for (std::size_t i = 1; i < instants.size(); ++i) {
        CHECK(instants[i] - instants[i - 1] == 20ms);
      }
      CHECK(schedule.taken(stream) == 50);
    }
    CHECK(schedule.finished());
    CHECK(schedule.next_due() == io::kNever);
  }
}

TEST_CASE("even phases are at equal distances, bursts 64 at a time") {
  PacingSchedule even(400, 1, 20ms, PhasePlan::even, 0);
  even.start(kStart);
  const auto spread = take_all(even, kStart + 1s);
  for (std::size_t i = 0; i < spread.size(); ++i) {
    CHECK(spread[i].due == kStart + 50us * i);
  }
  PacingSchedule bursts(130, 1, 20ms, PhasePlan::bursts, 0);
  bursts.start(kStart);
  CHECK(take_all(bursts, kStart).size() == 64);
  CHECK(take_all(bursts, kStart + 19ms).size() == 66);
}

TEST_CASE("nothing leaves early, and what is due leaves in order however late") {
  PacingSchedule schedule(10, 100, 20ms, PhasePlan::even, 0);
  schedule.start(kStart);
  DuePacket due;
  CHECK_FALSE(schedule.take_due(kStart - 1ns, due));
  CHECK(take_all(schedule, kStart).size() == 1);
  CHECK(schedule.next_due() == kStart + 2ms);
  CHECK(take_all(schedule, kStart + 2ms - 1ns).empty());
  // Two seconds late: 100 rounds minus what was taken, no more, each with its own instant.
  const auto late = take_all(schedule, kStart + 1s);
  CHECK(late.size() == 10 * 50);
  CHECK(std::is_sorted(late.begin(), late.end(),
                       [](const auto& a, const auto& b) { return a.due < b.due; }));
  CHECK(schedule.taken(0) == 51);
  CHECK(schedule.taken(9) == 50);
  CHECK_FALSE(schedule.finished());
}

TEST_CASE("after a stop the streams go on at their next instants, what was missed is counted") {
  PacingSchedule schedule(400, 500, 20ms, PhasePlan::even, 0);
  schedule.start(kStart);
  schedule.skip_later_than(10ms);
  // A turn that is late, but within the limit, makes up for it.
  CHECK(take_all(schedule, kStart + 5ms).size() == 101);
  CHECK(schedule.missed() == 0);
  // The next one comes a second late: nothing of that leaves now.
  CHECK(take_all(schedule, kStart + 1s - 1ns).empty());
  CHECK(schedule.missed() == 50 * 400 - 101);
  // On time nothing is missed, every stream sends each 20 ms.
  std::map<std::uint32_t, io::TimePoint> last;
  for (int turn = 0; turn < 2000; ++turn) {
    const io::TimePoint now = kStart + 1s + turn * 50us;
    for (const DuePacket& due : take_all(schedule, now)) {
      CHECK(due.due == now);
      if (last.count(due.stream) != 0) {
        CHECK(due.due - last[due.stream] == 20ms);
      }
      last[due.stream] = due.due;
    }
  }
  CHECK(last.size() == 400);
  CHECK(schedule.missed() == 50 * 400 - 101);
  // Stopped for longer than the run: it is over, and every instant was taken or missed.
  CHECK(take_all(schedule, kStart + 1h).empty());
  CHECK(schedule.finished());
  CHECK(schedule.next_due() == io::kNever);
  CHECK(schedule.missed() + 101 + 2000 == 500 * 400);
}

TEST_CASE("the packets of a stream are numbered without gaps, whatever was missed between them") {
  PacingSchedule schedule(2, 100, 20ms, PhasePlan::even, 0);
  schedule.start(kStart);
  schedule.skip_later_than(10ms);
  std::map<std::uint32_t, std::uint32_t> next;
  for (const io::Duration at : {0ms, 10ms, 500ms, 510ms, 1210ms, 1220ms}) {
    for (const DuePacket& due : take_all(schedule, kStart + at)) {
      CHECK(due.sequence == next[due.stream]++);
    }
  }
  CHECK(next[0] == schedule.taken(0));
  CHECK(next[0] + next[1] == 6);
}

namespace {

// Sleeps until the first tick at or after `end`, as a kernel without high-resolution timers does.
io::TimePoint tick_after(io::TimePoint end, io::Duration tick) {
  const io::Duration over = end.time_since_epoch() % tick;
  return over == io::Duration{} ? end : end + (tick - over);
}

// One stream's instants for so many seconds, kept by sleeping; the p99.9 of the deviation.
io::Duration deviation(io::Duration tick, io::Duration oversleep, int seconds, int streams) {
  WakePlan plan;
  Histogram late;
  io::TimePoint now = kStart;
  for (std::size_t sleep = 0; sleep < 2 * WakePlan::kSleeps; ++sleep) {
    const io::TimePoint end = plan.sleep_end(now + 1300us, now);
    const io::TimePoint woke = std::max(now, tick_after(end, tick) + oversleep);
    if (end > now) {
      plan.on_woken(now, end, woke);
    }
    now = std::max(now + 1300us, woke);
  }
  PacingSchedule schedule(static_cast<std::uint32_t>(streams),
                          static_cast<std::uint32_t>(seconds) * 50, 20ms, PhasePlan::even, 0);
  schedule.start(now + 1234567ns);
  DuePacket due;
  while (!schedule.finished()) {
    while (schedule.take_due(now, due)) {
      late.add(static_cast<std::uint64_t>((now - due.due).count()));
    }
    const io::TimePoint end = plan.sleep_end(schedule.next_due(), now);
    if (schedule.finished() || end <= now) {
      now += 2us;  // awake
      continue;
    }
    const io::TimePoint woke = std::max(now, tick_after(end, tick) + oversleep);
    plan.on_woken(now, end, woke);
    now = woke;
  }
  return io::Duration(static_cast<std::int64_t>(late.quantile(0.999)));
}

}  // namespace

TEST_CASE("with precise timers the generator sleeps until its instants, with coarse ones shorter") {
  CHECK(deviation(1ns, 50us, 20, 10) <= 52us);
  for (const io::Duration tick : {1ms, 4ms}) {
    for (const int streams : {1, 10, 400}) {
      CAPTURE(tick.count());
      CAPTURE(streams);
      CHECK(deviation(tick, 30us, 30, streams) < 500us);
    }
  }
}

TEST_CASE("single late wake-ups are no coarse timers, and timers that get precise are noticed") {
  WakePlan plan;
  io::TimePoint now = kStart;
  for (int sleep = 0; sleep < 320; ++sleep) {
    const io::TimePoint end = plan.sleep_end(now + 1ms, now);
    CHECK(end == now + 1ms);
    plan.on_woken(now, end, end + (sleep % 3 == 0 ? 5ms : 50us));
    now = end + 5ms;
  }
  for (int sleep = 0; sleep < 64; ++sleep) {
    const io::TimePoint end = plan.sleep_end(now + 8ms, now);
    plan.on_woken(now, end, end + 2ms);
    now += 10ms;
  }
  CHECK(plan.sleep_end(now + 8ms, now) <= now + 6ms);
  CHECK(plan.sleep_end(now + 8ms, now) > now + 4ms);
  // Awake all the time, since there is always something due sooner; then one sleep that is precise.
  now += WakePlan::kProbeInterval + 1s;
  CHECK(plan.sleep_end(now + 1ms, now) == now + 1ms);
  plan.on_woken(now, now + 1ms, now + 1ms + 60us);
  CHECK(plan.sleep_end(now + 8ms, now) == now + 8ms);
}

TEST_CASE("phase plans have names") {
  CHECK(find_phase_plan("even") == PhasePlan::even);
  CHECK(find_phase_plan("random") == PhasePlan::random);
  CHECK(find_phase_plan("bursts") == PhasePlan::bursts);
  CHECK_FALSE(find_phase_plan("Even").has_value());
}

TEST_CASE("an empty histogram says 0, one value is all its quantiles") {
  Histogram histogram;
  CHECK(histogram.quantile(0.5) == 0);
  histogram.add(123456789);
  for (const double fraction : {0.0, 0.5, 0.99, 1.0}) {
    CHECK(histogram.quantile(fraction) == 123456789);
  }
}

TEST_CASE("small values are exact, the extremes of the range are counted") {
  Histogram histogram;
  for (std::uint64_t value = 0; value < 64; ++value) {
    histogram.add(value);
  }
  CHECK(histogram.quantile(0.5) == 31);
  CHECK(histogram.quantile(1.0) == 63);
  histogram.add(~std::uint64_t{0});
  CHECK(histogram.max() == ~std::uint64_t{0});
  CHECK(histogram.quantile(1.0) == ~std::uint64_t{0});
}

TEST_CASE("quantiles of random values are within 1.6 percent above the exact ones") {
  std::mt19937_64 random(3);
  for (const unsigned bits : {10U, 20U, 35U, 63U}) {
    Histogram first;
    Histogram second;
    std::vector<std::uint64_t> values;
    for (int i = 0; i < 20001; ++i) {
      values.push_back(random() >> (64 - bits));
      (i % 2 == 0 ? first : second).add(values.back());
    }
    first.merge(second);
    std::sort(values.begin(), values.end());
    for (const double fraction : {0.01, 0.5, 0.9, 0.99, 0.999}) {
      const auto rank = static_cast<std::size_t>(fraction * static_cast<double>(values.size()));
      const std::uint64_t exact = values[rank];
      CHECK(first.quantile(fraction) >= exact);
      CHECK(static_cast<double>(first.quantile(fraction)) <=
            static_cast<double>(exact) * 1.016 + 1);
    }
    CHECK(first.max() == values.back());
    CHECK(first.count() == values.size());
  }
}
