// How what comes on a circuit is paced: through a bad network, a worker that stands still, silence
// and a hand-over.

#include "tests/scenario/osmux_peer.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using mgw::DropCause;
using scenario::add_circuit;
using scenario::aligned_590;
using scenario::amr_leg;
using scenario::osmux_config;
using scenario::OsmuxLegAnswer;
using scenario::OsmuxPeer;
using scenario::Scene;
using scenario::speech_590;

TEST_CASE("through loss, jitter and duplicates what arrives is in order, even and nothing twice") {
  Scene scene(osmux_config());
  OsmuxPeer peer(scene, "203.0.113.1");
  const scenario::Leg a = scene.add_leg(amr_leg("a=fmtp:110 octet-align=1\r\n"));
  const OsmuxLegAnswer b = add_circuit(scene, peer, "2");
  io::SimLink& link = scene.world.network().link(sim::address("203.0.113.1", 0),
                                                 sim::address(sim::kGatewayHost, 0));
  link.loss = 0.02;
  link.jitter = 30ms;
  link.duplication = 0.02;
  link.reorder = true;
  constexpr std::uint32_t kChunks = 7500;  // 10 minutes
  for (std::uint32_t i = 0; i < kChunks; ++i) {
    peer.send_chunk(b.circuit, static_cast<std::uint8_t>(i), 4 * i);
    scene.run_for(80ms);
  }
  scene.run_for(1s);
  const auto& heard = a.peer->received();
  CHECK(heard.size() >= 4 * kChunks * 96 / 100);
  CHECK(heard.size() < 4 * kChunks);
  std::uint32_t last = 0;
  std::size_t uneven = 0;
  std::size_t followers = 0;
  for (std::size_t i = 1; i < heard.size(); ++i) {
    const auto octets = heard[i].payload;
    const std::uint32_t number =
        std::to_integer<std::uint32_t>(octets[2]) | std::to_integer<std::uint32_t>(octets[3]) << 8U;
    REQUIRE(number > last);
    if (number == last + 1) {
      ++followers;
      const auto apart = heard[i].at - heard[i - 1].at;
      uneven += apart < 19500us || apart > 20500us ? 1U : 0U;
    }
    last = number;
  }
  // Only a chunk that is later than any of the last seconds can't be played in time.
  CHECK(uneven * 1000 < followers);
}

TEST_CASE("a worker that stands still for 30 to 200 ms bunches and shifts nothing that follows") {
  Scene scene(osmux_config());
  OsmuxPeer peer(scene, "203.0.113.1");
  const scenario::Leg a = scene.add_leg(amr_leg("a=fmtp:110 octet-align=1\r\n"));
  const OsmuxLegAnswer b = add_circuit(scene, peer, "2");
  scene.world.network()
      .link(sim::address("203.0.113.1", 0), sim::address(sim::kGatewayHost, 0))
      .jitter = 20ms;
  std::vector<std::pair<io::TimePoint, io::TimePoint>> stalls;
  constexpr std::uint32_t kChunks = 1500;
  for (std::uint32_t i = 0; i < kChunks; ++i) {
    peer.send_chunk(b.circuit, static_cast<std::uint8_t>(i), 4 * i);
    if (i % 30 == 29 && i + 30 < kChunks) {
      const io::Duration offset = 1ms * (i * 7 % 80);
      scene.run_for(offset);
      const io::TimePoint begin = scene.world.clock().now();
      const io::TimePoint end = begin + 30ms + 1ms * (i * 13 % 171);
      scene.world.plane().stall(0, end);
      stalls.emplace_back(begin, end);
      scene.run_for(80ms - offset);
    } else {
      scene.run_for(80ms);
    }
  }
  scene.run_for(1s);
  const auto& heard = a.peer->received();
  REQUIRE(heard.size() == 4 * kChunks);
  std::size_t uneven = 0;
  std::size_t gaps = 0;
  for (std::size_t i = 1; i < heard.size(); ++i) {
    REQUIRE(heard[i].payload == aligned_590(static_cast<std::uint32_t>(i)));
    const bool disturbed = std::any_of(stalls.begin(), stalls.end(), [&](const auto& stall) {
      return heard[i].at >= stall.first && heard[i - 1].at <= stall.second + 2ms;
    });
    if (!disturbed) {
      ++gaps;
      const auto apart = heard[i].at - heard[i - 1].at;
      uneven += apart < 19500us || apart > 20500us ? 1U : 0U;
    }
  }
  CHECK(gaps > 5000);
  CHECK(uneven * 500 < gaps);
  CHECK(heard.back().at - heard.front().at < 20ms * (4 * kChunks) + 30ms);
}

TEST_CASE("silence over a circuit: descriptors and speech come as they were sent, both ways") {
  Scene scene(osmux_config());
  OsmuxPeer peer(scene, "203.0.113.1");
  const scenario::Leg a = scene.add_leg(amr_leg("a=fmtp:110 octet-align=1\r\n"));
  const OsmuxLegAnswer b = add_circuit(scene, peer, "2");
  rtp::OsmuxHeader header;
  header.circuit = b.circuit;
  header.frame_type = 8;
  const sim::Bytes descriptor(5, std::byte{0x5a});
  sim::Bytes silence = sim::from_hex("f044");
  silence.insert(silence.end(), descriptor.begin(), descriptor.end());
  std::uint8_t sequence = 0;
  for (int round = 0; round < 5; ++round) {
    peer.send_chunk(b.circuit, sequence++, 0);
    for (std::uint32_t i = 0; i < 4; ++i) {
      a.peer->send_packet(110, aligned_590(i));
      scene.run_for(20ms);
    }
    for (int i = 0; i < 6; ++i) {
      header.sequence = sequence++;
      sim::Bytes chunk(rtp::kOsmuxHeaderBytes);
      rtp::write_osmux_header(chunk, header);
      chunk.insert(chunk.end(), descriptor.begin(), descriptor.end());
      peer.send(chunk);
      a.peer->send_packet(110, silence);
      a.peer->timestamp += 7 * 160;
      scene.run_for(160ms);
    }
  }
  scene.run_for(200ms);
  peer.collect();
  const auto& heard = a.peer->received();
  REQUIRE(heard.size() == 50);
  REQUIRE(peer.speech.size() == 50);
  for (std::size_t i = 0; i < 50; ++i) {
    const bool speech = i % 10 < 4;
    const auto number = static_cast<std::uint32_t>(i % 10);
    CHECK(peer.speech[i].octets == (speech ? speech_590(number) : descriptor));
    CHECK(std::equal(heard[i].payload.begin() + 2, heard[i].payload.end(),
                     peer.speech[i].octets.begin()));
    CHECK((i == 0 || heard[i].at - heard[i - 1].at == (speech || i % 10 == 4 ? 20ms : 160ms) ||
           i % 10 == 0 || i % 10 == 4));
  }
  CHECK(scene.world.dropped() == 0);
}

TEST_CASE("a circuit handed over in mid-call: the new peer takes both directions up at once") {
  Scene scene(osmux_config());
  OsmuxPeer before(scene, "203.0.113.1");
  OsmuxPeer after(scene, "203.0.113.2");
  const scenario::Leg a = scene.add_leg(amr_leg("a=fmtp:110 octet-align=1\r\n"));
  const OsmuxLegAnswer b = add_circuit(scene, before, "2");
  after.set_target(b.leg.answer.media());
  const auto pass = [&](OsmuxPeer& peer, std::uint32_t first, std::uint8_t sequence) {
    peer.send_chunk(b.circuit, sequence, first);
    for (std::uint32_t i = 0; i < 4; ++i) {
      a.peer->send_packet(110, aligned_590(1000 + first + i));
      scene.run_for(20ms);
    }
  };
  for (std::uint32_t i = 0; i < 10; ++i) {
    pass(before, 4 * i, static_cast<std::uint8_t>(i));
  }
  CHECK(scene.mdcx(b.leg, "X-Osmux: 2\r\n" + after.sdp()).code == 200);
  before.send_chunk(b.circuit, 10, 4000);  // late
  for (std::uint32_t i = 10; i < 20; ++i) {
    pass(after, 4 * i, static_cast<std::uint8_t>(90 + i));
  }
  scene.run_for(200ms);
  const auto& heard = a.peer->received();
  REQUIRE(heard.size() == 80);
  for (std::uint32_t i = 0; i < 80; ++i) {
    CHECK(heard[i].payload == aligned_590(i));
    CHECK(heard[i].header.ssrc == heard[0].header.ssrc);
    CHECK(heard[i].header.sequence == static_cast<std::uint16_t>(heard[0].header.sequence + i));
    CHECK(heard[i].header.marker == (i == 0 || i == 40));
  }
  before.collect();
  after.collect();
  const auto first = static_cast<std::uint32_t>(80 - after.speech.size());
  for (std::uint32_t i = 0; i < after.speech.size(); ++i) {
    CHECK(after.speech[i].octets == speech_590(1000 + first + i));
  }
  for (std::uint32_t i = 0; i < before.speech.size(); ++i) {
    CHECK(before.speech[i].octets == speech_590(1000 + i));
  }
  CHECK(first == 40);
  CHECK(before.speech.size() >= 36);  // what waits for its batch when the peer goes is lost
  CHECK(scene.dropped(DropCause::unknown_source) == 1);
}
