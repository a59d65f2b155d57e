// Media of Osmux circuits, towards each other, RTP and IuUP.

#include "rtp/amr.h"
#include "tests/scenario/iuup_peer.h"
#include "tests/scenario/osmux_peer.h"

#include <algorithm>
#include <chrono>

using namespace std::chrono_literals;
using mgw::DropCause;
using scenario::add_circuit;
using scenario::aligned_590;
using scenario::amr_leg;
using scenario::osmux_config;
using scenario::OsmuxLegAnswer;
using scenario::OsmuxPeer;
using scenario::Scene;
using scenario::speech_590;

namespace {

sim::Bytes efficient(const sim::Bytes& aligned) {
  std::array<std::byte, 64> out;
  const auto size = rtp::convert_amr(aligned, rtp::AmrCodec::narrowband,
                                     rtp::AmrFormat::bandwidth_efficient, out);
  REQUIRE(size);
  return {out.begin(), out.begin() + static_cast<long>(*size)};
}

/// Sends `count` chunks of four frames each, 80 ms apart.
void send_chunks(Scene& scene, OsmuxPeer& peer, std::uint8_t circuit, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    peer.send_chunk(circuit, static_cast<std::uint8_t>(i), 4 * i);
    scene.run_for(80ms);
  }
}

std::uint64_t osmux_counter(Scene& scene, io::Counter mgw::OsmuxCounters::*member) {
  return (scene.world.plane().counters(0).osmux.*member).value();
}

}  // namespace

TEST_CASE("a circuit talks with AMR in every packing, bit by bit, one frame each 20 ms") {
  struct Row {
    const char* attributes;
    bool sends_efficient;
    bool gets_efficient;
  };
  for (const Row& row : {Row{"a=fmtp:110 octet-align=1\r\n", false, false},
                         Row{"a=fmtp:110 octet-align=0\r\n", true, true}, Row{"", false, false},
                         Row{"", true, false}, Row{"a=fmtp:110 mode-set=2\r\n", true, false}}) {
    CAPTURE(row.attributes);
    CAPTURE(row.sends_efficient);
    Scene scene(osmux_config());
    OsmuxPeer peer(scene, "203.0.113.1");
    const scenario::Leg a = scene.add_leg(amr_leg(row.attributes));
    const OsmuxLegAnswer b = add_circuit(scene, peer, "2");
    for (std::uint32_t i = 0; i < 40; ++i) {
      if (i % 4 == 0) {
        peer.send_chunk(b.circuit, static_cast<std::uint8_t>(12 + i / 4), i);
      }
      const sim::Bytes payload = aligned_590(1000 + i);
      a.peer->send_packet(110, row.sends_efficient ? efficient(payload) : payload);
      scene.run_for(20ms);
    }
    scene.run_for(200ms);
    CHECK(peer.heard(2, 1000, 40));
    CHECK(peer.datagrams == 10);
    CHECK(peer.chunks == 10);
    CHECK(peer.malformed == 0);
    const auto& heard = a.peer->received();
    REQUIRE(heard.size() == 40);
    for (std::uint32_t i = 0; i < 40; ++i) {
      const sim::Bytes payload = aligned_590(i);
      CHECK(heard[i].payload == (row.gets_efficient ? efficient(payload) : payload));
      CHECK(heard[i].header.payload_type == 110);
      CHECK(heard[i].header.marker == (i == 0));
      CHECK(heard[i].header.timestamp == heard[0].header.timestamp + 160 * i);
      CHECK(heard[i].header.sequence == static_cast<std::uint16_t>(heard[0].header.sequence + i));
      CHECK(heard[i].at == heard[0].at + i * 20ms);
    }
    CHECK(scene.world.dropped() == 0);
  }
}

TEST_CASE("AMR that is not packed as its sender announced does not reach a circuit") {
  Scene scene(osmux_config());
  OsmuxPeer peer(scene, "203.0.113.1");
  const scenario::Leg a = scene.add_leg(amr_leg("a=fmtp:110 octet-align=0\r\n"));
  add_circuit(scene, peer, "2");
  a.peer->send_packet(110, aligned_590(1));
  a.peer->send_packet(110, sim::from_hex("01020304"));
  a.peer->send_packet(0, sim::from_hex("01020304"));
  scene.run_for(200ms);
  CHECK(peer.heard(2, 0, 0));
  CHECK(scene.dropped(DropCause::amr_format_mismatch) == 2);
  CHECK(scene.dropped(DropCause::unmapped_payload_type) == 1);
}

TEST_CASE("packets of several frames become as many frames of a batch") {
  Scene scene(osmux_config());
  OsmuxPeer peer(scene, "203.0.113.1");
  const scenario::Leg a = scene.add_leg(amr_leg("a=fmtp:110 octet-align=1\r\na=ptime:40\r\n"));
  add_circuit(scene, peer, "2");
  a.peer->sequence = 65533;  // wraps on the way
  for (std::uint32_t i = 0; i < 40; i += 2) {
    sim::Bytes payload = sim::from_hex("f09414");
    for (const std::uint32_t number : {i, i + 1}) {
      const sim::Bytes octets = speech_590(number);
      payload.insert(payload.end(), octets.begin(), octets.end());
    }
    a.peer->send_packet(110, payload);
    scene.run_for(40ms);
  }
  scene.run_for(200ms);
  CHECK(peer.heard(2, 0, 40));
  CHECK(scene.world.dropped() == 0);
}

TEST_CASE("two circuits talk with each other, also of one peer") {
  Scene scene(osmux_config());
  OsmuxPeer first(scene, "203.0.113.1");
  OsmuxPeer second(scene, "203.0.113.2");
  const OsmuxLegAnswer a = add_circuit(scene, first, "11");
  const OsmuxLegAnswer b = add_circuit(scene, second, "12");
  const OsmuxLegAnswer c = add_circuit(scene, first, "13", "rtpbridge/2@mgw");
  const OsmuxLegAnswer d = add_circuit(scene, first, "14", "rtpbridge/2@mgw");
  for (std::uint32_t i = 0; i < 10; ++i) {
    const auto sequence = static_cast<std::uint8_t>(i);
    first.send_chunk(a.circuit, sequence, 4 * i);
    second.send_chunk(b.circuit, sequence, 100 + 4 * i);
    sim::Bytes both = OsmuxPeer::chunk(c.circuit, sequence, 200 + 4 * i);
    const sim::Bytes more = OsmuxPeer::chunk(d.circuit, sequence, 300 + 4 * i);
    both.insert(both.end(), more.begin(), more.end());
    first.send(both);
    scene.run_for(80ms);
  }
  scene.run_for(200ms);
  CHECK(second.heard(12, 0, 40));
  CHECK(first.heard(11, 100, 40));
  CHECK(first.heard(14, 200, 40));
  CHECK(first.heard(13, 300, 40));
  CHECK(scene.world.dropped() == 0);
}

TEST_CASE("a circuit talks with an IuUP leg in both directions") {
  Scene scene(osmux_config());
  OsmuxPeer peer(scene, "203.0.113.1");
  scenario::LegOptions options;
  options.formats = "96";
  options.attributes = "a=rtpmap:96 VND.3GPP.IUFP/16000\r\n";
  const scenario::Leg a = scene.add_leg(options);
  const OsmuxLegAnswer b = add_circuit(scene, peer, "2");
  scenario::IuupPeer iuup(*a.peer);
  rtp::IuupConfiguration set = scenario::amr_122_rfcis();
  set.rfcis[0] = {0, 1, {55, 63, 0}};  // AMR 5.90
  iuup.initialise(scene, set);
  run(scene, {&iuup}, 100ms);
  for (std::uint32_t i = 0; i < 20; ++i) {
    if (i % 4 == 0) {
      peer.send_chunk(b.circuit, static_cast<std::uint8_t>(i / 4), i);
    }
    iuup.send(scene, 0, speech_590(1000 + i));
    run(scene, {&iuup}, 20ms);
  }
  run(scene, {&iuup}, 200ms);
  CHECK(peer.heard(2, 1000, 20));
  REQUIRE(iuup.frames().size() == 20);
  for (std::uint32_t i = 0; i < 20; ++i) {
    CHECK(iuup.frames()[i].payload == speech_590(i));
    CHECK(iuup.frames()[i].rfci == 0);
  }
}

TEST_CASE("a circuit in loopback returns each frame on the peer's number, whatever its SDP named") {
  Scene scene(osmux_config());
  OsmuxPeer peer(scene, "203.0.113.1");
  const auto answer =
      scene.crcx("rtpbridge/1@mgw", "C: 1\r\nM: loopback\r\nX-Osmux: 2\r\n" +
                                        peer.sdp("111", "a=rtpmap:111 GSM-HR-08/8000/1\r\n"));
  REQUIRE(answer.code == 200);
  CHECK(answer.formats() == "111");
  peer.set_target(answer.media());
  send_chunks(scene, peer, static_cast<std::uint8_t>(std::stoul(answer.parameter("X-Osmux"))), 25);
  scene.run_for(200ms);
  CHECK(peer.heard(2, 0, 100));
  CHECK(peer.datagrams == 25);
  CHECK(peer.chunks == 25);
}

TEST_CASE("nothing is sent or taken before the peer and its number are known") {
  Scene scene(osmux_config());
  OsmuxPeer peer(scene, "203.0.113.1");
  const scenario::Leg a = scene.add_leg(amr_leg("", "recvonly"));
  const OsmuxLegAnswer b = add_circuit(scene, peer, "*", "rtpbridge/1@mgw", "recvonly");
  const auto exchange = [&](std::uint32_t first) {
    static std::uint8_t sequence = 0;
    peer.send_chunk(b.circuit, sequence++, first);
    a.peer->send_packet(110, aligned_590(first));
    scene.run_for(200ms);
  };
  exchange(0);
  CHECK(scene.dropped(DropCause::osmux_not_enabled) == 1);
  CHECK(scene.dropped(DropCause::no_target) == 1);
  CHECK(scene.mdcx(a, "M: sendrecv\r\n").code == 200);
  exchange(10);
  CHECK(scene.dropped(DropCause::osmux_not_enabled) == 2);
  CHECK(scene.mdcx(b.leg, "M: sendrecv\r\nX-Osmux: 2\r\n").code == 200);
  exchange(20);
  CHECK(peer.heard(2, 20, 1));
  REQUIRE(a.peer->received().size() == 4);
  CHECK(a.peer->received()[0].payload == aligned_590(20));
}

TEST_CASE("with a number from the start, a circuit that only receives is heard") {
  Scene scene(osmux_config());
  OsmuxPeer peer(scene, "203.0.113.1");
  const scenario::Leg a = scene.add_leg(amr_leg("", "recvonly"));
  const OsmuxLegAnswer b = add_circuit(scene, peer, "2", "rtpbridge/1@mgw", "recvonly");
  CHECK(scene.mdcx(a, "M: sendrecv\r\n").code == 200);
  send_chunks(scene, peer, b.circuit, 3);
  a.peer->send_packet(110, aligned_590(1));
  scene.run_for(200ms);
  CHECK(a.peer->received().size() == 12);
  CHECK(peer.heard(2, 0, 0));
}

TEST_CASE("a circuit hears its peer's address and port only, until an MDCX names another") {
  Scene scene(osmux_config());
  OsmuxPeer peer(scene, "203.0.113.1");
  OsmuxPeer other_port(scene, "203.0.113.1", 1985);
  OsmuxPeer other_host(scene, "203.0.113.2");
  const OsmuxLegAnswer a = add_circuit(scene, peer, "2", "rtpbridge/1@mgw", "loopback");
  for (OsmuxPeer* stranger : {&other_port, &other_host}) {
    stranger->set_target(a.leg.answer.media());
    stranger->send_chunk(a.circuit, 0, 0);
  }
  scene.run_for(200ms);
  CHECK(scene.dropped(DropCause::unknown_source) == 2);
  CHECK(scene.mdcx(a.leg, "X-Osmux: 2\r\n" + other_host.sdp()).code == 200);
  peer.send_chunk(a.circuit, 1, 50);
  other_host.send_chunk(a.circuit, 1, 60);
  scene.run_for(200ms);
  CHECK(other_host.heard(2, 60, 4));
  CHECK(peer.heard(2, 0, 0));
  CHECK(other_port.heard(2, 0, 0));
  CHECK(osmux_counter(scene, &mgw::OsmuxCounters::links) == 1);
  // On hold nothing is sent or heard, and then it goes on.
  CHECK(scene
            .mdcx(a.leg,
                  "X-Osmux: 2\r\n\r\nv=0\r\nc=IN IP4 0.0.0.0\r\nm=audio 1984 RTP/AVP 112\r\n"
                  "a=rtpmap:112 AMR/8000\r\n")
            .code == 200);
  other_host.send_chunk(a.circuit, 2, 70);
  scene.run_for(200ms);
  CHECK(other_host.heard(2, 60, 4));
  CHECK(scene.mdcx(a.leg, "X-Osmux: 2\r\n" + other_host.sdp()).code == 200);
  other_host.speech.clear();
  other_host.send_chunk(a.circuit, 3, 80);
  scene.run_for(200ms);
  CHECK(other_host.heard(2, 80, 4));
}

TEST_CASE("behind NAT the peer is where its circuit's first datagram comes from") {
  conf::Config config = osmux_config();
  config.osmux.peer_behind_nat = true;
  Scene scene(config);
  OsmuxPeer described(scene, "203.0.113.1");
  OsmuxPeer peer(scene, "198.18.0.1", 40001);
  OsmuxPeer stranger(scene, "198.18.0.2", 40001);
  const OsmuxLegAnswer a = add_circuit(scene, described, "*", "rtpbridge/1@mgw", "loopback");
  peer.set_target(a.leg.answer.media());
  stranger.set_target(a.leg.answer.media());
  peer.send_chunk(a.circuit, 0, 0);
  scene.run_for(200ms);
  CHECK(scene.dropped(DropCause::osmux_not_enabled) == 1);
  CHECK(scene.mdcx(a.leg, "X-Osmux: 2\r\n").code == 200);
  sim::Bytes broken = OsmuxPeer::chunk(a.circuit, 0, 0);
  broken.pop_back();
  stranger.send(broken);  // teaches nothing
  scene.run_for(10ms);
  sim::Bytes dummy(rtp::kOsmuxDummyBytes);
  rtp::write_osmux_dummy(dummy, a.circuit);
  peer.send(dummy);
  scene.run_for(10ms);
  stranger.send_chunk(a.circuit, 1, 10);
  peer.send_chunk(a.circuit, 1, 20);
  scene.run_for(200ms);
  CHECK(peer.heard(2, 20, 4));
  CHECK(scene.dropped(DropCause::unknown_source) == 1);
  CHECK(scene.dropped(DropCause::osmux_frames_overrun) == 1);
  // Hand-over: another peer is described, and learned anew; late chunks of the old one are not.
  OsmuxPeer next(scene, "203.0.113.7");
  CHECK(scene.mdcx(a.leg, "X-Osmux: 2\r\n" + next.sdp()).code == 200);
  peer.send_chunk(a.circuit, 2, 30);
  scene.run_for(10ms);
  stranger.send_chunk(a.circuit, 3, 40);
  scene.run_for(200ms);
  CHECK(stranger.heard(2, 40, 4));
  CHECK(peer.heard(2, 20, 4));
}

TEST_CASE(
    "what is no Osmux is dropped by cause, and a chunk of nobody's costs its neighbours nothing") {
  Scene scene(osmux_config());
  OsmuxPeer peer(scene, "203.0.113.1");
  const OsmuxLegAnswer a = add_circuit(scene, peer, "2", "rtpbridge/1@mgw", "loopback");
  const std::uint8_t nobody = 99;
  sim::Bytes mixed = OsmuxPeer::chunk(nobody, 0, 500);
  const sim::Bytes good = OsmuxPeer::chunk(a.circuit, 0, 0);
  mixed.insert(mixed.end(), good.begin(), good.end());
  peer.send(mixed);
  peer.send(OsmuxPeer::chunk(nobody, 0, 0));
  peer.send(sim::from_hex("2d"));
  peer.send(sim::from_hex("0d00000000000000"));
  peer.send(sim::from_hex("7d00000000000000"));
  peer.send(sim::from_hex("2d0000d200000000"));
  peer.send(sim::from_hex("2d00002200000000"));
  peer.send({});
  peer.send({std::byte{0x23}, std::byte{a.circuit}});
  scene.run_for(300ms);
  CHECK(peer.heard(2, 0, 4));
  CHECK(scene.dropped(DropCause::osmux_unknown_circuit) == 1);
  CHECK(osmux_counter(scene, &mgw::OsmuxCounters::unknown_circuit) == 2);
  CHECK(scene.dropped(DropCause::osmux_too_short) == 2);
  CHECK(scene.dropped(DropCause::osmux_signalling) == 1);
  CHECK(scene.dropped(DropCause::osmux_bad_type) == 1);
  CHECK(scene.dropped(DropCause::osmux_reserved_frame_type) == 1);
  CHECK(scene.dropped(DropCause::osmux_frames_overrun) == 1);
  CHECK(scene.world.plane().counters(0).osmux.received.dummies.value() == 1);
}

TEST_CASE("circuits of several peers are on hold at the same time, by the same number or not") {
  Scene scene(osmux_config());
  OsmuxPeer one(scene, "203.0.113.1");
  OsmuxPeer two(scene, "203.0.113.2");
  const OsmuxLegAnswer a = add_circuit(scene, one, "2", "rtpbridge/1@mgw", "loopback");
  const OsmuxLegAnswer b = add_circuit(scene, two, "2", "rtpbridge/2@mgw", "loopback");
  for (const OsmuxLegAnswer* circuit : {&a, &b}) {
    CHECK(scene
              .mdcx(circuit->leg,
                    "X-Osmux: 2\r\n\r\nv=0\r\nc=IN IP4 0.0.0.0\r\nm=audio 1984 RTP/AVP 112\r\n"
                    "a=rtpmap:112 AMR/8000\r\n")
              .code == 200);
  }
  CHECK(scene.mdcx(a.leg, "X-Osmux: 2\r\n" + one.sdp()).code == 200);
  CHECK(scene.mdcx(b.leg, "X-Osmux: 2\r\n" + two.sdp()).code == 200);
  two.send_chunk(b.circuit, 0, 10);
  scene.run_for(200ms);
  CHECK(two.heard(2, 10, 4));
  CHECK(one.heard(2, 0, 0));
}

TEST_CASE("keep-alives are dummies from the socket of the peer's family") {
  conf::Config config = osmux_config();
  config.osmux.bind_v6 = sim::kGatewayHost6;
  config.endpoints.options.keep_alive.mode = conf::KeepAlive::Mode::interval;
  config.endpoints.options.keep_alive.interval = 1s;
  Scene scene(config);
  for (const auto* const host : {"203.0.113.1", "2001:db8::7"}) {
    OsmuxPeer peer(scene, host);
    const OsmuxLegAnswer a = add_circuit(scene, peer, "*", "rtpbridge/1@mgw", "recvonly");
    scene.run_for(1100ms);
    peer.collect();
    CHECK(peer.datagrams == 0);  // the peer's number is not known
    CHECK(scene.mdcx(a.leg, "X-Osmux: 77\r\n").code == 200);
    scene.run_for(3500ms);
    peer.collect();
    CHECK(peer.dummies.size() >= 4);
    CHECK(std::count(peer.dummies.begin(), peer.dummies.end(), 77) ==
          static_cast<long>(peer.datagrams));
    CHECK(peer.sources.front() == a.leg.answer.media());
    CHECK(scene.dlcx(a.leg).code == 250);
  }
}

TEST_CASE("chunks keep a connection from timing out, dummies do not") {
  conf::Config config = osmux_config();
  config.endpoints.options.connection_timeout = 2s;
  Scene scene(config);
  OsmuxPeer peer(scene, "203.0.113.1");
  const OsmuxLegAnswer a = add_circuit(scene, peer, "2");
  for (std::uint8_t i = 0; i < 10; ++i) {
    peer.send_chunk(a.circuit, i, 0);
    scene.run_for(1s);
  }
  CHECK(scene.world.endpoints_used() == 1);
  sim::Bytes dummy(rtp::kOsmuxDummyBytes);
  rtp::write_osmux_dummy(dummy, a.circuit);
  for (int i = 0; i < 5; ++i) {
    peer.send(dummy);
    scene.run_for(1s);
  }
  CHECK(scene.world.endpoints_used() == 0);
  CHECK(scene.world.control().osmux().used() == 0);
}

TEST_CASE("batches are as long as configured, and idle circuits are padded if so") {
  conf::Config config = osmux_config();
  config.osmux.batch_factor = 8;
  config.osmux.dummy_padding = true;
  Scene scene(config);
  OsmuxPeer peer(scene, "203.0.113.1");
  const scenario::Leg a = scene.add_leg(amr_leg("a=fmtp:110 octet-align=1\r\n"));
  add_circuit(scene, peer, "2");
  scene.run_for(810ms);
  peer.collect();
  CHECK(peer.dummies.size() == 5);
  for (std::uint32_t i = 0; i < 16; ++i) {
    a.peer->send_packet(110, aligned_590(i));
    scene.run_for(20ms);
  }
  scene.run_for(500ms);
  CHECK(peer.heard(2, 0, 16));
  CHECK(peer.chunks <= 3);
}

TEST_CASE(
    "256 circuits of one peer share datagrams; no frame is lost, late or on a wrong circuit") {
  conf::Config config = osmux_config();
  config.endpoints.count = 300;
  config.rtp.port_max = 4799;
  sim::WorldOptions options;
  options.plane.workers = 2;
  Scene scene(config, options);
  OsmuxPeer peer(scene, "203.0.113.1");
  std::vector<scenario::Leg> rtp;
  std::vector<OsmuxLegAnswer> circuits;
  for (unsigned i = 0; i < 256; ++i) {
    const std::string endpoint = fmt::format("rtpbridge/{:x}@mgw", i + 1);
    scenario::LegOptions leg = amr_leg("a=fmtp:110 octet-align=1\r\n");
    leg.endpoint = endpoint;
    rtp.push_back(scene.add_leg(leg));
    circuits.push_back(add_circuit(scene, peer, std::to_string(255 - i), endpoint));
  }
  constexpr std::uint32_t kChunks = 5;
  for (std::uint32_t i = 0; i < 4 * kChunks; ++i) {
    if (i % 4 == 0) {
      for (unsigned first = 0; first < 256; first += 16) {
        sim::Bytes datagram;
        for (unsigned c = first; c < first + 16; ++c) {
          const sim::Bytes chunk =
              OsmuxPeer::chunk(circuits[c].circuit, static_cast<std::uint8_t>(i / 4), 1000 * c + i);
          datagram.insert(datagram.end(), chunk.begin(), chunk.end());
        }
        peer.send(datagram);
      }
    }
    for (unsigned c = 0; c < 256; ++c) {
      rtp[c].peer->send_packet(110, aligned_590(500'000 + 1000 * c + i));
    }
    scene.run_for(20ms);
  }
  scene.run_for(200ms);
  for (unsigned c = 0; c < 256; ++c) {
    CHECK(peer.heard(static_cast<std::uint8_t>(255 - c), 500'000 + 1000 * c, 4 * kChunks));
    const auto& heard = rtp[c].peer->received();
    REQUIRE(heard.size() == 4 * kChunks);
    for (std::uint32_t i = 0; i < heard.size(); ++i) {
      CHECK(heard[i].payload == aligned_590(1000 * c + i));
      CHECK(heard[i].at == heard[0].at + i * 20ms);
    }
  }
  CHECK(peer.datagrams <= kChunks * 12);  // 64 octets of 256 circuits in datagrams of 1472
  CHECK(scene.world.dropped() == 0);
  CHECK(osmux_counter(scene, &mgw::OsmuxCounters::links) == 1);
  const auto& osmux = scene.world.plane().counters(0).osmux;
  CHECK(osmux.sent.frames.value() == 256 * 4 * kChunks);
  CHECK(2 * osmux.sent.octets.value() < osmux.sent.plain_rtp_octets.value());
  CHECK(2 * osmux.received.octets.value() < osmux.received.plain_rtp_octets.value());
}
