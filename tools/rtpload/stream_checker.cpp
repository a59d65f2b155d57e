#include "tools/rtpload/stream_checker.h"

namespace rtpload {

// A gateway may add an offset to sequence numbers and timestamps, but the same one to all packets
// of a stream.
bool StreamChecker::header_fits(const ReceivedPacket& packet) noexcept {
  const std::uint32_t sequence = packet.identity.sequence;
  const auto sequence_offset = static_cast<std::uint16_t>(packet.rtp_sequence - sequence);
  const std::uint32_t timestamp_offset = packet.rtp_timestamp - sequence * kSamplesPerPacket;
  if (!offsets_known_) {
    offsets_known_ = true;
    sequence_offset_ = sequence_offset;
    timestamp_offset_ = timestamp_offset;
  }
  return sequence_offset == sequence_offset_ && timestamp_offset == timestamp_offset_;
}

// Frees the window's bits of the sequences next_expected_ to `sequence`.
void StreamChecker::forget_until(std::uint32_t sequence) noexcept {
  if (sequence - next_expected_ >= kWindowPackets) {
    seen_.fill(0);
    return;
  }
  for (std::uint32_t forgotten = next_expected_; forgotten != sequence + 1; ++forgotten) {
    seen_[(forgotten % kWindowPackets) / 64] &= ~(std::uint64_t{1} << (forgotten % 64));
  }
}

// Marks a sequence as seen; false if it was before.
bool StreamChecker::remember(std::uint32_t sequence) noexcept {
  std::uint64_t& word = seen_[(sequence % kWindowPackets) / 64];
  const std::uint64_t bit = std::uint64_t{1} << (sequence % 64);
  const bool is_new = (word & bit) == 0;
  word |= bit;
  return is_new;
}

Arrival StreamChecker::on_packet(const ReceivedPacket& packet) noexcept {
  if (packet.has_timeline && !header_fits(packet)) {
    return Arrival::header_broken;
  }
  const std::uint32_t sequence = packet.identity.sequence;
  if (sequence >= next_expected_) {
    forget_until(sequence);
    next_expected_ = sequence + 1;
    static_cast<void>(remember(sequence));
    ++received_;
    return Arrival::in_order;
  }
  if (next_expected_ - sequence > kWindowPackets) {
    return Arrival::stale;
  }
  if (!remember(sequence)) {
    return Arrival::duplicated;
  }
  ++received_;
  return Arrival::reordered;
}

}  // namespace rtpload
