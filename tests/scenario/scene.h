#pragma once
// A world with one agent, and the few commands of which calls are made.

#include "tests/sim/sim_world.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <string_view>

namespace scenario {

/// One leg of a call as the agent knows it.
struct Leg {
  std::string endpoint;
  std::string connection;
  sim::Answer answer;
  sim::RtpPeer* peer = nullptr;
};

/// What is said in the CRCX of a leg.
struct LegOptions {
  std::string endpoint = "rtpbridge/1@mgw";
  std::string call = "1";
  std::string mode = "sendrecv";
  std::string formats = "8";
  std::string attributes = {};
};

/// See above.
class Scene {
 public:
  explicit Scene(const conf::Config& config = sim::small_config(),
                 const sim::WorldOptions& options = {})
      : world(config, options), agent(world.add_agent()) {}

  /// A leg with a peer of its own; checks that it was answered with 200.
  Leg add_leg(const LegOptions& options = {}) { return add_leg(options, world.add_peer()); }
  Leg add_leg(const LegOptions& options, sim::RtpPeer& peer) {
    Leg leg;
    leg.peer = &peer;
    leg.answer =
        crcx(options.endpoint, fmt::format("C: {}\r\nM: {}\r\n{}", options.call, options.mode,
                                           peer.sdp(options.formats, options.attributes)));
    REQUIRE(leg.answer.code == 200);
    const std::string named = leg.answer.parameter("Z");
    leg.endpoint = named.empty() ? options.endpoint : named;
    leg.connection = leg.answer.parameter("I");
    peer.set_target(leg.answer.media());
    return leg;
  }
  sim::Answer crcx(std::string_view endpoint, std::string_view body) {
    return world.command(agent, "CRCX", endpoint, body);
  }
  /// MDCX with these lines after `I:`.
  sim::Answer mdcx(const Leg& leg, std::string_view body) {
    return world.command(agent, "MDCX", leg.endpoint,
                         fmt::format("I: {}\r\n{}", leg.connection, body));
  }
  sim::Answer dlcx(const Leg& leg) {
    return world.command(agent, "DLCX", leg.endpoint, fmt::format("I: {}\r\n", leg.connection));
  }
  sim::Answer dlcx(std::string_view endpoint, std::string_view body = {}) {
    return world.command(agent, "DLCX", endpoint, body);
  }
  void run_for(io::Duration duration) { world.run_for(duration); }
  [[nodiscard]] std::uint64_t dropped(mgw::DropCause cause) { return world.dropped(cause); }

  sim::SimWorld world;
  sim::CallAgent& agent;
};

/// The two legs of an ordinary call.
struct Call {
  explicit Call(Scene& scene, const LegOptions& first = {}, const LegOptions& second = {})
      : a(scene.add_leg(first)), b(scene.add_leg(second)) {}
  Leg a;
  Leg b;
};

/// True if both peers got all that the other one sent in the last `packets` packets.
inline bool talk(Scene& scene, const Leg& a, const Leg& b, std::uint32_t packets,
                 std::uint8_t type_a = 8, std::uint8_t type_b = 8) {
  const std::size_t before_a = a.peer->count_from(b.peer->number());
  const std::size_t before_b = b.peer->count_from(a.peer->number());
  a.peer->stream(packets, type_a);
  b.peer->stream(packets, type_b);
  scene.run_for(std::chrono::milliseconds(20 * packets + 500));
  return a.peer->count_from(b.peer->number()) == before_a + packets &&
         b.peer->count_from(a.peer->number()) == before_b + packets && a.peer->disorder() == 0 &&
         b.peer->disorder() == 0;
}

}  // namespace scenario
