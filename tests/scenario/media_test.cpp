// Media through whole calls: what arrives, at whom, with which numbers, and how it is counted.

#include "tests/scenario/log_file.h"
#include "tests/scenario/scene.h"

#include <chrono>
#include <map>

using namespace std::chrono_literals;
using mgw::DropCause;
using scenario::Call;
using scenario::Leg;
using scenario::LegOptions;
using scenario::Scene;

namespace {

LegOptions in_mode(std::string mode) {
  LegOptions options;
  options.mode = std::move(mode);
  return options;
}

/// The values of a P: line by name.
std::map<std::string, std::int64_t> statistics(const sim::Answer& answer) {
  std::map<std::string, std::int64_t> values;
  std::string text = answer.parameter("P");
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t equals = text.find('=', at);
    const std::size_t comma = std::min(text.find(", ", equals), text.size());
    values[text.substr(at, equals - at)] = std::stoll(text.substr(equals + 1, comma - equals - 1));
    at = comma + 2;
  }
  return values;
}

}  // namespace

TEST_CASE("an ordinary call carries voice both ways, in order, with the sender's numbers") {
  for (const std::uint32_t workers : {1U, 3U}) {
    sim::WorldOptions options;
    options.plane.workers = workers;
    options.plane.delay_max = 5ms;
    Scene scene(sim::small_config(), options);
    const Call call(scene);
    CHECK(talk(scene, call.a, call.b, 100));
    const auto& last = call.b.peer->received().back();
    CHECK(last.header.sequence == 199);
    CHECK(last.header.timestamp == 8000 + 99 * 160);
    CHECK(last.header.ssrc == call.a.peer->ssrc);
    CHECK(last.source == call.b.answer.media());
  }
}

TEST_CASE("sequence and timestamp wrap without loss or jitter") {
  Scene scene;
  const Call call(scene);
  call.a.peer->sequence = 65534;
  call.a.peer->timestamp = 0xffffff00;
  call.a.peer->stream(6, 8);
  scene.run_for(500ms);
  REQUIRE(call.b.peer->received().size() == 6);
  CHECK(call.b.peer->received()[1].header.sequence == 65535);
  CHECK(call.b.peer->received()[2].header.sequence == 0);
  auto counted = statistics(scene.dlcx(call.a));
  CHECK(counted["PR"] == 6);
  CHECK(counted["PL"] == 0);
  CHECK(counted["JI"] <= 8);
}

TEST_CASE("lost, doubled and swapped packets are counted right and relayed as they came") {
  Scene scene;
  const Call call(scene);
  sim::RtpPeer& peer = *call.a.peer;
  const std::vector<std::uint16_t> sent = {10, 11, 12, 14, 13, 15, 15, 18, 19};  // 16, 17 missing
  for (const std::uint16_t sequence : sent) {
    peer.sequence = sequence;
    peer.timestamp = sequence * 160U;
    peer.send_packet(8);
    scene.run_for(20ms);
  }
  REQUIRE(call.b.peer->received().size() == sent.size());
  for (std::size_t i = 0; i < sent.size(); ++i) {
    CHECK(call.b.peer->received()[i].header.sequence == sent[i]);
  }
  auto counted = statistics(scene.dlcx(call.a));
  CHECK(counted["PR"] == 9);
  CHECK(counted["OR"] == 9 * 45);
  CHECK(counted["PL"] == 2);
  auto other = statistics(scene.dlcx(call.b));
  CHECK(other["PS"] == 9);
  CHECK(other["OS"] == 9 * 45);
  CHECK(other["PR"] == 0);
  CHECK(other["PL"] == 0);
}

TEST_CASE("statistics count no foreign, malformed or RTCP packets, and sum over SSRC changes") {
  Scene scene;
  const Call call(scene);
  sim::RtpPeer& stranger = scene.world.add_peer();
  stranger.set_target(call.a.answer.media());
  call.a.peer->stream(10, 8);
  stranger.stream(10, 8);
  scene.run_for(500ms);
  call.a.peer->ssrc = 0x77;
  call.a.peer->sequence = 9000;
  call.a.peer->send_packet(8, {}, true);
  call.a.peer->stream(9, 8);
  call.a.peer->send_rtcp(sim::sender_report(0x77, 1, 2, 3));
  call.a.peer->send_rtp(sim::from_hex("80"));
  scene.run_for(500ms);
  auto counted = statistics(scene.dlcx(call.a));
  CHECK(counted["PR"] == 20);
  CHECK(counted["PL"] == 0);
  CHECK(scene.dropped(DropCause::unknown_source) == 10);
  CHECK(scene.dropped(DropCause::rtp_too_short) == 1);
}

TEST_CASE("under loss, doubling and reordering the numbers agree with what was really sent") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    CAPTURE(seed);
    sim::WorldOptions options;
    options.seed = seed;
    Scene scene(sim::small_config(), options);
    const Call call(scene);
    auto& link = scene.world.network().link(call.a.peer->local(), scene.world.gateway());
    link = {5ms, 60ms, 0.1, 0.1, true};
    call.a.peer->stream(500, 8);
    scene.run_for(11s);
    link = {};
    call.a.peer->send_packet(8);  // the last one arrives, so the number of lost ones is known
    scene.run_for(1s);
    const std::size_t arrived = call.b.peer->received().size();
    std::map<std::uint16_t, int> numbers;
    for (const auto& packet : call.b.peer->received()) {
      ++numbers[packet.header.sequence];
    }
    // Packets lost before the first one that came are not known of.
    const auto lost = static_cast<std::int64_t>(600 - numbers.begin()->first) + 1 -
                      static_cast<std::int64_t>(numbers.size());
    auto counted = statistics(scene.dlcx(call.a));
    CHECK(counted["PR"] == static_cast<std::int64_t>(arrived));
    CHECK(counted["PL"] == lost);
    CHECK(counted["JI"] > 0);
    CHECK(lost > 0);
  }
}

TEST_CASE("malformed packets of every kind are dropped and the call goes on") {
  Scene scene;
  const Call call(scene);
  for (const char* packet :
       {"", "23", "80", "4008000100000001000000010000", "8f0800010000000100000001",
        "900800010000000100000001", "a00800010000000100000001", "a008000100000001000000ff",
        "8008000100000001000000", "000100082112a4420102030405060708"}) {
    call.a.peer->send_rtp(sim::from_hex(packet));
    call.a.peer->send_rtcp(sim::from_hex(packet));
  }
  scene.run_for(100ms);
  CHECK(call.b.peer->received().empty());
  CHECK(call.b.peer->garbage() == 0);
  CHECK(talk(scene, call.a, call.b, 20));
}

TEST_CASE("a packet from elsewhere is dropped, counted and noted, unless everybody is accepted") {
  for (const auto check : {conf::SourceCheck::strict, conf::SourceCheck::any}) {
    const scenario::LogFile log;
    auto config = sim::small_config();
    config.endpoints.options.source = check;
    Scene scene(config);
    const Call call(scene);
    sim::RtpPeer& other_host = scene.world.add_peer();
    sim::RtpPeer& other_port = scene.world.add_peer_at(call.a.peer->local().with_port(7000));
    for (sim::RtpPeer* stranger : {&other_host, &other_port}) {
      stranger->set_target(call.a.answer.media());
      stranger->stream(50, 8);
    }
    scene.run_for(1500ms);
    const bool accepted = check == conf::SourceCheck::any;
    CHECK(call.b.peer->received().size() == (accepted ? 100U : 0U));
    CHECK(scene.dropped(DropCause::unknown_source) == (accepted ? 0U : 100U));
    // Once a second at most.
    CHECK(log.lines("cause=unknown_source") <= 2);
    CHECK((log.lines("cause=unknown_source") == 0) == accepted);
    CHECK(talk(scene, call.a, call.b, 10));
  }
}

TEST_CASE("each pair of modes lets through what the table of the modes says") {
  const std::vector<std::string> modes = {"recvonly", "sendonly", "sendrecv",
                                          "inactive", "loopback", "confecho"};
  for (const std::string& first : modes) {
    for (const std::string& second : modes) {
      CAPTURE(first);
      CAPTURE(second);
      Scene scene;
      const Call call(scene, in_mode(first), in_mode(second));
      call.a.peer->stream(4, 8);
      call.b.peer->stream(4, 8);
      scene.run_for(300ms);
      const auto takes = [](const std::string& mode) {
        return mode == "recvonly" || mode == "sendrecv" || mode == "confecho";
      };
      const auto sends = [](const std::string& mode) {
        return mode == "sendonly" || mode == "sendrecv" || mode == "confecho";
      };
      const auto echoes = [](const std::string& mode) {
        return mode == "loopback" || mode == "confecho";
      };
      const auto expect = [](bool flows) { return flows ? 4U : 0U; };
      CHECK(call.b.peer->count_from(1) == expect(takes(first) && sends(second)));
      CHECK(call.a.peer->count_from(2) == expect(takes(second) && sends(first)));
      CHECK(call.a.peer->count_from(1) == expect(echoes(first)));
      CHECK(call.b.peer->count_from(2) == expect(echoes(second)));
    }
  }
}

TEST_CASE("in a group the talker's packets reach the talker and each listener once") {
  Scene scene;
  const Leg talker = scene.add_leg(in_mode("confecho"));
  const Leg first = scene.add_leg(in_mode("sendonly"));
  const Leg second = scene.add_leg(in_mode("sendonly"));
  for (const Leg* leg : {&talker, &first, &second}) {
    leg->peer->stream(50, 8);
  }
  scene.run_for(1500ms);
  for (const Leg* leg : {&talker, &first, &second}) {
    CHECK(leg->peer->count_from(talker.peer->number()) == 50);
    CHECK(leg->peer->received().size() == 50);
    CHECK(leg->peer->disorder() == 0);
  }
}

TEST_CASE("with four legs in sendrecv everybody hears everybody else, until one leaves") {
  Scene scene;
  std::vector<Leg> legs;
  for (int i = 0; i < 4; ++i) {
    legs.push_back(scene.add_leg());
  }
  const auto speak = [&] {
    for (const Leg& leg : legs) {
      leg.peer->forget();
      leg.peer->stream(10, 8);
    }
    scene.run_for(400ms);
  };
  speak();
  for (const Leg& leg : legs) {
    CHECK(leg.peer->received().size() == 30);
    CHECK(leg.peer->count_from(leg.peer->number()) == 0);
  }
  CHECK(scene.dlcx(legs.back()).code == 250);
  legs.pop_back();
  speak();
  for (const Leg& leg : legs) {
    CHECK(leg.peer->received().size() == 20);
  }
}

TEST_CASE("loopback sends to the announced peer what it sent, and nothing to an unknown one") {
  Scene scene;
  LegOptions options = in_mode("loopback");
  options.formats = "112";
  options.attributes = "a=rtpmap:112 GSM-HR-08/8000/1\r\n";
  const Leg leg = scene.add_leg(options);
  for (const int type : {0, 112, 0, 112}) {
    leg.peer->send_packet(static_cast<std::uint8_t>(type), sim::from_hex("01020304"));
    scene.run_for(20ms);
  }
  REQUIRE(leg.peer->received().size() == 4);
  CHECK(leg.peer->received()[0].header.payload_type == 0);
  CHECK(leg.peer->received()[1].header.payload_type == 112);
  const auto implicit = scene.crcx("rtpbridge/2@mgw", "C: 1\r\nM: loopback\r\n");
  sim::RtpPeer& unannounced = scene.world.add_peer();
  unannounced.set_target(implicit.media());
  unannounced.stream(10, 8);
  scene.run_for(500ms);
  CHECK(unannounced.received().empty());
  CHECK(scene.dropped(DropCause::no_remote_address) == 10);
}

TEST_CASE("media flows only once both legs are in a mode for it") {
  Scene scene;
  const Call call(scene, in_mode("recvonly"), in_mode("recvonly"));
  call.a.peer->stream(500, 8);
  call.b.peer->stream(500, 8);
  scene.run_for(1s);
  CHECK(call.a.peer->received().empty());
  CHECK(call.b.peer->received().empty());
  CHECK(scene.mdcx(call.a, "M: sendrecv\r\n").code == 200);
  scene.run_for(1s);
  CHECK(call.a.peer->received().size() >= 49);
  CHECK(call.b.peer->received().empty());
  CHECK(scene.mdcx(call.b, "M: sendrecv\r\n").code == 200);
  scene.run_for(1s);
  CHECK(call.b.peer->received().size() >= 49);
  CHECK(scene.mdcx(call.a, "M: inactive\r\n").code == 200);
  scene.run_for(5ms);
  call.a.peer->forget();
  call.b.peer->forget();
  scene.run_for(1s);
  CHECK(call.a.peer->received().empty());
  CHECK(call.b.peer->received().empty());
}

TEST_CASE("RTCP goes from RTCP port to RTCP port as it is, or not at all if omitted") {
  for (const bool omit : {false, true}) {
    auto config = sim::small_config();
    config.endpoints.options.omit_rtcp = omit;
    Scene scene(config);
    const Call call(scene);
    const auto report = sim::sender_report(0x11, 160, 3, 99);
    call.a.peer->send_rtcp(report);
    scene.run_for(100ms);
    CHECK(call.b.peer->received_rtcp().size() == (omit ? 0U : 1U));
    CHECK(scene.dropped(DropCause::rtcp_omitted) == (omit ? 1U : 0U));
    if (!omit) {
      CHECK(call.b.peer->received_rtcp()[0] == report);
    }
  }
}

TEST_CASE("with SSRC patching a new source continues the timeline, and its reports agree") {
  auto config = sim::small_config();
  config.endpoints.options.patch.ssrc = true;
  Scene scene(config);
  const Call call(scene);
  sim::RtpPeer& peer = *call.a.peer;
  peer.ssrc = 0x11;
  peer.sequence = 1;
  peer.timestamp = 160;
  peer.send_packet(8);
  scene.run_for(20ms);
  peer.send_packet(8);
  scene.run_for(120ms);
  peer.ssrc = 0x22;
  peer.sequence = 500;
  peer.timestamp = 77777;
  peer.send_packet(8);
  scene.run_for(20ms);
  peer.send_packet(8);
  scene.run_for(20ms);
  peer.send_rtcp(sim::sender_report(0x22, 77937, 2, 66));
  call.b.peer->send_rtcp(sim::from_hex("80c9000100000099"));
  scene.run_for(100ms);
  const auto& got = call.b.peer->received();
  REQUIRE(got.size() == 4);
  const std::vector<std::pair<std::uint16_t, std::uint32_t>> expected = {
      {1, 160}, {2, 320}, {3, 1280}, {4, 1440}};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(got[i].header.ssrc == 0x11);
    CHECK(got[i].header.sequence == expected[i].first);
    CHECK(got[i].header.timestamp == expected[i].second);
  }
  REQUIRE(call.b.peer->received_rtcp().size() == 1);
  const auto report = call.b.peer->received_rtcp()[0];
  CHECK(report == [] {
    auto wanted = sim::sender_report(0x11, 1440, 4, 132);
    return wanted;
  }());
}

TEST_CASE("without patching a new source's numbers pass as they are") {
  Scene scene;
  const Call call(scene);
  call.a.peer->send_packet(8);
  call.a.peer->ssrc = 0x22;
  call.a.peer->sequence = 500;
  call.a.peer->send_packet(8);
  scene.run_for(100ms);
  REQUIRE(call.b.peer->received().size() == 2);
  CHECK(call.b.peer->received()[1].header.ssrc == 0x22);
  CHECK(call.b.peer->received()[1].header.sequence == 500);
}

TEST_CASE("keep-alives go out once per command or by the interval, to listeners only") {
  for (const auto mode :
       {conf::KeepAlive::Mode::off, conf::KeepAlive::Mode::once, conf::KeepAlive::Mode::interval}) {
    auto config = sim::small_config();
    config.endpoints.options.keep_alive = {mode, 2s};
    Scene scene(config);
    const Leg listening = scene.add_leg(in_mode("recvonly"));
    const Leg sending = scene.add_leg(in_mode("sendonly"));
    const Leg both = scene.add_leg(in_mode("sendrecv"));
    scene.run_for(7s);
    const bool on = mode != conf::KeepAlive::Mode::off;
    const std::size_t more = mode == conf::KeepAlive::Mode::interval ? 3 : 0;
    CHECK(listening.peer->keep_alives() == (on ? 1 : 0) + more);
    CHECK(listening.peer->rtcp_keep_alives() == (on ? 1 : 0) + more);
    CHECK(sending.peer->keep_alives() == 0);
    CHECK(both.peer->keep_alives() == (on ? 1 : 0));
    CHECK(scene.mdcx(both, "M: sendrecv\r\n").code == 200);
    scene.run_for(100ms);
    CHECK(both.peer->keep_alives() == (on ? 2 : 0));
    CHECK(listening.peer->received().empty());
  }
}

TEST_CASE(
    "a burst is carried in order by a link that can't take it at once, or cut, never swapped") {
  conf::Config config = sim::small_config();
  config.endpoints.options.packets_per_second = 0;
  Scene scene(config);
  const Call call(scene);
  auto& slow = scene.world.network().link(scene.world.gateway(), call.b.peer->local());
  slow.bytes_per_second = 2'000;
  for (int i = 0; i < 6'000; ++i) {
    call.a.peer->send_packet(8);
    if (i % 50 == 49) {
      scene.run_for(1ms);
    }
  }
  scene.run_for(200s);
  CHECK(call.b.peer->disorder() == 0);
  CHECK(call.b.peer->received().size() > 1'000);
  CHECK(call.b.peer->received().size() < 6'000);
  CHECK(scene.world.plane().backend(0).counters().send_would_block.value() > 0);
}
