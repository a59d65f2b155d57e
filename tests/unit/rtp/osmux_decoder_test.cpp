// The Osmux playout: what the rebuilt packets say, and when they leave.
#include "rtp/osmux_decoder.h"

#include "tests/unit/rtp/osmux_support.h"
#include "tests/unit/rtp/test_packets.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>
#include <vector>

namespace {

using rtp::OsmuxPlayout;
using test::at;
using test::Bytes;
using test::from_hex;
using test::microseconds;
using test::milliseconds;

/// A packet that left the playout.
struct Played {
  io::TimePoint at;
  rtp::RtpHeader header;
  Bytes payload;
};

struct Bench {
  explicit Bench(io::Duration hold_max = rtp::kOsmuxHoldDefault)
      : playout({.payload_type = 112,
                 .ssrc = 0xabcd,
                 .sequence = 65534,
                 .timestamp = 0xffffff00,
                 .hold_max = hold_max}) {}

  /// Plays all that is due up to `now`, each frame in a pass of its own that runs `lateness` late.
  void run(io::Duration now, io::Duration lateness = {}) {
    while (playout.pending() > 0 && playout.next_due() + lateness <= at(now)) {
      drain(playout.next_due() + lateness);
    }
  }
  /// One pass.
  void drain(io::TimePoint now) {
    Bytes out(rtp::kOsmuxRtpBytesMax);
    while (const std::size_t size = playout.take_due(now, out)) {
      const auto packet = std::span(out).first(size);
      const auto header = rtp::parse_rtp(packet);
      REQUIRE(header.has_value());
      const auto payload = packet.subspan(header->payload_offset);
      played.push_back({now, *header, Bytes(payload.begin(), payload.end())});
    }
  }
  /// A datagram with one chunk, and the pass that it causes.
  void chunk(std::uint8_t sequence, io::Duration now, std::uint8_t frames = 4,
             bool marker = false) {
    datagram({{.marker = marker, .frame_count = frames, .sequence = sequence, .frame_type = 2}},
             now);
  }
  void datagram(const std::vector<rtp::OsmuxHeader>& headers, io::Duration now) {
    run(now);
    Bytes bytes;
    for (const auto& header : headers) {
      const std::size_t start = bytes.size();
      bytes.resize(start + 4 + header.frame_count * *rtp::osmux_frame_bytes(header.frame_type),
                   std::byte{header.sequence});
      rtp::write_osmux_header(std::span(bytes).subspan(start), header);
    }
    for (const auto& chunk : test::chunks_of(bytes)) {
      playout.on_chunk(chunk, at(now));
      drain(at(now));
    }
  }
  /// When the packets left, in milliseconds.
  std::vector<double> times() const {
    std::vector<double> result;
    for (const Played& packet : played) {
      result.push_back(std::chrono::duration<double, std::milli>(packet.at - at({})).count());
    }
    return result;
  }

  OsmuxPlayout playout;
  std::vector<Played> played;
};

using Times = std::vector<double>;

}  // namespace

TEST_CASE("every frame becomes an RTP packet with the chunk's mode request, type and quality") {
  Bench bench;
  bench.datagram({{.marker = true,
                   .frame_count = 3,
                   .followed = false,
                   .good = false,
                   .sequence = 12,
                   .frame_type = 2,
                   .mode_request = 7}},
                 {});
  bench.run(milliseconds(100));
  REQUIRE(bench.played.size() == 3);
  Bytes payload = from_hex("70 10");
  payload.resize(17, std::byte{12});
  for (std::size_t index = 0; index < 3; ++index) {
    const Played& packet = bench.played[index];
    CHECK(packet.payload == payload);
    CHECK(packet.header.payload_type == 112);
    CHECK(packet.header.ssrc == 0xabcd);
    CHECK(packet.header.sequence == static_cast<std::uint16_t>(65534 + index));
    CHECK(packet.header.timestamp == static_cast<std::uint32_t>(0xffffff00 + 160 * index));
    CHECK(packet.header.marker == (index == 0));
  }
}

TEST_CASE("frame types keep their size, from nothing to 31 octets") {
  for (std::uint8_t type = 0; type < 16; ++type) {
    const auto bytes = rtp::osmux_frame_bytes(type);
    if (!bytes) {
      continue;
    }
    Bench bench;
    bench.datagram({{.followed = true, .sequence = 1, .frame_type = type, .mode_request = 15}}, {});
    REQUIRE(bench.played.size() == 1);
    Bytes payload{std::byte{0xf0}, static_cast<std::byte>(0x84U | type * 8U)};
    payload.resize(2 + *bytes, std::byte{1});
    CHECK(bench.played[0].payload == payload);
    CHECK(bench.playout.statistics().amr_octets_out == *bytes);
  }
}

TEST_CASE("the marker is set by the peer, or by a sequence number that does not follow") {
  Bench bench;
  bench.chunk(0, milliseconds(0), 1);
  bench.chunk(1, milliseconds(80), 1);
  bench.chunk(2, milliseconds(160), 1, true);
  bench.chunk(4, milliseconds(240), 1);
  bench.chunk(5, milliseconds(320), 2);
  bench.run(milliseconds(400));
  std::vector<bool> markers;
  for (const Played& packet : bench.played) {
    markers.push_back(packet.header.marker);
  }
  CHECK(markers == std::vector<bool>{true, false, true, true, false, false});
  CHECK(bench.playout.statistics().gaps == 1);
}

TEST_CASE("the very first chunk has the marker unless its number is 1, and numbers wrap") {
  for (unsigned sequence = 0; sequence < 256; ++sequence) {
    Bench bench;
    bench.chunk(static_cast<std::uint8_t>(sequence), milliseconds(0), 1);
    bench.chunk(static_cast<std::uint8_t>(sequence + 1), milliseconds(80), 1);
    REQUIRE(bench.played.size() == 2);
    CHECK(bench.played[0].header.marker == (sequence != 1));
    CHECK_FALSE(bench.played[1].header.marker);
  }
}

TEST_CASE("dummies make no packets") {
  Bench bench;
  bench.datagram({{.kind = rtp::OsmuxKind::dummy, .frame_count = 4, .frame_type = 3}}, {});
  rtp::OsmuxChunk legacy;
  legacy.header.kind = rtp::OsmuxKind::legacy_dummy;
  bench.playout.on_chunk(legacy, at({}));
  CHECK(bench.playout.next_due() == io::kNever);
  CHECK(bench.playout.statistics().chunks_in == 0);
}

TEST_CASE("the first frame plays at once, the others 20 ms apart") {
  Bench bench;
  bench.chunk(1, milliseconds(5), 8);
  bench.run(milliseconds(500));
  CHECK(bench.times() == Times{5, 25, 45, 65, 85, 105, 125, 145});
  CHECK(bench.playout.next_due() == io::kNever);
}

TEST_CASE("nothing is played before its time or into a buffer that is too small") {
  Bench bench;
  bench.chunk(1, milliseconds(0), 2);
  CHECK(bench.playout.next_due() == at(milliseconds(20)));
  Bytes out(rtp::kOsmuxRtpBytesMax);
  CHECK(bench.playout.take_due(at(microseconds(19999)), out) == 0);
  Bytes small(rtp::kOsmuxRtpBytesMax - 1);
  CHECK(bench.playout.take_due(at(milliseconds(20)), small) == 0);
  CHECK(bench.playout.take_due(at(milliseconds(20)), out) == 29);
}

TEST_CASE("a pass that runs late moves no deadline") {
  Bench bench;
  bench.chunk(1, milliseconds(0), 8);
  bench.drain(at(milliseconds(27)));
  bench.drain(at(milliseconds(38)));
  CHECK(bench.played.size() == 2);
  CHECK(bench.playout.next_due() == at(milliseconds(40)));
  bench.drain(at(milliseconds(59)));
  bench.run(milliseconds(200));
  CHECK(bench.times() == Times{0, 27, 59, 60, 80, 100, 120, 140});
}

TEST_CASE("a chunk that comes a little early waits for the end of the one before") {
  Bench bench;
  bench.chunk(1, milliseconds(0));
  bench.chunk(2, milliseconds(77));
  bench.chunk(3, milliseconds(130));
  bench.run(milliseconds(400));
  CHECK(bench.times() == Times{0, 20, 40, 60, 80, 100, 120, 140, 160, 180, 200, 220});
  CHECK(bench.playout.statistics().hurried == 0);
}

TEST_CASE("a chunk that comes late plays at once, and those behind it keep the new pace") {
  Bench bench;
  bench.chunk(1, milliseconds(0));
  bench.chunk(2, milliseconds(95));
  bench.chunk(3, milliseconds(160));
  bench.run(milliseconds(400));
  CHECK(bench.times() == Times{0, 20, 40, 60, 95, 115, 135, 155, 175, 195, 215, 235});
}

TEST_CASE("a chunk that would have to wait too long plays at once, and all before it too") {
  Bench bench(milliseconds(30));
  bench.chunk(1, milliseconds(0));
  bench.chunk(2, milliseconds(49));
  bench.run(milliseconds(400));
  CHECK(bench.times() == Times{0, 20, 40, 49, 49, 69, 89, 109});
  CHECK(bench.playout.statistics().hurried == 1);
  Bench in_time(milliseconds(30));
  in_time.chunk(1, milliseconds(0));
  in_time.chunk(2, milliseconds(50));
  in_time.run(milliseconds(400));
  CHECK(in_time.times() == Times{0, 20, 40, 60, 80, 100, 120, 140});
}

TEST_CASE("without a hold every chunk plays at once") {
  Bench bench(milliseconds(0));
  bench.chunk(1, milliseconds(0));
  bench.chunk(2, milliseconds(30));
  bench.chunk(3, milliseconds(105));
  bench.run(milliseconds(400));
  CHECK(bench.times() == Times{0, 20, 30, 30, 30, 50, 70, 90, 105, 125, 145, 165});
}

TEST_CASE("chunks of one datagram go on after one another without a limit of the hold") {
  Bench bench(milliseconds(0));
  bench.datagram({{.frame_count = 2, .sequence = 1, .frame_type = 7},
                  {.frame_count = 3, .sequence = 2, .frame_type = 8},
                  {.frame_count = 1, .sequence = 3, .frame_type = 15}},
                 {});
  bench.run(milliseconds(400));
  CHECK(bench.times() == Times{0, 20, 40, 60, 80, 100});
  CHECK(bench.played[2].payload.size() == 7);
}

TEST_CASE("after a pause the pace begins anew") {
  Bench bench;
  bench.chunk(1, milliseconds(0));
  bench.chunk(2, milliseconds(1234), 2, true);
  bench.run(milliseconds(2000));
  CHECK(bench.times() == Times{0, 20, 40, 60, 1234, 1254});
}

TEST_CASE("chunks that come twice or after a newer one are dropped") {
  Bench bench;
  bench.chunk(20, milliseconds(0));
  bench.chunk(20, milliseconds(1));
  bench.chunk(22, milliseconds(80));
  bench.chunk(21, milliseconds(81));
  bench.chunk(20, milliseconds(82));
  bench.chunk(22, milliseconds(83));
  bench.chunk(23, milliseconds(160));
  bench.run(milliseconds(400));
  CHECK(bench.times() == Times{0, 20, 40, 60, 80, 100, 120, 140, 160, 180, 200, 220});
  CHECK(bench.playout.statistics().duplicates == 2);
  CHECK(bench.playout.statistics().late == 2);
  CHECK_FALSE(bench.played[8].header.marker);
}

TEST_CASE("a peer that counts anew is heard again after two chunks, or at once after a pause") {
  for (unsigned back = 1; back <= 8; ++back) {
    Bench bench;
    const unsigned first = 300 - back;
    bench.chunk(300 - 256, milliseconds(0), 1);
    for (unsigned chunk = 0; chunk < 4; ++chunk) {
      bench.chunk(static_cast<std::uint8_t>(first + chunk), milliseconds(80 * (chunk + 1)), 1);
    }
    CHECK(bench.played.size() >= 2);
  }
  Bench bench;
  bench.chunk(10, milliseconds(0), 1);
  bench.chunk(10, milliseconds(1000), 1);
  bench.chunk(8, milliseconds(2000), 1);
  CHECK(bench.played.size() == 3);
}

TEST_CASE("jitter of 30 ms is absorbed after its first round, whatever passes do") {
  for (const std::uint32_t seed : {1U, 2U, 3U}) {
    test::Random random(seed);
    Bench bench;
    constexpr int kChunks = 7500;  // ten minutes
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      const auto now = milliseconds(80 * chunk) + microseconds(random.below(30000));
      bench.run(now, microseconds(random.below(200)));
      bench.chunk(static_cast<std::uint8_t>(chunk), now);
    }
    bench.run(milliseconds(80 * kChunks + 1000));
    REQUIRE(bench.played.size() == 4 * kChunks);
    std::size_t off = 0;
    for (std::size_t index = 1; index < bench.played.size(); ++index) {
      const auto gap = bench.played[index].at - bench.played[index - 1].at;
      off += gap < microseconds(19500) || gap > microseconds(20500) ? 1U : 0U;
    }
    CHECK(off < bench.played.size() / 1000);
    CHECK(bench.playout.statistics().hurried == 0);
    CHECK(bench.playout.statistics().frames_in == bench.playout.statistics().packets_out);
  }
}

TEST_CASE("a clock that runs fast or slow makes no bunches, and delay stays small") {
  for (const int drift_us : {-80, -8, 8, 80}) {  // per batch of 80 ms: 0.01 and 0.1 %
    Bench bench;
    constexpr int kChunks = 7500;
    io::Duration worst{};
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      const auto now = milliseconds(80 * chunk) + microseconds(drift_us * chunk);
      bench.chunk(static_cast<std::uint8_t>(chunk), now);
      if (bench.playout.pending() == 4) {
        worst = std::max(worst, bench.playout.next_due() - at(now));
      }
    }
    bench.run(milliseconds(90 * kChunks));
    CHECK(bench.playout.statistics().hurried == 0);
    CHECK(worst < milliseconds(15));
    std::size_t off = 0;
    for (std::size_t index = 1; index < bench.played.size(); ++index) {
      const auto gap = bench.played[index].at - bench.played[index - 1].at;
      off += gap < microseconds(19500) || gap > microseconds(20500) ? 1U : 0U;
    }
    CHECK(off == 0);
  }
}

TEST_CASE("the delay that one late chunk leaves behind is worked off without a jump") {
  Bench bench;
  bench.chunk(0, milliseconds(0));
  bench.chunk(1, milliseconds(130));
  int chunk = 2;
  for (; chunk < 200; ++chunk) {
    bench.chunk(static_cast<std::uint8_t>(chunk), milliseconds(80 * chunk));
  }
  bench.run(milliseconds(80 * 200));
  for (std::size_t index = 5; index < bench.played.size(); ++index) {
    const auto gap = bench.played[index].at - bench.played[index - 1].at;
    CHECK(gap >= microseconds(19750));
    CHECK(gap <= milliseconds(20));
  }
  const auto delay = bench.played.back().at - at(milliseconds(80 * 199 + 60));
  CHECK(delay <= milliseconds(5));
}

TEST_CASE("frames that nobody takes are bounded: the oldest are lost and counted") {
  Bench bench;
  Bytes bytes(4 + 8 * 15);
  rtp::OsmuxHeader header{.frame_count = 8, .frame_type = 2};
  for (int chunk = 0; chunk < 1000; ++chunk) {
    header.sequence = static_cast<std::uint8_t>(chunk);
    rtp::write_osmux_header(bytes, header);
    bench.playout.on_chunk(test::chunks_of(bytes).at(0), at(milliseconds(chunk)));
    CHECK(bench.playout.pending() <= rtp::kOsmuxPendingMax + rtp::kOsmuxFramesMax);
  }
  const auto& statistics = bench.playout.statistics();
  CHECK(statistics.frames_in == 8000);
  CHECK(statistics.overflowed + bench.playout.pending() == 8000);
  bench.run(milliseconds(3000));
  CHECK(statistics.packets_out + statistics.overflowed == 8000);
}

TEST_CASE("a flood of chunks in one datagram is played in order and without loss") {
  Bench bench;
  std::vector<rtp::OsmuxHeader> headers;
  for (unsigned chunk = 0; chunk < 250; ++chunk) {
    headers.push_back({.frame_count = static_cast<std::uint8_t>(1 + chunk % 8),
                       .sequence = static_cast<std::uint8_t>(chunk),
                       .frame_type = 8});
  }
  bench.datagram(headers, {});
  CHECK(bench.playout.pending() <= rtp::kOsmuxPendingMax);
  bench.run(milliseconds(3000));
  const auto& statistics = bench.playout.statistics();
  CHECK(statistics.overflowed == 0);
  CHECK(statistics.packets_out == statistics.frames_in);
  for (std::size_t index = 1; index < bench.played.size(); ++index) {
    CHECK(bench.played[index].payload[2] >= bench.played[index - 1].payload[2]);
  }
}

namespace {

/// Ten minutes of batches of four, up to 30 ms late, of which some are lost; passes stall now and
/// then. `settled` says which frames are to be even.
struct BadDay {
  explicit BadDay(std::uint32_t seed) : random(seed) {}

  void run(unsigned loss_percent, bool stalls) {
    io::Duration stalled_until{};
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      const auto came = milliseconds(80 * chunk) + microseconds(random.below(30000));
      if (random.below(100) < loss_percent) {
        continue;
      }
      const auto now = std::max<io::Duration>(came, stalled_until);
      pass_until(now, stalled_until);
      bench.chunk(static_cast<std::uint8_t>(chunk), now);
      if (stalls && chunk % 50 == 25 && stalled_until < now) {
        const io::Duration begin = now + microseconds(random.below(80000));
        pass_until(begin, stalled_until);
        stalled_until = begin + milliseconds(30) + microseconds(random.below(170000));
        stalled.emplace_back(at(begin), at(stalled_until));
      }
    }
    bench.run(milliseconds(80 * kChunks + 1000));
  }
  /// All looks up to `now` that a worker which stands still until `stalled_until` would take.
  void pass_until(io::Duration now, io::Duration stalled_until) {
    for (;;) {
      const io::TimePoint look = std::max(bench.playout.next_look(), at(stalled_until));
      if (bench.playout.next_look() == io::kNever || look > at(now)) {
        return;
      }
      bench.drain(look);
    }
  }
  /// The share of gaps between frames that follow each other which is off by more than 0.5 ms, out
  /// of stalls.
  [[nodiscard]] double uneven() const {
    std::size_t off = 0;
    std::size_t all = 0;
    for (std::size_t i = 1; i < bench.played.size(); ++i) {
      const io::TimePoint before = bench.played[i - 1].at;
      const io::TimePoint now = bench.played[i].at;
      const bool disturbed =
          bench.played[i].header.marker ||
          std::any_of(stalled.begin(), stalled.end(), [&](const auto& stall) {
            return now >= stall.first && before <= stall.second + microseconds(100);
          });
      if (!disturbed) {
        ++all;
        off += now - before < microseconds(19500) || now - before > microseconds(20500) ? 1U : 0U;
      }
    }
    return static_cast<double>(off) / static_cast<double>(all);
  }

  static constexpr int kChunks = 7500;
  test::Random random;
  Bench bench;
  std::vector<std::pair<io::TimePoint, io::TimePoint>> stalled;
};

}  // namespace

TEST_CASE("lost batches cost their frames, and nothing of the pace") {
  for (const std::uint32_t seed : {1U, 2U, 3U}) {
    BadDay day(seed);
    day.run(2, false);
    CHECK(day.uneven() < 0.001);
    CHECK(day.bench.playout.statistics().hurried == 0);
  }
}

TEST_CASE("a pass that is 30 to 200 ms late neither bunches nor shifts what follows it") {
  for (const std::uint32_t seed : {1U, 2U, 3U}) {
    BadDay day(seed);
    day.run(0, true);
    CHECK(day.stalled.size() > 100);
    CHECK(day.uneven() < 0.001);
    CHECK(day.bench.playout.statistics().hurried < 20);
    CHECK(day.bench.played.size() == 4 * BadDay::kChunks);
  }
}

TEST_CASE("after a pause a chunk waits as long as chunks waited before, in steps of whole frames") {
  Bench bench;
  bench.chunk(0, milliseconds(0));
  bench.chunk(1, milliseconds(110));  // 30 ms later than the first: so long the others wait
  for (int chunk = 2; chunk < 60; ++chunk) {
    bench.chunk(static_cast<std::uint8_t>(chunk), milliseconds(80 * chunk));
  }
  bench.run(milliseconds(6000));
  const double last = bench.times().back();
  bench.chunk(60, milliseconds(8000), 2);
  bench.run(milliseconds(9000));
  const double first_after = bench.times()[bench.times().size() - 2];
  CHECK(first_after >= 8000);
  CHECK(first_after < 8060);
  CHECK(std::abs(std::remainder(first_after - last, 20)) <= 0.25);
}
