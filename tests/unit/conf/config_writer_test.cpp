// Config out as YAML and in again; lists whose entries have keys.

#include "conf/config_writer.h"

#include "conf/collection.h"
#include "conf/config_keys.h"
#include "conf/config_loader.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <sstream>
#include <string>
#include <vector>

namespace {

using conf::Collection;
using conf::Config;
using conf::Setting;

std::string written(const Config& config) {
  std::ostringstream out;
  conf::write_config(out, config);
  return out.str();
}

Config loaded(const std::string& yaml) {
  const auto config = conf::load_text(yaml, "mgw.yaml", {});
  REQUIRE_MESSAGE(config.has_value(), (config ? "" : config.error().to_string()));
  return *config;
}

std::string refusal_of(const std::string& yaml) {
  const auto config = conf::load_text(yaml, "mgw.yaml", {});
  REQUIRE_MESSAGE(!config.has_value(), yaml);
  return config.error().to_string();
}

/// Values of which each setting accepts at least one that is not its default.
const std::vector<std::string> kCandidates = {
    "true",        "false",      "10.0.0.1", "2001:db8::1", "ca@192.0.2.1:2727",
    "mgw.example", "poll",       "latch",    "drop",        "once",
    "only",        "line-pairs", "debug",    "file",        "basename",
    "log",         "peer",       "e1d",      "lmgcp=debug", "/a \"strange\"\\ name",
    "40",          "7",          "1500",     "16386",       "20001",
    "600",         "70000",      "drain",    "tc"};

/// Gives the setting another value than it has; false if no candidate does.
bool change(const Setting& setting, Config& config) {
  const std::string before = conf::value_text(setting, config);
  for (const std::string& candidate : kCandidates) {
    Config changed = config;
    const std::vector<std::string> words = {candidate};
    if (conf::assign(setting, changed, words) && conf::value_text(setting, changed) != before) {
      config = changed;
      return true;
    }
  }
  return false;
}

}  // namespace

TEST_CASE("a configuration without changes is written as one that needs no key") {
  CHECK(written(Config{}) == "# Configuration of mgw: the keys that differ from their defaults.\n");
}

TEST_CASE("each key that is not the default is written with its help, and read again") {
  for (const Setting& setting : conf::all_settings()) {
    Config config;
    REQUIRE_MESSAGE(change(setting, config), setting.path);
    const std::string yaml = written(config);
    // Alone, a key may contradict the default of another: the check is not what is tested here.
    const auto outcome = conf::load_text(yaml, "mgw.yaml", {});
    if (outcome) {
      CHECK_MESSAGE(*outcome == config, yaml);
    } else {
      CHECK_MESSAGE(outcome.error().to_string().find("YAML") == std::string::npos,
                    outcome.error().to_string());
    }
    CHECK_MESSAGE(yaml.find("# ") != std::string::npos, yaml);
  }
}

TEST_CASE("each key of each list's entries is written and read again, entry by entry") {
  for (const Collection& collection : conf::all_collections()) {
    for (const Setting& setting : collection.settings) {
      Config config;
      collection.resize(config, 1);
      REQUIRE_MESSAGE(change(setting, config), setting.path);
      if (collection.path == "log.targets" && setting.path != "log.targets.destination") {
        config.log.targets[0].destination = "x";
      }
      const auto read = conf::load_text(written(config), "mgw.yaml", {});
      REQUIRE_MESSAGE(read.has_value(), written(config));
      CHECK_MESSAGE(*read == config, written(config));
    }
  }
}

TEST_CASE("the entries of a list are read in their order, with defaults for what they leave out") {
  const Config config = loaded(R"(
stats:
  interval-s: 0
  reporters:
    - {type: statsd, remote-address: 127.0.0.1, remote-port: 8125, prefix: TTCN3, enabled: true}
    - type: log
      name: second
log:
  targets:
    - type: file
      destination: /var/log/mgw.log
      levels: [lmgcp=info, rtp=debug]
      force-level: off
    - type: gsmtap
      destination: 127.0.0.1
e1:
  trunks: [1]
  trunk-options: [{trunk: 1, keep-alive: 30, patch-ssrc: true}]
  line-options:
    - {line: 3, driver: e1d, port: 2}
)");
  REQUIRE(config.stats.reporters.size() == 2);
  CHECK(config.stats.interval.count() == 0);
  CHECK(config.stats.reporters[0].prefix == "TTCN3");
  CHECK(config.stats.reporters[0].enabled);
  CHECK(config.stats.reporters[1].kind == conf::StatsReporter::Kind::log);
  CHECK(config.stats.reporters[1].name == "second");
  CHECK(config.stats.reporters[1].remote_port == 8125);
  REQUIRE(config.log.targets.size() == 2);
  REQUIRE(config.log.targets[0].levels.size() == 2);
  CHECK(config.log.targets[0].levels[0] == conf::LogCategoryLevel{"lmgcp", conf::LogLevel::info});
  CHECK(config.log.targets[1].kind == conf::LogTarget::Kind::gsmtap);
  REQUIRE(config.e1.line_options.size() == 1);
  CHECK(config.e1.line_options[0].driver == conf::E1Driver::osmo_e1d);
  REQUIRE(config.e1.trunk_options.size() == 1);
  CHECK(config.e1.trunk_options[0].options.patch.ssrc);
  CHECK(config.e1.trunk_options[0].options.keep_alive.interval.count() == 30);
  CHECK(loaded(written(config)) == config);
}

TEST_CASE("what is wrong in a list is told with its place") {
  CHECK(refusal_of("stats:\n  reporters:\n    - {type: statsd, prefx: a}\n") ==
        "mgw.yaml:3:22: unknown key 'stats.reporters.prefx'; did you mean "
        "'stats.reporters.prefix'?");
  CHECK(refusal_of("stats:\n  reporters:\n    - {mtu: 99}\n").find("off or a number from 100") !=
        std::string::npos);
  CHECK(refusal_of("stats: {reporters: [{mtu: 100, mtu: 200}]}").find("given twice") !=
        std::string::npos);
  CHECK(refusal_of("stats: {reporters: [statsd]}").find("has keys") != std::string::npos);
  CHECK(refusal_of("stats: {reporters: [[]]}").find("not expected") != std::string::npos);
  CHECK(refusal_of("stats: {reporters: {}}").find("is a list") != std::string::npos);
  CHECK(refusal_of("stats: {reporters: 3}").find("is a list") != std::string::npos);
  CHECK(refusal_of("stats: {reporters: [~]}").find("an empty entry") != std::string::npos);
  CHECK(refusal_of("stats: {reporters: [{type: {}}]}").find("takes a value") != std::string::npos);
  CHECK(refusal_of("log: {targets: [{levels: [lmgcp]}]}").find("CATEGORY=LEVEL") !=
        std::string::npos);
  std::string many = "stats: {reporters: [";
  for (std::size_t i = 0; i <= conf::kStatsReportersMax; ++i) {
    many += fmt::format("{{name: a{}}},", i);
  }
  CHECK(refusal_of(many + "]}").find("more than 16 entries") != std::string::npos);
}

TEST_CASE("--set says that lists are for files") {
  Config config;
  for (const char* setting : {"stats.reporters=a", "stats.reporters.prefix=a"}) {
    const auto outcome = conf::apply_setting(config, setting);
    REQUIRE_FALSE(outcome.has_value());
    CHECK(outcome.error().to_string().find("only a file") != std::string::npos);
  }
}
