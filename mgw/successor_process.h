#pragma once
// The running gateway starts its own successor (SIGUSR2): the program as it is installed now, with
// the arguments of this process and --take-over. It is within the same control group and
// sandbox, without which a service manager would not have it as the service's main process.

#include "io/time.h"

#include <sys/types.h>

#include <string>
#include <vector>

namespace mgw {

/// See above. Control thread only.
class SuccessorProcess {
 public:
  /// Starts it, unless one is under way, and says so in the log; a failure is logged too and
  /// changes nothing. `watchdog_timeout`: what the service manager waits for signs of life;
  /// zero: it does not.
  void start(io::Duration watchdog_timeout);
  /// Tells the operator when it has ended without taking over. About once a second.
  void on_tick();

 private:
  pid_t process_ = 0;  // 0: none
};

/// The arguments of the successor of a process with these: --take-over is among them once.
[[nodiscard]] std::vector<std::string> successor_arguments(std::vector<std::string> own);

}  // namespace mgw
