// E1 lines that osmo-e1d serves: whole calls over its sockets, in virtual time, with a server that
// the test steps.

#include "mgw/e1_line.h"
#include "rtp/bit_string.h"
#include "rtp/trau_silence.h"
#include "rtp/trau_sync.h"
#include "tests/scenario/e1_speech.h"
#include "tests/scenario/log_file.h"
#include "tests/sim/e1d_server.h"
#include "tests/sim/temporary_directory.h"

#include <chrono>
#include <cstring>

using namespace std::chrono_literals;
using mgw::DropCause;
using scenario::check_heard;
using scenario::endpoint_on;
using scenario::frame_of;
using scenario::kSpeech;
using scenario::Leg;
using scenario::on;
using scenario::Scene;
using scenario::Speech;
using sim::E1dServer;

namespace {

/// A gateway whose trunk 1 is on the server's line.
struct Site {
  explicit Site(std::vector<std::uint32_t> trunks = {1}, std::uint32_t workers = 1)
      : scene(config(trunks), {1, {.workers = workers}}) {
    pass(100ms);
  }
  [[nodiscard]] conf::Config config(const std::vector<std::uint32_t>& trunks) const {
    conf::Config config = sim::small_config();
    config.e1.trunks = trunks;
    for (std::uint8_t line = 0; line < trunks.size(); ++line) {
      conf::E1LineOptions options;
      options.line = line;
      options.driver = conf::E1Driver::osmo_e1d;
      options.port = line;
      options.socket = directory.path() + "/e1d";
      config.e1.line_options.push_back(options);
    }
    return config;
  }
  /// Time passes, for the server and its line too: 40 octets of a time slot each 5 ms.
  void pass(io::Duration duration) {
    for (io::Duration done{}; done < duration; done += 5ms) {
      server.step();
      server.move(40);
      scene.run_for(5ms);
    }
  }
  /// Both peers speak for so many frames.
  void talk(const Speech& speech, const Leg& a, const Leg& b, unsigned frames) {
    for (unsigned i = 0; i < frames; ++i) {
      a.peer->send_packet(speech.payload_type, frame_of(speech, 1, i));
      b.peer->send_packet(speech.payload_type, frame_of(speech, 2, i));
      pass(20ms);
    }
    pass(200ms);
  }
  [[nodiscard]] sim::Answer create(std::string_view endpoint, std::string_view codec = "GSM") {
    return scene.crcx(endpoint, fmt::format("C: 1\r\nL: p:20, a:{}\r\nM: recvonly\r\n", codec));
  }

  sim::TemporaryDirectory directory;
  E1dServer server{directory.path() + "/e1d"};
  Scene scene;
};

/// A base station on a sub-slot of time slot 1: sends uplink frames, a block of the line each, and
/// finds the downlink ones.
class BaseStation {
 public:
  struct Heard {
    rtp::TrauFrame frame;
    std::size_t bits;  ///< since the frame before
  };

  BaseStation(Site& site, rtp::SubSlot sub_slot, rtp::TrauFraming framing)
      : site_(site), sub_slot_(sub_slot), framing_(framing), sync_(framing) {}

  void exchange(const rtp::TrauFrame& frame) {
    std::array<std::byte, rtp::kTrauFrameBytesMax> bits{};
    REQUIRE(rtp::build_trau_frame(frame, framing_, bits).has_value());
    mgw::E1Block block;
    block.fill(rtp::kIdleOctet);
    rtp::multiplex_sub_slot(std::span(bits).first(rtp::trau_frame_bits(framing_) / 8), sub_slot_,
                            block);
    E1dServer::Octets octets(block.size());
    std::memcpy(octets.data(), block.data(), block.size());
    site_.server.deliver(1, octets);
    site_.scene.run_for(20ms);
    listen();
  }
  /// What came down so far.
  std::vector<Heard> heard;

 private:
  void listen() {
    const E1dServer::Octets octets = site_.server.take(1);
    std::vector<std::byte> bits(octets.size());
    const std::size_t count =
        rtp::demultiplex_sub_slot(std::as_bytes(std::span(octets)), sub_slot_, bits);
    for (std::size_t at = 0; at < count; ++at) {
      ++since_frame_;
      if (sync_.push(rtp::get_bit(bits, at)) == rtp::TrauSyncEvent::frame) {
        heard.push_back({rtp::parse_trau_frame(sync_.frame(), framing_, 7).value(),
                         std::exchange(since_frame_, 0)});
      }
    }
  }

  Site& site_;
  rtp::SubSlot sub_slot_;
  rtp::TrauFraming framing_;
  rtp::TrauSync sync_;
  std::size_t since_frame_ = 0;
};

/// Uplink frame number `number`, of some bits of its own.
rtp::TrauFrame uplink_frame(rtp::TrauFrameType type, std::uint16_t bits, unsigned number) {
  rtp::TrauFrame frame;
  frame.type = type;
  frame.content_bits = bits;
  for (std::size_t bit = 0; bit < bits; ++bit) {
    rtp::set_bit(frame.content, bit, ((number * 7919 + bit * 104729) >> 4U & 1U) != 0);
  }
  frame.time_alignment = type == rtp::TrauFrameType::half_rate ? 7 : 0;  // none asked for
  return frame;
}

rtp::TrauFrame full_rate(unsigned number) {
  return uplink_frame(rtp::TrauFrameType::full_rate, rtp::kFullRateBits, number);
}

/// A mobile's speech with pauses: five frames, a SID, ten lost ones, a SID, ten lost ones, five.
rtp::TrauFrame with_pauses(unsigned number) {
  rtp::TrauFrame frame = full_rate(number);
  const bool is_sid = number == 5 || number == 16;
  frame.sid = is_sid ? rtp::SidClass::valid_sid : rtp::SidClass::speech;
  frame.bad_frame = number > 4 && number < 27 && !is_sid;
  frame.dtx_downlink = number >= 16;
  frame.time_alignment_flag = number == 16;
  return frame;
}
constexpr unsigned kPausesFrames = 32;

bool is_amr(const Speech& speech) {
  return std::string_view(speech.attributes).find("AMR") != std::string_view::npos;
}

}  // namespace

TEST_CASE("speech crosses a line of osmo-e1d bit by bit, both ways, in each codec") {
  for (const Speech& speech : kSpeech) {
    if (is_amr(speech)) {
      continue;
    }
    CAPTURE(speech.name);
    Site site;
    const Leg a = site.scene.add_leg(on(endpoint_on(1, speech.rate), speech));
    const Leg b = site.scene.add_leg(on(endpoint_on(2, speech.rate), speech));
    site.pass(200ms);
    site.talk(speech, a, b, 50);
    check_heard(a, speech, 2, 50);
    check_heard(b, speech, 1, 50);
    CHECK(site.server.missing() == 0);
  }
}

TEST_CASE("all time slots of a line of osmo-e1d at once, each heard on itself") {
  Site site;
  site.server.loopback = true;
  std::vector<Leg> legs;
  for (int timeslot = 1; timeslot < 32; ++timeslot) {
    legs.push_back(site.scene.add_leg(on(endpoint_on(timeslot, "16-2"), kSpeech[1])));
  }
  site.pass(200ms);
  for (unsigned i = 0; i < 10; ++i) {
    for (unsigned speaker = 0; speaker < legs.size(); ++speaker) {
      legs[speaker].peer->send_packet(110, frame_of(kSpeech[1], speaker, i));
    }
    site.pass(20ms);
  }
  site.pass(200ms);
  for (unsigned speaker = 0; speaker < legs.size(); ++speaker) {
    check_heard(legs[speaker], kSpeech[1], speaker, 10);
  }
  CHECK(site.scene.world.control().counters().e1_lines[0]->open_timeslots.value() == 31);
  CHECK(site.scene.dlcx("ds/e1-1/*@mgw").code == 200);
  site.pass(50ms);
  CHECK_FALSE(site.server.is_open(1));
  CHECK_FALSE(site.server.is_open(31));
  CHECK(site.scene.world.control().counters().e1_lines[0]->open_timeslots.value() == 0);
}

TEST_CASE(
    "while the line is away calls are refused, and operators are told when it goes and comes") {
  const scenario::LogFile log;
  Site site;
  const mgw::E1LineStatus& line = *site.scene.world.control().counters().e1_lines[0];
  CHECK(site.create("ds/e1-1/s-1/su16-0@mgw").code == 200);
  site.pass(2s);
  CHECK(log.lines("the line is up trunk=1") == 1);
  site.server.stop();
  site.scene.run_for(3s);
  CHECK(log.lines("the line's driver is not reachable trunk=1 losses=1") == 1);
  const sim::Answer refused = site.create("ds/e1-1/s-2/su16-0@mgw");
  CHECK(refused.code == 502);
  CHECK(refused.text.find("the line's driver is not reachable") != std::string::npos);
  CHECK(site.create("ds/e1-1/s-2/su32-0@mgw").code == 502);
  CHECK(site.scene.mdcx({"ds/e1-1/s-1/su16-0@mgw", "1", {}, nullptr}, "M: sendrecv\r\n").code !=
        502);
  site.server.start();
  site.pass(8s);
  CHECK(log.lines("the line is up trunk=1 losses=1") == 1);
  CHECK(site.server.is_open(1));
  CHECK(site.create("ds/e1-1/s-2/su16-0@mgw").code == 200);
  site.server.send_event(0x40);
  site.pass(2s);
  CHECK(log.lines("the line has an alarm trunk=1 losses=2") == 1);
  CHECK(site.create("ds/e1-1/s-3/su16-0@mgw").code == 502);
  CHECK(line.losses.value() == 2);
  site.server.send_event(0x41);
  site.pass(2s);
  CHECK(log.lines("the line is up trunk=1 losses=2") == 1);
  site.server.send_event(0x40);
  site.server.send_event(0x41);
  site.pass(2s);
  CHECK(log.lines("the line is up trunk=1 losses=3") == 1);  // however short it was
}

TEST_CASE("a call outlives a restart of osmo-e1d, and its timestamps are those of the time") {
  const Speech& speech = kSpeech[0];
  Site site;
  const Leg a = site.scene.add_leg(on(endpoint_on(1, "16-0"), speech));
  const Leg b = site.scene.add_leg(on(endpoint_on(2, "16-0"), speech));
  site.pass(200ms);
  site.talk(speech, a, b, 20);
  check_heard(b, speech, 1, 20);
  site.server.stop();
  site.scene.run_for(700ms);
  site.server.start();
  site.pass(2s);
  const sim::ArrivedRtp before = b.peer->received().back();
  site.talk(speech, a, b, 20);
  check_heard(a, speech, 2, 20);
  check_heard(b, speech, 1, 20);
  const auto& received = b.peer->received();
  for (std::size_t i = 1; i < received.size(); ++i) {
    const auto passed =
        std::chrono::duration_cast<std::chrono::milliseconds>(received[i].at - received[i - 1].at);
    const auto ticks = received[i].header.timestamp - received[i - 1].header.timestamp;
    CAPTURE(passed.count());
    CHECK(std::abs(static_cast<int>(ticks / 8) - static_cast<int>(passed.count())) <= 120);
    CHECK(received[i].header.ssrc == before.header.ssrc);
  }
  CHECK(site.scene.world.plane().counters(0).e1.synchronisation_losses.value() >= 2);
}

TEST_CASE("AMR does not go over a real line: refused if nothing else is offered, idle otherwise") {
  Site site;
  const sim::Answer refused = site.create("ds/e1-1/s-1/su16-0@mgw", "AMR");
  CHECK(refused.code == 502);
  CHECK(refused.text.find("AMR goes over virtual lines only") != std::string::npos);
  CHECK(site.create("ds/e1-1/s-1/su8-0@mgw", "AMR").code == 502);
  scenario::LegOptions options = on(endpoint_on(1, "16-0"), kSpeech[5]);
  options.formats = "112 3";
  const Leg leg = site.scene.add_leg(options);
  CHECK(leg.answer.formats().substr(0, 1) == "3");
  site.pass(100ms);
  leg.peer->send_packet(3, frame_of(kSpeech[0], 1, 0));
  site.pass(200ms);
  CHECK(site.scene.world.plane().counters(0).e1.sent_frames.value() == 1);
  CHECK(site.scene
            .mdcx(leg, "\r\n" + leg.peer->sdp("112",
                                              "a=rtpmap:112 AMR/8000\r\n"
                                              "a=fmtp:112 octet-align=1\r\n"))
            .code == 200);
  leg.peer->send_packet(112, frame_of(kSpeech[5], 1, 0));
  site.pass(200ms);
  CHECK(site.scene.dropped(DropCause::unmapped_payload_type) == 1);
  CHECK(site.scene.world.plane().counters(0).e1.sent_frames.value() == 1);
  options = {};
  options.endpoint = endpoint_on(2, "16-0");
  CHECK(site.scene
            .crcx(options.endpoint, "C: 1\r\nM: recvonly\r\n" +
                                        leg.peer->sdp("96", "a=rtpmap:96 VND.3GPP.IUFP/16000\r\n"))
            .code == 502);
}

TEST_CASE("a time slot that another program has is refused once that is known") {
  Site site;
  site.server.taken[4] = true;
  CHECK(site.create("ds/e1-1/s-4/su16-0@mgw").code == 200);
  site.pass(1s);
  const sim::Answer refused = site.create("ds/e1-1/s-4/su16-2@mgw");
  CHECK(refused.code == 502);
  CHECK(refused.text.find("does not give the time slot away") != std::string::npos);
  CHECK(site.create("ds/e1-1/s-5/su16-2@mgw").code == 200);
  site.server.taken[4] = false;
  site.pass(200ms);
  CHECK(site.create("ds/e1-1/s-4/su16-2@mgw").code == 200);
}

TEST_CASE("each line has its worker, and one that osmo-e1d has not takes no calls") {
  Site site({1, 7}, 2);
  site.pass(300ms);
  const sim::Answer refused = site.create("ds/e1-7/s-1/su16-0@mgw");
  CHECK(refused.code == 502);
  CHECK(refused.text.find("the driver has no such line") != std::string::npos);
  CHECK(site.create("ds/e1-1/s-1/su16-0@mgw").code == 200);
  site.pass(200ms);
  CHECK(site.server.is_open(1));
}

TEST_CASE("a mobile's pauses are gaps in a stream whose timestamps are those of its frames") {
  Site site;
  const Leg leg = site.scene.add_leg(on(endpoint_on(1, "16-0"), kSpeech[0]));
  site.pass(100ms);
  BaseStation station(site, {16, 0}, rtp::TrauFraming::trau_16k);
  for (unsigned i = 0; i < kPausesFrames; ++i) {
    station.exchange(with_pauses(i));
  }
  site.scene.run_for(50ms);
  const auto& received = leg.peer->received();
  REQUIRE(received.size() == 12);
  std::size_t at = 0;
  for (unsigned i = 0; i < kPausesFrames; ++i) {
    if (with_pauses(i).bad_frame) {
      continue;
    }
    CHECK(received[at].header.timestamp == received[0].header.timestamp + 160 * i);
    CHECK(received[at].header.sequence ==
          static_cast<std::uint16_t>(received[0].header.sequence + at));
    CHECK_FALSE(received[at].header.marker);
    CHECK(received[at].payload.size() == 33);
    ++at;
  }
  CHECK(site.scene.world.plane()
            .counters(0)
            .e1.receive_failures[static_cast<std::size_t>(rtp::TrauError::bad_frame)]
            .value() == 20);
}

TEST_CASE("with tw-ts-001 every frame of a mobile's pauses comes, and says what it is") {
  Site site;
  const Leg leg = site.scene.add_leg(on(endpoint_on(1, "16-0"), kSpeech[4]));
  site.pass(100ms);
  BaseStation station(site, {16, 0}, rtp::TrauFraming::trau_16k);
  for (unsigned i = 0; i < kPausesFrames; ++i) {
    station.exchange(with_pauses(i));
  }
  site.scene.run_for(50ms);
  const auto& received = leg.peer->received();
  REQUIRE(received.size() == kPausesFrames);
  for (unsigned i = 0; i < kPausesFrames; ++i) {
    const rtp::TrauFrame frame = with_pauses(i);
    const unsigned flags = 0xe0U | (frame.dtx_downlink ? 8U : 0U) | (frame.bad_frame ? 2U : 0U) |
                           (frame.time_alignment_flag ? 1U : 0U);
    CAPTURE(i);
    CHECK(received[i].payload.front() == std::byte(flags));
    CHECK(received[i].header.timestamp == received[0].header.timestamp + 160 * i);
  }
}

TEST_CASE("half rate at 8 kbit/s says by tw-ts-002 which frames are not to be relied on") {
  Site site;
  Speech speech = kSpeech[3];
  speech.attributes = "a=rtpmap:111 GSM-HR-08/8000\r\na=fmtp:111 tw-ts-002=1\r\n";
  const Leg leg = site.scene.add_leg(on(endpoint_on(1, "8-3"), speech));
  site.pass(100ms);
  BaseStation station(site, {8, 3}, rtp::TrauFraming::hr_8k);
  for (unsigned i = 0; i < 8; ++i) {
    auto frame = uplink_frame(rtp::TrauFrameType::half_rate, rtp::kHalfRateBits, i);
    frame.unreliable = i % 2 != 0;
    frame.dtx_downlink = i >= 4;
    frame.bad_frame = i == 6;
    station.exchange(frame);
  }
  site.scene.run_for(50ms);
  const auto& received = leg.peer->received();
  REQUIRE(received.size() == 8);
  const std::array<unsigned, 8> contents = {0x00, 0x02, 0x00, 0x02, 0x08, 0x0a, 0x68, 0x0a};
  for (unsigned i = 0; i < 8; ++i) {
    CAPTURE(i);
    CHECK(received[i].payload.front() == std::byte(contents[i]));
  }
}

TEST_CASE("a base station that asks for it gets the next frames earlier or later") {
  Site site;
  static_cast<void>(site.scene.add_leg(on(endpoint_on(1, "16-0"), kSpeech[0])));
  site.pass(100ms);
  BaseStation station(site, {16, 0}, rtp::TrauFraming::trau_16k);
  for (unsigned i = 0; i < 40; ++i) {
    rtp::TrauFrame frame = full_rate(i);
    frame.time_alignment = i == 10 ? 63 : i == 20 ? 4 : i == 30 ? 62 : 0;
    station.exchange(frame);
  }
  std::vector<std::size_t> lengths;
  for (std::size_t i = 1; i < station.heard.size(); ++i) {
    if (station.heard[i].bits != 320) {
      lengths.push_back(station.heard[i].bits);
    }
  }
  // 250 us earlier, 2 ms later, 250 us later; the ones are behind the frame that is lengthened.
  CHECK(lengths == std::vector<std::size_t>{316, 352, 324});
  CHECK(station.heard.size() >= 38);
  CHECK(site.scene.world.plane().counters(0).e1.time_alignments.value() == 3);
}

TEST_CASE(
    "speech, silence descriptors and pauses from the network are what the base station hears") {
  Site site;
  const Leg leg = site.scene.add_leg(on(endpoint_on(1, "16-0"), kSpeech[0]));
  site.pass(100ms);
  BaseStation station(site, {16, 0}, rtp::TrauFraming::trau_16k);
  sim::Bytes sid(33);
  sid[0] = std::byte{0xd0};
  for (unsigned i = 0; i < 30; ++i) {
    if (i < 5 || i > 24) {
      leg.peer->send_packet(3, frame_of(kSpeech[0], 1, i));
    } else if (i == 5) {
      leg.peer->send_packet(3, sid);
    } else {
      leg.peer->timestamp += 160;  // nothing is said
    }
    station.exchange(full_rate(i));
  }
  for (unsigned i = 0; i < 5; ++i) {
    station.exchange(full_rate(i));
  }
  const auto first =
      std::find_if(station.heard.begin(), station.heard.end(),
                   [](const auto& heard) { return heard.frame.sid == rtp::SidClass::valid_sid; });
  REQUIRE(first - station.heard.begin() >= 5);
  REQUIRE(station.heard.end() - first >= 25);
  const auto speech = [](unsigned number) {
    rtp::TrauFrame frame;
    const sim::Bytes payload = frame_of(kSpeech[0], 1, number);
    rtp::copy_bits(payload, 4, frame.content, 0, rtp::kFullRateBits);
    return frame.content;
  };
  for (unsigned i = 0; i < 5; ++i) {
    CHECK((first - 5 + i)->frame.content == speech(i));
    CHECK((first - 5 + i)->frame.sid == rtp::SidClass::speech);
    CHECK((first + 20 + i)->frame.content == speech(25 + i));
  }
  for (unsigned i = 1; i < 20; ++i) {
    CHECK((first + i)->frame.content == rtp::make_filler(rtp::TrauFrameType::full_rate).content);
    CHECK((first + i)->frame.sid == rtp::SidClass::speech);
  }
}
