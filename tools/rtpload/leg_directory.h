#pragma once
// Which leg a packet from the gateway belongs to. Each leg has its own port at the gateway, so a
// table by port finds it without searching.

#include "io/socket_address.h"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace rtpload {

/// Filled before the media starts, then only read.
class LegDirectory {
 public:
  static constexpr std::uint32_t kUnknown = 0xffffffff;

  LegDirectory() : by_port_(65536, Entry{}) {}

  /// Says that packets of `leg` come from `source`. False if another leg has that address already.
  [[nodiscard]] bool add(const io::SocketAddress& source, std::uint32_t leg);
  /// The leg, or kUnknown.
  [[nodiscard]] std::uint32_t find(const io::SocketAddress& source) const noexcept;

 private:
  struct Entry {
    io::SocketAddress source;
    std::uint32_t leg = kUnknown;
  };

  std::vector<Entry> by_port_;  // the first leg of each port
  std::unordered_map<io::SocketAddress, std::uint32_t>
      others_;  // further legs: same port, another host
};

}  // namespace rtpload
