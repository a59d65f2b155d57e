#pragma once
// Where received RTP packets belong on a line that takes one frame per interval: the arithmetic of
// a small jitter buffer, without the frames. One object per stream, on one thread.

#include <cstddef>
#include <cstdint>

namespace rtp {

/// How a jitter buffer is to behave. Values outside of the limits are brought inside.
struct PlayoutOptions {
  std::uint8_t target_frames = 2;  ///< The first packet waits so long; 1 .. frames_max - 1.
  std::uint8_t frames_max = 5;     ///< Places of the buffer; 2 .. kPlayoutFramesMax.
};

/// Most places of a jitter buffer: 160 ms.
inline constexpr std::uint8_t kPlayoutFramesMax = 8;

/// What to do with a packet.
enum class PlayoutVerdict : std::uint8_t {
  place,    ///< It belongs into the buffer.
  advance,  ///< So it does, after the first Placement::drop places were given up: a late burst.
  restart,  ///< So it does, after all places were given up: the stream begins, or begins anew.
  late,     ///< Its turn is over.
};

/// Where a packet belongs.
struct Placement {
  PlayoutVerdict verdict = PlayoutVerdict::late;
  std::size_t drop = 0;            ///< Places to give up at the front, with advance.
  std::uint32_t offset_ticks = 0;  ///< Of the packet's start from the first place's, thereafter.
};

/// Gives each packet its place by its timestamp: place 0 is what the line takes next. The first
/// packet goes target_frames behind the next one, and so does one that comes too late while nothing
/// else is there: the delay never grows. A packet beyond the last place shows that too much is
/// buffered: the oldest places are given up until it is target_frames away again. A jump of the
/// timestamps by more than a second, or another SSRC, begins anew.
class PlayoutWindow {
 public:
  /// `frame_ticks` (at least 1) are the timestamp units of a place.
  PlayoutWindow(PlayoutOptions options, std::uint32_t frame_ticks) noexcept;

  /// Where the packet belongs; `empty` = no place holds a frame.
  [[nodiscard]] Placement place(std::uint32_t ssrc, std::uint16_t sequence, std::uint32_t timestamp,
                                bool empty) noexcept;
  /// The line took place 0: all others move up.
  void advance() noexcept { next_timestamp_ += frame_ticks_; }
  /// Places of the buffer.
  [[nodiscard]] std::size_t places() const noexcept { return frames_max_; }

 private:
  [[nodiscard]] Placement restart(std::uint32_t ssrc, std::uint32_t timestamp) noexcept;

  std::uint32_t frame_ticks_;
  std::uint32_t next_timestamp_ = 0;  // of place 0
  std::uint32_t ssrc_ = 0;
  std::uint16_t newest_sequence_ = 0;
  std::uint8_t target_frames_;
  std::uint8_t frames_max_;
  bool started_ = false;
};

}  // namespace rtp
