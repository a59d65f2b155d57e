#pragma once
// Finds the frames in the bit stream of a sub-slot and keeps to them (3GPP TS 48.060, TS 48.061
// clause 6.8). One object per stream, on one thread; the memory is fixed and the work per
// bit is bounded.

#include "rtp/trau_layout.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace rtp {

/// What a bit led to.
enum class TrauSyncEvent : std::uint8_t {
  none,
  frame,  ///< It was the last bit of a frame, which frame() has.
  lost,   ///< The third frame in a row with a wrong pattern: the search begins again.
};

/// The synchroniser. While it searches it takes the first place where the whole pattern is right
/// (the shorter patterns of amr_8k: where it is right in so many frames one after the other that
/// chance is excluded). Once aligned it delivers a frame per frame length; one or two frames in a
/// row may have errors in their pattern, with the third one the alignment is lost. The bits before
/// the first one are taken as ones.
///
/// A frame that time alignment shortened by a step, or lengthened by ones, is followed: the next
/// frame's pattern is looked for where the standard allows it to be. A frame that seems to be
/// behind such ones and is not is not delivered, and counts as one with errors.
class TrauSync {
 public:
  /// Frames in a row with a wrong pattern that lose the alignment.
  static constexpr unsigned kErroredFramesMax = 3;

  /// Searches in a stream of this framing.
  explicit TrauSync(TrauFraming framing) noexcept;

  /// The next bit of the stream.
  [[nodiscard]] TrauSyncEvent push(bool bit) noexcept;
  /// Forgets the alignment and all bits.
  void reset() noexcept;

  /// The frame that push() delivered last: trau_frame_bits, valid until the next push().
  [[nodiscard]] std::span<const std::byte> frame() const noexcept;
  /// Wrong bits in the pattern of that frame.
  [[nodiscard]] unsigned pattern_errors() const noexcept { return pattern_errors_; }
  /// Whether it keeps to frames; false while it searches.
  [[nodiscard]] bool aligned() const noexcept { return aligned_; }
  /// The framing that it was made for.
  [[nodiscard]] TrauFraming framing() const noexcept { return framing_; }

 private:
  static constexpr std::size_t kWords = kTrauFrameBitsMax / 64;
  using Words = std::array<std::uint64_t, kWords>;
  // A pattern against the newest bits: the last bit of a frame is the lowest bit of the last word.
  struct Pattern {
    Words mask{};
    Words value{};
    std::uint8_t confirmations = 1;  // frames in a row that must have it before alignment
  };
  static constexpr std::size_t kPatternsMax = 3;

  static Pattern make_pattern(const TrauLayout& layout, std::uint8_t confirmations) noexcept;
  [[nodiscard]] const Pattern* find_match() const noexcept;
  [[nodiscard]] bool begins_with_ones() const noexcept;
  [[nodiscard]] TrauSyncEvent search() noexcept;
  [[nodiscard]] TrauSyncEvent keep() noexcept;
  [[nodiscard]] TrauSyncEvent take_errored() noexcept;
  TrauSyncEvent deliver() noexcept;
  void store_frame() noexcept;

  std::array<Pattern, kPatternsMax> patterns_{};
  std::size_t pattern_count_ = 0;
  Words newest_{};
  std::array<std::uint8_t, kTrauFrameBitsMax> matches_{};  // in a row, by place within a frame
  std::array<std::byte, kTrauFrameBytesMax> frame_{};
  std::size_t frame_bits_;
  std::size_t step_bits_;        // of time alignment; 0 = does not happen
  std::size_t lengthened_max_;   // most ones between two frames
  std::size_t place_ = 0;        // of the next bit, for matches_
  std::size_t since_frame_ = 0;  // bits since the last one of the last frame
  unsigned errored_frames_ = 0;
  unsigned pattern_errors_ = 0;
  TrauFraming framing_;
  bool aligned_ = false;
  bool lengthened_ = false;  // the bits where the frame should begin are ones
};

}  // namespace rtp
