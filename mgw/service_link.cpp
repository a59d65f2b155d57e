#include "mgw/service_link.h"

#include "io/log.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

namespace mgw {

namespace {

/// Heartbeats within the time that the service manager waits: one that finds a busy worker in the
/// middle of a pass has three more before the gateway counts as dead.
constexpr int kHeartbeatsPerTimeout = 4;

/// How long a stop may still take, told each second of a drain: one that was asked for with SIGTERM
/// lasts as long as its deadline says, not as long as the unit's TimeoutStopSec.
constexpr std::chrono::seconds kDrainAllowance{15};

}  // namespace

io::Duration ServiceLink::heartbeat_interval() const noexcept {
  return manager_.watchdog_timeout() / kHeartbeatsPerTimeout;
}

void ServiceLink::on_heartbeat() {
  std::vector<std::uint64_t> passes;
  for (const WorkerView& worker : workers_.views()) {
    passes.push_back(worker.backend->passes.value());
  }
  const auto stuck = watch_.stuck_worker(passes);
  if (!stuck) {
    manager_.feed_watchdog();
  }
  if (stuck && !stuck_) {
    io::log(io::LogLevel::error, io::LogCategory::lglobal,
            "worker {} makes no progress: the watchdog is not fed", *stuck);
  } else if (stuck_ && !stuck) {
    io::log(io::LogLevel::notice, io::LogCategory::lglobal, "all workers make progress again");
  }
  if (std::exchange(stuck_, stuck) != stuck) {
    tell_status();
  }
  workers_.wake_all();
}

void ServiceLink::on_tick() {
  if (manager_.is_present() && control_.draining()) {
    manager_.extend_timeout(kDrainAllowance);
  }
  tell_status();
}

void ServiceLink::ready() {
  manager_.ready();
  tell_status();
}

void ServiceLink::reloading() {
  manager_.reloading();
}

void ServiceLink::remember(std::string reload_failure) {
  reload_failure_ = std::move(reload_failure);
}

void ServiceLink::stopping() {
  manager_.stopping();
  manager_.status("stopping");
}

std::string ServiceLink::status() const {
  if (stuck_) {
    return fmt::format("worker {} makes no progress", *stuck_);
  }
  std::string line =
      fmt::format("{} connections, {} workers{}", control_.counters().connections.value(),
                  workers_.workers(), control_.draining() ? ", draining" : "");
  if (!reload_failure_.empty()) {
    line += fmt::format("; configuration not reloaded: {}", reload_failure_);
  }
  return line;
}

void ServiceLink::tell_status() {
  if (!manager_.is_present()) {
    return;
  }
  std::string line = status();
  if (line != told_) {
    manager_.status(line);
    told_ = std::move(line);
  }
}

}  // namespace mgw
