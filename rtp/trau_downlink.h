#pragma once
// The way from RTP packets to the bits of a sub-slot: a small jitter buffer, one frame per 20 ms,
// filler when there is none, and the base station's wishes for time alignment. One object per
// sub-slot in use, on one thread; no allocation, about 2 KiB.

#include "rtp/i460.h"
#include "rtp/playout_window.h"
#include "rtp/rtp_header.h"
#include "rtp/trau_frame.h"
#include "rtp/trau_rtp.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace rtp {

/// What happened so far. packets = accepted + late + duplicate + errors of all causes; of accepted
/// packets the frames became sent, or overflowed.
struct TrauDownlinkCounters {
  std::uint64_t packets = 0;
  std::uint64_t accepted = 0;
  std::uint64_t late = 0;                               ///< Their turn was over.
  std::uint64_t duplicate = 0;                          ///< Their frames were there already.
  std::array<std::uint64_t, kTrauErrorCount> errors{};  ///< Not convertible, by cause.
  std::uint64_t frames = 0;                             ///< Sent that came by RTP.
  std::uint64_t fillers = 0;                            ///< Sent because nothing was there.
  std::uint64_t overflowed = 0;  ///< Frames given up: a burst, or the stream began anew.
  std::uint64_t alignments = 0;  ///< Frames lengthened or shortened.
};

/// RTP to a sub-slot.
class TrauDownlink {
 public:
  /// Frames that pass after a time alignment before the next one is made: so long the base station
  /// may still ask for the same one, as its frames are on the way (60 ms).
  static constexpr unsigned kAlignmentPauseFrames = 3;

  /// For a sub-slot of the rate that fits to mapping.codec and mapping.framing.
  TrauDownlink(TrauMapping mapping, PlayoutOptions options) noexcept;

  /// A received packet with its header.
  void put(const RtpHeader& header, std::span<const std::byte> payload) noexcept;
  /// What the base station's last frame asked for, in steps of 250 us (time_alignment_request):
  /// the next frame is lengthened by so much, or shortened if it is negative, by one step.
  void align_time(int steps) noexcept;
  /// Writes the sub-slot's next bits: all of `out`, usually 20 ms (40 octets at 16 kbit/s, 20 at 8,
  /// 160 for PCM).
  void pull(std::span<std::byte> out) noexcept;

  /// What happened so far.
  [[nodiscard]] const TrauDownlinkCounters& counters() const noexcept { return counters_; }
  /// Frames that wait in the buffer.
  [[nodiscard]] std::size_t buffered_frames() const noexcept;

 private:
  struct Place {
    TrauFrame frame;
    std::array<std::byte, kTrauPayloadBytesMax> samples;  // of PCM
    bool filled = false;
  };

  [[nodiscard]] bool is_pcm() const noexcept;
  [[nodiscard]] Place& place(std::size_t index) noexcept;
  void drop_places(std::size_t count) noexcept;
  [[nodiscard]] bool make_room(const Placement& placement) noexcept;
  [[nodiscard]] bool put_frames(std::span<const TrauFrame> frames, std::uint32_t offset) noexcept;
  [[nodiscard]] bool put_samples(std::span<const std::byte> samples, std::uint32_t offset) noexcept;
  void finish(bool stored) noexcept;
  void take_place(Place& taken) noexcept;
  void begin_frame() noexcept;
  void choose_mode_field(TrauFrame& frame) noexcept;
  void copy_current(std::span<std::byte> out, std::size_t at, std::size_t count) const noexcept;

  TrauMapping mapping_;
  PlayoutWindow window_;
  std::array<Place, kPlayoutFramesMax> places_{};
  std::size_t first_ = 0;  // of places_: place 0
  TrauDownlinkCounters counters_;
  std::array<std::byte, kTrauPayloadBytesMax> current_{};  // the frame on the way, or samples
  std::size_t current_bits_ = 0;
  std::size_t sent_bits_ = 0;  // of current_; behind its end there are ones
  int alignment_steps_ = 0;
  unsigned alignment_pause_ = 0;
  std::uint8_t said_mode_ = 0xff;  // AMR: the mode that the base station knows
  bool said_mode_last_ = false;    // AMR: in the last frame
};

}  // namespace rtp
