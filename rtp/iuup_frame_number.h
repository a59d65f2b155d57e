#pragma once
// The frame numbers of the data that an Iu UP link sends (3GPP TS 25.415 clauses 6.4 and 6.6.3): 4
// bits that count either the PDUs sent or the time passed, taken from where a frame stands in its
// source's stream, so that a receiver sees the source's losses and nothing else. The state belongs
// to one link, on its worker's thread.

#include "io/time.h"

#include <chrono>
#include <cstdint>

namespace rtp {

/// Frame numbers count modulo this.
inline constexpr unsigned kIuupFrameNumbers = 16;
/// The interval that the numbers count when they go by time: one frame of AMR and AMR-WB.
inline constexpr io::Duration kIuupInterval = std::chrono::milliseconds(20);

/// What the numbers count. Time if the initialisation declared intervals (IPTI): the number then
/// grows over a pause; else PDUs.
enum class IuupNumbering : std::uint8_t { by_pdu, by_time };

/// Where a frame stands in its source's stream.
struct IuupPosition {
  /// What is known.
  enum class Kind : std::uint8_t {
    unknown,  ///< Nothing is known: the frame is the next one, after a pause by time the one of
              ///< now.
    rtp,      ///< `sequence`, `timestamp` and `interval_ticks` of an RTP packet.
    iuup,     ///< `sequence` is the frame number of an Iu UP data PDU, 0..15.
  };
  Kind kind = Kind::unknown;
  std::uint16_t sequence = 0;
  std::uint32_t timestamp = 0;
  std::uint16_t interval_ticks = 160;  ///< Ticks of 20 ms: 160 at 8 kHz, 320 at 16 kHz; not 0.
  /// Names all members to `archive`, which saves or restores them (mgw/state_codec.h).
  template <typename Self, typename Archive>
  static void visit_state(Self& self, Archive& archive) {
    archive.enumerator(self.kind, Kind::iuup);
    archive(self.sequence, self.timestamp, self.interval_ticks);
    self.make_consistent();
  }

 private:
  /// What was restored may be anything.
  void make_consistent() noexcept { interval_ticks = interval_ticks == 0 ? 160 : interval_ticks; }
  void make_consistent() const noexcept {}
};

/// Gives each frame its number.
class IuupFrameNumber {
 public:
  /// The number of the next frame to be sent. The very first frame keeps the low 4 bits of its
  /// position's sequence. A frame that comes late (up to 8 places in RTP, 4 in Iu UP) gets the
  /// number it missed; a stream that goes on more than 30 s away, one of another kind, and one
  /// after source_changed(), goes on at the number behind the last.
  [[nodiscard]] std::uint8_t next(const IuupPosition& position, IuupNumbering numbering,
                                  io::TimePoint now) noexcept;
  /// The next frame comes from another source, whose positions have nothing to do with the last.
  void source_changed() noexcept { source_changed_ = true; }
  /// Names all members to `archive`, which saves or restores them (mgw/state_codec.h).
  template <typename Self, typename Archive>
  static void visit_state(Self& self, Archive& archive) {
    archive(self.last_time_, self.last_, self.last_number_, self.started_, self.source_changed_);
  }

 private:
  [[nodiscard]] int step(const IuupPosition& position, IuupNumbering numbering,
                         io::TimePoint now) const noexcept;

  io::TimePoint last_time_{};
  IuupPosition last_;
  std::uint8_t last_number_ = 0;
  bool started_ = false;
  bool source_changed_ = false;
};

}  // namespace rtp
