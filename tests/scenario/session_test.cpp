// Endpoints, connections and their descriptions: what is accepted, what is refused, and that a
// refused command changes nothing.

#include "tests/scenario/scene.h"

#include <chrono>
#include <set>

using namespace std::chrono_literals;
using scenario::Call;
using scenario::Leg;
using scenario::LegOptions;
using scenario::Scene;

namespace {

constexpr std::string_view kEndpoint = "rtpbridge/1@mgw";
constexpr std::string_view kWildcard = "rtpbridge/*@mgw";
constexpr std::string_view kPlain = "C: 1\r\nM: recvonly\r\n";

/// What an audit says of a leg: call, mode, options, both descriptions.
std::string audit(Scene& scene, const Leg& leg) {
  const auto answer =
      scene.world.command(scene.agent, "AUCX", leg.endpoint,
                          fmt::format("I: {}\r\nF: C,M,L,LC,RC\r\n", leg.connection));
  CHECK(answer.code == 200);
  return answer.text.substr(answer.text.find("\r\n"));
}

LegOptions with(std::string formats, std::string attributes = {}) {
  LegOptions options;
  options.formats = std::move(formats);
  options.attributes = std::move(attributes);
  return options;
}

}  // namespace

TEST_CASE("verbs, names, modes and extensions are read in any letter case") {
  Scene scene;
  scene.agent.send_raw(
      "crcx 71 RTPBRIDGE/a@MGW mgcp 1.0\r\nc: Ab\r\nm: SendRecv\r\n"
      "l: P:20, A:pcma\r\nx-osmo-ign: c\r\nX-FooBar: 1\r\n");
  REQUIRE(scene.world.run_until([&] { return scene.agent.answer(71) != nullptr; }, 1s));
  CHECK(scene.agent.answer(71)->code == 200);
  CHECK(scene.agent.answer(71)->formats() == "8");
  scene.agent.send_raw("AuEp 72 NULL@anything MGCP 1.0\r\n");
  CHECK(scene.world.run_until([&] { return scene.agent.answer(72) != nullptr; }, 1s));
  CHECK(scene.crcx("rtpbridge/a@mgw", "C: other\r\nM: recvonly\r\n").code == 200);  // IGN
  CHECK(scene.dlcx("rtpbridge/a@mgw").code == 200);
  // X-Osmo-IGN belonged to the call.
  CHECK(scene.crcx("rtpbridge/a@mgw", kPlain).code == 200);
  CHECK(scene.crcx("rtpbridge/a@mgw", "C: other\r\nM: recvonly\r\n").code == 400);
  CHECK(scene.crcx("rtpbridge/2@mgw", "C: 1\r\nM: recvonly\r\nx-osmux: *\r\n").code == 511);
}

TEST_CASE("a CRCX that is refused leaves no endpoint, connection or port in use") {
  struct Row {
    const char* body;
    int code;
  };
  for (const Row& row :
       {Row{"C: 1\r\nM: recvonly\r\nN: foobar\r\n", 539}, Row{"M: recvonly\r\n", 516},
        Row{"C: 1\r\n", 517}, Row{"C: 1\r\nM: netwtest\r\n", 517},
        Row{"C: 1\r\nI: 1\r\nM: recvonly\r\n", 523},
        Row{"C: 1\r\nM: recvonly\r\nL: p:20, a:AMR, p:20\r\n", 524},
        Row{"C: 1\r\nM: recvonly\r\nL: p:111\r\n", 535},
        Row{"C: 1\r\nM: recvonly\r\nX-Osmux: *\r\n", 511},
        Row{"C: 1\r\nM: recvonly\r\nX+Foo: 1\r\n", 511},
        Row{"C: 1\r\nM: recvonly\r\nS: D/1\r\n", 539},
        Row{"C: 1\r\nM: recvonly\r\n\r\nv=0\r\nc=IN IP4 host.example\r\nm=audio 6 RTP/AVP 0\r\n",
            510},
        Row{"C: 1\r\nM: recvonly\r\n\r\nv=0\r\nc=IN IP6 2001:db8::1\r\nm=audio 6 RTP/AVP 0\r\n",
            505},
        Row{"C: 1\r\nM: recvonly\r\n\r\nv=0\r\nc=IN IP4 1.2.3.4\r\nm=audio 6 RTP/SAVP 0\r\n",
            505}}) {
    CAPTURE(row.body);
    Scene scene;
    for (const std::string_view endpoint : {kEndpoint, kWildcard}) {
      CHECK(scene.crcx(endpoint, row.body).code == row.code);
      CHECK(scene.world.endpoints_used() == 0);
      CHECK(scene.world.connections() == 0);
      CHECK(scene.world.ports_used() == 0);
      CHECK(scene.world.gateway_sockets() == 0);
    }
  }
}

TEST_CASE("a second leg that is refused leaves the first one and its media alone") {
  for (const std::string_view body :
       {"C: 1\r\nM: nonsense\r\n", "C: 1\r\nM: sendrecv\r\nL: p:30\r\n",
        "C: 1\r\nM: sendrecv\r\nL: a\r\n", "C: 2\r\nM: sendrecv\r\n",
        "C: 1\r\nM: sendrecv\r\nX-Osmux: 3\r\n",
        "C: 1\r\nM: sendrecv\r\n\r\nv=0\r\nc=IN IP6 2001:db8::1\r\nm=audio 6 RTP/AVP 0\r\n",
        "C: 1\r\nM: sendrecv\r\n\r\nv=0\r\nc=IN IP4 1.2.3.4.5\r\nm=audio 6 RTP/AVP 0\r\n",
        "C: 1\r\nM: sendrecv\r\n\r\nv=0\r\nc=IN IP4 1.2.3.4\r\nm=audio 65536 RTP/AVP 0\r\n"}) {
    CAPTURE(body);
    Scene scene;
    const Call call(scene);
    const std::string before = audit(scene, call.a) + audit(scene, call.b);
    CHECK(scene.crcx(kEndpoint, body).code >= 400);
    CHECK(audit(scene, call.a) + audit(scene, call.b) == before);
    CHECK(scene.world.connections() == 2);
    CHECK(talk(scene, call.a, call.b, 10));
  }
}

TEST_CASE("an MDCX that is refused changes nothing, however late it fails") {
  for (const std::string& body :
       {std::string("L: p:30\r\n"), std::string("M: nonsense\r\n"), std::string("N: x\r\n"),
        std::string("C: 2\r\nM: inactive\r\n"), std::string("M: inactive\r\nX-Osmux: 1\r\n"),
        std::string("M: inactive\r\n\r\nv=0\r\nc=IN IP6 ::2\r\nm=audio 6 RTP/AVP 0\r\n"),
        std::string("M: inactive\r\n\r\nv=0\r\nc=IN IP4 1.2.3.4\r\nm=audio 70000 RTP/AVP 0\r\n"),
        std::string("M: inactive\r\n\r\nv=0\r\nc=IN IP4 1.2.3.4\r\nm=audio 6 RTP/SAVP 0\r\n")}) {
    CAPTURE(body);
    Scene scene;
    const Call call(scene);
    const std::string before = audit(scene, call.a) + audit(scene, call.b);
    CHECK(scene.mdcx(call.a, body).code >= 400);
    CHECK(audit(scene, call.a) + audit(scene, call.b) == before);
    CHECK(talk(scene, call.a, call.b, 10));
  }
}

TEST_CASE("commands on what is not there get their code") {
  Scene scene;
  const Leg leg = scene.add_leg();
  CHECK(scene.world.command(scene.agent, "MDCX", "rtpbridge/3@mgw", "I: 1\r\n").code == 400);
  CHECK(scene.world.command(scene.agent, "MDCX", kWildcard, "I: 1\r\n").code == 507);
  CHECK(scene.world.command(scene.agent, "MDCX", kEndpoint, "M: inactive\r\n").code == 515);
  CHECK(scene.world.command(scene.agent, "MDCX", kEndpoint, "I: \r\n").code == 510);
  CHECK(scene.world.command(scene.agent, "MDCX", kEndpoint, "I: ABC\r\n").code == 515);
  CHECK(scene.dlcx("rtpbridge/3@mgw").code == 515);
  CHECK(scene.dlcx("rtpbridge/11@mgw").code == 500);
  CHECK(scene.dlcx("rtpbridge/01@mgw").code == 500);
  CHECK(scene.dlcx("rtpbridge/0@mgw").code == 500);
  CHECK(scene.dlcx("ds/e1-1/s-1/su16-0@mgw").code == 500);
  CHECK(scene.dlcx(kEndpoint, "C: ffff\r\n").code == 516);
  CHECK(scene.dlcx(kEndpoint, "C: 1\r\nI: FFFF\r\n").code == 515);
  CHECK(scene.world.command(scene.agent, "AUEP", "rtpbridge/11@mgw", "").code == 500);
  CHECK(scene.world.command(scene.agent, "AUCX", kEndpoint, "I: 1\r\n").code == 515);
  CHECK(scene.world.connections() == 1);
  // The id in any case and with leading zeros is still the id.
  std::string lower = "0000" + leg.connection;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'F' ? static_cast<char>(c + 32) : c; });
  CHECK(scene.dlcx("1@mgw", fmt::format("C: 1\r\nI: {}\r\n", lower)).code == 250);
}

TEST_CASE("wildcard CRCX hands out every endpoint once, in order, and refuses when all are busy") {
  for (const std::string_view wildcard : {kWildcard, std::string_view("rtpbridge/$@mgw")}) {
    Scene scene;
    std::set<std::string> names;
    for (int i = 1; i <= 16; ++i) {
      const auto answer = scene.crcx(wildcard, kPlain);
      REQUIRE(answer.code == 200);
      CHECK(answer.parameter("Z") == fmt::format("rtpbridge/{:x}@mgw", i));
      names.insert(answer.parameter("Z"));
    }
    CHECK(names.size() == 16);
    CHECK(scene.crcx(wildcard, kPlain).code == 403);
    CHECK(scene.world.command(scene.agent, "AUEP", wildcard, "").code == 501);
    CHECK(scene.world.command(scene.agent, "AUEP", "null@mgw", "").code == 200);
    CHECK(scene.dlcx("rtpbridge/b@mgw").code == 200);
    CHECK(scene.crcx(wildcard, kPlain).parameter("Z") == "rtpbridge/b@mgw");
    CHECK(scene.crcx(kEndpoint, kPlain).code == 200);  // a named one has room
  }
}

TEST_CASE("a wildcard DLCX clears the trunk, with C: only that call, and never fails") {
  Scene scene;
  for (int call = 0; call < 6; ++call) {
    const auto body = fmt::format("C: {}\r\nM: recvonly\r\n", call % 2);
    const auto answer = scene.crcx(kWildcard, body);
    CHECK(scene.crcx(answer.parameter("Z"), body).code == 200);
  }
  CHECK(scene.world.connections() == 12);
  CHECK(scene.dlcx(kWildcard, "C: 0\r\n").text.substr(0, 3) == "200");
  CHECK(scene.world.connections() == 6);
  CHECK(scene.world.endpoints_used() == 3);
  CHECK(scene.dlcx(kWildcard, "C: nobody\r\n").code == 200);
  for (const std::string_view other : {"rtpbridge/*@other", "foo/*@mgw", "f*@mgw", "*@mgw",
                                       "rtpbridge/1*@mgw", "ds/e1-9/*@mgw", "rtpbridge/*"}) {
    CAPTURE(other);
    CHECK(scene.dlcx(other).code == 500);
  }
  CHECK(scene.world.connections() == 6);
  const auto all = scene.dlcx(kWildcard);
  CHECK(all.code == 200);
  CHECK(all.parameter("P").empty());
  CHECK(scene.world.connections() == 0);
  CHECK(scene.dlcx(kWildcard).code == 200);
}

TEST_CASE("the domain is checked in any case, and a star takes all of them") {
  Scene strict;
  CHECK(strict.crcx("rtpbridge/*@other", kPlain).code == 500);
  CHECK(strict.crcx("rtpbridge/*", kPlain).code == 500);
  CHECK(strict.crcx("rtpbridge/*@MgW", kPlain).code == 200);
  auto config = sim::small_config();
  config.mgcp.domain = "*";
  Scene open(config);
  const auto answer = open.crcx("rtpbridge/*@other", kPlain);
  CHECK(answer.code == 200);
  CHECK(open.dlcx("rtpbridge/1@third").code == 200);
}

TEST_CASE("the null endpoint answers AUEP always and nothing else ever") {
  Scene scene;
  CHECK(scene.world.command(scene.agent, "AUEP", "null@x", "").text.find(" OK\r\n") !=
        std::string::npos);
  for (const std::string_view verb : {"CRCX", "MDCX", "DLCX", "AUCX", "RQNT", "RSIP"}) {
    CAPTURE(verb);
    CHECK(scene.world.command(scene.agent, verb, "null@mgw", "C: 1\r\nM: recvonly\r\n").code ==
          502);
  }
}

TEST_CASE("out of ports a leg is refused, counted, and its endpoint stays as it was") {
  auto config = sim::small_config();
  config.rtp.port_max = 4007;
  config.rtp.port_quarantine = 500ms;
  Scene scene(config);
  const Call call(scene);
  CHECK(scene.crcx(kWildcard, kPlain).code == 200);
  CHECK(scene.crcx(kWildcard, kPlain).code == 200);
  for (const std::string_view endpoint : {kWildcard, kEndpoint}) {
    const auto refused = scene.crcx(endpoint, kPlain);
    CHECK(refused.code == 500);
    CHECK(refused.text.find("ports") != std::string::npos);
  }
  CHECK(scene.world.control().counters().ports_exhausted.value() == 2);
  CHECK(scene.world.endpoints_used() == 3);
  CHECK(scene.world.connections() == 4);
  CHECK(talk(scene, call.a, call.b, 10));
  CHECK(scene.dlcx("rtpbridge/2@mgw").code == 200);
  scene.run_for(500ms);
  CHECK(scene.crcx(kWildcard, kPlain).code == 200);
}

TEST_CASE("at its limit of connections an endpoint refuses, or gives up the oldest if so told") {
  auto config = sim::small_config();
  config.endpoints.connections_max = 2;
  Scene refusing(config);
  const Call kept(refusing);
  CHECK(refusing.crcx(kEndpoint, kPlain).code == 540);
  CHECK(talk(refusing, kept.a, kept.b, 5));

  config.endpoints.options.force_realloc = true;
  Scene giving(config);
  const Call call(giving);
  const Leg third = giving.add_leg();
  CHECK(giving.world.connections() == 2);
  CHECK(giving.mdcx(call.a, "M: sendrecv\r\n").code == 515);
  CHECK(talk(giving, call.b, third, 5));
  LegOptions other_call;
  other_call.call = "2";
  const Leg first = giving.add_leg(other_call);  // frees the whole old call
  CHECK(giving.world.connections() == 1);
  CHECK(giving.world.endpoints_used() == 1);
  const Leg second = giving.add_leg(other_call);
  CHECK(talk(giving, first, second, 5));
}

TEST_CASE("sendrecv without a description works unless the older behaviour is configured") {
  auto config = sim::small_config();
  Scene scene(config);
  CHECK(scene.crcx(kWildcard, "C: 1\r\nM: sendrecv\r\n").code == 200);
  config.mgcp.early_bidir_error = true;
  Scene older(config);
  CHECK(older.crcx(kWildcard, "C: 1\r\nM: sendrecv\r\n").code == 527);
  CHECK(older.crcx(kWildcard, "C: 1\r\nM: sendonly\r\n").code == 200);
  CHECK(older
            .crcx(kWildcard,
                  "C: 1\r\nM: sendrecv\r\n\r\nv=0\r\nc=IN IP4 127.0.0.1\r\n"
                  "m=audio 0 RTP/AVP 0\r\n")
            .code == 200);
}

TEST_CASE("RSIP of an agent resets what its name and method say, and is answered") {
  Scene scene;
  const auto fill = [&] {
    for (int i = 0; i < 3; ++i) {
      CHECK(scene.crcx(kWildcard, kPlain).code == 200);
    }
  };
  fill();
  for (const std::string_view kept : {"graceful", "cancel-graceful", "disconnected"}) {
    CHECK(
        scene.world.command(scene.agent, "RSIP", kWildcard, fmt::format("RM: {}\r\n", kept)).code ==
        200);
  }
  CHECK(scene.world.command(scene.agent, "RSIP", kWildcard, "RM: nonsense\r\n").code == 536);
  CHECK(scene.world.connections() == 3);
  CHECK(scene.world.command(scene.agent, "RSIP", "rtpbridge/2@mgw", "RM: forced\r\n").code == 200);
  CHECK(scene.world.connections() == 2);
  CHECK(scene.world.command(scene.agent, "RSIP", kWildcard, "RM: restart\r\n").code == 200);
  CHECK(scene.world.connections() == 0);
  fill();
  CHECK(scene.world.command(scene.agent, "RSIP", kWildcard, "").code == 200);
  CHECK(scene.world.connections() == 0);
}

TEST_CASE(
    "a description with port 0 is accepted, its codec kept, and nothing sent until one comes") {
  Scene scene;
  sim::RtpPeer& peer = scene.world.add_peer();
  const auto answer =
      scene.crcx(kEndpoint, fmt::format("C: 1\r\nM: sendrecv\r\n\r\nv=0\r\nc=IN IP4 {}\r\n"
                                        "m=audio 0 RTP/AVP 96\r\na=rtpmap:96 CLEARMODE/8000\r\n",
                                        peer.local().host_text()));
  CHECK(answer.code == 200);
  CHECK(answer.formats() == "96");
  CHECK(answer.sdp_line("a=rtpmap:") == "96 CLEARMODE/8000");
  const Leg b = scene.add_leg(with("8"));
  b.peer->stream(5, 77);
  scene.run_for(200ms);
  CHECK(scene.dropped(mgw::DropCause::target_unknown) == 5);
  CHECK(peer.received().empty());
  const Leg a{std::string(kEndpoint), answer.parameter("I"), answer, &peer};
  CHECK(scene.mdcx(a, peer.sdp("96", "a=rtpmap:96 CLEARMODE/8000\r\n")).formats() == "96");
  b.peer->stream(5, 77);
  scene.run_for(200ms);
  CHECK(peer.received().size() == 5);
  // Port 0 again, or 0.0.0.0: on hold.
  for (const std::string_view hold :
       {"\r\nv=0\r\nm=audio 0 RTP/AVP 96\r\n",
        "\r\nv=0\r\nc=IN IP4 0.0.0.0\r\nm=audio 6000 RTP/AVP 96\r\n"}) {
    peer.forget();
    CHECK(scene.mdcx(a, hold).code == 200);
    b.peer->stream(5, 77);
    scene.run_for(200ms);
    CHECK(peer.received().empty());
  }
}

TEST_CASE("of the codecs in the options the first is taken, by its own name") {
  Scene scene;
  const auto answer =
      scene.crcx(kEndpoint, "C: 1\r\nM: recvonly\r\nL: p:20, a:GSM-EFR;GSM, nt:IN\r\n");
  CHECK(answer.code == 200);
  CHECK(answer.formats().substr(0, 3) == "110");
  CHECK(answer.sdp_line("a=rtpmap:").starts_with("110 GSM-EFR"));
  CHECK(answer.text.find(';') == std::string::npos);
  const auto plain = scene.crcx("rtpbridge/2@mgw", kPlain);
  CHECK(plain.formats() == "0");
  CHECK(plain.media().port() % 2 == 0);
}

TEST_CASE("an MDCX that says nothing of codecs keeps codec, rate and format parameters") {
  const std::string amr =
      "a=rtpmap:112 AMR/8000\r\na=fmtp:112 octet-align=1; mode-set=0,2; tw-ts-006=1\r\n"
      "a=x-unknown: 5\r\n";
  Scene scene;
  const Call call(scene, with("112", amr), with("112", amr));
  const std::string fmtp = call.a.answer.sdp_line("a=fmtp:112 ");
  CHECK(fmtp.find("octet-align=1") != std::string::npos);
  CHECK(fmtp.find("mode-set=0,2") != std::string::npos);
  for (const std::string_view body : {"M: recvonly\r\n", "", "L: p:20\r\n", "M: sendrecv\r\n"}) {
    const auto answer = scene.mdcx(call.a, body);
    CHECK(answer.formats() == "112");
    CHECK(answer.sdp_line("a=fmtp:112 ") == fmtp);
  }
  CHECK(scene.dlcx(call.b).code == 250);
  const auto alone = scene.mdcx(call.a, "M: inactive\r\n");
  CHECK(alone.formats() == "112");
  CHECK(alone.sdp_line("a=fmtp:112 ") == fmtp);
}

TEST_CASE("the last leg of a call keeps the codec that was negotiated, though it offered others") {
  Scene scene;
  const Call call(scene, with("3"), with("0 8 3"));
  CHECK(call.b.answer.formats() == "3");
  CHECK(scene.mdcx(call.b, "M: recvonly\r\n").formats() == "3");
  CHECK(scene.dlcx(call.a).code == 250);
  CHECK(scene.mdcx(call.b, "M: sendrecv\r\n").formats() == "3");
}

TEST_CASE("a mode change alone does not renegotiate a call in the order of the other leg") {
  Scene scene;
  const Call call(scene, with("0 3"), with("3 0"));
  CHECK(call.b.answer.formats() == "3");
  CHECK(scene.mdcx(call.a, "M: sendrecv\r\n").formats() == "3");
  CHECK(scene.mdcx(call.b, "M: sendrecv\r\n").formats() == "3");
}

TEST_CASE("more than one codec is answered if so configured, the selected one first") {
  auto config = sim::small_config();
  config.endpoints.options.sdp.single_codec = false;
  Scene scene(config);
  const std::string event = "a=rtpmap:101 telephone-event/8000\r\n";
  const Call call(scene, with("3 8 101", event), with("0 8 3 101", event));
  CHECK(call.b.answer.formats() == "8 3 101");
}

TEST_CASE("an audit tells what a connection is and has counted") {
  Scene scene;
  const Call call(scene);
  CHECK(talk(scene, call.a, call.b, 7));
  const auto answer =
      scene.world.command(scene.agent, "AUCX", kEndpoint,
                          fmt::format("I: {}\r\nF: C, M, L, P, LC, RC\r\n", call.a.connection));
  CHECK(answer.parameter("C") == "1");
  CHECK(answer.parameter("M") == "sendrecv");
  CHECK(answer.parameter("P").starts_with("PS=7, OS=315, PR=7, OR=315, PL=0"));
  CHECK(answer.text.find("m=audio 6000 RTP/AVP 8") != std::string::npos);
  CHECK(answer.text.find(fmt::format("m=audio {} RTP/AVP 8", call.a.answer.media().port())) !=
        std::string::npos);
  const auto list = scene.world.command(scene.agent, "AUEP", kEndpoint, "F: I, A\r\n");
  CHECK(list.parameter("I") == call.a.connection + ", " + call.b.connection);
  CHECK(list.parameter("A").find("PCMU") != std::string::npos);
}

TEST_CASE("an audit tells of each SSRC that a connection received, when it is asked to") {
  Scene scene;
  const Call call(scene);
  for (const std::uint32_t ssrc : {0x11U, 0x22U, 0x33U}) {
    call.a.peer->ssrc = ssrc;
    call.a.peer->stream(ssrc & 0xfU, 8);
    scene.run_for(200ms);
  }
  const auto ask = [&](std::string_view items) {
    return scene.world
        .command(scene.agent, "AUCX", kEndpoint,
                 fmt::format("I: {}\r\nF: {}\r\n", call.a.connection, items))
        .text;
  };
  CHECK(ask("P").find("X-Mgw-Streams") == std::string::npos);
  const std::string text = ask("P, x-mgw-streams");
  std::size_t at = 0;
  for (const std::string_view line : {"SSRC=00000033, PR=3, OR=99, PL=0, DU=0, RO=0, JI=",
                                      "SSRC=00000022, PR=2, OR=66, PL=0, DU=0, RO=0, JI=",
                                      "SSRC=00000011, PR=1, OR=33, PL=0, DU=0, RO=0, JI="}) {
    at = text.find(fmt::format("X-Mgw-Streams: {}", line), at);
    CHECK(at != std::string::npos);
  }
  for (std::uint32_t ssrc = 0x100; ssrc < 0x180; ++ssrc) {
    call.a.peer->ssrc = ssrc;
    call.a.peer->send_packet(8);
  }
  scene.run_for(200ms);
  const std::string many = ask("X-Mgw-Streams");
  CHECK(many.find("X-Mgw-Streams: OLDER=121\r\n") != std::string::npos);
  CHECK(many.size() < 1400);
}

TEST_CASE("a worker that can't take the sockets over has the leg undone, the call goes on") {
  sim::WorldOptions options;
  options.plane.sockets_max = 5;
  Scene scene(sim::small_config(), options);
  const Call call(scene);
  const std::string before = audit(scene, call.a) + audit(scene, call.b);
  CHECK(scene.crcx(kEndpoint, "C: 1\r\nM: sendrecv\r\n").code == 500);
  CHECK(scene.crcx(kWildcard, kPlain).code == 500);
  CHECK(scene.world.connections() == 2);
  CHECK(scene.world.endpoints_used() == 1);
  CHECK(scene.world.ports_used() == 2);
  CHECK(scene.world.gateway_sockets() == 4);
  CHECK(audit(scene, call.a) + audit(scene, call.b) == before);
  CHECK(talk(scene, call.a, call.b, 10));
  CHECK(scene.dlcx(call.a).code == 250);
  CHECK(scene.crcx(kWildcard, kPlain).code == 200);
}

TEST_CASE("a leg that a worker could not take over has not changed its partner's codec either") {
  sim::WorldOptions options;
  options.plane.sockets_max = 3;
  Scene scene(sim::small_config(), options);
  const Leg leg = scene.add_leg(with("0 3"));
  const std::string before = audit(scene, leg);
  sim::RtpPeer& peer = scene.world.add_peer();
  CHECK(scene.crcx(kEndpoint, "C: 1\r\nM: sendrecv\r\n" + peer.sdp("3")).code == 500);
  CHECK(audit(scene, leg) == before);
}

TEST_CASE("deleting a whole call does not first tell its legs of each other's end") {
  Scene scene;
  for (int i = 0; i < 6; ++i) {
    scene.add_leg();
  }
  const std::uint64_t before = scene.world.plane().entries();
  CHECK(scene.dlcx(kEndpoint).code == 200);
  CHECK(scene.world.plane().entries() == before);
}

TEST_CASE("while too many commands are under way new work is refused, deletions never") {
  sim::WorldOptions options;
  options.plane.commands_max = 1;
  options.plane.delay_max = 50ms;
  Scene scene(sim::small_config(), options);
  CHECK(scene.crcx(kEndpoint, kPlain).code == 200);
  const auto first = scene.agent.start("CRCX", "rtpbridge/2@mgw", kPlain);
  const auto second = scene.agent.start("CRCX", "rtpbridge/3@mgw", kPlain);
  const auto third = scene.agent.start("DLCX", kEndpoint, "");
  scene.run_for(1s);
  CHECK(scene.agent.answer(first)->code == 200);
  CHECK(scene.agent.answer(second)->code == 409);
  CHECK(scene.agent.answer(third)->code == 200);
  CHECK(scene.world.connections() == 1);
}
