// Calls over time: hand-over, time limits, deletion under load, ports, many endpoints.

#include "tests/scenario/scene.h"

#include <chrono>

using namespace std::chrono_literals;
using mgw::DropCause;
using scenario::Call;
using scenario::Leg;
using scenario::LegOptions;
using scenario::Scene;

namespace {

constexpr std::string_view kEndpoint = "rtpbridge/1@mgw";
constexpr std::string_view kWildcard = "rtpbridge/*@mgw";

LegOptions in_mode(std::string mode) {
  LegOptions options;
  options.mode = std::move(mode);
  return options;
}

}  // namespace

TEST_CASE("hand-over moves a leg to its new peer; the old one is heard and served no more") {
  for (const auto check : {conf::SourceCheck::strict, conf::SourceCheck::latch}) {
    auto config = sim::small_config();
    config.endpoints.options.source = check;
    Scene scene(config);
    const Call call(scene);
    CHECK(talk(scene, call.a, call.b, 20));
    sim::RtpPeer& next = scene.world.add_peer();
    call.a.peer->stream(200, 8);  // keeps sending
    call.b.peer->stream(200, 8);
    scene.run_for(1s);
    const auto answer = scene.mdcx(call.a, next.sdp("8"));
    CHECK(answer.code == 200);
    CHECK(answer.media() == call.a.answer.media());
    next.set_target(answer.media());
    const std::size_t old_got = call.a.peer->received().size();
    const std::size_t other_got = call.b.peer->count_from(call.a.peer->number());
    next.stream(50, 8);
    scene.run_for(4s);
    CHECK(call.a.peer->received().size() <= old_got + 1);  // one may have been on its way
    CHECK(call.b.peer->count_from(call.a.peer->number()) <= other_got + 1);
    CHECK(call.b.peer->count_from(next.number()) == 50);
    CHECK(next.count_from(call.b.peer->number()) >= 145);
    CHECK(scene.dropped(DropCause::unknown_source) >= 145);
  }
}

TEST_CASE("a leg on hold keeps its address and ports, also where the way to the peer chose them") {
  auto config = sim::small_config();
  config.rtp.bind = "192.0.2.200";
  config.rtp.ip_probing = true;
  Scene scene(config);
  const Call call(scene);
  CHECK(call.a.answer.sdp_line("c=IN IP4 ") == sim::kGatewayHost);
  const auto held = scene.mdcx(call.a, "\r\nv=0\r\nc=IN IP4 0.0.0.0\r\nm=audio 6000 RTP/AVP 8\r\n");
  CHECK(held.media() == call.a.answer.media());
  const auto resumed = scene.mdcx(call.a, call.a.peer->sdp("8"));
  CHECK(resumed.media() == call.a.answer.media());
  CHECK(talk(scene, call.a, call.b, 5));
}

TEST_CASE("a leg that moves to IPv6 is bound and announced there, and media cross the families") {
  auto config = sim::small_config();
  config.rtp.bind_v6 = sim::kGatewayHost6;
  Scene scene(config);
  const Call call(scene);
  CHECK(call.a.answer.sdp_line("c=IN IP4 ") == sim::kGatewayHost);
  CHECK(talk(scene, call.a, call.b, 5));
  Leg moved = call.a;
  sim::RtpPeer& peer = scene.world.add_peer(io::AddressFamily::ipv6);
  moved.answer = scene.mdcx(call.a, peer.sdp("8"));
  CHECK(moved.answer.code == 200);
  CHECK(moved.answer.sdp_line("c=IN IP6 ") == sim::kGatewayHost6);
  moved.peer = &peer;
  peer.set_target(moved.answer.media());
  CHECK(talk(scene, moved, call.b, 20));
  CHECK(scene.world.ports_used() == 2);
  CHECK(scene.world.gateway_sockets() == 4);
  // And back again.
  Leg back = call.a;
  back.answer = scene.mdcx(call.a, call.a.peer->sdp("8"));
  back.peer->set_target(back.answer.media());
  CHECK(back.answer.sdp_line("c=IN IP4 ") == sim::kGatewayHost);
  CHECK(talk(scene, back, call.b, 20));
  // Without a description a leg is IPv6 where there is IPv6.
  CHECK(scene.crcx(kWildcard, "C: 1\r\nM: recvonly\r\n").sdp_line("c=IN IP6 ") ==
        sim::kGatewayHost6);
}

TEST_CASE("a change of family that the worker can't do leaves the leg where and as it was") {
  auto config = sim::small_config();
  config.rtp.bind_v6 = sim::kGatewayHost6;
  sim::WorldOptions options;
  options.plane.sockets_max = 5;
  Scene scene(config, options);
  const Call call(scene);
  sim::RtpPeer& peer = scene.world.add_peer(io::AddressFamily::ipv6);
  CHECK(scene.mdcx(call.a, "M: recvonly\r\n" + peer.sdp("8")).code == 500);
  CHECK(scene.world.ports_used() == 2);
  CHECK(scene.world.gateway_sockets() == 4);
  CHECK(talk(scene, call.a, call.b, 20));
}

TEST_CASE("while a leg changes its sockets a further MDCX is refused, so a failure can be undone") {
  auto config = sim::small_config();
  config.rtp.bind_v6 = sim::kGatewayHost6;
  for (const std::uint32_t sockets_max : {5U, 100U}) {
    sim::WorldOptions options;
    options.plane.sockets_max = sockets_max;
    options.plane.delay_max = 20ms;
    Scene scene(config, options);
    const Call call(scene);
    sim::RtpPeer& peer = scene.world.add_peer(io::AddressFamily::ipv6);
    std::vector<std::uint32_t> ids;
    for (const std::string& sdp : {peer.sdp("8"), call.a.peer->sdp("8"), std::string()}) {
      ids.push_back(scene.agent.start(
          "MDCX", kEndpoint, fmt::format("I: {}\r\nM: sendrecv\r\n{}", call.a.connection, sdp)));
    }
    scene.run_for(1s);
    CHECK(scene.agent.answer(ids[0])->code == (sockets_max == 5 ? 500 : 200));
    CHECK(scene.agent.answer(ids[1])->code == 400);
    CHECK(scene.agent.answer(ids[2])->code == 400);
    CHECK(scene.world.ports_used() == 2);
    CHECK(scene.world.gateway_sockets() == 4);
    Leg a = call.a;
    a.answer = scene.mdcx(call.a, call.a.peer->sdp("8"));
    a.peer->set_target(a.answer.media());
    CHECK(talk(scene, a, call.b, 10));
  }
}

TEST_CASE("a change that fails leaves the other leg the codecs that it was given meanwhile") {
  auto config = sim::small_config();
  config.rtp.bind_v6 = sim::kGatewayHost6;
  sim::WorldOptions options;
  options.plane.sockets_max = 5;
  options.plane.delay_max = 20ms;
  Scene scene(config, options);
  LegOptions two_codecs;
  two_codecs.formats = "0 8";
  const Call call(scene, {}, two_codecs);  // PCMA, the second one of b
  sim::RtpPeer& peer = scene.world.add_peer(io::AddressFamily::ipv6);
  const auto start = [&](const Leg& leg, const std::string& sdp) {
    return scene.agent.start("MDCX", kEndpoint, fmt::format("I: {}\r\n{}", leg.connection, sdp));
  };
  const auto failing = start(call.a, peer.sdp("0"));
  const auto other = start(call.b, call.b.peer->sdp("0"));
  scene.run_for(1s);
  CHECK(scene.agent.answer(failing)->code == 500);
  CHECK(scene.agent.answer(other)->code == 200);
  const auto audit = scene.world.command(scene.agent, "AUCX", kEndpoint,
                                         fmt::format("I: {}\r\nF: L\r\n", call.b.connection));
  CHECK(audit.parameter("L") == "p:20, a:PCMU");
  CHECK(scene.mdcx(call.a, call.a.peer->sdp("0")).code == 200);
  CHECK(talk(scene, call.a, call.b, 10, 0, 0));
}

TEST_CASE(
    "a leg that is idle for the time limit is gone with its ports, and its endpoint is free") {
  auto config = sim::small_config();
  config.endpoints.options.connection_timeout = 5s;
  config.rtp.port_max = 4001;
  config.rtp.port_quarantine = 1s;
  Scene scene(config);
  const Leg leg = scene.add_leg();
  scene.run_for(4900ms);
  CHECK(scene.world.connections() == 1);
  scene.run_for(200ms);
  CHECK(scene.world.connections() == 0);
  CHECK(scene.world.endpoints_used() == 0);
  CHECK(scene.world.gateway_sockets() == 0);
  CHECK(scene.mdcx(leg, "M: recvonly\r\n").code == 400);
  scene.run_for(1s);
  LegOptions other;
  other.call = "another";
  scene.add_leg(other);
}

TEST_CASE("MDCX, RTP and RTCP each keep a leg alive; foreign packets and silence don't") {
  auto config = sim::small_config();
  config.endpoints.options.connection_timeout = 2s;
  struct Row {
    const char* what;
    bool alive;
  };
  for (const Row& row : {Row{"mdcx", true}, Row{"rtp", true}, Row{"rtcp", true},
                         Row{"stranger", false}, Row{"keep-alive", false}, Row{"audit", false}}) {
    CAPTURE(row.what);
    Scene scene(config);
    const Leg leg = scene.add_leg(in_mode("loopback"));
    sim::RtpPeer& stranger = scene.world.add_peer();
    stranger.set_target(leg.answer.media());
    const std::string_view what = row.what;
    for (int i = 0; i < 4; ++i) {
      scene.run_for(1500ms);
      if (what == "mdcx") {
        scene.mdcx(leg, "M: loopback\r\n");
      } else if (what == "rtp") {
        leg.peer->send_packet(8);
      } else if (what == "rtcp") {
        leg.peer->send_rtcp(sim::sender_report(1, 2, 3, 4));
      } else if (what == "stranger") {
        stranger.send_packet(8);
      } else if (what == "keep-alive") {
        leg.peer->send_rtp(sim::from_hex("23"));
      } else {
        scene.world.command(scene.agent, "AUCX", leg.endpoint,
                            fmt::format("I: {}\r\n", leg.connection));
      }
    }
    CHECK(scene.world.connections() == (row.alive ? 1U : 0U));
  }
}

TEST_CASE("of two legs each times out by itself, and an MDCX at the last moment saves its leg") {
  auto config = sim::small_config();
  config.endpoints.options.connection_timeout = 2s;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    sim::WorldOptions options;
    options.seed = seed;
    options.plane.delay_max = 4ms;
    Scene scene(config, options);
    const Call call(scene);
    const Leg other = scene.add_leg();
    other.peer->stream(200, 8);
    scene.run_for(1980ms + 2ms * static_cast<int>(seed));
    const auto answer = scene.mdcx(call.b, "M: sendrecv\r\n");
    scene.run_for(1s);
    CHECK((answer.code == 200 || answer.code == 515));
    CHECK(scene.world.connections() == (answer.code == 200 ? 2U : 1U));
  }
}

TEST_CASE("deleting calls while packets run both ways never sends from a port after the answer") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    CAPTURE(seed);
    sim::WorldOptions options;
    options.seed = seed;
    options.plane.workers = 2;
    options.plane.delay_max = 3ms;
    Scene scene(sim::small_config(), options);
    scene.world.network().default_link() = {1ms, {}, 0, 0, false};
    sim::RtpPeer& a = scene.world.add_peer();
    sim::RtpPeer& b = scene.world.add_peer();
    a.stream(20'000, 8);
    b.stream(20'000, 8);
    for (int round = 0; round < 50; ++round) {
      const Leg first = scene.add_leg({}, a);
      const Leg second = scene.add_leg({}, b);
      scene.run_for(20ms + io::Duration(scene.world.random().below(20'000'000)));
      CHECK(scene.dlcx(round % 2 == 0 ? first : second).code == 250);
      CHECK(scene.dlcx(kEndpoint).code == 200);
      const io::TimePoint answered = scene.world.clock().now();
      scene.run_for(5ms);
      for (const sim::RtpPeer* peer : {&a, &b}) {
        // A packet that left before the answer arrives no later than the answer did.
        CHECK((peer->received().empty() || peer->received().back().at <= answered));
      }
    }
    CHECK(a.disorder() + b.disorder() == 0);
  }
}

TEST_CASE("a late packet of an old call never reaches a new one") {
  for (const auto quarantine : {2000ms, 10ms}) {
    auto config = sim::small_config();
    config.rtp.port_max = 4003;
    config.rtp.port_quarantine = quarantine;
    config.endpoints.options.source = conf::SourceCheck::any;  // nothing else protects the call
    Scene scene(config);
    sim::RtpPeer& old_peer = scene.world.add_peer();
    const Leg old_leg = scene.add_leg({}, old_peer);
    scene.world.network().link(old_peer.local(), scene.world.gateway()).delay = 500ms;
    old_peer.stream(5, 8);
    scene.run_for(100ms);
    CHECK(scene.dlcx(old_leg).code == 250);
    // Calls that come and go as fast as ports allow, until the late packets have come.
    std::size_t reached = 0;
    for (int i = 0; i < 40; ++i) {
      const auto answer =
          scene.crcx(kEndpoint, fmt::format("C: {}\r\nM: loopback\r\n{}", i, old_peer.sdp("8")));
      scene.run_for(20ms);
      if (answer.code == 200) {
        CHECK(scene.dlcx(kEndpoint).code == 200);
      }
    }
    scene.run_for(1s);
    reached += old_peer.received().size();
    if (quarantine == 2000ms) {
      CHECK(reached == 0);
    } else {
      CHECK(reached > 0);  // the quarantine it is that keeps them apart
    }
  }
}

TEST_CASE("ports are handed out in order from the low end and come back last") {
  Scene scene;
  std::vector<std::uint16_t> ports;
  for (int i = 0; i < 5; ++i) {
    const auto answer = scene.crcx(kWildcard, "C: 1\r\nM: recvonly\r\n");
    ports.push_back(answer.media().port());
    if (i % 2 == 0) {
      CHECK(scene.dlcx(answer.parameter("Z")).code == 200);
    }
  }
  CHECK(ports == std::vector<std::uint16_t>{4000, 4002, 4004, 4006, 4008});
}

TEST_CASE("setting up a call takes the same work with 65,534 endpoints, nearly full, as with 16") {
  // Work is counted as commands to workers and answers; that no step walks over the trunk shows in
  // the time this test takes: a walk per set-up would make it some 10^10 steps.
  auto config = sim::small_config();
  config.endpoints.count = 65534;
  config.mgcp.transactions_max = 65536;
  config.rtp.bind_v6 = sim::kGatewayHost6;  // one address has not enough ports
  config.rtp.port_min = 1024;
  config.rtp.port_max = 65535;
  config.rtp.port_quarantine = 0ms;
  sim::WorldOptions options;
  options.plane.buffers = 64;
  Scene scene(config, options);
  constexpr std::uint32_t kBusy = 61'250;  // with 1,000 more 95 %
  const io::SocketAddress agent = sim::address("198.51.100.9", 2727);
  std::uint32_t id = 0;
  const auto set_up = [&] {
    ++id;
    scene.world.control().on_datagram(
        agent, fmt::format("CRCX {} {} MGCP 1.0\r\nC: 1\r\nM: recvonly\r\n\r\nv=0\r\nc=IN {}\r\n"
                           "m=audio 6000 RTP/AVP 8\r\n",
                           id, kWildcard, id % 2 == 0 ? "IP4 203.0.0.9" : "IP6 2001:db8::9"));
    scene.world.control().flush();
  };
  while (id < kBusy) {
    set_up();
    if (id % 500 == 0) {
      scene.world.settle();
    }
  }
  scene.world.settle();
  CHECK(scene.world.connections() == kBusy);
  const std::uint64_t submitted = scene.world.plane().submitted();
  for (int i = 0; i < 1000; ++i) {
    set_up();
  }
  scene.world.settle();
  CHECK(scene.world.plane().submitted() == submitted + 1000);
  CHECK(scene.world.endpoints_used() == kBusy + 1000);
  // One that is freed in the middle is the next to be used.
  CHECK(scene.dlcx("rtpbridge/1234@mgw").code == 200);
  CHECK(scene.crcx(kWildcard, "C: 1\r\nM: recvonly\r\n").parameter("Z") == "rtpbridge/1234@mgw");
  CHECK(scene.world.command(scene.agent, "AUEP", "null@mgw", "").code == 200);
}

TEST_CASE("endpoints spread over the workers by number, and a call stays on one of them") {
  sim::WorldOptions options;
  options.plane.workers = 4;
  Scene scene(sim::small_config(), options);
  std::vector<std::string> names;
  for (int i = 0; i < 16; ++i) {
    LegOptions leg;
    leg.endpoint = kWildcard;
    const Leg first = scene.add_leg(leg);
    leg.endpoint = first.endpoint;
    CHECK(talk(scene, first, scene.add_leg(leg), 3));
  }
  for (std::uint32_t worker = 0; worker < 4; ++worker) {
    CHECK(scene.world.plane().counters(worker).connections.value() == 8);
  }
}
