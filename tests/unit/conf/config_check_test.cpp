// Rules that concern several keys.

#include "conf/config_check.h"

#include "conf/config_loader.h"

#include <doctest/doctest.h>

#include <string>

namespace {

/// The key that the first broken rule names; empty if the configuration is sound.
std::string violated_by(const std::string& yaml) {
  const auto config = conf::load_text(yaml, "test");
  return config ? std::string() : config.error().path;
}

}  // namespace

TEST_CASE("the defaults break no rule") {
  CHECK_FALSE(conf::find_violation({}).has_value());
}

TEST_CASE("the port range must start even, end odd and not be empty") {
  CHECK(violated_by("rtp: {port-min: 20000, port-max: 20001}").empty());
  CHECK(violated_by("rtp: {port-min: 20001}") == "rtp.port-min");
  CHECK(violated_by("rtp: {port-max: 20000}") == "rtp.port-max");
  CHECK(violated_by("rtp: {port-min: 20002, port-max: 20001}") == "rtp.port-max");
}

TEST_CASE("the call agent must be of the family of the MGCP socket and on its access list") {
  CHECK(violated_by("mgcp: {call-agent: 127.0.0.2}").empty());
  CHECK(violated_by("mgcp: {call-agent: '::1'}") == "mgcp.call-agent");
  CHECK(violated_by("mgcp: {bind: '::1', call-agent: '::1'}").empty());
  CHECK(violated_by("mgcp: {call-agent: 127.0.0.2, allow: [127.0.0.0/8]}").empty());
  CHECK(violated_by("mgcp: {call-agent: 127.0.0.2, allow: [10.0.0.0/8]}") == "mgcp.call-agent");
  CHECK(violated_by("mgcp: {bind: '::1', call-agent: '::1', allow: ['::/64']}").empty());
}

TEST_CASE("the entity to notify must be one that the MGCP socket reaches and hears") {
  CHECK(violated_by("mgcp: {notify-entity: 'ca@127.0.0.2'}").empty());
  CHECK(violated_by("mgcp: {notify-entity: 'ca@[::1]:2727'}") == "mgcp.notify-entity");
  CHECK(violated_by("mgcp: {bind: '::1', notify-entity: 'ca@[::1]:2727'}").empty());
  CHECK(violated_by("mgcp: {bind: '::1', notify-entity: 127.0.0.2}") == "mgcp.notify-entity");
  CHECK(violated_by("mgcp: {call-agent: 127.0.0.2, notify-entity: 'ca@127.0.0.2'}").empty());
  CHECK(violated_by("mgcp: {call-agent: 127.0.0.2, notify-entity: '127.0.0.2:2428'}") ==
        "mgcp.notify-entity");
  CHECK(violated_by("mgcp: {call-agent: 127.0.0.2, notify-entity: 127.0.0.3}") ==
        "mgcp.notify-entity");
  // It gives no commands, so the access list need not name it.
  CHECK(violated_by("mgcp: {allow: [10.0.0.0/8], notify-entity: 127.0.0.3}").empty());
}

TEST_CASE("an advertised address without a bound one of its family waits for one") {
  CHECK(violated_by("rtp: {advertise: 192.0.2.1}").empty());
  CHECK(violated_by("rtp: {advertise-v6: '2001:db8::1'}").empty());
  CHECK(violated_by("{mgcp: {bind: '::1'}, rtp: {advertise: 192.0.2.1}}").empty());
}

TEST_CASE("each E1 trunk has a line of its own, and the lines are as many as the trunks") {
  CHECK(violated_by("e1: {trunks: [1, 2]}").empty());
  CHECK(violated_by("e1: {trunks: [1, 2], lines: [1, 0]}").empty());
  CHECK(violated_by("e1: {trunks: [1, 2], lines: [1]}") == "e1.lines");
  CHECK(violated_by("e1: {lines: [1]}") == "e1.lines");
  CHECK(violated_by("e1: {trunks: [1, 2], lines: [1, 1]}") == "e1.lines");
  CHECK(violated_by("e1: {trunks: [2, 2]}") == "e1.trunks");
  CHECK(violated_by("e1: {trunks: [65]}") == "e1.trunks");
}

TEST_CASE("virtual lines alone make trunk 1 on line 0") {
  conf::E1Options e1;
  CHECK(e1.all_trunks().empty());
  e1.virtual_lines = true;
  CHECK(e1.all_trunks() == std::vector<conf::E1Trunk>{{1, 0}});
  e1.trunks = {7, 0};
  CHECK(e1.all_trunks() == std::vector<conf::E1Trunk>{{7, 0}, {0, 1}});
}
