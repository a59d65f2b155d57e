// Taps: copies of what a leg receives and sends, to an address and into a file, on and off again.

#include "io/sim_network.h"
#include "mgw/pcap_format.h"
#include "rtp/byte_order.h"
#include "tests/scenario/e1_speech.h"
#include "tests/scenario/iuup_peer.h"
#include "tests/scenario/osmux_peer.h"
#include "tests/sim/temporary_directory.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>

using namespace std::chrono_literals;
using mgw::DropCause;
using scenario::Call;
using scenario::Leg;
using scenario::LegOptions;
using scenario::Scene;
using sim::Bytes;

namespace {

constexpr std::string_view kListener = "198.18.0.1";

conf::Config tap_config(const std::string& directory = {}) {
  conf::Config config = sim::small_config();
  config.taps.udp_allow = {conf::IpNetwork::parse("198.18.0.0/15").value()};
  config.taps.directory = directory;
  return config;
}

/// What a listener got: who sent it and what it was.
struct Copy {
  io::SocketAddress source;
  Bytes bytes;
};

std::vector<Copy> copies(io::SimPeer& listener) {
  std::vector<Copy> all;
  while (const auto datagram = listener.receive()) {
    all.push_back({datagram->source, datagram->bytes});
  }
  return all;
}

/// One packet of a capture file.
struct Captured {
  std::chrono::nanoseconds time;
  io::SocketAddress source;
  io::SocketAddress destination;
  Bytes bytes;
};

io::SocketAddress address_at(const std::byte* host, bool ipv6, const std::byte* port) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(ipv6 ? AF_INET6 : AF_INET, host, text.data(), text.size());
  return sim::address(text.data(), rtp::load_u16(port));
}

std::vector<Captured> read_capture(const std::string& file) {
  const auto* bytes = reinterpret_cast<const std::byte*>(file.data());
  REQUIRE(file.size() >= mgw::kPcapHeaderBytes);
  std::vector<Captured> packets;
  for (std::size_t at = mgw::kPcapHeaderBytes; at < file.size();) {
    const std::size_t size = rtp::load_u32(bytes + at + 8);
    REQUIRE(at + 16 + size <= file.size());
    const std::byte* ip = bytes + at + 16;
    const bool ipv6 = ip[0] == std::byte{0x60};
    const std::byte* udp = ip + (ipv6 ? 40 : 20);
    Captured& packet = packets.emplace_back();
    packet.time = std::chrono::seconds(rtp::load_u32(bytes + at)) +
                  std::chrono::nanoseconds(rtp::load_u32(bytes + at + 4));
    packet.source = address_at(ip + (ipv6 ? 8 : 12), ipv6, udp);
    packet.destination = address_at(ip + (ipv6 ? 24 : 16), ipv6, udp + 2);
    packet.bytes.assign(udp + 8, ip + size);
    at += 16 + size;
  }
  return packets;
}

void drain(Scene& scene) {
  scene.world.taps().writer()->drain();
}

std::uint64_t tapped(Scene& scene) {
  return scene.world.plane().counters(0).tapped.value();
}

Bytes octets_of(const sim::ArrivedRtp& arrived) {
  return sim::rtp_packet(arrived.header, arrived.payload);
}

std::string tap(std::string_view value) {
  return fmt::format("X-Mgw-Tap: {}\r\n", value);
}

LegOptions amr(std::string_view octet_align) {
  LegOptions options;
  options.formats = "112";
  options.attributes =
      fmt::format("a=rtpmap:112 AMR/8000\r\na=fmtp:112 octet-align={}\r\n", octet_align);
  return options;
}

}  // namespace

TEST_CASE("a leg's packets go to an address: as they came in, and as they leave") {
  Scene scene(tap_config());
  const Call call(scene);
  io::SimPeer listener(scene.world.network(), sim::address(kListener, 5000));
  for (const std::string_view directions : {"in", "out", "both"}) {
    CAPTURE(directions);
    CHECK(scene.mdcx(call.a, tap("off")).parameter("X-Mgw-Tap") == "off");
    const auto answer = scene.mdcx(call.a, tap(fmt::format("{} udp 198.18.0.1:5000", directions)));
    CHECK(answer.code == 200);
    CHECK(answer.parameter("X-Mgw-Tap") == fmt::format("{} udp 198.18.0.1:5000", directions));
    call.a.peer->forget();
    const Bytes report = sim::sender_report(0x11, 160, 3, 99);
    CHECK(talk(scene, call.a, call.b, 5));
    call.a.peer->send_rtcp(report);
    scene.run_for(100ms);
    std::vector<Copy> got = copies(listener);
    std::size_t in = 0;
    std::size_t out = 0;
    for (const Copy& copy : got) {
      CHECK(copy.source.same_host(scene.world.gateway()));
      if (copy.bytes == report) {
        ++in;
        CHECK(copy.source.port() == call.a.answer.media().port() + 1);  // the RTCP socket
        continue;
      }
      CHECK(copy.source.port() == call.a.answer.media().port());
      const auto& arrived = call.a.peer->received();
      const bool is_out = std::any_of(arrived.begin(), arrived.end(), [&](const auto& packet) {
        return octets_of(packet) == copy.bytes;
      });
      ++(is_out ? out : in);
    }
    CHECK(in == (directions == "out" ? 0U : 6U));
    CHECK(out == (directions == "in" ? 0U : 5U));
  }
  CHECK(scene.mdcx(call.a, tap("off")).parameter("X-Mgw-Tap") == "off");
  const std::uint64_t before = tapped(scene);
  CHECK(talk(scene, call.a, call.b, 5));
  CHECK(copies(listener).empty());
  CHECK(tapped(scene) == before);
}

TEST_CASE("out copies are converted, in copies are not, and neither disturbs the call") {
  Scene scene(tap_config());
  const Leg a = scene.add_leg(amr("0"));
  const Leg b = scene.add_leg(amr("1"));
  io::SimPeer inside(scene.world.network(), sim::address(kListener, 5000));
  io::SimPeer outside(scene.world.network(), sim::address(kListener, 5002));
  CHECK(scene.mdcx(a, tap("in udp 198.18.0.1:5000")).code == 200);
  CHECK(scene.mdcx(b, tap("out udp 198.18.0.1:5002")).code == 200);
  const Bytes efficient = sim::from_hex("217a567cd7f7f97a599ffef022206022");
  a.peer->send_packet(112, efficient);
  scene.run_for(100ms);
  const auto in = copies(inside);
  const auto out = copies(outside);
  REQUIRE(b.peer->received().size() == 1);
  REQUIRE(in.size() == 1);
  REQUIRE(out.size() == 1);
  CHECK(Bytes(in[0].bytes.begin() + 12, in[0].bytes.end()) == efficient);
  CHECK(out[0].bytes == octets_of(b.peer->received()[0]));
  CHECK(b.peer->received()[0].payload == sim::from_hex("2014e959f35fdfe5e9667ffbc088818088"));
}

TEST_CASE("only packets that were accepted are tapped") {
  Scene scene(tap_config());
  const Call call(scene);
  io::SimPeer listener(scene.world.network(), sim::address(kListener, 5000));
  CHECK(scene.mdcx(call.a, tap("in udp 198.18.0.1:5000")).code == 200);
  sim::RtpPeer& stranger = scene.world.add_peer();
  stranger.set_target(call.a.answer.media());
  stranger.stream(5, 8);
  call.a.peer->send_rtp(sim::from_hex("80"));
  scene.run_for(500ms);
  CHECK(copies(listener).empty());
  // What the mode does not take is still received.
  CHECK(scene.mdcx(call.a, "M: sendonly\r\n").code == 200);
  call.a.peer->stream(3, 8);
  scene.run_for(500ms);
  CHECK(copies(listener).size() == 3);
}

TEST_CASE("a capture file has both directions, RTP and RTCP, with addresses and times") {
  const sim::TemporaryDirectory directory;
  conf::Config config = tap_config(directory.path());
  config.rtp.bind_v6 = sim::kGatewayHost6;
  Scene scene(config);
  const Leg a = scene.add_leg();
  const Leg b = scene.add_leg({}, scene.world.add_peer(io::AddressFamily::ipv6));
  CHECK(scene.mdcx(a, tap("both pcap four.pcap")).code == 200);
  const auto answer = scene.mdcx(b, tap("both pcap four.pcap"));
  CHECK(answer.parameter("X-Mgw-Tap") == "both pcap four-1.pcap");
  CHECK(talk(scene, a, b, 10));
  a.peer->send_rtcp(sim::sender_report(0x11, 160, 3, 99));
  scene.run_for(100ms);
  CHECK(scene.mdcx(a, tap("off")).code == 200);
  scene.dlcx(b);
  drain(scene);
  CHECK(scene.world.taps().writer()->files() == 0);
  CHECK(scene.world.taps().active() == 0);
  for (const Leg* leg : {&a, &b}) {
    const auto packets = read_capture(directory.read(leg == &a ? "four.pcap" : "four-1.pcap"));
    CHECK(packets.size() == 21);
    const io::SocketAddress local = leg->answer.media();
    const io::SocketAddress peer = leg->peer->local();
    std::size_t in = 0;
    std::chrono::nanoseconds last{};
    for (const Captured& packet : packets) {
      const std::uint16_t step = rtp::load_u16(packet.bytes.data()) == 0x80c8 ? 1 : 0;
      const auto port = [step](const io::SocketAddress& rtp) {
        return rtp.with_port(static_cast<std::uint16_t>(rtp.port() + step));
      };
      in += packet.destination == port(local) ? 1U : 0U;
      CHECK((packet.destination == port(local)
                 ? packet.source == port(peer)
                 : packet.source == port(local) && packet.destination == port(peer)));
      CHECK(packet.time >= last);
      CHECK(packet.time >= 1'577'836'800s);
      CHECK(packet.time < 1'577'840'000s);
      last = packet.time;
    }
    CHECK(in == (leg == &a ? 11U : 10U));
    CHECK(packets.back().bytes == sim::sender_report(0x11, 160, 3, 99));
  }
}

TEST_CASE("a tap can begin with the connection and end with it, however it ends") {
  const sim::TemporaryDirectory directory;
  conf::Config config = tap_config(directory.path());
  config.endpoints.options.connection_timeout = 1s;
  Scene scene(config);
  for (const std::string_view end : {"delete", "endpoint", "timeout", "force"}) {
    CAPTURE(end);
    sim::RtpPeer& peer = scene.world.add_peer();
    const auto answer = scene.crcx(
        "rtpbridge/1@mgw", fmt::format("C: 1\r\nM: loopback\r\n{}{}",
                                       tap(fmt::format("both pcap {}", end)), peer.sdp("8")));
    REQUIRE(answer.code == 200);
    CHECK(answer.parameter("X-Mgw-Tap") == fmt::format("both pcap {}", end));
    peer.set_target(answer.media());
    peer.stream(5, 8);
    scene.run_for(200ms);
    CHECK(scene.world.taps().active() == 1);
    if (end == "delete") {
      scene.dlcx("rtpbridge/1@mgw", fmt::format("I: {}\r\n", answer.parameter("I")));
    } else if (end == "timeout") {
      scene.run_for(2s);
    } else {
      scene.dlcx(end == "force" ? "rtpbridge/*@mgw" : "rtpbridge/1@mgw");
    }
    CHECK(scene.world.taps().active() == 0);
    drain(scene);
    CHECK(scene.world.taps().writer()->files() == 0);
    CHECK(read_capture(directory.read(std::string(end))).size() == 10);
  }
}

TEST_CASE("an MDCX with a tap alone changes nothing else, and a refused one nothing at all") {
  conf::Config config = tap_config();
  config.endpoints.options.keep_alive.mode = conf::KeepAlive::Mode::once;
  Scene scene(config);
  const Call call(scene);
  scene.run_for(100ms);
  const std::size_t keep_alives = call.a.peer->keep_alives();
  const auto audit = [&] {
    const std::string text =
        scene.world
            .command(scene.agent, "AUCX", call.a.endpoint,
                     fmt::format("I: {}\r\nF: C,M,L,LC,RC\r\n", call.a.connection))
            .text;
    return text.substr(text.find('\n'));
  };
  const std::string before = audit();
  CHECK(scene.mdcx(call.a, tap("in udp 198.18.0.1:5000")).code == 200);
  CHECK(audit() == before);
  scene.run_for(100ms);
  CHECK(call.a.peer->keep_alives() == keep_alives);
  for (const auto& [value, code] :
       {std::pair("in udp 192.0.2.9:5000", 539), std::pair("in udp 198.18.0.1", 510),
        std::pair("in pcap a", 539), std::pair("", 510), std::pair("in pcap ../a", 510)}) {
    CAPTURE(value);
    CHECK(scene.mdcx(call.a, tap(value) + "M: inactive\r\n").code == code);
    CHECK(audit() == before);
  }
  const auto asked =
      scene.world.command(scene.agent, "AUCX", call.a.endpoint,
                          fmt::format("I: {}\r\nF: X-Mgw-Tap\r\n", call.a.connection));
  CHECK(asked.parameter("X-Mgw-Tap") == "in udp 198.18.0.1:5000");
  const auto refused = scene.crcx("rtpbridge/2@mgw", "C: 9\r\nM: recvonly\r\n" + tap("in pcap a"));
  CHECK(refused.code == 539);
  CHECK(scene.world.endpoints_used() == 1);
}

TEST_CASE("a command that is refused for its circuit leaves no capture file") {
  const sim::TemporaryDirectory directory;
  conf::Config config = tap_config(directory.path());
  config.osmux.mode = conf::OsmuxMode::on;
  Scene scene(config);
  scenario::OsmuxPeer peer(scene, "203.0.113.1");
  static_cast<void>(add_circuit(scene, peer, "7"));
  const auto other = add_circuit(scene, peer, "*", "rtpbridge/2@mgw");
  const std::string wanted = "X-Osmux: 7\r\n" + tap("in pcap refused");
  CHECK(scene.mdcx(other.leg, wanted).code == 500);
  CHECK(scene.crcx("rtpbridge/3@mgw", "C: 3\r\nM: recvonly\r\n" + wanted + peer.sdp()).code == 500);
  drain(scene);
  CHECK(directory.files() == 0);
  CHECK(scene.mdcx(other.leg, "X-Osmux: 8\r\n" + tap("in pcap refused")).code == 200);
  drain(scene);
  CHECK(directory.files() == 1);
}

TEST_CASE("what nobody asked a tap for is answered as ever") {
  Scene scene(tap_config());
  const Call call(scene);
  CHECK(scene.mdcx(call.a, tap("in udp 198.18.0.1:5000")).code == 200);
  const auto answer = scene.mdcx(call.a, "M: sendrecv\r\n");
  CHECK(answer.code == 200);
  CHECK(answer.text.find("X-Mgw") == std::string::npos);
}

TEST_CASE("a writer that stands still costs copies, which are counted, and no packet of the call") {
  const sim::TemporaryDirectory directory;
  Scene scene(tap_config(directory.path()));
  const Call call(scene);
  CHECK(scene.mdcx(call.a, tap("both pcap a")).code == 200);
  constexpr std::uint32_t kPackets = 600;
  CHECK(talk(scene, call.a, call.b, kPackets));
  CHECK(scene.dropped(DropCause::tap_overrun) == 2 * kPackets - mgw::TapQueue::kRecords);
  drain(scene);
  CHECK(talk(scene, call.a, call.b, 10));
  CHECK(scene.dropped(DropCause::tap_overrun) == 2 * kPackets - mgw::TapQueue::kRecords);
  scene.mdcx(call.a, tap("off"));
  drain(scene);
  CHECK(read_capture(directory.read("a")).size() == mgw::TapQueue::kRecords + 20);
}

TEST_CASE("taps get no buffer that media may need") {
  sim::WorldOptions options;
  options.plane.buffers = 64;
  Scene scene(tap_config(), options);
  const Call call(scene);
  CHECK(scene.mdcx(call.a, tap("both udp 198.18.0.1:5000")).code == 200);
  CHECK(scene.mdcx(call.b, tap("both udp 198.18.0.1:5000")).code == 200);
  // More at once than there are buffers for packets and both of their copies.
  for (int i = 0; i < 40; ++i) {
    call.a.peer->send_packet(8);
  }
  scene.run_for(500ms);
  CHECK(call.b.peer->received().size() == 40);
  CHECK(scene.dropped(DropCause::no_buffer) == 0);
  CHECK(scene.dropped(DropCause::tap_overrun) > 0);
  CHECK(scene.world.dropped() == scene.dropped(DropCause::tap_overrun));
}

TEST_CASE("a file that is full costs no more copies and drops none") {
  const sim::TemporaryDirectory directory;
  conf::Config config = tap_config(directory.path());
  config.taps.file_max_bytes = 65536;
  Scene scene(config);
  const Call call(scene);
  CHECK(scene.mdcx(call.a, tap("both pcap a")).code == 200);
  for (int i = 0; i < 6; ++i) {
    CHECK(talk(scene, call.a, call.b, 100));
    drain(scene);
  }
  const std::uint64_t copied = tapped(scene);
  CHECK(directory.read("a").size() <= 65536);
  CHECK(talk(scene, call.a, call.b, 100));
  CHECK(tapped(scene) == copied);
  CHECK(scene.world.dropped() == 0);
}

TEST_CASE("a tapped leg that moves to another local address is captured there") {
  const sim::TemporaryDirectory directory;
  conf::Config config = tap_config(directory.path());
  config.rtp.bind_v6 = sim::kGatewayHost6;
  Scene scene(config);
  const Leg a = scene.add_leg();
  const Leg b = scene.add_leg();
  io::SimPeer listener(scene.world.network(), sim::address(kListener, 5000));
  CHECK(scene.mdcx(a, tap("in pcap moved")).code == 200);
  CHECK(scene.mdcx(a, tap("out udp 198.18.0.1:5000")).code == 200);
  CHECK(talk(scene, a, b, 5));
  sim::RtpPeer& elsewhere = scene.world.add_peer(io::AddressFamily::ipv6);
  const auto answer = scene.mdcx(a, elsewhere.sdp("8"));
  REQUIRE(answer.code == 200);
  elsewhere.set_target(answer.media());
  elsewhere.stream(5, 8);
  b.peer->stream(5, 8);
  scene.run_for(500ms);
  CHECK(copies(listener).size() == 5);  // IPv4 can't be reached from there any more
  CHECK(scene.world.dropped() == 0);
  scene.dlcx(a);
  drain(scene);
  const auto packets = read_capture(directory.read("moved"));
  REQUIRE(packets.size() == 10);
  CHECK(packets.front().destination == a.answer.media());
  CHECK(packets.back().destination == answer.media());
  CHECK(packets.back().source == elsewhere.local());
}

TEST_CASE("an IuUP leg is captured as it is on the line, a circuit as the RTP that it stands for") {
  const sim::TemporaryDirectory directory;
  conf::Config config = tap_config(directory.path());
  config.osmux.mode = conf::OsmuxMode::on;
  Scene scene(config);
  LegOptions options;
  options.formats = "96";
  options.attributes = "a=rtpmap:96 VND.3GPP.IUFP/16000\r\n";
  const Leg a = scene.add_leg(options);
  scenario::IuupPeer first(*a.peer);
  scenario::OsmuxPeer second(scene, "203.0.113.201");
  const auto b = scenario::add_circuit(scene, second, "7");
  CHECK(scene.mdcx(a, tap("both pcap iuup")).code == 200);
  CHECK(scene.mdcx(b.leg, "X-Osmux: 7\r\n" + tap("both pcap osmux")).code == 200);

  rtp::IuupConfiguration set;
  set.rfcis[0] = {0, 0, {55, 63, 0}};
  set.rfcis[1] = {2, 0, {0, 0, 0}};
  set.rfci_count = 2;
  set.subflow_count = 3;
  set.versions = 1;
  first.initialise(scene, set);
  run(scene, {&first}, 50ms);
  for (std::uint32_t number = 0; number < 8; ++number) {
    first.send(scene, 0, scenario::speech_590(number));
    run(scene, {&first}, 20ms);
  }
  second.send_chunk(b.circuit, 0, 100);
  run(scene, {&first}, 500ms);
  scene.dlcx(a);
  scene.dlcx(b.leg);
  drain(scene);

  const auto iuup = read_capture(directory.read("iuup"));
  CHECK(iuup.size() == 2 + 8 + 4);  // the initialisation and its answer, and what was said
  for (const Captured& packet : iuup) {
    CHECK(rtp::parse_iuup(std::span(packet.bytes).subspan(rtp::kRtpHeaderBytes)));
  }
  const auto osmux = read_capture(directory.read("osmux"));
  REQUIRE(osmux.size() == 8 + 4);
  std::size_t spoken = 0;
  for (const Captured& packet : osmux) {
    REQUIRE(packet.bytes.size() == rtp::kRtpHeaderBytes + 17);
    const Bytes payload(packet.bytes.begin() + rtp::kRtpHeaderBytes, packet.bytes.end());
    spoken += payload == scenario::aligned_590(static_cast<std::uint32_t>(spoken)) ? 1U : 0U;
  }
  CHECK(spoken == 8);
}

TEST_CASE("the leg of an E1 endpoint is tapped: what goes to the line, and what comes from it") {
  const sim::TemporaryDirectory directory;
  conf::Config config = tap_config(directory.path());
  config.e1.virtual_lines = true;
  config.e1.wiring = conf::E1Wiring::timeslot_pairs;
  Scene scene(config);
  const scenario::Speech& speech = scenario::kSpeech[1];
  const auto endpoint = [](int timeslot) { return scenario::endpoint_on(timeslot, "16-2"); };
  const Leg a = scene.add_leg(scenario::on(endpoint(1), speech));
  const Leg b = scene.add_leg(scenario::on(endpoint(2), speech));
  io::SimPeer listener(scene.world.network(), sim::address(kListener, 5000));
  scene.run_for(100ms);
  CHECK(scene.mdcx(a, tap("both pcap line")).code == 200);
  CHECK(scene.mdcx(b, tap("in udp 198.18.0.1:5000")).code == 200);
  a.peer->forget();
  scenario::talk_both(scene, speech, a, b, 20);
  scenario::check_heard(a, speech, 2, 20);
  scenario::check_heard(b, speech, 1, 20);
  const std::size_t came_from_line = a.peer->received().size();
  CHECK(scene.mdcx(a, tap("off")).code == 200);
  drain(scene);

  std::size_t said = 0;
  std::size_t heard = 0;
  for (const Captured& packet : read_capture(directory.read("line"))) {
    REQUIRE(packet.bytes.size() == rtp::kRtpHeaderBytes + speech.size);
    const bool is_said = packet.source == a.peer->local();
    if (is_said) {
      const Bytes payload(packet.bytes.begin() + rtp::kRtpHeaderBytes, packet.bytes.end());
      CHECK(payload == scenario::frame_of(speech, 1, static_cast<unsigned>(said)));
      CHECK(packet.destination == a.answer.media());
    } else {
      CHECK(packet.bytes == octets_of(a.peer->received().at(heard)));
    }
    ++(is_said ? said : heard);
  }
  CHECK(said == 20);
  CHECK(heard == came_from_line);
  CHECK(copies(listener).size() == 20);
}
