// TRAU frames to RTP payloads and back: signatures, flags of the extended forms, rules for damaged
// frames, SIDs, fillers.
#include "rtp/trau_rtp.h"

#include "rtp/gsm_hr.h"
#include "rtp/trau_clear_data.h"
#include "rtp/trau_silence.h"
#include "tests/unit/rtp/trau_test_frames.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace {

using rtp::SidClass;
using rtp::TrauCodec;
using rtp::TrauDirection;
using rtp::TrauError;
using rtp::TrauExtension;
using rtp::TrauFrame;
using rtp::TrauFrameType;
using rtp::TrauFraming;
using rtp::TrauMapping;
using test::Bytes;

using Payload = tl::expected<Bytes, TrauError>;

Payload to_rtp(const TrauFrame& frame, const TrauMapping& mapping,
               std::uint8_t mode_request = rtp::kNoModeRequest) {
  Bytes out(rtp::kTrauPayloadBytesMax);
  const auto size = rtp::trau_to_rtp(frame, mapping, mode_request, out);
  if (!size) {
    return tl::unexpected(size.error());
  }
  out.resize(*size);
  return out;
}

std::vector<TrauFrame> to_trau(const Bytes& payload, const TrauMapping& mapping) {
  std::vector<TrauFrame> frames(8);
  const auto count = rtp::rtp_to_trau(payload, mapping, frames);
  REQUIRE(count.has_value());
  frames.resize(*count);
  return frames;
}

TrauError refusal(const Bytes& payload, const TrauMapping& mapping) {
  std::array<TrauFrame, 8> frames;
  const auto count = rtp::rtp_to_trau(payload, mapping, frames);
  REQUIRE_FALSE(count.has_value());
  return count.error();
}

TrauMapping mapping_of(TrauCodec codec, TrauExtension extension = TrauExtension::none,
                       TrauFraming framing = TrauFraming::trau_16k) {
  TrauMapping mapping;
  mapping.codec = codec;
  mapping.extension = extension;
  mapping.framing = framing;
  return mapping;
}

TrauFrame random_good(test::Random& random, TrauFrameType type) {
  TrauFrame frame;
  frame.type = type;
  test::set_random_content(random, test::content_bits_of(type), frame);
  return frame;
}

/// FR and EFR in one test each.
struct Signed {
  TrauCodec codec;
  TrauFrameType type;
  std::size_t bytes;
  std::uint8_t signature;
};
constexpr std::array<Signed, 2> kSigned{
    {{TrauCodec::full_rate, TrauFrameType::full_rate, 33, 0xd},
     {TrauCodec::enhanced_full_rate, TrauFrameType::enhanced_full_rate, 31, 0xc}}};

const Bytes kFullRateSilence =
    test::from_hex("daa7aaa51a 502038e46db91b 502038e46db91b 502038e46db91b 502038e46db91b");

}  // namespace

TEST_CASE("FR and EFR payloads are a signature and the speech bits") {
  test::Random random{1};
  for (const Signed& codec : kSigned) {
    for (int round = 0; round < 100; ++round) {
      const TrauFrame frame = random_good(random, codec.type);
      const auto payload = to_rtp(frame, mapping_of(codec.codec));
      REQUIRE(payload.has_value());
      REQUIRE(payload->size() == codec.bytes);
      CHECK(std::to_integer<unsigned>(payload->front() >> 4U) == codec.signature);
      for (std::size_t bit = 0; bit < frame.content_bits; ++bit) {
        REQUIRE(rtp::get_bit(*payload, 4 + bit) == rtp::get_bit(frame.content, bit));
      }
      const auto back = to_trau(*payload, mapping_of(codec.codec));
      REQUIRE(back.size() == 1);
      CHECK(back[0].content == frame.content);
      CHECK(back[0].direction == TrauDirection::downlink);
    }
  }
}

TEST_CASE("without extension nothing is sent of a damaged FR or EFR frame") {
  test::Random random{2};
  for (const Signed& codec : kSigned) {
    TrauFrame frame = random_good(random, codec.type);
    frame.bad_frame = true;
    CHECK(to_rtp(frame, mapping_of(codec.codec)).error() == TrauError::bad_frame);
    frame.bad_frame = false;
    frame.crc_good = false;
    CHECK(to_rtp(frame, mapping_of(codec.codec)).error() == TrauError::bad_crc);
  }
}

TEST_CASE("TW-TS-001 puts DTXd, BFI and TAF before FR and EFR payloads, of bad frames too") {
  test::Random random{3};
  for (const Signed& codec : kSigned) {
    for (unsigned flags = 0; flags < 8; ++flags) {
      TrauFrame frame = random_good(random, codec.type);
      frame.dtx_downlink = (flags & 4U) != 0;
      frame.bad_frame = (flags & 2U) != 0;
      frame.time_alignment_flag = (flags & 1U) != 0;
      const auto payload = to_rtp(frame, mapping_of(codec.codec, TrauExtension::tw_ts));
      REQUIRE(payload.has_value());
      REQUIRE(payload->size() == codec.bytes + 1);
      const unsigned expected = 0xe0U | (frame.dtx_downlink ? 8U : 0U) |
                                (frame.bad_frame ? 2U : 0U) | (frame.time_alignment_flag ? 1U : 0U);
      CHECK(std::to_integer<unsigned>(payload->front()) == expected);
      TrauFrame plain = frame;
      plain.bad_frame = false;
      const Bytes speech(payload->begin() + 1, payload->end());
      CHECK(speech == to_rtp(plain, mapping_of(codec.codec)));
    }
  }
}

TEST_CASE("TW-TS-001 has one octet for an EFR frame with a bad CRC") {
  test::Random random{4};
  TrauFrame frame = random_good(random, TrauFrameType::enhanced_full_rate);
  frame.crc_good = false;
  CHECK(to_rtp(frame, mapping_of(TrauCodec::enhanced_full_rate, TrauExtension::tw_ts)) ==
        test::from_hex("e6"));
}

TEST_CASE("a bad frame that looks like a SID and is none by its class does not look so any more") {
  for (const Signed& codec : kSigned) {
    TrauFrame frame;
    frame.type = codec.type;
    frame.content_bits = test::content_bits_of(codec.type);
    // All zeros are a SID of FR, all ones one of EFR.
    frame.content.fill(codec.type == TrauFrameType::full_rate ? std::byte{0} : std::byte{0xff});
    CHECK(rtp::classify_sid(frame) == SidClass::valid_sid);
    const auto mapping = mapping_of(codec.codec, TrauExtension::tw_ts);
    const auto classify_sent = [&] {
      Bytes payload = *to_rtp(frame, mapping);
      payload.erase(payload.begin());
      return rtp::classify_sid(to_trau(payload, mapping).at(0));
    };
    frame.bad_frame = true;
    CHECK(classify_sent() == SidClass::speech);
    frame.sid = SidClass::invalid_sid;
    CHECK(classify_sent() == SidClass::valid_sid);
    frame.sid = SidClass::speech;
    frame.bad_frame = false;
    CHECK(classify_sent() == SidClass::valid_sid);
  }
}

TEST_CASE("the SID code words: 95 bits of FR and EFR, 79 of HR, with the limits of the classes") {
  struct Word {
    TrauFrameType type;
    bool right;
    std::size_t bits;
  };
  constexpr std::array<Word, 3> kWords{{{TrauFrameType::full_rate, false, 95},
                                        {TrauFrameType::enhanced_full_rate, true, 95},
                                        {TrauFrameType::half_rate, true, 79}}};
  for (const Word& word : kWords) {
    TrauFrame frame;
    frame.type = word.type;
    frame.content.fill(word.right ? std::byte{0xff} : std::byte{0});
    std::vector<std::size_t> places;
    for (std::size_t bit = 0; bit < test::content_bits_of(word.type); ++bit) {
      TrauFrame changed = frame;
      rtp::set_bit(changed.content, bit, !word.right);
      if (!rtp::is_perfect_sid(changed)) {
        places.push_back(bit);
      }
    }
    REQUIRE(places.size() == word.bits);
    for (std::size_t wrong = 0; wrong < 20; ++wrong) {
      const auto expected = wrong < 2    ? SidClass::valid_sid
                            : wrong < 16 ? SidClass::invalid_sid
                                         : SidClass::speech;
      CHECK(rtp::classify_sid(frame) == expected);
      rtp::set_bit(frame.content, places[wrong * 3], !word.right);
    }
  }
  // First pulse of FR: b54, b55, b56 of GSM 06.10, of which b54 is not covered.
  TrauFrame frame;
  frame.type = TrauFrameType::full_rate;
  rtp::set_bit(frame.content, 55, true);
  CHECK(rtp::is_perfect_sid(frame));
  rtp::set_bit(frame.content, 53, true);
  CHECK(rtp::full_rate_sid_errors(frame.content) == 1);
}

TEST_CASE("the SID code word of EFR lies in four runs of the speech bits, with a gap in some") {
  // GSM 06.62, first and last of each run without a gap.
  constexpr std::array<std::pair<std::size_t, std::size_t>, 7> kRuns{
      {{45, 46}, {48, 68}, {94, 96}, {98, 118}, {148, 171}, {196, 209}, {212, 221}}};
  for (std::size_t bit = 0; bit < 244; ++bit) {
    TrauFrame frame;
    frame.content.fill(std::byte{0xff});
    rtp::set_bit(frame.content, bit, false);
    const bool covered = std::any_of(kRuns.begin(), kRuns.end(), [bit](const auto& run) {
      return bit >= run.first && bit <= run.second;
    });
    CAPTURE(bit);
    CHECK(rtp::enhanced_full_rate_sid_errors(frame.content) == (covered ? 1U : 0U));
  }
}

TEST_CASE("only a perfect SID goes down the line with SP = 0") {
  Bytes payload(33, std::byte{0});
  payload[0] = std::byte{0xd0};
  const auto mapping = mapping_of(TrauCodec::full_rate);
  CHECK(to_trau(payload, mapping)[0].sid == SidClass::valid_sid);
  rtp::set_bit(payload, 4 + 53, true);
  CHECK(to_trau(payload, mapping)[0].sid == SidClass::speech);
  CHECK(to_trau(kFullRateSilence, mapping)[0].sid == SidClass::speech);
}

TEST_CASE("TW-TS-001 payloads are read, bad ones and foreign ones refused") {
  const auto mapping = mapping_of(TrauCodec::full_rate);
  Bytes extended = test::from_hex("e9");
  extended.insert(extended.end(), kFullRateSilence.begin(), kFullRateSilence.end());
  CHECK(to_trau(extended, mapping)[0].content == to_trau(kFullRateSilence, mapping)[0].content);
  for (const char* first : {"e2", "e4", "e6", "ea"}) {
    extended[0] = test::from_hex(first)[0];
    CHECK(refusal(extended, mapping) == TrauError::bad_frame);
  }
  CHECK(refusal(test::from_hex("e6"), mapping) == TrauError::bad_frame);
  CHECK(refusal(test::from_hex("e0"), mapping) == TrauError::wrong_length);
  CHECK(refusal({}, mapping) == TrauError::wrong_length);
  CHECK(refusal(Bytes(32, std::byte{0xd0}), mapping) == TrauError::wrong_length);
  CHECK(refusal(Bytes(33, std::byte{0xc0}), mapping) == TrauError::wrong_type);
  CHECK(refusal(Bytes(31, std::byte{0xd0}), mapping_of(TrauCodec::enhanced_full_rate)) ==
        TrauError::wrong_type);
}

TEST_CASE("several frames of one packet are read in their order, as many as there is room for") {
  test::Random random{5};
  for (const Signed& codec : kSigned) {
    Bytes payload;
    std::vector<TrauFrame> sent;
    for (int count = 0; count < 3; ++count) {
      sent.push_back(random_good(random, codec.type));
      const Bytes one = *to_rtp(sent.back(), mapping_of(codec.codec));
      payload.insert(payload.end(), one.begin(), one.end());
    }
    const auto read = to_trau(payload, mapping_of(codec.codec));
    REQUIRE(read.size() == 3);
    for (std::size_t index = 0; index < 3; ++index) {
      CHECK(read[index].content == sent[index].content);
    }
    std::array<TrauFrame, 2> room;
    CHECK(rtp::rtp_to_trau(payload, mapping_of(codec.codec), room) == 2);
  }
}

TEST_CASE("HR payloads have a table of contents of speech or SID, and SIDs are made perfect") {
  test::Random random{6};
  for (const auto framing : {TrauFraming::trau_16k, TrauFraming::hr_8k}) {
    const auto mapping = mapping_of(TrauCodec::half_rate, TrauExtension::none, framing);
    TrauFrame frame = random_good(random, TrauFrameType::half_rate);
    auto payload = to_rtp(frame, mapping);
    REQUIRE(payload.has_value());
    REQUIRE(payload->size() == 15);
    CHECK(payload->front() == std::byte{0x00});
    CHECK(std::equal(payload->begin() + 1, payload->end(), frame.content.begin()));
    CHECK(to_trau(*payload, mapping)[0].content == frame.content);
    frame.sid = SidClass::valid_sid;
    payload = to_rtp(frame, mapping);
    REQUIRE(payload.has_value());
    CHECK(payload->front() == std::byte{0x20});
    CHECK(rtp::is_gsm_hr_silence(std::span(*payload).subspan<1, 14>()));
    for (std::size_t bit = 0; bit < 33; ++bit) {
      CHECK(rtp::get_bit(*payload, 8 + bit) == rtp::get_bit(frame.content, bit));
    }
    CHECK(to_trau(*payload, mapping)[0].sid == SidClass::valid_sid);
  }
}

TEST_CASE("without extension nothing is sent of damaged HR frames and invalid SIDs") {
  test::Random random{7};
  const auto mapping = mapping_of(TrauCodec::half_rate);
  TrauFrame frame = random_good(random, TrauFrameType::half_rate);
  frame.sid = SidClass::invalid_sid;
  CHECK(to_rtp(frame, mapping).error() == TrauError::bad_frame);
  for (const auto sid : {SidClass::speech, SidClass::valid_sid}) {
    frame.sid = sid;
    frame.bad_frame = true;
    CHECK(to_rtp(frame, mapping).error() == TrauError::bad_frame);
    frame.bad_frame = false;
    frame.crc_good = false;
    CHECK(to_rtp(frame, mapping).error() == TrauError::bad_crc);
    frame.crc_good = true;
  }
}

TEST_CASE("TW-TS-002 tells speech, SID, invalid SID, bad and lost HR frames, with their flags") {
  test::Random random{8};
  const auto mapping = mapping_of(TrauCodec::half_rate, TrauExtension::tw_ts);
  for (unsigned flags = 0; flags < 8; ++flags) {
    TrauFrame frame = random_good(random, TrauFrameType::half_rate);
    frame.dtx_downlink = (flags & 4U) != 0;
    frame.unreliable = (flags & 2U) != 0;
    frame.time_alignment_flag = (flags & 1U) != 0;
    const unsigned low = (frame.dtx_downlink ? 8U : 0U) | (flags & 3U);
    const auto entry = [&](std::size_t size) {
      const auto payload = to_rtp(frame, mapping);
      REQUIRE(payload.has_value());
      CHECK(payload->size() == size);
      return std::to_integer<unsigned>(payload->front());
    };
    CHECK(entry(15) == (0x00U | low));
    frame.sid = SidClass::valid_sid;
    CHECK(entry(15) == (0x20U | low));
    frame.bad_frame = true;
    CHECK(entry(15) == (0x14U | low));
    frame.sid = SidClass::invalid_sid;
    CHECK(entry(15) == (0x14U | low));
    frame.sid = SidClass::speech;
    CHECK(entry(15) == (0x60U | low));
    frame.crc_good = false;
    CHECK(entry(1) == (0x70U | low));
  }
}

TEST_CASE("HR payloads are read with and without table of contents, bad ones are refused") {
  test::Random random{9};
  const auto mapping = mapping_of(TrauCodec::half_rate);
  const Bytes frame = random.bytes(14);
  for (const char* entry : {"", "00", "20", "0f"}) {
    Bytes payload = test::from_hex(entry);
    payload.insert(payload.end(), frame.begin(), frame.end());
    const auto read = to_trau(payload, mapping);
    REQUIRE(read.size() == 1);
    CHECK(std::equal(frame.begin(), frame.end(), read[0].content.begin()));
  }
  for (const char* entry : {"10", "14", "60"}) {
    Bytes payload = test::from_hex(entry);
    payload.insert(payload.end(), frame.begin(), frame.end());
    CHECK(refusal(payload, mapping) == TrauError::bad_frame);
  }
  CHECK(refusal(test::from_hex("70"), mapping) == TrauError::bad_frame);
  CHECK(refusal(random.bytes(13), mapping) == TrauError::wrong_length);
}

TEST_CASE("AMR of all modes goes from payload to frame to payload the same, in both packings") {
  test::Random random{10};
  for (const auto format : {rtp::AmrFormat::octet_aligned, rtp::AmrFormat::bandwidth_efficient}) {
    auto mapping = mapping_of(TrauCodec::adaptive_multi_rate);
    mapping.amr_format = format;
    for (std::uint8_t mode = 0; mode < 8; ++mode) {
      for (const auto quality : {rtp::AmrFrameClass::speech_good, rtp::AmrFrameClass::speech_bad}) {
        TrauFrame frame = test::random_amr_frame(random, mode);
        frame.amr_class = quality;
        const auto payload = to_rtp(frame, mapping, 3);
        REQUIRE(payload.has_value());
        const auto parsed = rtp::parse_amr(*payload, rtp::AmrCodec::narrowband, format);
        REQUIRE(parsed.has_value());
        CHECK(parsed->mode_request == 3);
        REQUIRE(parsed->frame_count == 1);
        CHECK(parsed->frames[0].type == mode);
        CHECK(parsed->frames[0].good == (quality == rtp::AmrFrameClass::speech_good));
        const auto read = to_trau(*payload, mapping);
        REQUIRE(read.size() == 1);
        CHECK(read[0].content == frame.content);
        CHECK(read[0].amr_class == quality);
        CHECK(read[0].amr_mode == mode);
        CHECK(read[0].amr_mode_request == 3);
      }
    }
  }
}

TEST_CASE("AMR SIDs keep their bits and kind; No_Data and an onset are not sent") {
  test::Random random{11};
  const auto mapping = mapping_of(TrauCodec::adaptive_multi_rate);
  for (const auto kind :
       {rtp::AmrNoSpeech::sid_first, rtp::AmrNoSpeech::sid_update, rtp::AmrNoSpeech::sid_bad}) {
    TrauFrame frame;
    frame.type = TrauFrameType::adaptive_multi_rate;
    frame.amr_no_speech = kind;
    test::set_random_content(random, 39, frame);
    rtp::set_bit(frame.content, 35, kind == rtp::AmrNoSpeech::sid_update);
    const auto payload = to_rtp(frame, mapping);
    REQUIRE(payload.has_value());
    REQUIRE(payload->size() == 7);
    CHECK(payload->at(0) == std::byte{0xf0});
    CHECK(payload->at(1) ==
          (kind == rtp::AmrNoSpeech::sid_bad ? std::byte{0x40} : std::byte{0x44}));
    const auto read = to_trau(*payload, mapping);
    REQUIRE(read.size() == 1);
    CHECK(read[0].amr_no_speech == kind);
    CHECK(read[0].content == frame.content);
  }
  TrauFrame frame;
  frame.type = TrauFrameType::adaptive_multi_rate;
  CHECK(to_rtp(frame, mapping).error() == TrauError::nothing);
  frame.amr_no_speech = rtp::AmrNoSpeech::onset;
  CHECK(to_rtp(frame, mapping).error() == TrauError::nothing);
  CHECK(to_trau(test::from_hex("f0 7c"), mapping).at(0).content_bits == 0);
}

TEST_CASE("a damaged AMR frame goes with its quality bit cleared") {
  test::Random random{12};
  TrauFrame frame = test::random_amr_frame(random, 7);
  frame.crc_good = false;
  const auto payload = to_rtp(frame, mapping_of(TrauCodec::adaptive_multi_rate));
  REQUIRE(payload.has_value());
  CHECK(payload->at(1) == std::byte{0x38});
}

TEST_CASE("AMR payloads that a TRAU frame can't carry are refused") {
  const auto slow =
      mapping_of(TrauCodec::adaptive_multi_rate, TrauExtension::none, TrauFraming::amr_8k);
  const auto fast = mapping_of(TrauCodec::adaptive_multi_rate);
  Bytes payload = test::from_hex("f0 3c");  // 12.2 kbit/s
  payload.resize(2 + 31);
  CHECK(to_trau(payload, fast).size() == 1);
  CHECK(refusal(payload, slow) == TrauError::unsupported);
  CHECK(refusal(test::from_hex("f0 4c 00 00 00 00 00 00"), fast) == TrauError::unsupported);
  CHECK(refusal(test::from_hex("f0 64"), fast) == TrauError::unknown_type);
  CHECK(refusal(test::from_hex("f0 3c 00"), fast) == TrauError::wrong_length);
}

TEST_CASE("data goes as V.110 in the first two bits of each octet of a clear channel") {
  test::Random random{13};
  TrauFrame frame = random_good(random, TrauFrameType::data);
  frame.time_alignment = 0x3f;
  const auto mapping = mapping_of(TrauCodec::clear_data);
  const auto payload = to_rtp(frame, mapping);
  REQUIRE(payload.has_value());
  REQUIRE(payload->size() == 160);
  test::Bits v110;
  for (const std::byte octet : *payload) {
    CHECK((octet & std::byte{0x3f}) == std::byte{0x3f});
    v110.push_back((octet & std::byte{0x80}) != std::byte{0});
    v110.push_back((octet & std::byte{0x40}) != std::byte{0});
  }
  std::size_t taken = 0;
  for (std::size_t at = 0; at < 320; ++at) {
    const std::size_t bit = at % 80;
    if (bit < 8) {
      CHECK_FALSE(v110[at]);
    } else if (bit % 8 == 0) {
      CHECK(v110[at]);
    } else {
      CHECK(v110[at] == rtp::get_bit(frame.content, taken++));
    }
  }
  CHECK(taken == 252);
  const auto back = to_trau(*payload, mapping);
  REQUIRE(back.size() == 1);
  CHECK(back[0].content == frame.content);
}

TEST_CASE("data out of step with its packet, or at 8 kbit/s, is refused and never mangled") {
  const auto mapping = mapping_of(TrauCodec::clear_data);
  TrauFrame frame = rtp::make_filler(TrauFrameType::data);
  Bytes payload = *to_rtp(frame, mapping);
  std::rotate(payload.begin(), payload.begin() + 1, payload.end());
  CHECK(refusal(payload, mapping) == TrauError::unsupported);
  CHECK(refusal(Bytes(159), mapping) == TrauError::wrong_length);
  frame.time_alignment = 0x1f;
  CHECK(to_rtp(frame, mapping).error() == TrauError::unsupported);
}

TEST_CASE("frames of another codec are refused, idle and O&M frames are nothing to send") {
  TrauFrame frame;
  CHECK(to_rtp(frame, mapping_of(TrauCodec::full_rate)).error() == TrauError::nothing);
  frame.type = TrauFrameType::operation_maintenance;
  CHECK(to_rtp(frame, mapping_of(TrauCodec::full_rate)).error() == TrauError::nothing);
  frame.type = TrauFrameType::enhanced_full_rate;
  CHECK(to_rtp(frame, mapping_of(TrauCodec::full_rate)).error() == TrauError::wrong_type);
  Bytes small(rtp::kTrauPayloadBytesMax - 1);
  CHECK(rtp::trau_to_rtp(frame, mapping_of(TrauCodec::enhanced_full_rate), 15, small).error() ==
        TrauError::no_room);
}

TEST_CASE("the fillers are FR and HR silence and the EFR decoder homing frame") {
  CHECK(to_rtp(rtp::make_filler(TrauFrameType::full_rate), mapping_of(TrauCodec::full_rate)) ==
        kFullRateSilence);
  CHECK(to_rtp(rtp::make_filler(TrauFrameType::enhanced_full_rate),
               mapping_of(TrauCodec::enhanced_full_rate)) ==
        test::from_hex("c085eb490faad603e3a18607b0c42c080480558000000000036b0000000000"));
  CHECK(to_rtp(rtp::make_filler(TrauFrameType::half_rate), mapping_of(TrauCodec::half_rate)) ==
        test::from_hex("00 0164b8e580 000000000000000000"));
  CHECK(to_rtp(rtp::make_filler(TrauFrameType::adaptive_multi_rate),
               mapping_of(TrauCodec::adaptive_multi_rate))
            .error() == TrauError::nothing);
}

TEST_CASE("each codec goes at the rates that the standard has for it") {
  CHECK(rtp::trau_framing_of(TrauCodec::full_rate, 16) == TrauFraming::trau_16k);
  CHECK(rtp::trau_framing_of(TrauCodec::half_rate, 16) == TrauFraming::trau_16k);
  CHECK(rtp::trau_framing_of(TrauCodec::half_rate, 8) == TrauFraming::hr_8k);
  CHECK(rtp::trau_framing_of(TrauCodec::adaptive_multi_rate, 8) == TrauFraming::amr_8k);
  CHECK(rtp::trau_framing_of(TrauCodec::pcma, 64).has_value());
  CHECK_FALSE(rtp::trau_framing_of(TrauCodec::full_rate, 8).has_value());
  CHECK_FALSE(rtp::trau_framing_of(TrauCodec::pcmu, 16).has_value());
  CHECK_FALSE(rtp::trau_framing_of(TrauCodec::half_rate, 32).has_value());
  CHECK_FALSE(rtp::trau_framing_of(TrauCodec::full_rate, 64).has_value());
}

TEST_CASE("every cause of refusal has a name") {
  std::vector<std::string_view> names;
  for (std::size_t index = 0; index < rtp::kTrauErrorCount; ++index) {
    names.push_back(rtp::to_string(static_cast<TrauError>(index)));
    CHECK_FALSE(names.back().empty());
  }
  std::sort(names.begin(), names.end());
  CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
}
