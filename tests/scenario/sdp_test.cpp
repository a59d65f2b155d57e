// Descriptions through whole calls: what phones offer, what comes back, and what media do then.

#include "tests/scenario/scene.h"

#include <chrono>

using namespace std::chrono_literals;
using scenario::Call;
using scenario::Leg;
using scenario::LegOptions;
using scenario::Scene;

namespace {

constexpr std::string_view kEndpoint = "rtpbridge/1@mgw";

LegOptions with(std::string formats, std::string attributes = {}) {
  LegOptions options;
  options.formats = std::move(formats);
  options.attributes = std::move(attributes);
  return options;
}

/// A description of `peer` whose m= line begins as `media` says ("audio 6000 RTP/SAVP").
std::string described(const sim::RtpPeer& peer, std::string_view media) {
  return fmt::format("\r\nv=0\r\nc=IN IP4 {}\r\nm={} 8\r\n", peer.local().host_text(), media);
}

/// How many of 10 packets of `from` arrive at `to`.
std::size_t arriving(Scene& scene, const Leg& from, const Leg& to) {
  const std::size_t before = to.peer->count_from(from.peer->number());
  from.peer->stream(10, 8);
  scene.run_for(400ms);
  return to.peer->count_from(from.peer->number()) - before;
}

}  // namespace

TEST_CASE("what a phone says of its codec comes back and stays through every MDCX") {
  struct Row {
    const char* rtpmap;
    const char* fmtp;
  };
  for (const Row& row :
       {Row{"AMR/8000/1", "octet-align=1; mode-set=0,2,4,7; max-red=0"},
        Row{"AMR/8000", "MODE-SET = 0,2 ; OCTET-ALIGN = 1"},
        Row{"AMR/8000", "mode-set=\"0,2\" octet-align=0 mode-change-period=2"},
        Row{"AMR-WB/16000", "mode-change-capability=2;octet-align=1;tw-ts-006=1"},
        Row{"AMR/8000", "octet-align=1;crc=1;robust-sorting=1;interleaving=4"},
        Row{"GSM-HR-08/8000", "gsm-hr-format=rfc5993"}, Row{"GSM-HR-08/8000", "tw-ts-002=1"},
        Row{"GSM-EFR/8000", "tw-ts-001=1"}, Row{"G729/8000", "annexb=no"},
        Row{"CLEARMODE/8000", "x-unknown=1; y"}, Row{"telephone-event/8000", "0-15"},
        Row{"telephone-event/8000", "0-16"}}) {
    CAPTURE(row.rtpmap);
    CAPTURE(row.fmtp);
    const std::string lines =
        fmt::format("a=rtpmap:112 {}\r\na=fmtp:112 {}\r\na=x-unknown:1\r\n", row.rtpmap, row.fmtp);
    Scene scene;
    const Leg a = scene.add_leg(with("112", lines));
    const auto check = [&](const sim::Answer& answer) {
      CHECK(answer.code == 200);
      CHECK(answer.formats() == "112");
      CHECK(answer.sdp_line("a=rtpmap:112 ") == row.rtpmap);
      CHECK(answer.sdp_line("a=fmtp:112 ") == row.fmtp);
    };
    check(a.answer);
    const Leg b = scene.add_leg(with("112", lines));
    check(b.answer);
    for (const std::string& body :
         {std::string(), std::string("M: recvonly\r\n"), std::string("L: p:20\r\n"),
          "M: sendrecv\r\n" + a.peer->sdp("112", lines), std::string("M: sendrecv\r\n")}) {
      check(scene.mdcx(a, body));
    }
    a.peer->send_packet(112, sim::from_hex("f07c"));
    scene.run_for(50ms);
    CHECK(scene.dlcx(b).code == 250);
    check(scene.mdcx(a, "M: recvonly\r\n"));
  }
}

TEST_CASE("static payload types need no rtpmap, and an opaque codec is relayed as it is") {
  for (const int type : {0, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 15, 16, 17, 18}) {
    CAPTURE(type);
    Scene scene;
    const Call call(scene, with(std::to_string(type)), with(std::to_string(type)));
    CHECK(call.b.answer.formats() == std::to_string(type));
    CHECK(call.b.answer.sdp_line("a=rtpmap:").empty());
    CHECK(talk(scene, call.a, call.b, 5, static_cast<std::uint8_t>(type),
               static_cast<std::uint8_t>(type)));
  }
  for (const char* rtpmap : {"CLEARMODE/8000", "opus/48000/2", "X-mine/11025", "AMR/16000"}) {
    CAPTURE(rtpmap);
    Scene scene;
    const Call call(scene, with("120", fmt::format("a=rtpmap:120 {}\r\n", rtpmap)),
                    with("97", fmt::format("a=rtpmap:97 {}\r\n", rtpmap)));
    CHECK(call.b.answer.sdp_line("a=rtpmap:97 ") == rtpmap);
    CHECK(talk(scene, call.a, call.b, 5, 120, 97));
    CHECK(call.b.peer->received().back().header.payload_type == 97);
  }
}

TEST_CASE("profiles that can't be served are refused and nothing changes, feedback is accepted") {
  for (const char* transport :
       {"audio 6000 RTP/SAVP", "audio 6000 RTP/SAVPF", "audio 6000 UDP/TLS/RTP/SAVP",
        "audio 6000 TCP/RTP/AVP", "audio 6000 udptl", "image 6000 udptl", "video 6000 RTP/AVP"}) {
    CAPTURE(transport);
    Scene scene;
    const Call call(scene);
    const std::string offer = described(*call.a.peer, transport);
    CHECK(scene.crcx("rtpbridge/2@mgw", "C: 1\r\nM: sendrecv\r\n" + offer).code == 505);
    CHECK(scene.world.endpoints_used() == 1);
    const auto refused = scene.mdcx(call.a, "M: inactive\r\n" + offer);
    CHECK(refused.code == 505);
    CHECK(refused.text.find("m=") == std::string::npos);
    CHECK(talk(scene, call.a, call.b, 5));
  }
  Scene scene;
  const Call call(scene);
  const auto answer = scene.mdcx(call.a, described(*call.a.peer, "audio 6000 RTP/AVPF"));
  CHECK(answer.sdp_line("m=audio ") == fmt::format("{} RTP/AVPF 8", call.a.answer.media().port()));
  CHECK(talk(scene, call.a, call.b, 5));
}

TEST_CASE("of several media lines one is used, the others are refused at their places") {
  Scene scene;
  const Leg b = scene.add_leg();
  sim::RtpPeer& peer = scene.world.add_peer();
  const auto answer = scene.crcx(
      kEndpoint,
      fmt::format("C: 1\r\nM: sendrecv\r\n\r\nv=0\r\nc=IN IP4 192.0.2.77\r\na=inactive\r\n"
                  "m=video 7000 RTP/AVP 96\r\nc=IN IP4 192.0.2.78\r\na=rtpmap:96 H264/90000\r\n"
                  "m=audio {} RTP/AVP 8\r\nc=IN IP4 {}\r\na=sendrecv\r\n"
                  "m=audio 7002 RTP/SAVP 97\r\na=rtpmap:97 AMR/8000\r\n"
                  "m=image 7004 udptl t38\r\n",
                  peer.local().port(), peer.local().host_text()));
  REQUIRE(answer.code == 200);
  const std::string media = answer.text.substr(answer.text.find("m="));
  CHECK(media.starts_with(
      fmt::format("m=video 0 RTP/AVP 96\r\nm=audio {} RTP/AVP 8\r\n", answer.media().port())));
  CHECK(media.ends_with("m=audio 0 RTP/SAVP 97\r\nm=image 0 udptl t38\r\n"));
  const Leg a{std::string(kEndpoint), answer.parameter("I"), answer, &peer};
  peer.set_target(answer.media());
  // Media level wins over session level: address and direction.
  CHECK(arriving(scene, b, a) == 10);
  // The refused lines are remembered as long as nothing else is offered.
  CHECK(scene.mdcx(a, "M: sendrecv\r\n").text.find("m=image 0 udptl t38") != std::string::npos);
  CHECK(scene.mdcx(a, peer.sdp("8")).text.find("m=image") == std::string::npos);
}

TEST_CASE("every way to hold stops what goes to the peer, and a new description resumes") {
  struct Row {
    const char* lines;      // of the description, behind the session lines
    const char* answered;   // direction in the answer
    bool hears_other_side;  // of the two legs: what the held one sends still arrives
  };
  for (const Row& row :
       {Row{"c=IN IP4 {host}\r\nm=audio 0 RTP/AVP 8\r\n", "", false},
        Row{"c=IN IP4 0.0.0.0\r\nm=audio {port} RTP/AVP 8\r\n", "", false},
        Row{"c=IN IP4 0.0.0.0\r\nm=audio 0 RTP/AVP 8\r\na=inactive\r\n", "inactive", false},
        Row{"m=audio 0 RTP/AVP 8\r\n", "", false},
        Row{"c=IN IP4 {host}\r\nm=audio {port} RTP/AVP 8\r\na=sendonly\r\n", "recvonly", true},
        Row{"c=IN IP4 {host}\r\na=sendonly\r\nm=audio {port} RTP/AVP 8\r\n", "recvonly", true},
        Row{"c=IN IP4 {host}\r\nm=audio {port} RTP/AVP 8\r\na=inactive\r\n", "inactive", true}}) {
    CAPTURE(row.lines);
    Scene scene;
    const Call call(scene);
    CHECK(talk(scene, call.a, call.b, 3));
    const auto held = scene.mdcx(
        call.a, "\r\nv=0\r\n" + fmt::format(fmt::runtime(row.lines),
                                            fmt::arg("host", call.a.peer->local().host_text()),
                                            fmt::arg("port", call.a.peer->local().port())));
    CHECK(held.code == 200);
    CHECK(held.media() == call.a.answer.media());
    CHECK(held.formats() == "8");
    const bool directed =
        held.text.find(fmt::format("a={}\r\n", row.answered)) != std::string::npos;
    CHECK(directed == (row.answered[0] != '\0'));
    CHECK(arriving(scene, call.b, call.a) == 0);
    CHECK(arriving(scene, call.a, call.b) == (row.hears_other_side ? 10 : 0));
    // A change of mode alone does not end it.
    CHECK(scene.mdcx(call.a, "M: sendrecv\r\n").code == 200);
    CHECK(arriving(scene, call.b, call.a) == 0);
    const auto resumed = scene.mdcx(call.a, call.a.peer->sdp("8"));
    CHECK(resumed.media() == call.a.answer.media());
    CHECK(resumed.text.find("a=inactive") == std::string::npos);
    CHECK(resumed.text.find("a=recvonly") == std::string::npos);
    CHECK(talk(scene, call.a, call.b, 5));
  }
}

TEST_CASE("a hold that describes nothing but the port keeps the codec and its parameters") {
  const std::string amr = "a=rtpmap:96 AMR/8000\r\na=fmtp:96 octet-align=1\r\n";
  for (const char* lines : {"m=audio 0 RTP/AVP 96\r\n", "m=audio 0 RTP/AVP\r\n",
                            "c=IN IP4 0.0.0.0\r\nm=audio 6000 RTP/AVP 96\r\n",
                            "c=IN IP4 0.0.0.0\r\n", "a=inactive\r\n"}) {
    CAPTURE(lines);
    Scene scene;
    const Call call(scene, with("96", amr), with("98", "a=rtpmap:98 AMR/8000\r\n"));
    for (const std::string& body : {std::string("\r\nv=0\r\n") + lines, std::string()}) {
      const auto answer = scene.mdcx(call.a, body);
      CHECK(answer.code == 200);
      CHECK(answer.formats() == "96");
      CHECK(answer.sdp_line("a=fmtp:96 ") == "octet-align=1");
    }
    // A stream that is on and names no codec that can be used has the default one.
    const auto on = scene.mdcx(call.a, call.a.peer->sdp("96"));
    CHECK(on.formats() == "0");
  }
}

TEST_CASE("an IPv6 leg is held by the unspecified address too") {
  auto config = sim::small_config();
  config.rtp.bind_v6 = sim::kGatewayHost6;
  Scene scene(config);
  const Leg a = scene.add_leg({}, scene.world.add_peer(io::AddressFamily::ipv6));
  const Leg b = scene.add_leg();
  CHECK(talk(scene, a, b, 3));
  const auto held = scene.mdcx(a, "\r\nv=0\r\nc=IN IP6 ::\r\nm=audio 6000 RTP/AVP 8\r\n");
  CHECK(held.media() == a.answer.media());
  CHECK(arriving(scene, b, a) == 0);
  CHECK(scene.mdcx(a, a.peer->sdp("8")).media() == a.answer.media());
  CHECK(talk(scene, a, b, 3));
}

TEST_CASE("a peer that receives only is sent to, and told that it will be") {
  Scene scene;
  const Call call(scene, with("8", "a=recvonly\r\n"), {});
  CHECK(call.a.answer.text.find("a=sendonly\r\n") != std::string::npos);
  CHECK(arriving(scene, call.b, call.a) == 10);
}

TEST_CASE("the packet duration asked for is answered, a range and a maximum are no duration") {
  struct Row {
    const char* lines;
    const char* answered;
  };
  for (const Row& row :
       {Row{"", "20"}, Row{"a=ptime:20\r\n", "20"}, Row{"a=ptime:30\r\n", "30"},
        Row{"a=ptime:40\r\na=maxptime:80\r\n", "40"}, Row{"a=maxptime:240\r\n", "20"},
        Row{"a=ptime:20-40\r\n", ""}, Row{"a=ptime:x\r\n", "20"}}) {
    CAPTURE(row.lines);
    Scene scene;
    const Leg leg = scene.add_leg(with("8", row.lines));
    CHECK(leg.answer.sdp_line("a=ptime:") == row.answered);
    CHECK(leg.answer.text.find("maxptime") == std::string::npos);
    // What is not said again stays.
    CHECK(scene.mdcx(leg, leg.peer->sdp("8")).sdp_line("a=ptime:") == row.answered);
    CHECK(scene.mdcx(leg, "M: recvonly\r\n").sdp_line("a=ptime:") == row.answered);
    CHECK(scene.mdcx(leg, leg.peer->sdp("8", "a=ptime:60\r\n")).sdp_line("a=ptime:") == "60");
  }
}

TEST_CASE("a forced packet duration holds for every command and description") {
  for (const auto forced : {10ms, 20ms, 40ms}) {
    auto config = sim::small_config();
    config.endpoints.options.force_ptime = forced;
    Scene scene(config);
    const std::string expected = std::to_string(forced.count());
    const Leg leg = scene.add_leg(with("8", "a=ptime:30\r\n"));
    CHECK(leg.answer.sdp_line("a=ptime:") == expected);
    CHECK(scene.mdcx(leg, "L: p:20\r\n").sdp_line("a=ptime:") == expected);
    CHECK(scene.mdcx(leg, leg.peer->sdp("8", "a=ptime:60\r\n")).sdp_line("a=ptime:") == expected);
    CHECK(scene.crcx("rtpbridge/2@mgw", "C: 1\r\nM: recvonly\r\n").sdp_line("a=ptime:") ==
          expected);
  }
}

TEST_CASE("behind an address translation the outer address is announced, family by family") {
  auto config = sim::small_config();
  config.rtp.bind_v6 = sim::kGatewayHost6;
  config.rtp.advertise = "198.51.100.7";
  config.rtp.advertise_v6 = "2001:db8:ffff::7";
  Scene scene(config);
  const auto with_host = [](sim::Answer answer, std::string_view host) {
    return sim::address(host, answer.media().port());
  };
  Leg a = scene.add_leg();
  Leg b = scene.add_leg({}, scene.world.add_peer(io::AddressFamily::ipv6));
  CHECK(a.answer.sdp_line("c=IN ") == "IP4 198.51.100.7");
  CHECK(b.answer.sdp_line("c=IN ") == "IP6 2001:db8:ffff::7");
  CHECK(a.answer.sdp_line("o=").ends_with("IN IP4 198.51.100.7"));
  a.peer->set_target(with_host(a.answer, sim::kGatewayHost));
  b.peer->set_target(with_host(b.answer, sim::kGatewayHost6));
  CHECK(talk(scene, a, b, 5));
  // A leg that moves is announced with the address of its new family.
  sim::RtpPeer& moved = scene.world.add_peer(io::AddressFamily::ipv6);
  CHECK(scene.mdcx(a, moved.sdp("8")).sdp_line("c=IN ") == "IP6 2001:db8:ffff::7");
}

TEST_CASE("a family that the gateway does not have is refused and never answered with the other") {
  Scene scene;
  const Call call(scene);
  sim::RtpPeer& peer = scene.world.add_peer(io::AddressFamily::ipv6);
  CHECK(scene.mdcx(call.a, peer.sdp("8")).code == 505);
  CHECK(scene.crcx("rtpbridge/2@mgw", "C: 1\r\nM: sendrecv\r\n" + peer.sdp("8")).code == 505);
  CHECK(scene.world.ports_used() == 2);
  CHECK(talk(scene, call.a, call.b, 5));
}

TEST_CASE("codecs of the options are taken in their order, negotiated ones as they were") {
  struct Row {
    const char* options;
    const char* formats;  // in the answer, all codecs
  };
  const std::string offer = "a=rtpmap:98 AMR/8000\r\na=fmtp:98 octet-align=1\r\n";
  auto config = sim::small_config();
  config.endpoints.options.sdp.single_codec = false;
  for (const Row& row :
       {Row{"a:AMR", "98 8 0"}, Row{"a:amr;PCMU", "98 0 8"}, Row{"a:GSM;PCMU;AMR", "0 98 8"},
        Row{"a:PCMA", "8 98 0"}, Row{"a:GSM-EFR;GSM", "110 3"}, Row{"p:20", "8 98 0"}}) {
    CAPTURE(row.options);
    Scene scene(config);
    const Leg leg = scene.add_leg(with("8 98 0", offer));
    const auto answer = scene.mdcx(leg, fmt::format("L: {}\r\n", row.options));
    CHECK(answer.formats() == row.formats);
    const bool amr_kept = answer.formats().find("98") != std::string::npos;
    CHECK((answer.sdp_line("a=fmtp:98 ") == "octet-align=1") == amr_kept);
    CHECK(answer.text.find(';') == std::string::npos);
    // A description says more than the options.
    CHECK(scene.mdcx(leg, "L: p:20, a:AMR\r\n" + leg.peer->sdp("0 8")).formats() == "0 8");
  }
}
