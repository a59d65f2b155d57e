// Osmux chunks: the wire format both ways, every way to be malformed, and what goes on behind a
// chunk that can't be used.
#include "rtp/osmux_chunk.h"

#include "tests/unit/rtp/osmux_support.h"
#include "tests/unit/rtp/test_packets.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

namespace {

using rtp::OsmuxChunk;
using rtp::OsmuxKind;
using rtp::OsmuxMalformed;
using rtp::OsmuxReader;
using test::Bytes;
using test::from_hex;

/// A header in hexadecimal digits and `size` octets of payload.
Bytes chunk_bytes(std::string_view header, std::size_t size) {
  Bytes bytes = from_hex(header);
  bytes.resize(bytes.size() + size, std::byte{0x11});
  return bytes;
}

Bytes operator+(Bytes first, const Bytes& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

/// The cause that a reader ends with after `chunks` good chunks.
OsmuxMalformed cause_after(const Bytes& datagram, std::size_t chunks) {
  OsmuxReader reader(datagram);
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    REQUIRE(reader.next().has_value());
  }
  REQUIRE_FALSE(reader.next().has_value());
  REQUIRE_FALSE(reader.next().has_value());
  REQUIRE(reader.malformed().has_value());
  return *reader.malformed();
}

bool same_header(const rtp::OsmuxHeader& a, const rtp::OsmuxHeader& b) {
  return a.kind == b.kind && a.marker == b.marker && a.frame_count == b.frame_count &&
         a.followed == b.followed && a.good == b.good && a.sequence == b.sequence &&
         a.circuit == b.circuit && a.frame_type == b.frame_type && a.mode_request == b.mode_request;
}

}  // namespace

TEST_CASE("a chunk of four AMR 5.90 frames is read as it stands") {
  const Bytes datagram = chunk_bytes("2d 00 07 22", 60);
  OsmuxReader reader(datagram);
  const auto chunk = reader.next();
  REQUIRE(chunk.has_value());
  CHECK(same_header(chunk->header, {.kind = OsmuxKind::voice,
                                    .marker = false,
                                    .frame_count = 4,
                                    .followed = false,
                                    .good = true,
                                    .sequence = 0,
                                    .circuit = 7,
                                    .frame_type = 2,
                                    .mode_request = 2}));
  CHECK(chunk->frames.data() == datagram.data() + 4);
  CHECK(chunk->frames.size() == 60);
  CHECK_FALSE(chunk->continues);
  CHECK_FALSE(reader.next().has_value());
  CHECK_FALSE(reader.malformed().has_value());
}

TEST_CASE("every header that can be written is read back the same") {
  for (unsigned bits = 0; bits < 64; ++bits) {
    for (std::uint8_t type = 0; type < 16; ++type) {
      const auto frame_bytes = rtp::osmux_frame_bytes(type);
      if (!frame_bytes) {
        continue;
      }
      const rtp::OsmuxHeader header{.kind = (bits & 1U) != 0 ? OsmuxKind::voice : OsmuxKind::dummy,
                                    .marker = (bits & 2U) != 0,
                                    .frame_count = static_cast<std::uint8_t>(1 + bits / 8),
                                    .followed = (bits & 4U) != 0,
                                    .good = (bits & 1U) == 0,
                                    .sequence = static_cast<std::uint8_t>(bits * 4 + type),
                                    .circuit = static_cast<std::uint8_t>(255 - bits),
                                    .frame_type = type,
                                    .mode_request = static_cast<std::uint8_t>(15 - type)};
      Bytes datagram(4 + header.frame_count * *frame_bytes);
      rtp::write_osmux_header(datagram, header);
      OsmuxReader reader(datagram);
      const auto chunk = reader.next();
      REQUIRE(chunk.has_value());
      CHECK(same_header(chunk->header, header));
      CHECK(chunk->frames.size() == datagram.size() - 4);
    }
  }
}

TEST_CASE("frames have the whole octets of their AMR frame type") {
  const std::vector<std::size_t> sizes{12, 13, 15, 17, 19, 20, 26, 31, 5, 6, 5, 5};
  for (std::uint8_t type = 0; type < 12; ++type) {
    CHECK(rtp::osmux_frame_bytes(type) == sizes[type]);
  }
  for (const int reserved : {12, 13, 14, 16, 255}) {
    const auto type = static_cast<std::uint8_t>(reserved);
    CHECK_FALSE(rtp::osmux_frame_bytes(type).has_value());
  }
  CHECK(rtp::osmux_frame_bytes(15) == 0);
}

TEST_CASE("the chunks of a datagram come one after the other, of whichever circuit and kind") {
  const Bytes datagram = chunk_bytes("21 05 00 22", 15) + chunk_bytes("4c 00 01 30", 68) +
                         chunk_bytes("a1 06 ff f2", 0) + chunk_bytes("25 07 02 7f", 62);
  const auto chunks = test::chunks_of(datagram);
  REQUIRE(chunks.size() == 4);
  CHECK(chunks[0].header.circuit == 0);
  CHECK(chunks[0].header.sequence == 5);
  CHECK(chunks[1].header.kind == OsmuxKind::dummy);
  CHECK(chunks[1].header.circuit == 1);
  CHECK(chunks[2].header.circuit == 255);
  CHECK(chunks[2].header.marker);
  CHECK(chunks[2].frames.empty());
  CHECK(chunks[3].header.frame_count == 2);
  CHECK(chunks[3].header.mode_request == 15);
}

TEST_CASE("a second voice chunk of a circuit in one datagram is marked as going on") {
  const Bytes datagram = chunk_bytes("4c 00 01 30", 68) + chunk_bytes("21 05 01 22", 15) +
                         chunk_bytes("21 05 02 22", 15) + chunk_bytes("21 06 01 72", 31);
  const auto chunks = test::chunks_of(datagram);
  REQUIRE(chunks.size() == 4);
  CHECK_FALSE(chunks[0].continues);
  CHECK_FALSE(chunks[1].continues);
  CHECK_FALSE(chunks[2].continues);
  CHECK(chunks[3].continues);
}

TEST_CASE("what ends before its length says is malformed, and so is an empty datagram") {
  CHECK(cause_after({}, 0) == OsmuxMalformed::too_short);
  for (std::size_t size = 1; size < 4; ++size) {
    CHECK(cause_after(Bytes(size, std::byte{0x21}), 0) == OsmuxMalformed::too_short);
    const Bytes behind = chunk_bytes("21 00 01 22", 15) + Bytes(size, std::byte{0x21});
    CHECK(cause_after(behind, 1) == OsmuxMalformed::too_short);
  }
  for (std::size_t size = 0; size < 60; ++size) {
    CHECK(cause_after(chunk_bytes("2d 00 07 22", size), 0) == OsmuxMalformed::frames_overrun);
    CHECK(cause_after(chunk_bytes("4d 00 07 22", size), 0) == OsmuxMalformed::frames_overrun);
  }
}

TEST_CASE("nothing behind a chunk of unknown length is read") {
  const Bytes good = chunk_bytes("21 00 01 22", 15);
  CHECK(cause_after(good + chunk_bytes("01 00 01 22", 15) + good, 1) == OsmuxMalformed::signalling);
  CHECK(cause_after(good + chunk_bytes("61 00 01 22", 15) + good, 1) == OsmuxMalformed::bad_type);
  for (const std::string type : {"c", "d", "e"}) {
    CHECK(cause_after(good + chunk_bytes("21 00 01 " + type + "2", 15) + good, 1) ==
          OsmuxMalformed::reserved_frame_type);
  }
}

TEST_CASE("causes have a name each") {
  std::set<std::string_view> names;
  for (std::size_t cause = 0; cause < rtp::kOsmuxMalformedCount; ++cause) {
    names.insert(rtp::to_string(static_cast<OsmuxMalformed>(cause)));
  }
  CHECK(names.size() == rtp::kOsmuxMalformedCount);
  CHECK_FALSE(names.contains("unknown"));
}

TEST_CASE("the dummy of old peers is two octets, alone in its datagram") {
  const auto chunks = test::chunks_of(from_hex("23 7b"));
  REQUIRE(chunks.size() == 1);
  CHECK(chunks[0].header.kind == OsmuxKind::legacy_dummy);
  CHECK(chunks[0].header.circuit == 0x7b);
  CHECK(chunks[0].frames.empty());
  CHECK(cause_after(from_hex("22 7b"), 0) == OsmuxMalformed::too_short);
  CHECK(cause_after(from_hex("23 7b 00"), 0) == OsmuxMalformed::too_short);
  CHECK(cause_after(chunk_bytes("21 00 01 22", 15) + from_hex("23 7b"), 1) ==
        OsmuxMalformed::too_short);
}

TEST_CASE("the dummy for a peer is one silent frame of its circuit") {
  Bytes out(16, std::byte{0xee});
  REQUIRE(rtp::write_osmux_dummy(out, 0x2a) == 16);
  CHECK(out == from_hex("40 00 2a 00 000000000000000000000000"));
  Bytes small(15, std::byte{0xee});
  CHECK(rtp::write_osmux_dummy(small, 0x2a) == 0);
  CHECK(small == Bytes(15, std::byte{0xee}));
}

TEST_CASE("each circuit has a window of SSRCs of its own") {
  constexpr std::uint32_t kWindow = 0xffffff;
  CHECK(rtp::osmux_ssrc(0, 0) == 0);
  CHECK(rtp::osmux_ssrc(0, kWindow) == 0);
  CHECK(rtp::osmux_ssrc(7, 5) == 7 * kWindow + 5);
  for (unsigned circuit = 0; circuit < 256; ++circuit) {
    for (const std::uint32_t random : {0U, 1U, kWindow - 1, kWindow, 0x80000000U, 0xffffffffU}) {
      const std::uint32_t ssrc = rtp::osmux_ssrc(static_cast<std::uint8_t>(circuit), random);
      CHECK(ssrc / kWindow == circuit);
    }
  }
}
