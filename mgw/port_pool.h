#pragma once
// Port pairs for RTP (even) and RTCP (the odd port after it) of one local IP address.

#include "io/time.h"
#include "mgw/free_set.h"

#include <cstdint>
#include <deque>
#include <optional>

namespace mgw {

/// Hands out pairs from the low end of the range, round robin, so that a pair just released comes
/// last; besides, a released pair rests for the quarantine before it is used again, so that late
/// packets of the old call meet a closed port. Control thread only.
class PortPool {
 public:
  /// `first` even, `last` odd, `first` < `last`.
  PortPool(std::uint16_t first, std::uint16_t last, io::Duration quarantine);

  /// The next free pair's RTP port; empty when all are in use or resting.
  [[nodiscard]] std::optional<std::uint16_t> acquire(io::TimePoint now);
  /// Takes this very pair; false if it is not in the range, or not free.
  [[nodiscard]] bool claim(std::uint16_t rtp_port);
  /// The pair's sockets are closed, or it could not be bound because somebody else has it: it
  /// rests, then is free.
  void release(std::uint16_t rtp_port, io::TimePoint now);
  /// Whether the pair with this RTP port is given out or rests.
  [[nodiscard]] bool is_out(std::uint16_t rtp_port) const noexcept;
  /// Pairs in the range.
  [[nodiscard]] std::size_t total() const noexcept { return free_.size(); }
  /// Pairs given out and not yet released.
  [[nodiscard]] std::size_t used() const noexcept { return used_; }

 private:
  struct Resting {
    io::TimePoint until;
    std::size_t pair;
  };

  [[nodiscard]] std::size_t pair_of(std::uint16_t rtp_port) const noexcept;

  std::uint16_t first_;
  io::Duration quarantine_;
  FreeSet free_;
  std::deque<Resting> resting_;  // at most one entry per pair, in order of time
  std::size_t cursor_ = 0;
  std::size_t used_ = 0;
};

}  // namespace mgw
