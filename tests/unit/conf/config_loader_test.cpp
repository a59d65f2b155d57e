// YAML in, Config or an error with its place out; and KEY=VALUE settings.

#include "conf/config_loader.h"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

namespace {

using conf::Config;

Config load_good(const std::string& yaml, const std::vector<std::string>& settings = {}) {
  const auto config = conf::load_text(yaml, "mgw.yaml", settings);
  REQUIRE_MESSAGE(config.has_value(), (config ? "" : config.error().to_string()));
  return *config;
}

/// The message for a configuration that must be refused.
std::string refusal_of(const std::string& yaml, const std::vector<std::string>& settings = {}) {
  const auto config = conf::load_text(yaml, "mgw.yaml", settings);
  REQUIRE_MESSAGE(!config.has_value(), yaml);
  return config.error().to_string();
}

bool starts_with(const std::string& text, const std::string& start) {
  CHECK_MESSAGE(text.starts_with(start), text);
  return text.starts_with(start);
}

}  // namespace

TEST_CASE("a file without keys is the default configuration") {
  for (const char* yaml : {"", "\n", "# a comment\n", "---\n", "---\n...\n", "{}", "rtp:\n",
                           "rtp: {}", "rtp:\n  patch:\nmgcp: ~\n"}) {
    CHECK_MESSAGE(load_good(yaml) == Config{}, yaml);
  }
}

TEST_CASE("values of every kind reach their fields") {
  using std::chrono::microseconds;
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  const Config config = load_good(R"(
io: {backend: poll, buffers: 5000, coalesce-us: 500}
workers: {count: 2, cpu-affinity: [0, 1]}
mgcp:
  bind: "::1"
  allow:
    - 10.0.0.0/8
    - 2001:db8::1
  transaction-history-s: 60
  compat: {early-bidir-error: true}
rtp: {dscp: 46, keep-alive: 30, source: latch, force-ptime-ms: 40, patch: {ssrc: true}}
rtcp: {omit: on, generate: on}
endpoints: {count: 65534, connection-timeout-s: 3600}
e1: {trunks: [3, 64], lines: [0, 255], virtual-wiring: line-pairs, virtual-bit-errors-ppm: 7}
metrics: {enabled: no}
log: {level: debug, file: /var/log/mgw.log}
)");
  CHECK(config.io.backend == conf::BackendChoice::poll);
  CHECK(config.io.buffers == 5000);
  CHECK(config.io.coalescing == microseconds(500));
  CHECK(config.workers.count == 2);
  CHECK(config.workers.cpu_affinity == std::vector<std::uint32_t>{0, 1});
  CHECK(config.mgcp.bind == "::1");
  REQUIRE(config.mgcp.allow.size() == 2);
  CHECK(config.mgcp.allow[0].to_string() == "10.0.0.0/8");
  CHECK(config.mgcp.transaction_history == seconds(60));
  CHECK(config.mgcp.early_bidir_error);
  CHECK(config.rtp.dscp == 46);
  const conf::TrunkOptions& trunk = config.endpoints.options;
  CHECK(trunk.keep_alive == conf::KeepAlive{conf::KeepAlive::Mode::interval, seconds(30)});
  CHECK(trunk.source == conf::SourceCheck::latch);
  CHECK(trunk.force_ptime == milliseconds(40));
  CHECK(trunk.patch == conf::PatchOptions{true, false, false});
  CHECK(trunk.omit_rtcp);
  CHECK(trunk.generate_rtcp);
  CHECK(trunk.connection_timeout == seconds(3600));
  CHECK(config.endpoints.count == 65534);
  CHECK(config.e1.all_trunks() == std::vector<conf::E1Trunk>{{3, 0}, {64, 255}});
  CHECK(config.e1.wiring == conf::E1Wiring::line_pairs);
  CHECK(config.e1.bit_errors_ppm == 7);
  CHECK_FALSE(config.metrics.enabled);
  CHECK(config.log.level == conf::LogLevel::debug);
  CHECK(config.log.file == "/var/log/mgw.log");
}

TEST_CASE("words stand for what no number says") {
  CHECK(load_good("workers: {count: auto}").workers.count == 0);
  CHECK(load_good("io: {buffers: auto}").io.buffers == 0);
  CHECK(load_good("io: {coalesce-us: 0}").io.coalescing == std::chrono::microseconds(0));
  CHECK(load_good("io: {coalesce-us: auto}").io.coalescing == std::nullopt);
  using Mode = conf::KeepAlive::Mode;
  CHECK(load_good("rtp: {keep-alive: off}").endpoints.options.keep_alive.mode == Mode::off);
  CHECK(load_good("rtp: {keep-alive: once}").endpoints.options.keep_alive.mode == Mode::once);
}

TEST_CASE("an unknown key is refused with its place and the nearest key") {
  CHECK(refusal_of("rtp:\n  dscp: 46\n  port-mn: 20000\n") ==
        "mgw.yaml:3:3: unknown key 'rtp.port-mn'; did you mean 'rtp.port-min'?");
  CHECK(refusal_of("rpt:\n  dscp: 46\n") == "mgw.yaml:1:1: unknown key 'rpt'; did you mean 'rtp'?");
  CHECK(refusal_of("\n\nmgcp: {dscp: 46}\n") ==
        "mgw.yaml:3:8: unknown key 'mgcp.dscp'; did you mean 'rtp.dscp'?");
  CHECK(refusal_of("rtp.dscp: 46").starts_with("mgw.yaml:1:1: unknown key 'rtp.dscp'"));
  CHECK(refusal_of("rtp: {patch.ssrc: true}").starts_with("mgw.yaml:1:7: unknown key"));
}

TEST_CASE("a value that is not accepted is refused with its place and what is accepted") {
  CHECK(refusal_of("rtp:\n  dscp: 64\n") ==
        "mgw.yaml:2:9: '64' is not accepted for rtp.dscp: it must be a number from 0 to 63");
  CHECK(refusal_of("io:\n  backend: epoll\n") ==
        "mgw.yaml:2:12: 'epoll' is not accepted for io.backend: it must be auto, poll or io_uring");
  CHECK(
      refusal_of("rtp: {force-ptime-ms: 30}") ==
      "mgw.yaml:1:23: '30' is not accepted for rtp.force-ptime-ms: it must be 0, 10, 20 or 40 ms");
  CHECK(refusal_of("rtp: {keep-alive: 121}")
            .ends_with("it must be off, once or a number from 1 to 120 s"));
  CHECK(refusal_of("mgcp: {bind: localhost}").ends_with("it must be an IPv4 or IPv6 address"));
  CHECK(refusal_of("rtp: {bind: '::1'}").ends_with("it must be an IPv4 address, or \"\" for none"));
  CHECK(refusal_of("metrics: {enabled: maybe}").ends_with("it must be true or false"));
  CHECK(refusal_of("mgcp:\n  allow:\n    - 10.0.0.1\n    - 10.0.0.1/8\n")
            .starts_with("mgw.yaml:4:7: '10.0.0.1/8' is not accepted for mgcp.allow"));
}

TEST_CASE("a rule between keys is reported at the key that breaks it") {
  CHECK(refusal_of("rtp:\n  port-max: 20001\n  port-min: 30000\n") ==
        "mgw.yaml:2:3: rtp.port-max is 20001, which is below rtp.port-min, 30000");
  // The key that an operator did not write has no line; the one that it does not fit to has.
  CHECK(
      starts_with(refusal_of("rtp:\n  port-min: 40000\n"), "mgw.yaml:2:3: rtp.port-max is 32767"));
}

TEST_CASE("a key that is given twice is refused, in whichever of two notations") {
  CHECK(refusal_of("rtp:\n  dscp: 1\n  dscp: 2\n") ==
        "mgw.yaml:3:3: rtp.dscp is given twice; first in line 2");
  CHECK(refusal_of("rtp: {dscp: 1}\nrtp: {socket-priority: 2}\n") ==
        "mgw.yaml:2:1: rtp is given twice; first in line 1");
}

TEST_CASE("a shape that does not fit its key is refused") {
  CHECK(starts_with(refusal_of("rtp: 5"), "mgw.yaml:1:6: rtp is a section"));
  CHECK(starts_with(refusal_of("rtp: [1]"), "mgw.yaml:1:6: rtp is a section"));
  CHECK(starts_with(refusal_of("rtp: {dscp: {a: b}}"), "mgw.yaml:1:13: rtp.dscp takes a value"));
  CHECK(starts_with(refusal_of("rtp: {dscp: [46]}"), "mgw.yaml:1:13: rtp.dscp takes one value"));
  CHECK(starts_with(refusal_of("rtp: {dscp: }"), "mgw.yaml:1:13: rtp.dscp has no value"));
  CHECK(starts_with(refusal_of("mgcp: {allow: [[10.0.0.1]]}"), "mgw.yaml:1:16: a list is not"));
  CHECK(starts_with(refusal_of("mgcp: {allow: [{a: b}]}"), "mgw.yaml:1:16: keys are not"));
  CHECK(starts_with(refusal_of("mgcp: {allow: [~]}"), "mgw.yaml:1:16: an empty entry"));
  CHECK(starts_with(refusal_of("? [a]\n: b\n"), "mgw.yaml:1:3: a list is not"));
  CHECK(starts_with(refusal_of("just text"), "mgw.yaml:1:1: expected sections"));
  CHECK(starts_with(refusal_of("[rtp]"), "mgw.yaml:1:1: a list is not"));
}

TEST_CASE("text that is not one YAML document is refused with its place") {
  CHECK(starts_with(refusal_of("rtp: {dscp: 46"), "mgw.yaml:"));
  CHECK(starts_with(refusal_of("rtp:\n\tdscp: 46\n"), "mgw.yaml:2:"));
  CHECK(starts_with(refusal_of("---\nrtp:\n---\nmgcp:\n"), "mgw.yaml:"));
  CHECK(starts_with(refusal_of("a: b: c"), "mgw.yaml:1:"));
  CHECK(starts_with(refusal_of("{dscp"), "mgw.yaml:1:"));
}

TEST_CASE("aliases are refused, so a small file cannot stand for a big one") {
  CHECK(
      starts_with(refusal_of("mgcp: {allow: &a [10.0.0.1]}\nrtp: *a\n"), "mgw.yaml:2:6: aliases"));
  CHECK(starts_with(refusal_of("mgcp: &a {compat: *a}\n"), "mgw.yaml:1:19: aliases"));
  CHECK(starts_with(refusal_of("<<: *a\n"), "mgw.yaml:1:"));
}

TEST_CASE("deep, long and wide files are refused without being built up in memory") {
  for (const char* unit : {"[", "{", "- ", "? ", "a: ",   "{a: ", "!",  "&a ", "*a ", "\"",
                           "'", "|", "%",  ": ", "---\n", "[[{",  "\t", "\n",  ", ",  "#"}) {
    std::string yaml;
    while (yaml.size() < 20000) {
      yaml += unit;
    }
    const auto config = conf::load_text(yaml, "mgw.yaml");
    CHECK_MESSAGE((!config || *config == Config{}), unit);
  }
  std::string list = "mgcp:\n  allow:\n";
  for (int i = 0; i < 257; ++i) {
    list += "    - 10.0.0.1\n";
  }
  CHECK(refusal_of(list).ends_with("mgcp.allow has 257 entries: at most 256 are accepted"));
  CHECK(refusal_of(std::string(conf::kFileBytesMax + 1, '#')).starts_with("mgw.yaml: longer than"));
  CHECK(load_good(std::string(conf::kFileBytesMax, '#')) == Config{});
}

TEST_CASE("settings override the file, and rules between keys are checked after all of them") {
  const Config config = load_good("rtp: {port-min: 40000, port-max: 40001}",
                                  {"rtp.port-min=50000", " rtp.port-max = 50999 "});
  CHECK(config.rtp.port_min == 50000);
  CHECK(config.rtp.port_max == 50999);
  // What the file alone breaks, a setting may mend.
  CHECK(load_good("rtp: {port-min: 40000}", {"rtp.port-max=40009"}).rtp.port_max == 40009);
  CHECK(starts_with(refusal_of("", {"rtp.port-min=40000"}), "mgw.yaml: rtp.port-max is"));
}

TEST_CASE("a setting gives a list with commas, and an empty text with nothing") {
  const Config config =
      load_good("mgcp: {call-agent: 10.0.0.1}",
                {"mgcp.allow=10.0.0.0/8, 192.0.2.1",
                 "mgcp.call-agent=", "workers.cpu-affinity=[1,0]", "mgcp.domain=*"});
  CHECK(config.mgcp.allow.size() == 2);
  CHECK(config.mgcp.call_agent.empty());
  CHECK(config.workers.cpu_affinity == std::vector<std::uint32_t>{1, 0});
  CHECK(load_good("mgcp: {allow: [10.0.0.1]}", {"mgcp.allow="}).mgcp.allow.empty());
}

TEST_CASE("a setting that is wrong is refused with its reason") {
  CHECK(refusal_of("", {"rtp.port-mn=1"}) ==
        "--set: unknown key 'rtp.port-mn'; did you mean 'rtp.port-min'?");
  CHECK(refusal_of("", {"rtp.dscp"}) == "--set: rtp.dscp has no value: write rtp.dscp=VALUE");
  CHECK(refusal_of("", {"rtp=1"}) == "--set: rtp is a section: name one of its keys");
  CHECK(refusal_of("", {"rtp.dscp=64"}) ==
        "--set: '64' is not accepted for rtp.dscp: it must be a number from 0 to 63");
  CHECK(refusal_of("", {"=1"}).starts_with("--set: unknown key ''"));
  CHECK(refusal_of("", {""}).starts_with("--set: unknown key ''"));
  CHECK(refusal_of("", {"mgcp.allow=10.0.0.1,,10.0.0.2"}).starts_with("--set: '' is not accepted"));
}

TEST_CASE("a file that cannot be read is an error that says why") {
  const auto missing = conf::load("no-such-folder/mgw.yaml");
  REQUIRE_FALSE(missing.has_value());
  CHECK(missing.error().to_string() ==
        "no-such-folder/mgw.yaml: cannot be opened: No such file or directory");
  const auto folder = conf::load(".");
  REQUIRE_FALSE(folder.has_value());
  CHECK(folder.error().to_string() == ".: cannot be read: Is a directory");
  const auto endless = conf::load("/dev/zero");
  REQUIRE_FALSE(endless.has_value());
  CHECK(endless.error().message.starts_with("longer than"));
}
