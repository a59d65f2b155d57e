#pragma once
// One connection as its worker sees it: the forwarding entry and what has been counted. Made by the
// control thread, owned by the worker while it forwards, handed back whole when it is removed, so
// the worker neither allocates nor frees memory for calls.

#include "io/counter.h"
#include "io/datagram.h"
#include "io/time.h"
#include "mgw/drop_cause.h"
#include "mgw/forwarding_entry.h"
#include "mgw/leg.h"
#include "mgw/live_counters.h"
#include "mgw/rtcp_reporting.h"
#include "mgw/tap.h"
#include "mgw/token_bucket.h"
#include "rtp/stream_statistics.h"
#include "rtp/timeline.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

namespace mgw {

/// What an Osmux leg has received.
struct OsmuxTraffic {
  std::uint64_t chunks = 0;  ///< with speech
  std::uint64_t octets = 0;  ///< of those chunks, headers included
};

/// Drops of one connection, in the order of DropCause. They stop at their largest value, which
/// takes a flood of a day.
using DropsByCause = std::array<std::uint32_t, kDropCauseCount>;

/// What one connection has seen. A value: copied for audits, final in a removed connection.
struct ConnectionCounters {
  Traffic rtp_received;  ///< accepted from the peer
  Traffic rtp_sent;      ///< to the peer
  Traffic rtcp_received;
  Traffic rtcp_sent;
  std::uint64_t dropped = 0;  ///< of what came in and of what was to go out here
  rtp::StatisticsTotals totals;
  std::uint32_t jitter_ticks = 0;
  std::uint32_t clock_rate_hz = 8000;
  std::uint32_t timestamp_errors_in = 0;
  std::uint32_t timestamp_errors_out = 0;
  rtp::RemoteReception remote;  ///< what the peer reported; nothing unless RTCP is generated
  std::optional<OsmuxTraffic> osmux = {};  ///< an Osmux leg that was enabled
  DropsByCause drops = {};                 ///< `dropped`, by cause
};

/// What the kernel fast path has to do with a connection (mgw/kernel_flows.h).
struct KernelFlowPlace {
  static constexpr std::uint32_t kNone = 0xffffffff;

  std::uint32_t flow = kNone;     ///< its number, once the connection has had one
  bool active = false;            ///< the kernel forwards what comes from the peer
  bool quiet = false;             ///< it is looked at whether it is to
  std::uint8_t payload_type = 0;  ///< of the last packet that came to the socket
  io::TimePoint forwarded_at{};   ///< when that was
  io::TimePoint quiet_since{};    ///< since when nothing came; 0: it may not have been sent yet
  io::TimePoint not_before{};     ///< nor is it looked at before that
};

/// Worker thread only, while installed, but for what `live` says. The control thread makes those of
/// all workers: alignment keeps the ends of two apart.
struct alignas(io::kCacheLineBytes) MediaConnection {
  ForwardingEntry entry;
  std::unique_ptr<Leg> leg;            ///< null: plain RTP
  io::TimePoint leg_due = io::kNever;  ///< when the leg's timer that counts is due
  io::SocketId rtp_socket;             ///< none: a leg without sockets of its own
  io::SocketId rtcp_socket;
  io::SocketAddress local_rtp;  ///< of rtp_socket
  KernelFlowPlace kernel;
  io::SocketAddress learned_source;  ///< latch: the source that was learned; family none = none yet
  /// Latch: the peer before the last SDP. Its late packets don't count until `refused_until`; later
  /// ones mean that it is still the one.
  io::SocketAddress refused_source;
  io::TimePoint refused_until{};
  io::SocketAddress learned_rtcp;  ///< latch: where the learned peer's RTCP comes from
  rtp::ConnectionStatistics statistics;
  rtp::Timeline timeline;
  std::unique_ptr<RtcpReporting> rtcp;  ///< null: RTCP is passed through
  LiveCounters live;                    ///< any thread may read them
  Traffic rtcp_received;
  Traffic rtcp_sent;
  DropsByCause drops{};
  TokenBucket pace;                 ///< of what the peer sends
  std::uint32_t notable_drops = 0;  ///< since the last report
  DropCause notable_cause = DropCause::unknown_source;
  std::unique_ptr<Tap> tap;  ///< null as long as nobody listens

  /// The state of the counters now.
  [[nodiscard]] ConnectionCounters counters() const noexcept {
    ConnectionCounters counters{live.rtp_received.value(),
                                live.rtp_sent.value(),
                                rtcp_received,
                                rtcp_sent,
                                live.dropped.value(),
                                statistics.totals(),
                                statistics.jitter(),
                                entry.timing.clock_rate_hz,
                                statistics.timestamp_errors(),
                                timeline.timestamp_errors(),
                                rtcp != nullptr ? rtcp->remote() : rtp::RemoteReception()};
    counters.drops = drops;
    if (leg) {
      leg->add_counters(counters);
    }
    return counters;
  }
};

}  // namespace mgw
