// Timestamps and sequence numbers of what comes from Iu UP: losses, pauses, stalls, late PDUs.
#include "rtp/iuup_media_clock.h"

#include <doctest/doctest.h>

#include <chrono>

namespace {

using namespace std::chrono_literals;
using rtp::IuupMediaClock;
using rtp::IuupMediaNumbers;
using rtp::IuupNumbering;

constexpr io::TimePoint kStart{std::chrono::hours(1)};
constexpr std::uint32_t kSsrc = 7;

/// A peer whose PDUs are handed in by hand.
struct Source {
  IuupNumbering numbering = IuupNumbering::by_time;
  IuupMediaClock clock;

  IuupMediaNumbers at(unsigned sequence, unsigned frame, io::Duration arrival, bool silence = false,
                      std::uint32_t ssrc = kSsrc) {
    return clock.next({ssrc, 5000, static_cast<std::uint16_t>(sequence),
                       static_cast<std::uint8_t>(frame % 16), silence},
                      numbering, 160, kStart + arrival);
  }
};

constexpr IuupNumbering kBoth[] = {IuupNumbering::by_pdu, IuupNumbering::by_time};

}  // namespace

TEST_CASE("speech keeps its grid over wraps, losses and jitter of arrival") {
  for (const IuupNumbering numbering : kBoth) {
    Source source{numbering, {}};
    for (unsigned n = 0; n < 70000; ++n) {
      if (n % 50 == 49 || (n % 1000) > 970) {
        continue;  // lost
      }
      const auto numbers = source.at(65000 + n, n, n * 20ms + (n * 7 % 31) * 1ms);
      REQUIRE(numbers.sequence == static_cast<std::uint16_t>(65000 + n));
      REQUIRE(numbers.timestamp == 5000 + n * 160);
    }
  }
}

TEST_CASE("a pause after silence counts in the timestamps, whatever the frame numbers count") {
  for (const bool frames_by_time : {true, false}) {
    for (const IuupNumbering numbering : kBoth) {
      if (frames_by_time && numbering == IuupNumbering::by_pdu) {
        continue;
      }
      CAPTURE(frames_by_time);
      for (const unsigned pause : {5U, 8U, 15U, 16U, 17U, 40U, 400U}) {
        CAPTURE(pause);
        Source source{numbering, {}};
        CHECK(source.at(10, 3, 0ms).timestamp == 5000);
        CHECK(source.at(11, 4, 20ms, true).timestamp == 5160);
        const unsigned frame = frames_by_time ? 4 + pause : 5;
        const auto after = source.at(12, frame, 20ms + pause * 20ms + 4ms, true);
        CHECK(after.sequence == 12);
        // Numbers that count PDUs may seem to tell a time close by.
        const unsigned off = frames_by_time || numbering == IuupNumbering::by_pdu ? 0 : 3;
        CHECK((after.timestamp - 5160) % 160 == 0);
        CHECK(after.timestamp >= 5160 + (pause - off) * 160);
        CHECK(after.timestamp <= 5160 + (pause + off) * 160);
      }
    }
  }
}

TEST_CASE("a stall of the network within speech moves nothing") {
  for (const IuupNumbering numbering : kBoth) {
    Source source{numbering, {}};
    CHECK(source.at(0, 0, 0ms).timestamp == 5000);
    for (unsigned n = 1; n < 30; ++n) {
      CHECK(source.at(n, n, 600ms).timestamp == 5000 + n * 160);
    }
  }
}

TEST_CASE("a stream that stops and goes on keeps to the clock") {
  for (const IuupNumbering numbering : kBoth) {
    Source source{numbering, {}};
    CHECK(source.at(0, 0, 0ms).timestamp == 5000);
    const auto after = source.at(1, 1, 10s);
    CHECK(after.sequence == 1);
    const unsigned steps = (after.timestamp - 5000) / 160;
    CHECK((after.timestamp - 5000) % 160 == 0);
    CHECK(steps >= 492);
    CHECK(steps <= 508);
  }
}

TEST_CASE("late and double PDUs get the numbers of their place, also of before a pause") {
  Source source;
  CHECK(source.at(10, 0, 0ms).timestamp == 5000);
  CHECK(source.at(12, 2, 40ms, true).timestamp == 5320);
  CHECK(source.at(11, 1, 45ms).timestamp == 5160);
  CHECK(source.at(12, 2, 47ms, true).timestamp == 5320);
  CHECK(source.at(13, 10, 200ms, true).timestamp == 5000 + 10 * 160);
  CHECK(source.at(12, 2, 205ms, true).timestamp == 5320);
  CHECK(source.at(13, 10, 206ms, true).timestamp == 5000 + 10 * 160);
}

TEST_CASE("a PDU that comes late out of the end of a pause gets the place that its number tells") {
  Source source;
  CHECK(source.at(10, 0, 0ms, true).timestamp == 5000);
  CHECK(source.at(12, 5, 100ms).timestamp == 5000 + 5 * 160);
  CHECK(source.at(11, 4, 101ms).timestamp == 5000 + 4 * 160);
  CHECK(source.at(10, 0, 102ms).timestamp == 5000);
}

TEST_CASE("the sequence closes up over control PDUs, once each") {
  Source source;
  CHECK(source.at(10, 0, 0ms).sequence == 10);
  source.clock.skip(kSsrc, 11);
  source.clock.skip(kSsrc, 11);
  source.clock.skip(kSsrc, 9);
  source.clock.skip(kSsrc + 1, 12);
  auto numbers = source.at(12, 1, 20ms);
  CHECK(numbers.sequence == 11);
  CHECK(numbers.timestamp == 5160);
  CHECK(source.at(10, 0, 21ms).sequence == 10);
  numbers = source.at(14, 3, 60ms);
  CHECK(numbers.sequence == 13);
  CHECK(numbers.timestamp == 5000 + 3 * 160);
  CHECK(source.at(13, 2, 61ms).sequence == 12);
}

TEST_CASE("another SSRC begins anew, a sequence that jumps far goes on by the clock") {
  Source source;
  CHECK(source.at(10, 0, 0ms).timestamp == 5000);
  CHECK(source.at(30000, 9, 100ms).timestamp == 5000 + 5 * 160);
  CHECK(source.at(30001, 10, 120ms).timestamp == 5000 + 6 * 160);
  CHECK(source.at(4, 3, 140ms).timestamp == 5000 + 7 * 160);
  const auto other = source.at(500, 1, 160ms, false, kSsrc + 1);
  CHECK(other.sequence == 500);
  CHECK(other.timestamp == 5000);
}
