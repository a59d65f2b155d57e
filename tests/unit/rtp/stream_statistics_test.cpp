// Statistics of RFC 3550 appendix A over streams that wrap, lose, swap, repeat, jump and change
// their SSRC.
#include "rtp/stream_statistics.h"

#include "tests/unit/rtp/test_packets.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <initializer_list>
#include <set>
#include <vector>

namespace {

using namespace std::chrono_literals;
using rtp::ConnectionStatistics;
using rtp::StreamStatistics;

constexpr std::uint32_t kRate = 8000;
constexpr std::uint32_t kTicks = 160;
constexpr std::uint32_t kSsrc = 0xdeadbeef;

io::TimePoint at(io::Duration since_start) {
  return io::TimePoint{1000s + since_start};
}

/// A stream of 20 ms packets, each with the timestamp and arrival that its number asks for.
StreamStatistics stream_of(std::initializer_list<int> sequences) {
  StreamStatistics stream;
  stream.start(kSsrc, kRate);
  for (const int sequence : sequences) {
    stream.on_packet(static_cast<std::uint16_t>(sequence & 0xffff),
                     static_cast<std::uint32_t>(sequence) * kTicks, 33, at(20ms * sequence));
  }
  return stream;
}

rtp::RtpHeader header_of(std::uint32_t ssrc, int sequence, std::uint32_t timestamp) {
  rtp::RtpHeader header;
  header.ssrc = ssrc;
  header.sequence = static_cast<std::uint16_t>(sequence & 0xffff);
  header.timestamp = timestamp;
  header.payload_size = 33;
  return header;
}

}  // namespace

TEST_CASE("sequence and timestamp wrap without loss and without jitter") {
  StreamStatistics stream;
  stream.start(kSsrc, kRate);
  for (int packet = 0; packet < 200'000; ++packet) {
    stream.on_packet(static_cast<std::uint16_t>((65534 + packet) & 0xffff),
                     0xffffff00U + static_cast<std::uint32_t>(packet) * kTicks, 33,
                     at(20ms * packet));
  }
  CHECK(stream.totals().expected == 200'000);
  CHECK(stream.totals().lost() == 0);
  CHECK(stream.totals().reordered == 0);
  CHECK(stream.totals().restarts == 0);
  CHECK(stream.highest_sequence() == 65534 + 199'999);
  CHECK(stream.jitter() == 0);
}

TEST_CASE("two missing, one duplicate and a swapped pair: lost 2, duplicates 1, reordered 1") {
  const auto totals = stream_of({10, 11, 13, 12, 14, 14, 16, 17, 19}).totals();
  CHECK(totals.received == 9);
  CHECK(totals.octets == 9 * 33);
  CHECK(totals.expected == 10);
  CHECK(totals.lost() == 2);
  CHECK(totals.duplicates == 1);
  CHECK(totals.reordered == 1);
}

TEST_CASE("packets older than the first one are neither loss nor gain") {
  const auto totals = stream_of({5, 3, 4, 3, 6}).totals();
  CHECK(totals.received == 5);
  CHECK(totals.lost() == 0);
  CHECK(totals.duplicates == 1);
  CHECK(totals.reordered == 2);
}

TEST_CASE("a swap and a duplicate across the wrap are seen as such") {
  const auto totals = stream_of({65534, 65536, 65535, 65535, 65537}).totals();
  CHECK(totals.expected == 4);
  CHECK(totals.lost() == 0);
  CHECK(totals.reordered == 1);
  CHECK(totals.duplicates == 1);
}

TEST_CASE("a duplicate is seen as far back as a packet may be late") {
  for (int behind = 0; behind < rtp::kMaxMisorder; ++behind) {
    StreamStatistics stream;
    stream.start(kSsrc, kRate);
    for (int sequence = 0; sequence < 300; ++sequence) {
      stream.on_packet(static_cast<std::uint16_t>(sequence), 0, 1, at(0s));
    }
    stream.on_packet(static_cast<std::uint16_t>(299 - behind), 0, 1, at(0s));
    CHECK(stream.totals().duplicates == 1);
    CHECK(stream.totals().reordered == 0);
    CHECK(stream.totals().restarts == 0);
  }
}

TEST_CASE("a gap below the dropout limit is loss, from there on a restart without loss") {
  const auto gap = stream_of({0, rtp::kMaxDropout - 1, rtp::kMaxDropout}).totals();
  CHECK(gap.lost() == rtp::kMaxDropout - 2);
  CHECK(gap.restarts == 0);
  const auto jump = stream_of({0, 1, rtp::kMaxDropout + 1, rtp::kMaxDropout + 2}).totals();
  CHECK(jump.lost() == 0);
  CHECK(jump.restarts == 1);
  CHECK(jump.expected == 4);
  const auto back =
      stream_of({500, 501, 500 - rtp::kMaxMisorder, 501 - rtp::kMaxMisorder}).totals();
  CHECK(back.lost() == 0);
  CHECK(back.restarts == 1);
}

TEST_CASE("a single stray number is counted by itself and does not restart the stream") {
  const auto stream = stream_of({10, 11, 20'000, 12, 14, 20'001, 15});
  CHECK(stream.totals().received == 7);
  CHECK(stream.totals().restarts == 0);
  CHECK(stream.totals().lost() == 1);
  CHECK(stream.highest_sequence() == 15);
}

TEST_CASE("loss is exact and never negative for any order, repetition and loss of a stream") {
  test::Random random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<int> order;
    for (int sequence = 65'000; sequence < 66'000; ++sequence) {
      if (random.below(10) != 0 || sequence == 65'000 || sequence == 65'999) {
        order.push_back(sequence);
        if (random.below(20) == 0) {
          order.push_back(sequence);
        }
      }
    }
    // Swaps of neighbours, away from the ends so that the first packet stays first.
    for (std::size_t index = 3; index + 4 < order.size(); ++index) {
      if (random.below(5) == 0) {
        std::swap(order[index], order[index + 1]);
      }
    }
    StreamStatistics stream;
    stream.start(kSsrc, kRate);
    for (const int sequence : order) {
      stream.on_packet(static_cast<std::uint16_t>(sequence & 0xffff), 0, 0, at(0s));
    }
    const std::set<int> unique(order.begin(), order.end());
    REQUIRE(stream.totals().expected == 1000);
    REQUIRE(stream.totals().lost() == 1000 - unique.size());
    REQUIRE(stream.totals().duplicates == order.size() - unique.size());
  }
}

TEST_CASE("jitter follows RFC 3550 A.8 in the source's clock rate") {
  for (const std::uint32_t rate : {8000U, 16'000U, 48'000U, 90'000U}) {
    StreamStatistics stream;
    stream.start(kSsrc, rate);
    test::Random random(3);
    std::uint32_t expected = 0;
    std::uint32_t last_transit = 0;
    for (std::uint32_t packet = 0; packet < 500; ++packet) {
      const io::TimePoint arrival = at(20ms * packet + 1us * random.below(15'000));
      const std::uint32_t timestamp = packet * (rate / 50);
      const std::uint32_t transit = rtp::to_rtp_ticks(arrival, rate) - timestamp;
      if (packet > 0) {
        const std::uint32_t change =
            transit > last_transit ? transit - last_transit : last_transit - transit;
        expected += change - ((expected + 8) >> 4U);
      }
      last_transit = transit;
      stream.on_packet(static_cast<std::uint16_t>(packet), timestamp, 33, arrival);
    }
    CHECK(stream.jitter() == expected >> 4U);
    CHECK(stream.jitter() > rate / 1000);
    CHECK(stream.jitter() < rate / 50);
  }
}

TEST_CASE("a step of the source's timestamps is no jitter") {
  StreamStatistics stream;
  stream.start(kSsrc, kRate);
  for (std::uint32_t packet = 0; packet < 100; ++packet) {
    const std::uint32_t base = packet < 50 ? 0 : 0x70000000;
    stream.on_packet(static_cast<std::uint16_t>(packet), base + packet * kTicks, 33,
                     at(20ms * packet));
  }
  CHECK(stream.jitter() == 0);
}

TEST_CASE("ticks are exact to the nanosecond, far from the start of the clock and around zero") {
  CHECK(rtp::to_rtp_ticks(io::TimePoint{1s}, 8000) == 8000);
  CHECK(rtp::to_rtp_ticks(io::TimePoint{124'999ns}, 8000) == 0);
  CHECK(rtp::to_rtp_ticks(io::TimePoint{125'000ns}, 8000) == 1);
  CHECK(rtp::to_rtp_ticks(io::TimePoint{-1ns}, 8000) == 0xffffffff);
  const io::TimePoint years{std::chrono::hours{24 * 3650} + 20ms};
  CHECK(rtp::to_rtp_ticks(years, 48'000) ==
        static_cast<std::uint32_t>((3650ULL * 86'400 * 48'000 + 960) & 0xffffffffU));
}

TEST_CASE("a report block tells of the time since the last one and of all time") {
  StreamStatistics stream;
  stream.start(kSsrc, kRate);
  for (const int sequence : {0, 1, 2, 4, 6, 7}) {
    stream.on_packet(static_cast<std::uint16_t>(sequence), 0, 1, at(0s));
  }
  auto block = stream.make_report_block(at(1s));
  CHECK(block.ssrc == kSsrc);
  CHECK(block.fraction_lost == 2 * 256 / 8);
  CHECK(block.cumulative_lost == 2);
  CHECK(block.highest_sequence == 7);
  CHECK(block.last_sender_report == 0);
  CHECK(block.delay_since_last_report == 0);
  for (const int sequence : {8, 9, 9, 9, 9}) {
    stream.on_packet(static_cast<std::uint16_t>(sequence), 0, 1, at(0s));
  }
  stream.on_sender_report(0x11112222'33334444, at(2s));
  block = stream.make_report_block(at(3500ms));
  CHECK(block.fraction_lost == 0);
  CHECK(block.cumulative_lost == -1);  // as RFC 3550 A.3 counts, duplicates are received
  CHECK(stream.totals().lost() == 2);
  CHECK(block.last_sender_report == 0x22223333);
  CHECK(block.delay_since_last_report == 65536 * 3 / 2);
  block = stream.make_report_block(at(4s));
  CHECK(block.fraction_lost == 0);
}

TEST_CASE("everything lost but one packet is a fraction of 255, not of 0") {
  StreamStatistics stream;
  stream.start(kSsrc, kRate);
  stream.on_packet(0, 0, 1, at(0s));
  static_cast<void>(stream.make_report_block(at(0s)));
  stream.on_packet(2999, 0, 1, at(0s));
  CHECK(stream.make_report_block(at(1s)).fraction_lost == 255);
}

TEST_CASE("a stream without packets reports nothing") {
  StreamStatistics stream;
  stream.start(kSsrc, 0);
  CHECK_FALSE(stream.started());
  CHECK(stream.totals().expected == 0);
  const auto block = stream.make_report_block(at(0s));
  CHECK(block.cumulative_lost == 0);
  CHECK(block.fraction_lost == 0);
}

TEST_CASE("another clock rate starts jitter over and leaves the counts") {
  StreamStatistics stream = stream_of({0, 1, 2});
  stream.on_packet(3, 3 * kTicks, 33, at(75ms));
  CHECK(stream.jitter() > 0);
  stream.set_clock_rate(16'000);
  CHECK(stream.jitter() == 0);
  CHECK(stream.totals().received == 4);
}

TEST_CASE("a connection sums over its SSRCs without loss where they change") {
  ConnectionStatistics statistics(kRate);
  CHECK_FALSE(statistics.started());
  int time = 0;
  for (std::uint32_t ssrc = 1; ssrc <= 5; ++ssrc) {
    const int first = static_cast<int>(ssrc) * 9000;
    for (int sequence = first; sequence < first + 10; ++sequence) {
      if (sequence == first + 4) {
        continue;
      }
      const auto timestamp = static_cast<std::uint32_t>(sequence) * kTicks;
      statistics.on_packet(header_of(ssrc, sequence, timestamp), at(20ms * time++), kTicks);
    }
  }
  const auto totals = statistics.totals();
  CHECK(totals.received == 45);
  CHECK(totals.octets == 45 * 33);
  CHECK(totals.expected == 50);
  CHECK(totals.lost() == 5);
  CHECK(totals.restarts == 0);
  CHECK(statistics.ssrc_changes() == 4);
  CHECK(statistics.current().ssrc() == 5);
}

TEST_CASE("a late packet of the old SSRC, and two SSRCs that alternate, are counted right") {
  ConnectionStatistics statistics(kRate);
  for (int sequence = 0; sequence < 100; ++sequence) {
    const auto timestamp = static_cast<std::uint32_t>(sequence) * kTicks;
    statistics.on_packet(header_of(1, sequence, timestamp), at(20ms * sequence), kTicks);
    if (sequence != 50) {
      statistics.on_packet(header_of(2, sequence + 7000, timestamp), at(20ms * sequence), kTicks);
    }
  }
  const auto totals = statistics.totals();
  CHECK(totals.received == 199);
  CHECK(totals.expected == 200);
  CHECK(totals.lost() == 1);
  CHECK(statistics.jitter() == 0);
  CHECK(statistics.timestamp_errors() == 0);
}

TEST_CASE("sender reports count for their own SSRC only") {
  ConnectionStatistics statistics(kRate);
  statistics.on_sender_report({7, 0x0001000200030004, 0, 0, 0}, at(0s));
  statistics.on_packet(header_of(7, 0, 0), at(0s), kTicks);
  CHECK(statistics.current().make_report_block(at(1s)).last_sender_report == 0);
  statistics.on_sender_report({8, 0x0001000200030004, 0, 0, 0}, at(1s));
  CHECK(statistics.current().make_report_block(at(1s)).last_sender_report == 0);
  statistics.on_sender_report({7, 0x0001000200030004, 0, 0, 0}, at(1s));
  CHECK(statistics.current().make_report_block(at(2s)).last_sender_report == 0x00020003);
  statistics.on_packet(header_of(9, 0, 0), at(2s), kTicks);
  statistics.on_sender_report({7, 0x0005000600070008, 0, 0, 0}, at(2s));
  CHECK(statistics.current().make_report_block(at(2s)).last_sender_report == 0);
  statistics.on_packet(header_of(7, 1, kTicks), at(2s), kTicks);
  CHECK(statistics.current().make_report_block(at(2s)).last_sender_report == 0x00060007);
}

TEST_CASE("a connection's clock rate holds for SSRCs that come later") {
  ConnectionStatistics statistics(8000);
  statistics.set_clock_rate(16'000);
  for (int sequence = 0; sequence < 50; ++sequence) {
    const auto timestamp = static_cast<std::uint32_t>(sequence) * 320;
    statistics.on_packet(header_of(1, sequence, timestamp), at(20ms * sequence), 320);
  }
  CHECK(statistics.jitter() == 0);
}

TEST_CASE("timestamps off the packet grid are counted, with the exceptions that belong to it") {
  struct Step {
    int sequence;
    std::uint32_t timestamp;
    bool marker;
    std::uint32_t errors;
  };
  rtp::TimestampCheck check;
  for (const Step& step : {
           Step{100, 1000, false, 0},             // the first packet
           Step{101, 1160, false, 0},             // one packet on
           Step{102, 1319, false, 1},             // a tick short
           Step{104, 1639, false, 1},             // two packets on
           Step{104, 1639, false, 1},             // a duplicate
           Step{104, 1640, false, 2},             // the same number with another timestamp
           Step{105, 5555, true, 2},              // the marker bit excuses a jump
           Step{106, 5555, false, 2},             // an event goes on under its timestamp
           Step{105, 5395, false, 2},             // back by one
           Step{110, 5398, false, 2},             // less than a tick per packet
           Step{111, 0xffffffff - 40, false, 3},  // back off the grid
       }) {
    check.on_packet(1, static_cast<std::uint16_t>(step.sequence), step.timestamp, step.marker,
                    kTicks);
    CHECK(check.errors() == step.errors);
  }
  check.on_packet(2, 112, 77, false, kTicks);
  CHECK(check.errors() == 3);
  check.on_packet(2, 113, 78, false, 0);
  CHECK(check.errors() == 3);
  check.on_packet(2, 113, 79, false, 0);
  CHECK(check.errors() == 4);
}

TEST_CASE("a timestamp that wraps stays on the grid") {
  rtp::TimestampCheck check;
  check.on_packet(1, 1, 0xffffffff - 59, false, kTicks);
  check.on_packet(1, 2, 100, false, kTicks);
  CHECK(check.errors() == 0);
}

TEST_CASE("each SSRC of a connection is told of on its own, the newest first, and all in the sum") {
  ConnectionStatistics statistics;
  for (std::uint32_t ssrc = 1; ssrc <= 4; ++ssrc) {
    for (std::uint32_t i = 0; i < ssrc; ++i) {
      // Every second number is missing.
      statistics.on_packet(header_of(ssrc, static_cast<int>(2 * i), 2 * i * kTicks),
                           at(40ms * static_cast<int>(i)), kTicks);
    }
  }
  const rtp::StreamList list = statistics.streams();
  REQUIRE(list.count == 4);
  CHECK(list.older == 0);
  std::uint64_t received = 0;
  std::uint64_t octets = 0;
  std::uint64_t lost = 0;
  for (std::uint32_t i = 0; i < 4; ++i) {
    CHECK(list.streams[i].ssrc == 4 - i);
    CHECK(list.streams[i].received == 4 - i);
    CHECK(list.streams[i].lost == 3 - i);
    received += list.streams[i].received;
    octets += list.streams[i].octets;
    lost += list.streams[i].lost;
  }
  CHECK(statistics.totals().received == received);
  CHECK(statistics.totals().octets == octets);
  CHECK(statistics.totals().lost() == lost);
}

TEST_CASE("an SSRC that comes back is one stream") {
  ConnectionStatistics statistics;
  int sequence = 0;
  for (const std::uint32_t ssrc : {1U, 2U, 1U, 2U, 3U, 1U, 4U, 5U, 2U}) {
    statistics.on_packet(header_of(ssrc, sequence, 0), at(0ms), kTicks);
    ++sequence;
  }
  const rtp::StreamList list = statistics.streams();
  REQUIRE(list.count == 5);
  CHECK(list.streams[0].ssrc == 2);
  CHECK(list.streams[0].received == 3);
  CHECK(list.streams[1].ssrc == 5);
  std::uint64_t received = 0;
  for (std::size_t i = 0; i < list.count; ++i) {
    received += list.streams[i].received;
    CHECK((list.streams[i].ssrc != 1 || list.streams[i].received == 3));
  }
  CHECK(received == 9);
}

TEST_CASE("the list of SSRCs is bounded: of many the newest are told and the others counted") {
  ConnectionStatistics statistics;
  constexpr std::uint32_t kMany = 1000;
  for (std::uint32_t ssrc = 1; ssrc <= kMany; ++ssrc) {
    statistics.on_packet(header_of(ssrc, 7, 0), at(0ms), kTicks);
  }
  const rtp::StreamList list = statistics.streams();
  REQUIRE(list.count == rtp::kFinishedStreamsMax + 2);
  CHECK(list.older == kMany - list.count);
  for (std::uint32_t i = 0; i < list.count; ++i) {
    CHECK(list.streams[i].ssrc == kMany - i);
  }
  CHECK(statistics.totals().received == kMany);
}

TEST_CASE("packets counted elsewhere leave the same statistics behind") {
  ConnectionStatistics whole;
  ConnectionStatistics parts;
  const auto packet = [](int sequence) {
    // Some are missing, some are off the grid, the arrival jitters.
    const auto timestamp =
        static_cast<std::uint32_t>(sequence) * kTicks + (sequence % 10 == 0 ? 1U : 0U);
    return header_of(kSsrc, sequence, timestamp);
  };
  const auto arrival = [](int sequence) { return at(20ms * sequence + 1ms * (sequence % 3)); };
  const auto feed = [&](ConnectionStatistics& statistics, int first, int last) {
    for (int sequence = first; sequence <= last; ++sequence) {
      if (sequence % 7 != 0) {
        statistics.on_packet(packet(sequence), arrival(sequence), kTicks);
      }
    }
  };
  CHECK_FALSE(parts.progress().has_value());
  feed(whole, 65'500, 65'550);
  feed(parts, 65'500, 65'550);
  const auto before = parts.progress();
  REQUIRE(before.has_value());
  const auto received = whole.totals().received;
  const auto octets = whole.totals().octets;
  const auto errors = whole.timestamp_errors();
  feed(whole, 65'551, 65'700);
  rtp::StreamProgress progress = whole.progress().value();
  progress.packets = whole.totals().received - received;
  progress.octets = whole.totals().octets - octets;
  progress.steps = progress.highest - before->highest;
  progress.timestamp_errors = whole.timestamp_errors() - errors;
  parts.advance(progress);
  for (ConnectionStatistics* one : {&whole, &parts}) {
    one->on_packet(packet(65'690), arrival(65'700), kTicks);  // twice
    one->on_packet(packet(65'688), arrival(65'700), kTicks);  // late
    CHECK_FALSE(one->progress().has_value());
    feed(*one, 65'701, 65'710);
  }
  CHECK(parts.totals().received == whole.totals().received);
  CHECK(parts.totals().octets == whole.totals().octets);
  CHECK(parts.totals().lost() == whole.totals().lost());
  CHECK(parts.totals().duplicates == whole.totals().duplicates);
  CHECK(parts.totals().reordered == whole.totals().reordered);
  CHECK(parts.jitter() == whole.jitter());
  CHECK(parts.timestamp_errors() == whole.timestamp_errors());
  CHECK(parts.current().highest_sequence() == whole.current().highest_sequence());
}
