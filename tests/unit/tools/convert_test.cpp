// Configuration files of osmo-mgw to YAML and back.

#include "tools/mgwctl/convert.h"

#include "conf/config_loader.h"

#include <doctest/doctest.h>

#include <string>

namespace {

conf::Config loaded(const std::string& yaml) {
  const auto config = conf::load_text(yaml, "mgw.yaml", {});
  REQUIRE_MESSAGE(config.has_value(), (config ? "" : config.error().to_string()));
  return *config;
}

}  // namespace

TEST_CASE("an osmo-mgw file becomes YAML that means the same, osmo-mgw's defaults included") {
  const auto yaml = mgwctl::osmo_to_yaml(
      "mgcp\n rtp ip-dscp 46\n rtp keep-alive 30\n loop 0\n trunk 3\n  line 7\n", "a.cfg");
  REQUIRE(yaml.has_value());
  const conf::Config config = loaded(yaml->text);
  CHECK(config.rtp.dscp == 46);
  CHECK(config.mgcp.bind == "0.0.0.0");
  CHECK(config.rtp.port_min == 16002);
  CHECK(config.vty.enabled);
  CHECK(config.endpoints.options.keep_alive.interval.count() == 30);
  REQUIRE(config.e1.all_trunks().size() == 1);
  CHECK(config.e1.all_trunks()[0] == conf::E1Trunk{3, 7});
  CHECK(yaml->text.find("# DSCP") != std::string::npos);
  REQUIRE(yaml->remarks.size() == 1);
  CHECK(yaml->remarks[0].find("a.cfg:4: ") == 0);
}

TEST_CASE("a fault in an osmo-mgw file is told with its line") {
  const auto yaml = mgwctl::osmo_to_yaml("mgcp\n nonsense\n", "a.cfg");
  REQUIRE_FALSE(yaml.has_value());
  CHECK(yaml.error().find("a.cfg:2: ") == 0);
  CHECK(yaml.error().find("nonsense") != std::string::npos);
}

TEST_CASE("YAML becomes an osmo-mgw file, and what that has no word for is told") {
  const auto osmo =
      mgwctl::yaml_to_osmo("rtp: {source: latch, dscp: 10}\nendpoints: {count: 77}\n", "a.yaml");
  REQUIRE(osmo.has_value());
  CHECK(osmo->text.find("\n rtp ip-dscp 10\n") != std::string::npos);
  CHECK(osmo->text.find("\n number endpoints 77\n") != std::string::npos);
  CHECK(osmo->text.find("! rtp.source: latch\n") != std::string::npos);
  bool told = false;
  for (const std::string& remark : osmo->remarks) {
    told = told || remark.find("rtp.source") != std::string::npos;
  }
  CHECK(told);
  CHECK_FALSE(mgwctl::yaml_to_osmo("rtp: {dscp: 99}", "a.yaml").has_value());
}
