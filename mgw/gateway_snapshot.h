#pragma once
// The gateway as somebody who looks at it gets to see it: plain values, taken by the control thread
// (mgw/call_sampler.h) and read by whoever has them. A leg's numbers are of one instant, those of
// all legs together are not.

#include "io/socket_address.h"
#include "io/time.h"
#include "mgw/drop_cause.h"
#include "mgw/endpoint.h"
#include "mgw/media_connection.h"
#include "rtp/voice_quality.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mgw {

/// One leg of a call.
struct LegSnapshot {
  std::uint32_t id = 0;  ///< of the connection; 0: the line side of an E1 endpoint
  LegKind kind = LegKind::rtp;
  std::string_view mode;                           ///< as in MGCP; a literal
  std::string codec;                               ///< the selected one, "AMR/8000"
  std::optional<rtp::CodecImpairment> impairment;  ///< of that codec, if it is known
  io::Duration packet_duration{};
  io::SocketAddress local;
  io::SocketAddress remote;  ///< family none: not known
  io::TimePoint created{};   ///< 0: not known
  ConnectionCounters counters;

  /// Packets from the peer that never came, as a fraction of those that were sent.
  [[nodiscard]] double loss() const noexcept;
  /// Interarrival jitter of what comes from the peer.
  [[nodiscard]] io::Duration jitter() const noexcept;
  /// The latest round trip to the peer; measured with `rtcp.generate` only.
  [[nodiscard]] std::optional<io::Duration> round_trip_time() const noexcept;
  /// How what comes from the peer sounds (rtp/voice_quality.h); none without a packet, or of a
  /// codec that is not rated.
  [[nodiscard]] std::optional<double> mos() const noexcept;
};

/// One call: an endpoint in use.
struct CallSnapshot {
  std::string endpoint;  ///< with its domain
  std::string call_id;   ///< as the call agent gave it
  std::vector<LegSnapshot> legs;

  /// The largest of the legs'.
  [[nodiscard]] double worst_loss() const noexcept;
  [[nodiscard]] io::Duration worst_jitter() const noexcept;
  [[nodiscard]] std::optional<io::Duration> worst_round_trip_time() const noexcept;
  /// The lowest of the legs'; none if none is known.
  [[nodiscard]] std::optional<double> worst_mos() const noexcept;
  /// Of all legs together.
  [[nodiscard]] std::uint64_t packets() const noexcept;
  [[nodiscard]] std::uint64_t drops() const noexcept;
  /// When the oldest leg was made; 0: not known.
  [[nodiscard]] io::TimePoint created() const noexcept;
};

/// The legs that have such a quality, by their MOS: 4 and better, 3.6, 3.1, worse, and unknown
/// (G.107 Annex B, table B.1: satisfied, some dissatisfied, many, nearly all).
enum class QualityClass : std::uint8_t { good, fair, poor, bad, unknown };
inline constexpr std::size_t kQualityClasses = 5;
/// The class's name in metrics and views.
[[nodiscard]] std::string_view to_string(QualityClass quality) noexcept;
[[nodiscard]] QualityClass quality_class(std::optional<double> mos) noexcept;

/// What the whole gateway did between two samples, per second where it is a rate.
struct HistoryPoint {
  io::TimePoint at{};
  double calls = 0;
  double packets_in = 0;
  double packets_out = 0;
  double octets_in = 0;
  double octets_out = 0;
  double drops = 0;
  double commands = 0;
  double loss = 0;                          ///< fraction, of what came in this time
  double jitter_ms = 0;                     ///< mean over the legs that receive
  std::optional<double> mos;                ///< mean over the legs that have one
  std::optional<double> cpu_ns_per_packet;  ///< of the workers, for a packet in and out
  std::optional<double> cpu_cores;          ///< the workers' CPU time per second
};

/// Points of history that are kept, and their distance: ten minutes.
inline constexpr std::size_t kHistoryPointsMax = 120;
inline constexpr std::chrono::seconds kHistoryInterval{5};

/// What is fixed while the gateway runs.
struct GatewayFacts {
  std::string version;
  std::string_view backend;     ///< a literal
  std::string fallback_reason;  ///< why it is not another one; empty: it is what was wanted
  std::size_t workers = 0;
};

/// One line about the state of something that only some gateways have.
struct StateLine {
  std::string name;   ///< "kernel path"
  std::string value;  ///< "on"
};

/// All of it.
struct GatewaySnapshot {
  GatewayFacts facts;
  io::TimePoint at{};
  io::TimePoint started{};
  bool draining = false;
  std::vector<StateLine> states;
  std::uint64_t endpoints_total = 0;  ///< of all trunks
  std::uint64_t endpoints_used = 0;
  std::uint64_t connections = 0;
  std::uint64_t ports_total = 0;
  std::uint64_t ports_used = 0;
  std::uint64_t buffers = 0;
  std::uint64_t buffers_free = 0;
  std::array<std::uint64_t, kDropCauseCount> drops{};  ///< since the start, by cause
  std::array<std::uint64_t, kQualityClasses> qualities{};
  HistoryPoint now;                                ///< since the sample before
  std::vector<HistoryPoint> history;               ///< kHistoryInterval apart, oldest first
  std::optional<std::vector<CallSnapshot>> calls;  ///< none: nobody looked when it was taken
};

/// A connection of an endpoint with these counters.
[[nodiscard]] LegSnapshot leg_snapshot(const Connection& connection,
                                       const ConnectionCounters& counters);

}  // namespace mgw
