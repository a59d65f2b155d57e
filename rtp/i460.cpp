#include "rtp/i460.h"

#include <algorithm>
#include <array>

namespace rtp {
namespace {

constexpr std::array<SubSlot, kSubSlotCount> kSubSlots{{{64, 0},
                                                        {32, 0},
                                                        {32, 4},
                                                        {16, 0},
                                                        {16, 2},
                                                        {16, 4},
                                                        {16, 6},
                                                        {8, 0},
                                                        {8, 1},
                                                        {8, 2},
                                                        {8, 3},
                                                        {8, 4},
                                                        {8, 5},
                                                        {8, 6},
                                                        {8, 7}}};

/// Bits of the sub-slot in one octet of the timeslot.
unsigned width_of(SubSlot sub_slot) noexcept {
  return sub_slot.rate_kbps / 8U;
}

/// How far its bits lie above the least significant bit of the octet.
unsigned shift_of(SubSlot sub_slot) noexcept {
  return 8U - width_of(sub_slot) - sub_slot.bit_offset;
}

}  // namespace

std::optional<SubSlot> sub_slot_at(std::size_t index) noexcept {
  return index < kSubSlots.size() ? std::optional(kSubSlots[index]) : std::nullopt;
}

std::optional<std::size_t> find_sub_slot(unsigned rate_kbps, unsigned bit_offset) noexcept {
  const auto* const found = std::find_if(kSubSlots.begin(), kSubSlots.end(), [=](SubSlot sub_slot) {
    return sub_slot.rate_kbps == rate_kbps && sub_slot.bit_offset == bit_offset;
  });
  if (found == kSubSlots.end()) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(found - kSubSlots.begin());
}

std::byte sub_slot_mask(SubSlot sub_slot) noexcept {
  const unsigned ones = (1U << width_of(sub_slot)) - 1U;
  return static_cast<std::byte>(ones << shift_of(sub_slot) & 0xffU);
}

bool sub_slots_overlap(SubSlot one, SubSlot other) noexcept {
  return (sub_slot_mask(one) & sub_slot_mask(other)) != std::byte{0};
}

std::size_t sub_slot_bits(SubSlot sub_slot, std::size_t timeslot_bytes) noexcept {
  return timeslot_bytes * width_of(sub_slot);
}

std::size_t demultiplex_sub_slot(std::span<const std::byte> timeslot, SubSlot sub_slot,
                                 std::span<std::byte> out) noexcept {
  const unsigned width = width_of(sub_slot);
  const unsigned shift = shift_of(sub_slot);
  const unsigned ones = (1U << width) - 1U;
  unsigned gathered = 0;
  unsigned count = 0;
  std::size_t written = 0;
  for (const std::byte octet : timeslot) {
    gathered = gathered << width | (std::to_integer<unsigned>(octet) >> shift & ones);
    count += width;
    if (count == 8) {
      out[written++] = static_cast<std::byte>(gathered & 0xffU);
      count = 0;
    }
  }
  if (count != 0) {
    const unsigned missing = 8U - count;
    out[written] = static_cast<std::byte>((gathered << missing | ((1U << missing) - 1U)) & 0xffU);
  }
  return sub_slot_bits(sub_slot, timeslot.size());
}

void multiplex_sub_slot(std::span<const std::byte> bits, SubSlot sub_slot,
                        std::span<std::byte> timeslot) noexcept {
  const unsigned width = width_of(sub_slot);
  const unsigned shift = shift_of(sub_slot);
  const std::byte mask = sub_slot_mask(sub_slot);
  std::size_t at = 0;
  for (std::byte& octet : timeslot) {
    const std::byte source = at / 8 < bits.size() ? bits[at / 8] : kIdleOctet;
    const unsigned field = std::to_integer<unsigned>(source) >> (8U - width - at % 8);
    octet = (octet & ~mask) | (static_cast<std::byte>(field << shift & 0xffU) & mask);
    at += width;
  }
}

}  // namespace rtp
