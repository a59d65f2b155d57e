// Which local address a leg gets, and which ports.

#include "mgw/local_media.h"

#include "tests/sim/sim_world.h"

#include <doctest/doctest.h>

#include <cerrno>
#include <chrono>

using namespace std::chrono_literals;

namespace {

struct Bench {
  io::SimClock clock;
  io::SimNetwork network{clock, 1};
  io::SimSocketFactory sockets{network, sim::address("192.0.2.77", 0),
                               sim::address("2001:db8::77", 0)};
  conf::Config config;

  /// "BIND/ANNOUNCED", or the code of the refusal.
  std::string choose(std::string_view remote, std::string_view agent = "198.51.100.1") {
    mgw::LocalMedia media(config, sockets);
    const auto peer = io::SocketAddress::parse(remote, 0).value_or(io::SocketAddress());
    const auto host = media.choose(peer, sim::address(agent, 2727));
    return host ? host->bind.host_text() + "/" + host->announce.host_text()
                : std::to_string(mgcp::number(host.error().code));
  }
};

}  // namespace

TEST_CASE("the local address is that of the peer's family, or the MGCP address, or of the route") {
  struct Row {
    const char* bind;
    const char* bind_v6;
    const char* mgcp;
    bool probing;
    const char* remote;
    const char* expected;
  };
  const std::vector<Row> rows = {
      // Both families configured: the peer's; IPv6 while the peer is unknown.
      {"10.0.0.1", "fd00::1", "127.0.0.1", false, "203.0.113.1", "10.0.0.1/10.0.0.1"},
      {"10.0.0.1", "fd00::1", "127.0.0.1", false, "2001:db8::9", "fd00::1/fd00::1"},
      {"10.0.0.1", "fd00::1", "127.0.0.1", false, "", "fd00::1/fd00::1"},
      // IPv4 only: IPv6 is refused, never answered with IPv4.
      {"10.0.0.1", "", "127.0.0.1", false, "2001:db8::9", "505"},
      {"10.0.0.1", "", "127.0.0.1", false, "", "10.0.0.1/10.0.0.1"},
      // On hold the address is unspecified, but its family counts.
      {"10.0.0.1", "fd00::1", "127.0.0.1", false, "0.0.0.0", "10.0.0.1/10.0.0.1"},
      {"10.0.0.1", "", "127.0.0.1", false, "::", "505"},
      // Nothing configured: the MGCP address, of its own family only.
      {"", "", "10.0.0.9", false, "203.0.113.1", "10.0.0.9/10.0.0.9"},
      {"", "", "fd00::9", false, "2001:db8::9", "fd00::9/fd00::9"},
      {"", "", "10.0.0.9", false, "2001:db8::9", "505"},
      // "Any" can't be announced: the way to the peer decides, or to the agent.
      {"", "", "0.0.0.0", false, "203.0.113.1", "192.0.2.77/192.0.2.77"},
      {"0.0.0.0", "", "127.0.0.1", false, "", "192.0.2.77/192.0.2.77"},
      {"0.0.0.0", "::", "127.0.0.1", false, "2001:db8::9", "2001:db8::77/2001:db8::77"},
      {"", "", "::", false, "2001:db8::9", "2001:db8::77/2001:db8::77"},
      {"", "", "::", false, "203.0.113.1", "192.0.2.77/192.0.2.77"},
      {"", "", "::", false, "", "192.0.2.77/192.0.2.77"},
      // Probing asks for the way once the peer is known.
      {"10.0.0.1", "fd00::1", "127.0.0.1", true, "203.0.113.1", "192.0.2.77/192.0.2.77"},
      {"10.0.0.1", "fd00::1", "127.0.0.1", true, "2001:db8::9", "2001:db8::77/2001:db8::77"},
      {"10.0.0.1", "fd00::1", "127.0.0.1", true, "", "fd00::1/fd00::1"},
      {"10.0.0.1", "fd00::1", "127.0.0.1", true, "0.0.0.0", "10.0.0.1/10.0.0.1"},
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CAPTURE(i);
    Bench bench;
    bench.config.rtp.bind = rows[i].bind;
    bench.config.rtp.bind_v6 = rows[i].bind_v6;
    bench.config.mgcp.bind = rows[i].mgcp;
    bench.config.rtp.ip_probing = rows[i].probing;
    CHECK(bench.choose(rows[i].remote) == rows[i].expected);
  }
}

TEST_CASE("an advertised address is announced in place of the bound one, family by family") {
  Bench bench;
  bench.config.rtp.bind = "10.0.0.1";
  bench.config.rtp.bind_v6 = "fd00::1";
  bench.config.rtp.advertise = "198.51.100.99";
  CHECK(bench.choose("203.0.113.1") == "10.0.0.1/198.51.100.99");
  CHECK(bench.choose("2001:db8::9") == "fd00::1/fd00::1");
}

TEST_CASE("pairs of which somebody has one port are passed over, both halves given back") {
  Bench bench;
  bench.config.rtp.port_min = 4000;
  bench.config.rtp.port_max = 4007;
  mgw::LocalMedia media(bench.config, bench.sockets);
  const auto host = sim::address("10.0.0.1", 0);
  const io::SimPeer rtp_taken(bench.network, host.with_port(4000));
  const io::SimPeer rtcp_taken(bench.network, host.with_port(4003));
  auto first = media.bind(host, bench.clock.now());
  REQUIRE(first);
  CHECK(first->local.port() == 4004);
  CHECK(first->sockets.rtcp.local().port() == 4005);
  CHECK(bench.network.sockets() == 4);
  auto second = media.bind(host, bench.clock.now());
  REQUIRE(second);
  const auto third = media.bind(host, bench.clock.now());
  REQUIRE_FALSE(third);
  CHECK(third.error().code == mgcp::ResponseCode::endpoint_unknown);
  CHECK(third.error().reason.find("ports") != std::string_view::npos);
  CHECK(media.exhausted() == 1);
  CHECK(media.ports_used() == 2);
  CHECK(bench.network.sockets() == 6);
}

TEST_CASE("the limit of open files is told as what it is, and costs no port") {
  for (const std::uint32_t good_binds : {0U, 1U}) {
    Bench bench;
    mgw::LocalMedia media(bench.config, bench.sockets);
    const auto host = sim::address("10.0.0.1", 0);
    if (good_binds == 0) {
      bench.network.fail_binds(EMFILE, 1);
      const auto refused = media.bind(host, bench.clock.now());
      REQUIRE_FALSE(refused);
      CHECK(refused.error().reason.find("open files") != std::string_view::npos);
    }
    CHECK(media.ports_used() == 0);
    CHECK(bench.network.sockets() == 0);
    CHECK(media.bind(host, bench.clock.now()));
  }
}

TEST_CASE("each local address has the whole port range for itself") {
  Bench bench;
  bench.config.rtp.port_min = 4000;
  bench.config.rtp.port_max = 4001;
  bench.config.rtp.bind = "10.0.0.1";
  mgw::LocalMedia media(bench.config, bench.sockets);
  auto first = media.bind(sim::address("10.0.0.1", 0), bench.clock.now());
  auto second = media.bind(sim::address("10.0.0.2", 0), bench.clock.now());
  REQUIRE(first);
  REQUIRE(second);
  CHECK(first->local.port() == second->local.port());
  CHECK_FALSE(media.bind(sim::address("10.0.0.1", 0), bench.clock.now()));
  CHECK(media.ports_total() == 2);
}
