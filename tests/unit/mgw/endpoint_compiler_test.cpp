// From modes, addresses and options to forwarding entries: the mode table, pair by pair.

#include "mgw/endpoint_compiler.h"

#include "tests/sim/sim_world.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

using mgcp::ConnectionMode;

namespace {

constexpr std::array kModes = {ConnectionMode::recvonly, ConnectionMode::sendonly,
                               ConnectionMode::sendrecv, ConnectionMode::inactive,
                               ConnectionMode::loopback, ConnectionMode::confecho};

std::unique_ptr<mgw::Connection> connection(std::uint32_t slot, ConnectionMode mode) {
  auto made = std::make_unique<mgw::Connection>();
  made->id = 1000 + slot;
  made->slot = slot;
  made->mode = mode;
  made->codecs = {mgcp::default_codec()};
  made->remote_host = sim::address("203.0.113.1", 0);
  made->remote_port = static_cast<std::uint16_t>(5000 + 2 * slot);
  return made;
}

/// The table of the modes, written down again from the specification rather than from the code.
bool passes(ConnectionMode from, ConnectionMode to) {
  const bool source_takes = from == ConnectionMode::recvonly || from == ConnectionMode::sendrecv ||
                            from == ConnectionMode::confecho;
  const bool target_sends = to == ConnectionMode::sendonly || to == ConnectionMode::sendrecv ||
                            to == ConnectionMode::confecho;
  return source_takes && target_sends;
}

bool has_route(const mgw::ForwardingEntry& entry, std::uint32_t slot, bool echo) {
  return std::any_of(entry.routes.begin(), entry.routes.end(), [&](const mgw::Route& route) {
    return route.slot == slot && route.echo == echo;
  });
}

/// Compiles connections of these modes and compares every route with the table.
void check_routes(const std::vector<ConnectionMode>& modes) {
  mgw::Endpoint endpoint;
  for (std::uint32_t i = 0; i < modes.size(); ++i) {
    endpoint.connections.push_back(connection(i, modes[i]));
  }
  const auto updates = mgw::compile_endpoint(endpoint, conf::TrunkOptions());
  REQUIRE(updates.size() == modes.size());
  for (std::uint32_t i = 0; i < modes.size(); ++i) {
    CAPTURE(i);
    CAPTURE(static_cast<int>(modes[i]));
    const mgw::ForwardingEntry& entry = updates[i].entry;
    CHECK(updates[i].slot == i);
    const bool echoes =
        modes[i] == ConnectionMode::loopback || modes[i] == ConnectionMode::confecho;
    std::size_t expected = echoes ? 1 : 0;
    CHECK(has_route(entry, i, true) == echoes);
    CHECK_FALSE(has_route(entry, i, false));
    for (std::uint32_t j = 0; j < modes.size(); ++j) {
      if (j != i) {
        CHECK(has_route(entry, j, false) == passes(modes[i], modes[j]));
        expected += passes(modes[i], modes[j]) ? 1U : 0U;
      }
    }
    CHECK(entry.routes.size() == expected);
    CHECK(entry.receives ==
          (modes[i] != ConnectionMode::sendonly && modes[i] != ConnectionMode::inactive));
  }
}

}  // namespace

TEST_CASE("every combination of modes of one to four connections has the routes of the table") {
  for (const auto first : kModes) {
    check_routes({first});
    for (const auto second : kModes) {
      check_routes({first, second});
      for (const auto third : kModes) {
        check_routes({first, second, third});
        for (const auto fourth : kModes) {
          check_routes({first, second, third, fourth});
        }
      }
    }
  }
}

TEST_CASE("a peer that said it does not listen is sent nothing, an echo neither") {
  for (const auto direction : {mgcp::MediaDirection::sendonly, mgcp::MediaDirection::inactive,
                               mgcp::MediaDirection::recvonly, mgcp::MediaDirection::sendrecv}) {
    mgw::Endpoint endpoint;
    endpoint.connections.push_back(connection(0, ConnectionMode::sendrecv));
    endpoint.connections.push_back(connection(1, ConnectionMode::confecho));
    endpoint.connections[1]->direction = direction;
    const bool listens =
        direction == mgcp::MediaDirection::recvonly || direction == mgcp::MediaDirection::sendrecv;
    const auto updates = mgw::compile_endpoint(endpoint, conf::TrunkOptions());
    CHECK(updates[0].entry.routes.size() == (listens ? 1U : 0U));
    CHECK(has_route(updates[1].entry, 1, true) == listens);
    CHECK(has_route(updates[1].entry, 0, false));
  }
}

TEST_CASE("addresses, timing and options arrive in the entry") {
  mgw::Endpoint endpoint;
  endpoint.connections.push_back(connection(3, ConnectionMode::recvonly));
  mgw::Connection& one = *endpoint.connections[0];
  one.codecs = {mgcp::default_codec(), mgcp::parse_rtpmap(96, "AMR-WB/16000").value()};
  one.selected_codec = 1;
  one.ptime_ms = 40;
  conf::TrunkOptions options;
  options.source = conf::SourceCheck::latch;
  options.unknown_payload_types = conf::UnknownPayloadTypes::drop;
  options.omit_rtcp = true;
  options.patch.ssrc = true;
  options.connection_timeout = std::chrono::seconds(7);
  options.keep_alive.mode = conf::KeepAlive::Mode::interval;
  options.keep_alive.interval = std::chrono::seconds(3);
  mgw::ForwardingEntry entry = mgw::compile_endpoint(endpoint, options)[0].entry;
  CHECK(entry.remote_rtp.text() == "203.0.113.1:5006");
  CHECK(entry.remote_rtcp.text() == "203.0.113.1:5007");
  CHECK(entry.source == mgw::SourceCheck::latch);
  CHECK(entry.unknown_payload_types == rtp::UnknownPayloadTypes::drop);
  CHECK(entry.omit_rtcp);
  CHECK(entry.timeline.patch_ssrc);
  CHECK_FALSE(entry.timeline.align_timestamp);
  CHECK(entry.connection_timeout == std::chrono::seconds(7));
  CHECK(entry.keep_alive_interval == std::chrono::seconds(3));
  CHECK(entry.timing.clock_rate_hz == 16000);
  CHECK(entry.timing.packet_duration_ticks == 640);
  one.ptime_ms = 0;  // "any" counts as 20 ms
  one.mode = ConnectionMode::sendrecv;
  entry = mgw::compile_endpoint(endpoint, options)[0].entry;
  CHECK(entry.timing.packet_duration_ticks == 320);
  CHECK(entry.keep_alive_interval == io::Duration::zero());  // for listeners only
}
