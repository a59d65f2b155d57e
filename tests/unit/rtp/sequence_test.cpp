// Extended sequence numbers and byte order.
#include "rtp/sequence.h"

#include "rtp/byte_order.h"

#include <doctest/doctest.h>

#include <array>

TEST_CASE("the distance of sequence numbers is the short way round") {
  CHECK(rtp::sequence_distance(0, 1) == 1);
  CHECK(rtp::sequence_distance(1, 0) == -1);
  CHECK(rtp::sequence_distance(65535, 0) == 1);
  CHECK(rtp::sequence_distance(0, 65535) == -1);
  CHECK(rtp::sequence_distance(0, 32767) == 32767);
  CHECK(rtp::sequence_distance(0, 32768) == -32768);
  CHECK(rtp::sequence_distance(40000, 40000) == 0);
}

TEST_CASE("extended numbers go on growing over many wraps, with gaps and swaps") {
  rtp::ExtendedSequence sequence;
  CHECK_FALSE(sequence.started());
  std::int64_t next = 65534;
  CHECK(sequence.update(65534) == next);
  for (int round = 0; round < 400'000; ++round) {
    const int step = 1 + round % 3;
    next += step;
    REQUIRE(sequence.update(static_cast<std::uint16_t>(next & 0xffff)) == next);
    REQUIRE(sequence.update(static_cast<std::uint16_t>((next - 5) & 0xffff)) == next - 5);
    REQUIRE(sequence.highest() == next);
  }
  CHECK(sequence.started());
}

TEST_CASE("numbers older than the first one come out negative") {
  rtp::ExtendedSequence sequence;
  CHECK(sequence.update(1) == 1);
  CHECK(sequence.update(65535) == -1);
  CHECK(sequence.highest() == 1);
  CHECK(rtp::extend_sequence(-1, 65534) == -2);
  CHECK(rtp::extend_sequence(-1, 0) == 0);
}

TEST_CASE("stored numbers have their most significant octet first and load back") {
  std::array<std::byte, 9> bytes{};
  rtp::store_u16(bytes.data(), 0x0102);
  rtp::store_u24(bytes.data() + 2, 0xff030405);
  rtp::store_u32(bytes.data() + 5, 0x06070809);
  for (unsigned index = 0; index < bytes.size(); ++index) {
    CHECK(bytes[index] == static_cast<std::byte>(index + 1));
  }
  CHECK(rtp::load_u16(bytes.data()) == 0x0102);
  CHECK(rtp::load_u24(bytes.data() + 2) == 0x030405);
  CHECK(rtp::load_u32(bytes.data() + 5) == 0x06070809);
}
