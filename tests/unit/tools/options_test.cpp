// The command lines of rtpload and mgwctl.
#include "tools/rtpload/options.h"

#include "tools/mgwctl/options.h"

#include <doctest/doctest.h>

#include <variant>
#include <vector>

namespace {

std::variant<rtpload::Options, int> load(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "rtpload");
  return rtpload::parse_command_line(static_cast<int>(arguments.size()), arguments.data());
}

std::variant<mgwctl::Options, int> control(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "mgwctl");
  return mgwctl::parse_command_line(static_cast<int>(arguments.size()), arguments.data());
}

}  // namespace

TEST_CASE("rtpload's contract options are understood") {
  const auto parsed =
      load({"--mgcp", "127.0.0.1:2427", "--calls", "200", "--seconds", "10", "--codec", "amr-5.90",
            "--pid", "17", "--json", "x.json", "--max-loss", "0.01"});
  REQUIRE(std::holds_alternative<rtpload::Options>(parsed));
  const auto& options = std::get<rtpload::Options>(parsed);
  CHECK(options.mode == rtpload::RunMode::calls);
  CHECK(options.mgcp->port() == 2427);
  CHECK(options.calls == 200);
  CHECK(options.codec.name == "AMR-5.90");
  CHECK(options.pid == 17);
  CHECK(options.max_loss == 0.01);
  CHECK(options.interval_ms == 20);
  CHECK(std::get<rtpload::Options>(load({"--self", "--interval-ms", "1000"})).interval_ms == 1000);
  CHECK(std::get<int>(load({"--self", "--interval-ms", "0"})) == 2);
  CHECK(std::get<rtpload::Options>(load({"--self"})).mode == rtpload::RunMode::self);
  CHECK(std::get<rtpload::Options>(load({"--self"})).codec.name == "GSM-EFR");
}

TEST_CASE("rtpload's wrong usage has exit status 2, asking for help 0") {
  CHECK(std::get<int>(load({"--help"})) == 0);
  CHECK(std::get<int>(load({})) == 2);
  CHECK(std::get<int>(load({"--mgcp", "gateway:2427"})) == 2);
  CHECK(std::get<int>(load({"--self", "--codec", "Opus"})) == 2);
  CHECK(std::get<int>(load({"--self", "--setup-only"})) == 2);
  CHECK(std::get<int>(load({"--self", "--max-loss", "2"})) == 2);
  CHECK(std::get<int>(load({"--self", "--calls", "0"})) == 2);
  CHECK(std::get<int>(load({"--self", "--calls", "-1"})) == 2);
  CHECK(std::get<int>(load({"--self", "--phases", "odd"})) == 2);
  CHECK(std::get<int>(load({"--nonsense"})) == 2);
}

TEST_CASE("few legs get sockets of their own, many share some, never more than there are legs") {
  rtpload::Options options;
  CHECK(rtpload::socket_pairs(options, 2) == 2);
  CHECK(rtpload::socket_pairs(options, 1024) == 1024);
  CHECK(rtpload::socket_pairs(options, 1026) == 64);
  CHECK(rtpload::socket_pairs(options, 20000) == 64);
  options.sockets = 100;
  CHECK(rtpload::socket_pairs(options, 40) == 40);
  CHECK(rtpload::socket_pairs(options, 4000) == 100);
}

TEST_CASE("with setup-only as many calls exist at one time as transactions may be in flight") {
  const auto parsed = load({"--mgcp", "127.0.0.1:2427", "--setup-only", "--in-flight", "32"});
  CHECK(std::get<rtpload::Options>(parsed).calls == 32);
}

TEST_CASE("mgwctl's verbs take their options, before and after the verb") {
  const auto parsed =
      control({"--json", "crcx", "--codec", "AMR", "--codec", "8/PCMA/8000", "--remote",
               "127.0.0.1:4000", "--mode", "sendrecv", "--mgcp", "127.0.0.1:9"});
  REQUIRE(std::holds_alternative<mgwctl::Options>(parsed));
  const auto& options = std::get<mgwctl::Options>(parsed);
  CHECK(options.json);
  CHECK(options.gateway.port() == 9);
  CHECK(options.action == mgwctl::Action::command);
  CHECK(options.command.verb == mgcp::Verb::crcx);
  CHECK(options.command.codecs == std::vector<std::string>{"AMR", "8/PCMA/8000"});
  CHECK(std::get<mgwctl::Options>(control({"raw", "AUEP 1 null@mgw MGCP 1.0"})).action ==
        mgwctl::Action::raw);
  CHECK(std::get<mgwctl::Options>(control({"status"})).action == mgwctl::Action::status);
}

TEST_CASE("mgwctl tap is a command about one connection") {
  const auto parsed = control({"tap", "rtpbridge/1@mgw", "1A", "both", "udp", "[::1]:5000"});
  REQUIRE(std::holds_alternative<mgwctl::Options>(parsed));
  const mgwctl::Command& command = std::get<mgwctl::Options>(parsed).command;
  CHECK(command.verb == mgcp::Verb::mdcx);
  CHECK(command.endpoint == "rtpbridge/1@mgw");
  CHECK(command.connection_id == "1A");
  CHECK(command.tap == std::vector<std::string>{"both", "udp", "[::1]:5000"});
  CHECK(std::get<int>(control({"tap", "rtpbridge/1@mgw", "1A"})) == 2);
}

TEST_CASE("mgwctl's wrong usage has exit status 2, asking for help 0") {
  CHECK(std::get<int>(control({"--help"})) == 0);
  CHECK(std::get<int>(control({})) == 2);
  CHECK(std::get<int>(control({"mdcx"})) == 2);
  CHECK(std::get<int>(control({"dlcx"})) == 2);
  CHECK(std::get<int>(control({"auep", "--mgcp", "nowhere"})) == 2);
  CHECK(std::get<int>(control({"dance"})) == 2);
}
