// Draining: whom it refuses, what the agent is told, when it is over.

#include "mgw/drain_control.h"

#include "mgw/restart_notifier.h"
#include "tests/sim/sim_world.h"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace {

struct SentBox final : mgw::AgentSender {
  void send(const io::SocketAddress& /*agent*/, std::string_view datagram) noexcept override {
    texts.emplace_back(datagram);
  }
  [[nodiscard]] bool last_says(std::string_view words) const {
    return !texts.empty() && texts.back().find(words) != std::string::npos;
  }
  std::vector<std::string> texts;
};

conf::Config with_agent() {
  conf::Config config = sim::small_config();
  config.mgcp.notify_entity = "agent@198.51.100.1:2727";
  return config;
}

struct Bench {
  sim::SimWorld world{with_agent()};
  sim::CallAgent& agent = world.add_agent();
  SentBox sent;
  mgw::RestartNotifier notifier{world.config(), sent, 1};
  mgw::DrainControl drain{world.control(), notifier, world.clock()};

  int crcx(std::string_view endpoint) {
    return world.command(agent, "CRCX", endpoint, "C: 1\r\nM: recvonly\r\n").code;
  }
};

}  // namespace

TEST_CASE("a drain that ends the gateway is over with the last connection") {
  Bench bench;
  REQUIRE(bench.crcx("rtpbridge/1@mgw") == 200);
  CHECK_FALSE(bench.drain.is_over());
  bench.drain.begin({true});
  CHECK(bench.sent.last_says("RM: graceful\r\n"));
  CHECK_FALSE(bench.sent.last_says("RD:"));
  CHECK(bench.crcx("rtpbridge/2@mgw") == 403);
  CHECK(bench.drain.ends());
  CHECK_FALSE(bench.drain.remaining());
  bench.world.run_for(3600s);
  CHECK_FALSE(bench.drain.is_over());
  CHECK(bench.world.command(bench.agent, "DLCX", "rtpbridge/1@mgw", "").code == 200);
  CHECK(bench.drain.is_over());
}

TEST_CASE("at the deadline the connections that are left are removed and the agent is told") {
  Bench bench;
  REQUIRE(bench.crcx("rtpbridge/1@mgw") == 200);
  REQUIRE(bench.crcx("rtpbridge/2@mgw") == 200);
  bench.drain.begin({true, 10s});
  CHECK(bench.sent.last_says("RM: graceful\r\nRD: 10\r\n"));
  bench.world.run_for(9s);
  CHECK_FALSE(bench.drain.is_over());
  CHECK(bench.drain.remaining() == 1s);
  CHECK(bench.world.connections() == 2);
  bench.world.run_for(1s);
  CHECK_FALSE(bench.drain.is_over());
  CHECK(bench.sent.last_says("RM: forced"));
  bench.world.run_for(100ms);
  CHECK(bench.world.connections() == 0);
  CHECK(bench.world.gateway_sockets() == 0);
  CHECK(bench.drain.is_over());
}

TEST_CASE("a drain without an end refuses new calls until it is cancelled") {
  Bench bench;
  bench.drain.begin({false, 5s});
  CHECK(bench.drain.active());
  CHECK_FALSE(bench.drain.remaining());
  CHECK(bench.crcx("rtpbridge/1@mgw") == 403);
  bench.world.run_for(10s);
  CHECK_FALSE(bench.drain.is_over());
  bench.drain.cancel();
  CHECK(bench.sent.last_says("RM: cancel-graceful"));
  CHECK(bench.crcx("rtpbridge/1@mgw") == 200);
  const std::size_t sent = bench.sent.texts.size();
  bench.drain.cancel();
  CHECK(bench.sent.texts.size() == sent);
}

TEST_CASE("a cancelled drain with a deadline ends nothing, and a later one has its own time") {
  Bench bench;
  REQUIRE(bench.crcx("rtpbridge/1@mgw") == 200);
  bench.drain.begin({true, 1s});
  bench.drain.cancel();
  bench.world.run_for(5s);
  CHECK_FALSE(bench.drain.is_over());
  CHECK(bench.world.connections() == 1);
  bench.drain.begin({true, 3s, true});
  CHECK(bench.drain.by_signal());
  bench.world.run_for(2s);
  CHECK_FALSE(bench.drain.is_over());
  CHECK(bench.world.connections() == 1);
}
