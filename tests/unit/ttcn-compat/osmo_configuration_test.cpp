// osmo-mgw's directives: what each does to the configuration, and that each survives being written.

#include "ttcn-compat/osmo_configuration.h"

#include "conf/config_check.h"
#include "conf/config_loader.h"
#include "conf/config_writer.h"
#include "ttcn-compat/command_tables.h"
#include "ttcn-compat/configuration_text.h"

#include <doctest/doctest.h>

#include <array>
#include <sstream>
#include <string>
#include <string_view>

using namespace ttcn_compat;

namespace {

conf::Config read(const std::string& text) {
  conf::Config config;
  const auto remarks = read_osmo_configuration(text, config);
  REQUIRE_MESSAGE(remarks.has_value(), (remarks ? "" : remarks.error().message), "\n", text);
  return config;
}

std::string remark_of(const std::string& text) {
  conf::Config config;
  const auto remarks = read_osmo_configuration(text, config);
  REQUIRE_MESSAGE(remarks.has_value(), text);
  return remarks->empty() ? "" : remarks->back().message;
}

std::string written(const conf::Config& config) {
  return write_configuration(command_tree(), config);
}

/// A directive with the block that it stands in.
struct Directive {
  std::string_view block;
  std::string_view line;
};

/// Directives that change something, each unlike the default.
constexpr std::array kDirectives{
    Directive{"mgcp", "domain example.org"},
    Directive{"mgcp", "domain *"},
    Directive{"mgcp", "local ip 192.0.2.1"},
    Directive{"mgcp", "local ip 2001:db8::1"},
    Directive{"mgcp", "bind ip 192.0.2.1"},
    Directive{"mgcp", "bind ip ::"},
    Directive{"mgcp", "bind port 2428"},
    Directive{"mgcp", "rtp port-range 4002 16001"},
    Directive{"mgcp", "rtp bind-ip 192.0.2.1"},
    Directive{"mgcp", "rtp bind-ip-v6 2001:db8::5"},
    Directive{"mgcp", "rtp ip-probing"},
    Directive{"mgcp", "rtp ip-dscp 46"},
    Directive{"mgcp", "rtp socket-priority 6"},
    Directive{"mgcp", "rtp keep-alive 30"},
    Directive{"mgcp", "no rtp keep-alive"},
    Directive{"mgcp", "rtcp-omit"},
    Directive{"mgcp", "rtp-patch ssrc"},
    Directive{"mgcp", "rtp-patch timestamp"},
    Directive{"mgcp", "rtp-patch rfc5993hr"},
    Directive{"mgcp", "rtp-accept-all 1"},
    Directive{"mgcp", "force-realloc 1"},
    Directive{"mgcp", "no sdp audio-payload send-ptime"},
    Directive{"mgcp", "no sdp audio-payload send-name"},
    Directive{"mgcp", "number endpoints 300"},
    Directive{"mgcp", "call-agent ip 192.0.2.9"},
    Directive{"mgcp", "rtp force-ptime 20"},
    Directive{"mgcp", "osmux on"},
    Directive{"mgcp", "osmux only"},
    Directive{"mgcp", "osmux bind-ip 192.0.2.1"},
    Directive{"mgcp", "osmux bind-ip-v6 ::1"},
    Directive{"mgcp", "osmux port 1985"},
    Directive{"mgcp", "osmux batch-factor 6"},
    Directive{"mgcp", "osmux batch-size 1000"},
    Directive{"mgcp", "osmux dummy on"},
    Directive{"mgcp", "osmux peer-behind-nat on"},
    Directive{"mgcp", "conn-timeout 60"},
    Directive{"mgcp", "trunk 3"},
    Directive{"mgcp\n trunk 1", "line 7"},
    Directive{"mgcp\n trunk 1", "rtp keep-alive 10"},
    Directive{"mgcp\n trunk 1", "no rtp keep-alive"},
    Directive{"mgcp\n trunk 1", "rtcp-omit"},
    Directive{"mgcp\n trunk 1", "rtp-patch ssrc"},
    Directive{"mgcp\n trunk 1", "rtp-patch timestamp"},
    Directive{"mgcp\n trunk 1", "rtp-patch rfc5993hr"},
    Directive{"mgcp\n trunk 1", "rtp-accept-all 1"},
    Directive{"mgcp\n trunk 1", "force-realloc 1"},
    Directive{"mgcp\n trunk 1", "no sdp audio-payload send-ptime"},
    Directive{"mgcp\n trunk 1", "no sdp audio-payload send-name"},
    Directive{"line vty", "login"},
    Directive{"line vty", "bind 0.0.0.0"},
    Directive{"line vty", "bind 127.0.0.2 4343"},
    Directive{"ctrl", "bind 0.0.0.0"},
    Directive{"ctrl", "bind 127.0.0.2 4343"},
    Directive{"", "password secret"},
    Directive{"", "log stderr"},
    Directive{"", "log stderr blocking-io"},
    Directive{"", "log file /tmp/mgw.log"},
    Directive{"", "log file /tmp/mgw.log nonblocking-io"},
    Directive{"", "log syslog daemon"},
    Directive{"", "log syslog local 3"},
    Directive{"", "log systemd-journal"},
    Directive{"", "log systemd-journal raw"},
    Directive{"", "log gsmtap 127.0.0.1"},
    Directive{"", "log gsmtap"},
    Directive{"", "log alarms 100"},
    Directive{"log stderr", "logging filter all 0"},
    Directive{"log stderr", "logging color 0"},
    Directive{"log stderr", "logging timestamp 1"},
    Directive{"log stderr", "logging print extended-timestamp 1"},
    Directive{"log stderr", "logging print thread-id 1"},
    Directive{"log stderr", "logging print category 1"},
    Directive{"log stderr", "logging print category-hex 0"},
    Directive{"log stderr", "logging print level 1"},
    Directive{"log stderr", "logging print file 0"},
    Directive{"log stderr", "logging print file basename"},
    Directive{"log stderr", "logging print file basename last"},
    Directive{"log stderr", "logging print file 1 last"},
    Directive{"log stderr", "logging level lmgcp debug"},
    Directive{"log stderr", "logging level osmux fatal"},
    Directive{"log stderr", "logging level set-all error"},
    Directive{"log stderr", "logging level force-all info"},
    Directive{"", "stats interval 0"},
    Directive{"", "stats reporter statsd"},
    Directive{"", "stats reporter statsd name"},
    Directive{"", "stats reporter log"},
    Directive{"stats reporter statsd", "local-ip 127.0.0.1"},
    Directive{"stats reporter statsd", "remote-ip 192.0.2.7"},
    Directive{"stats reporter statsd", "remote-port 8126"},
    Directive{"stats reporter statsd", "mtu 1400"},
    Directive{"stats reporter statsd", "prefix TTCN3"},
    Directive{"stats reporter statsd", "level subscriber"},
    Directive{"stats reporter log", "level peer"},
    Directive{"stats reporter log", "flush-period 3"},
    Directive{"stats reporter log", "enable"},
    Directive{"cpu-sched", "policy rr 3"},
    Directive{"cpu-sched", "cpu-affinity all 0x1f3"},
    Directive{"cpu-sched", "cpu-affinity self 0x3 delay"},
    Directive{"e1_input", "e1_line 0 driver ipa"},
    Directive{"e1_input", "e1_line 1 driver e1d"},
    Directive{"e1_input", "e1_line 1 driver virtual"},
    Directive{"e1_input", "e1_line 0 driver misdn"},
    Directive{"e1_input", "e1_line 0 driver misdn_lapd"},
    Directive{"e1_input", "e1_line 0 driver dahdi"},
    Directive{"e1_input", "e1_line 0 driver unixsocket"},
    Directive{"e1_input", "e1_line 2 port 3"},
    Directive{"e1_input", "e1_line 0 name two words"},
    Directive{"e1_input", "e1_line 0 socket /tmp/e1d"},
    Directive{"e1_input", "e1_line 0 pcap /tmp/line.pcap"},
};

/// Directives without effect, which must be taken.
constexpr std::array kWithoutEffect{
    Directive{"mgcp", "bind early 0"},
    Directive{"mgcp", "allow-transcoding"},
    Directive{"mgcp", "no allow-transcoding"},
    Directive{"mgcp", "loop 1"},
    Directive{"mgcp", "sdp audio payload number 3"},
    Directive{"mgcp", "sdp audio-payload number 255"},
    Directive{"mgcp", "sdp audio payload name GSM"},
    Directive{"mgcp", "sdp audio-payload name GSM"},
    Directive{"mgcp", "sdp audio fmtp-extra a b c"},
    Directive{"mgcp\n trunk 1", "allow-transcoding"},
    Directive{"mgcp\n trunk 1", "no allow-transcoding"},
    Directive{"mgcp\n trunk 1", "loop 0"},
    Directive{"mgcp\n trunk 1", "sdp audio payload number 3"},
    Directive{"mgcp\n trunk 1", "sdp audio fmtp-extra a b c"},
    Directive{"", "stats-tcp interval 3"},
    Directive{"", "stats-tcp batch-size 3"},
    Directive{"", "hostname here"},
    Directive{"", "enable password x"},
    Directive{"", "service terminal-length 0"},
    Directive{"", "banner motd file /etc/motd"},
    Directive{"cpu-sched", "cpu-affinity 1234 0x3"},
    Directive{"cpu-sched", "cpu-affinity other 0x3"},
    Directive{"e1_input", "e1_line 0 keepalive"},
    Directive{"e1_input", "e1_line 0 keepalive 1 2 3"},
    Directive{"e1_input", "e1_line 0 ipa-keepalive 1 2"},
    Directive{"e1_input", "ipa bind 127.0.0.1"},
    Directive{"e1_input", "ipa ip-dscp oml 3"},
    Directive{"e1_input", "ipa socket-priority rsl 3"},
};

/// What a configuration of the following test is written as, first and last part.
constexpr std::string_view kWrittenLog =
    "!\n"
    "log stderr\n"
    " logging filter all 1\n"
    " logging color 0\n"
    " logging print category-hex 1\n"
    " logging print category 1\n"
    " logging print thread-id 0\n"
    " logging timestamp 0\n"
    " logging print file 1\n";
constexpr std::string_view kWrittenRest =
    "!\n"
    "stats interval 5\n"
    "stats reporter statsd\n"
    " remote-ip 127.0.0.1\n"
    " remote-port 8125\n"
    " level global\n"
    " prefix TTCN3\n"
    " enable\n"
    "!\n"
    "line vty\n"
    " no login\n"
    " bind 127.0.0.1\n"
    "!\n"
    "e1_input\n"
    " e1_line 0 driver ipa\n"
    " e1_line 0 port 0\n"
    " no e1_line 0 keepalive\n"
    "ctrl\n"
    " bind 127.0.0.1\n"
    "cpu-sched\n"
    " policy rr 1\n"
    "mgcp\n"
    " domain mgw\n"
    " bind ip 127.0.0.1\n"
    " bind port 2427\n"
    " rtp port-range 4002 16001\n"
    " rtp bind-ip 127.0.0.1\n"
    " rtp bind-ip-v6 ::1\n"
    " no rtp ip-probing\n"
    " rtp ip-dscp 0\n"
    " no rtp keep-alive\n"
    " no rtcp-omit\n"
    " no rtp-patch\n"
    " sdp audio-payload send-ptime\n"
    " sdp audio-payload send-name\n"
    " number endpoints 300\n"
    " osmux on\n"
    " osmux bind-ip 127.0.0.1\n"
    " osmux bind-ip-v6 ::1\n"
    " osmux batch-factor 4\n"
    " osmux batch-size 1472\n"
    " osmux port 1984\n"
    " osmux dummy off\n"
    " osmux peer-behind-nat off\n"
    " conn-timeout 0\n"
    " trunk 1\n"
    "  line 0\n"
    "  sdp audio-payload send-ptime\n"
    "  sdp audio-payload send-name\n"
    "  no rtp keep-alive\n"
    "  force-realloc 0\n"
    "  rtp-accept-all 0\n"
    "  no rtcp-omit\n"
    "  no rtp-patch\n";

std::string file_with(const Directive& directive) {
  return directive.block.empty()
             ? std::string(directive.line) + "\n"
             : std::string(directive.block) + "\n  " + std::string(directive.line) + "\n";
}

}  // namespace

TEST_CASE("an empty file gives osmo-mgw's defaults") {
  const conf::Config config = read("");
  CHECK(config == osmo_mgw_defaults());
  CHECK(config.mgcp.bind == "0.0.0.0");
  CHECK(config.mgcp.port == 2427);
  CHECK(config.rtp.port_min == 16002);
  CHECK(config.rtp.port_max == 16065);
  CHECK(config.endpoints.count == 512);
  CHECK(config.endpoints.options.keep_alive.mode == conf::KeepAlive::Mode::once);
  CHECK(config.vty.enabled);
  CHECK(config.vty.bind == "127.0.0.1");
  CHECK(config.vty.port == 4243);
  CHECK(config.ctrl.enabled);
  CHECK(config.stats.interval.count() == 5);
  CHECK_FALSE(conf::find_violation(config));
}

TEST_CASE("every directive changes the configuration and survives being written") {
  for (const Directive& directive : kDirectives) {
    const std::string text = file_with(directive);
    const conf::Config config = read(text);
    const conf::Config without =
        directive.block.empty() ? read("") : read(std::string(directive.block) + "\n");
    CHECK_MESSAGE(config != without, text);
    CHECK_MESSAGE(read(written(config)) == config, text, written(config));
    CHECK_MESSAGE(remark_of(text).empty(), text);
  }
}

TEST_CASE("every directive survives the way to YAML and back") {
  for (const Directive& directive : kDirectives) {
    const conf::Config config = read(file_with(directive));
    std::ostringstream yaml;
    conf::write_config(yaml, config);
    const auto loaded = conf::load_text(yaml.str(), "mgw.yaml", {});
    REQUIRE_MESSAGE(loaded.has_value(), (loaded ? "" : loaded.error().to_string()), "\n",
                    yaml.str());
    CHECK_MESSAGE(*loaded == config, yaml.str());
    CHECK_MESSAGE(read(written(*loaded)) == config, directive.line);
  }
}

TEST_CASE("directives without effect are taken and say so") {
  for (const Directive& directive : kWithoutEffect) {
    const std::string text = file_with(directive);
    const conf::Config without =
        directive.block.empty() ? read("") : read(std::string(directive.block) + "\n");
    CHECK_MESSAGE(read(text) == without, text);
    CHECK_MESSAGE(remark_of(text).starts_with("% "), text);
  }
  CHECK(remark_of("mgcp\n loop 1\n") == "% Deprecated 'loop' config no longer has any effect");
  CHECK(remark_of("mgcp\n bind early 1\n") ==
        "% Deprecated 'bind early' config no longer has any effect");
  CHECK(remark_of("mgcp\n sdp audio-payload number 3\n") ==
        "% Deprecated 'sdp audio-payload number' config no longer has any effect");
  CHECK(remark_of("mgcp\n no allow-transcoding\n") ==
        "% Deprecated 'no allow-transcoding' config no longer has any effect");
}

TEST_CASE("what a directive set is taken back by its opposite") {
  const std::string set =
      "mgcp\n rtp bind-ip 192.0.2.1\n rtp bind-ip-v6 ::1\n rtp ip-probing\n rtp force-ptime 10\n"
      " rtcp-omit\n rtp-patch ssrc\n rtp-patch timestamp\n rtp-patch rfc5993hr\n"
      " no sdp audio-payload send-ptime\n no sdp audio-payload send-name\n rtp-accept-all 1\n"
      " force-realloc 1\n no rtp keep-alive\n osmux dummy on\n";
  const std::string taken_back =
      " no rtp bind-ip\n no rtp bind-ip-v6\n no rtp ip-probing\n no rtp force-ptime\n"
      " no rtcp-omit\n no rtp-patch\n sdp audio-payload send-ptime\n sdp audio-payload send-name\n"
      " rtp-accept-all 0\n force-realloc 0\n rtp keep-alive once\n osmux dummy off\n";
  CHECK(read(set) != read(""));
  CHECK(read(set + taken_back) == read(""));
  const conf::Config one =
      read("mgcp\n rtp-patch ssrc\n rtp-patch timestamp\n no rtp-patch ssrc\n");
  CHECK_FALSE(one.endpoints.options.patch.ssrc);
  CHECK(one.endpoints.options.patch.timestamp);
  CHECK(read("log stderr\nno log stderr\n") == read(""));
  CHECK(read("log file /a\nno log file /a\n") == read(""));
  CHECK(read("stats reporter statsd x\nno stats reporter statsd x\n") == read(""));
  CHECK(read("stats reporter statsd\n prefix x\n no prefix\n mtu 500\n no mtu\n enable\n disable\n"
             " local-ip 127.0.0.1\n no local-ip\n") == read("stats reporter statsd\n"));
  CHECK(read("log stderr\n logging level force-all debug\n no logging level force-all\n") ==
        read("log stderr\n"));
}

TEST_CASE("old names of directives work") {
  CHECK(read("mgcp\n rtp net-range 4000 5001\n") == read("mgcp\n rtp port-range 4000 5001\n"));
  CHECK(read("mgcp\n rtp net-bind-ip 192.0.2.1\n") == read("mgcp\n rtp bind-ip 192.0.2.1\n"));
  CHECK(read("mgcp\n rtp net-bind-ip 192.0.2.1\n no rtp net-bind-ip\n") == read(""));
  CHECK(read("mgcp\n call agent ip 192.0.2.1\n") == read("mgcp\n call-agent ip 192.0.2.1\n"));
}

TEST_CASE("a port range is rounded to whole pairs, with a message") {
  const std::string text = "mgcp\n rtp port-range 4001 4010\n";
  const conf::Config config = read(text);
  CHECK(config.rtp.port_min == 4000);
  CHECK(config.rtp.port_max == 4011);
  CHECK(remark_of(text) ==
        "range must begin at an even port number, autocorrecting port (4001) to: 4000\n"
        "range must end at an odd port number, autocorrecting port (4010) to: 4011");
  conf::Config unused;
  const auto refused = read_osmo_configuration("mgcp\n rtp port-range 4001 4000\n", unused);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().message ==
        "range end port (4000) must be greater than the range start port (4001)!");
}

TEST_CASE("settings of node mgcp are the virtual trunk's, those of a trunk its own") {
  const conf::Config config = read(
      "mgcp\n rtcp-omit\n conn-timeout 7\n trunk 4\n  rtp-patch ssrc\n  line 2\n"
      " trunk 6\n  rtp keep-alive 9\n");
  CHECK(config.endpoints.options.omit_rtcp);
  CHECK_FALSE(config.endpoints.options.patch.ssrc);
  REQUIRE(config.e1.trunk_options.size() == 2);
  CHECK_FALSE(config.e1.trunk_options[0].options.omit_rtcp);
  CHECK(config.e1.trunk_options[0].options.patch.ssrc);
  CHECK(config.e1.trunk_options[0].options.connection_timeout.count() == 7);
  CHECK(config.e1.trunks == std::vector<std::uint32_t>{4, 6});
  CHECK(config.e1.lines == std::vector<std::uint32_t>{2, 0});
  CHECK(read(" mgcp\n  trunk 4\n  conn-timeout 8\n")
            .e1.trunk_options[0]
            .options.connection_timeout.count() == 8);
  CHECK_FALSE(conf::find_violation(config));
}

TEST_CASE("without keep-alives on the virtual trunk a trunk that says nothing has none either") {
  const auto keep_alive_of_trunk = [](const std::string& text) {
    const conf::Config config = read(text);
    CHECK(read(written(config)) == config);
    return config.e1.trunk_options.at(0).options.keep_alive.mode;
  };
  CHECK(keep_alive_of_trunk("mgcp\n no rtp keep-alive\n trunk 1\n  line 0\n") ==
        conf::KeepAlive::Mode::off);
  CHECK(keep_alive_of_trunk("mgcp\n no rtp keep-alive\n trunk 1\n  rtp keep-alive once\n") ==
        conf::KeepAlive::Mode::once);
  CHECK(keep_alive_of_trunk("mgcp\n trunk 1\n  line 0\n") == conf::KeepAlive::Mode::once);
}

TEST_CASE("what cannot be is a fault") {
  for (const char* const text : {
           "mgcp\n bind ip localhost\n",
           "mgcp\n bind port 65535\n",
           "mgcp\n rtp ip-dscp 64\n",
           "mgcp\n rtp keep-alive 0\n",
           "mgcp\n rtp force-ptime 30\n",
           "mgcp\n number endpoints 0\n",
           "mgcp\n number endpoints 65535\n",
           "mgcp\n osmux maybe\n",
           "mgcp\n osmux batch-factor 9\n",
           "mgcp\n trunk 65\n",
           "log gsmtap example.org\n",
           "log stderr\n logging level nonsense notice\n",
           "stats reporter statsd\n remote-ip example.org\n",
           "cpu-sched\n cpu-affinity all 0x0\n",
           "cpu-sched\n policy rr 33\n",
           "no log file /nothing\n",
           "no stats reporter log\n",
           "password 8 abcdef\n",
       }) {
    conf::Config config;
    CHECK_MESSAGE(!read_osmo_configuration(text, config).has_value(), text);
  }
  CHECK_FALSE(read("mgcp\n domain " + std::string(255, 'a') + "\n").mgcp.domain.empty());
  conf::Config config;
  CHECK_FALSE(
      read_osmo_configuration("mgcp\n domain " + std::string(256, 'a') + "\n", config).has_value());
}

TEST_CASE("a configuration is written in osmo-mgw's order") {
  const conf::Config config = read(
      "log stderr\n logging color 0\n logging print category 1\n"
      "stats reporter statsd\n prefix TTCN3\n remote-ip 127.0.0.1\n remote-port 8125\n enable\n"
      "e1_input\n e1_line 0 driver ipa\ncpu-sched\n policy rr 1\n"
      "mgcp\n bind ip 127.0.0.1\n rtp bind-ip 127.0.0.1\n rtp bind-ip-v6 ::1\n"
      " rtp port-range 4002 16001\n no rtp keep-alive\n number endpoints 300\n osmux on\n"
      " osmux bind-ip 127.0.0.1\n osmux bind-ip-v6 ::1\n trunk 1\n  line 0\n");
  const std::string all = written(config);
  CHECK(all.starts_with(kWrittenLog));
  CHECK(all.substr(all.find("!\nstats")) == kWrittenRest);
}
