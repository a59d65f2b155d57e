// What one end of a session reports, and what it makes of the other end's reports (RFC 3550
// section 6).

#include "rtp/rtcp_session.h"

#include "tests/unit/rtp/test_packets.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <vector>

using namespace std::chrono_literals;
using rtp::ConnectionStatistics;
using rtp::ReportBlock;
using rtp::round_trip_time;
using rtp::RtcpPacket;
using rtp::RtcpReader;
using rtp::RtcpSession;
using rtp::RtcpType;
using rtp::RtcpWriter;
using rtp::to_ntp;

namespace {

constexpr io::TimePoint kStart{1'000s};
constexpr io::Duration kWallClockOffset = 1'700'000'000s;
constexpr std::uint32_t kOwn = 0x0a0b0c0d;
constexpr std::uint32_t kSent = 0x51515151;
constexpr std::uint32_t kHeard = 0x77777777;
constexpr std::uint32_t kRandom = 0xfeedbeef;
constexpr RtcpSession::Name kName = {'c', 'a', 'n', 'o', 'n', 'i', 'c', 'a',
                                     'l', ' ', 'n', 'a', 'm', 'e', '0', '1'};

RtcpSession make_session() {
  return {kOwn, kName, kWallClockOffset};
}

std::uint64_t ntp_at(io::TimePoint now) {
  return to_ntp(now.time_since_epoch() + kWallClockOffset);
}

/// Sends `count` packets of 20 ms PCMA in a row, the first at `now`.
void send_stream(RtcpSession& session, std::uint32_t ssrc, std::uint32_t count, io::TimePoint now) {
  for (std::uint32_t i = 0; i < count; ++i) {
    session.on_sent({ssrc, 1'000 + i * 160, static_cast<std::uint16_t>(65'530 + i), 160, 8000},
                    now + i * 20ms);
  }
}

void receive(ConnectionStatistics& received, std::uint32_t ssrc, std::uint16_t sequence,
             io::TimePoint now) {
  rtp::RtpHeader header;
  header.ssrc = ssrc;
  header.sequence = sequence;
  header.timestamp = sequence * 160U;
  header.payload_size = 160;
  received.on_packet(header, now, 160);
}

/// The packets of a report, and the memory that they are views of.
struct Report {
  std::array<std::byte, rtp::kRtcpReportBytesMax> bytes{};
  std::size_t size = 0;
  [[nodiscard]] std::vector<RtcpPacket> packets() const {
    std::vector<RtcpPacket> all;
    RtcpReader reader({bytes.data(), size});
    while (const auto packet = reader.next()) {
      all.push_back(*packet);
    }
    CHECK(reader.rest().empty());
    return all;
  }
  [[nodiscard]] std::vector<RtcpType> types() const {
    std::vector<RtcpType> all;
    for (const RtcpPacket& packet : packets()) {
      all.push_back(static_cast<RtcpType>(packet.type));
    }
    return all;
  }
};

Report write(RtcpSession& session, ConnectionStatistics& received, io::TimePoint now) {
  Report report;
  report.size = session.write_report(report.bytes, received, now, kRandom);
  return report;
}

Report write_goodbye(RtcpSession& session, ConnectionStatistics& received, io::TimePoint now) {
  Report report;
  report.size = session.write_goodbye(report.bytes, received, now, kRandom);
  return report;
}

/// The peer's report about one stream.
std::size_t hear(RtcpSession& session, const ReportBlock& block, io::TimePoint now,
                 std::uint32_t sender = kHeard) {
  std::array<std::byte, 64> bytes{};
  RtcpWriter writer(bytes);
  REQUIRE(writer.add_receiver_report(sender, {&block, 1}));
  return session.on_received(std::span(bytes).first(writer.size()), now);
}

const std::vector<RtcpType> kSenderReport = {RtcpType::sender_report, RtcpType::source_description};
const std::vector<RtcpType> kReceiverReport = {RtcpType::receiver_report,
                                               RtcpType::source_description};

}  // namespace

TEST_CASE("wall clock time becomes an NTP timestamp") {
  CHECK(to_ntp(0s) == std::uint64_t{2'208'988'800} << 32U);
  CHECK(to_ntp(500ms) == (std::uint64_t{2'208'988'800} << 32U | 0x80000000U));
  CHECK(to_ntp(-250ms) == (std::uint64_t{2'208'988'799} << 32U | 0xc0000000U));
  CHECK((to_ntp(999'999'999ns) >> 32U) == 2'208'988'800);
  CHECK(to_ntp(2'085'978'496s) == 0);  // 2036-02-07 06:28:16, where the 32 bits of NTP end
}

TEST_CASE("a round trip is what is left of the time since the sender report, modulo 2^32") {
  // The example of RFC 3550 section 6.4.1, figure 2.
  CHECK(round_trip_time(0xb7108000, 0xb7052000, 0x00054000) == 6'125ms);
  CHECK(round_trip_time(0x00008000, 0xffffc000, 0x00004000) == 500ms);  // the clock wrapped
  CHECK(round_trip_time(0x00004000, 0xffffc000, 0x00008000) == 0ms);
  CHECK(round_trip_time(100, 100, 3) == 0ms);    // the peer's delay is rounded up
  CHECK(round_trip_time(0, 0, 0x10000) == 0ms);  // by a second at most
  CHECK(round_trip_time(0, 0, 0x10001) == std::nullopt);
  CHECK(round_trip_time(60 << 16U, 0, 0) == 60s);
  CHECK(round_trip_time((60 << 16U) + 1, 0, 0) == std::nullopt);
  CHECK(round_trip_time(0, 0x80000000, 0) == std::nullopt);
}

TEST_CASE("who sends nothing reports as a receiver under an SSRC of its own") {
  RtcpSession session = make_session();
  ConnectionStatistics received;
  receive(received, kHeard, 10, kStart);
  CHECK_FALSE(session.is_sender());
  const Report report = write(session, received, kStart + 1s);
  REQUIRE(report.types() == kReceiverReport);
  const auto packets = report.packets();
  CHECK(rtp::rtcp_ssrc(packets[0]) == kOwn);
  REQUIRE(rtp::report_block_count(packets[0]) == 1);
  CHECK(rtp::read_report_block(packets[0], 0)->ssrc == kHeard);
  REQUIRE(rtp::read_sdes_chunk(packets[1].body));
  CHECK(rtp::read_sdes_chunk(packets[1].body)->ssrc == kOwn);
  CHECK(rtp::read_sdes_chunk(packets[1].body)->cname == "canonical name01");
}

TEST_CASE("a sender report tells what was sent, with the timestamp of its own instant") {
  RtcpSession session = make_session();
  ConnectionStatistics received;
  send_stream(session, kSent, 10, kStart);  // sequence numbers wrap on the way
  CHECK(session.is_sender());
  const io::TimePoint now = kStart + 180ms + 1'250ms;
  const Report report = write(session, received, now);
  REQUIRE(report.types() == kSenderReport);
  const auto packets = report.packets();
  const auto sender = rtp::read_sender_info(packets[0]);
  REQUIRE(sender);
  CHECK(sender->ssrc == kSent);
  CHECK(sender->ntp_timestamp == ntp_at(now));
  CHECK(sender->rtp_timestamp == 1'000 + 9 * 160 + 10'000);
  CHECK(sender->packet_count == 10);
  CHECK(sender->octet_count == 1'600);
  CHECK(rtp::report_block_count(packets[0]) == 0);
  CHECK(rtp::read_sdes_chunk(packets[1].body)->ssrc == kSent);
}

TEST_CASE("a repeated timestamp (telephone event) or a late packet does not set the clock anew") {
  RtcpSession session = make_session();
  ConnectionStatistics received;
  for (std::uint16_t i = 0; i < 5; ++i) {
    session.on_sent({kSent, 8'000, i, 4, 8000}, kStart + i * 20ms);
  }
  session.on_sent({kSent, 7'840, 0xffff, 160, 8000}, kStart + 100ms);
  const Report report = write(session, received, kStart + 1s);
  CHECK(rtp::read_sender_info(report.packets()[0])->rtp_timestamp == 16'000);
  CHECK(rtp::read_sender_info(report.packets()[0])->packet_count == 6);
  // A source that begins anew under the same SSRC does.
  session.on_sent({kSent, 500'000, 30'000, 160, 16'000}, kStart + 2s);
  const Report next = write(session, received, kStart + 3s);
  CHECK(rtp::read_sender_info(next.packets()[0])->rtp_timestamp == 516'000);
}

TEST_CASE("who stopped sending becomes a receiver with the second report after it") {
  RtcpSession session = make_session();
  ConnectionStatistics received;
  send_stream(session, kSent, 1, kStart);
  CHECK(write(session, received, kStart + 5s).types() == kSenderReport);
  CHECK(write(session, received, kStart + 10s).types() == kSenderReport);
  CHECK(write(session, received, kStart + 15s).types() == kReceiverReport);
  CHECK(session.ssrc() == kOwn);
  send_stream(session, kSent, 2, kStart + 16s);
  const Report again = write(session, received, kStart + 20s);
  REQUIRE(again.types() == kSenderReport);
  CHECK(rtp::read_sender_info(again.packets()[0])->packet_count == 3);
}

TEST_CASE("each stream of a conference has its sender report, the newest one with the blocks") {
  RtcpSession session = make_session();
  ConnectionStatistics received;
  receive(received, kHeard, 1, kStart);
  for (std::uint32_t stream = 0; stream < 6; ++stream) {
    send_stream(session, kSent + stream, stream + 1, kStart + stream * 1ms);
  }
  const Report report = write(session, received, kStart + 500ms);
  const auto packets = report.packets();
  REQUIRE(packets.size() == 2 * RtcpSession::kStreamsMax);
  CHECK(rtp::read_sender_info(packets[0])->ssrc == kSent + 3);  // the last that found a place
  CHECK(rtp::report_block_count(packets[0]) == 1);
  for (std::uint32_t i = 1; i < RtcpSession::kStreamsMax; ++i) {
    const auto sender = rtp::read_sender_info(packets[i]);
    REQUIRE(sender);
    CHECK(sender->ssrc == kSent + i - 1);
    CHECK(sender->packet_count == i);
    CHECK(rtp::report_block_count(packets[i]) == 0);
  }
  for (std::uint32_t i = 0; i < RtcpSession::kStreamsMax; ++i) {
    CHECK(rtp::read_sdes_chunk(packets[RtcpSession::kStreamsMax + i].body)->ssrc == kSent + i);
  }
  // A stream that paused gives way to a new one.
  session.on_sent({0x99, 1, 1, 160, 8000}, kStart + 5s);
  CHECK(session.ssrc() == 0x99);
}

TEST_CASE("blocks report what came since the last report: loss, highest sequence, LSR and DLSR") {
  RtcpSession session = make_session();
  ConnectionStatistics received;
  for (std::uint16_t sequence = 0; sequence < 100; ++sequence) {
    if (sequence % 4 != 3) {
      receive(received, kHeard, sequence, kStart + sequence * 20ms);
    }
  }
  receive(received, kHeard, 100, kStart + 2s);
  received.on_sender_report({kHeard, 0x0000123456780000, 0, 0, 0}, kStart + 2s);
  const Report report = write(session, received, kStart + 2'500ms);
  const auto block = rtp::read_report_block(report.packets()[0], 0);
  REQUIRE(block);
  CHECK(block->ssrc == kHeard);
  CHECK(block->cumulative_lost == 25);
  CHECK(block->fraction_lost == 25 * 256 / 101);
  CHECK(block->highest_sequence == 100);
  CHECK(block->last_sender_report == 0x12345678);
  CHECK(block->delay_since_last_report == 0x8000);
  // Nothing came since: no block.
  CHECK(rtp::report_block_count(write(session, received, kStart + 7s).packets()[0]) == 0);
  // Two sources by turns have a block each.
  receive(received, kHeard, 101, kStart + 8s);
  receive(received, kHeard + 1, 7, kStart + 8s);
  const Report both = write(session, received, kStart + 12s);
  REQUIRE(rtp::report_block_count(both.packets()[0]) == 2);
  CHECK(rtp::read_report_block(both.packets()[0], 0)->ssrc == kHeard + 1);
  CHECK(rtp::read_report_block(both.packets()[0], 1)->ssrc == kHeard);
  CHECK(rtp::read_report_block(both.packets()[0], 1)->fraction_lost == 0);
}

TEST_CASE("the peer's blocks about what was sent give its loss, its jitter and the round trip") {
  RtcpSession session = make_session();
  ConnectionStatistics received;
  send_stream(session, kSent, 50, kStart);
  const io::TimePoint sent_at = kStart + 2s;
  REQUIRE(write(session, received, sent_at).size > 0);
  ReportBlock block;
  block.ssrc = kSent;
  block.fraction_lost = 64;
  block.cumulative_lost = 12;
  block.jitter = 33;
  block.last_sender_report = rtp::middle_of_ntp(ntp_at(sent_at));
  block.delay_since_last_report = 3 * 65'536;
  CHECK(hear(session, block, sent_at + 3s + 125ms) == 1);
  CHECK(session.peer_present());
  CHECK(session.remote().reports == 1);
  CHECK(session.remote().fraction_lost == 64);
  CHECK(session.remote().cumulative_lost == 12);
  CHECK(session.remote().jitter_ticks == 33);
  CHECK(session.remote().round_trips == 1);
  CHECK(session.remote().round_trip > 124'950us);
  CHECK(session.remote().round_trip < 125'050us);

  SUBCASE("the mean is over all of them") {
    CHECK(hear(session, block, sent_at + 3s + 375ms) == 1);
    CHECK(*session.remote().mean_round_trip() > 249'900us);
    CHECK(*session.remote().mean_round_trip() < 250'100us);
  }
  SUBCASE("a report of somebody else's sender report is no round trip") {
    block.last_sender_report += 1;
    CHECK(hear(session, block, sent_at + 4s) == 1);
    block.last_sender_report = 0;
    CHECK(hear(session, block, sent_at + 4s) == 1);
    CHECK(session.remote().reports == 3);
    CHECK(session.remote().round_trips == 1);
  }
  SUBCASE("a block about another stream says nothing") {
    block.ssrc = kSent + 1;
    block.fraction_lost = 255;
    CHECK(hear(session, block, sent_at + 4s) == 1);
    CHECK(session.remote().reports == 1);
    CHECK(session.remote().fraction_lost == 64);
  }
}

TEST_CASE("nothing was reported at first: no mean round trip") {
  CHECK(make_session().remote().mean_round_trip() == std::nullopt);
}

TEST_CASE("our own SSRC gives way to one that the peer or a stream uses") {
  ConnectionStatistics received;
  SUBCASE("of the peer's RTP") {
    RtcpSession session = make_session();
    receive(received, kOwn, 1, kStart);
    CHECK(rtp::rtcp_ssrc(write(session, received, kStart + 1s).packets()[0]) == kRandom);
  }
  SUBCASE("of the peer's RTP before it changed, and the next random number is taken too") {
    RtcpSession session = make_session();
    receive(received, kOwn, 1, kStart);
    receive(received, kRandom, 1, kStart);
    CHECK(rtp::rtcp_ssrc(write(session, received, kStart + 1s).packets()[0]) == kRandom + 1);
  }
  SUBCASE("of the peer's RTCP") {
    RtcpSession session = make_session();
    CHECK(hear(session, {}, kStart, kOwn) == 1);
    CHECK(rtp::rtcp_ssrc(write(session, received, kStart + 1s).packets()[0]) == kRandom);
  }
  SUBCASE("of a stream that was sent") {
    RtcpSession session = make_session();
    send_stream(session, kOwn, 1, kStart);
    CHECK(write(session, received, kStart + 1s).types() == kSenderReport);
    CHECK(write(session, received, kStart + 2s).types() == kSenderReport);
    CHECK(rtp::rtcp_ssrc(write(session, received, kStart + 3s).packets()[0]) == kRandom);
  }
}

TEST_CASE("a goodbye is a report with a BYE of every SSRC that was reported under") {
  RtcpSession session = make_session();
  ConnectionStatistics received;
  SUBCASE("not of one who never sent anything") {
    CHECK(write_goodbye(session, received, kStart).size == 0);
  }
  SUBCASE("of a receiver") {
    REQUIRE(write(session, received, kStart).size > 0);
    const Report report = write_goodbye(session, received, kStart + 1s);
    REQUIRE(report.types() == std::vector{RtcpType::receiver_report, RtcpType::source_description,
                                          RtcpType::goodbye});
    CHECK(rtp::read_bye_source(report.packets()[2], 0) == kOwn);
  }
  SUBCASE("of a sender, even before its first report") {
    receive(received, kHeard, 1, kStart);
    send_stream(session, kSent, 3, kStart);
    const Report report = write_goodbye(session, received, kStart + 1s);
    REQUIRE(report.types() ==
            std::vector{RtcpType::sender_report, RtcpType::source_description, RtcpType::goodbye});
    CHECK(rtp::report_block_count(report.packets()[0]) == 1);
    CHECK(rtp::read_bye_source(report.packets()[2], 0) == kSent);
  }
  SUBCASE("of all streams of a conference") {
    for (std::uint32_t stream = 0; stream < RtcpSession::kStreamsMax; ++stream) {
      send_stream(session, kSent + stream, 1, kStart);
    }
    const Report report = write_goodbye(session, received, kStart + 1s);
    const auto packets = report.packets();
    REQUIRE(packets.size() == 3 * RtcpSession::kStreamsMax);
    for (std::uint32_t stream = 0; stream < RtcpSession::kStreamsMax; ++stream) {
      CHECK(rtp::read_bye_source(packets[2 * RtcpSession::kStreamsMax + stream], 0) ==
            kSent + stream);
    }
  }
}

TEST_CASE("a stream whose BYE went to the peer is not reported any more") {
  RtcpSession session = make_session();
  ConnectionStatistics received;
  send_stream(session, kSent, 3, kStart);
  session.on_stream_ended(kSent + 1);
  CHECK(session.ssrc() == kSent);
  session.on_stream_ended(kSent);
  CHECK(session.ssrc() == kOwn);
  CHECK(write(session, received, kStart + 1s).types() == kReceiverReport);
}

TEST_CASE("the peer is there from its first packet to its BYE, and again with its next packet") {
  RtcpSession session = make_session();
  CHECK_FALSE(session.peer_present());
  session.on_rtp_received();
  CHECK(session.peer_present());
  std::array<std::byte, 64> bytes{};
  RtcpWriter writer(bytes);
  REQUIRE(writer.add_receiver_report(kHeard, {}));
  REQUIRE(writer.add_bye(kHeard, "gone"));
  CHECK(session.on_received(std::span(bytes).first(writer.size()), kStart) == 1);
  CHECK_FALSE(session.peer_present());
  CHECK(hear(session, {}, kStart) == 1);
  CHECK(session.peer_present());
}

TEST_CASE("the opening of a relayed compound is an empty RR and the SDES of who sends it") {
  RtcpSession session = make_session();
  Report report;
  report.size = session.write_opening(report.bytes);
  REQUIRE(report.types() == kReceiverReport);
  CHECK(rtp::rtcp_ssrc(report.packets()[0]) == kOwn);
  send_stream(session, kSent, 1, kStart);
  report.size = session.write_opening(report.bytes);
  CHECK(rtp::rtcp_ssrc(report.packets()[0]) == kSent);
  CHECK(session.write_opening(std::span(report.bytes).first(report.size - 1)) == 0);
}

TEST_CASE("too little memory for a report gives none") {
  RtcpSession session = make_session();
  ConnectionStatistics received;
  send_stream(session, kSent, 1, kStart);
  std::array<std::byte, rtp::kRtcpReportBytesMax - 1> bytes{};
  CHECK(session.write_report(bytes, received, kStart, kRandom) == 0);
  CHECK(session.write_goodbye(bytes, received, kStart, kRandom) == 0);
}

TEST_CASE("SR, RR and SDES are taken out of a compound, the rest moves together") {
  std::array<std::byte, 256> bytes{};
  RtcpWriter writer(bytes);
  REQUIRE(writer.add_sender_report({kHeard, 1, 2, 3, 4}, {}));
  REQUIRE(writer.add_cname(kHeard, "somebody"));
  const std::size_t reports = writer.size();
  CHECK(rtp::remove_reports(std::span(bytes).first(reports)) == 0);
  REQUIRE(writer.add_bye(kHeard, "first"));
  REQUIRE(writer.add_receiver_report(kHeard, {}));
  REQUIRE(writer.add_bye(kHeard + 1, {}));
  std::vector<std::byte> compound(bytes.begin(), bytes.begin() + static_cast<long>(writer.size()));
  compound.push_back(std::byte{0x80});  // no whole packet
  const std::size_t left = rtp::remove_reports(compound);
  RtcpReader reader({compound.data(), left});
  const auto first = reader.next();
  REQUIRE(first);
  CHECK(rtp::read_bye_source(*first, 0) == kHeard);
  CHECK(test::bye_reason(*first) == "first");
  const auto second = reader.next();
  REQUIRE(second);
  CHECK(rtp::read_bye_source(*second, 0) == kHeard + 1);
  CHECK(reader.rest().empty());
  CHECK(rtp::remove_reports({}) == 0);
}
