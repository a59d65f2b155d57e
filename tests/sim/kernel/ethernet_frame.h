#pragma once
// Datagrams of the simulated network as the kernel sees them: whole Ethernet frames with IP and UDP
// headers and right checksums (RFC 791, RFC 8200, RFC 768).

#include "io/sim_network.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sim {

using MacAddress = std::array<std::uint8_t, 6>;

/// A frame whose IP header is at an address that 4 divides, as the kernel has it.
class EthernetFrame {
 public:
  /// Wraps the datagram up.
  EthernetFrame(const io::SimDatagram& datagram, const MacAddress& from, const MacAddress& to);

  [[nodiscard]] std::span<std::uint8_t> bytes() noexcept {
    return std::span(memory_).subspan(kShift);
  }
  /// The datagram in it; nothing if a length or checksum is wrong.
  [[nodiscard]] std::optional<io::SimDatagram> datagram() const;
  [[nodiscard]] MacAddress from() const noexcept;
  [[nodiscard]] MacAddress to() const noexcept;

 private:
  static constexpr std::size_t kShift = 2;

  std::vector<std::uint8_t> memory_;
};

}  // namespace sim
