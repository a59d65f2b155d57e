#pragma once
// Single bits and short fields of octets that are read as a string of bits, the most significant
// bit of each octet first. The caller has checked that the bits are there.

#include <cstddef>
#include <cstdint>
#include <span>

namespace rtp {

/// Bit `at` of `octets`.
[[nodiscard]] inline bool get_bit(std::span<const std::byte> octets, std::size_t at) noexcept {
  return ((octets[at / 8] >> (7U - at % 8)) & std::byte{1}) != std::byte{0};
}

/// Sets or clears bit `at` of `octets`.
inline void set_bit(std::span<std::byte> octets, std::size_t at, bool value) noexcept {
  const std::byte mask = std::byte{0x80} >> (at % 8);
  octets[at / 8] = value ? octets[at / 8] | mask : octets[at / 8] & ~mask;
}

/// The `count` bits (at most 32) from bit `at` on, the first one most significant.
[[nodiscard]] inline std::uint32_t get_bits(std::span<const std::byte> octets, std::size_t at,
                                            std::size_t count) noexcept {
  std::uint32_t value = 0;
  for (std::size_t index = 0; index < count; ++index) {
    value = value << 1U | (get_bit(octets, at + index) ? 1U : 0U);
  }
  return value;
}

/// Writes the low `count` bits (at most 32) of `value` from bit `at` on, most significant first.
inline void set_bits(std::span<std::byte> octets, std::size_t at, std::size_t count,
                     std::uint32_t value) noexcept {
  for (std::size_t index = 0; index < count; ++index) {
    set_bit(octets, at + index, (value >> (count - 1 - index) & 1U) != 0);
  }
}

/// Copies `count` bits from bit `from_at` of `from` to bit `to_at` of `to`, which don't overlap.
inline void copy_bits(std::span<const std::byte> from, std::size_t from_at, std::span<std::byte> to,
                      std::size_t to_at, std::size_t count) noexcept {
  for (std::size_t index = 0; index < count; ++index) {
    set_bit(to, to_at + index, get_bit(from, from_at + index));
  }
}

}  // namespace rtp
