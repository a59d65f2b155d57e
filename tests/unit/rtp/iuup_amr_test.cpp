// AMR and AMR-WB between Iu UP and RTP: the known vector, every frame type both ways, RFCIs by
// number and by size, quality, mode requests as rate control and back.
#include "rtp/iuup_amr.h"

#include "tests/unit/rtp/iuup_test_sets.h"
#include "tests/unit/rtp/test_packets.h"

#include <doctest/doctest.h>

#include <array>
#include <optional>
#include <utility>
#include <vector>

namespace {

using rtp::AmrCodec;
using rtp::AmrFormat;
using rtp::ConversionError;
using rtp::IuupConfiguration;
using rtp::IuupData;
using rtp::IuupFrameQuality;
using rtp::IuupRates;
using test::Bytes;
using test::from_hex;

constexpr std::uint8_t kNone = rtp::kAmrNoModeRequest;

const char* const kIuupSpeech = "4f28959ffeb80181f5c4e83d176c897b4a4e333298333419a493ca63ded6e0";
const char* const kAmrSpeech = "f3d3ca2567ffae00607d713a0f45db225ed2938ccca60ccd066924f298f7b5b8";

Bytes to_amr(const IuupConfiguration& set, AmrCodec codec, const IuupData& data,
             std::uint8_t mode_request = kNone) {
  Bytes out(100);
  const auto size = rtp::iuup_to_amr(set, codec, data, mode_request, out);
  REQUIRE(size.has_value());
  out.resize(*size);
  return out;
}

Bytes in_form(const Bytes& payload, AmrCodec codec, AmrFormat form) {
  Bytes out(rtp::kAmrPayloadBytesMax);
  const auto size = rtp::convert_amr(payload, codec, form, out);
  REQUIRE(size.has_value());
  out.resize(*size);
  return out;
}

/// An octet-aligned payload of one frame with random speech.
Bytes amr_frame(AmrCodec codec, std::uint8_t type, bool good, test::Random& random,
                std::uint8_t mode_request = kNone) {
  const unsigned bits = rtp::amr_frame_bits(codec, type).value();
  Bytes payload = random.bytes((bits + 7) / 8);
  if (bits % 8 != 0) {
    payload.back() &= std::byte{0xff} << (8 - bits % 8);
  }
  payload.insert(payload.begin(),
                 {static_cast<std::byte>(mode_request << 4U),
                  static_cast<std::byte>(unsigned{type} << 3U | (good ? 4U : 0U))});
  return payload;
}

/// A data payload of so many octets.
IuupData octets(std::size_t count, std::uint8_t rfci = 63,
                IuupFrameQuality quality = IuupFrameQuality::good) {
  static const Bytes zeros(256);
  return {0, quality, rfci, std::span(zeros).first(count)};
}

/// Every frame type that a whole set has an RFCI for.
std::vector<std::uint8_t> types_of(AmrCodec codec) {
  return codec == AmrCodec::narrowband
             ? std::vector<std::uint8_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 15}
             : std::vector<std::uint8_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 14, 15};
}

IuupConfiguration whole_set(AmrCodec codec) {
  return codec == AmrCodec::narrowband ? test::amr_all_modes_set() : test::amr_wb_all_modes_set();
}

constexpr std::array kCodecs{AmrCodec::narrowband, AmrCodec::wideband};

}  // namespace

TEST_CASE("a 12.2 kbit/s frame has the same bits in Iu UP and in RTP") {
  const Bytes speech = from_hex(kIuupSpeech);
  const IuupData data{3, IuupFrameQuality::good, 0, speech};
  for (const IuupConfiguration& set : {test::amr_122_set(), test::unordered_set()}) {
    const Bytes aligned = to_amr(set, AmrCodec::narrowband, data);
    CHECK(in_form(aligned, AmrCodec::narrowband, AmrFormat::bandwidth_efficient) ==
          from_hex(kAmrSpeech));
    const Bytes payload =
        in_form(from_hex(kAmrSpeech), AmrCodec::narrowband, AmrFormat::octet_aligned);
    const auto back = rtp::amr_to_iuup(set, AmrCodec::narrowband, payload);
    REQUIRE(back.has_value());
    CHECK(Bytes(back->data.payload.begin(), back->data.payload.end()) == speech);
    CHECK(back->data.quality == IuupFrameQuality::good);
    CHECK(back->mode_request == kNone);
    CHECK(set.find(back->data.rfci)->bits() == 244);
  }
}

TEST_CASE("every frame type goes to Iu UP and back with every bit and its quality") {
  test::Random random(21);
  for (const AmrCodec codec : kCodecs) {
    const IuupConfiguration set = whole_set(codec);
    for (const std::uint8_t type : types_of(codec)) {
      for (int round = 0; round < 50; ++round) {
        // NO_DATA is never damaged and SPEECH_LOST always: Iu UP has no other way to say it.
        const bool good = type == 14 ? false : type == 15 || round % 2 == 0;
        const Bytes payload = amr_frame(codec, type, good, random, 3);
        const auto there = rtp::amr_to_iuup(set, codec, payload);
        REQUIRE(there.has_value());
        CHECK(there->mode_request == 3);
        CHECK(there->data.quality == (good ? IuupFrameQuality::good : IuupFrameQuality::bad));
        CHECK(set.find(there->data.rfci)->bits() == rtp::amr_frame_bits(codec, type));
        CHECK(to_amr(set, codec, there->data, 3) == payload);
      }
    }
  }
}

TEST_CASE("a frame type is known by the payload's length whatever the RFCI says") {
  constexpr std::array<std::pair<unsigned, unsigned>, 11> kNarrowband{{{12, 0},
                                                                       {13, 1},
                                                                       {15, 2},
                                                                       {17, 3},
                                                                       {19, 4},
                                                                       {20, 5},
                                                                       {26, 6},
                                                                       {31, 7},
                                                                       {5, 8},
                                                                       {6, 9},
                                                                       {0, 15}}};
  constexpr std::array<std::pair<unsigned, unsigned>, 11> kWideband{{{17, 0},
                                                                     {23, 1},
                                                                     {32, 2},
                                                                     {36, 3},
                                                                     {40, 4},
                                                                     {46, 5},
                                                                     {50, 6},
                                                                     {58, 7},
                                                                     {60, 8},
                                                                     {5, 9},
                                                                     {0, 15}}};
  for (const AmrCodec codec : kCodecs) {
    std::array<unsigned, 256> expected{};
    expected.fill(99);
    for (const auto& [length, type] : codec == AmrCodec::narrowband ? kNarrowband : kWideband) {
      expected[length] = type;
    }
    for (std::size_t length = 0; length < 256; ++length) {
      // RFCI 0 is a set's NO_DATA, RFCI 1 its 12.2, RFCI 9 unknown.
      for (const std::uint8_t rfci : std::array<std::uint8_t, 3>{0, 1, 9}) {
        const auto type = rtp::amr_type_of_iuup(test::unordered_set(), codec, octets(length, rfci));
        CHECK(type.value_or(99) == expected[length]);
      }
    }
  }
}

TEST_CASE("a declared RFCI tells frame types of the same length apart") {
  const IuupConfiguration set =
      test::iuup_set({{4, {39}}, {5, {38}}, {6, {37}}, {7, {40}}, {8, {104}}});
  const auto type = [&](std::uint8_t rfci, std::size_t length) {
    return rtp::amr_type_of_iuup(set, AmrCodec::narrowband, octets(length, rfci));
  };
  CHECK(type(4, 5) == 8);
  CHECK(type(5, 5) == 10);
  CHECK(type(6, 5) == 11);
  CHECK(type(7, 5) == 8);
  CHECK(type(8, 13) == 1);
}

TEST_CASE("a length of no frame type is refused") {
  Bytes out(100);
  for (const std::size_t length : {1U, 4U, 7U, 11U, 14U, 30U, 32U, 61U}) {
    const auto result =
        rtp::iuup_to_amr(test::amr_122_set(), AmrCodec::narrowband, octets(length), kNone, out);
    REQUIRE_FALSE(result.has_value());
    CHECK(result.error() == ConversionError::wrong_length);
  }
  CHECK(rtp::iuup_to_amr(test::amr_122_set(), AmrCodec::narrowband, octets(31), kNone,
                         std::span(out).first(32))
            .error() == ConversionError::no_room);
}

TEST_CASE("damaged frames of all kinds have no Q bit, good ones have") {
  for (const auto quality : {IuupFrameQuality::good, IuupFrameQuality::bad,
                             IuupFrameQuality::bad_due_to_radio, IuupFrameQuality::spare}) {
    const bool good = quality == IuupFrameQuality::good;
    const Bytes payload = to_amr(test::amr_122_set(), AmrCodec::narrowband, octets(31, 0, quality));
    CHECK(payload[0] == std::byte{0xf0});
    CHECK(payload[1] == std::byte{good ? std::uint8_t{0x3c} : std::uint8_t{0x38}});
    const Bytes empty =
        to_amr(test::amr_wb_all_modes_set(), AmrCodec::wideband, octets(0, 63, quality));
    CHECK(empty[1] == std::byte{good ? std::uint8_t{0x7c} : std::uint8_t{0x70}});
  }
}

TEST_CASE("bits behind the speech are cleared on the way to AMR") {
  const Bytes ones(31, std::byte{0xff});
  const Bytes payload =
      to_amr(test::amr_122_set(), AmrCodec::narrowband, {0, IuupFrameQuality::good, 0, ones});
  CHECK(payload.back() == std::byte{0xf0});
  CHECK(payload[payload.size() - 2] == std::byte{0xff});
}

TEST_CASE("a frame may be converted inside its buffer") {
  const Bytes speech = from_hex(kIuupSpeech);
  for (const std::size_t offset : {std::size_t{0}, std::size_t{3}, std::size_t{4}}) {
    Bytes buffer(offset);
    buffer.insert(buffer.end(), speech.begin(), speech.end());
    buffer.resize(64);
    const IuupData data{0, IuupFrameQuality::good, 0,
                        std::span(buffer).subspan(offset, speech.size())};
    const auto size =
        rtp::iuup_to_amr(test::amr_122_set(), AmrCodec::narrowband, data, kNone, buffer);
    REQUIRE(size == 33U);
    CHECK(Bytes(buffer.begin() + 2, buffer.begin() + 33) == speech);
  }
}

TEST_CASE("the RFCI is the one of the frame's size, wherever it stands among all declared") {
  test::Random random(22);
  IuupConfiguration set;
  set.subflow_count = 7;
  set.rfci_count = 64;
  for (std::uint8_t index = 0; index < 64; ++index) {
    set.rfcis[index].id = static_cast<std::uint8_t>(63 - index);
    set.rfcis[index].subflow_bits[0] = static_cast<std::uint16_t>(2000 + index);
  }
  for (std::size_t place = 0; place < 64; ++place) {
    IuupConfiguration changed = set;
    changed.rfcis[place].subflow_bits = {81, 103, 60};
    CHECK(rtp::iuup_rfci_of_amr(changed, AmrCodec::narrowband, 7) == 63 - place);
  }
  CHECK_FALSE(rtp::iuup_rfci_of_amr(set, AmrCodec::narrowband, 7).has_value());
}

TEST_CASE("whole octets serve as a frame's size unless they are another frame's") {
  const IuupConfiguration rounded = test::iuup_set({{3, {248}}, {4, {40}}, {5, {39}}});
  CHECK(rtp::iuup_rfci_of_amr(rounded, AmrCodec::narrowband, 7) == 3);
  CHECK(rtp::iuup_rfci_of_amr(rounded, AmrCodec::narrowband, 8) == 5);
  CHECK(rtp::iuup_rfci_of_amr(rounded, AmrCodec::narrowband, 10) == 4);
  CHECK_FALSE(rtp::iuup_rfci_of_amr(test::amr_122_set(), AmrCodec::narrowband, 10).has_value());
  CHECK_FALSE(rtp::iuup_rfci_of_amr(rounded, AmrCodec::narrowband, 15).has_value());
  CHECK_FALSE(rtp::iuup_rfci_of_amr(rounded, AmrCodec::narrowband, 12).has_value());
  CHECK_FALSE(rtp::iuup_rfci_of_amr(rounded, AmrCodec::narrowband, 200).has_value());
}

TEST_CASE("what Iu UP has no room for is refused") {
  test::Random random(23);
  const auto convert = [](const IuupConfiguration& set, const Bytes& payload) {
    return rtp::amr_to_iuup(set, AmrCodec::narrowband, payload);
  };
  const Bytes frame = amr_frame(AmrCodec::narrowband, 0, true, random);
  CHECK(convert(test::amr_122_set(), frame).error() == ConversionError::no_equivalent);
  CHECK(convert({}, frame).error() == ConversionError::no_equivalent);
  Bytes two(3 + 12 + 12);
  two[1] = std::byte{0x84};
  two[2] = std::byte{0x04};
  CHECK(convert(test::amr_all_modes_set(), two).error() == ConversionError::too_many_frames);
  CHECK(convert(test::amr_all_modes_set(), from_hex("f064")).error() ==
        ConversionError::invalid_frame_type);
  CHECK(convert(test::amr_all_modes_set(), from_hex("f03c00")).error() ==
        ConversionError::wrong_length);
  CHECK(convert(test::amr_all_modes_set(), {}).error() == ConversionError::wrong_length);
}

TEST_CASE("the peer's rate control becomes the highest mode that is left") {
  const IuupConfiguration set = test::amr_all_modes_set();
  const auto request = [&](std::optional<IuupRates> rates) {
    return rtp::amr_mode_request_of(set, AmrCodec::narrowband, rates);
  };
  CHECK(request(std::nullopt) == kNone);
  CHECK(request(IuupRates{0, 10}) == 7);
  CHECK(request(IuupRates{0b10000000, 10}) == 6);
  CHECK(request(IuupRates{0b11111110, 10}) == 0);
  // Version 1 allows holes.
  CHECK(request(IuupRates{0b10110000, 10}) == 6);
  CHECK(request(IuupRates{0b11111111, 10}) == kNone);
  CHECK(rtp::amr_mode_request_of(test::amr_wb_all_modes_set(), AmrCodec::wideband,
                                 IuupRates{0b111000000, 11}) == 5);
}

TEST_CASE("a mode request becomes the RFCIs to bar, never the lowest mode, SID or NO_DATA") {
  for (const AmrCodec codec : kCodecs) {
    const IuupConfiguration set = whole_set(codec);
    const std::uint8_t highest = codec == AmrCodec::narrowband ? 7 : 8;
    for (std::uint8_t mode = 0; mode < 16; ++mode) {
      const auto barred = rtp::iuup_barred_above(set, codec, mode);
      REQUIRE(barred.has_value() == (mode <= highest));
      if (barred) {
        std::uint64_t expected = 0;
        for (std::uint8_t above = mode + 1; above <= highest; ++above) {
          expected |= std::uint64_t{1} << above;
        }
        CHECK(*barred == expected);
        CHECK(rtp::amr_mode_request_of(set, codec, IuupRates{*barred, set.rfci_count}) == mode);
      }
    }
  }
  CHECK(rtp::iuup_barred_above(test::amr_122_set(), AmrCodec::narrowband, 0) == 0U);
  const IuupConfiguration two =
      test::iuup_set({{0, {39}}, {1, {244}}, {2, {0}}, {3, {148}}, {4, {244}}});
  CHECK(rtp::iuup_barred_above(two, AmrCodec::narrowband, 2) == 0b10010U);
  CHECK(rtp::iuup_barred_above(two, AmrCodec::narrowband, 7) == 0U);
}
