#include "mgw/successor_process.h"

#include "io/log.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

namespace mgw {

namespace {

using io::LogCategory;
using io::LogLevel;

constexpr std::string_view kTakeOver = "--take-over";
/// Of a process whose program can't be run, as of a shell's.
constexpr int kExitNotStarted = 127;

/// As the kernel has them, each ended by a zero.
std::vector<std::string> own_arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> arguments;
  for (std::string argument; std::getline(file, argument, '\0');) {
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

/// The environment; what sd_watchdog_enabled(3) has taken out of it is there again.
std::vector<std::string> successor_environment(io::Duration watchdog_timeout) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    environment.emplace_back(*entry);
  }
  if (watchdog_timeout > io::Duration::zero()) {
    environment.push_back(
        "WATCHDOG_USEC=" +
        std::to_string(
            std::chrono::duration_cast<std::chrono::microseconds>(watchdog_timeout).count()));
  }
  return environment;
}

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& string : strings) {
    pointers.push_back(string.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

/// In the new process: nothing but standard streams and no blocked signals go over. Only what is
/// safe in the copy of a process with threads.
[[noreturn]] void become(const std::vector<char*>& arguments,
                         const std::vector<char*>& environment) noexcept {
  ::closefrom(STDERR_FILENO + 1);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execvpe(arguments.front(), arguments.data(), environment.data());
  ::_exit(kExitNotStarted);
}

/// A sibling of this process, not a child: systemd waits at a stop only for a main process that was
/// its own child when it heard of it, others are killed at once. -1 with errno: none.
pid_t spawn(std::vector<std::string> arguments, std::vector<std::string> environment) {
  const std::vector<char*> argument_pointers = pointers_to(arguments);
  const std::vector<char*> environment_pointers = pointers_to(environment);
  const long process = ::syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
  if (process == 0) {
    become(argument_pointers, environment_pointers);
  }
  return static_cast<pid_t>(process);
}

/// Whether it is there; one that has ended and was not yet waited for is not.
bool runs(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(") ");
  return name_end != std::string::npos && line[name_end + 2] != 'Z';
}

}  // namespace

std::vector<std::string> successor_arguments(std::vector<std::string> own) {
  if (std::ranges::find(own, kTakeOver) == own.end()) {
    own.emplace_back(kTakeOver);
  }
  return own;
}

void SuccessorProcess::start(io::Duration watchdog_timeout) {
  on_tick();
  if (process_ != 0) {
    io::log(LogLevel::error, LogCategory::lglobal, "the successor, process {}, is still under way",
            process_);
    return;
  }
  std::vector<std::string> own = own_arguments();
  if (own.empty()) {
    io::log(LogLevel::error, LogCategory::lglobal,
            "no successor started: /proc/self/cmdline can't be read");
    return;
  }
  const std::string program = own.front();
  const pid_t process =
      spawn(successor_arguments(std::move(own)), successor_environment(watchdog_timeout));
  if (process < 0) {
    const std::error_code error(errno, std::generic_category());
    io::log(LogLevel::error, LogCategory::lglobal,
            "no successor started, the calls go on here: {}: {}", program, error.message());
    return;
  }
  process_ = process;
  io::log(LogLevel::notice, LogCategory::lglobal, "{} is started as successor, process {}", program,
          process_);
}

void SuccessorProcess::on_tick() {
  if (process_ == 0 || runs(process_)) {
    return;
  }
  io::log(LogLevel::error, LogCategory::lglobal,
          "the successor, process {}, has ended, the calls go on here", process_);
  process_ = 0;
}

}  // namespace mgw
