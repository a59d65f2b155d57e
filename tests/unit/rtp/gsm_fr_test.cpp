// GSM full rate and enhanced full rate payloads with and without the octet of TW-TS-001.
#include "rtp/gsm_fr.h"

#include "tests/unit/rtp/test_packets.h"

#include <doctest/doctest.h>

#include <array>

namespace {

using rtp::ConversionError;
using rtp::GsmFrCodec;
using rtp::GsmFrFormat;
using test::Bytes;

constexpr std::array kCodecs{GsmFrCodec::full_rate, GsmFrCodec::enhanced_full_rate};

tl::expected<Bytes, ConversionError> converted(const Bytes& payload, GsmFrCodec codec,
                                               GsmFrFormat target) {
  Bytes out(rtp::kGsmFrPayloadBytesMax);
  const auto size = rtp::convert_gsm_fr(payload, codec, target, out);
  if (!size) {
    return tl::unexpected(size.error());
  }
  out.resize(*size);
  return out;
}

Bytes random_frame(test::Random& random, GsmFrCodec codec) {
  Bytes frame = random.bytes(codec == GsmFrCodec::full_rate ? 33 : 31);
  const std::byte signature{codec == GsmFrCodec::full_rate ? std::uint8_t{0xd0}
                                                           : std::uint8_t{0xc0}};
  frame[0] = (frame[0] & std::byte{0x0f}) | signature;
  return frame;
}

Bytes behind(unsigned octet, const Bytes& frame) {
  Bytes payload{static_cast<std::byte>(octet)};
  payload.insert(payload.end(), frame.begin(), frame.end());
  return payload;
}

}  // namespace

TEST_CASE("a random good frame gets the octet and loses it again with every speech bit") {
  test::Random random(31);
  for (const GsmFrCodec codec : kCodecs) {
    for (int round = 0; round < 200; ++round) {
      const Bytes bare = random_frame(random, codec);
      const auto extended = converted(bare, codec, GsmFrFormat::extended);
      REQUIRE(extended == behind(0xe0, bare));
      REQUIRE(converted(*extended, codec, GsmFrFormat::bare) == bare);
      REQUIRE(converted(bare, codec, GsmFrFormat::bare) == bare);
      REQUIRE(converted(*extended, codec, GsmFrFormat::extended) == *extended);
    }
  }
}

TEST_CASE("every value of the octet: good frames lose it, bad ones have no equivalent") {
  test::Random random(32);
  for (const GsmFrCodec codec : kCodecs) {
    const Bytes bare = random_frame(random, codec);
    for (unsigned octet = 0; octet < 256; ++octet) {
      const Bytes payload = behind(octet, bare);
      const auto result = converted(payload, codec, GsmFrFormat::bare);
      const bool is_extended = octet >> 4U == 0xe;
      const bool is_good = (octet & 0x06U) == 0;  // no data, bad frame
      CHECK(result.has_value() == (is_extended && is_good));
      if (result) {
        CHECK(*result == bare);
      } else {
        CHECK(result.error() ==
              (is_extended ? ConversionError::no_equivalent : ConversionError::invalid_frame_type));
      }
      CHECK(converted(payload, codec, GsmFrFormat::extended).has_value() == is_extended);
      const Bytes alone{static_cast<std::byte>(octet)};
      CHECK_FALSE(converted(alone, codec, GsmFrFormat::bare).has_value());
      CHECK(converted(alone, codec, GsmFrFormat::extended).has_value() == is_extended);
    }
  }
}

TEST_CASE("a bare frame without its signature, or of the other codec, is refused") {
  test::Random random(33);
  for (const GsmFrCodec codec : kCodecs) {
    const Bytes frame = random_frame(random, codec);
    for (unsigned signature = 0; signature < 16; ++signature) {
      Bytes payload = frame;
      payload[0] = static_cast<std::byte>(signature << 4U) | (payload[0] & std::byte{0x0f});
      const bool right = signature == (codec == GsmFrCodec::full_rate ? 0xdU : 0xcU);
      CHECK(converted(payload, codec, GsmFrFormat::extended).has_value() == right);
    }
    const auto other =
        random_frame(random, codec == GsmFrCodec::full_rate ? GsmFrCodec::enhanced_full_rate
                                                            : GsmFrCodec::full_rate);
    CHECK_FALSE(converted(other, codec, GsmFrFormat::extended).has_value());
  }
}

TEST_CASE("payloads of every other length are refused in both directions") {
  for (const GsmFrCodec codec : kCodecs) {
    const std::size_t frame_bytes = rtp::gsm_fr_frame_bytes(codec);
    for (std::size_t size = 0; size < 2 * frame_bytes; ++size) {
      for (const unsigned first : {0xd0U, 0xc0U, 0xe0U}) {
        if (size == frame_bytes || size == frame_bytes + 1 || size == 1) {
          continue;
        }
        Bytes payload(size, static_cast<std::byte>(first));
        for (const GsmFrFormat target : {GsmFrFormat::bare, GsmFrFormat::extended}) {
          CHECK(converted(payload, codec, target).error() == ConversionError::wrong_length);
        }
      }
    }
  }
}

TEST_CASE("several bare frames stay as they are and have no extended form") {
  test::Random random(34);
  for (const GsmFrCodec codec : kCodecs) {
    Bytes frames;
    for (std::size_t count = 1; count <= rtp::kGsmFrFramesMax + 1; ++count) {
      const Bytes frame = random_frame(random, codec);
      frames.insert(frames.end(), frame.begin(), frame.end());
      const auto bare = converted(frames, codec, GsmFrFormat::bare);
      const auto extended = converted(frames, codec, GsmFrFormat::extended);
      CHECK(bare.has_value() == (count <= rtp::kGsmFrFramesMax));
      CHECK(extended.has_value() == (count == 1));
      if (count > rtp::kGsmFrFramesMax) {
        CHECK(bare.error() == ConversionError::too_many_frames);
      } else {
        CHECK(*bare == frames);
        CHECK((count == 1 || extended.error() == ConversionError::no_equivalent));
      }
    }
  }
}

TEST_CASE("a full rate frame that finds no room is refused and nothing is written") {
  test::Random random(35);
  for (const GsmFrCodec codec : kCodecs) {
    const Bytes frame = random_frame(random, codec);
    Bytes out(frame.size());
    CHECK(rtp::convert_gsm_fr(frame, codec, GsmFrFormat::extended, out).error() ==
          ConversionError::no_room);
    CHECK(out == Bytes(frame.size()));
    out.pop_back();
    CHECK(rtp::convert_gsm_fr(frame, codec, GsmFrFormat::bare, out).error() ==
          ConversionError::no_room);
  }
}
