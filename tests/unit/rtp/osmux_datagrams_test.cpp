// The Osmux link: how a batch that is too long for one datagram is cut into several.
#include "rtp/osmux_encoder.h"
#include "tests/unit/rtp/osmux_support.h"
#include "tests/unit/rtp/test_packets.h"

#include <doctest/doctest.h>

#include <map>

namespace {

using Bench = test::LinkBench;
using test::at;
using test::Bytes;
using test::chunks_of;
using test::milliseconds;

/// How a batch was cut.
struct Cut {
  std::size_t datagrams = 0;
  std::size_t rows = 0;
  std::size_t bytes = 0;
};

/// Checks that no datagram is too long and counts the rows of equal ones.
Cut cut_of(const std::vector<Bytes>& datagrams) {
  Cut cut{.datagrams = datagrams.size()};
  std::size_t row_bytes = 0;
  for (const Bytes& datagram : datagrams) {
    CHECK(datagram.size() <= 1472);
    cut.rows += row_bytes == 0 ? 1 : 0;
    row_bytes = row_bytes == 0 || datagram.size() == row_bytes ? datagram.size() : 0;
    cut.bytes += datagram.size();
  }
  return cut;
}

}  // namespace

TEST_CASE("equal calls that need several datagrams fill them equally, and in the order of adding") {
  Bench bench;
  for (unsigned circuit = 0; circuit < 200; ++circuit) {
    bench.add(static_cast<std::uint8_t>(circuit));
    for (std::uint16_t sequence = 0; sequence < 4; ++sequence) {
      REQUIRE(bench.push(static_cast<std::uint8_t>(circuit), sequence, {}, false, 7));
    }
  }
  CHECK(bench.sink.datagrams.empty());
  const auto datagrams = bench.flush(milliseconds(80));
  REQUIRE(datagrams.size() == 19);  // 11 chunks of 128 octets each
  unsigned circuit = 0;
  for (const Bytes& datagram : datagrams) {
    CHECK(datagram.size() == (&datagram == &datagrams.back() ? 2 * 128 : 11 * 128));
    for (const auto& chunk : chunks_of(datagram)) {
      CHECK(chunk.header.circuit == circuit++);
    }
  }
  CHECK(circuit == 200);
  CHECK(bench.link.statistics().saved_octets() == 800 * (42 + 31) - 200 * 128 - 19 * 28);
}

TEST_CASE("calls of any load are cut into about as few datagrams as possible") {
  test::Random random(11);
  for (int round = 0; round < 50; ++round) {
    Bench bench;
    std::size_t sum = 0;
    for (unsigned circuit = 0; circuit < 256; ++circuit) {
      bench.add(static_cast<std::uint8_t>(circuit));
      const auto type = static_cast<std::uint8_t>(random.below(9));
      const auto frames = static_cast<std::uint16_t>(1 + random.below(4));
      for (std::uint16_t sequence = 0; sequence < frames; ++sequence) {
        REQUIRE(bench.push(static_cast<std::uint8_t>(circuit), sequence, {}, false, type));
      }
      sum += 4 + frames * *rtp::osmux_frame_bytes(type);
    }
    REQUIRE(bench.sink.datagrams.empty());
    const Cut cut = cut_of(bench.flush(milliseconds(80)));
    CHECK(cut.bytes == sum);
    CHECK(cut.datagrams <= sum / 1472 + 2);
    CHECK(cut.rows <= 1 + cut.datagrams / 2);
  }
}

TEST_CASE("calls of one codec, some of them silent, make few rows of equal datagrams") {
  test::Random random(12);
  for (int round = 0; round < 50; ++round) {
    Bench bench;
    for (unsigned circuit = 0; circuit < 256; ++circuit) {
      bench.add(static_cast<std::uint8_t>(circuit));
      const bool silent = random.below(5) < 2;
      for (std::uint16_t sequence = 0; sequence < (silent ? 1 : 4); ++sequence) {
        REQUIRE(
            bench.push(static_cast<std::uint8_t>(circuit), sequence, {}, false, silent ? 8 : 7));
      }
    }
    const Cut cut = cut_of(bench.flush(milliseconds(80)));
    CHECK(cut.datagrams >= 12);
    CHECK(cut.rows <= 3);
  }
}

TEST_CASE("the chunks of one circuit stay together in one datagram") {
  Bench bench({.batch_factor = 8, .batch_bytes = 150});
  for (std::uint8_t circuit = 0; circuit < 20; ++circuit) {
    bench.add(circuit);
  }
  for (std::uint16_t sequence = 0; sequence < 8; ++sequence) {
    for (std::uint8_t circuit = 0; circuit < 20; ++circuit) {
      const auto type = static_cast<std::uint8_t>((sequence + circuit) % 3);
      REQUIRE(bench.push(circuit, sequence, {}, false, type));
    }
  }
  bench.link.flush(at(milliseconds(160)), bench.sink);
  CHECK(bench.link.statistics().frames_out == 160);
  for (const Bytes& datagram : bench.sink.datagrams) {
    CHECK(datagram.size() <= 150);
    std::map<unsigned, unsigned> next;
    for (const auto& chunk : chunks_of(datagram)) {
      const auto [place, first] = next.emplace(chunk.header.circuit, chunk.header.sequence);
      CHECK(chunk.header.sequence == (place->second++ & 0xffU));
      CHECK(chunk.continues != first);
    }
  }
}
