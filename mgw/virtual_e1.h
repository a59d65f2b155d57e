#pragma once
// E1 lines in memory: what is sent on a time slot comes back on it, or on the one that it is wired
// to, 20 ms later. For tests, demonstrations and call agents that are tried without hardware.

#include "conf/config.h"
#include "mgw/e1_line.h"

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace mgw {

/// The lines and their wiring. The drivers of all its lines share it and live on one worker.
class VirtualE1 {
 public:
  /// `bit_errors_ppm` of a million bits sent are inverted, at random but in the same places in each
  /// run.
  VirtualE1(std::size_t lines, conf::E1Wiring wiring, std::uint32_t bit_errors_ppm);

  /// The driver of line number `line` from 0 on; `lines` keeps the wiring alive.
  [[nodiscard]] static std::unique_ptr<E1Driver> make_driver(std::shared_ptr<VirtualE1> lines,
                                                             std::size_t line);

 private:
  class Driver;
  struct Timeslot {
    E1Block waiting{};  // on its way to this time slot
    bool has_waiting = false;
    bool open = false;
    bool taken = false;  // the block of this interval has been received
  };

  [[nodiscard]] Timeslot& at(std::size_t line, std::uint8_t timeslot) noexcept {
    return lines_[line][timeslot];
  }
  /// The time slot that hears what is sent on this one.
  [[nodiscard]] Timeslot& far_end(std::size_t line, std::uint8_t timeslot) noexcept;
  void damage(E1Block& block) noexcept;

  std::vector<std::array<Timeslot, kE1Timeslots>> lines_;
  conf::E1Wiring wiring_;
  std::uint32_t bit_errors_ppm_;
  std::uint64_t random_ = 1;
};

}  // namespace mgw
