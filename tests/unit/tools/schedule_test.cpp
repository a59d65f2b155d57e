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
