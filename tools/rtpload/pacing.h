#pragma once
// When which stream has to send: every stream exactly once per period, at its own phase, against
// absolute instants, so that lateness never accumulates. No clock of its own.

#include "io/time.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace rtpload {

/// How the streams are spread over the period.
enum class PhasePlan : std::uint8_t {
  even,    ///< at equal distances
  random,  ///< anywhere, as with independent phones
  bursts,  ///< 64 at a time, as behind one trunk
};

/// "even", "random" or "bursts"; empty for other words.
[[nodiscard]] std::optional<PhasePlan> find_phase_plan(std::string_view name) noexcept;

/// One packet that has to leave.
struct DuePacket {
  std::uint32_t stream = 0;
  std::uint32_t sequence = 0;  ///< how many packets of this stream were taken before
  io::TimePoint due;           ///< when it should leave
};

/// The timetable of all streams. Each stream gets `rounds` instants, and a packet at each of them
/// unless it is missed.
class PacingSchedule {
 public:
  /// `streams` and `rounds` over 0. `seed` matters for PhasePlan::random only.
  PacingSchedule(std::uint32_t streams, std::uint32_t rounds, io::Duration period, PhasePlan plan,
                 std::uint32_t seed);

  /// Sets the instant of the first packet with phase 0.
  void start(io::TimePoint start) noexcept { start_ = start; }
  /// From now on, when an instant is found to be further back than this, it and all others that
  /// are over by then are missed: they get no packet, and each stream goes on at its next instant.
  /// Without a limit every packet leaves, however late, so that after a pause all that was due
  /// comes in one burst.
  void skip_later_than(io::Duration limit) noexcept { limit_ = limit; }
  /// When the next packet is due; io::kNever after the last instant.
  [[nodiscard]] io::TimePoint next_due() const noexcept;
  /// Takes the next packet if it is due at `now`. Packets come in the order of their instants.
  [[nodiscard]] bool take_due(io::TimePoint now, DuePacket& packet) noexcept;
  /// True when every stream has had all its instants.
  [[nodiscard]] bool finished() const noexcept { return round_ == rounds_; }
  /// How many packets of `stream` were taken.
  [[nodiscard]] std::uint32_t taken(std::uint32_t stream) const noexcept { return taken_[stream]; }
  /// How many instants of all streams were missed.
  [[nodiscard]] std::uint64_t missed() const noexcept { return missed_; }

 private:
  void skip_missed(io::TimePoint now) noexcept;
  void next_slot() noexcept;

  struct Slot {
    io::Duration phase{};
    std::uint32_t stream = 0;
  };

  io::Duration period_;
  std::uint32_t rounds_;
  std::vector<Slot> slots_;           // by phase
  std::vector<std::uint32_t> taken_;  // by stream
  io::TimePoint start_{};
  std::optional<io::Duration> limit_;
  std::uint64_t missed_ = 0;
  std::uint32_t round_ = 0;
  std::uint32_t next_slot_ = 0;
};

/// Makes up for timers that always fire late, as those of kernels without high-resolution timers,
/// which round up to a tick of some milliseconds: then the sleep ends that much earlier, and the
/// rest of the time is waited for awake. A single late wake-up, on a busy machine, changes nothing.
class WakePlan {
 public:
  /// From this lateness on timers count as coarse.
  static constexpr io::Duration kCoarse = std::chrono::microseconds(300);
  /// Never is more time than this spent awake before an instant.
  static constexpr io::Duration kAwakeMax = std::chrono::milliseconds(10);

  /// After so long without any sleep one is tried: the timers may have been coarse for a while
  /// only.
  static constexpr io::Duration kProbeInterval = std::chrono::seconds(20);
  /// So many sleeps are looked at together, and tell what the timers are like.
  static constexpr std::size_t kSleeps = 16;

  /// Until when to sleep in order to be there at `wanted`; not at all if that is not after `now`.
  [[nodiscard]] io::TimePoint sleep_end(io::TimePoint wanted, io::TimePoint now) const noexcept {
    return is_probe(now) ? wanted : wanted - early_ - variation();
  }
  /// Takes note of a sleep that began at `now`, should have ended at `planned`, ended at `woke`.
  void on_woken(io::TimePoint now, io::TimePoint planned, io::TimePoint woke) noexcept;

 private:
  // Up to as much again: sleeps that always ended at the same distance from a tick of the kernel
  // would not show how far the ticks are apart.
  [[nodiscard]] io::Duration variation() const noexcept {
    return early_ * static_cast<std::int64_t>(count_ * 7 % kSleeps) /
           static_cast<std::int64_t>(kSleeps);
  }
  [[nodiscard]] bool is_probe(io::TimePoint now) const noexcept {
    return early_ > io::Duration{} && now - last_woke_ > kProbeInterval;
  }

  std::array<io::Duration, kSleeps> late_by_{};
  std::size_t count_ = 0;
  io::Duration early_{};
  io::TimePoint last_woke_{};
};

}  // namespace rtpload
