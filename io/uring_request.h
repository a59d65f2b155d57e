#pragma once
// How the io_uring backend names its requests. Private to io/uring*.cpp.

#include <cstdint>

namespace io {

/// What a completion belongs to. Goes into the request's user data with the socket's index and
/// generation: never a pointer, which could outlive what it points to.
enum class RequestKind : std::uint8_t { wake = 1, receive, send, cancel };

inline constexpr unsigned kKindShift = 56;
inline constexpr unsigned kIndexShift = 32;
inline constexpr std::uint64_t kKindMask = std::uint64_t{0xff} << kKindShift;
inline constexpr std::uint32_t kIndexMask = 0xffffff;

/// Packs the three into one number; `index` is at most kIndexMask.
[[nodiscard]] constexpr std::uint64_t user_data(RequestKind kind, std::uint32_t index,
                                                std::uint32_t generation) noexcept {
  return std::uint64_t{static_cast<std::uint8_t>(kind)} << kKindShift |
         std::uint64_t{index} << kIndexShift | generation;
}

}  // namespace io
