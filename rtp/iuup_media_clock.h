#pragma once
// Where the frames that come from an Iu UP peer stand in time, in steps of 20 ms: as RTP of its own
// they need timestamps on the grid of the codec and sequence numbers without holes, and neither the
// clock of the peer's RTP timestamps nor the time of arrival alone can be relied on (3GPP TS 25.414
// lets a receiver ignore the RTP header). The state belongs to one link, on its worker's thread.

#include "io/time.h"
#include "rtp/iuup_frame_number.h"

#include <cstdint>

namespace rtp {

/// One data PDU that arrived.
struct IuupArrival {
  std::uint32_t ssrc = 0;         ///< of its RTP packet
  std::uint32_t timestamp = 0;    ///< of its RTP packet: where a stream begins
  std::uint16_t sequence = 0;     ///< of its RTP packet
  std::uint8_t frame_number = 0;  ///< 0..15
  bool silence = false;           ///< no speech: a pause may follow
  /// Names all members to `archive`, which saves or restores them (mgw/state_codec.h).
  template <typename Self, typename Archive>
  static void visit_state(Self& self, Archive& archive) {
    archive(self.ssrc, self.timestamp, self.sequence, self.frame_number, self.silence);
  }
};

/// The numbers under which it goes on as RTP.
struct IuupMediaNumbers {
  std::uint16_t sequence = 0;
  std::uint32_t timestamp = 0;
};

/// See above. A new SSRC begins anew.
class IuupMediaClock {
 public:
  /// A control PDU took one of the peer's sequence numbers: the data behind it closes up.
  void skip(std::uint32_t ssrc, std::uint16_t sequence) noexcept;
  /// The numbers of a data PDU; `ticks` are those of 20 ms. Late and double PDUs get the numbers of
  /// their place. A pause is known from the frame numbers if they go by time, and from the clock
  /// for more than they can count or if they don't: after silence some peers count PDUs even so.
  [[nodiscard]] IuupMediaNumbers next(const IuupArrival& arrival, IuupNumbering numbering,
                                      std::uint32_t ticks, io::TimePoint now) noexcept;
  /// Names all members to `archive`, which saves or restores them (mgw/state_codec.h).
  template <typename Self, typename Archive>
  static void visit_state(Self& self, Archive& archive) {
    archive(self.last_, self.last_at_, self.pause_steps_, self.pause_sequence_, self.skipped_,
            self.pending_skips_, self.skip_sequence_, self.has_skip_, self.started_);
  }

 private:
  [[nodiscard]] int steps_to(const IuupArrival& arrival, int distance, IuupNumbering numbering,
                             io::TimePoint now) const noexcept;
  [[nodiscard]] IuupMediaNumbers late(const IuupArrival& arrival, int distance,
                                      IuupNumbering numbering, std::uint32_t ticks) const noexcept;

  IuupArrival last_;  // the newest; its timestamp is the one given out
  io::TimePoint last_at_{};
  int pause_steps_ = 0;               // of the last pause, without the one to the next frame
  std::uint16_t pause_sequence_ = 0;  // the first after it
  std::uint16_t skipped_ = 0;         // sequence numbers closed up so far
  std::uint16_t pending_skips_ = 0;   // of control PDUs since the newest data PDU
  std::uint16_t skip_sequence_ = 0;   // of the last control PDU
  bool has_skip_ = false;
  bool started_ = false;
};

}  // namespace rtp
