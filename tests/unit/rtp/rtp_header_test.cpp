// RTP headers: every way to be malformed, and every writer against the parser.
#include "rtp/rtp_header.h"

#include "rtp/byte_order.h"
#include "tests/unit/rtp/test_packets.h"

#include <doctest/doctest.h>

#include <initializer_list>

namespace {

using rtp::RtpMalformed;
using test::Bytes;
using test::from_hex;

/// First octet of the header from its bits, then a header of 12 octets and `rest` octets of 0.
Bytes packet_with(unsigned version, bool padding, bool extension, unsigned csrc_count,
                  std::size_t rest) {
  Bytes packet = from_hex("00 08 1234 00000140 deadbeef");
  packet[0] = static_cast<std::byte>(version << 6U | (padding ? 0x20U : 0U) |
                                     (extension ? 0x10U : 0U) | csrc_count);
  packet.resize(packet.size() + rest);
  return packet;
}

RtpMalformed cause_of(const Bytes& packet) {
  const auto header = rtp::parse_rtp(packet);
  REQUIRE_FALSE(header.has_value());
  return header.error();
}

}  // namespace

TEST_CASE("the fields of an RTP header are read as they stand") {
  const auto header = rtp::parse_rtp(from_hex("80 e5 fffe 12345678 cafebabe 010203"));
  REQUIRE(header.has_value());
  CHECK(header->marker);
  CHECK(header->payload_type == 0x65);
  CHECK(header->sequence == 0xfffe);
  CHECK(header->timestamp == 0x12345678);
  CHECK(header->ssrc == 0xcafebabe);
  CHECK(header->csrc_count == 0);
  CHECK_FALSE(header->has_extension);
  CHECK(header->payload_offset == 12);
  CHECK(header->payload_size == 3);
  CHECK(header->padding_size == 0);
}

TEST_CASE("datagrams shorter than the fixed header are too short, whatever they hold") {
  for (std::size_t size = 0; size < rtp::kRtpHeaderBytes; ++size) {
    CHECK(cause_of(Bytes(size, std::byte{0x80})) == RtpMalformed::too_short);
  }
  CHECK(rtp::parse_rtp(packet_with(2, false, false, 0, 0)).has_value());
}

TEST_CASE("only version 2 is RTP") {
  for (const unsigned version : {0U, 1U, 3U}) {
    CHECK(cause_of(packet_with(version, false, false, 0, 20)) == RtpMalformed::bad_version);
  }
}

TEST_CASE("a CSRC list must end inside the datagram, for every count") {
  for (unsigned count = 1; count <= 15; ++count) {
    CHECK(cause_of(packet_with(2, false, false, count, 4U * count - 1)) ==
          RtpMalformed::csrc_overrun);
    const auto header = rtp::parse_rtp(packet_with(2, false, false, count, 4U * count));
    REQUIRE(header.has_value());
    CHECK(header->csrc_count == count);
    CHECK(header->payload_offset == 12 + 4 * count);
    CHECK(header->payload_size == 0);
  }
}

TEST_CASE("a header extension must be there and end inside the datagram") {
  for (std::size_t rest = 0; rest < 4; ++rest) {
    CHECK(cause_of(packet_with(2, false, true, 0, rest)) == RtpMalformed::extension_overrun);
  }
  for (const unsigned words : {0U, 1U, 7U, 300U}) {
    const std::size_t size = 4U + 4U * words;
    Bytes packet = packet_with(2, false, true, 2, 8 + size);
    rtp::store_u16(packet.data() + 22, static_cast<std::uint16_t>(words));
    const auto header = rtp::parse_rtp(packet);
    REQUIRE(header.has_value());
    CHECK(header->has_extension);
    CHECK(header->payload_offset == packet.size());
    rtp::store_u16(packet.data() + 22, static_cast<std::uint16_t>(words + 1));
    CHECK(cause_of(packet) == RtpMalformed::extension_overrun);
    rtp::store_u16(packet.data() + 22, 0xffff);
    CHECK(cause_of(packet) == RtpMalformed::extension_overrun);
  }
}

TEST_CASE("padding of 0 or more than there is behind the header is malformed, all else is not") {
  for (std::size_t rest = 1; rest <= 40; ++rest) {
    for (unsigned padding = 0; padding < 256; ++padding) {
      Bytes packet = packet_with(2, true, false, 0, rest);
      packet.back() = static_cast<std::byte>(padding);
      if (padding == 0 || padding > rest) {
        CHECK(cause_of(packet) == RtpMalformed::bad_padding);
        continue;
      }
      const auto header = rtp::parse_rtp(packet);
      REQUIRE(header.has_value());
      CHECK(header->padding_size == padding);
      CHECK(header->payload_size == rest - padding);
    }
  }
  // Without a payload the last octet belongs to the header: it is no padding count.
  CHECK(cause_of(packet_with(2, true, false, 0, 0)) == RtpMalformed::bad_padding);
}

TEST_CASE("each writer changes its own field and nothing else") {
  const Bytes original = from_hex("b1 8a 0102 03040506 0708090a 11111111 be ef 0000 55 01");
  Bytes packet = original;
  rtp::set_payload_type(packet, 127);
  CHECK(packet[1] == std::byte{0xff});
  rtp::set_marker(packet, false);
  CHECK(packet[1] == std::byte{0x7f});
  rtp::set_payload_type(packet, 10);
  rtp::set_marker(packet, true);
  CHECK(packet == original);
  rtp::set_sequence(packet, 0xa1a2);
  rtp::set_timestamp(packet, 0xb1b2b3b4);
  rtp::set_ssrc(packet, 0xc1c2c3c4);
  CHECK(packet == from_hex("b1 8a a1a2 b1b2b3b4 c1c2c3c4 11111111 be ef 0000 55 01"));
}

TEST_CASE("a written header reads back the same") {
  test::Random random(1);
  for (std::uint32_t round = 0; round < 200; ++round) {
    rtp::RtpHeader header;
    header.marker = random.below(2) == 1;
    header.payload_type = static_cast<std::uint8_t>(random.below(128));
    header.sequence = static_cast<std::uint16_t>(random.below(0x10000));
    header.timestamp = random.below(0xffffffff);
    header.ssrc = random.below(0xffffffff);
    const auto read = rtp::parse_rtp(test::rtp_packet(header, random.bytes(round % 50)));
    REQUIRE(read.has_value());
    CHECK(read->marker == header.marker);
    CHECK(read->payload_type == header.payload_type);
    CHECK(read->sequence == header.sequence);
    CHECK(read->timestamp == header.timestamp);
    CHECK(read->ssrc == header.ssrc);
    CHECK(read->payload_size == round % 50);
  }
  Bytes small(11, std::byte{7});
  CHECK(rtp::write_rtp_header(small, rtp::RtpHeader{}) == 0);
  CHECK(small == Bytes(11, std::byte{7}));
}

TEST_CASE("padding taken off leaves a valid packet of the payload alone") {
  Bytes packet = from_hex("a0 08 0001 00000000 00000001 aabbcc 000003");
  auto header = rtp::parse_rtp(packet);
  REQUIRE(header.has_value());
  packet.resize(rtp::remove_padding(packet, *header));
  CHECK(packet == from_hex("80 08 0001 00000000 00000001 aabbcc"));
  CHECK(header->padding_size == 0);
}

TEST_CASE("each malformed cause has a name of its own") {
  CHECK(rtp::to_string(RtpMalformed::too_short) == "too_short");
  CHECK(rtp::to_string(RtpMalformed::bad_version) == "bad_version");
  CHECK(rtp::to_string(RtpMalformed::csrc_overrun) == "csrc_overrun");
  CHECK(rtp::to_string(RtpMalformed::extension_overrun) == "extension_overrun");
  CHECK(rtp::to_string(RtpMalformed::bad_padding) == "bad_padding");
}
