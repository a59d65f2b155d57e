// Recordings: WAV files, G.711, and the bit by bit comparison of what comes out.
#include "tools/rtpload/playback.h"

#include "tools/rtpload/g711.h"
#include "tools/rtpload/wav.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <vector>

namespace {

using namespace rtpload;

std::vector<std::int16_t> tone(std::size_t samples) {
  std::vector<std::int16_t> result(samples);
  for (std::size_t i = 0; i < samples; ++i) {
    result[i] = static_cast<std::int16_t>(12000 * std::sin(static_cast<double>(i) * 0.31));
  }
  return result;
}

}  // namespace

TEST_CASE("every G.711 octet is decoded to a sample that encodes back to it") {
  for (unsigned octet = 0; octet < 256; ++octet) {
    const auto value = static_cast<std::uint8_t>(octet);
    CHECK(encode_alaw(decode_alaw(value)) == value);
    if (value != 0x7f) {  // mu-law's negative zero
      CHECK(encode_ulaw(decode_ulaw(value)) == value);
    }
  }
}

TEST_CASE("G.711 keeps every sample within half a step of its segment") {
  for (int sample = -32768; sample <= 32767; ++sample) {
    const auto value = static_cast<std::int16_t>(sample);
    const int tolerance = std::max(16, std::abs(sample) / 16);
    const bool is_clipped = std::abs(sample) > 32124;
    REQUIRE(std::abs(decode_alaw(encode_alaw(value)) - sample) <= (is_clipped ? 1024 : tolerance));
    REQUIRE(std::abs(decode_ulaw(encode_ulaw(value)) - sample) <= (is_clipped ? 1024 : tolerance));
  }
}

TEST_CASE("G.711 has the standard's values for silence and full scale") {
  CHECK(encode_alaw(0) == 0xd5);
  CHECK(encode_alaw(-1) == 0x55);
  CHECK(encode_alaw(32767) == 0xaa);
  CHECK(encode_alaw(-32768) == 0x2a);
  CHECK(encode_ulaw(0) == 0xff);
  CHECK(encode_ulaw(32767) == 0x80);
  CHECK(encode_ulaw(-32768) == 0x00);
}

TEST_CASE("a WAV file is read back as it was written, also with foreign chunks and a wrong size") {
  const auto samples = tone(1000);
  auto file = make_wav(samples);
  CHECK(parse_wav(file).value() == samples);
  const std::vector<std::uint8_t> chunk{'L', 'I', 'S', 'T', 3, 0, 0, 0, 1, 2, 3, 0};
  file.insert(file.begin() + 36, chunk.begin(), chunk.end());
  CHECK(parse_wav(file).value() == samples);
  for (std::size_t octet = 52; octet < 56; ++octet) {
    file[octet] = 0xff;  // as written to a pipe
  }
  CHECK(parse_wav(file).value() == samples);
}

TEST_CASE("what is no WAV file of 8000 Hz mono 16 bit is refused") {
  CHECK_FALSE(parse_wav({}).has_value());
  const auto samples = tone(10);
  const auto good = make_wav(samples);
  for (std::size_t size = 0; size < 44; ++size) {
    CHECK_FALSE(parse_wav(std::span(good).first(size)).has_value());
  }
  for (const std::size_t octet : {std::size_t{0}, std::size_t{8}, std::size_t{20}, std::size_t{22},
                                  std::size_t{24}, std::size_t{34}}) {
    auto wrong = good;
    wrong[octet] = static_cast<std::uint8_t>(wrong[octet] ^ 0x08U);
    CHECK_FALSE(parse_wav(wrong).has_value());
  }
}

TEST_CASE("a recording arrives whole, and what is lost, swapped, doubled or changed is told") {
  for (const char* name : {"PCMA", "PCMU"}) {
    const Codec codec = find_codec(name).value();
    const auto samples = tone(160 * 9 + 7);
    const Recording recording(codec, samples);
    REQUIRE(recording.frames() == 10);
    PlaybackChecker checker(codec, recording, 11, 1);
    std::array<std::uint8_t, kPacketBytesMax> buffer{};
    for (const std::uint32_t frame : {0U, 1U, 3U, 2U, 2U, 4U, 5U, 6U, 8U}) {
      const std::size_t size = recording.write_packet(buffer, 11, 1, frame);
      checker.on_packet(std::span(buffer).first(size));
    }
    CHECK(checker.counters().received == 8);
    CHECK(checker.counters().reordered == 1);
    CHECK(checker.counters().duplicated == 1);
    CHECK(checker.counters().corrupted == 0);
    const std::size_t size = recording.write_packet(buffer, 11, 1, 7);
    buffer[100] ^= 1;
    checker.on_packet(std::span(buffer).first(size));
    checker.on_packet(std::span(buffer).first(1));
    CHECK(checker.counters().corrupted == 1);
    const auto out = checker.samples();
    REQUIRE(out.size() == 1600);
    CHECK(out[7 * 160 + 3] == 0);
    CHECK(std::abs(out[3 * 160 + 3] - samples[3 * 160 + 3]) < 1000);
  }
}
