// What taps are permitted.

#include "mgw/tap_registry.h"

#include "tests/sim/sim_world.h"
#include "tests/sim/temporary_directory.h"

#include <doctest/doctest.h>

#include <chrono>

using namespace std::chrono_literals;
using mgcp::ResponseCode;
using mgw::TapRegistry;
using mgw::TapSet;

namespace {

constexpr auto kNow = [] { return io::Duration(1s); };

mgcp::TapParameter tap(std::string_view text) {
  return mgcp::parse_tap(text).value();
}

conf::IpNetwork network(std::string_view text) {
  return conf::IpNetwork::parse(text).value();
}

/// The code of the refusal, 200 if there is none.
int outcome(TapRegistry& taps, std::string_view text, const io::SocketAddress& local) {
  const auto result = taps.apply(tap(text), {}, local);
  if (!result) {
    CHECK(!result.error().reason.empty());
    return mgcp::number(result.error().code);
  }
  return 200;
}

}  // namespace

TEST_CASE("copies go to permitted addresses only, by default to loopback, never to ourselves") {
  conf::Config config;
  config.rtp.port_min = 4000;
  config.rtp.port_max = 4999;
  config.rtp.bind = "192.0.2.1";
  const auto local = sim::address("127.0.0.1", 4000);
  const auto local6 = sim::address("::1", 4000);
  {
    TapRegistry taps(config, 1, kNow);
    CHECK(outcome(taps, "in udp 127.0.0.1:5000", local) == 200);
    CHECK(outcome(taps, "in udp 127.255.0.1:5000", local) == 200);
    CHECK(outcome(taps, "in udp [::1]:5000", local6) == 200);
    CHECK(outcome(taps, "in udp 192.0.2.1:5000", local) == 539);
    CHECK(outcome(taps, "in udp [::1]:5000", local) == 539);
    CHECK(outcome(taps, "in udp 127.0.0.1:5000", local6) == 539);
    CHECK(outcome(taps, "in udp [::ffff:127.0.0.1]:5000", local6) == 539);
    CHECK(outcome(taps, "in udp 127.0.0.1:4000", local) == 539);
    CHECK(outcome(taps, "in udp 127.0.0.2:4999", local) == 539);
    CHECK(outcome(taps, "in udp 127.0.0.1:2427", local) == 539);
  }
  config.taps.udp_allow = {network("192.0.2.0/24")};
  TapRegistry taps(config, 1, kNow);
  CHECK(outcome(taps, "in udp 127.0.0.1:5000", local) == 539);
  CHECK(outcome(taps, "in udp 192.0.2.77:4000", local) == 200);
  CHECK(outcome(taps, "in udp 192.0.2.1:4000", local) == 539);
  CHECK(outcome(taps, "in udp 192.0.3.1:5000", local) == 539);
}

TEST_CASE("no tap at all is permitted by taps.max 0, no address by an empty list") {
  conf::Config config;
  const auto local = sim::address("127.0.0.1", 4000);
  config.taps.udp_allow.clear();
  TapRegistry none(config, 1, kNow);
  CHECK(outcome(none, "in udp 127.0.0.1:5000", local) == 539);
  config.taps.udp_allow = conf::loopback_networks();
  config.taps.max = 0;
  TapRegistry zero(config, 1, kNow);
  CHECK(outcome(zero, "in udp 127.0.0.1:5000", local) == 400);
  CHECK(outcome(zero, "off", local) == 200);
}

TEST_CASE("files are made only if there is a directory for them") {
  conf::Config config;
  const auto local = sim::address("127.0.0.1", 4000);
  TapRegistry without(config, 1, kNow);
  CHECK(without.writer() == nullptr);
  CHECK(outcome(without, "in pcap a", local) == 539);
  const sim::TemporaryDirectory directory;
  config.taps.directory = directory.path() + "/missing";
  TapRegistry missing(config, 1, kNow);
  CHECK(outcome(missing, "in pcap a", local) == 400);
  CHECK(missing.active() == 0);
  config.taps.directory = directory.path();
  TapRegistry taps(config, 1, kNow);
  CHECK(outcome(taps, "in pcap a", local) == 200);
  CHECK(directory.files() == 1);
}

TEST_CASE("at most taps.max targets exist, and one that ended makes room") {
  conf::Config config;
  config.taps.max = 2;
  const auto local = sim::address("127.0.0.1", 4000);
  TapRegistry taps(config, 1, kNow);
  auto first = taps.apply(tap("in udp 127.0.0.1:5000"), {}, local);
  REQUIRE(first);
  auto second = taps.apply(tap("out udp 127.0.0.1:5001"), *first, local);
  REQUIRE(second);
  CHECK(taps.active() == 2);
  CHECK(outcome(taps, "in udp 127.0.0.1:5002", local) == 400);
  first = taps.apply(tap("in off"), *second, local);
  second = TapSet();
  REQUIRE(first);
  CHECK(taps.active() == 1);
  CHECK(tap_texts(*first) == std::vector<std::string>{"out udp 127.0.0.1:5001"});
  CHECK(outcome(taps, "in udp 127.0.0.1:5002", local) == 200);
}

TEST_CASE("directions are independent, and the texts say what there is") {
  conf::Config config;
  const auto local = sim::address("127.0.0.1", 4000);
  TapRegistry taps(config, 1, kNow);
  using Texts = std::vector<std::string>;
  TapSet set;
  const auto apply = [&](std::string_view text) {
    set = taps.apply(tap(text), set, local).value();
    return tap_texts(set);
  };
  CHECK(apply("off") == Texts{"off"});
  CHECK(apply("both udp 127.0.0.1:5000") == Texts{"both udp 127.0.0.1:5000"});
  CHECK(apply("out udp 127.0.0.1:5001") ==
        Texts{"in udp 127.0.0.1:5000", "out udp 127.0.0.1:5001"});
  CHECK(apply("in off") == Texts{"out udp 127.0.0.1:5001"});
  CHECK(taps.make_tap(set, 0, local) != nullptr);
  CHECK(apply("off") == Texts{"off"});
  CHECK(taps.make_tap(set, 0, local) == nullptr);
  CHECK(taps.active() == 0);
}

TEST_CASE("a connection that moves to the other address family loses its tap to an address") {
  conf::Config config;
  const sim::TemporaryDirectory directory;
  config.taps.directory = directory.path();
  const auto local = sim::address("127.0.0.1", 4000);
  TapRegistry taps(config, 1, kNow);
  TapSet set = taps.apply(tap("in udp 127.0.0.1:5000"), {}, local).value();
  set = taps.apply(tap("out pcap a"), set, local).value();
  CHECK(TapRegistry::within_family(set, sim::address("127.0.0.9", 1)) == set);
  const TapSet moved = TapRegistry::within_family(set, sim::address("::1", 4000));
  CHECK(moved.in == nullptr);
  CHECK(moved.out == set.out);
}
