#pragma once
// How the io_uring backend names its requests. Private to io/uring*.cpp.

#include <cstddef>
#include <cstdint>

namespace io {

/// What a completion belongs to. Goes into the request's user data with the socket's index and
/// generation: never a pointer, which could outlive what it points to.
enum class RequestKind : std::uint8_t {
  wake = 1,
  receive,
  send,
  cancel,
  joined_send = 0x80,  ///< the lower seven bits are the number of datagrams
};

inline constexpr unsigned kKindShift = 56;
inline constexpr unsigned kIndexShift = 32;
inline constexpr std::uint32_t kIndexMask = 0xffffff;

/// Packs the three into one number; `index` is at most kIndexMask.
[[nodiscard]] constexpr std::uint64_t user_data(RequestKind kind, std::uint32_t index,
                                                std::uint32_t generation) noexcept {
  return std::uint64_t{static_cast<std::uint8_t>(kind)} << kKindShift |
         std::uint64_t{index} << kIndexShift | generation;
}

/// The kind of a send that takes `count` datagrams, 1 to 127.
[[nodiscard]] constexpr RequestKind send_of(std::size_t count) noexcept {
  constexpr auto kJoined = static_cast<std::uint8_t>(RequestKind::joined_send);
  return count == 1 ? RequestKind::send : static_cast<RequestKind>(kJoined | count);
}

/// How many datagrams the request sends; 0 for requests of other kinds.
[[nodiscard]] constexpr std::uint32_t datagrams_sent_by(std::uint64_t user_data) noexcept {
  constexpr auto kJoined = static_cast<std::uint8_t>(RequestKind::joined_send);
  const auto kind = static_cast<std::uint8_t>(user_data >> kKindShift);
  if ((kind & kJoined) != 0) {
    return kind & ~std::uint32_t{kJoined};
  }
  return kind == static_cast<std::uint8_t>(RequestKind::send) ? 1 : 0;
}

}  // namespace io
