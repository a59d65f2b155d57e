#pragma once
// Whether there is room for another connection: the limits that the operator set, and what the
// gateway sees of its own load. Calls that are up are never harmed: only what makes connections is
// refused, with the code that RFC 3435 section 2.4 has for it.

#include "conf/config.h"
#include "io/counter.h"
#include "io/log.h"
#include "io/time.h"
#include "mgcp/response_code.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace mgw {

struct Connection;

/// Why connections, or agents, were refused.
enum class LimitCause : std::uint8_t {
  connections,   ///< limits.connections
  bandwidth,     ///< limits.bandwidth-kbps
  cpu,           ///< limits.cpu-percent
  backlog,       ///< commands wait on the MGCP socket
  worker_queue,  ///< commands wait at the worker
  agent_rate,    ///< mgcp.rate-limit, answered
  agent_flood,   ///< the same, not answered any more
};
inline constexpr std::size_t kLimitCauses = 7;

/// The cause as in metrics and logs, for example "agent_rate".
[[nodiscard]] constexpr std::string_view to_string(LimitCause cause) noexcept {
  constexpr std::array<std::string_view, kLimitCauses> kNames = {
      "connections", "bandwidth", "cpu", "backlog", "worker_queue", "agent_rate", "agent_flood"};
  return kNames[static_cast<std::size_t>(cause)];
}

/// Written by the control thread, read by any.
struct LimitCounters {
  std::array<io::Counter, kLimitCauses> refused;
  io::Counter bandwidth_bps;  ///< gauge: what the connections need by their codecs
  io::Counter media_loops;    ///< legs whose media would have come back to themselves
};

/// What a connection needs in each direction by its selected codec and packet duration, headers of
/// RTP, UDP and IPv4 included, bit/s; codecs that are not known here count as G.711.
[[nodiscard]] std::uint64_t bandwidth_bps(const Connection& connection);

/// See above. Control thread only.
class Admission {
 public:
  /// How long the MGCP socket may be read without being emptied: agents repeat commands after half
  /// a second, and from then on a backlog feeds itself.
  static constexpr io::Duration kBacklogMax = std::chrono::milliseconds(250);

  /// Both must outlive it.
  Admission(const conf::Config& config, LimitCounters& counters) noexcept
      : config_(config), counters_(counters) {}

  /// What is known about a connection that is asked for.
  struct Candidate {
    bool new_call = false;  ///< on a free endpoint: no call that is up needs it
    std::uint32_t worker = 0;
    bool worker_has_room = true;
    std::uint64_t connections = 0;  ///< that exist
    std::uint64_t bandwidth_bps = 0;
  };
  /// Empty: there is room. Else what the agent is to be told; counted and, once a second, logged.
  [[nodiscard]] std::optional<mgcp::ProtocolError> check(const Candidate& candidate,
                                                         io::TimePoint now);
  /// Counts what another limit refused, and logs it once a second.
  void note(LimitCause cause, io::TimePoint now);

  /// A connection is new or has another codec: its share of the sum of bandwidths is set.
  void update(Connection& connection) noexcept;
  /// It is gone.
  void remove(const Connection& connection) noexcept;

  /// CPU time that each worker has used so far. About once a second.
  void on_cpu_times(std::span<const io::Duration> used, io::TimePoint now);
  /// The MGCP socket was read; whether nothing waits on it.
  void on_burst_end(bool emptied, io::TimePoint now) noexcept;

 private:
  struct WorkerLoad {
    io::Duration used{};
    std::uint32_t percent = 0;  ///< smoothed over some seconds
  };

  [[nodiscard]] std::optional<LimitCause> reached(const Candidate& candidate,
                                                  io::TimePoint now) const noexcept;

  const conf::Config& config_;
  LimitCounters& counters_;
  std::vector<WorkerLoad> workers_;
  std::optional<io::TimePoint> measured_at_;
  std::optional<io::TimePoint> backlog_since_;
  std::array<io::LogLimiter, kLimitCauses> log_limiters_;
};

}  // namespace mgw
