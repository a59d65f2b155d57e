#include "io/service_manager.h"

#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <utility>

namespace io {

namespace {

/// A service manager that does not listen is not worth a failure: the result is of no use.
void tell(const char* assignments) noexcept {
  static_cast<void>(sd_notify(0, assignments));
}

}  // namespace

ServiceManager::ServiceManager() : present_(std::getenv("NOTIFY_SOCKET") != nullptr) {
  std::uint64_t timeout_us = 0;
  if (sd_watchdog_enabled(1, &timeout_us) > 0) {
    watchdog_timeout_ = std::chrono::microseconds(timeout_us);
  }
  char** names = nullptr;
  const int count = sd_listen_fds_with_names(1, &names);
  for (int i = 0; i < count; ++i) {
    passed_.push_back({names[i], SD_LISTEN_FDS_START + i});
    std::free(names[i]);
  }
  std::free(names);
}

ServiceManager::~ServiceManager() {
  static_cast<void>(close_rest());
}

std::optional<int> ServiceManager::take(std::string_view name) {
  const auto found = std::ranges::find(passed_, name, &PassedDescriptor::name);
  if (found == passed_.end()) {
    return std::nullopt;
  }
  const int descriptor = found->descriptor;
  passed_.erase(found);
  return descriptor;
}

std::vector<std::string> ServiceManager::close_rest() {
  std::vector<std::string> names;
  for (PassedDescriptor& passed : std::exchange(passed_, {})) {
    ::close(passed.descriptor);
    names.push_back(std::move(passed.name));
  }
  return names;
}

void ServiceManager::ready() noexcept {
  tell("READY=1");
}

void ServiceManager::reloading() noexcept {
  // With the time, so that the READY=1 of an earlier reload is not taken for that of this one
  // (Type=notify-reload of systemd 253 and later).
  static_cast<void>(
      sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%lld",
                 static_cast<long long>(std::chrono::duration_cast<std::chrono::microseconds>(
                                            std::chrono::steady_clock::now().time_since_epoch())
                                            .count())));
}

void ServiceManager::stopping() noexcept {
  tell("STOPPING=1");
}

void ServiceManager::extend_timeout(Duration more) noexcept {
  const auto microseconds = std::chrono::duration_cast<std::chrono::microseconds>(more).count();
  tell(("EXTEND_TIMEOUT_USEC=" + std::to_string(microseconds)).c_str());
}

void ServiceManager::feed_watchdog() noexcept {
  tell("WATCHDOG=1");
}

void ServiceManager::status(std::string_view line) noexcept {
  // A line break would begin another assignment.
  const std::string_view first = line.substr(0, line.find('\n'));
  static_cast<void>(sd_notifyf(0, "STATUS=%.*s", static_cast<int>(first.size()), first.data()));
}

bool ServiceManager::store(const std::string& name, int descriptor) noexcept {
  // Without FDPOLL=0 an ICMP error, which polls as an error, would end the keeping.
  const std::string text = "FDSTORE=1\nFDPOLL=0\nFDNAME=" + name;
  return sd_pid_notify_with_fds(0, 0, text.c_str(), &descriptor, 1) > 0;
}

void ServiceManager::forget(const std::string& name) noexcept {
  tell(("FDSTOREREMOVE=1\nFDNAME=" + name).c_str());
}

void ServiceManager::main_process(int process) noexcept {
  tell(("MAINPID=" + std::to_string(process)).c_str());
}

}  // namespace io
