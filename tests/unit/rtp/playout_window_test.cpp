// Where packets belong in a small jitter buffer.
#include "rtp/playout_window.h"

#include <doctest/doctest.h>

namespace {

using rtp::Placement;
using rtp::PlayoutVerdict;
using rtp::PlayoutWindow;

constexpr std::uint32_t kTicks = 160;
constexpr std::uint32_t kSsrc = 7;

PlayoutWindow make_window() {
  return PlayoutWindow({2, 5}, kTicks);
}

/// A packet of the stream: number and timestamp grow together.
Placement place(PlayoutWindow& window, int index, bool empty = false) {
  return window.place(kSsrc, static_cast<std::uint16_t>(65530 + index),
                      0xffffff00U + static_cast<std::uint32_t>(index) * kTicks, empty);
}

void check(const Placement& placement, PlayoutVerdict verdict, std::size_t index,
           std::size_t drop = 0) {
  CHECK(placement.verdict == verdict);
  CHECK(placement.offset_ticks == index * kTicks);
  CHECK(placement.drop == drop);
}

}  // namespace

TEST_CASE("the first packet waits the target delay, the others keep their distance from it") {
  PlayoutWindow window = make_window();
  check(place(window, 0, true), PlayoutVerdict::restart, 2);
  check(place(window, 1), PlayoutVerdict::place, 3);
  check(place(window, 2), PlayoutVerdict::place, 4);
  window.advance();
  window.advance();
  check(place(window, 4), PlayoutVerdict::place, 4);
  check(place(window, 3), PlayoutVerdict::place, 3);
}

TEST_CASE("numbers and timestamps may wrap") {
  PlayoutWindow window = make_window();
  static_cast<void>(place(window, 0, true));
  for (int index = 1; index < 200; ++index) {
    window.advance();
    check(place(window, index), PlayoutVerdict::place, 2);
  }
}

TEST_CASE("a packet whose turn is over is late, and stays so when the buffer is empty") {
  PlayoutWindow window = make_window();
  static_cast<void>(place(window, 1, true));
  window.advance();
  window.advance();
  window.advance();
  CHECK(place(window, 0).verdict == PlayoutVerdict::late);
  CHECK(place(window, 0, true).verdict == PlayoutVerdict::late);
  CHECK(place(window, 1, true).verdict == PlayoutVerdict::late);
}

TEST_CASE("a burst beyond the last place gives up the oldest ones, down to the target delay") {
  PlayoutWindow window = make_window();
  static_cast<void>(place(window, 0, true));
  static_cast<void>(place(window, 1));
  static_cast<void>(place(window, 2));
  check(place(window, 3), PlayoutVerdict::advance, 2, 3);
  check(place(window, 4), PlayoutVerdict::place, 3);
  CHECK(place(window, 0).verdict == PlayoutVerdict::late);
}

TEST_CASE("a packet in time is not delayed because nothing else is there") {
  PlayoutWindow window = make_window();
  static_cast<void>(place(window, 0, true));
  for (int tick = 0; tick < 4; ++tick) {
    window.advance();
  }
  check(place(window, 2, true), PlayoutVerdict::place, 0);
}

TEST_CASE("when nothing else is there a packet that is too late waits the target delay again") {
  PlayoutWindow window = make_window();
  static_cast<void>(place(window, 0, true));
  for (int tick = 0; tick < 6; ++tick) {
    window.advance();
  }
  check(place(window, 2, true), PlayoutVerdict::restart, 2);
  window.advance();
  check(place(window, 3), PlayoutVerdict::place, 2);
}

TEST_CASE("another SSRC and a jump of the timestamps begin anew, either way") {
  PlayoutWindow window = make_window();
  static_cast<void>(place(window, 0, true));
  CHECK(window.place(kSsrc + 1, 5, 99, false).verdict == PlayoutVerdict::restart);
  CHECK(window.place(kSsrc + 1, 6, 99 + 160, false).verdict == PlayoutVerdict::place);
  CHECK(window.place(kSsrc + 1, 7, 1'000'000, false).verdict == PlayoutVerdict::restart);
  CHECK(window.place(kSsrc + 1, 8, 500'000, false).verdict == PlayoutVerdict::restart);
  CHECK(window.place(kSsrc + 1, 6, 99 + 160, false).verdict == PlayoutVerdict::late);
  CHECK(window.place(kSsrc + 1, 40'000, 77, false).verdict == PlayoutVerdict::restart);
}

TEST_CASE("options outside of their limits are brought inside") {
  CHECK(PlayoutWindow({0, 0}, kTicks).places() == 2);
  CHECK(PlayoutWindow({200, 200}, 0).places() == rtp::kPlayoutFramesMax);
  PlayoutWindow window({200, 4}, kTicks);
  check(place(window, 0, true), PlayoutVerdict::restart, 3);
}

TEST_CASE("no packet gets a place that there is not") {
  PlayoutWindow window = make_window();
  std::uint32_t state = 1;
  for (int round = 0; round < 100'000; ++round) {
    state = state * 1664525U + 1013904223U;
    const std::uint32_t near = (state >> 8U) % 2000;
    const auto placement =
        window.place(state >> 28U == 0 ? 1 : 2, static_cast<std::uint16_t>(state >> 16U),
                     (state >> 30U) == 0 ? state : near * 16, state % 3 == 0);
    CHECK(placement.offset_ticks < 5 * kTicks);
    if (state % 5 == 0) {
      window.advance();
    }
  }
}
