#pragma once
// A running hash over all that happened in a simulated world: two runs of one seed must agree.

#include "io/sim_network.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace sim {

/// FNV-1a over what it is given.
class Trace {
 public:
  void add(std::span<const std::byte> bytes) noexcept {
    for (const std::byte byte : bytes) {
      hash_ = (hash_ ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3U;
    }
  }
  void add(std::uint64_t value) noexcept { add(std::as_bytes(std::span(&value, 1))); }
  /// A datagram that somebody read, and when.
  void add(const io::SimDatagram& datagram, io::TimePoint now) noexcept {
    add(static_cast<std::uint64_t>(now.time_since_epoch().count()));
    add(std::uint64_t{datagram.source.port()} << 16U | datagram.target.port());
    add(datagram.bytes);
  }
  [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325U;
};

}  // namespace sim
