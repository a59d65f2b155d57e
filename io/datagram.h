#pragma once
// One UDP datagram on its way through a worker, received or to be sent.

#include "io/buffer_pool.h"
#include "io/socket_address.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace io {

/// Names an open socket of one backend. The generation guards against a late use after the slot was
/// given to a successor.
struct SocketId {
  std::uint32_t index = 0xffffffff;
  std::uint32_t generation = 0;
  friend bool operator==(const SocketId&, const SocketId&) noexcept = default;
};

/// Move-only. Received: `socket` and `tag` say on which socket it came, `peer` who sent it. To be
/// sent: `socket` says from which socket, `peer` to whom (ignored on connected sockets).
struct Datagram {
  Buffer buffer;
  std::uint32_t offset =
      0;  ///< where the datagram starts in the slot, bytes; what precedes it is headroom
  std::uint32_t size = 0;  ///< bytes; may be 0
  SocketId socket;
  std::uint64_t tag = 0;  ///< what open() was given for the socket
  SocketAddress peer;

  /// The datagram's bytes within its buffer.
  [[nodiscard]] std::span<std::byte> bytes() const noexcept {
    return {buffer.data() + offset, size};
  }
};

/// Everything that one pass received, or is to send, in order.
using DatagramVector = std::vector<Datagram>;

/// Every received datagram has at least this many writable bytes before it in its slot, so a
/// conversion may grow the packet to the front.
inline constexpr std::uint32_t kHeadroomBytes = 44;

}  // namespace io
