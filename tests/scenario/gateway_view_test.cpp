// The gateway as VTY, CTRL and reporters of statistics see it, over whole calls.

#include "mgw/gateway_view.h"

#include "tests/scenario/scene.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <string>

namespace {

using scenario::Call;
using scenario::LegOptions;
using scenario::Scene;
using scenario::talk;
using std::chrono::milliseconds;
using std::chrono::seconds;

class NoAgents final : public mgw::AgentSender {
 public:
  void send(const io::SocketAddress&, std::string_view datagram) noexcept override {
    last = datagram;
  }
  std::string last;
};

/// A scene with a view of it.
struct Viewed {
  explicit Viewed(const conf::Config& config = sim::small_config())
      : scene(config),
        in_force(config),
        notifier(config, agents, 7),
        drain(scene.world.control(), notifier, scene.world.clock()),
        view({in_force, "osmo-mgw.cfg", scene.world.control(), notifier, drain, scene.world.clock(),
              "poll", "off",
              [this]() -> tl::expected<void, std::string> {
                ++reconfigured;
                return fault.empty() ? tl::expected<void, std::string>() : tl::unexpected(fault);
              },
              [this] { ++shut_down; }}) {}

  Scene scene;
  conf::Config in_force;
  NoAgents agents;
  mgw::RestartNotifier notifier;
  mgw::DrainControl drain;
  int reconfigured = 0;
  std::string fault;  // why a configuration can't be applied
  int shut_down = 0;
  mgw::GatewayView view;
};

conf::Config with_trunk() {
  conf::Config config = sim::small_config();
  config.e1.virtual_lines = true;
  config.e1.trunks = {5};
  config.endpoints.options.connection_timeout = seconds(60);
  return config;
}

}  // namespace

TEST_CASE("the view names trunks and endpoints, and finds them by any form of their name") {
  Viewed viewed(with_trunk());
  const auto trunks = viewed.view.trunks();
  REQUIRE(trunks.size() == 2);
  CHECK(trunks[0].is_virtual);
  CHECK(trunks[0].endpoints == 16);
  CHECK(trunks[1].number == 5);
  CHECK(trunks[1].endpoints == mgw::kE1EndpointsPerTrunk);
  CHECK(viewed.view.endpoint(0, 0).name == "rtpbridge/1@mgw");
  CHECK(viewed.view.endpoint(0, 15).name == "rtpbridge/10@mgw");
  for (const char* name : {"rtpbridge/a@mgw", "rtpbridge/A", "a@MGW", "a"}) {
    CHECK_MESSAGE(viewed.view.find_endpoint(0, name) == 9U, name);
  }
  for (const char* name :
       {"rtpbridge/11", "rtpbridge/*", "null", "", "ds/e1-5/s-1/su64-0", "x@y"}) {
    CHECK_MESSAGE(!viewed.view.find_endpoint(0, name), name);
  }
  const auto slot = viewed.view.find_endpoint(1, "ds/e1-5/s-1/su16-2");
  REQUIRE(slot.has_value());
  CHECK(viewed.view.endpoint(1, *slot).name == "ds/e1-5/s-1/su16-2@mgw");
  CHECK(viewed.view.endpoint(1, *slot).available);
  CHECK_FALSE(viewed.view.find_endpoint(1, "rtpbridge/1").has_value());
}

TEST_CASE("the view shows a call's connections, the newest first, with what they have counted") {
  Viewed viewed(with_trunk());
  const Call call(viewed.scene);
  CHECK(talk(viewed.scene, call.a, call.b, 25));
  CHECK(viewed.view.next_used(0, 0) == 0U);
  CHECK_FALSE(viewed.view.next_used(0, 1).has_value());
  CHECK_FALSE(viewed.view.next_used(1, 0).has_value());
  const auto endpoint = viewed.view.endpoint(0, 0);
  REQUIRE(endpoint.connections.size() == 2);
  CHECK(endpoint.connections[0].id == call.b.connection);
  const auto& first = endpoint.connections[1];
  CHECK(first.id == call.a.connection);
  CHECK(first.call_id == "1");
  CHECK(first.kind == "rtp");
  CHECK(first.mode == "sendrecv");
  CHECK(first.sends);
  CHECK(first.packets_received == 25);
  CHECK(first.packets_sent == 25);
  CHECK(first.octets_received > 25 * 12);
  CHECK(first.payload_type == 8);
  CHECK(first.audio_name == "PCMA/8000");
  CHECK(first.local == call.a.answer.media());
  REQUIRE(first.remaining.has_value());
  CHECK(*first.remaining > seconds(58));
  CHECK(*first.remaining < seconds(60));
  CHECK_FALSE(first.osmux.has_value());
}

TEST_CASE("an E1 line that is in use shows its time slots") {
  Viewed viewed(with_trunk());
  LegOptions leg;
  leg.formats = "3";
  for (const char* name :
       {"ds/e1-5/s-1/su16-0@mgw", "ds/e1-5/s-1/su16-2@mgw", "ds/e1-5/s-2/su16-0@mgw"}) {
    leg.endpoint = name;
    static_cast<void>(viewed.scene.add_leg(leg));
  }
  const auto lines = viewed.view.e1_lines();
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].driver == "virtual");
  CHECK(lines[0].up);
  CHECK(lines[0].timeslots_used == 2);
}

TEST_CASE("all counters are seen once, and those of a call are its own") {
  Viewed viewed;
  const Call call(viewed.scene);
  CHECK(talk(viewed.scene, call.a, call.b, 10));
  std::map<std::string, std::uint64_t> values;
  viewed.view.visit_counters([&](const ttcn_compat::CounterGroupView& group) {
    for (const ttcn_compat::CounterView& counter : group.counters) {
      const std::string key = std::string(group.prefix) + '/' + group.name + '/' +
                              std::to_string(group.index) + '/' + std::string(counter.name);
      CHECK_MESSAGE(values.emplace(key, counter.value).second, key);
    }
  });
  CHECK(values.at("crcx/virtual-0:crcx/0/crcx:success") == 2);
  CHECK(values.at("conn_rtp//0/rtp:packets_rx") == 10);
  CHECK(values.at("conn_rtp//1/rtp:packets_tx") == 10);
  CHECK(values.at("trunk/virtual-0:common/0/endpoints:used") == 1);
}

TEST_CASE("a change takes effect at once or is told to need a restart, and a bad one is refused") {
  Viewed viewed;
  conf::Config wanted = viewed.view.config();
  wanted.rtp.dscp = 46;
  auto result = viewed.view.reconfigure(wanted);
  REQUIRE(result.has_value());
  CHECK(result->needs_restart.empty());
  CHECK(viewed.in_force.rtp.dscp == 46);
  CHECK(viewed.reconfigured == 1);
  wanted.endpoints.count = 99;
  wanted.mgcp.port = 1;
  result = viewed.view.reconfigure(wanted);
  REQUIRE(result.has_value());
  CHECK(result->needs_restart == std::vector<std::string>{"mgcp.port", "endpoints.count"});
  CHECK(viewed.in_force.endpoints.count == 16);
  CHECK(viewed.view.config().endpoints.count == 99);
  CHECK(viewed.reconfigured == 1);
  wanted.rtp.dscp = 0;
  result = viewed.view.reconfigure(wanted);
  REQUIRE(result.has_value());
  CHECK(result->needs_restart.empty());  // that was said before
  wanted.rtp.port_min = 4001;
  const auto refused = viewed.view.reconfigure(wanted);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().find("even") != std::string::npos);
  CHECK(viewed.view.config().rtp.port_min == 4000);
}

TEST_CASE("a configuration that can't be applied is refused, and the former one stays") {
  Viewed viewed;
  conf::Config wanted = viewed.view.config();
  wanted.rtp.dscp = 46;
  viewed.fault = "log file /none/x: No such file or directory";
  const auto refused = viewed.view.reconfigure(wanted);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error() == viewed.fault);
  CHECK(viewed.in_force.rtp.dscp == 0);
  CHECK(viewed.view.config().rtp.dscp == 0);
}

TEST_CASE("what an operator does to an endpoint is told to a call agent if there is one") {
  Viewed alone;
  const Call call(alone.scene);
  CHECK_FALSE(alone.view.reset_endpoint(0, 0));
  alone.scene.run_for(milliseconds(100));
  CHECK(alone.scene.world.connections() == 0);
  conf::Config config = sim::small_config();
  config.mgcp.call_agent = "192.0.2.99";
  Viewed connected(config);
  CHECK(connected.view.reset_endpoint(0, 2));
  CHECK(connected.agents.last.find("rtpbridge/3@mgw") != std::string::npos);
  CHECK(connected.agents.last.starts_with("RSIP "));
  connected.view.set_draining(true);
  CHECK(connected.view.drain().active);
  connected.view.shut_down();
  CHECK(connected.shut_down == 1);
}

TEST_CASE("loops and taps of an operator are refused with a reason where there is no connection") {
  Viewed viewed;
  CHECK_FALSE(viewed.view.loop_endpoint(0, 0, true).has_value());
  const Call call(viewed.scene);
  CHECK(viewed.view.loop_endpoint(0, 0, true).has_value());
  CHECK(viewed.view.loop_endpoint(0, 0, false).has_value());
  const auto target = sim::address("127.0.0.1", 5000);
  const auto unknown = viewed.view.tap(0, 0, "12345", true, target);
  REQUIRE_FALSE(unknown.has_value());
  CHECK(unknown.error() == "connection unknown");
  CHECK(viewed.view.tap(0, 0, call.a.connection, true, target).has_value());
  CHECK(viewed.scene.world.taps().active() == 1);
  CHECK(viewed.view.tap(0, 0, call.a.connection, true, target.with_port(0)).has_value());
  viewed.scene.run_for(milliseconds(100));
  CHECK(viewed.scene.world.taps().active() == 0);
}
