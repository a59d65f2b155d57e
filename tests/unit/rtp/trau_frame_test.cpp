// TRAU frames: each bit at its place, CRCs and parities, and everything built is read the same.
#include "rtp/trau_frame.h"

#include "rtp/trau_frame_bits.h"
#include "tests/unit/rtp/trau_test_frames.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <numeric>

namespace {

using rtp::SidClass;
using rtp::TrauDirection;
using rtp::TrauError;
using rtp::TrauFrame;
using rtp::TrauFrameType;
using rtp::TrauFraming;
using test::Bits;
using test::Bytes;

constexpr std::uint8_t kMode = 7;

TrauFrame parsed(const Bytes& bits, TrauFraming framing, std::uint8_t mode = kMode) {
  const auto frame = rtp::parse_trau_frame(bits, framing, mode);
  REQUIRE(frame.has_value());
  return *frame;
}

/// Remainder modulo x^3 + x + 1 by long division, inverted.
Bits divided(Bits bits) {
  bits.insert(bits.end(), 3, false);
  for (std::size_t at = 0; at + 3 < bits.size(); ++at) {
    if (bits[at]) {
      bits[at] = false;
      bits[at + 2] = !bits[at + 2];
      bits[at + 3] = !bits[at + 3];
    }
  }
  Bits remainder(bits.end() - 3, bits.end());
  remainder.flip();
  return remainder;
}

/// Bit of the frame where D`number` of FR, EFR is: fifteen per word from 33 on.
std::size_t full_rate_place(std::size_t number) {
  return 33 + (number - 1) / 15 * 16 + (number - 1) % 15;
}

/// Bit of the frame where D`number` of HR at 16 kbit/s is.
std::size_t half_rate_place_16k(std::size_t number) {
  struct Range {
    std::size_t first, last, bit;
  };
  constexpr std::array<Range, 8> kRanges{{{1, 14, 34},
                                          {15, 29, 49},
                                          {30, 44, 65},
                                          {45, 56, 84},
                                          {57, 71, 97},
                                          {72, 86, 113},
                                          {87, 101, 129},
                                          {102, 112, 145}}};
  for (const Range& range : kRanges) {
    if (number >= range.first && number <= range.last) {
      return range.bit + number - range.first;
    }
  }
  return 0;
}

/// Bit of the frame where D`number` of HR at 8 kbit/s is.
std::size_t half_rate_place_8k(std::size_t number) {
  if (number <= 2) {
    return 21 + number;
  }
  if (number <= 44) {
    return 25 + (number - 3) / 7 * 8 + (number - 3) % 7;
  }
  if (number <= 48) {
    return 76 + number - 45;
  }
  return 81 + (number - 49) / 7 * 8 + (number - 49) % 7;
}

void check_sync_16k(const Bits& bits) {
  for (std::size_t at = 0; at < 320; ++at) {
    if (at < 16) {
      CHECK_FALSE(bits[at]);
    } else if (at % 16 == 0) {
      CHECK(bits[at]);
    }
  }
}

void check_sync_8k(const Bits& bits) {
  CHECK(test::bit_range(bits, 0, 8) == test::field(1, 9));
  CHECK(test::bit_range(bits, 16, 17) == test::field(1, 2));
  for (std::size_t octet = 3; octet < 20; ++octet) {
    CHECK(bits[octet * 8]);
  }
}

void check_same(const TrauFrame& one, const TrauFrame& other) {
  CHECK(one.type == other.type);
  CHECK(one.direction == other.direction);
  CHECK(one.time_alignment == other.time_alignment);
  CHECK(one.sid == other.sid);
  CHECK(one.bad_frame == other.bad_frame);
  CHECK(one.time_alignment_flag == other.time_alignment_flag);
  CHECK(one.dtx_downlink == other.dtx_downlink);
  CHECK(one.unreliable == other.unreliable);
  CHECK(other.crc_good);
  CHECK(one.content_bits == other.content_bits);
  CHECK(one.content == other.content);
}

constexpr std::array<TrauFrameType, 6> kTypesWithoutAmr{
    TrauFrameType::full_rate, TrauFrameType::enhanced_full_rate,
    TrauFrameType::half_rate, TrauFrameType::data,
    TrauFrameType::idle,      TrauFrameType::operation_maintenance};
constexpr std::array<TrauDirection, 2> kDirections{TrauDirection::uplink, TrauDirection::downlink};

}  // namespace

TEST_CASE("every type of frame at 16 kbit/s has its code in C1 to C5 and its synchronisation") {
  struct Code {
    TrauFrameType type;
    unsigned up, down;
  };
  const std::array<Code, 7> codes{{{TrauFrameType::full_rate, 0b00010, 0b11100},
                                   {TrauFrameType::enhanced_full_rate, 0b11010, 0b11010},
                                   {TrauFrameType::half_rate, 0b00011, 0b11101},
                                   {TrauFrameType::adaptive_multi_rate, 0b00110, 0b00110},
                                   {TrauFrameType::idle, 0b10000, 0b01110},
                                   {TrauFrameType::operation_maintenance, 0b00101, 0b11011},
                                   {TrauFrameType::data, 0b01000, 0b10110}}};
  test::Random random{1};
  for (const Code& code : codes) {
    for (const TrauDirection direction : kDirections) {
      const TrauFrame frame = test::random_frame(random, code.type, direction);
      const Bits bits = test::to_bits(test::built(frame, TrauFraming::trau_16k));
      REQUIRE(bits.size() == 320);
      check_sync_16k(bits);
      CHECK(test::bit_range(bits, 17, 21) ==
            test::field(direction == TrauDirection::uplink ? code.up : code.down, 5));
      CHECK(test::bit_range(bits, 22, 27) == test::field(frame.time_alignment, 6));
    }
  }
}

TEST_CASE("a frame whose C1 to C5 are no code is not read") {
  Bytes bits = test::built(TrauFrame{}, TrauFraming::trau_16k);
  std::size_t known = 0;
  for (unsigned code = 0; code < 32; ++code) {
    rtp::set_bits(bits, 17, 5, code);
    const auto frame = rtp::parse_trau_frame(bits, TrauFraming::trau_16k, kMode);
    known += frame.has_value() ? 1U : 0U;
    if (!frame) {
      CHECK(frame.error() == TrauError::unknown_type);
    }
  }
  CHECK(known == 12);
}

TEST_CASE("what is built is read the same, for every type and direction at 16 kbit/s") {
  test::Random random{2};
  for (int round = 0; round < 100; ++round) {
    for (const TrauFrameType type : kTypesWithoutAmr) {
      for (const TrauDirection direction : kDirections) {
        const TrauFrame frame = test::random_frame(random, type, direction);
        check_same(frame, parsed(test::built(frame, TrauFraming::trau_16k), TrauFraming::trau_16k));
      }
    }
  }
}

TEST_CASE("the control bits of FR, EFR and HR uplink frames at 16 kbit/s are at their places") {
  test::Random random{3};
  for (const auto type :
       {TrauFrameType::full_rate, TrauFrameType::enhanced_full_rate, TrauFrameType::half_rate}) {
    for (int round = 0; round < 50; ++round) {
      const TrauFrame frame = test::random_frame(random, type, TrauDirection::uplink);
      const Bits bits = test::to_bits(test::built(frame, TrauFraming::trau_16k));
      CHECK(bits[28] == frame.bad_frame);
      CHECK(test::bit_range(bits, 29, 30) == test::field(static_cast<unsigned>(frame.sid), 2));
      CHECK(bits[31] == frame.time_alignment_flag);
      CHECK(bits[311] == frame.dtx_downlink);
      CHECK(test::bit_range(bits, 312, 319) == Bits(8, true));
      if (type == TrauFrameType::half_rate) {
        CHECK(bits[33] == frame.unreliable);
      }
    }
  }
}

TEST_CASE("downlink FR, EFR and HR frames have C6-C11 zero, C12-C15 one and SP in C16") {
  test::Random random{4};
  for (const auto type :
       {TrauFrameType::full_rate, TrauFrameType::enhanced_full_rate, TrauFrameType::half_rate}) {
    for (const auto sid : {SidClass::speech, SidClass::valid_sid}) {
      TrauFrame frame = test::random_frame(random, type, TrauDirection::downlink);
      frame.sid = sid;
      const Bits bits = test::to_bits(test::built(frame, TrauFraming::trau_16k));
      CHECK(test::bit_range(bits, 22, 27) == Bits(6, false));
      CHECK(test::bit_range(bits, 28, 31) == Bits(4, true));
      CHECK(bits[310] == (sid == SidClass::speech));
      CHECK(test::bit_range(bits, 311, 319) == Bits(9, true));
    }
  }
}

TEST_CASE("FR parameters go least significant bit first, fifteen bits per word") {
  constexpr std::array<std::size_t, 8> kReflections{6, 6, 5, 5, 4, 4, 3, 3};
  constexpr std::array<std::size_t, 4> kSubFrame{7, 2, 2, 6};
  std::vector<std::size_t> widths(kReflections.begin(), kReflections.end());
  for (int sub_frame = 0; sub_frame < 4; ++sub_frame) {
    widths.insert(widths.end(), kSubFrame.begin(), kSubFrame.end());
    widths.insert(widths.end(), 13, 3);
  }
  REQUIRE(widths.size() == 76);
  REQUIRE(std::accumulate(widths.begin(), widths.end(), std::size_t{0}) == 260);
  test::Random random{5};
  const TrauFrame frame =
      test::random_frame(random, TrauFrameType::full_rate, TrauDirection::uplink);
  const Bits bits = test::to_bits(test::built(frame, TrauFraming::trau_16k));
  std::size_t at = 0;
  for (const std::size_t width : widths) {
    for (std::size_t bit = 0; bit < width; ++bit) {
      CHECK(bits[full_rate_place(at + bit + 1)] ==
            rtp::get_bit(frame.content, at + width - 1 - bit));
    }
    at += width;
  }
  CHECK(full_rate_place(255) == 303);
  CHECK(full_rate_place(260) == 309);
}

TEST_CASE("EFR bits fill five groups behind D1, each with its CRC behind it") {
  struct Group {
    std::size_t first, last;
    std::vector<std::pair<std::size_t, std::size_t>> covered;
  };
  const std::vector<Group> groups{{2, 39, {{1, 22}, {25, 27}, {29, 29}}},
                                  {43, 95, {{43, 52}, {91, 92}}},
                                  {99, 148, {{99, 103}, {105, 105}, {144, 145}}},
                                  {152, 204, {{152, 161}, {200, 201}}},
                                  {208, 257, {{208, 212}, {214, 214}, {253, 254}}}};
  test::Random random{6};
  for (int round = 0; round < 50; ++round) {
    const TrauFrame frame =
        test::random_frame(random, TrauFrameType::enhanced_full_rate, TrauDirection::uplink);
    const Bits bits = test::to_bits(test::built(frame, TrauFraming::trau_16k));
    CHECK(bits[full_rate_place(1)]);
    std::size_t at = 0;
    for (const Group& group : groups) {
      for (std::size_t number = group.first; number <= group.last; ++number) {
        CHECK(bits[full_rate_place(number)] == rtp::get_bit(frame.content, at++));
      }
      Bits covered;
      for (const auto& [first, last] : group.covered) {
        for (std::size_t number = first; number <= last; ++number) {
          covered.push_back(bits[full_rate_place(number)]);
        }
      }
      Bits crc;
      for (std::size_t number = group.last + 1; number <= group.last + 3; ++number) {
        crc.push_back(bits[full_rate_place(number)]);
      }
      CHECK(crc == divided(covered));
    }
    CHECK(at == 244);
  }
}

TEST_CASE("one wrong bit in the covered bits or the CRC of any EFR group is found") {
  test::Random random{7};
  const TrauFrame frame =
      test::random_frame(random, TrauFrameType::enhanced_full_rate, TrauDirection::uplink);
  const Bytes good = test::built(frame, TrauFraming::trau_16k);
  for (const std::size_t number :
       std::initializer_list<std::size_t>{1,   10,  22,  25,  29,  40,  42,  43,  92,  96,  99,
                                          105, 145, 149, 152, 201, 207, 208, 214, 254, 258, 260}) {
    Bytes bad = good;
    const std::size_t place = full_rate_place(number);
    rtp::set_bit(bad, place, !rtp::get_bit(bad, place));
    CAPTURE(number);
    CHECK_FALSE(parsed(bad, TrauFraming::trau_16k).crc_good);
  }
  Bytes uncovered = good;
  const std::size_t place = full_rate_place(30);
  rtp::set_bit(uncovered, place, !rtp::get_bit(uncovered, place));
  CHECK(parsed(uncovered, TrauFraming::trau_16k).crc_good);
}

TEST_CASE("HR bits at 16 kbit/s are at their places, the CRC over the first 44 behind them") {
  test::Random random{8};
  const TrauFrame frame =
      test::random_frame(random, TrauFrameType::half_rate, TrauDirection::uplink);
  const Bits bits = test::to_bits(test::built(frame, TrauFraming::trau_16k));
  Bits covered;
  for (std::size_t number = 1; number <= 112; ++number) {
    const bool value = rtp::get_bit(frame.content, number - 1);
    CHECK(bits[half_rate_place_16k(number)] == value);
    if (number <= 44) {
      covered.push_back(value);
    }
  }
  CHECK(test::bit_range(bits, 81, 83) == divided(covered));
  CHECK(test::bit_range(bits, 156, 309) == Bits(154, true));
}

TEST_CASE("HR bits at 8 kbit/s are at their places, the CRC over the first 44 behind them") {
  test::Random random{9};
  for (const TrauDirection direction : kDirections) {
    const TrauFrame frame = test::random_frame(random, TrauFrameType::half_rate, direction);
    const Bits bits = test::to_bits(test::built(frame, TrauFraming::hr_8k));
    REQUIRE(bits.size() == 160);
    check_sync_8k(bits);
    Bits covered;
    for (std::size_t number = 1; number <= 112; ++number) {
      const bool value = rtp::get_bit(frame.content, number - 1);
      CHECK(bits[half_rate_place_8k(number)] == value);
      if (number <= 44) {
        covered.push_back(value);
      }
    }
    CHECK(test::bit_range(bits, 73, 75) == divided(covered));
    CHECK(half_rate_place_8k(112) == 153);
    CHECK(test::bit_range(bits, 158, 159) == Bits(2, true));
  }
}

TEST_CASE("HR downlink frames at 8 kbit/s are for speech and SID as the standard has it") {
  TrauFrame frame;
  frame.type = TrauFrameType::half_rate;
  frame.direction = TrauDirection::downlink;
  Bits bits = test::to_bits(test::built(frame, TrauFraming::hr_8k));
  CHECK(test::bit_range(bits, 9, 13) == test::field(0b00010, 5));
  CHECK(test::bit_range(bits, 14, 15) == test::field(0b00, 2));
  CHECK(test::bit_range(bits, 18, 21) == test::field(0b0001, 4));
  CHECK(test::bit_range(bits, 154, 157) == Bits(4, true));
  frame.sid = SidClass::valid_sid;
  bits = test::to_bits(test::built(frame, TrauFraming::hr_8k));
  CHECK(test::bit_range(bits, 14, 15) == test::field(0b00, 2));
  CHECK(test::bit_range(bits, 18, 21) == test::field(0b0100, 4));
}

TEST_CASE("HR uplink frames at 8 kbit/s tell SID, bad frame, TAF, UFI, DTXd and alignment") {
  for (unsigned code = 0; code < 16; ++code) {
    TrauFrame frame;
    frame.type = TrauFrameType::half_rate;
    frame.time_alignment = static_cast<std::uint8_t>(code & 7U);
    frame.unreliable = code % 2 == 1;
    frame.dtx_downlink = code % 3 == 1;
    Bytes octets = test::built(frame, TrauFraming::hr_8k);
    CHECK(rtp::get_bits(octets, 154, 3) == (code & 7U));
    CHECK(rtp::get_bit(octets, 157) == frame.dtx_downlink);
    // XC1 and XC2 are at 14 and 15, XC3 to XC6 at 18 to 21; XC6 makes their sum odd.
    rtp::set_bits(octets, 14, 2, code >> 2U);
    rtp::set_bits(octets, 18, 2, code & 3U);
    rtp::set_bit(octets, 20, frame.unreliable);
    const bool odd = (std::popcount(code) + (frame.unreliable ? 1 : 0)) % 2 == 1;
    rtp::set_bit(octets, 21, !odd);
    const TrauFrame read = parsed(octets, TrauFraming::hr_8k);
    CAPTURE(code);
    CHECK(read.unreliable == frame.unreliable);
    CHECK(read.dtx_downlink == frame.dtx_downlink);
    CHECK(read.time_alignment == (code & 7U));
    CHECK((read.sid == SidClass::valid_sid) == (code == 1));
    CHECK((read.sid == SidClass::invalid_sid) == (code == 4 || code == 5));
    CHECK(read.bad_frame == (code != 0 && code != 1 && code != 4 && code != 5));
    CHECK(read.time_alignment_flag == (code == 5 || code == 7));
    rtp::set_bit(octets, 21, odd);
    CHECK(parsed(octets, TrauFraming::hr_8k).bad_frame);
  }
}

TEST_CASE("what is built is read the same at 8 kbit/s, as far as its control bits can say it") {
  test::Random random{10};
  for (int round = 0; round < 300; ++round) {
    const auto direction = kDirections[random.below(2)];
    TrauFrame frame = test::random_frame(random, TrauFrameType::half_rate, direction);
    const TrauFrame read = parsed(test::built(frame, TrauFraming::hr_8k), TrauFraming::hr_8k);
    if (direction == TrauDirection::downlink) {
      frame.time_alignment = 7;
    }
    if (frame.sid != SidClass::speech && (frame.bad_frame || frame.sid != SidClass::valid_sid)) {
      frame.sid = SidClass::invalid_sid;
      frame.bad_frame = false;
    } else if (!frame.bad_frame) {
      frame.time_alignment_flag = false;
    }
    check_same(frame, read);
  }
}

TEST_CASE("a half rate frame at 8 kbit/s of another type or with a wrong parity is not read") {
  TrauFrame frame;
  frame.type = TrauFrameType::half_rate;
  const Bytes good = test::built(frame, TrauFraming::hr_8k);
  for (std::size_t place = 9; place <= 13; ++place) {
    Bytes bad = good;
    rtp::set_bit(bad, place, !rtp::get_bit(bad, place));
    const auto read = rtp::parse_trau_frame(bad, TrauFraming::hr_8k, kMode);
    REQUIRE_FALSE(read.has_value());
    CHECK(read.error() == TrauError::unknown_type);
  }
  frame.type = TrauFrameType::full_rate;
  CHECK(test::built(frame, TrauFraming::hr_8k).empty());
  CHECK(test::built(frame, TrauFraming::amr_8k).empty());
}

TEST_CASE("data frames have seven bits behind the first one of each octet from the fifth on") {
  test::Random random{11};
  const TrauFrame frame = test::random_frame(random, TrauFrameType::data, TrauDirection::downlink);
  const Bits bits = test::to_bits(test::built(frame, TrauFraming::trau_16k));
  std::size_t at = 0;
  for (std::size_t octet = 4; octet < 40; ++octet) {
    CHECK(bits[octet * 8]);
    for (std::size_t bit = 1; bit < 8; ++bit) {
      CHECK(bits[octet * 8 + bit] == rtp::get_bit(frame.content, at++));
    }
  }
  CHECK(at == 252);
}

TEST_CASE("AMR frames at 16 kbit/s have C16-C25 before the 256 data bits and the T bits") {
  test::Random random{12};
  TrauFrame frame = test::random_amr_frame(random, 6);
  frame.amr_class = rtp::AmrFrameClass::speech_degraded;
  frame.dtx_downlink = true;
  Bits bits = test::to_bits(test::built(frame, TrauFraming::trau_16k));
  CHECK_FALSE(bits[28]);                                      // C12: RIF
  CHECK(bits[36]);                                            // C19: DTXd
  CHECK(test::bit_range(bits, 38, 39) == test::field(2, 2));  // C21, C22
  CHECK(test::bit_range(bits, 40, 42) == test::field(6, 3));  // C23..C25
  CHECK(bits[43] == rtp::get_bit(frame.content, 0));          // D1
  CHECK(bits[47] == rtp::get_bit(frame.content, 4));          // D5
  CHECK(bits[49] == rtp::get_bit(frame.content, 5));          // D6
  CHECK(test::bit_range(bits, 316, 319) == Bits(4, true));
  frame.amr_says_request = true;
  frame.amr_mode_request = 3;
  bits = test::to_bits(test::built(frame, TrauFraming::trau_16k));
  CHECK(bits[28]);
  CHECK(test::bit_range(bits, 40, 42) == test::field(3, 3));
}

TEST_CASE("AMR speech of every mode comes back the same at 16 kbit/s") {
  test::Random random{13};
  for (std::uint8_t mode = 0; mode < 8; ++mode) {
    for (const bool says_request : {false, true}) {
      TrauFrame frame = test::random_amr_frame(random, mode);
      frame.amr_says_request = says_request;
      frame.amr_mode_request = says_request ? std::uint8_t{5} : rtp::kNoModeRequest;
      // A frame with a request does not say its mode: it is that of the one before.
      const TrauFrame read = parsed(test::built(frame, TrauFraming::trau_16k),
                                    TrauFraming::trau_16k, says_request ? mode : std::uint8_t{0});
      check_same(frame, read);
      CHECK(read.amr_class == frame.amr_class);
      CHECK(read.amr_mode == mode);
      CHECK(read.amr_mode_request == frame.amr_mode_request);
    }
  }
}

TEST_CASE("a wrong bit of class A of an AMR frame at 16 kbit/s is found") {
  test::Random random{14};
  const TrauFrame frame = test::random_amr_frame(random, 7);
  Bytes octets = test::built(frame, TrauFraming::trau_16k);
  rtp::set_bit(octets, 43, !rtp::get_bit(octets, 43));
  CHECK_FALSE(parsed(octets, TrauFraming::trau_16k).crc_good);
}

TEST_CASE("AMR speech up to 7.40 kbit/s comes back the same at 8 kbit/s, faster is refused") {
  test::Random random{15};
  for (std::uint8_t mode = 0; mode < 8; ++mode) {
    for (const std::uint8_t request : {std::uint8_t{0}, std::uint8_t{4}, rtp::kNoModeRequest}) {
      TrauFrame frame = test::random_amr_frame(random, mode);
      frame.amr_mode_request = request;
      Bytes octets(20);
      const auto done = rtp::build_trau_frame(frame, TrauFraming::amr_8k, octets);
      if (mode > 4) {
        REQUIRE_FALSE(done.has_value());
        CHECK(done.error() == TrauError::unsupported);
        continue;
      }
      const TrauFrame read = parsed(octets, TrauFraming::amr_8k);
      CAPTURE(int{mode});
      check_same(frame, read);
      CHECK(read.amr_class == frame.amr_class);
      CHECK(read.amr_mode == mode);
      CHECK(read.amr_mode_request == request);
    }
  }
}

TEST_CASE("AMR silence and No_Data come back the same at both rates") {
  test::Random random{16};
  for (const auto framing : {TrauFraming::trau_16k, TrauFraming::amr_8k}) {
    for (const auto kind : {rtp::AmrNoSpeech::no_data, rtp::AmrNoSpeech::sid_first,
                            rtp::AmrNoSpeech::sid_update, rtp::AmrNoSpeech::sid_bad}) {
      TrauFrame frame;
      frame.type = TrauFrameType::adaptive_multi_rate;
      frame.amr_no_speech = kind;
      test::set_random_content(random, kind == rtp::AmrNoSpeech::no_data ? 0 : 39, frame);
      const TrauFrame read = parsed(test::built(frame, framing), framing);
      check_same(frame, read);
      CHECK(read.amr_class == rtp::AmrFrameClass::no_speech);
      CHECK(read.amr_no_speech == kind);
    }
  }
}

TEST_CASE("only the AMR frames are not those of the standard") {
  CHECK(rtp::trau_is_standard(TrauFrameType::full_rate, TrauFraming::trau_16k));
  CHECK(rtp::trau_is_standard(TrauFrameType::half_rate, TrauFraming::hr_8k));
  CHECK_FALSE(rtp::trau_is_standard(TrauFrameType::adaptive_multi_rate, TrauFraming::trau_16k));
  CHECK_FALSE(rtp::trau_is_standard(TrauFrameType::adaptive_multi_rate, TrauFraming::amr_8k));
}

TEST_CASE("the values of the time alignment field ask for so many steps of 250 us") {
  TrauFrame frame;
  for (unsigned value = 0; value < 64; ++value) {
    frame.time_alignment = static_cast<std::uint8_t>(value);
    const auto steps = rtp::time_alignment_request(frame, TrauFraming::trau_16k);
    CAPTURE(value);
    if (value >= 1 && value <= 39) {
      CHECK(steps == static_cast<int>(2 * value));
    } else if (value == 62) {
      CHECK(steps == 1);
    } else if (value == 63) {
      CHECK(steps == -1);
    } else {
      CHECK_FALSE(steps.has_value());
    }
  }
  const std::array<int, 8> expected{36, 24, 8, 2, 4, 1, -1, 0};
  for (unsigned value = 0; value < 8; ++value) {
    frame.time_alignment = static_cast<std::uint8_t>(value);
    CHECK(rtp::time_alignment_request(frame, TrauFraming::hr_8k).value_or(0) == expected[value]);
  }
  CHECK(rtp::time_alignment_step_bits(TrauFraming::trau_16k) == 4);
  CHECK(rtp::time_alignment_step_bits(TrauFraming::hr_8k) == 2);
}

TEST_CASE("a frame of another length is not read, one without room not written") {
  for (const auto framing : {TrauFraming::trau_16k, TrauFraming::hr_8k, TrauFraming::amr_8k}) {
    const std::size_t octets = rtp::trau_frame_bits(framing) / 8;
    for (const std::size_t size : {std::size_t{0}, octets - 1, octets + 1}) {
      const auto read = rtp::parse_trau_frame(Bytes(size), framing, kMode);
      REQUIRE_FALSE(read.has_value());
      CHECK(read.error() == TrauError::wrong_length);
    }
    Bytes out(octets - 1);
    const auto done = rtp::build_trau_frame(TrauFrame{}, framing, out);
    REQUIRE_FALSE(done.has_value());
    CHECK(done.error() == TrauError::no_room);
  }
}
