// One output stream out of sources that change SSRC, stray from the grid, lose, swap and repeat
// packets.
#include "rtp/timeline.h"

#include "tests/unit/rtp/test_packets.h"

#include <doctest/doctest.h>

#include <chrono>
#include <set>

namespace {

using namespace std::chrono_literals;
using rtp::Timeline;
using rtp::TimelineOptions;
using rtp::TimelinePatch;
using rtp::TimelineTiming;

constexpr TimelineTiming kPcma{8000, 160};
constexpr TimelineOptions kSsrc{true, false};
constexpr TimelineOptions kAlign{false, true};
constexpr TimelineOptions kBoth{true, true};
constexpr TimelineOptions kNone{false, false};

io::TimePoint at(io::Duration since_start) {
  return io::TimePoint{5000s + since_start};
}

rtp::RtpHeader header_of(std::uint32_t ssrc, int sequence, std::uint32_t timestamp,
                         bool marker = false) {
  rtp::RtpHeader header;
  header.ssrc = ssrc;
  header.sequence = static_cast<std::uint16_t>(sequence & 0xffff);
  header.timestamp = timestamp;
  header.marker = marker;
  header.payload_size = 160;
  return header;
}

void check_patch(const TimelinePatch& patch, std::uint32_t ssrc, int sequence,
                 std::uint32_t timestamp) {
  CHECK(patch.ssrc == ssrc);
  CHECK(patch.sequence == sequence);
  CHECK(patch.timestamp == timestamp);
}

}  // namespace

TEST_CASE("an SSRC change continues the timeline, then the grid is kept: the known vector") {
  Timeline timeline;
  check_patch(timeline.next(header_of(0x11, 2, 320), at(0ms), kBoth, kPcma), 0x11, 2, 320);
  CHECK_FALSE(timeline.mapping().active);
  check_patch(timeline.next(header_of(0x22, 500, 77777), at(120ms), kBoth, kPcma), 0x11, 3, 1280);
  check_patch(timeline.next(header_of(0x22, 501, 77937), at(140ms), kBoth, kPcma), 0x11, 4, 1440);
  check_patch(timeline.next(header_of(0x22, 502, 78000), at(160ms), kBoth, kPcma), 0x11, 5, 1600);
  CHECK(timeline.timestamp_errors() == 0);
}

TEST_CASE("a new SSRC whose first packet has the marker bit continues the timeline too") {
  Timeline timeline;
  static_cast<void>(timeline.next(header_of(0x11, 2, 320), at(0ms), kSsrc, kPcma));
  check_patch(timeline.next(header_of(0x22, 500, 77777, true), at(120ms), kSsrc, kPcma), 0x11, 3,
              1280);
}

TEST_CASE("elapsed time counts in whole packets, rounded, and at least one") {
  for (const auto& [elapsed, packets] : {std::pair{0ms, 1U},
                                         {5ms, 1U},
                                         {29ms, 1U},
                                         {30ms, 2U},
                                         {49ms, 2U},
                                         {50ms, 3U},
                                         {3'600'000ms, 180'000U}}) {
    Timeline timeline;
    static_cast<void>(timeline.next(header_of(1, 10, 1000), at(0ms), kSsrc, kPcma));
    check_patch(timeline.next(header_of(2, 99, 5), at(elapsed), kSsrc, kPcma), 1, 11,
                1000 + packets * 160);
  }
}

TEST_CASE("timing that is unknown falls back to 8000 Hz and 20 ms") {
  Timeline timeline;
  static_cast<void>(timeline.next(header_of(1, 10, 1000), at(0ms), kSsrc, {0, 0}));
  check_patch(timeline.next(header_of(2, 99, 5), at(40ms), kSsrc, {0, 0}), 1, 11, 1320);
  check_patch(timeline.next(header_of(3, 1, 5), at(80ms), kSsrc, {16'000, 0}), 1, 12, 1960);
}

TEST_CASE("without options everything passes unchanged, SSRC changes included") {
  Timeline timeline;
  test::Random random(2);
  for (int round = 0; round < 1000; ++round) {
    const auto header = header_of(random.below(3), static_cast<int>(random.below(65536)),
                                  random.below(0xffffffff), random.below(4) == 0);
    check_patch(timeline.next(header, at(1ms * round), kNone, kPcma), header.ssrc, header.sequence,
                header.timestamp);
    CHECK_FALSE(timeline.mapping().active);
  }
}

TEST_CASE("with the timestamp option alone an SSRC change passes and starts its own grid") {
  Timeline timeline;
  check_patch(timeline.next(header_of(1, 10, 1000), at(0ms), kAlign, kPcma), 1, 10, 1000);
  check_patch(timeline.next(header_of(1, 11, 1161), at(20ms), kAlign, kPcma), 1, 11, 1320);
  check_patch(timeline.next(header_of(2, 70, 33), at(40ms), kAlign, kPcma), 2, 70, 33);
  check_patch(timeline.next(header_of(2, 71, 193), at(60ms), kAlign, kPcma), 2, 71, 193);
}

TEST_CASE("timestamps off the grid are rounded up, forward and across the wrap") {
  for (std::uint32_t over = 1; over < 160; ++over) {
    Timeline timeline;
    const std::uint32_t first = 0xffffffff - 100;
    static_cast<void>(timeline.next(header_of(1, 10, first), at(0ms), kAlign, kPcma));
    check_patch(timeline.next(header_of(1, 11, first + over), at(20ms), kAlign, kPcma), 1, 11,
                first + 160);
    check_patch(timeline.next(header_of(1, 12, first + over + 160), at(40ms), kAlign, kPcma), 1, 12,
                first + 320);
    CHECK(timeline.mapping().active);
    CHECK(timeline.mapping().timestamp_offset == 160 - over);
  }
}

TEST_CASE("a marker bit excuses a packet from the grid, and an event keeps its timestamp") {
  Timeline timeline;
  static_cast<void>(timeline.next(header_of(1, 10, 1000), at(0ms), kAlign, kPcma));
  check_patch(timeline.next(header_of(1, 11, 1077, true), at(20ms), kAlign, kPcma), 1, 11, 1077);
  check_patch(timeline.next(header_of(1, 12, 1077), at(40ms), kAlign, kPcma), 1, 12, 1077);
  check_patch(timeline.next(header_of(1, 13, 1237), at(60ms), kAlign, kPcma), 1, 13, 1237);
}

TEST_CASE("a late packet from before a grid step keeps the timestamp it would have had") {
  Timeline timeline;
  static_cast<void>(timeline.next(header_of(1, 10, 1000), at(0ms), kAlign, kPcma));
  check_patch(timeline.next(header_of(1, 12, 1330), at(40ms), kAlign, kPcma), 1, 12, 1480);
  check_patch(timeline.next(header_of(1, 11, 1160), at(41ms), kAlign, kPcma), 1, 11, 1160);
  check_patch(timeline.next(header_of(1, 13, 1490), at(60ms), kAlign, kPcma), 1, 13, 1640);
}

TEST_CASE("a late packet of the old SSRC fills its gap under the old mapping") {
  Timeline timeline;
  static_cast<void>(timeline.next(header_of(1, 10, 1000), at(0ms), kSsrc, kPcma));
  static_cast<void>(timeline.next(header_of(1, 12, 1320), at(40ms), kSsrc, kPcma));
  check_patch(timeline.next(header_of(2, 700, 9), at(60ms), kSsrc, kPcma), 1, 13, 1480);
  check_patch(timeline.next(header_of(1, 11, 1160), at(61ms), kSsrc, kPcma), 1, 11, 1160);
  check_patch(timeline.next(header_of(2, 701, 169), at(80ms), kSsrc, kPcma), 1, 14, 1640);
  CHECK(timeline.mapping().source_ssrc == 2);
  CHECK(timeline.mapping().packets_before == 3);
}

TEST_CASE("a source that switches back goes on counting, and no number is used twice") {
  Timeline timeline;
  test::Random random(11);
  std::set<int> used;
  int next_of[] = {100, 40'000, 65'530};
  std::uint32_t last = 0;
  for (int round = 0; round < 2000; ++round) {
    const std::uint32_t source = random.below(3);
    const int sequence = next_of[source]++;
    const auto header =
        header_of(source, sequence, static_cast<std::uint32_t>(sequence) * 160 + source);
    const auto patch = timeline.next(header, at(20ms * round), kSsrc, kPcma);
    REQUIRE(used.insert(patch.sequence).second);
    if (round > 0) {
      REQUIRE(static_cast<std::int32_t>(patch.timestamp - last) > 0);
    }
    last = patch.timestamp;
  }
  CHECK(used.size() == 2000);
}

TEST_CASE("loss, swaps and repeats inside an SSRC stay what they are after a change") {
  Timeline timeline;
  static_cast<void>(timeline.next(header_of(1, 65'533, 0), at(0ms), kSsrc, kPcma));
  const int first_output = 65'534;
  for (const int step : {0, 1, 4, 3, 3, 5, 70'000 % 65'536}) {
    const auto patch = timeline.next(
        header_of(2, 20 + step, static_cast<std::uint32_t>(step) * 160), at(20ms), kSsrc, kPcma);
    CHECK(patch.sequence == ((first_output + step) & 0xffff));
    CHECK(patch.timestamp == 160U + static_cast<std::uint32_t>(step) * 160U);
  }
}

TEST_CASE("a mapping does not come back when its numbers wrap round to the change") {
  Timeline timeline;
  static_cast<void>(timeline.next(header_of(1, 10, 0), at(0ms), kBoth, kPcma));
  static_cast<void>(timeline.next(header_of(1, 11, 170), at(20ms), kBoth, kPcma));
  std::uint32_t timestamp = 170;
  for (int sequence = 12; sequence < 140'000; ++sequence) {
    timestamp += 160;
    const auto patch = timeline.next(header_of(1, sequence, timestamp), at(20ms), kBoth, kPcma);
    REQUIRE(patch.timestamp == timestamp + 150);
  }
}

TEST_CASE("applying a patch changes packet and header alike and nothing behind the header") {
  Timeline timeline;
  auto packet = test::rtp_packet(header_of(1, 10, 1000), test::from_hex("aabb"));
  auto header = *rtp::parse_rtp(packet);
  timeline.apply(packet, header, at(0ms), kSsrc, kPcma);
  CHECK(packet == test::rtp_packet(header_of(1, 10, 1000), test::from_hex("aabb")));
  packet = test::rtp_packet(header_of(2, 500, 7, true), test::from_hex("ccdd"));
  header = *rtp::parse_rtp(packet);
  timeline.apply(packet, header, at(20ms), kSsrc, kPcma);
  CHECK(packet == test::rtp_packet(header_of(1, 11, 1160, true), test::from_hex("ccdd")));
  CHECK(header.ssrc == 1);
  CHECK(header.sequence == 11);
  CHECK(header.timestamp == 1160);
}

TEST_CASE("the mapping tells RTCP how source and output hang together") {
  Timeline timeline;
  CHECK_FALSE(timeline.mapping().active);
  for (int sequence = 65'534; sequence < 65'540; ++sequence) {
    static_cast<void>(timeline.next(header_of(1, sequence, 160), at(0ms), kSsrc, kPcma));
  }
  CHECK_FALSE(timeline.mapping().active);
  CHECK(timeline.mapping().source_highest_sequence == 65'539);
  static_cast<void>(timeline.next(header_of(2, 100, 1000), at(20ms), kSsrc, kPcma));
  const auto mapping = timeline.mapping();
  CHECK(mapping.active);
  CHECK(mapping.source_ssrc == 2);
  CHECK(mapping.output_ssrc == 1);
  CHECK(mapping.timestamp_offset == 320U - 1000U);
  CHECK(mapping.sequence_offset == static_cast<std::uint16_t>(4 - 100));
  CHECK(mapping.source_highest_sequence == 100);
  CHECK(mapping.packets_before == 6);
  CHECK(mapping.octets_before == 6 * 160);
}

TEST_CASE("output timestamps off the grid are counted where they are not mended") {
  Timeline plain;
  Timeline mended;
  for (int sequence = 0; sequence < 10; ++sequence) {
    const auto header = header_of(1, sequence, static_cast<std::uint32_t>(sequence) * 161);
    static_cast<void>(plain.next(header, at(20ms * sequence), kNone, kPcma));
    static_cast<void>(mended.next(header, at(20ms * sequence), kAlign, kPcma));
  }
  CHECK(plain.timestamp_errors() == 9);
  CHECK(mended.timestamp_errors() == 0);
}

TEST_CASE("packets mapped elsewhere leave the same timeline behind") {
  Timeline whole;
  Timeline parts;
  const auto feed = [](Timeline& timeline, int first, int last) {
    for (int sequence = first; sequence <= last; ++sequence) {
      static_cast<void>(
          timeline.next(header_of(2, sequence, 160U * static_cast<unsigned>(sequence)),
                        at(20ms * sequence), kSsrc, kPcma));
    }
  };
  CHECK_FALSE(parts.steady_mapping(1, 9, 1440).has_value());
  for (Timeline* one : {&whole, &parts}) {
    static_cast<void>(one->next(header_of(1, 9, 1440), at(0ms), kSsrc, kPcma));
    feed(*one, 100, 110);
  }
  CHECK_FALSE(parts.steady_mapping(1, 110, 17'600).has_value());  // not the source any more
  CHECK_FALSE(parts.steady_mapping(2, 109, 17'440).has_value());  // not its newest packet
  const auto mapping = parts.steady_mapping(2, 110, 17'600);
  REQUIRE(mapping.has_value());
  CHECK(mapping->output_ssrc == 1);
  CHECK(mapping->sequence_offset == static_cast<std::uint16_t>(10 - 100));
  feed(whole, 111, 400);
  rtp::StreamProgress progress;
  progress.packets = 290;
  progress.octets = 290 * 160;
  progress.steps = 290;
  progress.timestamp = 160 * 400;
  progress.arrival = at(20ms * 400);
  parts.advance(progress);
  CHECK(parts.mapping().source_highest_sequence == whole.mapping().source_highest_sequence);
  const auto expected = whole.next(header_of(3, 7, 7), at(20ms * 401), kSsrc, kPcma);
  const auto patch = parts.next(header_of(3, 7, 7), at(20ms * 401), kSsrc, kPcma);
  check_patch(patch, expected.ssrc, expected.sequence, expected.timestamp);
  CHECK(parts.mapping().packets_before == whole.mapping().packets_before);
  CHECK(parts.mapping().octets_before == whole.mapping().octets_before);
}
