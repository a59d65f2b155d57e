// Legs that speak the Iu user plane, towards each other and towards RTP.

#include "tests/scenario/iuup_peer.h"

#include <chrono>

using namespace std::chrono_literals;
using mgw::DropCause;
using rtp::IuupEvent;
using rtp::IuupFrameQuality;
using rtp::IuupState;
using scenario::amr_122_rfcis;
using scenario::IuupPeer;
using scenario::kIuup;
using scenario::Leg;
using scenario::Scene;
using scenario::with;

namespace {

// One frame of AMR 12.2 in Iu UP and in bandwidth-efficient RTP (without a mode request, good).
const sim::Bytes kSpeech =
    sim::from_hex("4f28959ffeb80181f5c4e83d176c897b4a4e333298333419a493ca63ded6e0");
const sim::Bytes kEfficient =
    sim::from_hex("f3d3ca2567ffae00607d713a0f45db225ed2938ccca60ccd066924f298f7b5b8");

}  // namespace

TEST_CASE("speech crosses between an IuUP leg and an AMR leg bit by bit, both ways") {
  for (const bool ordered : {true, false}) {
    CAPTURE(ordered);
    Scene scene;
    const Leg a = scene.add_leg(with("96", kIuup));
    const Leg b = scene.add_leg(with("112", "a=rtpmap:112 AMR/8000\r\n"));
    IuupPeer peer(*a.peer);
    const std::uint8_t speech = ordered ? 0 : 1;
    peer.initialise(scene, ordered ? amr_122_rfcis() : amr_122_rfcis(1, 2, 0));
    run(scene, {&peer}, 100ms);
    REQUIRE(peer.link().state() == IuupState::ready);
    for (int i = 0; i < 5; ++i) {
      peer.send(scene, speech, kSpeech);
      b.peer->send_packet(112, kEfficient);
      run(scene, {&peer}, 20ms);
    }
    run(scene, {&peer}, 100ms);
    REQUIRE(b.peer->received().size() == 5);
    for (std::size_t i = 0; i < 5; ++i) {
      CHECK(b.peer->received()[i].payload == kEfficient);
      CHECK(b.peer->received()[i].header.payload_type == 112);
      CHECK(b.peer->received()[i].header.timestamp ==
            b.peer->received()[0].header.timestamp + 160 * i);
    }
    REQUIRE(peer.frames().size() == 5);
    for (std::size_t i = 0; i < 5; ++i) {
      CHECK(peer.frames()[i].payload == kSpeech);
      CHECK(peer.frames()[i].rfci == speech);
      CHECK(peer.frames()[i].quality == IuupFrameQuality::good);
      CHECK(peer.frames()[i].frame_number == (peer.frames()[0].frame_number + i) % 16);
    }
  }
}

TEST_CASE(
    "the gateway initialises the other IuUP leg with the same set, and frames keep all they say") {
  Scene scene;
  const Leg a = scene.add_leg(with("96", kIuup, "recvonly"));
  const Leg b = scene.add_leg(with("96", kIuup, "recvonly"));
  IuupPeer first(*a.peer);
  IuupPeer second(*b.peer);
  first.initialise(scene, amr_122_rfcis(1, 2, 0));
  run(scene, {&first, &second}, 100ms);
  REQUIRE(first.link().state() == IuupState::ready);
  REQUIRE(second.link().state() == IuupState::ready);
  CHECK(second.link().configuration().same_set(amr_122_rfcis(1, 2, 0)));
  first.send(scene, 1, kSpeech);
  run(scene, {&first, &second}, 50ms);
  CHECK(second.frames().empty());
  CHECK(scene.mdcx(b, "M: sendrecv\r\n").code == 200);
  first.send(scene, 1, kSpeech, IuupFrameQuality::bad);
  first.send(scene, 0, {});
  run(scene, {&first, &second}, 50ms);
  REQUIRE(second.frames().size() == 2);
  CHECK(second.frames()[0].payload == kSpeech);
  CHECK(second.frames()[0].quality == IuupFrameQuality::bad);
  CHECK(second.frames()[1].rfci == 0);
  CHECK(second.frames()[1].payload.empty());
  second.send(scene, 1, kSpeech);
  run(scene, {&first, &second}, 50ms);
  CHECK(first.frames().empty());
  CHECK(scene.mdcx(a, "M: sendrecv\r\n").code == 200);
  second.send(scene, 1, kSpeech);
  run(scene, {&first, &second}, 50ms);
  CHECK(first.frames().size() == 1);
}

TEST_CASE(
    "an initialisation from an address nobody has named is answered, nothing else is taken from "
    "it") {
  Scene scene;
  const Leg b = scene.add_leg(with("112", "a=rtpmap:112 AMR/8000\r\n"));
  sim::RtpPeer& stranger = scene.world.add_peer();
  const sim::Answer answer = scene.crcx(
      "rtpbridge/1@mgw", "C: 1\r\nM: sendrecv\r\n\r\nv=0\r\nc=IN IP4 " + std::string("192.0.2.77") +
                             "\r\nm=audio 0 RTP/AVP 96\r\na=rtpmap:96 VND.3GPP.IUFP/16000\r\n");
  REQUIRE(answer.code == 200);
  CHECK(answer.formats() == "96");
  CHECK(answer.sdp_line("a=rtpmap:") == "96 VND.3GPP.IUFP/16000");
  stranger.set_target(answer.media());
  IuupPeer peer(stranger);
  peer.initialise(scene, amr_122_rfcis());
  run(scene, {&peer}, 50ms);
  CHECK(peer.link().state() == IuupState::ready);
  peer.send(scene, 0, kSpeech);
  run(scene, {&peer}, 50ms);
  CHECK(b.peer->received().empty());
  CHECK(scene.dropped(DropCause::no_remote_address) == 1);
}

TEST_CASE("AMR for an IuUP leg is dropped until the leg is initialised, then it flows") {
  Scene scene;
  const Leg a = scene.add_leg(with("96", kIuup));
  const Leg b = scene.add_leg(with("112", "a=rtpmap:112 AMR/8000\r\n"));
  IuupPeer peer(*a.peer);
  b.peer->send_packet(112, kEfficient);
  run(scene, {&peer}, 50ms);
  CHECK(scene.dropped(DropCause::iuup_not_initialised) == 1);
  CHECK(peer.frames().empty());
  peer.initialise(scene, amr_122_rfcis());
  run(scene, {&peer}, 50ms);
  b.peer->send_packet(112, kEfficient);
  run(scene, {&peer}, 50ms);
  REQUIRE(peer.frames().size() == 1);
  CHECK(peer.frames()[0].quality == IuupFrameQuality::good);
}

TEST_CASE("an MDCX turns an AMR leg into an IuUP leg and back while the call goes on") {
  Scene scene;
  const Leg a = scene.add_leg(with("96", kIuup));
  const Leg b = scene.add_leg(with("112", "a=rtpmap:112 AMR/8000\r\n"));
  IuupPeer first(*a.peer);
  IuupPeer second(*b.peer);
  first.initialise(scene, amr_122_rfcis());
  run(scene, {&first}, 50ms);
  first.send(scene, 0, kSpeech);
  run(scene, {&first}, 50ms);
  REQUIRE(b.peer->received().size() == 1);
  b.peer->forget();
  CHECK(scene.mdcx(b, b.peer->sdp("96", kIuup)).code == 200);
  run(scene, {&first, &second}, 100ms);
  REQUIRE(second.link().state() == IuupState::ready);
  first.send(scene, 0, kSpeech);
  second.send(scene, 0, kSpeech);
  run(scene, {&first, &second}, 50ms);
  CHECK(second.frames().size() == 1);
  CHECK(first.frames().size() == 1);
  CHECK(scene.mdcx(b, b.peer->sdp("112", "a=rtpmap:112 AMR/8000\r\n")).code == 200);
  b.peer->forget();
  first.send(scene, 0, kSpeech);
  run(scene, {&first}, 50ms);
  REQUIRE(b.peer->received().size() == 1);
  CHECK(b.peer->received()[0].payload == kEfficient);
}

TEST_CASE(
    "a peer that never answers the initialisation is told of once, and can still begin itself") {
  Scene scene;
  const Leg a = scene.add_leg(with("96", kIuup));
  const Leg b = scene.add_leg(with("96", kIuup));
  IuupPeer first(*a.peer);
  IuupPeer second(*b.peer);
  second.set_answers(false);
  first.initialise(scene, amr_122_rfcis());
  run(scene, {&first, &second}, 8s);
  CHECK(scene.world.plane().counters(0).leg_failures.value() == 1);
  CHECK(std::count(second.events().begin(), second.events().end(), IuupEvent::initialised) +
            std::count(second.events().begin(), second.events().end(),
                       IuupEvent::initialisation_repeated) ==
        4);
  second.set_answers(true);
  second.link().reset();
  second.initialise(scene, amr_122_rfcis());
  run(scene, {&first, &second}, 100ms);
  first.send(scene, 0, kSpeech);
  run(scene, {&first, &second}, 50ms);
  CHECK(second.frames().size() == 1);
}
