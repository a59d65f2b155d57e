// A whole gateway that is fed MGCP, RTP and RTCP on virtual time. The input is a row of steps: an
// octet that says what it is, two with the length (high one first), and the datagram; lengths
// beyond the end mean "the rest".

#define DOCTEST_CONFIG_IMPLEMENT
#include "tests/sim/sim_world.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

namespace {

using namespace std::chrono_literals;

/// Steps of one run: enough for some calls, few enough for many runs.
constexpr int kStepsMax = 64;

conf::Config fuzz_config(std::uint8_t choice) {
  conf::Config config = sim::small_config();
  conf::TrunkOptions& options = config.endpoints.options;
  config.rtp.bind_v6 = (choice & 1U) != 0 ? std::string(sim::kGatewayHost6) : std::string();
  config.mgcp.transactions_max = 256;  // little memory to set up for each run
  options.patch.ssrc = (choice & 2U) != 0;
  options.patch.timestamp = (choice & 4U) != 0;
  options.source = static_cast<conf::SourceCheck>((choice >> 3U) % 3);
  options.keep_alive.mode = conf::KeepAlive::Mode::once;
  options.sdp.single_codec = (choice & 32U) != 0;
  options.force_realloc = (choice & 64U) != 0;
  // The peers' network and our own: copies to ourselves must be refused by the port.
  config.taps.udp_allow = {conf::IpNetwork::parse("203.0.0.0/16").value(),
                           conf::IpNetwork::parse("192.0.2.0/24").value()};
  options.connection_timeout = std::chrono::seconds((choice & 128U) != 0 ? 1 : 0);
  return config;
}

void step(sim::SimWorld& world, sim::CallAgent& agent, sim::RtpPeer& peer, std::uint8_t kind,
          const sim::Bytes& datagram) {
  // Legs get the ports 4000, 4002 ... one after the other.
  peer.set_target(world.gateway().with_port(static_cast<std::uint16_t>(4000 + 2 * (kind >> 4U))));
  switch (kind % 4) {
    case 0:
      agent.send_raw({reinterpret_cast<const char*>(datagram.data()), datagram.size()});
      break;
    case 1:
      peer.send_rtp(datagram);
      break;
    case 2:
      peer.send_rtcp(datagram);
      break;
    default:
      world.run_for(500ms);
      break;
  }
  world.run_for(5ms);
}

void abort_on_failure(const doctest::AssertData& failed) {
  std::fprintf(stderr, "%s:%d: %s\n", failed.m_file, failed.m_line, failed.m_expr);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static doctest::Context context;
  context.setAsDefaultForAssertsOutOfTestCases();
  context.setAssertHandler(abort_on_failure);
  std::span<const std::uint8_t> rest(data, size);
  if (rest.empty()) {
    return 0;
  }
  sim::WorldOptions options;
  options.plane.buffers = 64;
  sim::SimWorld world(fuzz_config(rest[0]), options);
  rest = rest.subspan(1);
  sim::CallAgent& agent = world.add_agent();
  sim::RtpPeer& peer = world.add_peer();
  for (int steps = 0; steps < kStepsMax && rest.size() >= 3; ++steps) {
    const std::uint8_t kind = rest[0];
    const std::size_t wanted = std::size_t{rest[1]} << 8U | rest[2];
    rest = rest.subspan(3);
    sim::Bytes datagram(std::min(wanted, rest.size()));
    if (!datagram.empty()) {
      std::memcpy(datagram.data(), rest.data(), datagram.size());
    }
    rest = rest.subspan(datagram.size());
    step(world, agent, peer, kind, datagram);
  }
  return 0;
}
