#pragma once
// The gateway goes out of service without losing a call: new calls are refused, those that are up
// go on, agents are told (AUEP, RSIP), and the gateway ends when the last one is over or at a
// deadline.

#include "io/time.h"

#include <chrono>
#include <optional>

namespace mgw {

class CallControl;
class RestartNotifier;

/// How a drain goes on.
struct DrainOrder {
  bool ends = false;  ///< the gateway ends with the last call
  /// After that time the calls that are left are ended; empty: they are waited for. Only with
  /// `ends`.
  std::optional<std::chrono::seconds> deadline = {};
  bool by_signal = false;
};

/// See above. Control thread only.
class DrainControl {
 public:
  /// How long the workers may take for the connections that are ended at the deadline.
  static constexpr io::Duration kClosingMax = std::chrono::seconds(2);

  /// All must outlive it.
  DrainControl(CallControl& control, RestartNotifier& notifier, const io::Clock& clock) noexcept
      : control_(control), notifier_(notifier), clock_(clock) {}

  /// Begins to drain, or goes on as the new order says. RSIP says graceful, with the deadline as
  /// its delay (RFC 3435 section 2.3.12).
  void begin(const DrainOrder& order);
  /// New calls are taken again; RSIP says cancel-graceful. Does nothing if none is under way.
  void cancel();
  /// True if the gateway is to end now: it is drained, or time was up and what was left is closed.
  /// Ends what is left at the deadline. To be called about once a second, and after connections
  /// went.
  [[nodiscard]] bool is_over();

  [[nodiscard]] bool active() const noexcept { return active_; }
  [[nodiscard]] bool ends() const noexcept { return order_.ends; }
  [[nodiscard]] bool by_signal() const noexcept { return order_.by_signal; }
  /// Time was up: what was left is ended, and the agent was told.
  [[nodiscard]] bool timed_out() const noexcept { return closing_since_.has_value(); }
  /// Until the deadline, if there is one.
  [[nodiscard]] std::optional<std::chrono::seconds> remaining() const;

 private:
  void end_calls(io::TimePoint now);

  CallControl& control_;
  RestartNotifier& notifier_;
  const io::Clock& clock_;
  bool active_ = false;
  DrainOrder order_;
  io::TimePoint deadline_ = io::kNever;
  std::optional<io::TimePoint> closing_since_;
};

}  // namespace mgw
