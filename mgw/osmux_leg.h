#pragma once
// A leg that is one circuit of an Osmux trunk: chunks of the device's datagrams become paced
// packets of octet-aligned AMR inside the gateway, and such packets become frames of the next batch
// to its peer.

#include "mgw/endpoint.h"
#include "mgw/leg.h"
#include "mgw/media_connection.h"
#include "mgw/osmux_device.h"
#include "rtp/osmux_chunk.h"
#include "rtp/osmux_decoder.h"

#include <tl/expected.hpp>

#include <cstdint>
#include <optional>

namespace mgw {

/// The payload type by which packets of an Osmux leg are known inside the gateway: AMR,
/// octet-aligned.
inline constexpr std::uint8_t kOsmuxAmrPayloadType = 96;

/// See above. About 1.5 KiB.
///
/// A circuit is enabled once the peer's number for it and the peer's address and port are known;
/// the address is that of the description, or, with peers behind NAT, the source of the circuit's
/// first datagram. From then on it sends, and hears that address and port only.
class OsmuxLeg final : public Leg {
 public:
  /// `circuit` has the device of the worker that will have the leg. `stream` has the start values
  /// of the stream that is made; its SSRC is a random number.
  OsmuxLeg(const OsmuxCircuit& circuit, const rtp::OsmuxPlayoutOptions& stream) noexcept;

  [[nodiscard]] LegKind kind() const noexcept override { return LegKind::osmux; }
  /// Not if the device got no sockets.
  [[nodiscard]] bool is_usable() const noexcept override { return device_.is_open(); }
  /// Never called: the connection has no sockets.
  [[nodiscard]] tl::expected<IngressAction, DropCause> ingress(
      const LegContext& context, MediaPacket& packet) noexcept override;
  void egress(const LegContext& context, MediaPacket&& packet) noexcept override;
  void send_keep_alive(const LegContext& context) noexcept override;
  void entry_applied(const LegContext& context) noexcept override;
  void detached(const LegContext& context) noexcept override;
  [[nodiscard]] io::TimePoint next_due() const noexcept override;
  void on_due(const LegContext& context) noexcept override { play(context); }
  void add_counters(ConnectionCounters& counters) const noexcept override;

  /// Takes a chunk that `source` sent for the circuit.
  [[nodiscard]] tl::expected<void, DropCause> on_chunk(const LegContext& context,
                                                       const rtp::OsmuxChunk& chunk,
                                                       const io::SocketAddress& source) noexcept;

 private:
  void enable(const LegContext& context, const io::SocketAddress& peer) noexcept;
  void disable(const LegContext& context) noexcept;
  /// Hands on the frames whose time has come.
  void play(const LegContext& context) noexcept;
  /// Queues each frame of a payload.
  [[nodiscard]] tl::expected<void, DropCause> push(const LegContext& context,
                                                   const MediaPacket& packet) noexcept;

  OsmuxDevice& device_;
  std::uint8_t local_;
  bool peer_behind_nat_;
  rtp::OsmuxOptions link_;
  rtp::OsmuxPlayoutOptions stream_;
  std::optional<std::uint8_t> remote_;
  OsmuxPeer* peer_ = nullptr;         // where its frames go; null = not enabled
  io::SocketAddress described_;       // the peer as the last description named it
  io::SocketAddress refused_source_;  // NAT: the peer before; its late datagrams are not learned
  io::TimePoint refused_until_{};
  std::optional<rtp::OsmuxPlayout> playout_;  // since the circuit was enabled first
};

}  // namespace mgw
