// Overload and abuse: limits of connections, bandwidth, commands and packets, and own ports that
// are wired to each other.

#include "tests/scenario/scene.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <chrono>
#include <string>

using namespace std::chrono_literals;
using mgw::DropCause;
using mgw::LimitCause;
using scenario::Call;
using scenario::Leg;
using scenario::LegOptions;
using scenario::Scene;
using scenario::talk;

namespace {

std::uint64_t reached(Scene& scene, LimitCause cause) {
  return scene.world.control().counters().limits.refused[static_cast<std::size_t>(cause)].value();
}

LegOptions on(std::string endpoint) {
  LegOptions options;
  options.endpoint = std::move(endpoint);
  options.call = options.endpoint;
  return options;
}

/// Names `to`, one of the gateway's own legs, as the peer of `from`.
void wire(Scene& scene, const Leg& from, const Leg& to, std::string_view mode = "sendrecv") {
  const io::SocketAddress media = to.answer.media();
  const auto answer =
      scene.mdcx(from, fmt::format("M: {}\r\n\r\nv=0\r\nc=IN IP4 {}\r\nm=audio {} RTP/AVP 8\r\n",
                                   mode, media.host_text(), media.port()));
  REQUIRE(answer.code == 200);
}

std::uint64_t circles(Scene& scene) {
  return scene.world.control().counters().limits.media_loops.value();
}

}  // namespace

TEST_CASE("above limits.connections a CRCX gets 403, all other commands are served") {
  conf::Config config = sim::small_config();
  config.limits.connections = 2;
  Scene scene(config);
  const Call call(scene);
  const auto refused = scene.crcx("rtpbridge/*@mgw", "C: 2\r\nM: recvonly\r\n");
  CHECK(refused.code == 403);
  CHECK(refused.text.find("all permitted connections are in use") != std::string::npos);
  CHECK(scene.mdcx(call.a, "M: recvonly\r\n").code == 200);
  CHECK(scene.mdcx(call.a, "M: sendrecv\r\n").code == 200);
  CHECK(talk(scene, call.a, call.b, 10));
  CHECK(scene.dlcx(call.b).code == 250);
  CHECK(scene.crcx("rtpbridge/*@mgw", "C: 2\r\nM: recvonly\r\n").code == 200);
  CHECK(reached(scene, LimitCause::connections) == 1);
}

TEST_CASE("limits.bandwidth-kbps is about the codecs of the connections that are up") {
  conf::Config config = sim::small_config();
  config.limits.bandwidth_kbps = 160;  // two of G.711
  Scene scene(config);
  const Call call(scene);
  CHECK(scene.crcx("rtpbridge/*@mgw", "C: 2\r\nM: recvonly\r\nL: a:PCMA\r\n").code == 404);
  CHECK(scene.dlcx(call.b).code == 250);
  CHECK(scene.crcx("rtpbridge/*@mgw", "C: 2\r\nM: recvonly\r\nL: a:GSM\r\n").code == 200);
  CHECK(scene.crcx("rtpbridge/*@mgw", "C: 3\r\nM: recvonly\r\nL: a:GSM\r\n").code == 200);
  CHECK(scene.crcx("rtpbridge/*@mgw", "C: 4\r\nM: recvonly\r\nL: a:GSM\r\n").code == 404);
  const auto& sum = scene.world.control().counters().limits.bandwidth_bps;
  CHECK(sum.value() == 80000 + 2 * 29200);
  CHECK(scene.dlcx("rtpbridge/*@mgw").code == 200);
  CHECK(sum.value() == 0);
  CHECK(reached(scene, LimitCause::bandwidth) == 2);
}

TEST_CASE(
    "too many commands of an agent get 409, even more none, deletions and repeats are served") {
  conf::Config config = sim::small_config();
  config.mgcp.rate_limit = 10;
  config.mgcp.rate_burst = 4;
  Scene scene(config);
  const Call call(scene);
  scene.run_for(1s);
  std::vector<std::uint32_t> ids;
  for (int i = 0; i < 12; ++i) {
    ids.push_back(scene.agent.start("AUEP", "null@mgw", ""));
  }
  scene.run_for(50ms);
  int served = 0;
  int refused = 0;
  for (const std::uint32_t id : ids) {
    const sim::Answer* answer = scene.agent.answer(id);
    served += answer != nullptr && answer->code == 200 ? 1 : 0;
    refused += answer != nullptr && answer->code == 409 ? 1 : 0;
  }
  CHECK(served == 4);
  CHECK(refused == 4);
  CHECK(reached(scene, LimitCause::agent_rate) == 4);
  CHECK(reached(scene, LimitCause::agent_flood) == 4);
  sim::CallAgent& other = scene.world.add_agent();
  CHECK(scene.world.command(other, "AUEP", "null@mgw", "").code == 200);
  scene.run_for(5s);  // what was ignored is sent again and served
  CHECK(scene.agent.waiting() == 0);
  CHECK(talk(scene, call.a, call.b, 10));
}

TEST_CASE("an agent above its rate may still delete") {
  conf::Config config = sim::small_config();
  config.mgcp.rate_limit = 1;
  config.mgcp.rate_burst = 3;
  Scene scene(config);
  const Call call(scene);
  CHECK(scene.world.command(scene.agent, "AUEP", "null@mgw", "").code == 200);
  CHECK(scene.world.command(scene.agent, "AUEP", "null@mgw", "").code == 409);
  CHECK(scene.dlcx("rtpbridge/1@mgw").code == 200);
  CHECK(scene.world.connections() == 0);
}

TEST_CASE("a peer that sends more than its packets per second harms its own call only") {
  conf::Config config = sim::small_config();
  config.endpoints.options.packets_per_second = 100;
  Scene scene(config);
  const Call wild(scene, on("rtpbridge/1@mgw"), on("rtpbridge/1@mgw"));
  const Call quiet(scene, on("rtpbridge/2@mgw"), on("rtpbridge/2@mgw"));
  for (int burst = 0; burst < 10; ++burst) {
    for (int i = 0; i < 100; ++i) {
      wild.a.peer->send_packet(8);
    }
    scene.run_for(100ms);
  }
  const std::size_t through = wild.b.peer->count_from(wild.a.peer->number());
  CHECK(through >= 190);  // a burst of one second, and one second of the rate
  CHECK(through <= 200);
  CHECK(scene.dropped(DropCause::peer_too_fast) == 1000 - through);
  CHECK(talk(scene, quiet.a, quiet.b, 50));
  scene.run_for(2s);
  CHECK(talk(scene, wild.a, wild.b, 50));
}

TEST_CASE("packets of strangers use up nothing of what the peer may send") {
  conf::Config config = sim::small_config();
  config.endpoints.options.packets_per_second = 100;
  Scene scene(config);
  const Call call(scene);
  sim::RtpPeer& stranger = scene.world.add_peer();
  stranger.set_target(call.a.answer.media());
  for (int i = 0; i < 200; ++i) {
    stranger.send_packet(8);
  }
  CHECK(talk(scene, call.a, call.b, 100));
  CHECK(scene.dropped(DropCause::peer_too_fast) == 0);
}

TEST_CASE("a chain over two endpoints of the gateway is no circle") {
  Scene scene;
  const Call first(scene, on("rtpbridge/1@mgw"), on("rtpbridge/1@mgw"));
  const Call second(scene, on("rtpbridge/2@mgw"), on("rtpbridge/2@mgw"));
  wire(scene, first.b, second.a);
  wire(scene, second.a, first.b);
  CHECK(talk(scene, first.a, second.b, 50));
  CHECK(circles(scene) == 0);
}

TEST_CASE("media do not go round over endpoints that are wired into a circle") {
  Scene scene;
  const Call first(scene, on("rtpbridge/1@mgw"), on("rtpbridge/1@mgw"));
  const Call second(scene, on("rtpbridge/2@mgw"), on("rtpbridge/2@mgw"));
  Leg outside = scene.add_leg(on("rtpbridge/1@mgw"));
  wire(scene, first.b, second.a);
  wire(scene, second.a, first.b);
  wire(scene, first.a, second.b);
  CHECK(circles(scene) == 0);
  wire(scene, second.b, first.a);
  CHECK(circles(scene) > 0);
  outside.peer->stream(20, 8);
  scene.run_for(2s);
  std::uint64_t received = 0;
  for (std::uint32_t worker = 0; worker < scene.world.plane().workers(); ++worker) {
    received += scene.world.plane().counters(worker).received.value();
  }
  CHECK(received < 200);  // without an end it would be some thousands
  CHECK(scene.dropped(DropCause::media_loop) > 0);
  SUBCASE("and flow again once the circle is opened elsewhere") {
    const auto answer = scene.mdcx(first.a, "M: sendrecv\r\n" + first.a.peer->sdp("8"));
    REQUIRE(answer.code == 200);
    scene.run_for(1500ms);
    const std::uint64_t before = scene.dropped(DropCause::media_loop);
    wire(scene, second.b, first.a, "recvonly");
    const Leg far = scene.add_leg(on("rtpbridge/2@mgw"));
    CHECK(talk(scene, outside, far, 20));
    CHECK(scene.dropped(DropCause::media_loop) == before);
  }
}

TEST_CASE("two legs of one endpoint that name each other are a circle, a looped leg is an echo") {
  Scene scene;
  const Call call(scene);
  wire(scene, call.a, call.b);
  CHECK(circles(scene) == 0);
  wire(scene, call.b, call.a);
  CHECK(circles(scene) > 0);
  Scene other;
  const Call first(other, on("rtpbridge/1@mgw"), on("rtpbridge/1@mgw"));
  const Leg echo = other.add_leg(on("rtpbridge/2@mgw"));
  wire(other, first.b, echo);
  wire(other, echo, first.b, "loopback");
  first.a.peer->stream(20, 8);
  other.run_for(1s);
  CHECK(first.a.peer->count_from(first.a.peer->number()) == 20);
  CHECK(circles(other) == 0);
  wire(other, first.b, echo, "loopback");
  CHECK(circles(other) > 0);
}
