// The Osmux link: when a batch leaves and what is in it.
#include "rtp/osmux_encoder.h"

#include "tests/unit/rtp/osmux_support.h"
#include "tests/unit/rtp/test_packets.h"

#include <doctest/doctest.h>

#include <map>
#include <set>

namespace {

using rtp::OsmuxKind;
using rtp::OsmuxRefusal;
using test::at;
using test::Bytes;
using test::chunks_of;
using test::fills_of;
using test::from_hex;
using test::milliseconds;
using test::Speech;

using Bench = test::LinkBench;
using Fills = std::vector<unsigned>;

/// The header of the only chunk of the only datagram, and what its frames hold.
rtp::OsmuxChunk only_chunk(const std::vector<Bytes>& datagrams) {
  REQUIRE(datagrams.size() == 1);
  const auto chunks = chunks_of(datagrams[0]);
  REQUIRE(chunks.size() == 1);
  return chunks[0];
}

}  // namespace

TEST_CASE("four frames and then a single one make the octets that Osmocom's library sends") {
  Bench bench;
  bench.add(7);
  Bytes expected = from_hex("2d 00 07 22");
  for (std::uint16_t sequence = 1; sequence <= 4; ++sequence) {
    REQUIRE(bench.push(7, sequence, milliseconds(20 * sequence)));
    expected.resize(expected.size() + 15, static_cast<std::byte>(sequence));
  }
  CHECK(bench.sink.datagrams.empty());
  REQUIRE(bench.push(7, 5, milliseconds(99)));
  CHECK(bench.sink.take() == std::vector<Bytes>{expected});
  Bytes single = from_hex("21 01 07 22");
  single.resize(19, std::byte{5});
  CHECK(bench.flush(milliseconds(180)) == std::vector<Bytes>{single});
}

TEST_CASE("a batch is due batch-factor times 20 ms after its first packet, whichever circuit's") {
  for (int factor = 1; factor <= 8; ++factor) {
    Bench bench({.batch_factor = static_cast<std::size_t>(factor)});
    bench.add(1);
    bench.add(2);
    CHECK(bench.link.deadline() == io::kNever);
    REQUIRE(bench.push(2, 10, milliseconds(3)));
    REQUIRE(bench.push(1, 20, milliseconds(9)));
    CHECK(bench.link.deadline() == at(milliseconds(3 + 20 * factor)));
    const auto datagrams = bench.flush(milliseconds(3 + 20 * factor));
    REQUIRE(datagrams.size() == 1);
    CHECK(chunks_of(datagrams[0]).size() == 2);
    CHECK(bench.link.deadline() == io::kNever);
    CHECK(bench.flush(milliseconds(400)).empty());
  }
}

TEST_CASE("a packet that comes when the batch is due belongs to the next one") {
  Bench bench;
  bench.add(1);
  REQUIRE(bench.push(1, 1, milliseconds(0)));
  REQUIRE(bench.push(1, 2, milliseconds(80)));
  CHECK(fills_of(only_chunk(bench.sink.datagrams)) == Fills{1});
  CHECK(bench.link.deadline() == at(milliseconds(160)));
}

TEST_CASE("options outside of their limits are taken as the nearest inside") {
  Bench bench({.batch_factor = 100, .batch_bytes = 100000, .datagrams_max = 0});
  bench.add(1);
  REQUIRE(bench.push(1, 1, milliseconds(0)));
  CHECK(bench.link.deadline() == at(milliseconds(160)));
  Bench small({.batch_factor = 0, .batch_bytes = 0});
  small.add(1);
  CHECK(small.push(1, 1, milliseconds(0)).error() == OsmuxRefusal::too_large);
  CHECK(small.link.deadline() == io::kNever);
}

TEST_CASE("a circuit is added once and can come back after it was removed") {
  Bench bench;
  bench.add(5);
  CHECK_FALSE(bench.link.add_circuit(5, at({})));
  CHECK(bench.push(6, 1, {}).error() == OsmuxRefusal::unknown_circuit);
  REQUIRE(bench.push(5, 1, {}));
  CHECK(bench.link.remove_circuit(5));
  CHECK_FALSE(bench.link.remove_circuit(5));
  CHECK(bench.link.deadline() == io::kNever);
  CHECK(bench.flush(milliseconds(80)).empty());
  CHECK(bench.link.statistics().discarded == 1);
  bench.add(5);
  REQUIRE(bench.push(5, 70, milliseconds(80)));
  const auto datagrams = bench.flush(milliseconds(160));
  const auto chunk = only_chunk(datagrams);
  CHECK(chunk.header.sequence == 0);
  CHECK_FALSE(chunk.header.marker);
}

TEST_CASE("removing a circuit leaves the frames of the others") {
  Bench bench;
  for (std::uint8_t circuit = 10; circuit < 15; ++circuit) {
    bench.add(circuit);
    REQUIRE(bench.push(circuit, circuit, {}));
  }
  CHECK(bench.link.remove_circuit(11));
  REQUIRE(bench.push(14, 15, {}));
  CHECK(bench.link.circuit_count() == 4);
  const auto datagrams = bench.flush(milliseconds(80));
  REQUIRE(datagrams.size() == 1);
  std::map<unsigned, Fills> found;
  for (const auto& chunk : chunks_of(datagrams[0])) {
    found[chunk.header.circuit] = fills_of(chunk);
  }
  CHECK(found == std::map<unsigned, Fills>{{10, {10}}, {12, {12}}, {13, {13}}, {14, {14, 15}}});
}

TEST_CASE("the marker lets the whole batch go if its circuit has packets queued") {
  Bench bench;
  bench.add(1);
  bench.add(2);
  REQUIRE(bench.push(1, 1, {}, true));
  REQUIRE(bench.push(2, 50, milliseconds(1)));
  CHECK(bench.sink.datagrams.empty());
  REQUIRE(bench.push(1, 9, milliseconds(20), true));
  auto datagrams = bench.sink.take();
  REQUIRE(datagrams.size() == 1);
  const auto chunks = chunks_of(datagrams[0]);
  REQUIRE(chunks.size() == 2);
  CHECK(chunks[0].header.marker);
  CHECK_FALSE(chunks[1].header.marker);
  CHECK(bench.link.deadline() == at(milliseconds(100)));
  datagrams = bench.flush(milliseconds(100));
  const auto chunk = only_chunk(datagrams);
  CHECK(chunk.header.marker);
  CHECK(fills_of(chunk) == Fills{9});
}

TEST_CASE("the marker with an empty queue waits for the batch and fills no gap") {
  Bench bench;
  bench.add(1);
  REQUIRE(bench.push(1, 1, {}));
  CHECK(bench.flush(milliseconds(80)).size() == 1);
  REQUIRE(bench.push(1, 4, milliseconds(100), true));
  const auto datagrams = bench.flush(milliseconds(180));
  const auto chunk = only_chunk(datagrams);
  CHECK(chunk.header.marker);
  CHECK(fills_of(chunk) == Fills{4});
}

TEST_CASE("a circuit that has a full queue lets the batch of all go") {
  for (std::size_t factor = 1; factor <= 8; ++factor) {
    Bench bench({.batch_factor = factor});
    bench.add(1);
    bench.add(2);
    REQUIRE(bench.push(2, 99, {}));
    for (std::uint16_t sequence = 0; sequence < factor; ++sequence) {
      REQUIRE(bench.push(1, sequence, milliseconds(1)));
    }
    CHECK(bench.sink.datagrams.empty());
    REQUIRE(bench.push(1, static_cast<std::uint16_t>(factor), milliseconds(2)));
    const auto datagrams = bench.sink.take();
    REQUIRE(datagrams.size() == 1);
    CHECK(chunks_of(datagrams[0]).size() == 2);
  }
}

TEST_CASE("with one datagram per batch, what does not fit any more lets the batch go") {
  // Two chunks of one frame are 38 octets; a second frame of a chunk takes 15 more.
  for (std::size_t bytes = 38; bytes < 60; ++bytes) {
    Bench bench({.batch_bytes = bytes, .datagrams_max = 1});
    bench.add(1);
    bench.add(2);
    REQUIRE(bench.push(1, 1, {}));
    REQUIRE(bench.push(2, 1, {}));
    CHECK(bench.sink.datagrams.empty());
    REQUIRE(bench.push(2, 2, {}));
    CHECK(bench.sink.datagrams.size() == (bytes < 53 ? 1 : 0));
    for (const Bytes& datagram : bench.flush(milliseconds(80))) {
      CHECK(datagram.size() <= bytes);
    }
    CHECK(bench.link.statistics().frames_out == 3);
  }
}

TEST_CASE("a change of frame type needs room for another header") {
  Bench bench({.batch_bytes = 53, .datagrams_max = 1});
  bench.add(1);
  bench.add(2);
  REQUIRE(bench.push(1, 1, {}));
  REQUIRE(bench.push(2, 1, {}, false, 1));
  REQUIRE(bench.push(2, 2, {}, false, 0));
  // 19 + 17 + 12 octets would fit, with the header of the new chunk they are 52.
  CHECK(bench.sink.datagrams.empty());
  REQUIRE(bench.push(1, 2, {}, false, 15));
  CHECK(bench.sink.datagrams.size() == 1);
}

TEST_CASE("a frame that is longer than a datagram is refused, the next shorter one is not") {
  Bench bench({.batch_bytes = 34});
  bench.add(1);
  CHECK(bench.push(1, 1, {}, false, 7).error() == OsmuxRefusal::too_large);
  CHECK(bench.push(1, 2, {}, false, 6).has_value());
  CHECK(bench.refused(OsmuxRefusal::too_large) == 1);
}

TEST_CASE("only octet-aligned AMR with one whole frame is taken") {
  Bench bench;
  bench.add(1);
  const auto refusal = [&](const Bytes& payload, std::uint8_t payload_type) {
    auto header = test::rtp_header(1);
    header.payload_type = payload_type;
    const auto result = bench.link.push(1, header, payload, at({}), bench.sink);
    REQUIRE_FALSE(result.has_value());
    return result.error();
  };
  for (std::uint8_t type = 72; type <= 76; ++type) {
    CHECK(refusal(test::amr_payload({}), type) == OsmuxRefusal::rtcp);
  }
  CHECK(refusal({}, 96) == OsmuxRefusal::not_amr);
  CHECK(refusal(from_hex("f0"), 96) == OsmuxRefusal::not_amr);
  for (unsigned type = 0; type < 16; ++type) {
    const auto bytes = rtp::osmux_frame_bytes(static_cast<std::uint8_t>(type));
    Bytes payload = from_hex("f0 04");
    payload[1] |= static_cast<std::byte>(type << 3U);
    payload.resize(2 + bytes.value_or(12) + 1);
    CHECK(refusal(payload, 96) == OsmuxRefusal::not_amr);
    payload.resize(payload.size() - (bytes.value_or(0) > 0 ? 2 : 1));
    if (!bytes || *bytes > 0) {
      CHECK(refusal(payload, 96) == OsmuxRefusal::not_amr);
    }
  }
  CHECK(bench.link.deadline() == io::kNever);
}

TEST_CASE("a sequence number that is queued already replaces the packet if it is as long") {
  Bench bench;
  bench.add(1);
  REQUIRE(bench.push(1, 65535, {}));
  REQUIRE(bench.push(1, 0, {}));
  REQUIRE(bench.push(1, 1, {}));
  REQUIRE(bench.push(1, test::rtp_header(0), {.fill = 77}, {}));
  CHECK(bench.push(1, 1, {}, false, 7).error() == OsmuxRefusal::conflict);
  const auto datagrams = bench.flush(milliseconds(80));
  CHECK(fills_of(only_chunk(datagrams)) == Fills{255, 77, 1});
  CHECK(bench.link.statistics().replaced == 1);
}

TEST_CASE("what was sent already, or is older, is refused") {
  Bench bench;
  bench.add(1);
  for (std::uint16_t sequence = 0; sequence < 4; ++sequence) {
    REQUIRE(bench.push(1, static_cast<std::uint16_t>(65533 + sequence), {}));
  }
  CHECK(bench.flush(milliseconds(80)).size() == 1);
  for (const int sequence : {0, 65535, 65533, 65530}) {
    CHECK(bench.push(1, static_cast<std::uint16_t>(sequence), milliseconds(81)).error() ==
          OsmuxRefusal::late);
  }
  REQUIRE(bench.push(1, 1, milliseconds(81)));
  CHECK(bench.push(1, 65535, milliseconds(81)).error() == OsmuxRefusal::late);
  const auto datagrams = bench.flush(milliseconds(160));
  const auto chunk = only_chunk(datagrams);
  CHECK(fills_of(chunk) == Fills{1});
  CHECK_FALSE(chunk.header.marker);
}

TEST_CASE("a lost packet is filled with a clone of the one before it") {
  Bench bench;
  bench.add(1);
  REQUIRE(bench.push(1, 1, {}, false, 7));
  REQUIRE(bench.push(1, 4, {}, false, 2));
  const auto datagrams = bench.flush(milliseconds(80));
  REQUIRE(datagrams.size() == 1);
  const auto chunks = chunks_of(datagrams[0]);
  REQUIRE(chunks.size() == 2);
  CHECK(fills_of(chunks[0]) == Fills{1, 1, 1});
  CHECK(chunks[0].header.frame_type == 7);
  CHECK(fills_of(chunks[1]) == Fills{4});
  CHECK_FALSE(chunks[1].header.marker);
  CHECK(bench.link.statistics().clones == 2);
  CHECK(bench.link.statistics().plain_rtp_octets == 42 + 31 + 42 + 15);
}

TEST_CASE("a packet that comes late takes the place of its clone") {
  Bench bench;
  bench.add(1);
  REQUIRE(bench.push(1, 1, {}));
  REQUIRE(bench.push(1, 4, {}));
  REQUIRE(bench.push(1, 3, {}));
  const auto datagrams = bench.flush(milliseconds(80));
  CHECK(fills_of(only_chunk(datagrams)) == Fills{1, 1, 3, 4});
  CHECK(bench.link.statistics().clones == 1);
}

TEST_CASE("lost packets at the start of a batch are filled with clones of the one behind them") {
  Bench bench;
  bench.add(1);
  REQUIRE(bench.push(1, 1, {}));
  CHECK(bench.flush(milliseconds(80)).size() == 1);
  REQUIRE(bench.push(1, 4, milliseconds(120)));
  const auto datagrams = bench.flush(milliseconds(200));
  const auto chunk = only_chunk(datagrams);
  CHECK(fills_of(chunk) == Fills{4, 4, 4});
  CHECK_FALSE(chunk.header.marker);
}

TEST_CASE("a gap across the end of a batch is filled on both sides") {
  Bench bench;
  bench.add(1);
  REQUIRE(bench.push(1, 1, {}));
  REQUIRE(bench.push(1, 2, {}));
  REQUIRE(bench.push(1, 6, milliseconds(60)));
  auto datagrams = bench.sink.take();
  CHECK(fills_of(only_chunk(datagrams)) == Fills{1, 2, 2, 2});
  datagrams = bench.flush(milliseconds(160));
  const auto chunk = only_chunk(datagrams);
  CHECK(fills_of(chunk) == Fills{6, 6});
  CHECK_FALSE(chunk.header.marker);
}

TEST_CASE("a gap that is longer than a batch is told by the marker instead") {
  for (const int missing : {4, 5, 1000, 30000}) {
    Bench bench;
    bench.add(1);
    REQUIRE(bench.push(1, 100, {}));
    CHECK(bench.flush(milliseconds(80)).size() == 1);
    const auto sequence = static_cast<std::uint16_t>(101 + missing);
    REQUIRE(bench.push(1, sequence, milliseconds(200)));
    auto datagrams = bench.sink.take();
    CHECK(datagrams.size() == (missing == 4 ? 1 : 0));
    datagrams = bench.flush(milliseconds(300));
    const auto chunk = only_chunk(datagrams);
    CHECK(fills_of(chunk) == Fills{sequence & 0xffU});
    CHECK(chunk.header.marker == (missing != 4));
    CHECK(bench.link.statistics().clones == (missing == 4 ? 4 : 0));
    CHECK(bench.link.statistics().gaps == (missing == 4 ? 0 : 1));
  }
}

TEST_CASE("a source that starts anew is told by the marker, without clones") {
  struct Restart {
    std::uint16_t sequence;
    std::uint32_t ssrc;
  };
  for (const Restart restart : {Restart{3000, 0x5eed}, Restart{5003, 1}, Restart{5001, 1}}) {
    Bench bench;
    bench.add(1);
    REQUIRE(bench.push(1, 5000, {}));
    auto header = test::rtp_header(restart.sequence);
    header.ssrc = restart.ssrc;
    REQUIRE(bench.push(1, header, {.fill = 77}, milliseconds(20)));
    CHECK(fills_of(only_chunk(bench.sink.datagrams)) == Fills{5000 & 0xff});
    bench.sink.take();
    const auto datagrams = bench.flush(milliseconds(100));
    const auto chunk = only_chunk(datagrams);
    CHECK(fills_of(chunk) == Fills{77});
    CHECK(chunk.header.marker);
  }
}

TEST_CASE("a source that starts anew a little below its last number loses four packets at most") {
  Bench bench;
  bench.add(1);
  REQUIRE(bench.push(1, 5000, {}));
  std::size_t refused = 0;
  for (std::uint16_t sequence = 4985; sequence < 4998; ++sequence) {
    refused += bench.push(1, sequence, milliseconds(1)) ? 0U : 1U;
  }
  CHECK(refused == 4);
}

TEST_CASE("chunks are counted per circuit and end where the frame type changes") {
  Bench bench;
  bench.add(1);
  bench.add(2);
  std::uint8_t expected = 0;
  for (unsigned batch = 0; batch < 300; ++batch) {
    const auto now = milliseconds(80 * batch);
    REQUIRE(bench.push(1, static_cast<std::uint16_t>(2 * batch), now, false, 2));
    REQUIRE(bench.push(1, static_cast<std::uint16_t>(2 * batch + 1), now, false, 15));
    REQUIRE(bench.push(2, static_cast<std::uint16_t>(batch), now));
    const auto datagrams = bench.flush(now);
    REQUIRE(datagrams.size() == 1);
    const auto chunks = chunks_of(datagrams[0]);
    REQUIRE(chunks.size() == 3);
    CHECK(chunks[0].header.sequence == expected++);
    CHECK(chunks[1].header.sequence == expected++);
    CHECK(chunks[1].header.frame_type == 15);
    CHECK(chunks[2].header.sequence == (batch & 0xffU));
  }
}

TEST_CASE("a chunk has the mode request of its last frame and one quality") {
  Bench bench;
  bench.add(1);
  REQUIRE(bench.push(1, test::rtp_header(1), {.fill = 1, .mode_request = 15}, {}));
  REQUIRE(bench.push(1, test::rtp_header(2), {.fill = 2, .mode_request = 4}, {}));
  REQUIRE(bench.push(1, test::rtp_header(3), {.fill = 3, .good = false, .mode_request = 5}, {}));
  const auto datagrams = bench.flush(milliseconds(80));
  REQUIRE(datagrams.size() == 1);
  const auto chunks = chunks_of(datagrams[0]);
  REQUIRE(chunks.size() == 2);
  CHECK(chunks[0].header.mode_request == 4);
  CHECK(chunks[0].header.good);
  CHECK(fills_of(chunks[0]) == Fills{1, 2});
  CHECK(chunks[1].header.mode_request == 5);
  CHECK_FALSE(chunks[1].header.good);
}

TEST_CASE("without packets a circuit is padded with dummies, batch after batch without a pause") {
  Bench bench({.dummy_padding = true});
  bench.add(9, milliseconds(7));
  CHECK(bench.link.deadline() == at(milliseconds(87)));
  Bytes dummy = from_hex("4c 00 09 30");
  dummy.resize(72, std::byte{0xff});
  // Late passes don't move the following deadlines.
  for (int batch = 1; batch < 20; ++batch) {
    CHECK(bench.link.deadline() == at(milliseconds(7 + 80 * batch)));
    CHECK(bench.flush(milliseconds(7 + 80 * batch + batch)) == std::vector<Bytes>{dummy});
  }
  CHECK(bench.link.statistics().dummies_out == 19);
  CHECK(bench.link.statistics().saved_octets() == -19 * (28 + 72));
  // A pass that comes later than a whole batch does not send two.
  CHECK(bench.flush(milliseconds(5000)).size() == 1);
  CHECK(bench.link.deadline() == at(milliseconds(5080)));
}

TEST_CASE("padding stops for good at the circuit's first packet, the timer when nobody pads") {
  Bench bench({.dummy_padding = true});
  bench.add(1);
  bench.add(2);
  REQUIRE(bench.push(1, 1, milliseconds(10)));
  auto datagrams = bench.flush(milliseconds(80));
  REQUIRE(datagrams.size() == 1);
  CHECK(chunks_of(datagrams[0]).size() == 2);
  CHECK(bench.link.deadline() == at(milliseconds(160)));
  datagrams = bench.flush(milliseconds(160));
  const auto chunk = only_chunk(datagrams);
  CHECK(chunk.header.kind == OsmuxKind::dummy);
  CHECK(chunk.header.circuit == 2);
  REQUIRE(bench.push(2, 1, milliseconds(170)));
  CHECK(only_chunk(bench.flush(milliseconds(240))).header.kind == OsmuxKind::voice);
  CHECK(bench.link.deadline() == io::kNever);
}

TEST_CASE("removing the last padded circuit stops the timer") {
  Bench bench({.dummy_padding = true});
  bench.add(1);
  bench.add(2);
  CHECK(bench.link.remove_circuit(1));
  CHECK(bench.link.deadline() != io::kNever);
  CHECK(bench.link.remove_circuit(2));
  CHECK(bench.link.deadline() == io::kNever);
}

TEST_CASE("no padding without the option, nor where a dummy does not fit into a datagram") {
  Bench off;
  off.add(1);
  CHECK(off.link.deadline() == io::kNever);
  Bench small({.batch_bytes = 71, .dummy_padding = true});
  small.add(1);
  CHECK(small.link.deadline() == io::kNever);
}

TEST_CASE("refusals have a name each") {
  std::set<std::string_view> names;
  for (std::size_t cause = 0; cause < rtp::kOsmuxRefusalCount; ++cause) {
    names.insert(rtp::to_string(static_cast<OsmuxRefusal>(cause)));
  }
  CHECK(names.size() == rtp::kOsmuxRefusalCount);
  CHECK_FALSE(names.contains("unknown"));
}
