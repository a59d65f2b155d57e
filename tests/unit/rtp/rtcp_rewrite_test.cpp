// RTCP beside patched media: numbers put forward for what the source says, back for what it is
// told.
#include "rtp/rtcp_rewrite.h"

#include "rtp/rtcp_packet.h"
#include "tests/unit/rtp/test_packets.h"

#include <doctest/doctest.h>

#include <array>

namespace {

using rtp::RtcpReader;
using rtp::RtcpRewrite;
using test::Bytes;
using test::from_hex;

constexpr std::uint32_t kSource = 0x22;
constexpr std::uint32_t kOutput = 0x11;
constexpr std::uint32_t kPeerSource = 0x44;
constexpr std::uint32_t kPeerOutput = 0x33;

RtcpRewrite both_patched() {
  RtcpRewrite rewrite;
  rewrite.sender = {kSource, kOutput, 1000, 7, 500, 40, 4000, true};
  rewrite.reported = {kPeerSource, kPeerOutput, 0, 100, 0x20010, 0, 0, true};
  return rewrite;
}

Bytes rewritten(Bytes compound, const RtcpRewrite& rewrite) {
  compound.resize(rtp::rewrite_rtcp(compound, rewrite));
  return compound;
}

template <typename Fill>
Bytes written(Fill fill) {
  Bytes memory(400);
  rtp::RtcpWriter writer(memory);
  fill(writer);
  memory.resize(writer.size());
  return memory;
}

rtp::ReportBlock report_on(std::uint32_t ssrc, std::uint32_t highest) {
  rtp::ReportBlock block;
  block.ssrc = ssrc;
  block.highest_sequence = highest;
  block.cumulative_lost = 5;
  return block;
}

}  // namespace

TEST_CASE("a sender report follows its patched stream") {
  const Bytes compound =
      rewritten(written([](rtp::RtcpWriter& writer) {
                  CHECK(writer.add_sender_report({kSource, 0x1234, 0xffffffff, 10, 100},
                                                 std::array{report_on(kPeerOutput, 0x10050)}));
                }),
                both_patched());
  RtcpReader reader(compound);
  const auto packet = reader.next();
  REQUIRE(packet.has_value());
  const auto sender = rtp::read_sender_info(*packet);
  REQUIRE(sender.has_value());
  CHECK(sender->ssrc == kOutput);
  CHECK(sender->ntp_timestamp == 0x1234);
  CHECK(sender->rtp_timestamp == 999);
  CHECK(sender->packet_count == 50);
  CHECK(sender->octet_count == 4100);
  const auto block = rtp::read_report_block(*packet, 0);
  REQUIRE(block.has_value());
  CHECK(block->ssrc == kPeerSource);
  CHECK(block->highest_sequence == 0x1ffec);
  CHECK(block->cumulative_lost == 5);
}

TEST_CASE(
    "a reported highest number comes back in the source's own cycles, never beyond its last") {
  struct Case {
    std::uint32_t output;
    std::uint16_t offset;
    std::uint32_t source_highest;
    std::uint32_t expected;
  };
  for (const Case& one : {
           Case{1000, 0, 1000, 1000}, Case{1000, 600, 400, 400},
           Case{1000, 600, 0x30000 + 402, 0x30000 + 400},  // the receiver joined late
           Case{0x50000, 1, 0x1ffff, 0x1ffff},             // the output wrapped, the source did not
           Case{5, 10, 0x20001, 0x1fffb},
           Case{5, 10, 3, 0xfffb},  // of before the source's first packet
       }) {
    RtcpRewrite rewrite;
    rewrite.reported = {kPeerSource, kPeerOutput, 0, one.offset, one.source_highest, 0, 0, true};
    const Bytes compound = rewritten(
        written([&](rtp::RtcpWriter& writer) {
          CHECK(writer.add_receiver_report(9, std::array{report_on(kPeerOutput, one.output)}));
        }),
        rewrite);
    RtcpReader reader(compound);
    const auto packet = reader.next();
    REQUIRE(packet.has_value());
    CHECK(rtp::rtcp_ssrc(*packet) == 9);
    CHECK(rtp::read_report_block(*packet, 0)->highest_sequence == one.expected);
  }
}

TEST_CASE("without an active mapping a compound stays as it is") {
  RtcpRewrite rewrite = both_patched();
  rewrite.sender.active = false;
  rewrite.reported.active = false;
  test::Random random(5);
  const Bytes compound = random.bytes(100);
  CHECK(rewritten(compound, rewrite) == compound);
}

TEST_CASE("SSRCs that neither mapping knows stay as they are") {
  const Bytes compound = written([](rtp::RtcpWriter& writer) {
    CHECK(writer.add_sender_report({77, 1, 2, 3, 4}, std::array{report_on(78, 5)}));
    CHECK(writer.add_cname(77, "x"));
    CHECK(writer.add_bye(77, ""));
  });
  CHECK(rewritten(compound, both_patched()) == compound);
}

TEST_CASE("SDES, BYE and APP name the output's SSRC") {
  const auto rewrite = both_patched();
  CHECK(rewritten(from_hex("81ca0003 00000022 01026162 00000000"), rewrite) ==
        from_hex("81ca0003 00000011 01026162 00000000"));
  CHECK(rewritten(from_hex("82cb0002 00000099 00000022"), rewrite) ==
        from_hex("82cb0002 00000099 00000011"));
  CHECK(rewritten(from_hex("80cc0002 00000022 6e616d65"), rewrite) ==
        from_hex("80cc0002 00000011 6e616d65"));
}

TEST_CASE("what a retired SSRC says under the number of the running output is taken out") {
  const auto rewrite = both_patched();
  const Bytes report = from_hex("80c90001 00000022");
  const Bytes report_out = from_hex("80c90001 00000011");
  const auto behind_report = [&](const char* packet, const char* expected) {
    Bytes compound = report;
    const Bytes added = from_hex(packet);
    compound.insert(compound.end(), added.begin(), added.end());
    Bytes result = report_out;
    const Bytes left = from_hex(expected);
    result.insert(result.end(), left.begin(), left.end());
    CHECK(rewritten(compound, rewrite) == result);
  };
  behind_report("81cb0001 00000011", "");
  behind_report("83cb0003 00000055 00000011 00000022", "82cb0002 00000055 00000011");
  behind_report("82cb0004 00000011 00000022 03616263 00000000",
                "81cb0003 00000011 03616263 00000000");
  behind_report("81ca0002 00000011 00000000", "");
  behind_report("82ca0004 00000011 01016100 00000022 01016200", "81ca0002 00000011 01016200");
  behind_report("80c80006 00000011 00000000 00000000 00000000 00000000 00000000", "");
  // Nothing is left at all.
  CHECK(rewritten(from_hex("81cb0001 00000011"), rewrite).empty());
  // What is left can't stand alone.
  CHECK(rewritten(from_hex("81cb0001 00000011 80ec0001 00000022"), rewrite).empty());
}

TEST_CASE("feedback names the output as its sender and the source as its media") {
  const auto rewrite = both_patched();
  // Generic NACK: PID 0x0164 is the source's 0x0100.
  CHECK(rewritten(from_hex("81cd0003 00000022 00000033 0164beef"), rewrite) ==
        from_hex("81cd0003 00000011 00000044 0100beef"));
  CHECK(rewritten(from_hex("81cd0003 00000022 00000077 0164beef"), rewrite) ==
        from_hex("81cd0003 00000011 00000077 0164beef"));
  // PLI, TMMBR and FIR.
  CHECK(rewritten(from_hex("81ce0002 00000022 00000033"), rewrite) ==
        from_hex("81ce0002 00000011 00000044"));
  CHECK(rewritten(from_hex("83cd0004 00000022 00000000 00000033 12345678"), rewrite) ==
        from_hex("83cd0004 00000011 00000000 00000044 12345678"));
  CHECK(rewritten(from_hex("84ce0004 00000022 00000000 00000033 05000000"), rewrite) ==
        from_hex("84ce0004 00000011 00000000 00000044 05000000"));
  // Too short for a media source.
  CHECK(rewritten(from_hex("81ce0001 00000022"), rewrite) == from_hex("81ce0001 00000011"));
}

TEST_CASE("extended reports name the source and its numbers") {
  const auto rewrite = both_patched();
  // Statistics summary with begin 0x0164 and end 0x0174, then DLRR, then an unknown block.
  CHECK(rewritten(from_hex("80cf0009 00000022 06e00002 00000033 01640174 "
                           "05000003 00000033 11111111 22222222 c8000000"),
                  rewrite) == from_hex("80cf0009 00000011 06e00002 00000044 01000110 "
                                       "05000003 00000044 11111111 22222222 c8000000"));
  // VoIP metrics keep what is not an SSRC; a block that overruns is left alone.
  CHECK(rewritten(from_hex("80cf0004 00000022 07000002 00000033 01640174"), rewrite) ==
        from_hex("80cf0004 00000011 07000002 00000044 01640174"));
  CHECK(rewritten(from_hex("80cf0003 00000022 01000009 00000033"), rewrite) ==
        from_hex("80cf0003 00000011 01000009 00000033"));
}

TEST_CASE("what is no packet behind a compound is relayed with it") {
  CHECK(rewritten(from_hex("80c90001 00000022 abcdef"), both_patched()) ==
        from_hex("80c90001 00000011 abcdef"));
}

TEST_CASE("a source that is not mapped to another SSRC keeps its BYE") {
  RtcpRewrite rewrite;
  rewrite.sender = {kSource, kSource, 33, 0, 0, 0, 0, true};
  const Bytes bye = from_hex("81cb0001 00000022");
  CHECK(rewritten(bye, rewrite) == bye);
}

TEST_CASE("without reports a compound is an empty RR and what is no report, or nothing") {
  RtcpRewrite rewrite;
  rewrite.without_reports = true;
  const auto compound = [](bool goodbye) {
    return written([goodbye](rtp::RtcpWriter& writer) {
      CHECK(writer.add_sender_report({kSource, 0x1234, 10, 10, 100},
                                     std::array{report_on(kPeerOutput, 0x10050)}));
      CHECK(writer.add_receiver_report(kSource, std::array{report_on(kPeerOutput, 0x10050)}));
      CHECK(writer.add_cname(kSource, "name"));
      if (goodbye) {
        CHECK(writer.add_bye(kSource, "end"));
      }
    });
  };
  CHECK(rewritten(compound(false), rewrite).empty());
  const Bytes expected = written([](rtp::RtcpWriter& writer) {
    CHECK(writer.add_receiver_report(kSource, {}));
    CHECK(writer.add_cname(kSource, "name"));
    CHECK(writer.add_bye(kSource, "end"));
  });
  CHECK(rewritten(compound(true), rewrite) == expected);
  // What is left follows its stream.
  rewrite.sender = {kSource, kOutput, 0, 0, 0, 0, 0, true};
  const Bytes renamed = rewritten(compound(true), rewrite);
  CHECK(renamed.size() == expected.size());
  CHECK(renamed[7] == static_cast<std::byte>(kOutput));
  // Feedback and extended reports go too, also where they stand alone.
  CHECK(rewritten(from_hex("81cd0003 00000022 00000033 00010000"), rewrite).empty());
  CHECK(rewritten(from_hex("80cf0001 00000022"), rewrite).empty());
}
