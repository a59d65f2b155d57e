#pragma once
// Timers of one thread, driven from outside: nobody here reads a clock.

#include "io/time.h"

#include <cstdint>
#include <vector>

namespace io {

/// A min-heap of (instant, what). Owner thread only. Arming is O(log n), reading the next expiry
/// O(1). Timers are not cancelled: the owner checks with `key` and `generation` whether a fired
/// timer still means something.
class TimerQueue {
 public:
  /// An entry: when it is due, and what the owner knows it by.
  struct Timer {
    TimePoint at;
    std::uint64_t key = 0;  ///< the owner's meaning, e.g. kind and index
    std::uint32_t generation = 0;
  };

  /// Room for so many timers without allocating.
  void reserve(std::size_t timers) { heap_.reserve(timers); }
  /// Arms a timer.
  void arm(TimePoint at, std::uint64_t key, std::uint32_t generation);
  /// The earliest instant, kNever if there is none.
  [[nodiscard]] TimePoint next_expiry() const noexcept;
  /// Takes one timer that is due at `now`; false if none is. Timers of the same instant come in the
  /// order of arming.
  [[nodiscard]] bool take_due(TimePoint now, Timer& timer) noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return heap_.size(); }

 private:
  struct Entry {
    Timer timer;
    std::uint64_t order = 0;
  };
  std::vector<Entry> heap_;
  std::uint64_t armed_ = 0;
};

}  // namespace io
