// What IuUP legs carry: all modes of AMR and AMR-WB, silence, quality, frames under other numbers,
// and ten minutes over a bad network.

#include "tests/scenario/amr_frames.h"
#include "tests/scenario/iuup_peer.h"

#include <chrono>
#include <cstring>
#include <set>

using namespace std::chrono_literals;
using mgw::DropCause;
using rtp::IuupFrameQuality;
using rtp::IuupState;
using scenario::amr_payload;
using scenario::AmrMode;
using scenario::IuupPeer;
using scenario::kAmrModes;
using scenario::kAmrWbModes;
using scenario::kIuup;
using scenario::Leg;
using scenario::rfcis_of;
using scenario::Scene;
using scenario::speech_bits;
using scenario::with;

namespace {

constexpr unsigned kNoRequest = 15;
/// Index of AMR 12.2, of SID and of NO_DATA in kAmrModes.
constexpr std::size_t kSpeech = 7;
constexpr std::size_t kSid = 8;
constexpr std::size_t kNoData = 9;

/// An IuUP leg and an RTP leg of one call, initialised by the IuUP peer.
struct MixedCall {
  MixedCall(Scene& scene, const rtp::IuupConfiguration& set, const std::string& attributes)
      : a(scene.add_leg(with("96", kIuup))),
        b(scene.add_leg(with("112", attributes))),
        peer(*a.peer) {
    peer.initialise(scene, set);
    run(scene, {&peer}, 50ms);
    REQUIRE(peer.link().state() == IuupState::ready);
  }
  Leg a;
  Leg b;
  IuupPeer peer;
};

template <std::size_t Count>
void check_modes(const std::array<AmrMode, Count>& modes, const std::string& attributes,
                 bool aligned) {
  CAPTURE(attributes);
  Scene scene;
  MixedCall call(scene, rfcis_of(modes, 3), attributes);
  std::vector<sim::Bytes> in_rtp;
  std::vector<scenario::ArrivedFrame> in_iuup;
  for (std::size_t i = 0; i < Count; ++i) {
    for (const bool good : {true, false}) {
      if (!good && modes[i].bits() == 0) {
        continue;
      }
      const sim::Bytes speech = speech_bits(modes[i].bits(), static_cast<std::uint32_t>(i));
      const auto rfci = static_cast<std::uint8_t>(3 + i);
      const auto quality = good ? IuupFrameQuality::good : IuupFrameQuality::bad;
      in_rtp.push_back(
          amr_payload(aligned, kNoRequest, modes[i].type, good, speech, modes[i].bits()));
      in_iuup.push_back({0, quality, rfci, speech});
      call.peer.send(scene, rfci, speech, quality);
      call.b.peer->send_packet(112, in_rtp.back());
      run(scene, {&call.peer}, 20ms);
    }
  }
  run(scene, {&call.peer}, 50ms);
  REQUIRE(call.b.peer->received().size() == in_rtp.size());
  REQUIRE(call.peer.frames().size() == in_iuup.size());
  for (std::size_t i = 0; i < in_rtp.size(); ++i) {
    CAPTURE(i);
    CHECK(call.b.peer->received()[i].payload == in_rtp[i]);
    CHECK(call.peer.frames()[i].payload == in_iuup[i].payload);
    CHECK(call.peer.frames()[i].rfci == in_iuup[i].rfci);
    CHECK(call.peer.frames()[i].quality == in_iuup[i].quality);
  }
}

/// Where each of the packets stands after the first, in frames; they must be on the grid.
std::vector<std::uint32_t> places(const sim::RtpPeer& peer, std::uint32_t ticks) {
  std::vector<std::uint32_t> found;
  for (const sim::ArrivedRtp& packet : peer.received()) {
    const std::uint32_t distance = packet.header.timestamp - peer.received()[0].header.timestamp;
    CHECK(distance % ticks == 0);
    found.push_back(distance / ticks);
  }
  return found;
}

/// Speech, then silence as UMTS sends it (SID_FIRST, after 60 ms an update, then each 160 ms), then
/// speech again: the frame type's index and its place in time.
constexpr std::array<std::pair<std::size_t, std::uint32_t>, 10> kTalk = {{{kSpeech, 0},
                                                                          {kSpeech, 1},
                                                                          {kSpeech, 2},
                                                                          {kSid, 3},
                                                                          {kSid, 6},
                                                                          {kSid, 14},
                                                                          {kSid, 22},
                                                                          {kSpeech, 27},
                                                                          {kSpeech, 28},
                                                                          {kNoData, 29}}};

constexpr std::uint32_t kTenMinutes = 30'000;  // frames

/// Speech that tells its index.
sim::Bytes numbered_speech(std::uint32_t index) {
  sim::Bytes speech = speech_bits(244, 9);
  std::memcpy(speech.data(), &index, sizeof index);
  return speech;
}

std::uint32_t index_of(const sim::Bytes& speech) {
  std::uint32_t index = 0;
  std::memcpy(&index, speech.data(), sizeof index);
  return index;
}

/// Losses of 2 %, doubles, and jitter that changes the order, on all four ways.
void spoil_links(Scene& scene, const MixedCall& call) {
  io::SimNetwork& network = scene.world.network();
  const io::SocketAddress gateway = call.a.answer.media();
  for (const Leg* leg : {&call.a, &call.b}) {
    for (io::SimLink* link :
         {&network.link(leg->peer->local(), gateway), &network.link(gateway, leg->peer->local())}) {
      link->delay = 20ms;
      link->jitter = 30ms;
      link->loss = 0.02;
      link->duplication = 0.01;
      link->reorder = true;
    }
  }
}

/// Different speech frames that arrived; each must be whole and at its place in time.
std::size_t count_speech(const sim::RtpPeer& peer) {
  constexpr std::size_t kSpeechBytes = 31;
  std::set<std::uint32_t> arrived;
  std::uint32_t start = 0;
  for (const sim::ArrivedRtp& packet : peer.received()) {
    if (packet.payload.size() <= kSpeechBytes) {
      continue;
    }
    sim::Bytes speech(kSpeechBytes);
    for (std::size_t i = 0; i < kSpeechBytes; ++i) {  // 10 bits stand before the speech
      const std::byte next = i + 2 < packet.payload.size() ? packet.payload[i + 2] : std::byte{};
      speech[i] = packet.payload[i + 1] << 2U | next >> 6U;
    }
    speech[kSpeechBytes - 1] &= std::byte{0xf0};
    const std::uint32_t index = index_of(speech);
    REQUIRE(speech == numbered_speech(index));
    if (arrived.empty()) {
      start = packet.header.timestamp - index * 160;
    }
    REQUIRE(packet.header.timestamp == start + index * 160);
    arrived.insert(index);
  }
  return arrived.size();
}

std::size_t count_speech(const IuupPeer& peer) {
  std::set<std::uint32_t> arrived;
  std::uint32_t start = 0;
  for (const scenario::ArrivedFrame& frame : peer.frames()) {
    if (frame.rfci != kSpeech) {
      continue;
    }
    const std::uint32_t index = index_of(frame.payload);
    REQUIRE(frame.payload == numbered_speech(index));
    if (arrived.empty()) {
      start = (frame.frame_number + 16 - index % 16) % 16;
    }
    REQUIRE(frame.frame_number == (start + index) % 16);
    arrived.insert(index);
  }
  return arrived.size();
}

}  // namespace

TEST_CASE("every AMR mode, good and bad, crosses bit by bit between IuUP and each form of RTP") {
  check_modes(kAmrModes, "a=rtpmap:112 AMR/8000\r\na=fmtp:112 octet-align=1\r\n", true);
  check_modes(kAmrModes, "a=rtpmap:112 AMR/8000\r\na=fmtp:112 octet-align=0\r\n", false);
  check_modes(kAmrModes, "a=rtpmap:112 AMR/8000\r\n", false);
}

TEST_CASE("every AMR-WB mode, good and bad, crosses bit by bit between IuUP and each form of RTP") {
  check_modes(kAmrWbModes, "a=rtpmap:112 AMR-WB/16000\r\na=fmtp:112 octet-align=1\r\n", true);
  check_modes(kAmrWbModes, "a=rtpmap:112 AMR-WB/16000\r\na=fmtp:112 octet-align=0\r\n", false);
  check_modes(kAmrWbModes, "a=rtpmap:112 AMR-WB/16000\r\n", false);
}

TEST_CASE("pauses of silence stand in the timestamps towards RTP, by frame numbers or by time") {
  for (const bool by_time : {true, false}) {
    CAPTURE(by_time);
    Scene scene;
    MixedCall call(scene, rfcis_of(kAmrModes, 0, by_time),
                   "a=rtpmap:112 AMR/8000\r\na=fmtp:112 octet-align=1\r\n");
    std::vector<std::uint32_t> sent;
    std::uint32_t time = 0;
    for (const auto& [mode, place] : kTalk) {
      run(scene, {&call.peer}, (place - time) * 20ms);
      time = place;
      sent.push_back(place);
      call.peer.send(scene, static_cast<std::uint8_t>(mode),
                     speech_bits(kAmrModes[mode].bits(), place));
    }
    run(scene, {&call.peer}, 50ms);
    CHECK(places(*call.b.peer, 160) == sent);
    const auto& received = call.b.peer->received();
    for (std::size_t i = 0; i < received.size(); ++i) {
      CHECK(received[i].header.sequence ==
            static_cast<std::uint16_t>(received[0].header.sequence + i));
      CHECK(received[i].header.ssrc == received[0].header.ssrc);
    }
  }
}

TEST_CASE("frame numbers towards IuUP count the time of the source, or its packets") {
  for (const bool by_time : {true, false}) {
    CAPTURE(by_time);
    Scene scene;
    MixedCall call(scene, rfcis_of(kAmrModes, 0, by_time), "a=rtpmap:112 AMR/8000\r\n");
    std::uint32_t time = 0;
    const std::uint32_t start = call.b.peer->timestamp;
    for (const auto& [mode, place] : kTalk) {
      run(scene, {&call.peer}, (place - time) * 20ms);
      time = place;
      call.b.peer->timestamp = start + place * 160;
      call.b.peer->send_packet(
          112, amr_payload(false, kNoRequest, kAmrModes[mode].type, true,
                           speech_bits(kAmrModes[mode].bits(), place), kAmrModes[mode].bits()));
    }
    run(scene, {&call.peer}, 50ms);
    REQUIRE(call.peer.frames().size() == kTalk.size());
    for (std::size_t i = 0; i < kTalk.size(); ++i) {
      const unsigned step = by_time ? kTalk[i].second : static_cast<unsigned>(i);
      CHECK(call.peer.frames()[i].frame_number == (call.peer.frames()[0].frame_number + step) % 16);
    }
  }
}

TEST_CASE("packets of several frames become as many PDUs, numbered one by one") {
  for (const bool by_time : {true, false}) {
    CAPTURE(by_time);
    Scene scene;
    MixedCall call(scene, rfcis_of(kAmrModes, 0, by_time),
                   "a=rtpmap:112 AMR/8000\r\na=fmtp:112 octet-align=1\r\na=ptime:60\r\n");
    call.b.peer->sequence = 65533;  // wraps on the way
    std::uint32_t frame = 0;
    const std::uint32_t start = call.b.peer->timestamp;
    std::vector<std::uint32_t> places;
    for (const std::uint32_t count : {1U, 3U, 3U, 2U, 3U, 0U, 2U, 1U, 1U}) {
      if (count == 0) {  // a packet of three is lost
        ++call.b.peer->sequence;
        frame += 3;
        continue;
      }
      call.b.peer->timestamp = start + 160 * frame;
      sim::Bytes payload{std::byte{0xf0}};
      sim::Bytes speech;
      for (std::uint32_t i = 0; i < count; ++i) {
        const auto& mode = kAmrModes[i == 1 ? 8 : 7];
        const unsigned entry = (i + 1 < count ? 0x80U : 0U) | mode.type << 3U | 4U;
        payload.push_back(static_cast<std::byte>(entry));
        const sim::Bytes bits = speech_bits(mode.bits(), frame + i);
        speech.insert(speech.end(), bits.begin(), bits.end());
        places.push_back(frame + i);
      }
      payload.insert(payload.end(), speech.begin(), speech.end());
      call.b.peer->send_packet(112, payload);
      frame += count;
      run(scene, {&call.peer}, 20ms * count);
    }
    run(scene, {&call.peer}, 50ms);
    const auto& frames = call.peer.frames();
    REQUIRE(frames.size() == places.size());
    for (std::size_t i = 0; i < frames.size(); ++i) {
      CHECK(frames[i].frame_number == (frames[0].frame_number + places[i]) % 16);
      CHECK(frames[i].payload == speech_bits(kAmrModes[frames[i].rfci].bits(), places[i]));
    }
    CHECK(scene.dropped(mgw::DropCause::conversion_too_many_frames) == 0);
  }
}

TEST_CASE("two IuUP legs whose peers number their RFCIs each in its own way") {
  for (const bool same_numbering : {true, false}) {
    CAPTURE(same_numbering);
    Scene scene;
    const Leg a = scene.add_leg(with("96", kIuup));
    const Leg b = scene.add_leg(with("97", "a=rtpmap:97 VND.3GPP.IUFP/16000\r\n"));
    IuupPeer first(*a.peer);
    IuupPeer second(*b.peer, 97);
    first.initialise(scene, rfcis_of(kAmrModes, 0));
    run(scene, {&first, &second}, 100ms);
    second.initialise(scene, rfcis_of(kAmrModes, 20, same_numbering));
    run(scene, {&first, &second}, 100ms);
    REQUIRE(first.link().state() == IuupState::ready);
    REQUIRE(second.link().state() == IuupState::ready);
    CHECK(first.link().configuration().rfcis[0].id == 0);
    CHECK(second.link().configuration().rfcis[0].id == 20);
    for (std::uint8_t i = 0; i < kAmrModes.size(); ++i) {
      first.send(scene, i, speech_bits(kAmrModes[i].bits(), i), IuupFrameQuality::bad_due_to_radio);
      second.send(scene, static_cast<std::uint8_t>(20 + i), speech_bits(kAmrModes[i].bits(), i));
      run(scene, {&first, &second}, 20ms);
    }
    run(scene, {&first, &second}, 50ms);
    REQUIRE(first.frames().size() == kAmrModes.size());
    REQUIRE(second.frames().size() == kAmrModes.size());
    for (std::uint8_t i = 0; i < kAmrModes.size(); ++i) {
      CHECK(first.frames()[i].rfci == i);
      CHECK(second.frames()[i].rfci == 20 + i);
      CHECK(first.frames()[i].payload == speech_bits(kAmrModes[i].bits(), i));
      CHECK(second.frames()[i].payload == first.frames()[i].payload);
      CHECK(first.frames()[i].quality == IuupFrameQuality::good);
      CHECK(second.frames()[i].quality == IuupFrameQuality::bad_due_to_radio);
      CHECK(first.frames()[i].frame_number == (first.frames()[0].frame_number + i) % 16);
      CHECK(second.frames()[i].frame_number == (second.frames()[0].frame_number + i) % 16);
    }
  }
}

TEST_CASE(
    "a frame that the other IuUP peer did not declare is dropped, one under other sub-flows "
    "goes on") {
  Scene scene;
  const Leg a = scene.add_leg(with("96", kIuup));
  const Leg b = scene.add_leg(with("96", kIuup));
  IuupPeer first(*a.peer);
  IuupPeer second(*b.peer);
  first.initialise(scene, rfcis_of(kAmrModes, 0));
  run(scene, {&first, &second}, 100ms);
  rtp::IuupConfiguration plain;  // 12.2 as one sub-flow, and no data
  plain.rfcis[0] = {7, 0, {244}};
  plain.rfcis[1] = {1, 0, {0}};
  plain.rfci_count = 2;
  plain.subflow_count = 1;
  plain.versions = 1;
  second.initialise(scene, plain);
  run(scene, {&first, &second}, 100ms);
  first.send(scene, 5, speech_bits(kAmrModes[5].bits(), 1));
  first.send(scene, kSpeech, speech_bits(244, 2));
  first.send(scene, kNoData, {});
  run(scene, {&first, &second}, 50ms);
  REQUIRE(second.frames().size() == 2);
  CHECK(second.frames()[0].rfci == 7);
  CHECK(second.frames()[0].payload == speech_bits(244, 2));
  CHECK(second.frames()[1].rfci == 1);
  CHECK(scene.dropped(DropCause::conversion_no_equivalent) == 1);
}

TEST_CASE("three in a conference: RTP, IuUP and IuUP hear each the two others") {
  Scene scene;
  const Leg a = scene.add_leg(with("112", "a=rtpmap:112 AMR/8000\r\n"));
  const Leg b = scene.add_leg(with("96", kIuup));
  const Leg c = scene.add_leg(with("96", kIuup));
  IuupPeer second(*b.peer);
  IuupPeer third(*c.peer);
  second.initialise(scene, rfcis_of(kAmrModes, 0));
  run(scene, {&second, &third}, 100ms);
  REQUIRE(third.link().state() == IuupState::ready);
  const sim::Bytes said_a = speech_bits(244, 1);
  const sim::Bytes said_b = speech_bits(244, 2);
  const sim::Bytes said_c = speech_bits(244, 3);
  for (int i = 0; i < 10; ++i) {
    a.peer->send_packet(112, amr_payload(false, kNoRequest, 7, true, said_a, 244));
    second.send(scene, kSpeech, said_b);
    third.send(scene, kSpeech, said_c);
    run(scene, {&second, &third}, 20ms);
  }
  run(scene, {&second, &third}, 50ms);
  const auto heard = [](const IuupPeer& peer, const sim::Bytes& said) {
    return std::count_if(
        peer.frames().begin(), peer.frames().end(),
        [&](const scenario::ArrivedFrame& frame) { return frame.payload == said; });
  };
  CHECK(a.peer->received().size() == 20);
  CHECK(second.frames().size() == 20);
  CHECK(heard(second, said_a) == 10);
  CHECK(heard(second, said_c) == 10);
  CHECK(heard(third, said_a) == 10);
  CHECK(heard(third, said_b) == 10);
  // Numbers of two sources in turn still count on.
  for (std::size_t i = 1; i < second.frames().size(); ++i) {
    CHECK(second.frames()[i].frame_number == (second.frames()[i - 1].frame_number + 1) % 16);
  }
}

TEST_CASE("ten minutes with losses, jitter and doubles: nothing but what was lost is missing") {
  Scene scene;
  MixedCall call(scene, rfcis_of(kAmrModes, 0), "a=rtpmap:112 AMR/8000\r\n");
  spoil_links(scene, call);
  const std::uint64_t lost_before = scene.world.network().counters().lost;
  const std::uint32_t start = call.b.peer->timestamp;
  for (std::uint32_t index = 0; index < kTenMinutes; ++index) {
    // The last 2 s of each 20 s are silence.
    const bool silence = index % 1000 >= 900;
    if (!silence || index % 8 == 4) {
      const sim::Bytes speech = silence ? speech_bits(39, index) : numbered_speech(index);
      call.peer.send(scene, silence ? kSid : kSpeech, speech);
      call.b.peer->timestamp = start + index * 160;
      call.b.peer->send_packet(
          112, amr_payload(false, kNoRequest, silence ? 8 : 7, true, speech, silence ? 39 : 244));
    }
    scene.run_for(20ms);
    call.peer.pump(scene.world.clock().now());
  }
  run(scene, {&call.peer}, 200ms);
  const std::uint64_t lost = scene.world.network().counters().lost - lost_before;
  const std::size_t arrived = count_speech(*call.b.peer) + count_speech(call.peer);
  constexpr std::uint64_t kSpeechSent = 2 * kTenMinutes / 1000 * 900;
  CHECK(lost > 1000);
  CHECK(arrived + lost >= kSpeechSent);
  CHECK(arrived < kSpeechSent);
  CHECK(scene.world.dropped() == 0);
}
