#pragma once
// The leg of an E1 endpoint's line side: TRAU frames of a sub-slot become RTP packets inside the
// gateway and back, so the line can be paired with any leg that takes the codec. It has no sockets;
// the line calls it once per block.

#include "io/counter.h"
#include "mgw/e1_channel.h"
#include "mgw/leg.h"
#include "mgw/media_connection.h"
#include "mgw/stream_start.h"
#include "rtp/trau_downlink.h"
#include "rtp/trau_uplink.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace mgw {

/// What happened on the lines of a worker; written by it, read by any thread.
struct E1Counters {
  io::Counter received_frames;  ///< TRAU frames, and 20 ms of PCM
  std::array<io::Counter, rtp::kTrauErrorCount> receive_failures;  ///< nothing made of them
  io::Counter synchronisation_losses;
  io::Counter sent_frames;      ///< that came as RTP
  io::Counter sent_fillers;     ///< because nothing had come
  io::Counter given_up_frames;  ///< came in bursts that the jitter buffer had no room for
  io::Counter time_alignments;  ///< frames lengthened or shortened for the base station
};

/// See above. About 4 KiB.
class E1Leg final : public Leg {
 public:
  E1Leg(const E1Channel& channel, const StreamStart& start) noexcept;

  [[nodiscard]] LegKind kind() const noexcept override { return LegKind::e1; }
  /// Takes nothing: it has no socket.
  [[nodiscard]] tl::expected<IngressAction, DropCause> ingress(
      const LegContext& context, MediaPacket& packet) noexcept override;
  /// Puts the packet's frames into the jitter buffer.
  void egress(const LegContext& context, MediaPacket&& packet) noexcept override;
  void entry_applied(const LegContext& context) noexcept override;
  void detached(const LegContext& context) noexcept override;

  /// A block of the time slot came: hands on what is in the sub-slot, and fills the sub-slot of
  /// `sent`.
  void exchange(const LegContext& context, std::span<const std::byte> received,
                std::span<std::byte> sent) noexcept;

 private:
  struct Streams {
    rtp::TrauUplink uplink;
    rtp::TrauDownlink downlink;
    rtp::TrauUplinkCounters uplink_seen{};
    rtp::TrauDownlinkCounters downlink_seen{};
  };

  void hand_on(const LegContext& context, const rtp::TrauUplinkPayload& payload) noexcept;
  void count(E1Counters& counters, E1LegCounters& own) noexcept;

  E1Channel channel_;
  std::uint32_t ssrc_;
  std::optional<Streams> streams_;  // none: the codec does not go over the sub-slot, which is idle
  bool attached_ = false;
};

}  // namespace mgw
