// GSM half rate payloads between TS 101 318 and RFC 5993.
#include "rtp/gsm_hr.h"

#include "tests/unit/rtp/test_packets.h"

#include <doctest/doctest.h>

#include <array>

namespace {

using rtp::ConversionError;
using rtp::GsmHrFormat;
using test::Bytes;
using test::from_hex;

using Converted = tl::expected<Bytes, ConversionError>;

Converted resized(Bytes out, const tl::expected<std::size_t, ConversionError>& size) {
  if (!size) {
    return tl::unexpected(size.error());
  }
  out.resize(*size);
  return out;
}

Converted converted(const Bytes& payload, GsmHrFormat target) {
  Bytes out(rtp::kGsmHrPayloadBytesMax);
  const auto size = rtp::convert_gsm_hr(payload, target, out);
  return resized(out, size);
}

Converted toggled(const Bytes& payload) {
  Bytes out(rtp::kGsmHrPayloadBytesMax);
  const auto size = rtp::toggle_gsm_hr(payload, out);
  return resized(out, size);
}

Bytes joined(const Bytes& front, const Bytes& back) {
  Bytes all = front;
  all.insert(all.end(), back.begin(), back.end());
  return all;
}

const char* const kVector = "0b11b3eede60be4e3ec68838c7b5";
const char* const kSilence = "123456787fffffffffffffffffff";

}  // namespace

TEST_CASE("the known vector converts and toggles both ways") {
  const Bytes bare = from_hex(kVector);
  const Bytes with_contents = joined(from_hex("00"), bare);
  CHECK(converted(bare, GsmHrFormat::rfc5993) == with_contents);
  CHECK(converted(with_contents, GsmHrFormat::ts101318) == bare);
  CHECK(toggled(bare) == with_contents);
  CHECK(toggled(with_contents) == bare);
}

TEST_CASE("random frames come back with every bit, alone and several to a packet") {
  test::Random random(21);
  for (std::size_t count = 1; count <= rtp::kGsmHrFramesMax; ++count) {
    for (int round = 0; round < 20; ++round) {
      const Bytes bare = random.bytes(count * rtp::kGsmHrFrameBytes);
      const auto with_contents = converted(bare, GsmHrFormat::rfc5993);
      REQUIRE(with_contents.has_value());
      REQUIRE(with_contents->size() == count * (rtp::kGsmHrFrameBytes + 1));
      for (std::size_t index = 0; index < count; ++index) {
        REQUIRE((*with_contents)[index] == (index + 1 < count ? std::byte{0x80} : std::byte{0}));
      }
      REQUIRE(converted(*with_contents, GsmHrFormat::ts101318) == bare);
      REQUIRE(converted(bare, GsmHrFormat::ts101318) == bare);
      REQUIRE(converted(*with_contents, GsmHrFormat::rfc5993) == *with_contents);
    }
  }
}

TEST_CASE("a SID frame is known by its code word, whatever its parameters, and named in RFC 5993") {
  const Bytes silence = from_hex(kSilence);
  CHECK(converted(silence, GsmHrFormat::rfc5993) == joined(from_hex("20"), silence));
  CHECK(converted(joined(from_hex("20"), silence), GsmHrFormat::ts101318) == silence);
  CHECK(toggled(joined(from_hex("20"), silence)) == silence);
  for (unsigned bit = 0; bit < 112; ++bit) {
    std::array<std::byte, rtp::kGsmHrFrameBytes> frame{};
    std::copy(silence.begin(), silence.end(), frame.begin());
    frame[bit / 8] ^= static_cast<std::byte>(0x80U >> (bit % 8));
    CHECK(rtp::is_gsm_hr_silence(frame) == (bit < 33));
  }
}

TEST_CASE(
    "every frame type: speech and SID convert, No_Data has no equivalent, others are refused") {
  for (unsigned type = 0; type < 8; ++type) {
    for (unsigned low = 0; low < 16; ++low) {
      Bytes payload = joined(from_hex("00"), from_hex(kVector));
      payload[0] = static_cast<std::byte>(type << 4U | low);
      const auto bare = converted(payload, GsmHrFormat::ts101318);
      const auto toggled_payload = toggled(payload);
      CHECK(bare.has_value() == (type == 0 || type == 2));
      CHECK(toggled_payload.has_value() == (type == 0 || type == 2));
      if (type == 7) {
        CHECK(bare.error() == ConversionError::wrong_length);  // No_Data has no frame
      } else if (!bare) {
        CHECK(bare.error() == ConversionError::invalid_frame_type);
        CHECK(toggled_payload.error() == ConversionError::invalid_frame_type);
      }
    }
  }
  CHECK(converted(from_hex("70"), GsmHrFormat::ts101318).error() == ConversionError::no_equivalent);
  CHECK(converted(from_hex("70"), GsmHrFormat::rfc5993) == from_hex("70"));
  CHECK(toggled(from_hex("70")).error() == ConversionError::no_equivalent);
  const Bytes mixed = joined(from_hex("80 70"), from_hex(kVector));
  CHECK(converted(mixed, GsmHrFormat::ts101318).error() == ConversionError::no_equivalent);
}

TEST_CASE("the layouts of RFC 5993 section 6: all entries first, then the frames") {
  test::Random random(22);
  const Bytes first = random.bytes(14);
  const Bytes second = random.bytes(14);
  const Bytes third = random.bytes(14);
  const Bytes all = joined(first, joined(second, third));
  CHECK(converted(all, GsmHrFormat::rfc5993) == joined(from_hex("80 80 00"), all));
  CHECK(converted(joined(from_hex("80 80 00"), all), GsmHrFormat::ts101318) == all);
  // The frame in the middle is missing: RFC 5993 can say it, TS 101 318 can't.
  const Bytes gap = joined(from_hex("80 f0 00"), joined(first, third));
  CHECK(converted(gap, GsmHrFormat::rfc5993) == gap);
  CHECK(converted(gap, GsmHrFormat::ts101318).error() == ConversionError::no_equivalent);
}

TEST_CASE("any mixture of speech, SID and missing frames keeps every bit and every entry") {
  test::Random random(23);
  for (int round = 0; round < 2000; ++round) {
    const std::size_t count = 1 + random.below(rtp::kGsmHrFramesMax);
    Bytes entries;
    Bytes frames;
    bool missing = false;
    for (std::size_t index = 0; index < count; ++index) {
      constexpr std::array<unsigned, 3> kTypes{0, 2, 7};
      const unsigned type = kTypes[random.below(3)];
      entries.push_back(static_cast<std::byte>((index + 1 < count ? 0x80U : 0U) | type << 4U));
      missing = missing || type == 7;
      if (type != 7) {
        const Bytes frame = type == 2 ? from_hex(kSilence) : random.bytes(14);
        frames = joined(frames, frame);
      }
    }
    const Bytes payload = joined(entries, frames);
    Bytes flagged = payload;
    for (std::size_t index = 0; index < count; ++index) {
      flagged[index] |= static_cast<std::byte>(random.below(16));
    }
    // The flags of TW-TS-002 stand in bits that are reserved otherwise, and must be zero.
    REQUIRE(converted(flagged, GsmHrFormat::rfc5993) == payload);
    const auto bare = converted(flagged, GsmHrFormat::ts101318);
    REQUIRE(bare.has_value() == !missing);
    if (!missing) {
      REQUIRE(*bare == frames);
      REQUIRE(converted(*bare, GsmHrFormat::rfc5993) == payload);
    }
  }
}

TEST_CASE("payloads of any other length are refused") {
  for (std::size_t size = 0; size < 40; ++size) {
    const Bytes payload(size);
    const bool bare = size == 14 || size == 28;
    const bool with_contents = size == 15;
    CHECK(converted(payload, GsmHrFormat::ts101318).has_value() == (bare || with_contents));
    CHECK(toggled(payload).has_value() == (size == 14 || size == 15));
  }
  CHECK(converted(Bytes(13), GsmHrFormat::rfc5993).error() == ConversionError::wrong_length);
  CHECK(converted({}, GsmHrFormat::rfc5993).error() == ConversionError::wrong_length);
  CHECK(toggled({}).error() == ConversionError::wrong_length);
}

TEST_CASE("too many frames and too little room are refused") {
  CHECK(converted(Bytes(13 * 14), GsmHrFormat::rfc5993).error() == ConversionError::wrong_length);
  CHECK(converted(Bytes(13 * 15, std::byte{0x80}), GsmHrFormat::ts101318).error() ==
        ConversionError::too_many_frames);
  Bytes out(14);
  CHECK(rtp::convert_gsm_hr(from_hex(kVector), GsmHrFormat::rfc5993, out).error() ==
        ConversionError::no_room);
  CHECK(rtp::toggle_gsm_hr(from_hex(kVector), out).error() == ConversionError::no_room);
  Bytes small(13);
  CHECK(rtp::convert_gsm_hr(from_hex(kVector), GsmHrFormat::ts101318, small).error() ==
        ConversionError::no_room);
}

TEST_CASE("two frames in one packet are not toggled") {
  const Bytes two = joined(from_hex("80 00"), joined(from_hex(kVector), from_hex(kVector)));
  CHECK(toggled(two).error() == ConversionError::no_equivalent);
}
