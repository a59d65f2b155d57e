// The table of keys: consistent in itself, and every value of every key can be written and read
// back.

#include "conf/config_keys.h"

#include "conf/config_loader.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace {

std::string parent_of(std::string_view path) {
  const auto dot = path.rfind('.');
  return std::string(dot == std::string_view::npos ? "" : path.substr(0, dot));
}

bool is_accepted(const conf::Setting& setting, const std::string& value) {
  conf::Config config;
  return conf::assign(setting, config, std::vector<std::string>{value}).has_value();
}

/// Values of each key that differ from the default, at least one for each.
std::vector<std::string> sample_values(const conf::Setting& setting) {
  std::vector<std::string> values(setting.words.begin(), setting.words.end());
  if (setting.max != 0) {
    values.push_back(std::to_string(setting.min));
    values.push_back(std::to_string(setting.max));
  }
  for (const char* text : {"true", "false", "192.0.2.7", "2001:db8::7", "ca@192.0.2.7:99",
                           "10.0.0.0/8", "example.net"}) {
    if (is_accepted(setting, text)) {
      values.emplace_back(text);
    }
  }
  return values;
}

}  // namespace

TEST_CASE("every key is declared once and belongs to a section that exists") {
  std::set<std::string_view> paths;
  for (const conf::Setting& setting : conf::all_settings()) {
    CHECK_MESSAGE(paths.insert(setting.path).second, setting.path);
    CHECK_MESSAGE(conf::is_section(parent_of(setting.path)), setting.path);
    CHECK_FALSE(conf::is_section(setting.path));
    CHECK(conf::find_setting(setting.path) == &setting);
  }
  for (const conf::Section& section : conf::all_sections()) {
    CHECK(paths.insert(section.path).second);
  }
}

TEST_CASE("keys are in kebab-case and end with their unit of time") {
  for (const conf::Setting& setting : conf::all_settings()) {
    const auto allowed = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
    };
    CHECK_MESSAGE(std::ranges::all_of(setting.path, allowed), setting.path);
    const std::string_view unit = setting.unit;
    if (unit == "us" || unit == "ms" || unit == "bytes") {
      CHECK_MESSAGE(setting.path.ends_with('-' + std::string(unit)), setting.path);
    }
  }
}

TEST_CASE("each key changes its own field, and only when it is given another value") {
  const conf::Config defaults;
  for (const conf::Setting& setting : conf::all_settings()) {
    bool changed = false;
    for (const std::string& value : sample_values(setting)) {
      conf::Config config;
      REQUIRE_MESSAGE(conf::assign(setting, config, std::vector<std::string>{value}).has_value(),
                      setting.path, "=", value);
      changed = changed || config != defaults;
      for (const conf::Setting& other : conf::all_settings()) {
        if (&other != &setting) {
          CHECK(conf::value_text(other, config) == conf::value_text(other, defaults));
        }
      }
    }
    CHECK_MESSAGE(changed, setting.path);
  }
}

TEST_CASE("every value is written in a form that is read back as the same value") {
  for (const conf::Setting& setting : conf::all_settings()) {
    for (const std::string& value : sample_values(setting)) {
      conf::Config config;
      REQUIRE(conf::assign(setting, config, std::vector<std::string>{value}).has_value());
      // Flow style needs no indentation: {rtp: {patch: {ssrc: true}}}
      std::string yaml = conf::value_text(setting, config);
      for (std::string path(setting.path); !path.empty(); path = parent_of(path)) {
        const std::string name = path.substr(path.rfind('.') + 1);
        yaml = "{" + name + ": " + yaml + "}";
      }
      const auto loaded = conf::load_text(yaml, "written");
      // Rules between keys may refuse a single value; the value itself must be understood.
      if (loaded) {
        CHECK(*loaded == config);
      } else {
        CHECK_MESSAGE(!conf::check(config).has_value(), loaded.error().to_string());
      }
    }
  }
}

TEST_CASE(
    "a number just outside the range of its key is refused, and the message gives the range") {
  int checked = 0;
  for (const conf::Setting& setting : conf::all_settings()) {
    if (setting.max == 0) {
      continue;
    }
    const std::string above = std::to_string(setting.max + 1);
    CHECK_MESSAGE(!is_accepted(setting, above), setting.path, "=", above);
    if (setting.min > 0) {
      CHECK_MESSAGE(!is_accepted(setting, std::to_string(setting.min - 1)), setting.path);
    }
    conf::Config config;
    const auto outcome = conf::assign(setting, config, std::vector<std::string>{above});
    CHECK(outcome.error().find(std::to_string(setting.max)) != std::string::npos);
    CHECK(config == conf::Config{});
    ++checked;
  }
  CHECK(checked > 15);
}

TEST_CASE("text that is no decimal number is refused for every number") {
  for (const conf::Setting& setting : conf::all_settings()) {
    if (setting.max == 0) {
      continue;
    }
    for (const char* text : {"", " ", "-1", "+1", "1.0", "1e3", "0x10", "01", "1 ", "many", "1_000",
                             "18446744073709551616"}) {
      CHECK_MESSAGE(!is_accepted(setting, text), setting.path, "=", text);
    }
  }
}

TEST_CASE("the nearest key is found for slips of the finger and for the wrong section") {
  CHECK(conf::nearest_key("rtp.port-mn") == "rtp.port-min");
  CHECK(conf::nearest_key("rtp.port_min") == "rtp.port-min");
  CHECK(conf::nearest_key("rpt.port-max") == "rtp.port-max");
  CHECK(conf::nearest_key("mgcp.dscp") == "rtp.dscp");
  CHECK(conf::nearest_key("port-min") == "rtp.port-min");
  CHECK(conf::nearest_key("metric") == "metrics");
  CHECK(conf::nearest_key("rtp.ssrc") == "rtp.patch.ssrc");
  CHECK_FALSE(conf::nearest_key("").empty());
  CHECK_FALSE(conf::nearest_key(std::string(100000, 'x')).empty());
}

TEST_CASE("a message shows a value without control characters and not at any length") {
  CHECK(conf::quoted("a\x1b[2J\n") == "'a?[2J?'");
  CHECK(conf::quoted(std::string(1000, 'a')).size() == 64 + 5);
}
