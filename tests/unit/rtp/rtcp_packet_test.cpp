// RTCP compounds: which are let through, what is read from them, and writers against readers.
#include "rtp/rtcp_packet.h"

#include "tests/unit/rtp/test_packets.h"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

namespace {

using rtp::RtcpMalformed;
using rtp::RtcpPacket;
using rtp::RtcpReader;
using rtp::RtcpType;
using test::Bytes;
using test::from_hex;

/// The packets of a compound that outlives them.
std::vector<RtcpPacket> packets_of(const Bytes& compound) {
  std::vector<RtcpPacket> packets;
  RtcpReader reader(compound);
  while (const auto packet = reader.next()) {
    packets.push_back(*packet);
  }
  return packets;
}

std::vector<RtcpPacket> packets_of(Bytes&&) = delete;

rtp::ReportBlock some_block(std::uint32_t ssrc) {
  return {ssrc, 12, -345, 0x00010002, 67, 0x89abcdef, 0x1234};
}

void check_equal(const rtp::ReportBlock& left, const rtp::ReportBlock& right) {
  CHECK(left.ssrc == right.ssrc);
  CHECK(left.fraction_lost == right.fraction_lost);
  CHECK(left.cumulative_lost == right.cumulative_lost);
  CHECK(left.highest_sequence == right.highest_sequence);
  CHECK(left.jitter == right.jitter);
  CHECK(left.last_sender_report == right.last_sender_report);
  CHECK(left.delay_since_last_report == right.delay_since_last_report);
}

}  // namespace

TEST_CASE("a first packet whose length points behind the datagram is malformed") {
  for (std::size_t size = 4; size <= 64; size += 4) {
    for (std::size_t words = 0; words < 20; ++words) {
      Bytes datagram(size);
      datagram[0] = std::byte{0x80};
      datagram[1] = std::byte{201};
      datagram[3] = static_cast<std::byte>(words);
      const auto verdict = rtp::validate_rtcp(datagram);
      const bool fits = (words + 1) * 4 <= size;
      CHECK(verdict.has_value() == fits);
      CHECK((fits || verdict.error() == RtcpMalformed::length_overrun));
    }
  }
  const auto verdict = rtp::validate_rtcp(from_hex("80c9ffff 00000001"));
  REQUIRE_FALSE(verdict.has_value());
  CHECK(verdict.error() == RtcpMalformed::length_overrun);
}

TEST_CASE("only the assigned packet types are RTCP") {
  for (unsigned type = 0; type < 256; ++type) {
    Bytes datagram = from_hex("80000001 00000001");
    datagram[1] = static_cast<std::byte>(type);
    const bool known = (type >= 192 && type <= 195) || (type >= 200 && type <= 213);
    const auto verdict = rtp::validate_rtcp(datagram);
    CHECK(verdict.has_value() == known);
    CHECK((known || verdict.error() == RtcpMalformed::unknown_type));
  }
}

TEST_CASE("RTCP has version 2 and at least four octets") {
  for (std::size_t size = 0; size < 4; ++size) {
    CHECK(rtp::validate_rtcp(Bytes(size, std::byte{0x80})).error() == RtcpMalformed::too_short);
  }
  for (const unsigned first : {0x00U, 0x40U, 0xc0U}) {
    Bytes datagram = from_hex("80c90001 00000001");
    datagram[0] = static_cast<std::byte>(first);
    CHECK(rtp::validate_rtcp(datagram).error() == RtcpMalformed::bad_version);
  }
  CHECK(rtp::to_string(RtcpMalformed::too_short) == "too_short");
  CHECK(rtp::to_string(RtcpMalformed::bad_version) == "bad_version");
  CHECK(rtp::to_string(RtcpMalformed::length_overrun) == "length_overrun");
  CHECK(rtp::to_string(RtcpMalformed::unknown_type) == "unknown_type");
}

TEST_CASE("a compound of SR, SDES and BYE, an RR of 8 octets and the smallest XR pass") {
  std::array<std::byte, 200> memory{};
  rtp::RtcpWriter writer(memory);
  const std::array blocks{some_block(7)};
  REQUIRE(writer.add_sender_report({1, 2, 3, 4, 5}, blocks));
  REQUIRE(writer.add_cname(1, "a@b"));
  REQUIRE(writer.add_bye(1, "done"));
  const auto compound = std::span(memory).first(writer.size());
  CHECK(rtp::validate_rtcp(compound).has_value());
  const Bytes copy(compound.begin(), compound.end());
  CHECK(packets_of(copy).size() == 3);
  CHECK(rtp::validate_rtcp(from_hex("80c90001 00000001")).has_value());
  CHECK(rtp::validate_rtcp(from_hex("80cf0001 00000001")).has_value());
}

TEST_CASE("what is written as SR, RR, SDES and BYE reads back the same") {
  for (std::size_t count = 0; count <= rtp::kRtcpCountMax; ++count) {
    std::vector<rtp::ReportBlock> blocks;
    for (std::uint32_t index = 0; index < count; ++index) {
      blocks.push_back(some_block(1000 + index));
    }
    Bytes memory(4000);
    rtp::RtcpWriter writer(memory);
    REQUIRE(writer.add_sender_report({0xa1a2a3a4, 0x0102030405060708, 9, 10, 11}, blocks));
    REQUIRE(writer.add_receiver_report(0xb1b2b3b4, blocks));
    const std::string name(count * 8, 'n');
    REQUIRE(writer.add_cname(0xc1c2c3c4, name));
    REQUIRE(writer.add_bye(0xd1d2d3d4, name));
    memory.resize(writer.size());
    const auto packets = packets_of(memory);
    REQUIRE(packets.size() == 4);

    const auto sender = rtp::read_sender_info(packets[0]);
    REQUIRE(sender.has_value());
    CHECK(sender->ssrc == 0xa1a2a3a4);
    CHECK(sender->ntp_timestamp == 0x0102030405060708);
    CHECK(sender->rtp_timestamp == 9);
    CHECK(sender->packet_count == 10);
    CHECK(sender->octet_count == 11);
    CHECK(rtp::rtcp_ssrc(packets[1]) == 0xb1b2b3b4);
    for (const RtcpPacket& packet : {packets[0], packets[1]}) {
      REQUIRE(rtp::report_block_count(packet) == count);
      for (std::size_t index = 0; index < count; ++index) {
        check_equal(*rtp::read_report_block(packet, index), blocks[index]);
      }
      CHECK_FALSE(rtp::read_report_block(packet, count).has_value());
    }
    CHECK_FALSE(rtp::read_sender_info(packets[1]).has_value());
    const auto source = rtp::read_sdes_chunk(packets[2].body);
    REQUIRE(source.has_value());
    CHECK(source->ssrc == 0xc1c2c3c4);
    CHECK(source->cname == name);
    CHECK(rtp::read_bye_source(packets[3], 0) == 0xd1d2d3d4);
    CHECK_FALSE(rtp::read_bye_source(packets[3], 1).has_value());
    CHECK(test::bye_reason(packets[3]) == name);
  }
}

TEST_CASE("cumulative loss is 24 bits with a sign and is limited to them") {
  for (const auto& [lost, expected] : {std::pair{0, 0},
                                       {1, 1},
                                       {-1, -1},
                                       {0x7fffff, 0x7fffff},
                                       {-0x800000, -0x800000},
                                       {0x800000, 0x7fffff},
                                       {-0x800001, -0x800000}}) {
    Bytes memory(64);
    rtp::RtcpWriter writer(memory);
    rtp::ReportBlock block;
    block.cumulative_lost = lost;
    REQUIRE(writer.add_receiver_report(1, std::array{block}));
    memory.resize(writer.size());
    CHECK(rtp::read_report_block(packets_of(memory).at(0), 0)->cumulative_lost == expected);
  }
}

TEST_CASE("a writer without room, or past a limit, leaves the compound as it was") {
  Bytes memory(20);
  rtp::RtcpWriter writer(memory);
  REQUIRE(writer.add_receiver_report(1, {}));
  const Bytes before = memory;
  CHECK_FALSE(writer.add_sender_report({}, {}));
  CHECK_FALSE(writer.add_receiver_report(1, std::array{some_block(1)}));
  CHECK_FALSE(writer.add_cname(1, "longer than that"));
  CHECK_FALSE(writer.add_bye(1, "longer than that"));
  CHECK(writer.size() == 8);
  CHECK(memory == before);
  Bytes large(2000);
  rtp::RtcpWriter roomy(large);
  CHECK_FALSE(roomy.add_receiver_report(1, std::vector(32, some_block(1))));
  CHECK_FALSE(roomy.add_cname(1, std::string(256, 'x')));
  CHECK_FALSE(roomy.add_bye(1, std::string(256, 'x')));
  CHECK(roomy.add_cname(1, std::string(255, 'x')));
  CHECK(roomy.add_bye(1, std::string(255, 'x')));
}

TEST_CASE("the reader stops where the rest is no whole packet") {
  const Bytes good = from_hex("80c90001 00000001");
  for (const char* rest : {"80", "80ca00", "80ca0005 00000001", "40ca0001 00000001"}) {
    Bytes compound = good;
    const Bytes more = from_hex(rest);
    compound.insert(compound.end(), more.begin(), more.end());
    RtcpReader reader(compound);
    CHECK(reader.next().has_value());
    CHECK_FALSE(reader.next().has_value());
    CHECK(reader.rest().size() == more.size());
  }
}

TEST_CASE("padding is not part of the body, and padding beyond the body is no packet") {
  const Bytes padded = from_hex("a0c90002 00000001 00000004");
  const auto packets = packets_of(padded);
  REQUIRE(packets.size() == 1);
  CHECK(packets[0].bytes.size() == 12);
  CHECK(packets[0].body.size() == 4);
  for (const char* wrong :
       {"a0c90002 00000001 00000000", "a0c90002 00000001 00000009", "a0cb0000"}) {
    const Bytes compound = from_hex(wrong);
    CHECK(packets_of(compound).empty());
  }
}

TEST_CASE("counts that promise more than the packet holds are not believed") {
  const Bytes report = from_hex("9fc90002 00000001 00000002");
  CHECK(rtp::report_block_count(packets_of(report).at(0)) == 0);
  const Bytes short_sender = from_hex("81c80001 00000001");
  CHECK_FALSE(rtp::read_sender_info(packets_of(short_sender).at(0)).has_value());
  CHECK(rtp::report_block_count(packets_of(short_sender).at(0)) == 0);
  const Bytes bye = from_hex("83cb0001 00000001");
  CHECK(rtp::read_bye_source(packets_of(bye).at(0), 0) == 1);
  CHECK_FALSE(rtp::read_bye_source(packets_of(bye).at(0), 1).has_value());
  for (const char* without_source : {"80cb0000", "80cb0001 00000001", "80c90000"}) {
    const Bytes compound = from_hex(without_source);
    CHECK_FALSE(rtp::rtcp_ssrc(packets_of(compound).at(0)).has_value());
  }
}

TEST_CASE("SDES chunks are read up to the first that is not whole") {
  // A chunk with NOTE, then one with CNAME "ab".
  const Bytes compound = from_hex("82ca0005 00000001 07016e00 00000002 01026162 00000000");
  const auto packets = packets_of(compound);
  REQUIRE(packets.size() == 1);
  const auto first = rtp::read_sdes_chunk(packets[0].body);
  REQUIRE(first.has_value());
  CHECK(first->cname.empty());
  const auto source = rtp::read_sdes_chunk(packets[0].body.subspan(first->size));
  REQUIRE(source.has_value());
  CHECK(source->ssrc == 2);
  CHECK(source->cname == "ab");
  for (const char* chunk : {"000000", "00000001", "00000001 0109", "00000001 01020000",
                            "00000001 01", "00000001 01026162"}) {
    CHECK_FALSE(rtp::read_sdes_chunk(from_hex(chunk)).has_value());
  }
}

TEST_CASE("report blocks carry the middle of an NTP timestamp") {
  CHECK(rtp::middle_of_ntp(0x1122334455667788) == 0x33445566);
}
