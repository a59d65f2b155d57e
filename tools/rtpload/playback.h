#pragma once
// A recording as RTP packets, and the comparison of what comes out at the other end. Pure: no
// socket, no clock, no file.

#include "tools/rtpload/codec.h"
#include "tools/rtpload/packet.h"

#include <cstdint>
#include <span>
#include <vector>

namespace rtpload {

/// A recording in frames of 20 ms, encoded as PCMA or PCMU; the last frame is filled up with
/// silence.
class Recording {
 public:
  /// `codec` is PCMA or PCMU.
  Recording(const Codec& codec, std::span<const std::int16_t> samples);

  [[nodiscard]] std::uint32_t frames() const noexcept {
    return static_cast<std::uint32_t>(octets_.size() / kSamplesPerPacket);
  }
  [[nodiscard]] std::span<const std::uint8_t> frame(std::uint32_t index) const noexcept {
    return std::span(octets_).subspan(std::size_t{index} * kSamplesPerPacket, kSamplesPerPacket);
  }
  /// Writes the packet of one frame of `stream` and returns its size.
  std::size_t write_packet(std::span<std::uint8_t> buffer, std::uint32_t run_seed,
                           std::uint32_t stream, std::uint32_t index) const noexcept;

 private:
  Codec codec_;
  std::vector<std::uint8_t> octets_;
};

/// What came of one stream.
struct PlaybackCounters {
  std::uint64_t received = 0;  ///< frames that came at least once, bit for bit
  std::uint64_t reordered = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t corrupted = 0;
};

/// Compares the packets of one stream with the recording, bit by bit.
class PlaybackChecker {
 public:
  /// `recording` must outlive it.
  PlaybackChecker(const Codec& codec, const Recording& recording, std::uint32_t run_seed,
                  std::uint32_t stream);

  /// Takes one received datagram and compares it with the recording.
  void on_packet(std::span<const std::uint8_t> datagram) noexcept;
  [[nodiscard]] const PlaybackCounters& counters() const noexcept { return counters_; }
  /// What arrived, decoded, with silence where a frame is missing.
  [[nodiscard]] std::vector<std::int16_t> samples() const;

 private:
  Codec codec_;
  const Recording& recording_;
  RtpOrigin origin_;
  std::vector<bool> arrived_;
  std::uint32_t next_expected_ = 0;
  PlaybackCounters counters_;
};

}  // namespace rtpload
