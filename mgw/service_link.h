#pragma once
// What the gateway tells the service manager that runs it: that it serves, reloads and ends, a line
// about its calls, and that it is alive, which it is while the control thread and every worker make
// progress.

#include "io/service_manager.h"
#include "io/time.h"
#include "mgw/call_control.h"
#include "mgw/progress_watch.h"
#include "mgw/worker_pool.h"

#include <cstddef>
#include <optional>
#include <string>

namespace mgw {

/// See above. Control thread only.
class ServiceLink {
 public:
  /// All must outlive it.
  ServiceLink(io::ServiceManager& manager, WorkerPool& workers, const CallControl& control)
      : manager_(manager), workers_(workers), control_(control) {}

  /// How often on_heartbeat() has to be called; zero: not at all, as nobody watches.
  [[nodiscard]] io::Duration heartbeat_interval() const noexcept;
  /// Feeds the watchdog if all workers have made progress since the last call.
  void on_heartbeat();
  /// Tells how many calls there are, if that has changed. About once a second.
  void on_tick();

  /// All sockets are open.
  void ready();
  /// The configuration is being read anew; ready() ends that.
  void reloading();
  /// How the last reload went, for the status line; empty: well.
  void remember(std::string reload_failure);
  /// No more calls are served.
  void stopping();

 private:
  [[nodiscard]] std::string status() const;
  void tell_status();

  io::ServiceManager& manager_;
  WorkerPool& workers_;
  const CallControl& control_;
  ProgressWatch watch_;
  std::optional<std::size_t> stuck_;
  std::string reload_failure_;
  std::string told_;
};

}  // namespace mgw
