// Which codec is selected and announced, and what becomes of each payload type.

#include "mgw/codec_decision.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

using mgcp::Codec;
using rtp::Conversion;
using rtp::PayloadAction;

namespace {

using Codecs = std::vector<Codec>;

/// "112 AMR/8000" with its fmtp.
Codec codec(std::uint8_t payload_type, std::string_view rtpmap, std::string fmtp = {}) {
  Codec result = mgcp::parse_rtpmap(payload_type, rtpmap).value();
  result.fmtp = std::move(fmtp);
  return result;
}

Codec oa(std::uint8_t payload_type) {
  return codec(payload_type, "AMR/8000", "octet-align=1");
}
Codec be(std::uint8_t payload_type) {
  return codec(payload_type, "AMR/8000", "octet-align=0");
}

/// What a packet of `payload_type` of connection `from` becomes at connection `to`.
rtp::PayloadDecision decide(const std::vector<Codecs>& lists, std::size_t from, std::size_t to,
                            std::uint8_t payload_type,
                            rtp::UnknownPayloadTypes unknown = rtp::UnknownPayloadTypes::pass,
                            bool toggle_gsm_hr = false) {
  const std::vector<std::span<const Codec>> spans(lists.begin(), lists.end());
  const auto compiled = mgw::compile_payload_types(spans, toggle_gsm_hr);
  return rtp::map_payload_type(compiled[from].source, compiled[to].target, payload_type, unknown);
}

void check_forward(const std::vector<Codecs>& lists, std::size_t from, std::uint8_t payload_type,
                   std::uint8_t expected, Conversion conversion = Conversion::none) {
  const auto decision = decide(lists, from, 1 - from, payload_type);
  CAPTURE(payload_type);
  CHECK(decision.action == PayloadAction::forward);
  CHECK(decision.payload_type == expected);
  CHECK(decision.conversion == conversion);
}

std::string names(const Codecs& codecs) {
  std::string text;
  for (const Codec& one : codecs) {
    text += (text.empty() ? "" : " ") + std::to_string(one.payload_type);
  }
  return text;
}

}  // namespace

TEST_CASE("the first own codec that the other has too is selected") {
  struct Row {
    Codecs own;
    Codecs other;
    std::size_t own_index;
    std::size_t other_index;
  };
  const Codec pcmu = codec(0, "PCMU/8000");
  const Codec pcma = codec(8, "PCMA/8000");
  const Codec gsm = codec(3, "GSM/8000");
  const Codec event = codec(101, "telephone-event/8000");
  const Codec noise = codec(13, "CN/8000");
  const Codec iuup = codec(96, "VND.3GPP.IUFP/16000");
  const std::vector<Row> rows = {
      {{pcmu}, {}, 0, 0},
      {{}, {}, 0, 0},
      {{event, pcmu}, {}, 1, 0},  // no event as long as there is voice
      {{event}, {event}, 0, 0},
      {{noise, event, gsm}, {event, noise, gsm}, 2, 2},
      {{pcmu, pcma}, {pcma, pcmu}, 0, 1},  // own order counts
      {{pcmu, pcma, gsm}, {gsm}, 2, 0},
      {{pcmu, event}, {gsm, event}, 0, 0},  // events alone are nothing in common
      {{codec(112, "AMR/8000")}, {codec(96, "amr/8000/1")}, 0, 0},
      {{codec(112, "AMR/8000")}, {be(96)}, 0, 0},            // absent means 0
      {{be(98), oa(99)}, {oa(112)}, 1, 0},                   // same before convertible
      {{pcmu, be(98)}, {pcma, oa(112)}, 1, 1},               // convertible before nothing
      {{codec(112, "AMR/8000"), pcmu}, {iuup, pcmu}, 1, 1},  // same before convertible again
      {{codec(112, "AMR/8000")}, {pcmu, iuup}, 0, 1},        // IuUP carries AMR at any rate
      {{codec(113, "AMR-WB/16000")}, {codec(112, "AMR/8000")}, 0, 0},
      {{codec(97, "X/8000")},
       {codec(97, "X/16000"), codec(98, "X/8000/2"), codec(99, "x/8000")},
       0,
       2},
  };
  for (std::size_t row = 0; row < rows.size(); ++row) {
    CAPTURE(row);
    const auto pair = mgw::select_codecs(rows[row].own, rows[row].other);
    CHECK(pair.own == rows[row].own_index);
    CHECK(pair.other == rows[row].other_index);
  }
}

TEST_CASE("an answer has the selected codec first and whatever else both sides can use") {
  const Codecs own = {codec(0, "PCMU/8000"), codec(8, "PCMA/8000"), codec(3, "GSM/8000"),
                      codec(101, "telephone-event/8000"), codec(13, "CN/8000")};
  const Codecs other = {codec(8, "PCMA/8000"), codec(0, "PCMU/8000"),
                        codec(97, "telephone-event/8000")};
  CHECK(names(mgw::announced_codecs(own, 1, other, false)) == "8 0 101");
  CHECK(names(mgw::announced_codecs(own, 1, other, true)) == "8 101");
  CHECK(names(mgw::announced_codecs(own, 0, {}, false)) == "0 8 3 101 13");
  CHECK(names(mgw::announced_codecs(own, 0, {}, true)) == "0 101 13");
  CHECK(names(mgw::announced_codecs({}, 0, {}, true)).empty());
}

TEST_CASE("an answer has no more than ten payload types") {
  Codecs own;
  for (std::uint8_t i = 0; i < 23; ++i) {
    own.push_back(codec(static_cast<std::uint8_t>(96 + i), "C" + std::to_string(i) + "/8000"));
  }
  const auto announced = mgw::announced_codecs(own, 19, own, false);
  CHECK(announced.size() == mgw::kAnnouncedCodecsMax);
  CHECK(announced.front().payload_type == 115);
}

TEST_CASE("equal codecs under different payload types are translated both ways") {
  const std::vector<Codecs> lists = {
      {codec(112, "AMR/8000"), codec(0, "PCMU/8000"), codec(101, "telephone-event/8000")},
      {codec(97, "telephone-event/8000"), codec(96, "AMR/8000/1"), codec(0, "PCMU/8000")}};
  check_forward(lists, 0, 112, 96);
  check_forward(lists, 1, 96, 112);
  check_forward(lists, 0, 101, 97);
  check_forward(lists, 1, 97, 101);
  check_forward(lists, 0, 0, 0);
}

TEST_CASE("the octet-aligned and the bandwidth-efficient form go their own ways where they can") {
  // What the conformance suite offers: one side one form, the other side both, in either order.
  check_forward({{oa(96)}, {be(112)}}, 0, 96, 112, Conversion::amr_to_bandwidth_efficient);
  check_forward({{oa(96)}, {be(112)}}, 1, 112, 96, Conversion::amr_to_octet_aligned);
  check_forward({{oa(96)}, {oa(112)}}, 0, 96, 112);
  check_forward({{be(96)}, {be(112)}}, 0, 96, 112);
  check_forward({{oa(96)}, {oa(112), be(113)}}, 0, 96, 112);
  check_forward({{oa(96)}, {be(112), oa(113)}}, 0, 96, 113);
  check_forward({{be(96)}, {be(112), oa(113)}}, 0, 96, 112);
  check_forward({{be(96)}, {oa(112), be(113)}}, 0, 96, 113);
  // And whichever of its two forms the second side sends, the first gets its own.
  check_forward({{oa(96)}, {be(112), oa(113)}}, 1, 113, 96);
  check_forward({{oa(96)}, {be(112), oa(113)}}, 1, 112, 96, Conversion::amr_to_octet_aligned);
  const auto wide = [](std::uint8_t type, const char* fmtp) {
    return codec(type, "AMR-WB/16000", fmtp);
  };
  check_forward({{wide(96, "octet-align=1")}, {wide(97, "")}}, 0, 96, 97,
                Conversion::amr_wb_to_bandwidth_efficient);
}

TEST_CASE("of two codecs that differ in their modes the one with the source's modes is used") {
  const auto modes = [](std::uint8_t type, const char* fmtp) {
    return codec(type, "AMR/8000", fmtp);
  };
  const Codecs one = {modes(96, "octet-align=1;mode-set=0,2,4,7")};
  const Codecs two = {modes(112, "mode-set=7;octet-align=1"),
                      modes(113, "mode-set=\"7, 4, 2, 0\"; octet-align=1"),
                      modes(114, "octet-align=1")};
  CHECK(mgw::select_codecs(one, two).other == 1);
  check_forward({one, two}, 0, 96, 113);
  check_forward({one, two}, 1, 112, 96);
  check_forward({one, two}, 1, 113, 96);
  check_forward({one, two}, 1, 114, 96);
  // Modes never stand in the way, and never outweigh the order of the codecs.
  check_forward({{modes(96, "mode-set=7")}, {modes(112, "mode-set=0,2")}}, 0, 96, 112);
  const Codecs ordered = {modes(96, "mode-set=7"), codec(0, "PCMU/8000")};
  CHECK(mgw::select_codecs(ordered, Codecs{codec(0, "PCMU/8000"), modes(112, "")}).own == 0);
  // Both have both: each mode set goes to its own.
  const std::vector<Codecs> crossed = {{modes(96, "mode-set=0"), modes(97, "mode-set=0,2")},
                                       {modes(112, "mode-set=0,2"), modes(113, "mode-set=0")}};
  check_forward(crossed, 0, 96, 113);
  check_forward(crossed, 0, 97, 112);
  check_forward(crossed, 1, 112, 97);
}

TEST_CASE("AMR that is interleaved, sorted or has CRCs goes to its like only") {
  const std::vector<const char*> plain = {"", "octet-align=0", "octet-align=1"};
  const std::vector<const char*> others = {"interleaving=4", "octet-align=1;crc=1",
                                           "robust-sorting=1", "crc=1; interleaving=2"};
  for (const char* rtpmap : {"AMR/8000", "AMR-WB/16000"}) {
    for (const char* other : others) {
      CAPTURE(other);
      check_forward({{codec(96, rtpmap, other)}, {codec(97, rtpmap, other)}}, 0, 96, 97);
      for (const char* one : plain) {
        const std::vector<Codecs> lists = {{codec(96, rtpmap, one), codec(8, "PCMA/8000")},
                                           {codec(97, rtpmap, other), codec(8, "PCMA/8000")}};
        CHECK(decide(lists, 0, 1, 96).action == PayloadAction::drop_unmapped);
        CHECK(decide(lists, 1, 0, 97).action == PayloadAction::drop_unmapped);
        CHECK(mgw::select_codecs(lists[0], lists[1]).own == 1);
        CHECK(names(mgw::announced_codecs(lists[0], 1, lists[1], false)) == "8");
      }
    }
  }
}

TEST_CASE("events and noise are announced in the clock of the voice, if there are such") {
  const Codec wide = codec(104, "AMR-WB/16000");
  const Codec pcma = codec(8, "PCMA/8000");
  const Codec event8 = codec(101, "telephone-event/8000", "0-15");
  const Codec event16 = codec(102, "telephone-event/16000", "0-16");
  const Codec noise8 = codec(13, "CN/8000");
  const Codec noise16 = codec(98, "CN/16000");
  const Codecs own = {wide, pcma, event8, event16, noise8, noise16};
  for (const Codecs& other : {Codecs{}, own}) {
    CHECK(names(mgw::announced_codecs(own, 0, other, true)) == "104 102 98");
    CHECK(names(mgw::announced_codecs(own, 1, other, true)) == "8 101 13");
    CHECK(names(mgw::announced_codecs(own, 0, other, false)) == "104 8 102 98 101 13");
    CHECK(names(mgw::announced_codecs(own, 1, other, false)) == "8 104 101 13 102 98");
  }
  // Phones that have no other: better than none.
  CHECK(names(mgw::announced_codecs(Codecs{wide, event8}, 0, Codecs{wide, event8}, true)) ==
        "104 101");
  CHECK(names(mgw::announced_codecs(own, 0, Codecs{wide, event8}, true)) == "104 101");
  // Each goes to its like, never to the one with the other clock.
  const std::vector<Codecs> lists = {
      own, {codec(97, "telephone-event/16000"), codec(96, "telephone-event/8000"), wide}};
  check_forward(lists, 0, 101, 96);
  check_forward(lists, 0, 102, 97);
  check_forward(lists, 1, 97, 102);
  CHECK(decide({{wide, event8}, {wide, event16}}, 0, 1, 101).action ==
        PayloadAction::drop_unmapped);
}

TEST_CASE("every pair of half rate formats has its conversion") {
  const std::vector<const char*> formats = {"", "gsm-hr-format=ts101318", "gsm-hr-format=rfc5993",
                                            "tw-ts-002=1", "tw-ts-002=0"};
  constexpr auto kNone = Conversion::none;
  constexpr auto kToggle = Conversion::gsm_hr_toggle;
  constexpr auto kBare = Conversion::gsm_hr_to_ts101318;
  constexpr auto kContents = Conversion::gsm_hr_to_rfc5993;
  // From the row's format to the column's; with `rtp-patch rfc5993hr`.
  const std::vector<std::vector<Conversion>> table = {
      {kToggle, kToggle, kToggle, kContents, kToggle},
      {kToggle, kNone, kContents, kContents, kToggle},
      {kToggle, kBare, kNone, kNone, kToggle},
      {kContents, kBare, kContents, kNone, kContents},
      {kToggle, kToggle, kToggle, kContents, kToggle}};
  for (std::size_t from = 0; from < formats.size(); ++from) {
    for (std::size_t to = 0; to < formats.size(); ++to) {
      CAPTURE(formats[from]);
      CAPTURE(formats[to]);
      const std::vector<Codecs> lists = {{codec(111, "GSM-HR-08/8000", formats[from])},
                                         {codec(98, "GSM-HR-08/8000", formats[to])}};
      const Conversion expected = table[from][to];
      const auto pass = rtp::UnknownPayloadTypes::pass;
      CHECK(decide(lists, 0, 1, 111, pass, true).conversion == expected);
      CHECK(decide(lists, 0, 1, 111, pass, false).conversion ==
            (expected == kToggle ? kNone : expected));
      CHECK(decide(lists, 0, 1, 111).payload_type == 98);
    }
  }
}

TEST_CASE("full rate frames lose or get the octet of TW-TS-001 where one leg only wants it") {
  for (const bool enhanced : {false, true}) {
    const char* const rtpmap = enhanced ? "GSM-EFR/8000" : "GSM/8000";
    const auto to_extended =
        enhanced ? Conversion::gsm_efr_to_extended : Conversion::gsm_to_extended;
    const auto to_bare = enhanced ? Conversion::gsm_efr_to_bare : Conversion::gsm_to_bare;
    for (const char* without : {"", "tw-ts-001=0", "x=1"}) {
      const std::vector<Codecs> lists = {{codec(3, rtpmap, "tw-ts-001=1")},
                                         {codec(98, rtpmap, without)}};
      check_forward(lists, 0, 3, 98, to_bare);
      check_forward(lists, 1, 98, 3, to_extended);
    }
    check_forward({{codec(3, rtpmap, "tw-ts-001=1")}, {codec(98, rtpmap, "TW-TS-001 = 1")}}, 0, 3,
                  98);
    check_forward({{codec(3, rtpmap)}, {codec(98, rtpmap, "tw-ts-001=0")}}, 0, 3, 98);
  }
  // Of two that the other leg offers the one that needs no conversion is used.
  const Codecs two = {codec(97, "GSM/8000"), codec(98, "GSM/8000", "tw-ts-001=1")};
  check_forward({{codec(3, "GSM/8000", "tw-ts-001=1")}, two}, 0, 3, 98);
  check_forward({{codec(3, "GSM/8000")}, two}, 0, 3, 97);
}

TEST_CASE("half rate frames change their form when both sides said which they want") {
  const auto half = [](std::uint8_t type, const char* fmtp) {
    return codec(type, "GSM-HR-08/8000", fmtp);
  };
  const std::vector<Codecs> said = {{half(111, "gsm-hr-format=ts101318")},
                                    {half(98, "gsm-hr-format=RFC5993")}};
  check_forward(said, 0, 111, 98, Conversion::gsm_hr_to_rfc5993);
  check_forward(said, 1, 98, 111, Conversion::gsm_hr_to_ts101318);
  const std::vector<Codecs> unsaid = {{half(111, "")}, {half(98, "")}};
  check_forward(unsaid, 0, 111, 98);
  CHECK(decide(unsaid, 0, 1, 111, rtp::UnknownPayloadTypes::pass, true).conversion ==
        Conversion::gsm_hr_toggle);
  CHECK(decide(said, 0, 1, 111, rtp::UnknownPayloadTypes::pass, true).conversion ==
        Conversion::gsm_hr_to_rfc5993);
}

TEST_CASE("what only the source negotiated is dropped, never relabelled") {
  const std::vector<Codecs> lists = {
      {codec(8, "PCMA/8000"), codec(101, "telephone-event/8000"), codec(13, "CN/8000")},
      {codec(8, "PCMA/8000")}};
  CHECK(decide(lists, 0, 1, 101).action == PayloadAction::drop_unmapped);
  CHECK(decide(lists, 0, 1, 13).action == PayloadAction::drop_unmapped);
  check_forward(lists, 0, 8, 8);
  // A third connection that can take it does not make the second one take it.
  const std::vector<Codecs> three = {
      lists[0], lists[1], {codec(97, "telephone-event/8000"), codec(8, "PCMA/8000")}};
  CHECK(decide(three, 0, 1, 101).action == PayloadAction::drop_unmapped);
  CHECK(decide(three, 0, 2, 101).payload_type == 97);
}

TEST_CASE("what the source never negotiated passes unchanged where it means nothing else") {
  const std::vector<Codecs> lists = {{codec(112, "AMR/8000")},
                                     {codec(98, "AMR/8000"), codec(99, "GSM-EFR/8000")}};
  CHECK(decide(lists, 0, 1, 0).action == PayloadAction::pass_unchanged);
  CHECK(decide(lists, 0, 1, 99).action == PayloadAction::drop_unmapped);
  CHECK(decide(lists, 0, 1, 98).action == PayloadAction::drop_unmapped);
  CHECK(decide(lists, 0, 1, 0, rtp::UnknownPayloadTypes::drop).action ==
        PayloadAction::drop_unmapped);
}

TEST_CASE("of 23 payload types the twentieth is used if it is the one that both have") {
  for (const std::size_t matching : {0U, 9U, 10U, 19U, 22U}) {
    CAPTURE(matching);
    Codecs many;
    for (std::size_t i = 0; i < 23; ++i) {
      const auto type = static_cast<std::uint8_t>(96 + i);
      many.push_back(i == matching ? codec(type, "GSM-EFR/8000")
                                   : codec(type, "C" + std::to_string(i) + "/8000"));
    }
    const Codecs one = {codec(110, "GSM-EFR/8000")};
    CHECK(mgw::select_codecs(many, one).own == matching);
    check_forward({many, one}, 0, static_cast<std::uint8_t>(96 + matching), 110);
    check_forward({many, one}, 1, 110, static_cast<std::uint8_t>(96 + matching));
    CHECK(decide({many, one}, 0, 1, static_cast<std::uint8_t>(96 + (matching + 1) % 23)).action ==
          PayloadAction::drop_unmapped);
  }
}

TEST_CASE("all 128 payload types under one codec each never overrun a table") {
  Codecs all;
  for (unsigned i = 0; i < 128; ++i) {
    all.push_back(codec(static_cast<std::uint8_t>(i), "C" + std::to_string(i) + "/8000"));
  }
  Codecs reversed = all;
  std::reverse(reversed.begin(), reversed.end());
  const std::vector<Codecs> lists = {all, reversed};
  check_forward(lists, 0, 0, 0);
  check_forward(lists, 0, 30, 30);
  for (unsigned type = 31; type < 128; ++type) {  // beyond the slots there is no way, and no harm
    CHECK(decide(lists, 0, 1, static_cast<std::uint8_t>(type)).action ==
          PayloadAction::drop_unmapped);
  }
}
