// When reports are due (RFC 3550 sections 6.2, 6.3 and appendix A.7), with given random values.

#include "rtp/rtcp_schedule.h"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>

using namespace std::chrono_literals;
using rtp::randomised_rtcp_interval;
using rtp::rtcp_interval;
using rtp::RtcpIntervalInput;
using rtp::RtcpSchedule;

namespace {

constexpr std::uint32_t kLowest = 0;             // factor 0.5
constexpr std::uint32_t kMiddle = 0x80000000U;   // factor 1
constexpr std::uint32_t kHighest = 0xffffffffU;  // factor 1.5
constexpr double kCompensation = 1.2182818284590452;
constexpr std::uint32_t kBandwidth = 400;
constexpr io::TimePoint kStart{1'000s};

double seconds(io::Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

bool about(double value, double expected) {
  return value > expected - 1e-4 && value < expected + 1e-4;
}

}  // namespace

TEST_CASE("few members are held to the minimum, half of it before the first report") {
  RtcpIntervalInput input;
  input.members = 2;
  input.senders = 2;
  input.we_sent = true;
  input.average_bytes = 120;
  input.bandwidth_bytes_per_s = kBandwidth;
  CHECK(rtcp_interval(input) == 5s);
  input.initial = true;
  CHECK(rtcp_interval(input) == 2500ms);
  input.minimum = 2s;
  CHECK(rtcp_interval(input) == 1s);
}

TEST_CASE("many members share the bandwidth; few senders among them have a quarter of it") {
  struct Row {
    std::uint32_t members;
    std::uint32_t senders;
    bool we_sent;
    double seconds;
  };
  for (const Row& row : {
           Row{100, 50, true, 100 * 120 / 400.0},  // more than a quarter send: all alike
           Row{100, 50, false, 100 * 120 / 400.0},
           Row{100, 26, true, 100 * 120 / 400.0},
           Row{100, 25, true, 25 * 120 / 100.0},   // at most a quarter: a quarter for them
           Row{100, 25, false, 75 * 120 / 300.0},  // and three for the rest
           Row{100, 0, false, 100 * 120 / 300.0},
           Row{1000, 100, true, 100 * 120 / 100.0},
       }) {
    CAPTURE(row.members);
    CAPTURE(row.senders);
    CAPTURE(row.we_sent);
    RtcpIntervalInput input;
    input.members = row.members;
    input.senders = row.senders;
    input.we_sent = row.we_sent;
    input.average_bytes = 120;
    input.bandwidth_bytes_per_s = kBandwidth;
    CHECK(about(seconds(rtcp_interval(input)), row.seconds));
  }
}

TEST_CASE("no values of the input make an interval shorter than the minimum or longer than a day") {
  for (const std::uint32_t members : {0U, 1U, 2U, 0xffffffffU}) {
    for (const std::uint32_t senders : {0U, 1U, 0xffffffffU}) {
      for (const std::uint32_t bandwidth : {0U, 1U, 0xffffffffU}) {
        for (const bool we_sent : {false, true}) {
          RtcpIntervalInput input;
          input.members = members;
          input.senders = senders;
          input.we_sent = we_sent;
          input.average_bytes = 0xffff;
          input.bandwidth_bytes_per_s = bandwidth;
          const io::Duration interval = rtcp_interval(input);
          CHECK(interval >= 5s);
          CHECK(interval <= 24h + 1s);
          CHECK(randomised_rtcp_interval(interval, kHighest) < 30h);
        }
      }
    }
  }
}

TEST_CASE("an interval is spread over 0.5 to 1.5 of its length, made up for reconsideration") {
  CHECK(about(seconds(randomised_rtcp_interval(5s, kLowest)), 2.5 / kCompensation));
  CHECK(about(seconds(randomised_rtcp_interval(5s, kMiddle)), 5 / kCompensation));
  CHECK(about(seconds(randomised_rtcp_interval(5s, kHighest)), 7.5 / kCompensation));
  CHECK(about(seconds(randomised_rtcp_interval(2500ms, kMiddle)), 2.5 / kCompensation));
  CHECK(about(seconds(randomised_rtcp_interval(3600s, kMiddle)), 3600 / kCompensation));
  CHECK(randomised_rtcp_interval(0s, kHighest) == 0s);
}

TEST_CASE("a schedule that was not started is never due") {
  CHECK(RtcpSchedule(kBandwidth).next() == io::kNever);
}

TEST_CASE("the first report comes after half an interval, the next ones after whole ones") {
  RtcpSchedule schedule(kBandwidth);
  schedule.start(kStart, 100, kMiddle);
  CHECK(about(seconds(schedule.next() - kStart), 2.5 / kCompensation));
  const io::TimePoint first = schedule.next();
  REQUIRE(schedule.is_due(first, kMiddle));
  schedule.sent(first, 100, kMiddle);
  CHECK(about(seconds(schedule.next() - first), 5 / kCompensation));
  const io::TimePoint second = schedule.next();
  REQUIRE(schedule.is_due(second, kLowest));
  schedule.sent(second, 100, kHighest);
  CHECK(about(seconds(schedule.next() - second), 7.5 / kCompensation));
}

TEST_CASE("a timer that fires is reconsidered: a longer interval since the last report moves it") {
  RtcpSchedule schedule(kBandwidth);
  schedule.start(kStart, 100, kLowest);
  const io::TimePoint early = schedule.next();
  CHECK(about(seconds(early - kStart), 1.25 / kCompensation));
  CHECK_FALSE(schedule.is_due(early, kHighest));
  // Counted from when the session was joined, not from now.
  CHECK(about(seconds(schedule.next() - kStart), 3.75 / kCompensation));
  CHECK(schedule.is_due(schedule.next(), kMiddle));
}

TEST_CASE("members that join before the first report put it off (reconsideration)") {
  RtcpSchedule schedule(kBandwidth);
  schedule.start(kStart, 120, kMiddle);
  schedule.set_members(100, 50, false);
  const io::TimePoint planned = schedule.next();
  CHECK_FALSE(schedule.is_due(planned, kMiddle));
  CHECK(about(seconds(schedule.next() - kStart), 30 / kCompensation));
}

TEST_CASE("a report that could not be sent is not made up for, and the next is still the first") {
  RtcpSchedule schedule(kBandwidth);
  schedule.start(kStart, 100, kMiddle);
  const io::TimePoint first = schedule.next();
  REQUIRE(schedule.is_due(first, kMiddle));
  schedule.skipped(first, kMiddle);
  CHECK(about(seconds(schedule.next() - first), 2.5 / kCompensation));
}

TEST_CASE("the mean size of what is sent and received decides, a sixteenth by each") {
  RtcpSchedule schedule(10);  // little bandwidth, so that the size matters
  schedule.set_members(2, 2, true);
  schedule.start(kStart, 160, kMiddle);
  const io::TimePoint first = schedule.next();
  CHECK(about(seconds(first - kStart), 2 * 160 / 10.0 / kCompensation));
  schedule.received(320);  // 160 + (320 - 160) / 16 = 170
  REQUIRE(schedule.is_due(first + 60s, kMiddle));
  CHECK(about(seconds(schedule.next() - kStart), 2 * 170 / 10.0 / kCompensation));
  schedule.sent(first, 10, kMiddle);  // 170 - 160 / 16 = 160
  CHECK(about(seconds(schedule.next() - first), 2 * 160 / 10.0 / kCompensation));
}

TEST_CASE("over many reports the mean interval is the one that was asked for") {
  RtcpSchedule schedule(kBandwidth);
  std::uint64_t state = 1;
  const auto random = [&state] {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::uint32_t>(state >> 32U);
  };
  schedule.set_members(2, 2, true);
  schedule.start(kStart, 120, random());
  constexpr int kReports = 20'000;
  io::TimePoint shortest_from = kStart;
  io::Duration shortest = 100s;
  io::Duration longest = 0s;
  int reports = 0;
  io::TimePoint now = kStart;
  while (reports < kReports) {
    now = schedule.next();
    if (schedule.is_due(now, random())) {
      schedule.sent(now, 120, random());
      if (++reports > 1) {
        shortest = std::min(shortest, now - shortest_from);
        longest = std::max(longest, now - shortest_from);
      }
      shortest_from = now;
    }
  }
  const double mean = seconds(now - kStart) / kReports;
  CHECK(mean > 4.9);
  CHECK(mean < 5.1);
  CHECK(seconds(shortest) >= 2.5 / kCompensation - 1e-4);
  CHECK(seconds(longest) <= 7.5 / kCompensation + 1e-4);
}
