#pragma once
// Watches what arrives of one stream: what came, what came twice, what came late. Bounded: it
// remembers the last kWindowPackets packets, 20 s of speech; nothing older can be told from a
// duplicate.

#include "tools/rtpload/packet.h"

#include <array>
#include <cstdint>

namespace rtpload {

/// What one more packet of a stream was.
enum class Arrival : std::uint8_t {
  in_order,       ///< later than all before it
  reordered,      ///< not seen before, but a later one was (RFC 4737 section 3)
  duplicated,     ///< seen before
  stale,          ///< older than the window
  header_broken,  ///< RTP sequence number or timestamp don't fit to the other packets of the stream
};

/// One per stream, at its receiver. Each packet costs a few instructions whatever the order.
class StreamChecker {
 public:
  static constexpr std::uint32_t kWindowPackets = 1024;

  /// Takes note of a packet with a valid payload.
  Arrival on_packet(const ReceivedPacket& packet) noexcept;

  /// Different packets that arrived, in order or not.
  [[nodiscard]] std::uint32_t received() const noexcept { return received_; }
  /// One more than the highest sequence that arrived; 0 if none did.
  [[nodiscard]] std::uint32_t next_expected() const noexcept { return next_expected_; }

 private:
  [[nodiscard]] bool header_fits(const ReceivedPacket& packet) noexcept;
  void forget_until(std::uint32_t sequence) noexcept;
  [[nodiscard]] bool remember(std::uint32_t sequence) noexcept;

  std::array<std::uint64_t, kWindowPackets / 64> seen_{};  // bit (sequence mod window)
  std::uint32_t next_expected_ = 0;
  std::uint32_t received_ = 0;
  std::uint32_t timestamp_offset_ = 0;
  std::uint16_t sequence_offset_ = 0;
  bool offsets_known_ = false;
};

}  // namespace rtpload
