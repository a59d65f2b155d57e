#pragma once
// How an E1 line is: written by the worker that has it, read by the control thread, which refuses
// calls on a line that is away and tells operators, and by metrics.

#include "io/counter.h"

#include <cstdint>
#include <string_view>

namespace mgw {

/// Whether a line can carry calls, and why not.
enum class E1LineState : std::uint8_t {
  up,
  connecting,     ///< its server has not answered yet
  unreachable,    ///< there is no server, or it does not answer, or not in our protocol
  absent,         ///< the server has no such line
  unchannelised,  ///< the line is switched off or not divided into time slots
  alarm,          ///< the server tells of a fault of the line
};

/// What the state is, for logs and answers.
[[nodiscard]] constexpr std::string_view to_string(E1LineState state) noexcept {
  switch (state) {
    case E1LineState::up:
      return "the line is up";
    case E1LineState::connecting:
      return "the line's driver is connecting";
    case E1LineState::unreachable:
      return "the line's driver is not reachable";
    case E1LineState::absent:
      return "the driver has no such line";
    case E1LineState::unchannelised:
      return "the driver does not divide the line into time slots";
    case E1LineState::alarm:
      return "the line has an alarm";
  }
  return "";
}

/// See above. One writer thread.
struct E1LineStatus {
  io::Counter state;             ///< gauge: an E1LineState
  io::Counter losses;            ///< times that it went away after it had been up
  io::Counter open_timeslots;    ///< gauge: those with calls
  io::Counter refused;           ///< gauge: bit n: the driver does not give us time slot n
  io::Counter discarded_blocks;  ///< 20 ms of a time slot that the driver did not take

  [[nodiscard]] E1LineState line_state() const noexcept {
    return static_cast<E1LineState>(state.value());
  }
};

}  // namespace mgw
