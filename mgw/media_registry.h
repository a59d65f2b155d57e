#pragma once
// Which connections the workers have, so that the control thread can read their counters, and the
// sums of those that are gone. Owned by the control thread.

#include "mgw/leg.h"
#include "mgw/media_connection.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace mgw {

/// The counters of a connection, or the sum of many.
struct LegTotals {
  Traffic rtp_received;
  Traffic rtp_sent;
  std::uint64_t dropped = 0;
  std::uint64_t timestamp_errors_in = 0;
  std::uint64_t timestamp_errors_out = 0;
  std::uint64_t osmux_chunks_received = 0;
  std::uint64_t osmux_octets_received = 0;
  std::uint64_t osmux_packets_encoded = 0;
  std::uint64_t osmux_amr_octets_encoded = 0;
  std::uint64_t osmux_packets_dropped = 0;
  std::uint64_t e1_receive_failures = 0;
  std::uint64_t e1_send_failures = 0;
  std::uint64_t e1_fillers = 0;
  std::uint64_t closed = 0;  ///< connections that are gone
  LegTotals& operator+=(const LegTotals& other) noexcept;
};

/// The counters of a connection as they stand.
[[nodiscard]] LegTotals totals_of(const LiveCounters& live) noexcept;

/// Sums of one trunk, apart for those kinds of legs that are counted apart.
struct TrunkLegTotals {
  LegTotals rtp;    ///< plain RTP and Iu UP
  LegTotals osmux;  ///< circuits
  LegTotals lines;  ///< line sides of E1 endpoints
  /// The sums for a kind of leg.
  [[nodiscard]] LegTotals& of(LegKind kind) noexcept;
};

/// A connection that a worker has.
struct RegisteredLeg {
  const MediaConnection* media = nullptr;  ///< null: the slot is free
  std::uint32_t number = 0;                ///< of connections since the start, from 0; not of lines
  std::uint32_t trunk = 0;                 ///< position: the virtual one, then the E1 trunks
  LegKind kind = LegKind::rtp;             ///< osmux, e1, or rtp for all else
};

/// See above. One entry of 24 bytes for each slot of the workers.
class MediaRegistry {
 public:
  MediaRegistry(std::size_t workers, std::size_t trunks) : workers_(workers), closed_(trunks) {}

  /// `media` is in a slot, or on its way there, until remove() or forget().
  void add(std::uint32_t worker, std::uint32_t slot, std::uint32_t trunk, LegKind kind,
           const MediaConnection& media);
  /// The connection is gone; what it counted stays in the sum. Does nothing for a free slot.
  void remove(std::uint32_t worker, std::uint32_t slot);
  /// The connection never came to be: it leaves no trace. Does nothing for a free slot.
  void forget(std::uint32_t worker, std::uint32_t slot);
  /// The connection in a slot, or null.
  [[nodiscard]] const MediaConnection* find(std::uint32_t worker,
                                            std::uint32_t slot) const noexcept;
  /// All that there are, in no particular order.
  void visit(const std::function<void(const RegisteredLeg&)>& visitor) const;
  /// The sums of each trunk, over connections that are and that were.
  [[nodiscard]] std::vector<TrunkLegTotals> totals() const;

 private:
  std::vector<std::vector<RegisteredLeg>> workers_;  // by slot
  std::vector<TrunkLegTotals> closed_;               // by trunk
  std::uint32_t next_number_ = 0;
};

}  // namespace mgw
