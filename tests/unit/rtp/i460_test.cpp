// Sub-slots of a timeslot: their index, which of them share bits, and their bits out of and into
// octets.
#include "rtp/i460.h"

#include "rtp/bit_string.h"
#include "tests/unit/rtp/test_packets.h"

#include <doctest/doctest.h>

#include <set>

namespace {

using rtp::SubSlot;
using test::Bytes;

std::vector<SubSlot> all_sub_slots() {
  std::vector<SubSlot> all;
  for (std::size_t index = 0; const auto sub_slot = rtp::sub_slot_at(index); ++index) {
    all.push_back(*sub_slot);
  }
  return all;
}

Bytes demultiplexed(const Bytes& timeslot, SubSlot sub_slot) {
  Bytes out((rtp::sub_slot_bits(sub_slot, timeslot.size()) + 7) / 8);
  const std::size_t bits = rtp::demultiplex_sub_slot(timeslot, sub_slot, out);
  CHECK(bits == rtp::sub_slot_bits(sub_slot, timeslot.size()));
  return out;
}

}  // namespace

TEST_CASE("the fifteen sub-slots of a timeslot have the indexes of their names") {
  const std::vector<SubSlot> expected{{64, 0}, {32, 0}, {32, 4}, {16, 0}, {16, 2},
                                      {16, 4}, {16, 6}, {8, 0},  {8, 1},  {8, 2},
                                      {8, 3},  {8, 4},  {8, 5},  {8, 6},  {8, 7}};
  CHECK(all_sub_slots() == expected);
  CHECK(expected.size() == rtp::kSubSlotCount);
  for (std::size_t index = 0; index < expected.size(); ++index) {
    CHECK(rtp::find_sub_slot(expected[index].rate_kbps, expected[index].bit_offset) == index);
  }
}

TEST_CASE("a rate that there is not, or an offset off its grid, names no sub-slot") {
  std::set<std::pair<unsigned, unsigned>> found;
  for (unsigned rate = 0; rate <= 200; ++rate) {
    for (unsigned offset = 0; offset <= 200; ++offset) {
      if (rtp::find_sub_slot(rate, offset)) {
        found.emplace(rate, offset);
      }
    }
  }
  CHECK(found.size() == rtp::kSubSlotCount);
  CHECK_FALSE(rtp::find_sub_slot(16, 1).has_value());
  CHECK_FALSE(rtp::find_sub_slot(64 + 256, 0).has_value());
  CHECK_FALSE(rtp::sub_slot_at(rtp::kSubSlotCount).has_value());
}

TEST_CASE("two sub-slots overlap exactly if their ranges of bits meet") {
  for (const SubSlot one : all_sub_slots()) {
    for (const SubSlot other : all_sub_slots()) {
      const int one_end = one.bit_offset + one.rate_kbps / 8;
      const int other_end = other.bit_offset + other.rate_kbps / 8;
      const bool meet = one.bit_offset < other_end && other.bit_offset < one_end;
      CAPTURE(int{one.rate_kbps});
      CAPTURE(int{other.rate_kbps});
      CHECK(rtp::sub_slots_overlap(one, other) == meet);
    }
  }
}

TEST_CASE("the bit offset counts from the most significant bit of each octet") {
  CHECK(rtp::sub_slot_mask({64, 0}) == std::byte{0xff});
  CHECK(rtp::sub_slot_mask({32, 4}) == std::byte{0x0f});
  CHECK(rtp::sub_slot_mask({16, 2}) == std::byte{0x30});
  CHECK(rtp::sub_slot_mask({8, 0}) == std::byte{0x80});
  CHECK(rtp::sub_slot_mask({8, 7}) == std::byte{0x01});
  const Bytes timeslot = test::from_hex("1b 1b c6 00");  // 00011011 twice, 11000110, 0
  CHECK(demultiplexed(timeslot, {16, 0}) == test::from_hex("0c"));
  CHECK(demultiplexed(timeslot, {16, 4}) == test::from_hex("a4"));
  CHECK(demultiplexed(timeslot, {32, 4}) == test::from_hex("bb 60"));
  CHECK(demultiplexed(timeslot, {64, 0}) == timeslot);
  CHECK(demultiplexed(timeslot, {8, 7}) == test::from_hex("cf"));  // 1100, then idle
}

TEST_CASE("20 ms of a timeslot have the bits of 20 ms of each sub-slot") {
  CHECK(rtp::sub_slot_bits({16, 2}, rtp::kTimeslotBlockBytes) == 320);
  CHECK(rtp::sub_slot_bits({8, 5}, rtp::kTimeslotBlockBytes) == 160);
  CHECK(rtp::sub_slot_bits({64, 0}, rtp::kTimeslotBlockBytes) == 1280);
}

TEST_CASE("what goes into a sub-slot comes out of it and leaves its neighbours alone") {
  test::Random random{1};
  for (const SubSlot sub_slot : all_sub_slots()) {
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{7},
                                   rtp::kTimeslotBlockBytes, std::size_t{333}}) {
      const Bytes before = random.bytes(size);
      const std::size_t bit_count = rtp::sub_slot_bits(sub_slot, size);
      Bytes bits = random.bytes((bit_count + 7) / 8);
      for (std::size_t bit = bit_count; bit < bits.size() * 8; ++bit) {
        rtp::set_bit(bits, bit, true);
      }
      Bytes after = before;
      rtp::multiplex_sub_slot(bits, sub_slot, after);
      CHECK(demultiplexed(after, sub_slot) == bits);
      for (const SubSlot other : all_sub_slots()) {
        if (!rtp::sub_slots_overlap(sub_slot, other)) {
          CHECK(demultiplexed(after, other) == demultiplexed(before, other));
        }
      }
    }
  }
}

TEST_CASE("a sub-slot whose bits end early is idle for the rest") {
  Bytes timeslot(8, std::byte{0});
  rtp::multiplex_sub_slot(test::from_hex("00"), {16, 6}, timeslot);
  CHECK(timeslot == test::from_hex("00 00 00 00 03 03 03 03"));
}
