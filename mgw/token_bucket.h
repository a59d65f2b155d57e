#pragma once
// A limit of a rate with room for bursts: the generic cell rate algorithm (ITU-T I.371), which
// needs one instant per subject and neither timer nor division.

#include "io/time.h"

namespace mgw {

/// What of a second's packets a peer may send at once: after a stall of the network, say.
inline constexpr io::Duration kPaceBurst = std::chrono::seconds(1);

/// One subject's state. What the rate is comes with each call, so it may change at any time.
class TokenBucket {
 public:
  /// Takes a token if there is one: they come one per `interval`, and what has come in `burst` may
  /// be taken at once.
  [[nodiscard]] bool take(io::TimePoint now, io::Duration interval, io::Duration burst) noexcept {
    const io::TimePoint from = next_ > now ? next_ : now;
    if (from - now > burst - interval) {
      return false;
    }
    next_ = from + interval;
    return true;
  }
  /// When all tokens are back: the whole state, for who takes them elsewhere for a while.
  [[nodiscard]] io::TimePoint full_at() const noexcept { return next_; }
  void set_full_at(io::TimePoint instant) noexcept { next_ = instant; }

 private:
  io::TimePoint next_{};  // when all tokens are back
};

}  // namespace mgw
