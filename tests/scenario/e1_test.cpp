// Endpoints of E1 trunks on virtual lines: what may be created, and speech across the line.

#include "tests/scenario/e1_speech.h"
#include "tests/scenario/iuup_peer.h"

#include <algorithm>
#include <chrono>
#include <vector>

using namespace std::chrono_literals;
using mgw::DropCause;
using scenario::check_heard;
using scenario::endpoint_on;
using scenario::frame_of;
using scenario::kSpeech;
using scenario::Leg;
using scenario::LegOptions;
using scenario::on;
using scenario::Scene;
using scenario::Speech;
using scenario::talk_both;

namespace {

conf::Config e1_config(conf::E1Wiring wiring = conf::E1Wiring::timeslot_pairs) {
  conf::Config config = sim::small_config();
  config.e1.virtual_lines = true;
  config.e1.wiring = wiring;
  return config;
}

}  // namespace

TEST_CASE("speech crosses an E1 line bit by bit, both ways, in each codec") {
  for (const Speech& speech : kSpeech) {
    CAPTURE(speech.name);
    Scene scene(e1_config());
    const Leg a = scene.add_leg(on(endpoint_on(1, speech.rate), speech));
    const Leg b = scene.add_leg(on(endpoint_on(2, speech.rate), speech));
    CHECK(a.answer.formats() == speech.formats);
    scene.run_for(100ms);
    talk_both(scene, speech, a, b, 50);
    check_heard(a, speech, 2, 50);
    check_heard(b, speech, 1, 50);
  }
}

TEST_CASE("all sub-slots of a time slot carry their own speech") {
  Scene scene(e1_config(conf::E1Wiring::loopback));
  std::vector<Leg> legs;
  for (const int offset : {0, 2, 4, 6}) {
    legs.push_back(
        scene.add_leg(on(endpoint_on(31, fmt::format("16-{}", offset).c_str()), kSpeech[0])));
  }
  scene.run_for(100ms);
  for (unsigned i = 0; i < 20; ++i) {
    for (unsigned speaker = 0; speaker < legs.size(); ++speaker) {
      legs[speaker].peer->send_packet(3, frame_of(kSpeech[0], speaker, i));
    }
    scene.run_for(20ms);
  }
  scene.run_for(200ms);
  for (unsigned speaker = 0; speaker < legs.size(); ++speaker) {
    check_heard(legs[speaker], kSpeech[0], speaker, 20);
  }
}

TEST_CASE("two trunks whose lines are wired to each other") {
  conf::Config config = e1_config(conf::E1Wiring::line_pairs);
  config.e1.trunks = {3, 64};
  config.e1.lines = {7, 0};
  Scene scene(config);
  const Leg a = scene.add_leg(on(endpoint_on(5, "16-0", 3), kSpeech[0]));
  const Leg b = scene.add_leg(on(endpoint_on(5, "16-0", 64), kSpeech[0]));
  scene.run_for(100ms);
  talk_both(scene, kSpeech[0], a, b, 20);
  check_heard(a, kSpeech[0], 2, 20);
  check_heard(b, kSpeech[0], 1, 20);
  CHECK(scene.crcx("ds/e1-1/s-5/su16-0@mgw", "C: 9\r\nM: recvonly\r\n").code == 500);
}

TEST_CASE("a sub-slot is unavailable while one that shares a bit with it is in use") {
  Scene scene(e1_config());
  const auto create = [&scene](const char* endpoint, const char* call = "1") {
    return scene.crcx(endpoint, fmt::format("C: {}\r\nL: p:20, a:GSM\r\nM: recvonly\r\n", call))
        .code;
  };
  CHECK(create("ds/e1-1/s-1/su8-1@mgw") == 200);
  CHECK(create("ds/e1-1/s-1/su16-0@mgw") == 501);
  CHECK(create("ds/e1-1/s-1/su64-0@mgw") == 501);
  CHECK(create("ds/e1-1/s-1/su16-2@mgw") == 200);
  CHECK(create("ds/e1-1/s-1/su8-0@mgw") == 200);
  CHECK(create("ds/e1-1/s-1/su8-1@mgw") == 540);
  CHECK(create("ds/e1-1/s-2/su64-0@mgw") == 200);
  CHECK(create("ds/e1-1/s-2/su8-7@mgw") == 501);
  CHECK(create("ds/e1-1/s-3/su32-4@mgw") == 502);
  CHECK(create("ds/e1-2/s-1/su8-0@mgw") == 500);
  CHECK(create("ds/e1-1/s-32/su8-0@mgw") == 500);
  CHECK(create("ds/e1-1/s-0/su8-0@mgw") == 500);
  CHECK(scene.dlcx("ds/e1-1/s-1/su8-1@mgw").code == 200);
  CHECK(create("ds/e1-1/s-1/su16-0@mgw") == 501);  // su8-0 still
  CHECK(scene.dlcx("ds/e1-1/s-1/su8-0@mgw").code == 200);
  CHECK(create("ds/e1-1/s-1/su16-0@mgw") == 200);
  CHECK(scene.dlcx("ds/e1-1/s-1/su8-1@mgw").code == 515);
  CHECK(scene.crcx("rtpbridge/1@mgw", "C: 2\r\nM: recvonly\r\n").code == 200);
  const sim::Answer answer = scene.dlcx("ds/e1-1/*@mgw");
  CHECK(answer.code == 200);
  CHECK(answer.text.find('\n') == answer.text.size() - 1);
  CHECK(scene.world.control().trunks().e1_used(0) == 0);
  CHECK(scene.world.control().trunks().virtual_used() == 1);
}

TEST_CASE("a wildcard takes the lowest endpoint of its trunk that shares no bit with one in use") {
  Scene scene(e1_config());
  const auto create = [&scene] {
    return scene.crcx("ds/e1-1/$@mgw", "C: 1\r\nL: p:20, a:PCMA\r\nM: recvonly\r\n");
  };
  CHECK(create().parameter("Z") == "ds/e1-1/s-1/su64-0@mgw");
  CHECK(scene.crcx("ds/e1-1/s-2/su8-7@mgw", "C: 1\r\nL: a:GSM-HR-08\r\nM: recvonly\r\n").code ==
        200);
  const sim::Answer beside = create();  // nothing goes over su32-0
  CHECK(beside.parameter("Z") == "ds/e1-1/s-2/su16-0@mgw");
  CHECK(scene.dlcx("ds/e1-1/s-2/su16-0@mgw").code == 200);
  CHECK(scene.dlcx("ds/e1-1/s-2/su8-7@mgw").code == 200);
  for (int timeslot = 2; timeslot < 32; ++timeslot) {
    CHECK(create().parameter("Z") == endpoint_on(timeslot, "64-0"));
  }
  CHECK(create().code == 403);
  CHECK(scene.world.command(scene.agent, "AUEP", "ds/e1-1/*@mgw", "").code == 501);
  CHECK(scene.world.command(scene.agent, "RSIP", "ds/e1-1/*@mgw", "RM: restart\r\n").code == 200);
  CHECK(scene.world.control().trunks().e1_used(0) == 0);
  CHECK(scene.world.command(scene.agent, "AUEP", "ds/e1-1/*@mgw", "").code == 200);
}

TEST_CASE("a trunk without a line takes no calls, and there are none where none is configured") {
  conf::Config config = sim::small_config();
  config.e1.trunks = {1};
  Scene scene(config);
  CHECK(scene.crcx("ds/e1-1/s-1/su16-0@mgw", "C: 1\r\nM: recvonly\r\n").code == 502);
  CHECK(scene.world.command(scene.agent, "AUEP", "ds/e1-1/s-1/su16-0@mgw", "").code == 200);
  Scene other;
  CHECK(other.crcx("ds/e1-1/s-1/su16-0@mgw", "C: 1\r\nM: recvonly\r\n").code == 500);
}

TEST_CASE("the connection's mode decides both directions of the line") {
  const Speech& speech = kSpeech[0];
  Scene scene(e1_config(conf::E1Wiring::loopback));
  const Leg leg = scene.add_leg(on(endpoint_on(1, "16-0"), speech, "loopback"));
  scene.run_for(200ms);
  for (unsigned i = 0; i < 10; ++i) {
    leg.peer->send_packet(3, frame_of(speech, 1, i));
    scene.run_for(20ms);
  }
  scene.run_for(100ms);
  REQUIRE(leg.peer->received().size() == 10);  // each comes back once, and nothing from the line
  CHECK(leg.peer->received()[9].payload == frame_of(speech, 1, 9));
  CHECK(scene.mdcx(leg, "M: recvonly\r\n").code == 200);
  leg.peer->forget();
  leg.peer->send_packet(3, frame_of(speech, 1, 10));
  scene.run_for(200ms);
  CHECK(leg.peer->received().empty());
  CHECK(scene.mdcx(leg, "M: sendonly\r\n").code == 200);
  scene.run_for(200ms);
  const std::size_t fillers = leg.peer->received().size();
  CHECK(fillers >= 9);  // silence that the line made comes back
  leg.peer->send_packet(3, frame_of(speech, 1, 11));
  scene.run_for(200ms);
  for (const auto& packet : leg.peer->received()) {
    CHECK(packet.payload != frame_of(speech, 1, 11));
  }
  CHECK(scene.dropped(DropCause::mode_not_receiving) == 1);
}

TEST_CASE("pauses are filled with silence, and the stream keeps its timestamps over them") {
  const Speech& speech = kSpeech[0];
  Scene scene(e1_config());
  const Leg a = scene.add_leg(on(endpoint_on(1, "16-0"), speech));
  const Leg b = scene.add_leg(on(endpoint_on(2, "16-0"), speech));
  scene.run_for(100ms);
  talk_both(scene, speech, a, b, 5);
  a.peer->timestamp += 160 * 100;
  scene.run_for(2s);
  talk_both(scene, speech, a, b, 5);
  const auto& received = b.peer->received();
  REQUIRE(received.size() > 100);
  for (std::size_t i = 1; i < received.size(); ++i) {
    CHECK(received[i].header.timestamp == received[i - 1].header.timestamp + 160);
    CHECK(received[i].header.sequence ==
          static_cast<std::uint16_t>(received[i - 1].header.sequence + 1));
    CHECK(received[i].at - received[i - 1].at == 20ms);
  }
}

TEST_CASE("a far end that goes is heard no more, and found again when it is back") {
  const Speech& speech = kSpeech[1];
  Scene scene(e1_config());
  const Leg a = scene.add_leg(on(endpoint_on(1, "16-2"), speech));
  const Leg b = scene.add_leg(on(endpoint_on(2, "16-2"), speech));
  scene.run_for(100ms);
  CHECK(scene.dlcx(a).code == 250);
  scene.run_for(100ms);
  b.peer->forget();
  scene.run_for(1s);
  CHECK(b.peer->received().empty());
  CHECK(scene.world.plane().counters(0).e1.synchronisation_losses.value() == 1);
  const Leg again = scene.add_leg(on(endpoint_on(1, "16-2"), speech));
  scene.run_for(100ms);
  talk_both(scene, speech, again, b, 20);
  check_heard(b, speech, 1, 20);
  check_heard(again, speech, 2, 20);
}

TEST_CASE("bit errors on the line cost frames, not the call") {
  const Speech& speech = kSpeech[1];
  conf::Config config = e1_config();
  config.e1.bit_errors_ppm = 500;
  Scene scene(config);
  const Leg a = scene.add_leg(on(endpoint_on(1, "16-2"), speech));
  const Leg b = scene.add_leg(on(endpoint_on(2, "16-2"), speech));
  scene.run_for(100ms);
  talk_both(scene, speech, a, b, 200);
  CHECK(b.peer->received().size() > 100);
  const mgw::E1Counters& counters = scene.world.plane().counters(0).e1;
  CHECK(counters.receive_failures[static_cast<std::size_t>(rtp::TrauError::bad_crc)].value() > 0);
}

TEST_CASE("another codec by MDCX goes over the line from then on") {
  Scene scene(e1_config());
  const Leg a = scene.add_leg(on(endpoint_on(1, "16-2"), kSpeech[0]));
  const Leg b = scene.add_leg(on(endpoint_on(2, "16-2"), kSpeech[0]));
  scene.run_for(100ms);
  for (const Leg* leg : {&a, &b}) {
    CHECK(scene.mdcx(*leg, "\r\n" + leg->peer->sdp("110", "a=rtpmap:110 GSM-EFR/8000\r\n")).code ==
          200);
  }
  scene.run_for(100ms);
  a.peer->forget();
  b.peer->forget();
  talk_both(scene, kSpeech[1], a, b, 20);
  check_heard(a, kSpeech[1], 2, 20);
  check_heard(b, kSpeech[1], 1, 20);
}

TEST_CASE("of several codecs the first one that goes over the sub-slot is taken") {
  Scene scene(e1_config());
  LegOptions options = on(endpoint_on(1, "16-0"), kSpeech[0]);
  options.formats = "0 8 3 101";
  options.attributes = "a=rtpmap:101 telephone-event/8000\r\n";
  const Leg leg = scene.add_leg(options);
  CHECK(leg.answer.formats().substr(0, 1) == "3");
  // What does not go over it is dropped, and counted; the line stays idle.
  options.endpoint = endpoint_on(2, "16-0");
  options.formats = "8";
  const Leg other = scene.add_leg(options);
  CHECK(other.answer.formats().substr(0, 1) == "8");
  other.peer->stream(5, 8);
  scene.run_for(500ms);
  CHECK(scene.dropped(DropCause::unmapped_payload_type) == 5);
  CHECK(other.peer->received().empty());
}

TEST_CASE("payloads that are no frames of the codec are dropped by cause") {
  Scene scene(e1_config());
  const Leg a = scene.add_leg(on(endpoint_on(1, "16-0"), kSpeech[0]));
  a.peer->send_packet(3, sim::Bytes(7, std::byte{0xd0}));
  a.peer->send_packet(3, sim::Bytes(33, std::byte{0x20}));
  scene.run_for(100ms);
  CHECK(scene.dropped(DropCause::trau_wrong_length) + scene.dropped(DropCause::trau_wrong_type) ==
        2);
}

TEST_CASE("a connection on a trunk times out, and its sub-slot is free again") {
  conf::Config config = e1_config(conf::E1Wiring::loopback);
  config.endpoints.options.connection_timeout = 5s;
  Scene scene(config);
  const Leg a = scene.add_leg(on(endpoint_on(1, "16-0"), kSpeech[0]));
  a.peer->stream(100, 3);
  scene.run_for(6s);
  CHECK(scene.world.connections() == 1);
  scene.run_for(2s);
  CHECK(scene.world.connections() == 0);
  CHECK(scene.crcx("ds/e1-1/s-1/su8-0@mgw", "C: 2\r\nL: a:GSM-HR-08\r\nM: recvonly\r\n").code ==
        200);
}

TEST_CASE("AMR crosses from IuUP over the line to RTP and back") {
  const Speech& speech = kSpeech[5];
  Scene scene(e1_config());
  LegOptions options;
  options.endpoint = endpoint_on(1, "16-0");
  options.formats = "96";
  options.attributes = "a=rtpmap:96 VND.3GPP.IUFP/16000\r\n";
  const Leg a = scene.add_leg(options);
  const Leg b = scene.add_leg(on(endpoint_on(2, "16-0"), speech));
  scenario::IuupPeer peer(*a.peer);
  peer.initialise(scene, scenario::amr_122_rfcis());
  run(scene, {&peer}, 100ms);
  REQUIRE(peer.link().state() == rtp::IuupState::ready);
  for (unsigned i = 0; i < 20; ++i) {
    const sim::Bytes frame = frame_of(speech, 1, i);
    peer.send(scene, 0, sim::Bytes(frame.begin() + 2, frame.end()));
    b.peer->send_packet(112, frame_of(speech, 2, i));
    run(scene, {&peer}, 20ms);
  }
  run(scene, {&peer}, 200ms);
  check_heard(b, speech, 1, 20);
  REQUIRE(peer.frames().size() >= 20);
  const auto first = std::find_if(peer.frames().begin(), peer.frames().end(), [&](const auto& one) {
    const sim::Bytes frame = frame_of(speech, 2, 0);
    return one.payload == sim::Bytes(frame.begin() + 2, frame.end());
  });
  REQUIRE(peer.frames().end() - first >= 20);
  for (unsigned i = 0; i < 20; ++i) {
    const sim::Bytes frame = frame_of(speech, 2, i);
    CHECK(first[i].payload == sim::Bytes(frame.begin() + 2, frame.end()));
  }
}

TEST_CASE("a hand-over in the middle of a call moves the peer, and the line hears the new one") {
  const Speech& speech = kSpeech[0];
  Scene scene(e1_config());
  Leg a = scene.add_leg(on(endpoint_on(1, "16-0"), speech));
  const Leg b = scene.add_leg(on(endpoint_on(2, "16-0"), speech));
  scene.run_for(100ms);
  talk_both(scene, speech, a, b, 20);
  check_heard(a, speech, 2, 20);
  sim::RtpPeer& before = *a.peer;
  sim::RtpPeer& after = scene.world.add_peer();
  const sim::Answer answer = scene.mdcx(a, "\r\n" + after.sdp("3"));
  CHECK(answer.code == 200);
  after.set_target(answer.media());
  scene.run_for(20ms);
  before.forget();
  a.peer = &after;
  for (unsigned i = 0; i < 20; ++i) {
    before.send_packet(3, frame_of(speech, 3, i));  // it does not know yet
    after.send_packet(3, frame_of(speech, 1, i));
    b.peer->send_packet(3, frame_of(speech, 2, i));
    scene.run_for(20ms);
  }
  scene.run_for(200ms);
  CHECK(before.received().empty());
  check_heard(a, speech, 2, 20);
  CHECK(scene.dropped(DropCause::unknown_source) == 20);
  const auto& heard = b.peer->received();
  const auto first = std::find_if(heard.rbegin(), heard.rend(), [&](const auto& packet) {
    return packet.payload == frame_of(speech, 1, 0);
  });
  REQUIRE(first - heard.rbegin() >= 19);
  for (unsigned i = 0; i < 20; ++i) {
    CHECK((first.base() - 1 + i)->payload == frame_of(speech, 1, i));
  }
  for (std::size_t i = 1; i < heard.size(); ++i) {  // to the other side it is one stream
    CHECK(heard[i].header.timestamp == heard[i - 1].header.timestamp + 160);
    CHECK(heard[i].header.ssrc == heard.front().header.ssrc);
  }
}

TEST_CASE(
    "a codec that changes while both speak costs a moment, and no frame is played as another") {
  Scene scene(e1_config());
  const Leg a = scene.add_leg(on(endpoint_on(1, "16-2"), kSpeech[0]));
  const Leg b = scene.add_leg(on(endpoint_on(2, "16-2"), kSpeech[0]));
  scene.run_for(100ms);
  const auto speak = [&](const Speech& speech, unsigned first, unsigned last) {
    for (unsigned i = first; i < last; ++i) {
      a.peer->send_packet(speech.payload_type, frame_of(speech, 1, i));
      b.peer->send_packet(speech.payload_type, frame_of(speech, 2, i));
      scene.run_for(20ms);
    }
  };
  speak(kSpeech[0], 0, 20);
  CHECK(scene.mdcx(a, "\r\n" + a.peer->sdp("110", "a=rtpmap:110 GSM-EFR/8000\r\n")).code == 200);
  speak(kSpeech[0], 20, 25);  // only one side has changed
  CHECK(scene.mdcx(b, "\r\n" + b.peer->sdp("110", "a=rtpmap:110 GSM-EFR/8000\r\n")).code == 200);
  scene.run_for(100ms);
  for (const Leg* leg : {&a, &b}) {
    CHECK(leg->peer->received().size() >= 20);
    for (const auto& packet : leg->peer->received()) {
      CHECK(packet.payload.size() == (packet.header.payload_type == 3 ? 33U : 31U));
    }
    leg->peer->forget();  // what comes now is a new stream
  }
  speak(kSpeech[1], 0, 30);
  scene.run_for(200ms);
  check_heard(a, kSpeech[1], 2, 30);
  check_heard(b, kSpeech[1], 1, 30);
}
