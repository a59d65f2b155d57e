#pragma once
// A record of each call when it has ended: its legs with what they counted and how they sounded,
// and why it ended. What is written where is RecordSink's business.

#include "io/time.h"
#include "mgw/gateway_snapshot.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace mgw {

/// Why a leg, and with the last one its call, ended.
enum class EndReason : std::uint8_t {
  deleted,         ///< DLCX
  restarted,       ///< RSIP of the call agent
  replaced,        ///< a CRCX of another call took the endpoint (force-realloc)
  timed_out,       ///< no media and no command for connection-timeout
  by_operator,     ///< VTY or CTRL
  drain_deadline,  ///< draining took too long
  shutdown,        ///< the gateway ended
};

/// The reason as it stands in records.
[[nodiscard]] std::string_view to_string(EndReason reason) noexcept;

/// Sets a reason for as long as it exists. Control thread only.
class EndReasonScope {
 public:
  EndReasonScope(EndReason& current, EndReason reason) noexcept
      : current_(current), former_(std::exchange(current, reason)) {}
  EndReasonScope(const EndReasonScope&) = delete;
  EndReasonScope& operator=(const EndReasonScope&) = delete;
  EndReasonScope(EndReasonScope&&) = delete;
  EndReasonScope& operator=(EndReasonScope&&) = delete;
  ~EndReasonScope() { current_ = former_; }

 private:
  EndReason& current_;
  EndReason former_;
};

/// Where records go.
class RecordSink {
 public:
  RecordSink() = default;
  RecordSink(const RecordSink&) = delete;
  RecordSink& operator=(const RecordSink&) = delete;
  RecordSink(RecordSink&&) = delete;
  RecordSink& operator=(RecordSink&&) = delete;
  virtual ~RecordSink() = default;
  /// Takes a record: one JSON object without line end. Never waits.
  virtual void take(std::string record) = 0;
};

/// See above. Control thread only. A leg's numbers are final only when its worker has handed it
/// back, so a record leaves when the call's last leg has come.
class CallRecorder {
 public:
  /// Legs that a record names one by one. More come and go in a call only if something is wrong.
  static constexpr std::size_t kLegsMax = 16;

  /// `clock` and `sink` must outlive it.
  CallRecorder(const io::Clock& clock, RecordSink& sink) : clock_(clock), sink_(sink) {}

  /// A leg of endpoint `number` is taken away; its slot is in use until leg_counted().
  void leg_removed(std::uint32_t number, std::string_view name, const Endpoint& endpoint,
                   const Connection& leg, EndReason reason);
  /// The worker has handed the leg in that slot back.
  void leg_counted(std::uint32_t worker, std::uint32_t slot, const ConnectionCounters& counters);
  /// The endpoint is free: the call has ended.
  void call_ended(std::uint32_t number);
  /// Records a call that is up as it stands, since the gateway ends.
  void record_as_is(const CallSnapshot& call, EndReason reason);

 private:
  /// A call of which legs have ended.
  struct OpenRecord {
    CallSnapshot call;
    std::vector<io::TimePoint> ended;  ///< by leg
    std::uint64_t omitted = 0;         ///< legs that are not named
    std::size_t uncounted = 0;
    EndReason reason = EndReason::deleted;  ///< of the last leg that ended
    io::TimePoint started{};
    bool is_over = false;
  };

  void write_if_whole(const OpenRecord& record);
  void write(const OpenRecord& record);

  const io::Clock& clock_;
  RecordSink& sink_;
  std::unordered_map<std::uint32_t, std::shared_ptr<OpenRecord>> open_;  // by endpoint number
  /// By worker and slot: the record, and the leg's position in it.
  std::map<std::pair<std::uint32_t, std::uint32_t>,
           std::pair<std::shared_ptr<OpenRecord>, std::size_t>>
      waiting_;
};

}  // namespace mgw
