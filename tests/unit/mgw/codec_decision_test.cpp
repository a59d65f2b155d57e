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
