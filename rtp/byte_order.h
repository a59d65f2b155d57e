#pragma once
// Big-endian loads and stores for the fields of packets. The caller has checked that the bytes are
// there.

#include <cstddef>
#include <cstdint>

namespace rtp {

/// The 16 bits at `bytes`, most significant octet first.
[[nodiscard]] inline std::uint16_t load_u16(const std::byte* bytes) noexcept {
  return static_cast<std::uint16_t>(std::to_integer<unsigned>(bytes[0]) << 8U |
                                    std::to_integer<unsigned>(bytes[1]));
}

/// The 24 bits at `bytes`, most significant octet first.
[[nodiscard]] inline std::uint32_t load_u24(const std::byte* bytes) noexcept {
  return std::to_integer<std::uint32_t>(bytes[0]) << 16U | load_u16(bytes + 1);
}

/// The 32 bits at `bytes`, most significant octet first.
[[nodiscard]] inline std::uint32_t load_u32(const std::byte* bytes) noexcept {
  return static_cast<std::uint32_t>(load_u16(bytes)) << 16U | load_u16(bytes + 2);
}

/// Writes `value` at `bytes`, most significant octet first.
inline void store_u16(std::byte* bytes, std::uint16_t value) noexcept {
  bytes[0] = static_cast<std::byte>(value >> 8U);
  bytes[1] = static_cast<std::byte>(value & 0xffU);
}

/// Writes the low 24 bits of `value` at `bytes`, most significant octet first.
inline void store_u24(std::byte* bytes, std::uint32_t value) noexcept {
  bytes[0] = static_cast<std::byte>(value >> 16U & 0xffU);
  store_u16(bytes + 1, static_cast<std::uint16_t>(value & 0xffffU));
}

/// Writes `value` at `bytes`, most significant octet first.
inline void store_u32(std::byte* bytes, std::uint32_t value) noexcept {
  store_u16(bytes, static_cast<std::uint16_t>(value >> 16U));
  store_u16(bytes + 2, static_cast<std::uint16_t>(value & 0xffffU));
}

}  // namespace rtp
