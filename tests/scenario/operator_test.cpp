// What operators do while calls are up: another configuration, loops, taps, releases, drain.

#include "tests/scenario/scene.h"

#include <chrono>

namespace {

using scenario::Call;
using scenario::Leg;
using scenario::LegOptions;
using scenario::Scene;
using scenario::talk;
using std::chrono::milliseconds;
using std::chrono::seconds;

conf::Config with_e1() {
  conf::Config config = sim::small_config();
  config.e1.virtual_lines = true;
  config.e1.trunks = {1, 3};
  conf::E1TrunkOptions own;
  own.trunk = 3;
  own.options.sdp.send_ptime = false;
  config.e1.trunk_options = {own};
  return config;
}

std::uint32_t number_of(Scene& scene, std::string_view name) {
  const auto parsed = mgcp::parse_endpoint_name(name);
  REQUIRE(parsed.has_value());
  return scene.world.control().trunks().resolve(*parsed)->first;
}

}  // namespace

TEST_CASE("options of connections that an operator changes hold for calls that are up") {
  Scene scene;
  const Call call(scene);
  CHECK(talk(scene, call.a, call.b, 10));
  conf::Config config = scene.world.config();
  config.endpoints.options.connection_timeout = seconds(2);
  scene.world.reconfigure(config);
  scene.run_for(milliseconds(500));
  CHECK(talk(scene, call.a, call.b, 10));
  scene.run_for(seconds(3));
  CHECK(scene.world.connections() == 0);
}

TEST_CASE(
    "another port range is for new legs; those that are up keep their ports and give them back") {
  Scene scene;
  const Call before(scene);
  const std::uint16_t old_port = before.a.answer.media().port();
  conf::Config config = scene.world.config();
  config.rtp.port_min = 5000;
  config.rtp.port_max = 5007;
  scene.world.reconfigure(config);
  LegOptions other;
  other.endpoint = "rtpbridge/2@mgw";
  const Leg after = scene.add_leg(other);
  CHECK(after.answer.media().port() == 5000);
  CHECK(talk(scene, before.a, before.b, 10));
  CHECK(scene.world.ports_used() == 3);
  CHECK(scene.dlcx("rtpbridge/1@mgw").code == 200);
  scene.run_for(seconds(3));
  CHECK(scene.world.ports_used() == 1);
  config.rtp.port_min = 4000;
  config.rtp.port_max = 4199;
  scene.world.reconfigure(config);
  other.endpoint = "rtpbridge/1@mgw";
  CHECK(scene.add_leg(other).answer.media().port() == old_port);
}

TEST_CASE("a loop returns media to their senders until it is ended or a command gives a mode") {
  Scene scene;
  const Call call(scene);
  const std::uint32_t number = number_of(scene, call.a.endpoint);
  CHECK_FALSE(scene.world.control().loop_endpoint(number + 1, true));
  REQUIRE(scene.world.control().loop_endpoint(number, true));
  scene.run_for(milliseconds(100));
  call.a.peer->stream(10, 8);
  scene.run_for(milliseconds(500));
  CHECK(call.a.peer->count_from(call.a.peer->number()) == 10);
  CHECK(call.b.peer->count_from(call.a.peer->number()) == 0);
  REQUIRE(scene.world.control().loop_endpoint(number, false));
  scene.run_for(milliseconds(100));
  CHECK(talk(scene, call.a, call.b, 10));
  REQUIRE(scene.world.control().loop_endpoint(number, true));
  CHECK(scene.mdcx(call.a, "M: sendrecv\r\n").code == 200);
  CHECK(scene.mdcx(call.b, "M: sendrecv\r\n").code == 200);
  CHECK(talk(scene, call.a, call.b, 10));
}

TEST_CASE("an endpoint that an operator frees has no connections, and others keep theirs") {
  Scene scene;
  const Call call(scene);
  LegOptions other;
  other.endpoint = "rtpbridge/2@mgw";
  static_cast<void>(scene.add_leg(other));
  scene.world.control().free_endpoint(number_of(scene, "rtpbridge/1@mgw"));
  scene.world.control().free_endpoint(number_of(scene, "rtpbridge/3@mgw"));
  scene.run_for(milliseconds(100));
  CHECK(scene.world.connections() == 1);
  CHECK(scene.world.endpoints_used() == 1);
}

TEST_CASE("the workers hear of a configuration only if it says something new about connections") {
  Scene scene;
  const Call call(scene);
  conf::Config config = scene.world.config();
  ++config.taps.max;
  scene.world.reconfigure(config);
  CHECK(scene.world.control().pending() == 0);
  config.endpoints.options.connection_timeout = std::chrono::seconds(60);
  scene.world.reconfigure(config);
  CHECK(scene.world.control().pending() == 1);
}

TEST_CASE(
    "while draining, calls that are up go on, also with further legs, and new ones are refused") {
  Scene scene;
  const Leg first = scene.add_leg();
  scene.world.control().set_draining(true);
  CHECK(scene.crcx("rtpbridge/2@mgw", "C: 2\r\nM: recvonly\r\n").code == 403);
  CHECK(scene.crcx("rtpbridge/*@mgw", "C: 2\r\nM: recvonly\r\n").code == 403);
  const sim::Answer audit = scene.world.command(scene.agent, "AUEP", "null@mgw", "");
  CHECK(audit.code == 200);
  CHECK(audit.text.find("draining") != std::string::npos);
  const Leg second = scene.add_leg();
  CHECK(talk(scene, first, second, 10));
  scene.world.control().set_draining(false);
  CHECK(scene.crcx("rtpbridge/2@mgw", "C: 2\r\nM: recvonly\r\n").code == 200);
}

TEST_CASE("while draining, no new call takes the endpoint of one that is up") {
  conf::Config config = sim::small_config();
  config.endpoints.options.force_realloc = true;
  Scene scene(config);
  const Call call(scene);
  scene.world.control().set_draining(true);
  CHECK(scene.crcx(call.a.endpoint, "C: 2\r\nM: recvonly\r\n").code == 403);
  CHECK(talk(scene, call.a, call.b, 10));
  scene.world.control().set_draining(false);
  CHECK(scene.crcx(call.a.endpoint, "C: 2\r\nM: recvonly\r\n").code == 200);
  CHECK(scene.world.connections() == 1);
}

TEST_CASE(
    "an E1 trunk with options of its own goes by them, others by those of the virtual trunk") {
  Scene scene(with_e1());
  LegOptions on_first;
  on_first.endpoint = "ds/e1-1/s-1/su16-0@mgw";
  on_first.formats = "3";
  CHECK(scene.add_leg(on_first).answer.text.find("a=ptime") != std::string::npos);
  LegOptions on_third = on_first;
  on_third.endpoint = "ds/e1-3/s-1/su16-0@mgw";
  CHECK(scene.add_leg(on_third).answer.text.find("a=ptime") == std::string::npos);
  CHECK(scene.crcx("rtpbridge/1@mgw", "C: 1\r\nM: recvonly\r\n").text.find("a=ptime") !=
        std::string::npos);
}
