#pragma once
// The gateway as the VTY, CTRL and the reporters of statistics see it: what they may look at and
// what they may do. The gateway implements it. Everything here belongs to the control thread.

#include "conf/config.h"
#include "io/socket_address.h"
#include "io/time.h"

#include <tl/expected.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ttcn_compat {

/// One counter or gauge, as it stands now.
struct CounterView {
  std::string_view name;         ///< osmo-mgw's, such as "crcx:success"; a literal
  std::string_view description;  ///< for people; a literal
  std::uint64_t value = 0;
};

/// Counters that belong together, named as osmo-mgw names them.
struct CounterGroupView {
  /// Counters only grow; items are values of the moment (gauges).
  enum class Kind : std::uint8_t { counters, items };
  Kind kind = Kind::counters;
  std::string_view prefix;       ///< "crcx", "conn_rtp"; a literal
  std::string_view description;  ///< "crxc statistics"; a literal
  std::string name;              ///< "virtual-0:crcx"; empty: the group goes by its index
  std::uint32_t index = 0;
  conf::StatsLevel level = conf::StatsLevel::global;
  /// Position in trunks() of the trunk that the group is about; none: the whole gateway.
  std::optional<std::size_t> trunk;
  /// True for the group of one connection, which goes away with it.
  bool of_connection = false;
  std::span<const CounterView> counters;
};

/// Called with one group after the other; the view is valid during the call only.
using CounterGroupVisitor = std::function<void(const CounterGroupView&)>;

/// An Osmux circuit.
struct OsmuxView {
  std::string_view state;  ///< "activating", "active" (a literal), as osmo-mgw names it
  std::uint8_t local_cid = 0;
  std::optional<std::uint8_t> remote_cid;
  std::uint64_t chunks_received = 0;
  std::uint64_t octets_received = 0;
  std::uint64_t rtp_packets_encoded = 0;
  std::uint64_t amr_octets_encoded = 0;
  std::uint64_t dropped = 0;
};

/// One connection. Numbers are those of the moment.
struct ConnectionView {
  std::string call_id;
  std::string id;            ///< hexadecimal, as in MGCP
  std::string_view kind;     ///< "rtp", "osmux", "iuup" (a literal)
  io::SocketAddress remote;  ///< of RTP; family none: not known
  io::SocketAddress local;   ///< of RTP
  std::string_view mode;     ///< as in MGCP, "sendrecv" (a literal)
  bool sends = false;        ///< the mode lets media out
  /// Time to the end by conn-timeout; none without one.
  std::optional<io::Duration> remaining;
  std::uint64_t packets_sent = 0;
  std::uint64_t octets_sent = 0;
  std::uint64_t packets_received = 0;
  std::uint64_t octets_received = 0;
  std::uint64_t timestamp_errors_in = 0;
  std::uint64_t timestamp_errors_out = 0;
  std::uint64_t dropped = 0;
  std::int32_t payload_type = -1;  ///< of the selected codec; -1: none
  std::uint32_t rate_hz = 0;
  std::uint32_t channels = 0;
  std::string audio_name;  ///< "AMR/8000"
  std::string subtype;     ///< "AMR"
  std::uint32_t packet_duration_ms = 0;
  std::uint32_t force_ptime_ms = 0;
  std::optional<OsmuxView> osmux;
};

/// One endpoint with its connections, newest first.
struct EndpointView {
  std::string name;  ///< with its domain
  bool available = true;
  std::vector<ConnectionView> connections;
};

/// One trunk. Trunk 0 of trunks() is the virtual one, those of E1 lines follow.
struct TrunkView {
  bool is_virtual = true;
  std::uint32_t number = 0;  ///< 0 for the virtual trunk, else 0..64
  std::uint32_t endpoints = 0;
  std::uint32_t used = 0;
};

/// An E1 line and what is known about it.
struct E1LineView {
  std::uint32_t line = 0;
  std::string_view driver;  ///< a literal
  std::string name;
  bool up = false;
  std::uint32_t timeslots_used = 0;
};

/// A thread of the gateway.
struct ThreadView {
  std::int32_t id = 0;  ///< of the kernel
  std::string name;
};

/// What became of a changed configuration.
struct ReconfigureResult {
  /// Keys (conf) that take effect at the next start only.
  std::vector<std::string> needs_restart;
};

/// The longest time that a drain may be given: a week.
inline constexpr std::uint32_t kDrainSecondsMax = 604800;

/// Whether new calls are refused, and what comes then.
struct DrainView {
  bool active = false;
  bool ends = false;  ///< the gateway, when the last call is over
  /// Until the calls that are left are ended.
  std::optional<std::chrono::seconds> remaining = {};
};

/// What went wrong with an action, for the person or program that asked.
using Failure = std::string;

/// Control thread only.
class GatewayAccess {
 public:
  GatewayAccess() = default;
  GatewayAccess(const GatewayAccess&) = delete;
  GatewayAccess& operator=(const GatewayAccess&) = delete;
  GatewayAccess(GatewayAccess&&) = delete;
  GatewayAccess& operator=(GatewayAccess&&) = delete;
  virtual ~GatewayAccess() = default;

  /// The configuration that is in force.
  [[nodiscard]] virtual const conf::Config& config() const = 0;
  /// Takes another configuration over: what can change while calls are up takes effect at once or
  /// for new connections, as ops.md's flags say; the rest is told. Refused whole with a reason if
  /// its values contradict each other.
  [[nodiscard]] virtual tl::expected<ReconfigureResult, Failure> reconfigure(
      conf::Config changed) = 0;
  /// The configuration file that the gateway was started with; empty: none.
  [[nodiscard]] virtual const std::string& configuration_file() const = 0;

  /// The virtual trunk, then those of E1 lines.
  [[nodiscard]] virtual std::vector<TrunkView> trunks() const = 0;
  /// Endpoint `index`, 0..endpoints-1, of the trunk at `trunk` in trunks().
  [[nodiscard]] virtual EndpointView endpoint(std::size_t trunk, std::uint32_t index) const = 0;
  /// The next endpoint in use of that trunk, from `index` on; empty after the last.
  [[nodiscard]] virtual std::optional<std::uint32_t> next_used(std::size_t trunk,
                                                               std::uint32_t index) const = 0;
  /// The index of an endpoint by its name, with or without domain and, on the virtual trunk,
  /// "rtpbridge/"; letter case does not matter.
  [[nodiscard]] virtual std::optional<std::uint32_t> find_endpoint(std::size_t trunk,
                                                                   std::string_view name) const = 0;
  /// Osmux circuits in use.
  [[nodiscard]] virtual std::size_t osmux_circuits_used() const = 0;
  [[nodiscard]] virtual std::vector<E1LineView> e1_lines() const = 0;
  [[nodiscard]] virtual std::vector<ThreadView> threads() const = 0;
  /// "poll" or "io_uring".
  [[nodiscard]] virtual std::string_view backend() const = 0;
  /// The kernel fast path: "tc on lo", "off" or "off: the reason".
  [[nodiscard]] virtual std::string_view kernel_path() const = 0;

  /// All groups of counters and items, in the order in which osmo-mgw lists them: by connection,
  /// by trunk and general, then items.
  virtual void visit_counters(const CounterGroupVisitor& visit) const = 0;

  /// Deletes all connections of an endpoint; nothing happens if there are none.
  virtual void free_endpoint(std::size_t trunk, std::uint32_t index) = 0;
  /// As free_endpoint, and tells the call agent with RSIP if one is configured or connected;
  /// false: it could not be told.
  virtual bool reset_endpoint(std::size_t trunk, std::uint32_t index) = 0;
  /// Returns the media of all connections of an endpoint to their senders, or ends that.
  [[nodiscard]] virtual tl::expected<void, Failure> loop_endpoint(std::size_t trunk,
                                                                  std::uint32_t index, bool on) = 0;
  /// Sends copies of a connection's packets to `target`, port 0 ends that.
  [[nodiscard]] virtual tl::expected<void, Failure> tap(std::size_t trunk, std::uint32_t index,
                                                        std::string_view connection_id,
                                                        bool received,
                                                        const io::SocketAddress& target) = 0;

  /// While draining, new calls are refused and those that are up go on.
  virtual void set_draining(bool on) = 0;
  /// Drains, and ends the gateway when the last call is over. After `deadline`, 1.. s, the calls
  /// that are left are ended; empty: they are waited for.
  virtual void drain_and_end(std::optional<std::chrono::seconds> deadline) = 0;
  [[nodiscard]] virtual DrainView drain() const = 0;
  /// Ends the gateway as SIGTERM does.
  virtual void shut_down() = 0;
};

}  // namespace ttcn_compat
