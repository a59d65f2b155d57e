#pragma once
// The command line of mgwctl.

#include "io/socket_address.h"
#include "io/time.h"
#include "tools/mgwctl/command.h"
#include "tools/mgwctl/drain.h"
#include "tools/mgwctl/top.h"

#include <cstdint>
#include <string>
#include <variant>

namespace mgwctl {

/// Exit statuses.
inline constexpr int kExitGood = 0;
inline constexpr int kExitRefused = 1;   ///< the gateway answered with an error code
inline constexpr int kExitNoAnswer = 2;  ///< no answer, or wrong usage

/// What is to be done.
enum class Action : std::uint8_t { command, raw, status, top, convert, drain, undrain };

/// Everything that can be said on the command line.
struct Options {
  io::SocketAddress gateway;
  io::Duration timeout = std::chrono::milliseconds(5000);
  bool json = false;
  Action action = Action::command;
  Command command;
  std::string raw_message;  ///< empty or "-": from standard input
  std::string metrics = "127.0.0.1:9747";
  DrainOptions drain;
  TopOptions top;            ///< Action::top, but for `metrics`, `timeout` and `json`
  std::string convert_from;  ///< the configuration file to convert
  std::string convert_to;    ///< empty or "-": to standard output
};

/// Reads the command line. An exit status instead of options if there is nothing left to do: after
/// --help, or after an error that was printed.
[[nodiscard]] std::variant<Options, int> parse_command_line(int count,
                                                            const char* const* arguments);

}  // namespace mgwctl
