#pragma once
// The gateway's answer, for people and for scripts. Pure functions.

#include "io/time.h"

#include <string>
#include <string_view>

namespace mgwctl {

/// Aligned lines: what the answer says, with address and codecs taken from its SDP. A text that is
/// no MGCP response is shown as it is.
[[nodiscard]] std::string answer_text(std::string_view message);

/// One JSON object with everything that the answer says, and a line end.
[[nodiscard]] std::string answer_json(std::string_view message, io::Duration round_trip);

/// One JSON object for a datagram that may hold anything, with its code if it is a response, and a
/// line end.
[[nodiscard]] std::string raw_json(std::string_view datagram, io::Duration round_trip);

/// One JSON object that says what went wrong, and a line end.
[[nodiscard]] std::string error_json(std::string_view error);

/// The exit status for an answer: 0 for 2xx, 1 for every other code, 2 if it is no response.
[[nodiscard]] int exit_status(std::string_view message);

}  // namespace mgwctl
