#include "mgw/drain_control.h"

#include "io/log.h"
#include "mgw/call_control.h"
#include "mgw/restart_notifier.h"

#include <algorithm>
#include <cstdint>

namespace mgw {

namespace {

using io::LogCategory;
using io::LogLevel;

}  // namespace

void DrainControl::begin(const DrainOrder& order) {
  const io::TimePoint now = clock_.now();
  active_ = true;
  order_ = order;
  order_.deadline = order.ends ? order.deadline : std::nullopt;
  deadline_ = order_.deadline ? now + *order_.deadline : io::kNever;
  control_.set_draining(true);
  const std::uint64_t calls = control_.calls();
  const std::uint64_t connections = control_.counters().connections.value();
  if (order_.deadline) {
    io::log(LogLevel::notice, LogCategory::lglobal,
            "{}draining {} calls with {} connections, for {} s at most",
            order.by_signal ? "SIGTERM: " : "", calls, connections, order_.deadline->count());
  } else {
    io::log(LogLevel::notice, LogCategory::lglobal, "{}draining {} calls with {} connections{}",
            order.by_signal ? "SIGTERM: " : "", calls, connections,
            order_.ends ? ", then stopping" : "");
  }
  std::optional<std::uint32_t> delay;
  if (order_.deadline) {
    delay = static_cast<std::uint32_t>(order_.deadline->count());
  }
  notifier_.notify(mgcp::RestartMethod::graceful, now, delay);
}

void DrainControl::cancel() {
  if (!active_) {
    return;
  }
  active_ = false;
  order_ = {};
  deadline_ = io::kNever;
  closing_since_.reset();
  control_.set_draining(false);
  io::log(LogLevel::notice, LogCategory::lglobal, "no longer draining: new calls are taken");
  notifier_.notify(mgcp::RestartMethod::cancel_graceful, clock_.now());
}

bool DrainControl::is_over() {
  if (!order_.ends) {
    return false;
  }
  if (control_.counters().connections.value() == 0 && control_.pending() == 0) {
    return true;
  }
  const io::TimePoint now = clock_.now();
  if (now < deadline_) {
    return false;
  }
  if (!closing_since_) {
    end_calls(now);
  }
  return now - *closing_since_ >= kClosingMax;
}

void DrainControl::end_calls(io::TimePoint now) {
  closing_since_ = now;
  io::log(LogLevel::notice, LogCategory::lglobal,
          "time is up: {} calls with {} connections are ended", control_.calls(),
          control_.counters().connections.value());
  notifier_.notify(mgcp::RestartMethod::forced, now);
  control_.free_all_endpoints();
}

std::optional<std::chrono::seconds> DrainControl::remaining() const {
  if (deadline_ == io::kNever) {
    return std::nullopt;
  }
  return std::max(std::chrono::ceil<std::chrono::seconds>(deadline_ - clock_.now()),
                  std::chrono::seconds(0));
}

}  // namespace mgw
