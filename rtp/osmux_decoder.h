#pragma once
// The receiving half of Osmux: makes RTP packets of a circuit's chunks again and paces them. One
// OsmuxPlayout per circuit, on one thread; time comes in as an argument, no memory but its own.

#include "io/time.h"
#include "rtp/osmux_chunk.h"
#include "rtp/rtp_header.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

namespace rtp {

/// Octets of the largest rebuilt packet: header, CMR, table of contents, AMR 12.2.
inline constexpr std::size_t kOsmuxRtpBytesMax = kRtpHeaderBytes + 2 + kOsmuxFrameBytesMax;
/// How long frames are held back at most for the sake of their pace if nothing else is configured:
/// twice the 30 ms that a usual network lets packets stray.
inline constexpr io::Duration kOsmuxHoldDefault = std::chrono::milliseconds(60);
/// Most frames that wait for their time: a full hold of 160 ms and a full chunk.
inline constexpr std::size_t kOsmuxPendingMax = 2 * kOsmuxFramesMax;

/// The stream that a playout makes.
struct OsmuxPlayoutOptions {
  std::uint8_t payload_type = 0;  ///< 0..127
  std::uint32_t ssrc = 0;         ///< osmux_ssrc()
  std::uint16_t sequence = 0;     ///< Of the first packet; random.
  std::uint32_t timestamp = 0;    ///< Of the first packet; random.
  /// Longest hold; 0 = frames of a chunk never wait for those of the chunk before it.
  io::Duration hold_max = kOsmuxHoldDefault;
};

/// What one playout did so far; plain numbers of its thread.
struct OsmuxPlayoutStatistics {
  std::uint64_t chunks_in = 0;  ///< Voice chunks taken.
  std::uint64_t octets_in = 0;  ///< Of those chunks, headers included.
  std::uint64_t frames_in = 0;  ///< Of those chunks.
  std::uint64_t packets_out = 0;
  std::uint64_t amr_octets_out = 0;  ///< Speech octets of those packets.
  std::uint64_t gaps = 0;            ///< Chunks that don't follow the one before.
  std::uint64_t duplicates = 0;      ///< Chunks dropped: their number came already.
  std::uint64_t late = 0;            ///< Chunks dropped: a newer one had come.
  std::uint64_t hurried = 0;         ///< Frames played before their time to make room.
  std::uint64_t overflowed = 0;      ///< Frames lost because nobody took what was due.
};

/// Rebuilds and paces the RTP stream of one circuit.
///
/// Every frame gets an absolute deadline when it comes. The first frame of a chunk plays at once,
/// the others each 20 ms after the one before. A pass that runs late sends late but moves no
/// deadline, so lateness does not add up.
///
/// Chunks don't come as evenly as they were sent, and one that is a little early must not make two
/// frames follow each other too closely. So a new chunk waits until 20 ms after the last frame of
/// the one before, if that is at most hold_max away; if it is further, everything that is pending
/// plays at once and the chunk starts a new pace, as with Osmocom's receiver. A chunk that comes
/// later than that plays at once, and those behind it keep the new pace: after one round of the
/// network's jitter all of it is absorbed. What a single late chunk, or a clock that runs fast,
/// leaves behind as delay is worked off without a jump, by frames that follow 19.75 ms after one
/// another, until the latest chunks of some seconds still wait 5 ms.
///
/// Where chunks were lost, the next one keeps the place that it would have had; after a pause it
/// goes on at whole frames' distance, held as long as chunks were held before. A chunk that is read
/// late because the whole pass is late, which next_look() finds out, keeps its place too: what
/// should have been played meanwhile plays at once, what follows keeps its time.
///
/// Further chunks of a circuit in one datagram (a change of frame type) belong to the same batch
/// and simply go on.
class OsmuxPlayout {
 public:
  explicit OsmuxPlayout(const OsmuxPlayoutOptions& options) noexcept;

  /// Takes one chunk of the circuit, read at `now`; dummies are ignored. take_due() must be
  /// called until it returns 0 before the next chunk is taken, or pending frames may be lost.
  /// Chunks that came twice, or after a newer one, are dropped, unless they are the beginning of a
  /// peer that counts anew.
  void on_chunk(const OsmuxChunk& chunk, io::TimePoint now) noexcept;

  /// When the next frame is due; kNever if none is pending.
  [[nodiscard]] io::TimePoint next_due() const noexcept;

  /// When take_due() wants to be called, at the latest: when a frame is due, or when the next chunk
  /// should have come, to know whether passes are in time. kNever if nothing is expected.
  [[nodiscard]] io::TimePoint next_look() const noexcept;

  /// Writes the next packet if it is due at `now`, and returns its octets; 0 if none is due or
  /// `out` is shorter than kOsmuxRtpBytesMax. Call it again until it returns 0.
  [[nodiscard]] std::size_t take_due(io::TimePoint now, std::span<std::byte> out) noexcept;

  /// Frames that wait, 0..kOsmuxPendingMax + kOsmuxFramesMax.
  [[nodiscard]] std::size_t pending() const noexcept { return count_; }
  /// What the playout did so far.
  [[nodiscard]] const OsmuxPlayoutStatistics& statistics() const noexcept { return statistics_; }

 private:
  struct Frame {
    io::TimePoint due;
    std::array<std::byte, kOsmuxFrameBytesMax> octets;
    std::uint8_t bytes;
    std::array<std::byte, 2> prefix;  // CMR and table of contents
    bool marker;
  };
  static constexpr std::size_t kFramesMax = kOsmuxPendingMax + kOsmuxFramesMax;

  [[nodiscard]] bool accept_sequence(std::uint8_t sequence, io::TimePoint now) noexcept;
  /// Finds the time of the next batch; `skipped` frames were lost before it.
  void start_batch(io::TimePoint now, std::size_t skipped) noexcept;
  [[nodiscard]] io::TimePoint after_pause(io::TimePoint now) const noexcept;
  /// A pass has come at `now` for what was due at `due`.
  void note_pass(io::TimePoint due, io::TimePoint now) noexcept;
  void sample_hold(io::Duration hold) noexcept;
  void play_at_once(io::TimePoint now) noexcept;
  void append(const OsmuxChunk& chunk, std::size_t index, bool marker) noexcept;
  [[nodiscard]] Frame& at(std::size_t place) noexcept;

  OsmuxPlayoutOptions options_;
  std::array<Frame, kFramesMax> frames_;  // a ring: count_ frames from first_ on
  std::size_t first_ = 0;
  std::size_t count_ = 0;
  io::TimePoint next_free_{};     // the deadline of the next frame that comes in time
  io::TimePoint chunk_at_{};      // when the newest chunk came
  io::Duration shortest_hold_{};  // of the last hold_samples_ batches
  io::Duration usual_hold_{};     // smoothed
  io::Duration excess_{};         // delay to be worked off
  io::TimePoint late_pass_{};     // the newest pass that came late, ...
  io::TimePoint late_since_{};    // ... and since when it should have come
  std::uint32_t hold_samples_ = 0;
  std::uint8_t chunk_sequence_ = 0;  // of the newest chunk
  std::uint8_t late_sequence_ = 0;   // refused last
  std::uint8_t late_run_ = 0;        // consecutive numbers refused as late
  std::uint8_t chunk_frames_ = 0;    // of the newest chunk
  bool started_ = false;
  bool awaits_chunk_ = false;  // no pass has yet come since the next chunk should have
  OsmuxPlayoutStatistics statistics_;
};

}  // namespace rtp
