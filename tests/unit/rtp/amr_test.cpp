// AMR and AMR-WB payloads: the frame tables whole, both forms of every frame type, several frames,
// refusals.
#include "rtp/amr.h"

#include "tests/unit/rtp/amr_reference.h"

#include <doctest/doctest.h>

#include <array>
#include <vector>

namespace {

using rtp::AmrCodec;
using rtp::AmrFormat;
using rtp::ConversionError;
using test::bandwidth_efficient;
using test::Bytes;
using test::from_hex;
using test::octet_aligned;
using test::random_frame;
using test::TestFrame;

constexpr std::array kCodecs{AmrCodec::narrowband, AmrCodec::wideband};
constexpr std::array kFormats{AmrFormat::bandwidth_efficient, AmrFormat::octet_aligned};

tl::expected<Bytes, ConversionError> converted(const Bytes& payload, AmrCodec codec,
                                               AmrFormat target) {
  Bytes out(rtp::kAmrPayloadBytesMax);
  const auto size = rtp::convert_amr(payload, codec, target, out);
  if (!size) {
    return tl::unexpected(size.error());
  }
  out.resize(*size);
  return out;
}

void check_both_ways(AmrCodec codec, unsigned mode_request, const std::vector<TestFrame>& frames) {
  const Bytes aligned = octet_aligned(mode_request, frames);
  const Bytes efficient = bandwidth_efficient(mode_request, frames);
  const auto to_aligned = converted(efficient, codec, AmrFormat::octet_aligned);
  const auto to_efficient = converted(aligned, codec, AmrFormat::bandwidth_efficient);
  REQUIRE(to_aligned.has_value());
  REQUIRE(to_efficient.has_value());
  REQUIRE(*to_aligned == aligned);
  REQUIRE(*to_efficient == efficient);
}

}  // namespace

TEST_CASE(
    "the frame tables are those of TS 26.101, TS 26.201 and RFC 4867, reserved types included") {
  constexpr int kReserved = -1;
  constexpr std::array<int, 16> kNarrowband{95, 103, 118, 134, 148,       159,       204,       244,
                                            39, 43,  38,  37,  kReserved, kReserved, kReserved, 0};
  constexpr std::array<int, 16> kWideband{132,       177,       253, 285, 317,       365,
                                          397,       461,       477, 40,  kReserved, kReserved,
                                          kReserved, kReserved, 0,   0};
  for (std::uint8_t type = 0; type < 16; ++type) {
    const auto narrow = rtp::amr_frame_bits(AmrCodec::narrowband, type);
    const auto wide = rtp::amr_frame_bits(AmrCodec::wideband, type);
    CHECK((narrow ? *narrow : kReserved) == kNarrowband[type]);
    CHECK((wide ? *wide : kReserved) == kWideband[type]);
  }
  CHECK_FALSE(rtp::amr_frame_bits(AmrCodec::narrowband, 16).has_value());
}

TEST_CASE("the known vectors convert bit by bit") {
  const Bytes aligned = from_hex("2014e959f35fdfe5e9667ffbc088818088");
  const Bytes efficient = from_hex("217a567cd7f7f97a599ffef022206022");
  CHECK(converted(aligned, AmrCodec::narrowband, AmrFormat::bandwidth_efficient) == efficient);
  CHECK(converted(efficient, AmrCodec::narrowband, AmrFormat::octet_aligned) == aligned);
  CHECK(converted(from_hex("f07c"), AmrCodec::narrowband, AmrFormat::bandwidth_efficient) ==
        from_hex("f7c0"));
  CHECK(converted(from_hex("f7c0"), AmrCodec::narrowband, AmrFormat::octet_aligned) ==
        from_hex("f07c"));
}

TEST_CASE(
    "every frame type of both codecs keeps every speech bit, the Q bit and the mode request") {
  test::Random random(101);
  for (const AmrCodec codec : kCodecs) {
    for (unsigned type = 0; type < 16; ++type) {
      if (!rtp::amr_frame_bits(codec, static_cast<std::uint8_t>(type))) {
        continue;
      }
      for (unsigned round = 0; round < 64; ++round) {
        auto frame = random_frame(random, codec, type);
        frame.good = true;
        check_both_ways(codec, round % 16, {frame});
      }
    }
  }
}

TEST_CASE("a damaged frame stays marked as damaged") {
  test::Random random(102);
  for (const AmrCodec codec : kCodecs) {
    for (unsigned type = 0; type < 16; ++type) {
      if (!rtp::amr_frame_bits(codec, static_cast<std::uint8_t>(type))) {
        continue;
      }
      for (unsigned mode_request = 0; mode_request < 16; ++mode_request) {
        auto frame = random_frame(random, codec, type);
        frame.good = false;
        check_both_ways(codec, mode_request, {frame});
      }
    }
  }
}

TEST_CASE("several frames of any mixture of types in one packet keep every bit") {
  test::Random random(103);
  for (const AmrCodec codec : kCodecs) {
    for (int round = 0; round < 500; ++round) {
      std::vector<TestFrame> frames;
      const std::size_t count =
          2 + random.below(static_cast<std::uint32_t>(rtp::kAmrFramesMax) - 1);
      while (frames.size() < count) {
        const unsigned type = random.below(16);
        if (rtp::amr_frame_bits(codec, static_cast<std::uint8_t>(type))) {
          frames.push_back(random_frame(random, codec, type));
        }
      }
      check_both_ways(codec, random.below(16), frames);
    }
  }
}

TEST_CASE("every mode request goes with every frame type, good and damaged") {
  test::Random random(109);
  for (const AmrCodec codec : kCodecs) {
    for (unsigned combination = 0; combination < 16 * 16 * 2; ++combination) {
      const unsigned type = combination % 16;
      if (rtp::amr_frame_bits(codec, static_cast<std::uint8_t>(type))) {
        auto frame = random_frame(random, codec, type);
        frame.good = combination >= 256;
        check_both_ways(codec, combination / 16 % 16, {frame});
      }
    }
  }
}

TEST_CASE("set padding bits never come through, whatever the frame types and their number") {
  test::Random random(110);
  for (const AmrCodec codec : kCodecs) {
    for (int round = 0; round < 1000; ++round) {
      std::vector<TestFrame> frames;
      const std::size_t count = 1 + random.below(4);
      while (frames.size() < count) {
        const unsigned type = random.below(16);
        if (rtp::amr_frame_bits(codec, static_cast<std::uint8_t>(type))) {
          frames.push_back(random_frame(random, codec, type));
        }
      }
      const Bytes aligned = octet_aligned(15, frames);
      Bytes padded = aligned;
      std::size_t end = 1 + count;
      for (const TestFrame& frame : frames) {
        end += (frame.speech.size() + 7) / 8;
        if (frame.speech.size() % 8 != 0) {
          padded[end - 1] |= static_cast<std::byte>(0xffU >> (frame.speech.size() % 8));
        }
      }
      const Bytes efficient = bandwidth_efficient(15, frames);
      REQUIRE(converted(padded, codec, AmrFormat::bandwidth_efficient) == efficient);
      REQUIRE(converted(efficient, codec, AmrFormat::octet_aligned) == aligned);
    }
  }
}

TEST_CASE("reading a payload tells mode request, types, quality and where the speech bits are") {
  test::Random random(104);
  const std::vector<TestFrame> frames{random_frame(random, AmrCodec::narrowband, 7),
                                      random_frame(random, AmrCodec::narrowband, 8),
                                      random_frame(random, AmrCodec::narrowband, 15)};
  for (const AmrFormat format : kFormats) {
    const bool aligned = format == AmrFormat::octet_aligned;
    const Bytes payload = aligned ? octet_aligned(5, frames) : bandwidth_efficient(5, frames);
    const auto parsed = rtp::parse_amr(payload, AmrCodec::narrowband, format);
    REQUIRE(parsed.has_value());
    CHECK(parsed->mode_request == 5);
    REQUIRE(parsed->frame_count == 3);
    CHECK(parsed->frames[0].type == 7);
    CHECK(parsed->frames[0].bits == 244);
    CHECK(parsed->frames[0].good == frames[0].good);
    CHECK(parsed->frames[0].offset_bits == (aligned ? 32 : 22));
    CHECK(parsed->frames[1].type == 8);
    CHECK(parsed->frames[1].offset_bits == (aligned ? 32 + 31 * 8 : 22 + 244));
    CHECK(parsed->frames[2].type == rtp::kAmrNoData);
    CHECK(parsed->frames[2].bits == 0);
  }
}

TEST_CASE("reserved frame types are refused in both forms") {
  for (const AmrCodec codec : kCodecs) {
    for (unsigned type = 0; type < 16; ++type) {
      if (rtp::amr_frame_bits(codec, static_cast<std::uint8_t>(type))) {
        continue;
      }
      const std::vector<TestFrame> frames{{type, true, std::vector<bool>(100)}};
      const auto aligned =
          converted(octet_aligned(15, frames), codec, AmrFormat::bandwidth_efficient);
      const auto efficient =
          converted(bandwidth_efficient(15, frames), codec, AmrFormat::octet_aligned);
      REQUIRE_FALSE(aligned.has_value());
      REQUIRE_FALSE(efficient.has_value());
      CHECK(aligned.error() == ConversionError::invalid_frame_type);
      CHECK(efficient.error() == ConversionError::invalid_frame_type);
    }
  }
}

TEST_CASE("a payload cut short or with octets behind its frames is refused, at every length") {
  test::Random random(105);
  for (const AmrCodec codec : kCodecs) {
    for (unsigned type = 0; type < 16; ++type) {
      if (!rtp::amr_frame_bits(codec, static_cast<std::uint8_t>(type))) {
        continue;
      }
      auto frame = random_frame(random, codec, type);
      frame.good = true;
      for (const AmrFormat format : kFormats) {
        const Bytes whole = format == AmrFormat::octet_aligned ? octet_aligned(2, {frame})
                                                               : bandwidth_efficient(2, {frame});
        for (std::size_t size = 0; size < whole.size() + 3; ++size) {
          Bytes payload = whole;
          payload.resize(size);
          CHECK(rtp::has_amr_format(payload, codec, format) == (size == whole.size()));
        }
      }
    }
  }
}

TEST_CASE("a leg that announced one form and sends the other is found out, for every frame type") {
  test::Random random(106);
  for (const AmrCodec codec : kCodecs) {
    for (unsigned type = 0; type < 16; ++type) {
      if (!rtp::amr_frame_bits(codec, static_cast<std::uint8_t>(type))) {
        continue;
      }
      for (unsigned round = 0; round < 200; ++round) {
        auto frame = random_frame(random, codec, type);
        frame.good = true;
        if (!frame.speech.empty()) {
          frame.speech.back() = true;  // see the next case for 4.75 kbit/s frames that end in zeros
        }
        const Bytes aligned = octet_aligned(round % 16, {frame});
        const Bytes efficient = bandwidth_efficient(round % 16, {frame});
        REQUIRE(rtp::has_amr_format(aligned, codec, AmrFormat::octet_aligned));
        REQUIRE_FALSE(rtp::has_amr_format(aligned, codec, AmrFormat::bandwidth_efficient));
        REQUIRE(rtp::has_amr_format(efficient, codec, AmrFormat::bandwidth_efficient));
        REQUIRE_FALSE(rtp::has_amr_format(efficient, codec, AmrFormat::octet_aligned));
      }
    }
  }
}

TEST_CASE("a payload that is in the wanted form already is left as it is") {
  test::Random random(107);
  for (unsigned type = 1; type < 9; ++type) {
    auto frame = random_frame(random, AmrCodec::narrowband, type);
    frame.good = true;
    const Bytes aligned = octet_aligned(7, {frame});
    const Bytes efficient = bandwidth_efficient(7, {frame});
    CHECK(converted(aligned, AmrCodec::narrowband, AmrFormat::octet_aligned) == aligned);
    CHECK(converted(efficient, AmrCodec::narrowband, AmrFormat::bandwidth_efficient) == efficient);
  }
}

TEST_CASE("set padding bits do no harm and do not come through") {
  // SID: 39 bits in 5 octets leave one padding bit aligned; 49 bits in 7 octets leave seven.
  CHECK(converted(from_hex("f044 ffffffffff"), AmrCodec::narrowband,
                  AmrFormat::bandwidth_efficient) == from_hex("f47fffffffff80"));
  CHECK(converted(from_hex("f47fffffffffff"), AmrCodec::narrowband, AmrFormat::octet_aligned) ==
        from_hex("f044 fffffffffe"));
}

TEST_CASE("reserved bits of the octet-aligned form must be zero") {
  CHECK_FALSE(
      rtp::has_amr_format(from_hex("f17c"), AmrCodec::narrowband, AmrFormat::octet_aligned));
  CHECK_FALSE(
      rtp::has_amr_format(from_hex("f07d"), AmrCodec::narrowband, AmrFormat::octet_aligned));
  CHECK_FALSE(
      rtp::has_amr_format(from_hex("f07e"), AmrCodec::narrowband, AmrFormat::octet_aligned));
}

TEST_CASE("more frames than the limit, an endless table of contents and no room are refused") {
  const std::vector<TestFrame> many(rtp::kAmrFramesMax + 1, TestFrame{15, true, {}});
  for (const AmrFormat target : kFormats) {
    const Bytes payload = target == AmrFormat::octet_aligned ? bandwidth_efficient(15, many)
                                                             : octet_aligned(15, many);
    CHECK(converted(payload, AmrCodec::narrowband, target).error() ==
          ConversionError::too_many_frames);
  }
  CHECK_FALSE(
      rtp::has_amr_format(from_hex("f0fc"), AmrCodec::narrowband, AmrFormat::octet_aligned));
  Bytes out(16);
  const auto size = rtp::convert_amr(from_hex("217a567cd7f7f97a599ffef022206022"),
                                     AmrCodec::narrowband, AmrFormat::octet_aligned, out);
  CHECK(size.error() == ConversionError::no_room);
  CHECK(out == Bytes(16));
}

TEST_CASE("the largest payload is as large as the constant says") {
  test::Random random(108);
  std::vector<TestFrame> frames;
  for (std::size_t index = 0; index < rtp::kAmrFramesMax; ++index) {
    frames.push_back(random_frame(random, AmrCodec::wideband, 8));
  }
  CHECK(octet_aligned(15, frames).size() == rtp::kAmrPayloadBytesMax);
  check_both_ways(AmrCodec::wideband, 15, frames);
}
