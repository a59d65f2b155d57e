// MGCP transactions: each command is executed at most once, however its datagrams fare.

#include "tests/scenario/scene.h"

#include <chrono>
#include <set>

using namespace std::chrono_literals;
using scenario::Call;
using scenario::Leg;
using scenario::Scene;

namespace {

constexpr std::string_view kEndpoint = "rtpbridge/1@mgw";
constexpr std::string_view kWildcard = "rtpbridge/*@mgw";

/// Sends a datagram and returns what the agent got for it.
std::vector<std::string> ask(Scene& scene, std::string_view datagram) {
  const std::size_t before = scene.agent.datagrams().size();
  scene.agent.send_raw(datagram);
  scene.run_for(100ms);
  const auto& all = scene.agent.datagrams();
  return {all.begin() + static_cast<std::ptrdiff_t>(before), all.end()};
}

int code_of(const std::vector<std::string>& datagrams) {
  return datagrams.size() == 1 ? std::atoi(datagrams[0].c_str()) : -1;
}

}  // namespace

TEST_CASE("a repeated command gets the same answer byte for byte and is not run twice") {
  for (const std::string_view endpoint : {kEndpoint, kWildcard}) {
    Scene scene;
    const std::string crcx = fmt::format("CRCX 7 {} MGCP 1.0\r\nC: 1\r\nM: recvonly\r\n", endpoint);
    const auto first = ask(scene, crcx);
    REQUIRE(code_of(first) == 200);
    for (int repeat = 0; repeat < 3; ++repeat) {
      CHECK(ask(scene, crcx) == first);
    }
    std::string padded = crcx;
    padded.replace(padded.find(" 7 "), 3, " 007 ");  // the id is a number
    CHECK(ask(scene, padded) == first);
    CHECK(scene.world.connections() == 1);
    CHECK(scene.world.ports_used() == 1);
    CHECK(scene.world.endpoints_used() == 1);
    CHECK(scene.world.control().counters().repeated.value() == 4);
  }
}

TEST_CASE("errors, AUEP, MDCX and DLCX are repeated as they were, too") {
  Scene scene;
  const Leg leg = scene.add_leg();
  for (const std::string& text :
       {std::string("AUEP 901 null@mgw MGCP 1.0\r\n"),
        std::string("CRCX 902 rtpbridge/2@mgw MGCP 1.0\r\nM: recvonly\r\n"),
        std::string("CRCX 903 rtpbridge/999@mgw MGCP 1.0\r\nC: 1\r\nM: recvonly\r\n"),
        fmt::format("MDCX 904 {} MGCP 1.0\r\nI: {}\r\nM: inactive\r\n", leg.endpoint,
                    leg.connection),
        fmt::format("AUCX 905 {} MGCP 1.0\r\nI: {}\r\nF: C,M,L,P,LC,RC\r\n", leg.endpoint,
                    leg.connection),
        fmt::format("RQNT 906 {} MGCP 1.0\r\nX: 1\r\nS: D/1\r\n", leg.endpoint),
        fmt::format("DLCX 907 {} MGCP 1.0\r\nI: {}\r\n", leg.endpoint, leg.connection)}) {
    CAPTURE(text);
    const auto first = ask(scene, text);
    CHECK(first.size() == 1);
    CHECK(ask(scene, text) == first);
  }
}

TEST_CASE("a repeated DLCX gets its answer again, a new one finds nothing to delete") {
  Scene scene;
  const Leg leg = scene.add_leg();
  const std::string dlcx =
      fmt::format("DLCX 50 {} MGCP 1.0\r\nC: 1\r\nI: {}\r\n", leg.endpoint, leg.connection);
  const auto first = ask(scene, dlcx);
  CHECK(code_of(first) == 250);
  CHECK(ask(scene, dlcx) == first);
  CHECK(scene.dlcx(leg).code == 515);
}

TEST_CASE("what is lost, doubled or overtaken on the way to the gateway and back does no harm") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    CAPTURE(seed);
    sim::WorldOptions options;
    options.seed = seed;
    options.plane.delay_max = 30ms;
    Scene scene(sim::small_config(), options);
    auto& link = scene.world.network().default_link();
    link = {2ms, 50ms, 0.3, 0.3, true};
    for (int call = 0; call < 8; ++call) {
      const auto answer = scene.crcx(kWildcard, fmt::format("C: {}\r\nM: recvonly\r\n", call));
      REQUIRE(answer.code == 200);
    }
    CHECK(scene.world.connections() == 8);
    CHECK(scene.world.answers(mgcp::Verb::crcx, 200) == 8);
    CHECK(scene.agent.contradictions() == 0);
    link = {1ms, {}, 0, 0, false};
  }
}

TEST_CASE("a lost CRCX answer is sent again and the command is not run twice") {
  Scene scene;
  scene.world.network().link(scene.world.gateway(), scene.agent.local()).drop_next = 2;
  CHECK(scene.crcx(kWildcard, "C: 1\r\nM: recvonly\r\n").code == 200);
  CHECK(scene.world.connections() == 1);
  CHECK(scene.world.control().counters().repeated.value() == 2);
}

TEST_CASE("a repeat while the command still runs is met with silence, or 100 if so configured") {
  for (const bool provisional : {false, true}) {
    auto config = sim::small_config();
    config.mgcp.provisional_after = std::chrono::milliseconds(provisional ? 200 : 0);
    Scene scene(config);
    const Leg leg = scene.add_leg();
    // The port stays bound for many passes: the worker is slow.
    scene.world.plane().backend(0).faults().close_passes = 50'000;
    const std::string dlcx = fmt::format("DLCX 77 {} MGCP 1.0\r\n", leg.endpoint);
    scene.agent.send_raw(dlcx);
    scene.agent.send_raw(dlcx);
    CHECK(scene.world.run_until([&] { return scene.agent.answer(77) != nullptr; }, 1s));
    CHECK(scene.agent.answers(77) == 1);
    CHECK(scene.agent.provisional(77) == 0);
    scene.world.plane().backend(0).faults().close_passes = 0;
  }
  sim::WorldOptions slow;
  slow.plane.delay_max = 3s;
  auto config = sim::small_config();
  config.mgcp.provisional_after = 200ms;
  std::size_t provisional = 0;
  for (slow.seed = 1; slow.seed <= 5; ++slow.seed) {
    Scene scene(config, slow);
    const std::uint32_t id = scene.agent.start("CRCX", kEndpoint, "C: 1\r\nM: recvonly\r\n");
    CHECK(scene.world.run_until([&] { return scene.agent.answer(id) != nullptr; }, 30s));
    CHECK(scene.agent.answer(id)->code == 200);
    provisional += scene.agent.provisional(id);
    CHECK(scene.world.connections() == 1);
  }
  CHECK(provisional > 0);
}

TEST_CASE("K: frees the answer: a repeat after that is ignored, other transactions are untouched") {
  Scene scene;
  const std::string first = "AUEP 31 null@mgw MGCP 1.0\r\n";
  const std::string second = "AUEP 32 null@mgw MGCP 1.0\r\n";
  CHECK(code_of(ask(scene, first)) == 200);
  CHECK(code_of(ask(scene, second)) == 200);
  CHECK(code_of(ask(scene, fmt::format("CRCX 33 {} MGCP 1.0\r\nK: 20-31\r\nC: 1\r\n"
                                       "M: recvonly\r\n",
                                       kEndpoint))) == 200);
  CHECK(ask(scene, first).empty());
  CHECK(code_of(ask(scene, second)) == 200);
}

TEST_CASE("K: works with every verb, and only for the agent that says it") {
  Scene scene;
  const Leg leg = scene.add_leg();
  sim::CallAgent& other = scene.world.add_agent();
  std::uint32_t id = 500;
  for (const std::string& command :
       {fmt::format("MDCX {{}} {} MGCP 1.0\r\nI: {}\r\nK: {{}}\r\n", leg.endpoint, leg.connection),
        std::string("AUEP {} null@mgw MGCP 1.0\r\nK: {}\r\n"),
        fmt::format("AUCX {{}} {} MGCP 1.0\r\nI: {}\r\nK: {{}}\r\n", leg.endpoint, leg.connection),
        fmt::format("RQNT {{}} {} MGCP 1.0\r\nK: {{}}\r\n", leg.endpoint),
        fmt::format("DLCX {{}} {} MGCP 1.0\r\nI: {}\r\nK: {{}}\r\n", leg.endpoint,
                    leg.connection)}) {
    CAPTURE(command);
    const std::string earlier = fmt::format("AUEP {} null@mgw MGCP 1.0\r\n", ++id);
    CHECK(code_of(ask(scene, earlier)) == 200);
    other.send_raw(earlier);
    scene.run_for(50ms);
    const std::uint32_t acknowledged = id;
    ask(scene, fmt::format(fmt::runtime(command), ++id, acknowledged));
    CHECK(ask(scene, earlier).empty());
    const std::size_t before = other.datagrams().size();
    other.send_raw(earlier);
    scene.run_for(50ms);
    CHECK(other.datagrams().size() == before + 1);
  }
}

TEST_CASE("responses and what is no message at all are never answered") {
  Scene scene;
  const Leg leg = scene.add_leg();
  for (const std::string& datagram :
       {std::string(), std::string("A"), std::string("AUE"), std::string(64, '\0'),
        std::string("200 21 OK\r\n"), std::string("000 21"), std::string("000 21 \r\n"),
        std::string("\r\n\r\n\r\n\r\n"), std::string(".\r\n.\r\n.\r\n")}) {
    CAPTURE(datagram);
    CHECK(ask(scene, datagram).empty());
  }
  CHECK(scene.world.connections() == 1);
}

TEST_CASE("an unknown verb is answered with 504 and the id, whatever it is") {
  Scene scene;
  for (const std::string_view verb : {"AUXX", "NTFY", "MESG", "CRC"}) {
    CAPTURE(verb);
    const auto answer = ask(scene, fmt::format("{} 44 {} MGCP 1.0\r\n", verb, kEndpoint));
    REQUIRE(answer.size() == 1);
    CHECK(answer[0].starts_with("504 44 "));
  }
  CHECK(ask(scene, "CRCX 45 rtpbridge/1@mgw\r\n").at(0).starts_with("510 45 "));
  CHECK(ask(scene, "CRCX 46 rtpbridge/1@mgw MGCP 2.0\r\n").at(0).starts_with("528 46 "));
  CHECK(ask(scene, "CRCX x rtpbridge/1@mgw MGCP 1.0\r\n").at(0).starts_with("510 000000 "));
}

TEST_CASE("the messages of one datagram are executed in order and answered in one datagram") {
  Scene scene;
  const auto two =
      ask(scene, "AUEP 1001 null@mgw MGCP 1.0\r\n.\r\nAUEP 1002 null@mgw MGCP 1.0\r\n");
  REQUIRE(two.size() == 1);
  CHECK(two[0] == "200 1001 OK\r\n.\r\n200 1002 OK\r\n");
  // A bad one does not stop the others; one that waits for a worker is waited for.
  const auto mixed = ask(
      scene, fmt::format("CRCX 1003 {0} MGCP 1.0\r\nC: 1\r\nM: recvonly\r\n.\r\nNOPE 1004 x MGCP "
                         "1.0\r\n.\r\n200 9 OK\r\n.\r\nCRCX 1005 {0} MGCP 1.0\r\nC: 1\r\n"
                         "M: recvonly\r\n.\r\nDLCX 1006 {0} MGCP 1.0\r\n",
                         kEndpoint));
  std::set<std::string> heads;
  for (const std::string& datagram : mixed) {
    for (const std::string& message : sim::split_messages(datagram)) {
      heads.insert(message.substr(0, 8));
    }
  }
  CHECK(heads == std::set<std::string>{"200 1003", "504 1004", "200 1005", "200 1006"});
  CHECK(scene.world.connections() == 0);
}

TEST_CASE("piggybacked answers that don't fit into one datagram come in several") {
  Scene scene;
  std::string datagram;
  for (int i = 1; i <= 16; ++i) {
    datagram += fmt::format("{}CRCX {} {} MGCP 1.0\r\nC: 1\r\nM: recvonly\r\n",
                            i == 1 ? "" : ".\r\n", 2000 + i, kWildcard);
  }
  const auto answers = ask(scene, datagram);
  CHECK(answers.size() > 1);
  std::size_t messages = 0;
  for (const std::string& answer : answers) {
    CHECK(answer.size() <= 1400);
    messages += sim::split_messages(answer).size();
  }
  CHECK(messages == 16);
  CHECK(scene.world.connections() == 16);
}

TEST_CASE("two agents that both count from 1 never get each other's answers") {
  Scene scene;
  sim::CallAgent& other = scene.world.add_agent();
  std::set<std::string> endpoints;
  for (std::uint32_t id = 1; id <= 5; ++id) {
    for (sim::CallAgent* agent : {&scene.agent, &other}) {
      const auto answer = scene.world.command(*agent, "CRCX", kWildcard, "C: 1\r\nM: recvonly\r\n");
      CHECK(answer.code == 200);
      endpoints.insert(answer.parameter("Z"));
    }
  }
  CHECK(endpoints.size() == 10);
}

TEST_CASE("an id may be used again once its answer has been forgotten") {
  auto config = sim::small_config();
  config.mgcp.transaction_history = 5s;
  Scene scene(config);
  const std::string crcx = fmt::format("CRCX 7 {} MGCP 1.0\r\nC: 1\r\nM: recvonly\r\n", kWildcard);
  const auto first = ask(scene, crcx);
  scene.run_for(4s);
  CHECK(ask(scene, crcx) == first);
  scene.run_for(6s);
  const auto later = ask(scene, crcx);
  CHECK(code_of(later) == 200);
  CHECK(later != first);
  CHECK(scene.world.connections() == 2);
}

TEST_CASE("two thousand commands in a burst are all answered within the first repeat interval") {
  auto config = sim::small_config();
  config.endpoints.count = 3000;
  config.rtp.port_min = 16384;
  config.rtp.port_max = 32767;
  Scene scene(config);
  scene.world.network().default_link() = {100us, {}, 0, 0, false, 65507, 125'000'000};
  std::vector<sim::CallAgent*> agents = {&scene.agent};
  while (agents.size() < 10) {
    agents.push_back(&scene.world.add_agent());
  }
  for (const auto& [verb, count, limit] :
       {std::tuple{"DLCX", 20, 1000ms}, std::tuple{"CRCX", 200, 1000ms}}) {
    for (sim::CallAgent* agent : agents) {
      for (int i = 0; i < count; ++i) {
        agent->start(verb, kWildcard, verb[0] == 'C' ? "C: 1\r\nM: recvonly\r\n" : "C: ffff\r\n");
      }
    }
    const auto all_answered = [&] {
      return std::all_of(agents.begin(), agents.end(),
                         [](const sim::CallAgent* agent) { return agent->waiting() == 0; });
    };
    CHECK(scene.world.run_until(all_answered, 499ms));
  }
  CHECK(scene.world.connections() == 2000);
  CHECK(scene.world.control().counters().repeated.value() == 0);
  CHECK(scene.world.network().counters().overflowed == 0);
}

TEST_CASE("an agent that the access list does not name is not heard") {
  auto config = sim::small_config();
  Scene probe;
  config.mgcp.allow = {conf::IpNetwork::parse("198.51.100.1/32").value()};
  Scene scene(config);
  sim::CallAgent& stranger = scene.world.add_agent();
  CHECK(scene.world.command(scene.agent, "AUEP", "null@mgw", "").code == 200);
  stranger.send_raw("AUEP 1 null@mgw MGCP 1.0\r\n");
  scene.run_for(1s);
  CHECK(stranger.datagrams().empty());
  CHECK(scene.world.control().counters().refused_agents.value() == 1);
}

TEST_CASE("of an agent that is told of restarts responses are heard, even if it may not command") {
  auto config = sim::small_config();
  config.mgcp.allow = {conf::IpNetwork::parse("198.51.100.1/32").value()};
  config.mgcp.notify_entity = "ca@198.51.100.2:2727";
  Scene scene(config);
  sim::CallAgent& notified = scene.world.add_agent();
  sim::CallAgent& stranger = scene.world.add_agent();
  REQUIRE(notified.local().text() == "198.51.100.2:2727");
  std::vector<std::string> heard;
  scene.world.control().on_response([&heard](const io::SocketAddress& agent,
                                             mgcp::TransactionId transaction_id,
                                             mgcp::ResponseCode code) {
    heard.push_back(fmt::format("{} {} {}", agent.text(), transaction_id, mgcp::number(code)));
  });
  const auto& counters = scene.world.control().counters();
  notified.send_raw("100 7 wait\r\n.\r\n200 7 OK\r\n");
  stranger.send_raw("200 7 OK\r\n");
  scene.run_for(1s);
  CHECK(heard == std::vector<std::string>{"198.51.100.2:2727 7 100", "198.51.100.2:2727 7 200"});
  CHECK(counters.responses.value() == 2);
  CHECK(counters.refused_agents.value() == 1);
  notified.send_raw("AUEP 8 null@mgw MGCP 1.0\r\n");
  scene.run_for(1s);
  CHECK(notified.datagrams().empty());
  CHECK(counters.refused_agents.value() == 2);
}
