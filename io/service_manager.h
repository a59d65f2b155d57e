#pragma once
// The service manager that may have started the program, systemd above all: what it is told of the
// program's state (sd_notify(3)), the descriptors that it passes (sd_listen_fds(3)), and how often
// it wants to hear that the program is alive (sd_watchdog_enabled(3)). Without one nothing here
// does anything. One object per program, of the main thread.

#include "io/time.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace io {

/// See above. Main thread only.
class ServiceManager {
 public:
  /// A descriptor that was passed, open and close-on-exec, until somebody takes it.
  struct PassedDescriptor {
    std::string name;  ///< FileDescriptorName= of its unit, or that it was stored under
    int descriptor = -1;
  };

  /// Takes over what the environment says of this process: NOTIFY_SOCKET, LISTEN_FDS,
  /// WATCHDOG_USEC. To be made before there are other threads.
  ServiceManager();
  ServiceManager(const ServiceManager&) = delete;
  ServiceManager& operator=(const ServiceManager&) = delete;
  ServiceManager(ServiceManager&&) = delete;
  ServiceManager& operator=(ServiceManager&&) = delete;
  /// Closes the descriptors that nobody took.
  ~ServiceManager();

  /// Whether there is one that listens.
  [[nodiscard]] bool is_present() const noexcept { return present_; }
  /// It kills the program when it was not fed for so long; zero: it does not.
  [[nodiscard]] Duration watchdog_timeout() const noexcept { return watchdog_timeout_; }

  /// Descriptors that nobody has taken yet, in the order in which they were passed.
  [[nodiscard]] const std::vector<PassedDescriptor>& passed() const noexcept { return passed_; }
  /// Hands the first one of that name over to the caller, who closes it.
  [[nodiscard]] std::optional<int> take(std::string_view name);
  /// Closes the others; returns their names.
  std::vector<std::string> close_rest();

  /// The program serves; also the end of reloading().
  void ready() noexcept;
  /// The configuration is being read anew.
  void reloading() noexcept;
  /// The program ends.
  void stopping() noexcept;
  /// A start or stop that is under way may take so much longer, from now on.
  void extend_timeout(Duration more) noexcept;
  /// The program is alive. At least each half of watchdog_timeout().
  void feed_watchdog() noexcept;
  /// Has a socket kept under a name while the program does not run (FDSTORE); it is passed to the
  /// next one that does. Whether that was asked for; it may have no room.
  bool store(const std::string& name, int descriptor) noexcept;
  /// What is kept under that name is not to be kept any more.
  void forget(const std::string& name) noexcept;
  /// Another process serves from now on.
  void main_process(int process) noexcept;
  /// One line for the operator, as `systemctl status` shows it.
  void status(std::string_view line) noexcept;

 private:
  bool present_ = false;
  Duration watchdog_timeout_{0};
  std::vector<PassedDescriptor> passed_;
};

}  // namespace io
