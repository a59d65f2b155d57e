// Payloads between legs that negotiated different forms of one codec: bit by bit, with every frame
// type, and what becomes of frames that are none.

#include "tests/scenario/log_file.h"
#include "tests/scenario/scene.h"
#include "tests/unit/rtp/amr_reference.h"

#include <chrono>

using namespace std::chrono_literals;
using mgw::DropCause;
using scenario::Call;
using scenario::Leg;
using scenario::LegOptions;
using scenario::LogFile;
using scenario::Scene;

namespace {

/// A leg with one codec under `type`.
LegOptions speaking(int type, std::string_view rtpmap, std::string_view fmtp = {}) {
  LegOptions options;
  options.formats = std::to_string(type);
  options.attributes = fmt::format("a=rtpmap:{} {}\r\n", type, rtpmap);
  if (!fmtp.empty()) {
    options.attributes += fmt::format("a=fmtp:{} {}\r\n", type, fmtp);
  }
  return options;
}

/// Sends each payload as a packet of its own and checks that exactly `expected` arrive, in order,
/// under `type`, with the sender's timestamps.
void check_payloads(Scene& scene, const Leg& from, const Leg& to, std::uint8_t sent_type,
                    const std::vector<sim::Bytes>& sent, std::uint8_t type,
                    const std::vector<sim::Bytes>& expected) {
  to.peer->forget();
  const std::uint32_t start = from.peer->timestamp;
  for (const sim::Bytes& payload : sent) {
    from.peer->send_packet(sent_type, payload);
    scene.run_for(1ms);
  }
  scene.run_for(20ms);
  const auto& got = to.peer->received();
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    REQUIRE(got[i].payload == expected[i]);
    REQUIRE(got[i].header.payload_type == type);
    if (sent.size() == expected.size()) {
      REQUIRE(got[i].header.timestamp == start + 160 * i);
    }
  }
}

/// Payloads of every frame type with every mode request, good and damaged, and of several frames.
struct AmrPayloads {
  std::vector<sim::Bytes> aligned;
  std::vector<sim::Bytes> efficient;

  explicit AmrPayloads(rtp::AmrCodec codec) {
    test::Random random(41);
    const auto add = [this](unsigned mode_request, const std::vector<test::TestFrame>& frames) {
      aligned.push_back(test::octet_aligned(mode_request, frames));
      efficient.push_back(test::bandwidth_efficient(mode_request, frames));
    };
    std::vector<test::TestFrame> collected;
    for (unsigned type = 0; type < 16; ++type) {
      if (!rtp::amr_frame_bits(codec, static_cast<std::uint8_t>(type))) {
        continue;
      }
      for (unsigned mode_request = 0; mode_request < 16; ++mode_request) {
        for (const bool good : {true, false}) {
          auto frame = test::random_frame(random, codec, type);
          frame.good = good;
          add(mode_request, {frame});
        }
      }
      collected.push_back(test::random_frame(random, codec, type));
      add(15, collected);
    }
  }
};

const sim::Bytes kHalfRate = sim::from_hex("0b11b3eede60be4e3ec68838c7b5");
const sim::Bytes kFullRate =
    sim::from_hex("d760a2e177503e681bd129615ab83e5c9cb52bb6b706f9ca56d4f037f7837a86bc");

sim::Bytes joined(std::string_view front, const sim::Bytes& back) {
  sim::Bytes all = sim::from_hex(front);
  all.insert(all.end(), back.begin(), back.end());
  return all;
}

}  // namespace

TEST_CASE("every AMR frame crosses from one form into the other and back with all its bits") {
  for (const bool wide : {false, true}) {
    const char* const rtpmap = wide ? "AMR-WB/16000" : "AMR/8000";
    const AmrPayloads payloads(wide ? rtp::AmrCodec::wideband : rtp::AmrCodec::narrowband);
    for (const char* efficient : {"octet-align=0", "mode-set=0,2,4,7", ""}) {
      CAPTURE(rtpmap);
      CAPTURE(efficient);
      Scene scene;
      const Call call(scene, speaking(112, rtpmap, "octet-align=1"),
                      speaking(96, rtpmap, efficient));
      check_payloads(scene, call.a, call.b, 112, payloads.aligned, 96, payloads.efficient);
      check_payloads(scene, call.b, call.a, 96, payloads.efficient, 112, payloads.aligned);
    }
  }
}

TEST_CASE("AMR between legs with the same form, or none said, passes unchanged") {
  for (const bool wide : {false, true}) {
    const char* const rtpmap = wide ? "AMR-WB/16000" : "AMR/8000";
    const AmrPayloads payloads(wide ? rtp::AmrCodec::wideband : rtp::AmrCodec::narrowband);
    for (const char* fmtp : {"octet-align=1", "octet-align=1;tw-ts-006=1", ""}) {
      CAPTURE(fmtp);
      Scene scene;
      const Call call(scene, speaking(112, rtpmap, fmtp), speaking(96, rtpmap, fmtp));
      check_payloads(scene, call.a, call.b, 112, payloads.aligned, 96, payloads.aligned);
    }
    Scene scene;
    const Call call(scene, speaking(112, rtpmap, "octet-align=0"), speaking(96, rtpmap));
    check_payloads(scene, call.a, call.b, 112, payloads.efficient, 96, payloads.efficient);
  }
}

TEST_CASE("payloads that only their peers understand pass unchanged between two of them") {
  // CRCs, interleaving and the extension make them longer than the plain format says.
  const std::vector<sim::Bytes> payloads = {sim::from_hex("f0000814e959f35fdfe5e9667ffbc0888180"),
                                            sim::from_hex("f07c00"), sim::from_hex("f1")};
  for (const char* fmtp : {"octet-align=1;crc=1", "interleaving=4", "robust-sorting=1",
                           "octet-align=1; tw-ts-006=1"}) {
    CAPTURE(fmtp);
    Scene scene;
    const Call call(scene, speaking(112, "AMR/8000", fmtp), speaking(96, "AMR/8000", fmtp));
    check_payloads(scene, call.a, call.b, 112, payloads, 96, payloads);
    check_payloads(scene, call.b, call.a, 96, payloads, 112, payloads);
  }
  Scene scene;
  const Call call(scene, speaking(112, "AMR/8000", "octet-align=1;crc=1"),
                  speaking(96, "AMR/8000", "octet-align=1"));
  check_payloads(scene, call.a, call.b, 112, payloads, 96, {});
  CHECK(scene.dropped(DropCause::unmapped_payload_type) == payloads.size());
}

TEST_CASE("AMR in another form than its leg announced never gets through") {
  for (const bool wide : {false, true}) {
    const auto codec = wide ? rtp::AmrCodec::wideband : rtp::AmrCodec::narrowband;
    const char* const rtpmap = wide ? "AMR-WB/16000" : "AMR/8000";
    test::Random random(42);
    std::vector<sim::Bytes> aligned;
    std::vector<sim::Bytes> efficient;
    for (unsigned type = 0; type < 16; ++type) {
      if (rtp::amr_frame_bits(codec, static_cast<std::uint8_t>(type))) {
        auto frame = test::random_frame(random, codec, type);
        frame.good = true;
        if (!frame.speech.empty()) {
          frame.speech.back() = true;
        }
        aligned.push_back(test::octet_aligned(15, {frame}));
        efficient.push_back(test::bandwidth_efficient(15, {frame}));
      }
    }
    for (const char* other : {"octet-align=0", "octet-align=1", ""}) {
      CAPTURE(other);
      Scene scene;
      const Call call(scene, speaking(112, rtpmap, "octet-align=1"), speaking(96, rtpmap, other));
      check_payloads(scene, call.a, call.b, 112, efficient, 96, {});
      CHECK(scene.dropped(DropCause::amr_format_mismatch) == efficient.size());
      Scene reverse;
      const Call back(reverse, speaking(112, rtpmap, "octet-align=0"), speaking(96, rtpmap, other));
      check_payloads(reverse, back.a, back.b, 112, aligned, 96, {});
      CHECK(reverse.dropped(DropCause::amr_format_mismatch) == aligned.size());
    }
  }
}

TEST_CASE("frames that are none are dropped and counted, each fault of a call is noted once") {
  struct Row {
    LegOptions from;
    LegOptions to;
    std::uint8_t type;
    const char* payload;
    DropCause cause;
  };
  const auto aligned = speaking(112, "AMR/8000", "octet-align=1");
  const auto efficient = speaking(96, "AMR/8000", "octet-align=0");
  const auto half_bare = speaking(111, "GSM-HR-08/8000", "gsm-hr-format=ts101318");
  const auto half_contents = speaking(98, "GSM-HR-08/8000", "gsm-hr-format=rfc5993");
  const auto full = speaking(3, "GSM/8000");
  const auto full_extended = speaking(97, "GSM/8000", "tw-ts-001=1");
  for (const Row& row :
       {Row{aligned, efficient, 112, "f5ff", DropCause::amr_format_mismatch},
        Row{aligned, efficient, 112, "f0", DropCause::amr_format_mismatch},
        Row{speaking(112, "AMR/8000"), speaking(96, "AMR/8000", "octet-align=1"), 112, "f5ffff",
            DropCause::conversion_wrong_length},
        Row{half_bare, half_contents, 111, "0102", DropCause::conversion_wrong_length},
        Row{half_contents, half_bare, 98, "70", DropCause::conversion_no_equivalent},
        Row{half_contents, half_bare, 98, "60", DropCause::conversion_invalid_frame_type},
        Row{full_extended, full, 97, "e6", DropCause::conversion_no_equivalent},
        Row{full, full_extended, 3, "d0d1", DropCause::conversion_wrong_length}}) {
    CAPTURE(row.payload);
    CAPTURE(to_string(row.cause));
    const LogFile log;
    Scene scene;
    const Call call(scene, row.from, row.to);
    for (int i = 0; i < 250; ++i) {
      call.a.peer->send_packet(row.type, sim::from_hex(row.payload));
      scene.run_for(20ms);
    }
    call.a.peer->send_rtcp(sim::sender_report(1, 2, 3, 4));
    scene.run_for(1500ms);
    CHECK(call.b.peer->received().empty());
    CHECK(call.b.peer->received_rtcp().size() == 1);
    CHECK(scene.dropped(row.cause) == 250);
    CHECK(scene.world.dropped() == 250);
    CHECK(log.lines(" dropped endpoint=") == 1);
    CHECK(log.lines(fmt::format("cause={}", to_string(row.cause))) == 1);
    // What is negotiated anew is judged anew, on either leg.
    CHECK(scene.mdcx(call.a, call.a.peer->sdp(row.from.formats, row.from.attributes)).code == 200);
    CHECK(scene.mdcx(call.b, call.b.peer->sdp(row.to.formats, row.to.attributes)).code == 200);
    call.a.peer->send_packet(row.type, sim::from_hex(row.payload));
    scene.run_for(1500ms);
    CHECK(log.lines(" dropped endpoint=") == 2);
  }
}

TEST_CASE("half rate packets of one or more frames change their format by what the legs said") {
  const sim::Bytes two = joined("0b11b3eede60be4e3ec68838c7b5", kHalfRate);
  const auto bare = speaking(111, "GSM-HR-08/8000", "gsm-hr-format=ts101318");
  const auto contents = speaking(98, "GSM-HR-08/8000", "GSM-HR-Format = RFC5993");
  const auto extended = speaking(99, "GSM-HR-08/8000", "tw-ts-002=1");
  {
    Scene scene;
    const Call call(scene, bare, contents);
    check_payloads(scene, call.a, call.b, 111, {kHalfRate, two}, 98,
                   {joined("00", kHalfRate), joined("8000", two)});
    check_payloads(scene, call.b, call.a, 98, {joined("00", kHalfRate), joined("8000", two)}, 111,
                   {kHalfRate, two});
  }
  // TW-TS-002: good frames lose the flags, damaged and missing ones are not sent.
  const std::vector<sim::Bytes> marked = {joined("09", kHalfRate), joined("60", kHalfRate),
                                          sim::from_hex("14")};
  {
    Scene scene;
    const Call call(scene, extended, contents);
    check_payloads(scene, call.a, call.b, 99, marked, 98, {joined("00", kHalfRate)});
    check_payloads(scene, call.b, call.a, 98, {joined("00", kHalfRate)}, 99,
                   {joined("00", kHalfRate)});
  }
  {
    Scene scene;
    const Call call(scene, extended, bare);
    check_payloads(scene, call.a, call.b, 99, marked, 111, {kHalfRate});
    check_payloads(scene, call.b, call.a, 111, {kHalfRate}, 99, {joined("00", kHalfRate)});
  }
  Scene scene;
  auto peer = extended;
  const Call call(scene, extended, peer);
  check_payloads(scene, call.a, call.b, 99, marked, 99, marked);
}

TEST_CASE("full rate packets keep the octet of TW-TS-001 between legs that both want it") {
  const std::vector<sim::Bytes> marked = {joined("e9", kFullRate), joined("e2", kFullRate),
                                          sim::from_hex("e6")};
  for (const char* without : {"", "tw-ts-001=0"}) {
    Scene scene;
    const Call call(scene, speaking(3, "GSM/8000", "tw-ts-001=1"),
                    speaking(97, "GSM/8000", without));
    check_payloads(scene, call.a, call.b, 3, marked, 97, {kFullRate});
    check_payloads(scene, call.b, call.a, 97, {kFullRate}, 3, {joined("e0", kFullRate)});
  }
  Scene scene;
  const Call call(scene, speaking(3, "GSM/8000", "tw-ts-001=1"),
                  speaking(97, "GSM/8000", "tw-ts-001=1"));
  check_payloads(scene, call.a, call.b, 3, marked, 97, marked);
}

TEST_CASE("a converted packet keeps its CSRCs and extension and loses its padding") {
  Scene scene;
  const Call call(scene, speaking(112, "AMR/8000", "octet-align=1"), speaking(96, "AMR/8000"));
  const auto head = [](std::string_view first, std::string_view more) {
    return fmt::format("{}f0000100000002000000030000000700000009{}", first, more);
  };
  const sim::Bytes aligned = sim::from_hex("2014e959f35fdfe5e9667ffbc088818088");
  sim::Bytes packet = joined(head("b2", "bede000144444444"), aligned);
  for (const std::byte octet : {std::byte{0}, std::byte{0}, std::byte{3}}) {
    packet.push_back(octet);
  }
  call.a.peer->send_rtp(packet);
  scene.run_for(50ms);
  REQUIRE(call.b.peer->received().size() == 1);
  const auto& got = call.b.peer->received()[0];
  CHECK(got.payload == sim::from_hex("217a567cd7f7f97a599ffef022206022"));
  CHECK(got.header.csrc_count == 2);
  CHECK(got.header.has_extension);
  CHECK(got.header.marker);
  CHECK(got.header.padding_size == 0);
  CHECK(got.header.payload_offset == 12 + 2 * 4 + 8);
}
