#pragma once
// What a connection counts while it forwards, in a form that other threads than its worker's may
// read. One writer, the worker; each number is right by itself, all of them together are not of one
// instant.

#include "io/counter.h"
#include "io/time.h"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace mgw {

/// Packets and octets of one direction. Octets are those of the RTP or RTCP packets, headers
/// included.
struct Traffic {
  std::uint64_t packets = 0;
  std::uint64_t octets = 0;
  /// Adds one packet of that many octets.
  void count(std::size_t bytes) noexcept {
    ++packets;
    octets += bytes;
  }
};

/// Traffic that is being counted.
class LiveTraffic {
 public:
  /// Adds one packet of that many octets.
  void count(std::size_t bytes) noexcept {
    packets_.add();
    octets_.add(bytes);
  }
  /// Adds what was counted elsewhere.
  void add(const Traffic& traffic) noexcept {
    packets_.add(traffic.packets);
    octets_.add(traffic.octets);
  }
  [[nodiscard]] Traffic value() const noexcept { return {packets_.value(), octets_.value()}; }
  /// Goes on counting from there.
  void restore(const Traffic& traffic) noexcept {
    packets_.set(traffic.packets);
    octets_.set(traffic.octets);
  }

 private:
  io::Counter packets_;
  io::Counter octets_;
};

/// An instant that the worker sets and other threads may read.
class LiveInstant {
 public:
  /// Worker thread only.
  void set(io::TimePoint instant) noexcept {
    value_.store(instant.time_since_epoch().count(), std::memory_order_relaxed);
  }
  [[nodiscard]] io::TimePoint value() const noexcept {
    return io::TimePoint(io::Duration(value_.load(std::memory_order_relaxed)));
  }

 private:
  std::atomic<io::Duration::rep> value_{0};
};

/// What only Osmux legs count.
struct OsmuxLegCounters {
  io::Counter chunks_received;  ///< with speech
  io::Counter octets_received;  ///< of those chunks, headers included
  io::Counter packets_encoded;  ///< RTP packets whose frames went into batches
  io::Counter amr_octets_encoded;
  io::Counter packets_dropped;  ///< RTP packets that could not be put into a batch
};

/// What only the line sides of E1 endpoints count.
struct E1LegCounters {
  io::Counter receive_failures;  ///< frames of the line that nothing could be made of
  io::Counter send_failures;     ///< packets that no frame could be made of
  io::Counter fillers;           ///< frames sent because no packet had come
};

/// Of one connection.
struct LiveCounters {
  LiveTraffic rtp_received;  ///< accepted from the peer
  LiveTraffic rtp_sent;      ///< to the peer
  io::Counter dropped;       ///< of what came in and of what was to go out here
  io::Counter timestamp_errors_in;
  io::Counter timestamp_errors_out;
  LiveInstant last_activity;  ///< of the last accepted packet or command
  OsmuxLegCounters osmux;
  E1LegCounters e1;
};

}  // namespace mgw
