#pragma once
// Time as the whole gateway sees it: nanoseconds on the monotonic clock. Nothing below mgw/ and the
// backends reads a clock; everyone else is handed a TimePoint, so whole calls run on virtual time
// in tests.

#include <chrono>

namespace io {

/// A length of time in nanoseconds.
using Duration = std::chrono::nanoseconds;

/// An instant on the monotonic clock (CLOCK_MONOTONIC), or on virtual time in a simulation.
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;

/// Later than every real instant: "no deadline".
inline constexpr TimePoint kNever = TimePoint::max();

/// Where the time comes from. One implementation reads the kernel's clock, one is moved by the
/// simulation.
class Clock {
 public:
  Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  Clock(Clock&&) = delete;
  Clock& operator=(Clock&&) = delete;
  virtual ~Clock() = default;

  /// The present instant. May be called from any thread. Never goes back.
  [[nodiscard]] virtual TimePoint now() const noexcept = 0;
  /// What the wall clock (the time since 1970, UTC) is ahead of now(). It changes when somebody
  /// sets the clock. A simulation has its own time for wall clock time: 0. May be called from any
  /// thread.
  [[nodiscard]] virtual Duration wall_clock_offset() const noexcept { return Duration::zero(); }
};

/// CLOCK_MONOTONIC.
class MonotonicClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const noexcept override {
    return std::chrono::time_point_cast<Duration>(std::chrono::steady_clock::now());
  }
  [[nodiscard]] Duration wall_clock_offset() const noexcept override {
    const auto wall = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<Duration>(wall) - now().time_since_epoch();
  }
};

}  // namespace io
