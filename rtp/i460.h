#pragma once
// Sub-slots of an E1 timeslot (ITU-T I.460): 8, 16 or 32 kbit/s channels of adjacent bits of each
// timeslot octet, and the whole timeslot as the one of 64 kbit/s. Pure functions over bytes, any
// thread. The usual block is 20 ms of a timeslot.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace rtp {

/// Octets of 20 ms of a timeslot: 64 kbit/s.
inline constexpr std::size_t kTimeslotBlockBytes = 160;
/// Sub-slots that a timeslot can be cut into: one of 64, two of 32, four of 16, eight of 8 kbit/s.
inline constexpr std::size_t kSubSlotCount = 15;
/// What an unused bit of a timeslot is.
inline constexpr std::byte kIdleOctet{0xff};

/// A part of a timeslot. Only the values of sub_slot_at and find_sub_slot are meant.
struct SubSlot {
  std::uint8_t rate_kbps;   ///< 64, 32, 16 or 8
  std::uint8_t bit_offset;  ///< Its first bit in each octet, counted from the most significant.

  [[nodiscard]] bool operator==(const SubSlot&) const noexcept = default;
};

/// The sub-slot with this index: 0 = 64-0, 1..2 = 32-0 and 32-4, 3..6 = 16-0 .. 16-6,
/// 7..14 = 8-0 .. 8-7; none beyond.
[[nodiscard]] std::optional<SubSlot> sub_slot_at(std::size_t index) noexcept;

/// The index of the sub-slot with this rate in kbit/s and bit offset, none if there is no such
/// sub-slot.
[[nodiscard]] std::optional<std::size_t> find_sub_slot(unsigned rate_kbps,
                                                       unsigned bit_offset) noexcept;

/// Its bits in each octet of the timeslot.
[[nodiscard]] std::byte sub_slot_mask(SubSlot sub_slot) noexcept;

/// Whether two sub-slots share a bit, so that only one of them can be used. Each overlaps itself.
[[nodiscard]] bool sub_slots_overlap(SubSlot one, SubSlot other) noexcept;

/// Bits of the sub-slot in so many octets of the timeslot.
[[nodiscard]] std::size_t sub_slot_bits(SubSlot sub_slot, std::size_t timeslot_bytes) noexcept;

/// Takes the bits of a sub-slot out of a block of its timeslot, packed into `out` from its first
/// bit on. Returns their number; the rest of the last octet becomes 1s. `out` must have room for
/// sub_slot_bits of the block: at most as many octets as the block has.
std::size_t demultiplex_sub_slot(std::span<const std::byte> timeslot, SubSlot sub_slot,
                                 std::span<std::byte> out) noexcept;

/// Puts packed bits into the sub-slot's places in a block of its timeslot; the other bits of the
/// block stay. Where `bits` ends early the sub-slot's bits become idle (1).
void multiplex_sub_slot(std::span<const std::byte> bits, SubSlot sub_slot,
                        std::span<std::byte> timeslot) noexcept;

}  // namespace rtp
