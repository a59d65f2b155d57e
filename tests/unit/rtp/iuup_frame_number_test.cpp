// Frame numbers of sent Iu UP data: by PDU and by time, losses, late frames, pauses, new sources.
#include "rtp/iuup_frame_number.h"

#include <doctest/doctest.h>

namespace {

using namespace std::chrono_literals;
using rtp::IuupFrameNumber;
using rtp::IuupNumbering;
using rtp::IuupPosition;

constexpr io::TimePoint kStart{std::chrono::hours(1)};

IuupPosition rtp_at(unsigned sequence, unsigned timestamp) {
  return {IuupPosition::Kind::rtp, static_cast<std::uint16_t>(sequence), timestamp, 160};
}

IuupPosition iuup_at(unsigned number) {
  return {IuupPosition::Kind::iuup, static_cast<std::uint16_t>(number), 0, 160};
}

constexpr IuupPosition kUnknown{};

}  // namespace

TEST_CASE("numbers by PDU follow the source's sequence over its wrap") {
  IuupFrameNumber numbers;
  for (unsigned packet = 0; packet < 1000; ++packet) {
    const unsigned sequence = 65500 + packet;
    const auto number =
        numbers.next(rtp_at(sequence, packet * 160 * 7), IuupNumbering::by_pdu, kStart);
    CHECK(number == sequence % 16);
  }
}

TEST_CASE("numbers by time follow the source's timestamp over its wrap and over pauses") {
  IuupFrameNumber numbers;
  const unsigned begin = 0xffffff00;
  const auto first = numbers.next(rtp_at(7, begin), IuupNumbering::by_time, kStart);
  CHECK(first == 7);
  CHECK(numbers.next(rtp_at(8, begin + 160), IuupNumbering::by_time, kStart) == 8);
  // A SID frame, and the next 8 intervals later.
  CHECK(numbers.next(rtp_at(9, begin + 9 * 160), IuupNumbering::by_time, kStart) == 0);
  // A source off its grid by less than half an interval.
  CHECK(numbers.next(rtp_at(10, begin + 10 * 160 + 70), IuupNumbering::by_time, kStart) == 1);
  IuupPosition wideband{IuupPosition::Kind::rtp, 1, 0, 320};
  IuupFrameNumber other;
  CHECK(other.next(wideband, IuupNumbering::by_time, kStart) == 1);
  wideband.timestamp = 640;
  CHECK(other.next(wideband, IuupNumbering::by_time, kStart) == 3);
}

TEST_CASE("a timestamp that stands still does not stop the numbers") {
  IuupFrameNumber numbers;
  for (unsigned packet = 0; packet < 40; ++packet) {
    CHECK(numbers.next(rtp_at(packet, 5), IuupNumbering::by_time, kStart) == packet % 16);
  }
}

TEST_CASE("a lost packet leaves its number out, a late one gets it, a duplicate has the same") {
  for (const auto numbering : {IuupNumbering::by_pdu, IuupNumbering::by_time}) {
    IuupFrameNumber numbers;
    const auto at = [&](unsigned place) {
      return numbers.next(rtp_at(100 + place, 1000 + place * 160), numbering, kStart);
    };
    CHECK(at(0) == 4);
    CHECK(at(2) == 6);
    CHECK(at(1) == 5);
    CHECK(at(2) == 6);
    CHECK(at(3) == 7);
    CHECK(at(15) == 3);
    CHECK(at(8) == 12);
  }
}

TEST_CASE("another source goes on at the next number, announced or not") {
  for (const auto numbering : {IuupNumbering::by_pdu, IuupNumbering::by_time}) {
    IuupFrameNumber numbers;
    CHECK(numbers.next(rtp_at(100, 0), numbering, kStart) == 4);
    numbers.source_changed();
    CHECK(numbers.next(rtp_at(107, 800), numbering, kStart) == 5);
    CHECK(numbers.next(rtp_at(108, 960), numbering, kStart) == 6);
    // Far away, either way.
    CHECK(numbers.next(rtp_at(30000, 0x40000000), numbering, kStart) == 7);
    CHECK(numbers.next(rtp_at(108, 960), numbering, kStart) == 8);
    CHECK(numbers.next(rtp_at(109, 1120), numbering, kStart) == 9);
    // Another kind.
    CHECK(numbers.next(iuup_at(3), numbering, kStart) == 10);
    CHECK(numbers.next(kUnknown, numbering, kStart) == 11);
    CHECK(numbers.next(rtp_at(1, 1), numbering, kStart) == 12);
  }
}

TEST_CASE("numbers of an Iu UP source are kept, with its losses and late frames") {
  for (const auto numbering : {IuupNumbering::by_pdu, IuupNumbering::by_time}) {
    IuupFrameNumber numbers;
    for (const unsigned number : {3U, 4U, 6U, 5U, 7U, 15U, 0U, 1U, 12U, 13U}) {
      CHECK(numbers.next(iuup_at(number), numbering, kStart) == number);
    }
  }
}

TEST_CASE("without a position the numbers count PDUs, or pauses by time, and no jitter") {
  IuupFrameNumber by_pdu;
  IuupFrameNumber by_time;
  io::TimePoint now = kStart;
  for (unsigned frame = 0; frame < 40; ++frame) {
    CHECK(by_pdu.next(kUnknown, IuupNumbering::by_pdu, now) == frame % 16);
    CHECK(by_time.next(kUnknown, IuupNumbering::by_time, now) == frame % 16);
    now += frame % 2 == 0 ? 49ms : 1ms;
  }
  now = kStart + 10s;
  CHECK(by_time.next(kUnknown, IuupNumbering::by_pdu, now) == 8);
  CHECK(by_time.next(kUnknown, IuupNumbering::by_time, now + 160ms) == 0);
  CHECK(by_time.next(kUnknown, IuupNumbering::by_time, now + 220ms) == 3);
  CHECK(by_time.next(kUnknown, IuupNumbering::by_time, now + 1h) == 4);
}
