#pragma once
// When which stream has to send: every stream exactly once per period, at its own phase, against
// absolute instants, so that lateness never accumulates. No clock of its own.

#include "io/time.h"

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
  std::uint32_t sequence = 0;  ///< how many this stream has sent before
  io::TimePoint due;           ///< when it should leave
};

/// The timetable of all streams. Each stream gets `rounds` packets.
class PacingSchedule {
 public:
  /// `streams` and `rounds` over 0. `seed` matters for PhasePlan::random only.
  PacingSchedule(std::uint32_t streams, std::uint32_t rounds, io::Duration period, PhasePlan plan,
                 std::uint32_t seed);

  /// Sets the instant of the first packet with phase 0.
  void start(io::TimePoint start) noexcept { start_ = start; }
  /// When the next packet is due; io::kNever after the last one.
  [[nodiscard]] io::TimePoint next_due() const noexcept;
  /// Takes the next packet if it is due at `now`. Packets come in the order of their instants.
  [[nodiscard]] bool take_due(io::TimePoint now, DuePacket& packet) noexcept;
  /// True when every stream has had all its packets.
  [[nodiscard]] bool finished() const noexcept { return round_ == rounds_; }
  /// How many packets of `stream` were taken.
  [[nodiscard]] std::uint32_t taken(std::uint32_t stream) const noexcept;

 private:
  struct Slot {
    io::Duration phase{};
    std::uint32_t stream = 0;
  };

  io::Duration period_;
  std::uint32_t rounds_;
  std::vector<Slot> slots_;             // by phase
  std::vector<std::uint32_t> slot_of_;  // by stream
  io::TimePoint start_{};
  std::uint32_t round_ = 0;
  std::uint32_t next_slot_ = 0;
};

}  // namespace rtpload
