// What a call agent may ask of Osmux circuits, and what it is answered.

#include "tests/scenario/osmux_peer.h"

#include <cerrno>
#include <chrono>
#include <set>

using namespace std::chrono_literals;
using scenario::add_circuit;
using scenario::osmux_config;
using scenario::OsmuxLegAnswer;
using scenario::OsmuxPeer;
using scenario::Scene;

TEST_CASE("a circuit is refused where Osmux is off, plain RTP where there is nothing else") {
  Scene off;
  CHECK(off.crcx("rtpbridge/1@mgw", "C: 1\r\nM: recvonly\r\nX-Osmux: *\r\n").code == 511);
  Scene only(osmux_config(conf::OsmuxMode::only));
  CHECK(only.crcx("rtpbridge/1@mgw", "C: 1\r\nM: recvonly\r\n").code == 517);
  CHECK(only.world.endpoints_used() == 0);
  CHECK(only.crcx("rtpbridge/1@mgw", "C: 1\r\nM: recvonly\r\nX-Osmux: *\r\n").code == 200);
}

TEST_CASE("a circuit is answered with the gateway's own number and the Osmux socket") {
  conf::Config config = osmux_config();
  config.osmux.port = 1999;
  Scene scene(config);
  for (const auto* const number : {"*", "2", "200", "3", "3"}) {
    const auto answer = scene.crcx("rtpbridge/1@mgw",
                                   fmt::format("C: 1\r\nM: recvonly\r\nX-Osmux: {}\r\n", number));
    CHECK(answer.code == 200);
    CHECK(answer.media() == sim::address(sim::kGatewayHost, 1999));
  }
  CHECK(scene.world.ports_used() == 0);
  CHECK(scene.world.control().osmux().used() == 5);
  const auto other = scene.crcx("rtpbridge/2@mgw", "C: 2\r\nM: recvonly\r\nx-OSMUX: *\r\n");
  CHECK(other.parameter("X-Osmux") == "5");
  CHECK(scene.crcx("rtpbridge/2@mgw", "C: 2\r\nM: recvonly\r\nX-Osmux: 256\r\n").code == 510);
  CHECK(scene.crcx("rtpbridge/2@mgw", "C: 2\r\nM: recvonly\r\n").parameter("X-Osmux").empty());
}

TEST_CASE("numbers go round: one that has just become free is taken last") {
  Scene scene(osmux_config());
  for (int round = 0; round < 300; ++round) {
    const auto answer = scene.crcx("rtpbridge/1@mgw", "C: 1\r\nM: recvonly\r\nX-Osmux: *\r\n");
    REQUIRE(answer.parameter("X-Osmux") == std::to_string(round % 256));
    REQUIRE(scene.dlcx("rtpbridge/1@mgw").code == 200);
  }
}

TEST_CASE("256 circuits get a number each, the 257th is refused and costs nothing") {
  conf::Config config = osmux_config();
  config.endpoints.count = 300;
  Scene scene(config);
  std::set<std::string> numbers;
  for (int i = 0; i < 256; ++i) {
    const auto answer = scene.crcx("rtpbridge/*@mgw", "C: 1\r\nM: recvonly\r\nX-Osmux: *\r\n");
    REQUIRE(answer.code == 200);
    numbers.insert(answer.parameter("X-Osmux"));
  }
  CHECK(numbers.size() == 256);
  CHECK(scene.crcx("rtpbridge/*@mgw", "C: 1\r\nM: recvonly\r\nX-Osmux: *\r\n").code == 400);
  CHECK(scene.world.endpoints_used() == 256);
  CHECK(scene.dlcx("rtpbridge/12@mgw").code == 200);
  const auto again = scene.crcx("rtpbridge/*@mgw", "C: 1\r\nM: recvonly\r\nX-Osmux: *\r\n");
  CHECK(again.code == 200);
  CHECK(again.parameter("X-Osmux") == "17");
  for (int i = 0; i < 257; ++i) {
    REQUIRE(scene.dlcx("rtpbridge/*@mgw", "C: 1\r\n").code == 200);
  }
  CHECK(scene.world.control().osmux().used() == 0);
}

TEST_CASE("an MDCX names the peer's number: once given it stays, and a refusal changes nothing") {
  Scene scene(osmux_config());
  OsmuxPeer peer(scene, "203.0.113.1");
  const OsmuxLegAnswer a = add_circuit(scene, peer, "*", "rtpbridge/1@mgw", "loopback");
  const auto refused = [&](const char* line) {
    return scene.mdcx(a.leg, fmt::format("M: inactive\r\n{}{}", line, peer.sdp())).code;
  };
  CHECK(refused("") == 500);
  CHECK(refused("X-Osmux: *\r\n") == 500);
  CHECK(refused("X-Osmux: 256\r\n") == 500);
  CHECK(refused("X-Osmux: x\r\n") == 500);
  peer.send_chunk(a.circuit, 0, 0);
  scene.run_for(200ms);
  CHECK(peer.heard(7, 0, 0));
  const auto answer = scene.mdcx(a.leg, "X-Osmux: 7\r\n");
  CHECK(answer.code == 200);
  CHECK(answer.parameter("X-Osmux") == std::to_string(a.circuit));
  CHECK(answer.media() == a.leg.answer.media());
  CHECK(refused("X-Osmux: 8\r\n") == 500);
  CHECK(refused("") == 500);
  peer.send_chunk(a.circuit, 1, 10);
  scene.run_for(200ms);
  CHECK(peer.heard(7, 10, 4));  // in loopback still
  CHECK(scene.mdcx(a.leg, "X-Osmux: 7\r\nM: inactive\r\n").code == 200);
}

TEST_CASE("a peer has one circuit of a number: the second one is refused, the first one goes on") {
  Scene scene(osmux_config());
  OsmuxPeer peer(scene, "203.0.113.1");
  OsmuxPeer other_port(scene, "203.0.113.1", 1985);
  const OsmuxLegAnswer a = add_circuit(scene, peer, "7", "rtpbridge/1@mgw", "loopback");
  CHECK(scene.crcx("rtpbridge/1@mgw", "C: 1\r\nM: loopback\r\nX-Osmux: 7\r\n" + peer.sdp()).code ==
        500);
  CHECK(scene.crcx("rtpbridge/2@mgw", "C: 1\r\nM: loopback\r\nX-Osmux: 7\r\n" + peer.sdp()).code ==
        500);
  CHECK(scene.world.endpoints_used() == 1);
  const OsmuxLegAnswer b = add_circuit(scene, other_port, "7", "rtpbridge/2@mgw", "loopback");
  const OsmuxLegAnswer c = add_circuit(scene, peer, "*", "rtpbridge/3@mgw", "loopback");
  CHECK(scene.mdcx(c.leg, "X-Osmux: 7\r\n").code == 500);
  CHECK(scene.mdcx(b.leg, "X-Osmux: 7\r\n" + peer.sdp()).code == 500);
  CHECK(scene.mdcx(c.leg, "X-Osmux: 8\r\n").code == 200);
  for (const auto& [leg, from] : {std::pair(&a, &peer), {&b, &other_port}, {&c, &peer}}) {
    from->send_chunk(leg->circuit, 0, 100U * leg->circuit);
  }
  scene.run_for(200ms);
  CHECK(peer.heard(7, 100U * a.circuit, 4));
  CHECK(peer.heard(8, 100U * c.circuit, 4));
  CHECK(other_port.heard(7, 100U * b.circuit, 4));
  CHECK(scene.dlcx(a.leg).code == 250);
  const OsmuxLegAnswer d = add_circuit(scene, peer, "7", "rtpbridge/1@mgw", "loopback");
  peer.send_chunk(d.circuit, 0, 104U * 100);
  scene.run_for(200ms);
  CHECK(peer.speech.back().octets != scenario::speech_590(0));
}

TEST_CASE("without an Osmux socket a circuit is refused and leaves the other leg alone") {
  Scene scene(osmux_config());
  const scenario::Leg a = scene.add_leg();
  scene.world.network().fail_binds(EADDRINUSE, 1);
  CHECK(scene.crcx("rtpbridge/1@mgw", "C: 1\r\nM: sendrecv\r\nX-Osmux: 1\r\n").code == 400);
  CHECK(scene.world.connections() == 1);
  const scenario::Leg b = scene.add_leg();
  CHECK(scenario::talk(scene, a, b, 5));
  CHECK(scene.crcx("rtpbridge/2@mgw", "C: 1\r\nM: sendrecv\r\nX-Osmux: 1\r\n").code == 200);
}

TEST_CASE("a worker that cannot take the Osmux sockets over refuses the circuit") {
  sim::WorldOptions options;
  options.plane.sockets_max = 2;
  Scene scene(osmux_config(), options);
  const scenario::Leg a = scene.add_leg();
  CHECK(scene.crcx("rtpbridge/2@mgw", "C: 1\r\nM: sendrecv\r\nX-Osmux: 1\r\n").code == 500);
  CHECK(scene.world.endpoints_used() == 1);
  CHECK(scene.world.control().osmux().used() == 0);
  CHECK(scene.dlcx(a).code == 250);
  CHECK(scene.crcx("rtpbridge/2@mgw", "C: 1\r\nM: sendrecv\r\nX-Osmux: 1\r\n").code == 200);
}

TEST_CASE(
    "a worker that can take one of two Osmux sockets over gives it back, and all can be tried "
    "anew") {
  conf::Config config = osmux_config();
  config.osmux.bind_v6 = sim::kGatewayHost6;
  sim::WorldOptions options;
  options.plane.sockets_max = 3;
  Scene scene(config, options);
  const scenario::Leg a = scene.add_leg();
  CHECK(scene.crcx("rtpbridge/2@mgw", "C: 1\r\nM: sendrecv\r\nX-Osmux: 1\r\n").code == 500);
  CHECK(scene.dlcx(a).code == 250);
  scene.run_for(100ms);
  CHECK(scene.crcx("rtpbridge/2@mgw", "C: 1\r\nM: sendrecv\r\nX-Osmux: 1\r\n").code == 200);
}

TEST_CASE("a circuit's local address is of its peer's family") {
  conf::Config config = osmux_config();
  CHECK(Scene(config)
            .crcx("rtpbridge/1@mgw",
                  "C: 1\r\nM: recvonly\r\nX-Osmux: *\r\n\r\nv=0\r\nc=IN IP6 2001:db8::9\r\n"
                  "m=audio 1984 RTP/AVP 112\r\na=rtpmap:112 AMR/8000\r\n")
            .code == 505);
  config.osmux.bind_v6 = sim::kGatewayHost6;
  Scene scene(config);
  OsmuxPeer ipv4(scene, "203.0.113.1");
  OsmuxPeer ipv6(scene, "2001:db8::2");
  const OsmuxLegAnswer a = add_circuit(scene, ipv4, "1");
  CHECK(a.leg.answer.media() == sim::address(sim::kGatewayHost, 1984));
  const OsmuxLegAnswer b = add_circuit(scene, ipv6, "1");
  CHECK(b.leg.answer.media() == sim::address(sim::kGatewayHost6, 1984));
  const auto open = scene.crcx("rtpbridge/1@mgw", "C: 1\r\nM: recvonly\r\nX-Osmux: *\r\n");
  CHECK(open.media() == sim::address(sim::kGatewayHost6, 1984));
  OsmuxPeer moved(scene, "203.0.113.2");
  const auto answer = scene.mdcx(b.leg, "X-Osmux: 1\r\n" + moved.sdp());
  CHECK(answer.media() == sim::address(sim::kGatewayHost, 1984));
}

TEST_CASE("the answer to a DLCX says what came on an enabled circuit") {
  Scene scene(osmux_config());
  OsmuxPeer peer(scene, "203.0.113.1");
  const OsmuxLegAnswer a = add_circuit(scene, peer, "9", "rtpbridge/1@mgw", "loopback");
  peer.send_chunk(a.circuit, 0, 0);
  scene.run_for(80ms);
  peer.send_chunk(a.circuit, 1, 4, 2);
  scene.run_for(200ms);
  const auto answer = scene.dlcx(a.leg);
  CHECK(answer.parameter("X-Osmux-ST") == "CR=2, BR=98");
  CHECK(answer.parameter("X-Osmo-CP") == "EC TI=0, TO=0");
  CHECK(answer.parameter("P").substr(0, 30) == "PS=6, OS=174, PR=6, OR=174, PL");
  const OsmuxLegAnswer b = add_circuit(scene, peer, "*");
  const auto unused = scene.dlcx(b.leg);
  CHECK(unused.code == 250);
  CHECK(unused.parameter("X-Osmux-ST").empty());
}

TEST_CASE("a circuit asked for while the sockets are about to fail is refused like the first one") {
  sim::WorldOptions options;
  options.plane.sockets_max = 2;
  options.plane.delay_max = 50ms;
  Scene scene(osmux_config(), options);
  const scenario::Leg a = scene.add_leg();
  const std::string circuit = "C: 1\r\nM: sendrecv\r\nX-Osmux: *\r\n";
  const auto first = scene.agent.start("CRCX", "rtpbridge/2@mgw", circuit);
  const auto second = scene.agent.start("CRCX", "rtpbridge/3@mgw", circuit);
  const auto beside = scene.agent.start("CRCX", "rtpbridge/1@mgw", circuit);
  scene.run_for(2s);
  for (const auto id : {first, second, beside}) {
    REQUIRE(scene.agent.answer(id) != nullptr);
    CHECK(scene.agent.answer(id)->code == 500);
  }
  CHECK(scene.world.endpoints_used() == 1);
  CHECK(scene.world.connections() == 1);
  CHECK(scene.world.control().osmux().used() == 0);
  CHECK(scene.dlcx(a).code == 250);
  CHECK(scene.crcx("rtpbridge/2@mgw", circuit).code == 200);
}

TEST_CASE("with force-realloc a peer's circuit comes back on the endpoint that is given up") {
  conf::Config config = osmux_config();
  config.endpoints.options.force_realloc = true;
  Scene scene(config);
  OsmuxPeer peer(scene, "203.0.113.1");
  const OsmuxLegAnswer old = add_circuit(scene, peer, "7", "rtpbridge/1@mgw", "loopback");
  const auto request = [&peer](const char* call) {
    return fmt::format("C: {}\r\nM: loopback\r\nX-Osmux: 7\r\n{}", call, peer.sdp());
  };
  CHECK(scene.crcx("rtpbridge/1@mgw", request("1")).code == 500);  // a second leg of the same call
  CHECK(scene.crcx("rtpbridge/2@mgw", request("2")).code == 500);
  peer.send_chunk(old.circuit, 0, 0);
  scene.run_for(200ms);
  CHECK(peer.heard(7, 0, 4));  // the refusals took nothing away
  const auto answer = scene.crcx("rtpbridge/1@mgw", request("2"));
  REQUIRE(answer.code == 200);
  CHECK(scene.world.connections() == 1);
  peer.speech.clear();
  peer.send_chunk(static_cast<std::uint8_t>(std::stoul(answer.parameter("X-Osmux"))), 0, 100);
  scene.run_for(200ms);
  CHECK(peer.heard(7, 100, 4));
}

TEST_CASE("Osmux is switched on and off while calls are up") {
  conf::Config config = osmux_config(conf::OsmuxMode::off);
  sim::WorldOptions options;
  options.plane.workers = 2;
  Scene scene(config, options);
  OsmuxPeer peer(scene, "203.0.113.1");
  const scenario::Leg first = scene.add_leg();
  scenario::LegOptions elsewhere;
  elsewhere.endpoint = "rtpbridge/2@mgw";  // on the other worker
  const scenario::Leg second = scene.add_leg(elsewhere);
  const auto circuit = [&scene, &peer](const char* endpoint, const char* number) {
    return scene.crcx(endpoint,
                      fmt::format("C: 1\r\nM: sendrecv\r\nX-Osmux: {}\r\n{}", number, peer.sdp()));
  };
  CHECK(circuit("rtpbridge/1@mgw", "1").code == 511);

  scene.world.config().osmux.mode = conf::OsmuxMode::on;
  CHECK(circuit("rtpbridge/1@mgw", "1").code == 200);
  const auto refused = circuit("rtpbridge/2@mgw", "2");
  CHECK(refused.code == 400);
  CHECK(refused.text.find("began without Osmux") != std::string::npos);
  CHECK(scene.world.connections() == 3);
  const scenario::Leg third = scene.add_leg(elsewhere);
  CHECK(scenario::talk(scene, second, third, 5));
  CHECK(scene.dlcx("rtpbridge/2@mgw").code == 200);
  const auto added = circuit("rtpbridge/2@mgw", "2");  // free: it is placed anew
  REQUIRE(added.code == 200);

  scene.world.config().osmux.mode = conf::OsmuxMode::off;
  CHECK(circuit("rtpbridge/3@mgw", "3").code == 511);
  const OsmuxLegAnswer living{{"rtpbridge/2@mgw", added.parameter("I"), added},
                              static_cast<std::uint8_t>(std::stoul(added.parameter("X-Osmux")))};
  CHECK(scene.mdcx(living.leg, "M: loopback\r\nX-Osmux: 2\r\n").code == 200);
  peer.set_target(added.media());
  peer.send_chunk(living.circuit, 0, 0);
  scene.run_for(200ms);
  CHECK(peer.heard(2, 0, 4));
  CHECK(scene.dlcx(living.leg).parameter("X-Osmux-ST") == "CR=1, BR=64");
  scene.world.config().osmux.mode = conf::OsmuxMode::only;
  CHECK(scene.crcx("rtpbridge/3@mgw", "C: 1\r\nM: recvonly\r\n").code == 517);
  CHECK(circuit("rtpbridge/3@mgw", "3").code == 200);
}

TEST_CASE("circuits begin with the batches, the port and the addresses that are configured then") {
  Scene scene(osmux_config(conf::OsmuxMode::off));
  conf::OsmuxOptions& osmux = scene.world.config().osmux;
  osmux.mode = conf::OsmuxMode::on;
  osmux.port = 1999;
  osmux.dummy_padding = true;
  osmux.batch_factor = 2;
  OsmuxPeer short_batches(scene, "203.0.113.1");
  const OsmuxLegAnswer a = add_circuit(scene, short_batches, "1");
  CHECK(a.leg.answer.media().port() == 1999);
  osmux.port = 2000;
  osmux.batch_factor = 8;
  OsmuxPeer long_batches(scene, "203.0.113.2");
  const OsmuxLegAnswer b = add_circuit(scene, long_batches, "1", "rtpbridge/2@mgw");
  CHECK(b.leg.answer.media().port() == 1999);  // the socket is open
  scene.run_for(810ms);
  short_batches.collect();
  long_batches.collect();
  CHECK(short_batches.dummies.size() == 20);
  CHECK(long_batches.dummies.size() == 5);
}
