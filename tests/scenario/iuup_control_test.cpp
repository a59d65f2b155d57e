// The control procedures of IuUP legs: limits of rates, losses of control PDUs, other peers, modes
// and what a call agent sees of such legs.

#include "rtp/byte_order.h"
#include "rtp/rtcp_packet.h"
#include "tests/scenario/amr_frames.h"
#include "tests/scenario/iuup_peer.h"

#include <algorithm>
#include <chrono>

using namespace std::chrono_literals;
using mgw::DropCause;
using rtp::IuupAcknowledgement;
using rtp::IuupCause;
using rtp::IuupEvent;
using rtp::IuupProcedure;
using rtp::IuupState;
using scenario::amr_payload;
using scenario::IuupPeer;
using scenario::kAmrModes;
using scenario::kIuup;
using scenario::Leg;
using scenario::rfcis_of;
using scenario::Scene;
using scenario::speech_bits;
using scenario::with;

namespace {

constexpr const char* kAligned = "a=rtpmap:112 AMR/8000\r\na=fmtp:112 octet-align=1\r\n";
constexpr std::uint8_t kSpeech = 7;

sim::Bytes speech() {
  return speech_bits(244, 1);
}

sim::Bytes in_rtp(unsigned mode_request = 15) {
  return amr_payload(true, mode_request, 7, true, speech(), 244);
}

/// An IuUP leg, initialised by its peer, and an AMR leg.
struct MixedCall {
  explicit MixedCall(Scene& scene_of_call, std::string mode = "sendrecv")
      : scene(scene_of_call),
        a(scene.add_leg(with("96", kIuup, std::move(mode)))),
        b(scene.add_leg(with("112", kAligned))),
        peer(*a.peer) {
    peer.initialise(scene, rfcis_of(kAmrModes, 0));
    pass(50ms);
    REQUIRE(peer.link().state() == IuupState::ready);
  }
  void pass(io::Duration duration) { run(scene, {&peer}, duration); }
  /// One frame each way; which of them arrived.
  std::pair<bool, bool> talk() {
    const std::size_t before = peer.frames().size();
    b.peer->forget();
    peer.send(scene, kSpeech, speech());
    b.peer->send_packet(112, in_rtp());
    pass(50ms);
    return {!b.peer->received().empty(), peer.frames().size() > before};
  }
  Scene& scene;
  Leg a;
  Leg b;
  IuupPeer peer;
};

/// Two IuUP legs, the first initialised by its peer, the second by the gateway.
struct IuupCall {
  explicit IuupCall(Scene& scene_of_call,
                    const rtp::IuupConfiguration& set = rfcis_of(kAmrModes, 0))
      : scene(scene_of_call),
        a(scene.add_leg(with("96", kIuup))),
        b(scene.add_leg(with("96", kIuup))),
        first(*a.peer),
        second(*b.peer) {
    first.initialise(scene, set);
    pass(100ms);
    REQUIRE(first.link().state() == IuupState::ready);
  }
  void pass(io::Duration duration) { run(scene, {&first, &second}, duration); }
  std::pair<bool, bool> talk() {
    const std::size_t before_first = first.frames().size();
    const std::size_t before_second = second.frames().size();
    first.send(scene, first.link().configuration().rfcis[kSpeech].id, speech());
    second.send(scene, second.link().configuration().rfcis[kSpeech].id, speech());
    pass(50ms);
    return {second.frames().size() > before_second, first.frames().size() > before_first};
  }
  Scene& scene;
  Leg a;
  Leg b;
  IuupPeer first;
  IuupPeer second;
};

constexpr std::pair<bool, bool> kBoth{true, true};

std::ptrdiff_t count(const IuupPeer& peer, IuupEvent event) {
  return std::count(peer.events().begin(), peer.events().end(), event);
}

/// Sends a control procedure and returns the cause in the NACK that comes back, if one does.
std::optional<IuupCause> refused(MixedCall& call, std::uint8_t procedure,
                                 const sim::Bytes& payload) {
  rtp::IuupControl control;
  control.procedure = static_cast<IuupProcedure>(procedure);
  control.payload = payload;
  std::array<std::byte, 64> pdu;
  const std::size_t size = rtp::write_iuup_control(control, pdu);
  const std::vector<sim::ArrivedRtp>& received = call.a.peer->received();
  const std::size_t before = received.size();
  call.a.peer->send_packet(96, sim::Bytes(pdu.begin(), pdu.begin() + static_cast<long>(size)));
  call.pass(50ms);
  for (std::size_t i = before; i < received.size(); ++i) {
    const auto answer = rtp::parse_iuup(received[i].payload);
    const auto* nack = answer ? std::get_if<rtp::IuupControl>(&*answer) : nullptr;
    if (nack != nullptr && nack->acknowledgement == IuupAcknowledgement::nack) {
      return rtp::parse_iuup_nack(nack->payload);
    }
  }
  return std::nullopt;
}

}  // namespace

TEST_CASE(
    "a mode request of the AMR leg limits the IuUP peer's rates, and its limits are requests") {
  Scene scene;
  MixedCall call(scene);
  call.b.peer->send_packet(112, in_rtp(4));
  call.pass(100ms);
  REQUIRE(call.peer.link().peer_rates());
  CHECK(call.peer.link().peer_rates()->barred == 0b1110'0000);
  CHECK(count(call.peer, IuupEvent::rates_changed) == 1);
  // Asked for once, whatever repeats it; no request leaves it as it is.
  call.b.peer->send_packet(112, in_rtp(4));
  call.b.peer->send_packet(112, in_rtp(15));
  call.pass(100ms);
  CHECK(count(call.peer, IuupEvent::rates_changed) == 1);
  call.b.peer->send_packet(112, in_rtp(7));
  call.pass(100ms);
  CHECK(call.peer.link().peer_rates()->barred == 0);

  call.b.peer->forget();
  call.peer.send(scene, kSpeech, speech());
  call.peer.link().request_rates(0b1111'0000, scene.world.clock().now());
  call.pass(100ms);
  CHECK(count(call.peer, IuupEvent::rates_acknowledged) == 1);
  call.peer.send(scene, kSpeech, speech());
  call.pass(50ms);
  REQUIRE(call.b.peer->received().size() == 2);
  CHECK(call.b.peer->received()[0].payload == in_rtp(15));
  CHECK(call.b.peer->received()[1].payload == in_rtp(3));
  // The control PDU between them leaves no hole.
  CHECK(call.b.peer->received()[1].header.sequence ==
        call.b.peer->received()[0].header.sequence + 1);
}

TEST_CASE("limits pass from one IuUP peer to the other, under the RFCIs of each, and end with it") {
  Scene scene;
  IuupCall call(scene);
  rtp::IuupConfiguration own = rfcis_of(kAmrModes, 30);
  std::reverse(own.rfcis.begin(), own.rfcis.begin() + own.rfci_count);
  call.second.initialise(scene, own);
  call.pass(100ms);
  call.first.link().request_rates(0b1100'0000, scene.world.clock().now());
  call.pass(100ms);
  REQUIRE(call.second.link().peer_rates());
  // 12.2 and 10.2 stand at places 2 and 3 of the reversed set.
  CHECK(call.second.link().peer_rates()->barred == 0b1100);
  CHECK(count(call.second, IuupEvent::rates_changed) == 1);
  CHECK_FALSE(call.first.link().peer_rates());
  // A new initialisation of either keeps or lifts what is in force.
  std::swap(own.rfcis[2], own.rfcis[0]);
  call.second.initialise(scene, own);
  call.pass(100ms);
  REQUIRE(call.second.link().peer_rates());
  CHECK(call.second.link().peer_rates()->barred == 0b1001);
  call.first.initialise(scene, rfcis_of(kAmrModes, 10));
  call.pass(100ms);
  CHECK(call.second.link().peer_rates()->barred == 0);
}

TEST_CASE("time alignment and unknown procedures are refused, an error event is taken") {
  Scene scene;
  MixedCall call(scene);
  CHECK(refused(call, 2, {std::byte{0x04}}) == IuupCause::time_alignment_not_supported);
  CHECK(refused(call, 9, {}) == IuupCause::unknown_procedure);
  const std::size_t answers = call.a.peer->received().size();
  CHECK(refused(call, 3, {std::byte{0x02}}) == std::nullopt);
  CHECK(call.a.peer->received().size() == answers);
  CHECK(call.talk() == kBoth);
}

TEST_CASE("a lost acknowledgement, a lost and a doubled initialisation: one more suffices") {
  Scene scene;
  const Leg a = scene.add_leg(with("96", kIuup));
  const Leg b = scene.add_leg(with("96", kIuup));
  IuupPeer first(*a.peer);
  IuupPeer second(*b.peer);
  sim::SimWorld& world = scene.world;
  SUBCASE("the gateway's acknowledgement and its own initialisation") {
    world.network().link(a.answer.media(), a.peer->local()).drop_next = 1;
    world.network().link(b.answer.media(), b.peer->local()).drop_next = 1;
  }
  SUBCASE("both peers' PDUs") {
    world.network().link(a.peer->local(), a.answer.media()).drop_next = 1;
    world.network().link(b.peer->local(), b.answer.media()).drop_next = 1;
  }
  SUBCASE("all of them twice") {
    world.network().default_link().duplication = 1;
    for (const Leg* leg : {&a, &b}) {
      world.network().link(leg->peer->local(), leg->answer.media()).duplication = 1;
      world.network().link(leg->answer.media(), leg->peer->local()).duplication = 1;
    }
  }
  first.initialise(scene, rfcis_of(kAmrModes, 0));
  run(scene, {&first, &second}, 2500ms);
  CHECK(first.link().state() == IuupState::ready);
  CHECK(second.link().state() == IuupState::ready);
  first.send(scene, kSpeech, speech());
  second.send(scene, kSpeech, speech());
  run(scene, {&first, &second}, 100ms);
  CHECK_FALSE(first.frames().empty());
  CHECK_FALSE(second.frames().empty());
  CHECK(world.plane().counters(0).leg_failures.value() == 0);
}

TEST_CASE("a new initialisation in mid-call changes the set of both sides") {
  Scene scene;
  SUBCASE("of an IuUP peer with an AMR leg") {
    MixedCall call(scene);
    CHECK(call.talk() == kBoth);
    call.peer.initialise(scene, rfcis_of(kAmrModes, 40));
    call.pass(100ms);
    call.b.peer->forget();
    call.peer.send(scene, 40 + kSpeech, speech());
    call.b.peer->send_packet(112, in_rtp());
    call.pass(50ms);
    REQUIRE(call.b.peer->received().size() == 1);
    CHECK(call.b.peer->received()[0].payload == in_rtp());
    CHECK(call.peer.frames().back().rfci == 40 + kSpeech);
  }
  SUBCASE("of an IuUP peer with another, which the gateway had initialised") {
    IuupCall call(scene);
    CHECK(call.talk() == kBoth);
    call.first.initialise(scene, rfcis_of(kAmrModes, 40));
    call.pass(100ms);
    CHECK(call.second.link().configuration().same_set(rfcis_of(kAmrModes, 40)));
    CHECK(call.talk() == kBoth);
  }
}

TEST_CASE("a leg handed over to another peer") {
  Scene scene;
  IuupCall call(scene);
  CHECK(call.talk() == kBoth);
  sim::RtpPeer& newcomer = scene.world.add_peer();
  SUBCASE("one that the gateway initialises, as it had the old one") {
    newcomer.set_target(call.b.answer.media());
    CHECK(scene.mdcx(call.b, newcomer.sdp("96", kIuup)).code == 200);
    IuupPeer third(newcomer);
    run(scene, {&call.first, &call.second, &third}, 100ms);
    REQUIRE(third.link().state() == IuupState::ready);
    call.first.send(scene, kSpeech, speech());
    third.send(scene, kSpeech, speech());
    const std::size_t before = call.first.frames().size();
    call.second.send(scene, kSpeech, speech());
    run(scene, {&call.first, &call.second, &third}, 50ms);
    CHECK(third.frames().size() == 1);
    CHECK(call.first.frames().size() == before + 1);
    CHECK(scene.dropped(DropCause::unknown_source) == 1);
  }
  SUBCASE("one that initialises itself, as the old one did") {
    newcomer.set_target(call.a.answer.media());
    CHECK(scene.mdcx(call.a, newcomer.sdp("96", kIuup)).code == 200);
    IuupPeer third(newcomer);
    third.initialise(scene, rfcis_of(kAmrModes, 0));
    run(scene, {&call.second, &third}, 100ms);
    third.send(scene, kSpeech, speech());
    call.second.send(scene, kSpeech, speech());
    const std::size_t before = call.second.frames().size();
    run(scene, {&call.second, &third}, 50ms);
    CHECK(third.frames().size() == 1);
    CHECK(call.second.frames().size() == before + 1);
  }
}

TEST_CASE("a leg on hold is sent nothing, and goes on afterwards without a new initialisation") {
  Scene scene;
  IuupCall call(scene);
  CHECK(call.talk() == kBoth);
  for (const Leg* leg : {&call.a, &call.b}) {
    const std::string description = leg->peer->sdp("96", kIuup);
    std::string held = description;
    const std::string host = leg->peer->local().host_text();
    held.replace(held.find("c=IN IP4 " + host), 9 + host.size(), "c=IN IP4 0.0.0.0");
    const std::size_t events_first = call.first.events().size();
    const std::size_t events_second = call.second.events().size();
    CHECK(scene.mdcx(*leg, held).code == 200);
    call.talk();
    CHECK((leg == &call.a ? call.first.events().size() : call.second.events().size()) ==
          (leg == &call.a ? events_first : events_second));
    CHECK(scene.mdcx(*leg, description).code == 200);
    CHECK(call.talk() == kBoth);
  }
  CHECK(count(call.first, IuupEvent::initialised) == 0);
  CHECK(count(call.second, IuupEvent::initialised) == 1);
}

TEST_CASE("the modes hold for IuUP legs as for others, initialisation apart") {
  struct Row {
    const char* mode;
    bool to_rtp;
    bool to_iuup;
  };
  for (const Row& row : {Row{"sendrecv", true, true}, Row{"recvonly", true, false},
                         Row{"sendonly", false, true}, Row{"inactive", false, false}}) {
    CAPTURE(row.mode);
    Scene scene;
    MixedCall call(scene, row.mode);  // initialised in any mode
    CHECK(call.talk() == std::pair(row.to_rtp, row.to_iuup));
  }
  for (const bool confecho : {false, true}) {
    CAPTURE(confecho);
    Scene scene;
    MixedCall call(scene, confecho ? "confecho" : "loopback");
    call.peer.send(scene, kSpeech, speech(), rtp::IuupFrameQuality::bad_due_to_radio);
    call.pass(50ms);
    REQUIRE(call.peer.frames().size() == 1);
    CHECK(call.peer.frames()[0].payload == speech());
    CHECK(call.peer.frames()[0].rfci == kSpeech);
    CHECK(call.peer.frames()[0].quality == rtp::IuupFrameQuality::bad_due_to_radio);
    CHECK(call.b.peer->received().size() == (confecho ? 1 : 0));
  }
}

TEST_CASE("IuUP media keeps a leg, silence ends it") {
  conf::Config config = sim::small_config();
  config.endpoints.options.connection_timeout = 2s;
  Scene scene(config);
  const Leg a = scene.add_leg(with("96", kIuup));
  IuupPeer peer(*a.peer);
  peer.initialise(scene, rfcis_of(kAmrModes, 0));
  for (int i = 0; i < 4; ++i) {
    run(scene, {&peer}, 1500ms);
    peer.send(scene, kSpeech, speech());
  }
  CHECK(scene.world.connections() == 1);
  run(scene, {&peer}, 3s);
  CHECK(scene.world.connections() == 0);
}

TEST_CASE(
    "two IuUP peers that initialise the gateway at once, each in its own way, hear each other") {
  Scene scene;
  const Leg a = scene.add_leg(with("96", kIuup));
  const Leg b = scene.add_leg(with("96", kIuup));
  IuupPeer first(*a.peer);
  IuupPeer second(*b.peer);
  first.initialise(scene, rfcis_of(kAmrModes, 0));
  second.initialise(scene, rfcis_of(kAmrModes, 30));
  run(scene, {&first, &second}, 3s);
  for (IuupPeer* peer : {&first, &second}) {
    REQUIRE(peer->link().state() == IuupState::ready);
    for (int i = 0; i < 3; ++i) {
      peer->send(scene, peer->link().configuration().rfcis[kSpeech].id, speech());
      run(scene, {&first, &second}, 20ms);
    }
  }
  run(scene, {&first, &second}, 50ms);
  for (IuupPeer* peer : {&first, &second}) {
    REQUIRE(peer->frames().size() == 3);
    CHECK(peer->frames()[0].rfci == peer->link().configuration().rfcis[kSpeech].id);
    CHECK(peer->frames()[0].payload == speech());
  }
  CHECK(scene.world.plane().counters(0).leg_failures.value() == 0);
}

TEST_CASE("reports end at an IuUP leg, whose stream is numbered anew; the peer's BYE goes on") {
  Scene scene;
  MixedCall call(scene);
  CHECK(call.talk() == kBoth);
  const std::uint64_t outdated = scene.dropped(DropCause::rtcp_outdated);
  call.b.peer->send_rtcp(sim::sender_report(call.b.peer->ssrc, 160, 1, 32));
  call.a.peer->send_rtcp(sim::sender_report(call.a.peer->ssrc, 320, 1, 36));
  call.pass(50ms);
  CHECK(call.a.peer->received_rtcp().empty());
  CHECK(call.b.peer->received_rtcp().empty());
  CHECK(scene.dropped(DropCause::rtcp_outdated) == outdated + 2);
  std::array<std::byte, 128> bytes{};
  rtp::RtcpWriter writer(bytes);
  REQUIRE(writer.add_sender_report({call.a.peer->ssrc, 1, 320, 1, 36}, {}));
  REQUIRE(writer.add_bye(call.a.peer->ssrc, ""));
  call.a.peer->send_rtcp({bytes.begin(), bytes.begin() + static_cast<long>(writer.size())});
  call.pass(50ms);
  REQUIRE(call.b.peer->received_rtcp().size() == 1);
  rtp::RtcpReader reader(call.b.peer->received_rtcp()[0]);
  const auto report = reader.next();
  REQUIRE(report);
  CHECK(rtp::report_block_count(*report) == 0);
  CHECK_FALSE(rtp::read_sender_info(*report));
  const auto goodbye = reader.next();
  REQUIRE(goodbye);
  // It names the stream that B hears.
  CHECK(rtp::read_bye_source(*goodbye, 0) == call.b.peer->received()[0].header.ssrc);
}

TEST_CASE("reports that the gateway generates for an IuUP leg say what it was sent") {
  conf::Config config = sim::small_config();
  config.endpoints.options.generate_rtcp = true;
  Scene scene(config);
  MixedCall call(scene);
  for (int i = 0; i < 250; ++i) {
    call.talk();
  }
  REQUIRE_FALSE(call.a.peer->received_rtcp().empty());
  rtp::RtcpReader reader(call.a.peer->received_rtcp().back());
  const auto report = reader.next();
  REQUIRE(report);
  const auto sender = rtp::read_sender_info(*report);
  REQUIRE(sender);
  const auto& received = call.a.peer->received();
  CHECK(sender->ssrc == received.back().header.ssrc);
  CHECK(sender->packet_count <= received.size());
  std::size_t octets = 0;
  for (std::size_t i = 0; i < sender->packet_count; ++i) {
    octets += received[i].payload.size();
  }
  CHECK(sender->octet_count == octets);
}

TEST_CASE("the statistics of an IuUP leg count its RTP packets, control PDUs too") {
  Scene scene;
  MixedCall call(scene);
  for (int i = 0; i < 10; ++i) {
    call.talk();
  }
  ++call.a.peer->sequence;  // one is lost
  call.talk();
  const sim::Answer answer = scene.dlcx(call.a);
  // Sent: 1 ACK (4 octets) and 11 frames (4 + 31), each behind a header of 12. Received: the
  // initialisation (4 + 1 + 10 * 4 + 5 + 3) and 11 frames.
  CHECK(answer.parameter("P").starts_with(
      fmt::format("PS=12, OS={}, PR=12, OR={}, PL=1", 16 + 11 * 47, 12 + 53 + 11 * 47)));
}

TEST_CASE("malformed PDUs are dropped, each under its cause, and disturb nothing") {
  Scene scene;
  MixedCall call(scene);
  std::array<std::byte, 64> room;
  const std::size_t size =
      rtp::write_iuup_data(rtp::IuupPduType::data_with_crc, {3, {}, kSpeech, speech()}, room);
  const sim::Bytes good(room.begin(), room.begin() + static_cast<long>(size));
  const auto sent = [&](std::size_t at, unsigned flip) {
    sim::Bytes bad = good;
    bad[at] ^= static_cast<std::byte>(flip);
    call.a.peer->send_packet(96, bad);
  };
  for (int i = 0; i < 5; ++i) {
    sent(1, 0x01);
    sent(20, 0x80);
    call.a.peer->send_packet(96, sim::from_hex("7000"));
    call.a.peer->send_packet(96, sim::from_hex("03"));
    call.a.peer->send_packet(96, sim::from_hex("ec000000"));
  }
  call.pass(100ms);
  CHECK(scene.dropped(DropCause::iuup_bad_header_crc) +
            scene.dropped(DropCause::iuup_unknown_pdu_type) +
            scene.dropped(DropCause::iuup_too_short) +
            scene.dropped(DropCause::iuup_bad_payload_crc) +
            scene.dropped(DropCause::iuup_reserved_acknowledgement) ==
        25);
  CHECK(scene.dropped(DropCause::iuup_bad_payload_crc) == 5);
  CHECK(scene.dropped(DropCause::iuup_too_short) >= 5);
  CHECK(call.b.peer->received().empty());
  CHECK(call.talk() == kBoth);
}
