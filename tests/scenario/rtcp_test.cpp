// Calls whose RTCP the gateway generates itself (`rtcp.generate`): what each peer hears of it.

#include "rtp/rtcp_packet.h"
#include "rtp/stream_statistics.h"
#include "tests/scenario/scene.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <vector>

using namespace std::chrono_literals;
using mgw::DropCause;
using rtp::ReportBlock;
using rtp::RtcpPacket;
using rtp::RtcpType;
using scenario::Call;
using scenario::Leg;
using scenario::Scene;
using sim::Bytes;

namespace {

conf::Config generating() {
  conf::Config config = sim::small_config();
  config.endpoints.options.generate_rtcp = true;
  return config;
}

std::vector<RtcpPacket> packets_of(const Bytes& compound) {
  std::vector<RtcpPacket> packets;
  rtp::RtcpReader reader(compound);
  while (const auto packet = reader.next()) {
    packets.push_back(*packet);
  }
  CHECK(reader.rest().empty());
  return packets;
}

std::vector<RtcpType> types_of(const Bytes& compound) {
  std::vector<RtcpType> types;
  for (const RtcpPacket& packet : packets_of(compound)) {
    types.push_back(static_cast<RtcpType>(packet.type));
  }
  return types;
}

const std::vector<RtcpType> kSenderReport = {RtcpType::sender_report, RtcpType::source_description};
const std::vector<RtcpType> kReceiverReport = {RtcpType::receiver_report,
                                               RtcpType::source_description};

/// A compound that a peer sends: RR with one block, SDES, and perhaps BYE.
Bytes receiver_report(std::uint32_t ssrc, const ReportBlock& block, bool goodbye = false) {
  std::array<std::byte, 128> bytes{};
  rtp::RtcpWriter writer(bytes);
  REQUIRE(writer.add_receiver_report(ssrc, {&block, 1}));
  REQUIRE(writer.add_cname(ssrc, "peer"));
  if (goodbye) {
    REQUIRE(writer.add_bye(ssrc, "done"));
  }
  return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(writer.size())};
}

/// Lets time pass until the peer has got one more RTCP datagram, which it returns.
Bytes next_rtcp(Scene& scene, const Leg& leg) {
  const std::size_t before = leg.peer->received_rtcp().size();
  REQUIRE(scene.world.run_until([&] { return leg.peer->received_rtcp().size() > before; }, 20s));
  return leg.peer->received_rtcp().back();
}

}  // namespace

TEST_CASE("reports tell each leg exactly what was lost on its way to the gateway") {
  Scene scene(generating());
  const Call call(scene);
  const auto gateway = sim::address(sim::kGatewayHost, 0);
  scene.world.network().link(call.a.peer->local(), gateway).loss = 0.25;
  call.a.peer->stream(1'500, 8);
  call.b.peer->stream(1'500, 8);
  scene.run_for(31s);
  REQUIRE(call.a.peer->received_rtcp().size() >= 4);
  int reports = 0;
  for (const Bytes& compound : call.a.peer->received_rtcp()) {
    REQUIRE(types_of(compound) == kSenderReport);
    const auto block = rtp::read_report_block(packets_of(compound)[0], 0);
    if (block) {
      ++reports;
      CHECK(block->ssrc == call.a.peer->ssrc);
      CHECK(block->fraction_lost > 0.1 * 256);
      CHECK(block->fraction_lost < 0.4 * 256);
    }
  }
  CHECK(reports >= 4);
  for (const Bytes& compound : call.b.peer->received_rtcp()) {
    const auto block = rtp::read_report_block(packets_of(compound)[0], 0);
    CHECK((!block || block->cumulative_lost == 0));
  }
  // The last one, with BYE, comes after the streams: what it says can be counted at the far end.
  call.a.peer->send_packet(8);
  scene.run_for(100ms);
  CHECK(scene.dlcx(call.a).code == 250);
  scene.run_for(100ms);
  const auto& arrived = call.b.peer->received();
  const auto span = static_cast<std::uint16_t>(arrived.back().header.sequence -
                                               arrived.front().header.sequence + 1);
  const auto last = packets_of(call.a.peer->received_rtcp().back());
  REQUIRE(last.size() == 3);
  const auto block = rtp::read_report_block(last[0], 0);
  if (block) {  // unless the very last packet was lost and nothing came since the report before
    CHECK(block->cumulative_lost == span - static_cast<int>(arrived.size()));
  }
  CHECK(block.has_value());
}

TEST_CASE("what a sender report says is what its receiver got, patched or not") {
  for (const bool patched : {false, true}) {
    CAPTURE(patched);
    auto config = generating();
    config.endpoints.options.patch.ssrc = patched;
    Scene scene(config);
    const Call call(scene);
    call.a.peer->stream(100, 8);
    scene.run_for(1s);
    if (patched) {
      call.a.peer->ssrc = 0x4711;
      call.a.peer->sequence = 50'000;
      call.a.peer->timestamp = 9'999;
    }
    scene.run_for(1'500ms);
    const Bytes compound = next_rtcp(scene, call.b);
    const io::TimePoint now = scene.world.clock().now() - 1ms;  // on its way
    REQUIRE(types_of(compound) == kSenderReport);
    const auto sender = rtp::read_sender_info(packets_of(compound)[0]);
    const sim::ArrivedRtp& newest = call.b.peer->received().back();
    CHECK(sender->ssrc == newest.header.ssrc);
    CHECK(sender->packet_count == call.b.peer->received().size());
    CHECK(sender->octet_count == 33 * call.b.peer->received().size());
    const auto since = std::chrono::duration_cast<std::chrono::microseconds>(now - newest.at + 1ms);
    const auto expected =
        newest.header.timestamp + static_cast<std::uint32_t>(since.count() * 8 / 1000);
    CHECK(std::abs(static_cast<std::int32_t>(sender->rtp_timestamp - expected)) <= 1);
    CHECK(call.b.peer->received().size() == 100);
  }
}

TEST_CASE("the round trip is that of the network; DLCX and AUCX tell half of it as LA") {
  Scene scene(generating());
  const Call call(scene);
  const auto gateway = sim::address(sim::kGatewayHost, 0);
  scene.world.network().link(call.a.peer->local(), gateway).delay = 30ms;
  scene.world.network().link(gateway, call.a.peer->local()).delay = 50ms;
  call.b.peer->stream(500, 8);
  const Bytes compound = next_rtcp(scene, call.a);
  const auto sender = rtp::read_sender_info(packets_of(compound)[0]);
  REQUIRE(sender);
  scene.run_for(250ms);
  ReportBlock block;
  block.ssrc = sender->ssrc;
  block.last_sender_report = rtp::middle_of_ntp(sender->ntp_timestamp);
  block.delay_since_last_report = 65'536 / 4;
  call.a.peer->send_rtcp(receiver_report(call.a.peer->ssrc, block));
  scene.run_for(100ms);
  const auto audit = scene.world.command(scene.agent, "AUCX", call.a.endpoint,
                                         fmt::format("I: {}\r\nF: P\r\n", call.a.connection));
  CHECK(audit.parameter("P").find(", LA=40") != std::string::npos);
  CHECK(scene.dlcx(call.a).parameter("P").find(", LA=40") != std::string::npos);
  CHECK(scene.dlcx(call.b).parameter("P").find("LA=") == std::string::npos);
}

TEST_CASE("the peers' reports end at the gateway and are answered with LSR and DLSR") {
  Scene scene(generating());
  const Call call(scene);
  call.a.peer->send_packet(8);
  std::array<std::byte, 64> bytes{};
  rtp::RtcpWriter writer(bytes);
  REQUIRE(writer.add_sender_report({call.a.peer->ssrc, 0x123456789abcdef0, 160, 1, 33}, {}));
  REQUIRE(writer.add_cname(call.a.peer->ssrc, "peer"));
  call.a.peer->send_rtcp({bytes.begin(), bytes.begin() + static_cast<long>(writer.size())});
  scene.run_for(1ms);
  const io::TimePoint came_at = scene.world.clock().now();
  CHECK(call.b.peer->received_rtcp().empty());
  const auto& counters = scene.world.plane().counters(0);
  CHECK(counters.rtcp_reports_received.value() == 1);
  CHECK(counters.consumed.value() == 1);
  const Bytes compound = next_rtcp(scene, call.a);
  const io::Duration held = scene.world.clock().now() - 1ms - came_at;
  const auto block = rtp::read_report_block(packets_of(compound)[0], 0);
  REQUIRE(block);
  CHECK(block->ssrc == call.a.peer->ssrc);
  CHECK(block->last_sender_report == 0x56789abc);
  CHECK(block->delay_since_last_report == rtp::to_rtp_ticks(io::TimePoint(held), 65'536));
  CHECK(counters.rtcp_reports_sent.value() >= 1);
}

TEST_CASE("what is no report is still relayed, behind an RR and SDES of the gateway's") {
  Scene scene(generating());
  const Call call(scene);
  call.a.peer->send_packet(8);
  scene.run_for(10ms);
  call.a.peer->send_rtcp(receiver_report(call.a.peer->ssrc, {}, true));
  scene.run_for(10ms);
  REQUIRE(call.b.peer->received_rtcp().size() == 1);
  const auto packets = packets_of(call.b.peer->received_rtcp()[0]);
  REQUIRE(packets.size() == 3);
  CHECK(packets[0].type == static_cast<std::uint8_t>(RtcpType::receiver_report));
  CHECK(rtp::rtcp_ssrc(packets[0]) == call.a.peer->ssrc);
  CHECK(rtp::report_block_count(packets[0]) == 0);
  REQUIRE(rtp::read_sdes_chunk(packets[1].body));
  CHECK(rtp::read_sdes_chunk(packets[1].body)->ssrc == call.a.peer->ssrc);
  CHECK(rtp::read_sdes_chunk(packets[1].body)->cname != "peer");
  CHECK(rtp::read_bye_source(packets[2], 0) == call.a.peer->ssrc);
  const auto reason = packets[2].body.subspan(4);  // its length, then its text
  CHECK(sim::Bytes(reason.begin(), reason.end()) == sim::from_hex("04646f6e65000000"));
  // That stream is over for B: the next report is a receiver's, of another SSRC.
  const Bytes next = next_rtcp(scene, call.b);
  CHECK(types_of(next) == kReceiverReport);
  CHECK(rtp::rtcp_ssrc(packets_of(next)[0]) != call.a.peer->ssrc);
}

TEST_CASE("who is sent nothing is reported to as by a receiver of no known SSRC") {
  Scene scene(generating());
  const Call call(scene);
  call.a.peer->stream(200, 8);
  const Bytes compound = next_rtcp(scene, call.a);
  REQUIRE(types_of(compound) == kReceiverReport);
  const auto packets = packets_of(compound);
  CHECK(rtp::rtcp_ssrc(packets[0]) != call.a.peer->ssrc);
  CHECK(rtp::rtcp_ssrc(packets[0]) != call.b.peer->ssrc);
  REQUIRE(rtp::report_block_count(packets[0]) == 1);
  CHECK(rtp::read_report_block(packets[0], 0)->ssrc == call.a.peer->ssrc);
}

TEST_CASE("a loopback leg hears no sender report under its own SSRC") {
  Scene scene(generating());
  const Leg leg = scene.add_leg({.mode = "loopback"});
  leg.peer->stream(200, 8);
  const Bytes compound = next_rtcp(scene, leg);
  CHECK(types_of(compound) == kReceiverReport);
  CHECK(leg.peer->received().size() > 20);
}

TEST_CASE("a leg of a conference hears a sender report for each of the others") {
  Scene scene(generating());
  const Call call(scene);
  const Leg third = scene.add_leg();
  for (const Leg* leg : {&call.a, &call.b, &third}) {
    leg->peer->stream(200, 8);
  }
  const Bytes compound = next_rtcp(scene, third);
  const auto packets = packets_of(compound);
  REQUIRE(packets.size() == 4);
  std::vector<std::uint32_t> sources;
  for (const RtcpPacket& packet : packets) {
    if (const auto sender = rtp::read_sender_info(packet)) {
      sources.push_back(sender->ssrc);
    }
  }
  std::sort(sources.begin(), sources.end());
  REQUIRE(sources.size() == 2);
  CHECK(sources[0] == call.a.peer->ssrc);
  CHECK(sources[1] == call.b.peer->ssrc);
}

TEST_CASE("a leg that ends says BYE, from its RTCP port, and the other one goes on") {
  Scene scene(generating());
  const Call call(scene);
  REQUIRE(scenario::talk(scene, call.a, call.b, 20));
  CHECK(scene.dlcx(call.a).code == 250);
  scene.run_for(10ms);
  REQUIRE(call.a.peer->received_rtcp().size() >= 1);
  const auto packets = packets_of(call.a.peer->received_rtcp().back());
  REQUIRE(packets.size() == 3);
  CHECK(packets[0].type == static_cast<std::uint8_t>(RtcpType::sender_report));
  CHECK(rtp::read_bye_source(packets[2], 0) == call.b.peer->ssrc);
  CHECK(call.a.peer->garbage() == 0);
  const std::size_t before = call.a.peer->received_rtcp().size();
  static_cast<void>(next_rtcp(scene, call.b));
  CHECK(call.a.peer->received_rtcp().size() == before);
}

TEST_CASE("the end of the endpoint says BYE to every leg; one that heard nothing hears no BYE") {
  Scene scene(generating());
  const Call call(scene);
  call.a.peer->stream(10, 8);
  scene.run_for(300ms);
  CHECK(scene.dlcx("rtpbridge/1@mgw").code == 200);
  scene.run_for(10ms);
  REQUIRE(call.b.peer->received_rtcp().size() == 1);
  CHECK(types_of(call.b.peer->received_rtcp()[0]).back() == RtcpType::goodbye);
  CHECK(call.a.peer->received_rtcp().empty());
}

TEST_CASE("nothing is sent to a leg on hold or without an address, or if RTCP is omitted") {
  for (const bool omit : {false, true}) {
    CAPTURE(omit);
    auto config = generating();
    config.endpoints.options.omit_rtcp = omit;
    Scene scene(config);
    const Call call(scene);
    call.a.peer->stream(500, 8);
    scene.run_for(10s);
    CHECK(call.b.peer->received_rtcp().empty() == omit);
    CHECK(scene.mdcx(call.b, "\r\nv=0\r\nc=IN IP4 0.0.0.0\r\nm=audio 6000 RTP/AVP 8\r\n").code ==
          200);
    call.b.peer->forget();
    const auto pending = scene.crcx("rtpbridge/2@mgw", "C: 2\r\nM: recvonly\r\n");
    CHECK(pending.code == 200);
    scene.run_for(20s);
    CHECK(call.b.peer->received_rtcp().empty());
    CHECK(scene.dlcx(call.b).code == 250);
    scene.run_for(10ms);
    CHECK(call.b.peer->received_rtcp().empty());
    CHECK(scene.world.plane().imbalances() == 0);
  }
}

TEST_CASE("with rtcp-mux reports go to the RTP port") {
  Scene scene(generating());
  sim::RtpPeer& peer = scene.world.add_peer();
  const Leg leg = scene.add_leg({.attributes = "a=rtcp-mux\r\n"}, peer);
  // Nothing may arrive at the RTCP port: it is gone.
  const auto rtcp_port =
      peer.local().with_port(static_cast<std::uint16_t>(peer.local().port() + 1));
  scene.world.network().drop_if(
      [rtcp_port](const io::SimDatagram& datagram) { return datagram.target == rtcp_port; });
  CHECK(types_of(next_rtcp(scene, leg)) == kReceiverReport);
}

TEST_CASE("without rtcp.generate the gateway sends no RTCP of its own") {
  Scene scene;
  const Call call(scene);
  call.a.peer->stream(1'000, 8);
  scene.run_for(30s);
  CHECK(scene.dlcx("rtpbridge/1@mgw").code == 200);
  scene.run_for(1s);
  CHECK(call.a.peer->received_rtcp().empty());
  CHECK(call.b.peer->received_rtcp().empty());
}

TEST_CASE("over a long call reports come every 5 s on average, never too close") {
  Scene scene(generating());
  const Call call(scene);
  const io::TimePoint begin = scene.world.clock().now();
  io::TimePoint last = begin;
  constexpr int kReports = 300;
  for (int i = 0; i < kReports; ++i) {
    call.a.peer->stream(1, 8);
    static_cast<void>(next_rtcp(scene, call.b));
    const io::TimePoint now = scene.world.clock().now();
    if (i > 0) {
      CHECK(now - last > 2'000ms);
      CHECK(now - last < 6'200ms);
    } else {
      CHECK(now - last > 1'000ms);
      CHECK(now - last < 3'100ms);
    }
    last = now;
  }
  const auto mean = (last - begin) / kReports;
  CHECK(mean > 4'700ms);
  CHECK(mean < 5'300ms);
}

TEST_CASE("two legs don't report in step, and the same seed gives the same run") {
  const auto run = [](std::uint64_t seed) {
    sim::WorldOptions options;
    options.seed = seed;
    Scene scene(generating(), options);
    const Call call(scene);
    call.a.peer->stream(500, 8);
    call.b.peer->stream(500, 8);
    static_cast<void>(next_rtcp(scene, call.a));
    CHECK(call.b.peer->received_rtcp().size() <= 2);
    scene.run_for(15s);
    return scene.world.trace_hash();
  };
  CHECK(run(1) == run(1));
  CHECK(run(1) != run(2));
}
