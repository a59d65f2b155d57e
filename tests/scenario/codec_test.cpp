// Payload types and formats between two legs that negotiated differently.

#include "tests/scenario/scene.h"

#include <chrono>

using namespace std::chrono_literals;
using mgw::DropCause;
using scenario::Call;
using scenario::Leg;
using scenario::LegOptions;
using scenario::Scene;

namespace {

LegOptions with(std::string formats, std::string attributes = {}) {
  LegOptions options;
  options.formats = std::move(formats);
  options.attributes = std::move(attributes);
  return options;
}

std::string amr(int type, std::string_view fmtp = {}) {
  std::string lines = fmt::format("a=rtpmap:{} AMR/8000\r\n", type);
  if (!fmtp.empty()) {
    lines += fmt::format("a=fmtp:{} {}\r\n", type, fmtp);
  }
  return lines;
}

// The same frame of 12.2 kbit/s in both forms.
const sim::Bytes kAligned = sim::from_hex("2014e959f35fdfe5e9667ffbc088818088");
const sim::Bytes kEfficient = sim::from_hex("217a567cd7f7f97a599ffef022206022");

/// Sends one packet and checks how it arrives.
void check_one(Scene& scene, const Leg& from, const Leg& to, std::uint8_t type,
               const sim::Bytes& payload, std::uint8_t expected_type,
               const sim::Bytes& expected_payload) {
  to.peer->forget();
  from.peer->send_packet(type, payload);
  scene.run_for(50ms);
  REQUIRE(to.peer->received().size() == 1);
  CHECK(to.peer->received()[0].header.payload_type == expected_type);
  CHECK(to.peer->received()[0].payload == expected_payload);
}

}  // namespace

TEST_CASE("one codec under two numbers and spellings has its payload type rewritten both ways") {
  Scene scene;
  const Call call(scene, with("112", "a=rtpmap:112 AMR/8000\r\n"),
                  with("96", "a=rtpmap:96 amr/8000/1\r\n"));
  check_one(scene, call.a, call.b, 112, kEfficient, 96, kEfficient);
  check_one(scene, call.b, call.a, 96, kEfficient, 112, kEfficient);
  check_one(scene, call.a, call.b, 0, sim::from_hex("01020304"), 0, sim::from_hex("01020304"));
}

TEST_CASE("each leg gets AMR in the form that it announced") {
  struct Row {
    const char* first;
    const char* second;
  };
  for (const Row& row : {Row{"octet-align=1", "octet-align=0"}, Row{"octet-align=1", ""},
                         Row{"octet-align=1", "octet-align=1"}, Row{"octet-align=0", ""},
                         Row{"mode-set=0,2;octet-align=1", "OCTET-ALIGN = 0; mode-set=7"}}) {
    CAPTURE(row.first);
    CAPTURE(row.second);
    Scene scene;
    const Call call(scene, with("96", amr(96, row.first)), with("112", amr(112, row.second)));
    const auto form = [](std::string_view fmtp) -> const sim::Bytes& {
      return fmtp.find("align=1") != std::string_view::npos ? kAligned : kEfficient;
    };
    check_one(scene, call.a, call.b, 96, form(row.first), 112, form(row.second));
    check_one(scene, call.b, call.a, 112, form(row.second), 96, form(row.first));
  }
}

TEST_CASE("of two forms that one leg offers the one that needs no conversion is used") {
  for (const char own : {'0', '1'}) {
    for (const char first : {'0', '1'}) {
      CAPTURE(own);
      CAPTURE(first);
      const char second = first == '0' ? '1' : '0';
      const std::string fmtp = "octet-align=";
      Scene scene;
      const Call call(scene, with("96", amr(96, fmtp + own)),
                      with("112 113", amr(112, fmtp + first) + amr(113, fmtp + second)));
      const sim::Bytes& payload = own == '1' ? kAligned : kEfficient;
      const std::uint8_t wanted = own == first ? 112 : 113;
      CHECK(call.b.answer.formats() == std::to_string(wanted));
      check_one(scene, call.a, call.b, 96, payload, wanted, payload);
      check_one(scene, call.b, call.a, wanted, payload, 96, payload);
    }
  }
}

TEST_CASE("AMR that is not what its leg announced is dropped and noted, RTCP passes") {
  Scene scene;
  const Call call(scene, with("96", amr(96, "octet-align=1")), with("112", amr(112)));
  for (int i = 0; i < 100; ++i) {
    call.a.peer->send_packet(96, sim::from_hex("f5ff"));
    scene.run_for(20ms);
  }
  call.a.peer->send_rtcp(sim::sender_report(1, 2, 3, 4));
  scene.run_for(50ms);
  CHECK(call.b.peer->received().empty());
  CHECK(call.b.peer->received_rtcp().size() == 1);
  CHECK(scene.world.dropped() == 100);
}

TEST_CASE("of many payload types the one that the other leg has is used, wherever it stands") {
  for (const int position : {0, 9, 10, 19, 22}) {
    CAPTURE(position);
    std::string formats;
    std::string attributes;
    for (int i = 0; i < 23; ++i) {
      formats += fmt::format("{}{}", i == 0 ? "" : " ", 96 + i);
      attributes += fmt::format("a=rtpmap:{} {}/8000\r\n", 96 + i,
                                i == position ? "GSM-EFR" : fmt::format("C{}", i));
    }
    Scene scene;
    const Call call(scene, with("110", "a=rtpmap:110 GSM-EFR/8000\r\n"), with(formats, attributes));
    const auto type = static_cast<std::uint8_t>(96 + position);
    CHECK(call.b.answer.formats() == std::to_string(type));
    CHECK(talk(scene, call.a, call.b, 10, 110, type));
    CHECK(call.b.peer->received().back().header.payload_type == type);
    CHECK(call.a.peer->received().back().header.payload_type == 110);
  }
}

TEST_CASE("a digit keeps its timestamp, marker and payload and gets the other leg's number") {
  Scene scene;
  const Call call(scene, with("8 101", "a=rtpmap:101 telephone-event/8000\r\n"),
                  with("8 97", "a=rtpmap:97 telephone-event/8000\r\n"));
  CHECK(call.b.answer.formats() == "8 97");
  const std::uint32_t start = call.a.peer->timestamp;
  const std::vector<const char*> digit = {"010a0000", "010a00a0", "010a0140",
                                          "018a01e0", "018a01e0", "018a01e0"};
  for (std::size_t i = 0; i < digit.size(); ++i) {
    call.a.peer->timestamp = start;
    call.a.peer->send_packet(101, sim::from_hex(digit[i]), i == 0);
    scene.run_for(20ms);
  }
  call.a.peer->stream(3, 8);
  scene.run_for(100ms);
  const auto& got = call.b.peer->received();
  REQUIRE(got.size() == 9);
  for (std::size_t i = 0; i < digit.size(); ++i) {
    CHECK(got[i].header.payload_type == 97);
    CHECK(got[i].header.timestamp == start);
    CHECK(got[i].header.marker == (i == 0));
    CHECK(got[i].payload == sim::from_hex(digit[i]));
  }
  CHECK(got[8].header.payload_type == 8);
}

TEST_CASE("digits and comfort noise cross every pair of voice codecs, each under its own number") {
  struct Voice {
    std::string formats;
    std::string lines;
    int rate;
  };
  const std::vector<Voice> voices = {
      {"8", "", 8000},
      {"0", "", 8000},
      {"110", "a=rtpmap:110 GSM-EFR/8000\r\n", 8000},
      {"111", "a=rtpmap:111 GSM-HR-08/8000\r\na=fmtp:111 gsm-hr-format=rfc5993\r\n", 8000},
      {"112", amr(112, "octet-align=1"), 8000},
      {"113", amr(113, "octet-align=0"), 8000},
      {"104", "a=rtpmap:104 AMR-WB/16000\r\n", 16000},
      {"105", "a=rtpmap:105 AMR-WB/16000\r\na=fmtp:105 octet-align=1\r\n", 16000}};
  const auto leg = [](const Voice& voice, int event, int noise) {
    return with(fmt::format("{} {} {}", voice.formats, noise, event),
                voice.lines + fmt::format("a=rtpmap:{} telephone-event/{}\r\na=fmtp:{} 0-16\r\n"
                                          "a=rtpmap:{} CN/{}\r\n",
                                          event, voice.rate, event, noise, voice.rate));
  };
  for (const Voice& first : voices) {
    for (const Voice& second : voices) {
      CAPTURE(first.lines);
      CAPTURE(second.lines);
      Scene scene;
      const Call call(scene, leg(first, 101, 13), leg(second, 97, 98));
      const bool same_clock = first.rate == second.rate;
      CHECK(call.b.answer.formats() == second.formats + (same_clock ? " 98 97" : ""));
      CHECK((call.b.answer.sdp_line("a=fmtp:97 ") == "0-16") == same_clock);
      call.a.peer->send_packet(101, sim::from_hex("010a00a0"), true);
      call.a.peer->send_packet(13, sim::from_hex("40"));
      call.b.peer->send_packet(97, sim::from_hex("010a00a0"), true);
      call.b.peer->send_packet(98, sim::from_hex("40"));
      scene.run_for(50ms);
      for (const Leg* to : {&call.a, &call.b}) {
        const auto& got = to->peer->received();
        const bool is_a = to == &call.a;
        // Under another clock it is something else: never relabelled.
        REQUIRE(got.size() == (same_clock ? 2U : 0U));
        if (same_clock) {
          CHECK(got[0].header.payload_type == (is_a ? 101 : 97));
          CHECK(got[0].payload == sim::from_hex("010a00a0"));
          CHECK(got[0].header.timestamp == 8000);
          CHECK(got[0].header.marker);
          CHECK(got[1].header.payload_type == (is_a ? 13 : 98));
          CHECK(got[1].payload == sim::from_hex("40"));
          CHECK(got[1].header.timestamp == 8160);
        }
      }
      CHECK(scene.dropped(DropCause::unmapped_payload_type) == (same_clock ? 0U : 4U));
    }
  }
}

TEST_CASE("of several events the one in the clock of the voice is answered, the others work too") {
  const std::string lines =
      "a=rtpmap:104 AMR-WB/16000\r\na=rtpmap:101 telephone-event/8000\r\na=fmtp:101 0-15\r\n"
      "a=rtpmap:102 telephone-event/16000\r\na=fmtp:102 0-15\r\n";
  Scene scene;
  const Call call(scene, with("104 8 101 102", lines), with("104 8 101 102", lines));
  CHECK(call.a.answer.formats() == "104 102");
  CHECK(call.b.answer.formats() == "104 102");
  check_one(scene, call.a, call.b, 102, sim::from_hex("010a00a0"), 102, sim::from_hex("010a00a0"));
  check_one(scene, call.a, call.b, 101, sim::from_hex("010a00a0"), 101, sim::from_hex("010a00a0"));
  const Leg c = scene.add_leg(with("8 101 102", lines));
  CHECK(c.answer.formats() == "8 101");
}

TEST_CASE("events and comfort noise that the other leg did not negotiate are never sent as voice") {
  const std::string lines = "a=rtpmap:101 telephone-event/8000\r\na=rtpmap:13 CN/8000\r\n";
  for (const std::string other : {"8", "0 8", "8 101", "101 8"}) {
    CAPTURE(other);
    Scene scene;
    // 101 of the other leg is something else.
    const Call call(scene, with("8 101 13", lines), with(other, "a=rtpmap:101 X/8000\r\n"));
    CHECK(call.a.answer.formats() == "8 101 13");  // nobody else is there yet
    CHECK(call.b.answer.formats() == "8");
    for (const int type : {101, 13, 8, 101}) {
      call.a.peer->send_packet(static_cast<std::uint8_t>(type), sim::from_hex("010a00a0"));
      scene.run_for(20ms);
    }
    REQUIRE(call.b.peer->received().size() == 1);
    CHECK(call.b.peer->received()[0].header.payload_type == 8);
    CHECK(scene.dropped(DropCause::unmapped_payload_type) == 3);
  }
}

TEST_CASE("while the legs of a call change their codec nothing goes out under a wrong number") {
  const std::vector<std::pair<std::uint8_t, std::string>> codecs = {
      {8, ""},
      {0, ""},
      {3, ""},
      {112, amr(112)},
      {98, "a=rtpmap:98 GSM-EFR/8000\r\n"},
      {104, "a=rtpmap:104 AMR-WB/16000\r\n"}};
  for (const auto& before : codecs) {
    for (const auto& after : codecs) {
      const std::uint8_t old_type = before.first;
      const std::uint8_t new_type = after.first;
      const std::string& old_lines = before.second;
      const std::string& new_lines = after.second;
      if (old_type == new_type) {
        continue;
      }
      CAPTURE(old_type);
      CAPTURE(new_type);
      Scene scene;
      const std::string old_format = std::to_string(old_type);
      const std::string new_format = std::to_string(new_type);
      const Call call(scene, with(old_format, old_lines), with(old_format, old_lines));
      call.a.peer->stream(60, old_type);
      call.b.peer->stream(60, old_type);
      scene.run_for(300ms);
      CHECK(scene.mdcx(call.a, call.a.peer->sdp(new_format, new_lines)).code == 200);
      scene.run_for(300ms);
      CHECK(scene.mdcx(call.b, call.b.peer->sdp(new_format, new_lines)).code == 200);
      scene.run_for(1s);
      for (const Leg* leg : {&call.a, &call.b}) {
        CHECK(leg->peer->received().size() >= 14);
        for (const auto& packet : leg->peer->received()) {
          REQUIRE(packet.header.payload_type == old_type);  // whatever is dropped
        }
      }
      CHECK(talk(scene, call.a, call.b, 5, new_type, new_type));
    }
  }
}

TEST_CASE("types that were never negotiated pass, or don't where so configured") {
  for (const auto rule : {conf::UnknownPayloadTypes::pass, conf::UnknownPayloadTypes::drop}) {
    auto config = sim::small_config();
    config.endpoints.options.unknown_payload_types = rule;
    Scene scene(config);
    const Call call(scene, with("112", amr(112)), with("98", amr(98)));
    call.a.peer->send_packet(0, sim::from_hex("01020304"));
    call.a.peer->send_packet(98, sim::from_hex("01020304"));  // means something else over there
    scene.run_for(50ms);
    const bool passes = rule == conf::UnknownPayloadTypes::pass;
    CHECK(call.b.peer->received().size() == (passes ? 1U : 0U));
    CHECK(scene.dropped(DropCause::unmapped_payload_type) == (passes ? 1U : 2U));
  }
}

TEST_CASE("half rate frames gain and lose their table of contents by option or by announcement") {
  const sim::Bytes bare = sim::from_hex("0b11b3eede60be4e3ec68838c7b5");
  const sim::Bytes framed = sim::from_hex("000b11b3eede60be4e3ec68838c7b5");
  const auto half = [](std::string_view format) {
    std::string lines = "a=rtpmap:111 GSM-HR-08/8000\r\n";
    return format.empty() ? lines : lines + fmt::format("a=fmtp:111 gsm-hr-format={}\r\n", format);
  };
  for (const bool announced : {false, true}) {
    auto config = sim::small_config();
    config.endpoints.options.patch.rfc5993hr = !announced;
    Scene scene(config);
    const Call call(scene, with("111", half(announced ? "ts101318" : "")),
                    with("111", half(announced ? "rfc5993" : "")));
    check_one(scene, call.a, call.b, 111, bare, 111, framed);
    check_one(scene, call.b, call.a, 111, framed, 111, bare);
  }
}

TEST_CASE("a forced packet duration is announced, whatever the peer asks for") {
  auto config = sim::small_config();
  config.endpoints.options.force_ptime = 40ms;
  Scene scene(config);
  const Leg leg = scene.add_leg(with("8", "a=ptime:20\r\n"));
  CHECK(leg.answer.sdp_line("a=ptime:") == "40");
}
