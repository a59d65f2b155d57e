#pragma once
// A leg that speaks the Iu user plane (3GPP TS 25.415 over RTP, TS 25.414): its data PDUs become
// octet-aligned AMR packets inside the gateway and back, so it can be paired with any leg that
// takes AMR; towards another such leg the frames keep their RFCI, quality and frame number.

#include "mgw/leg.h"
#include "mgw/media_connection.h"
#include "mgw/stream_start.h"
#include "rtp/iuup_amr.h"
#include "rtp/iuup_link.h"
#include "rtp/iuup_media_clock.h"

#include <cstdint>
#include <optional>

namespace mgw {

/// Payload types by which packets of an IuUP leg are known inside the gateway.
inline constexpr std::uint8_t kIuupAmrPayloadType = 96;    ///< AMR, octet-aligned
inline constexpr std::uint8_t kIuupAmrWbPayloadType = 97;  ///< AMR-WB, octet-aligned
inline constexpr std::uint8_t kIuupOpaquePayloadType =
    98;  ///< what is neither, for another IuUP leg

/// See above. About 1.25 KiB.
class IuupLeg final : public Leg {
 public:
  explicit IuupLeg(const StreamStart& start) noexcept;

  [[nodiscard]] LegKind kind() const noexcept override { return LegKind::iuup; }
  /// An initialisation is taken from anybody as long as nobody has been named (the answer goes to
  /// where it came from), nothing else is.
  [[nodiscard]] bool accepts_stranger(const LegContext& context,
                                      const MediaPacket& packet) const noexcept override;
  [[nodiscard]] tl::expected<IngressAction, DropCause> ingress(
      const LegContext& context, MediaPacket& packet) noexcept override;
  void egress(const LegContext& context, MediaPacket&& packet) noexcept override;
  [[nodiscard]] rtp::TimelineTiming media_timing(
      const ForwardingEntry& entry) const noexcept override;
  [[nodiscard]] bool relays_rtcp() const noexcept override { return true; }
  [[nodiscard]] bool numbers_anew() const noexcept override { return true; }
  void send_keep_alive(const LegContext& context) noexcept override;
  void entry_applied(const LegContext& context) noexcept override;
  [[nodiscard]] io::TimePoint next_due() const noexcept override { return link_.next_due(); }
  void on_due(const LegContext& context) noexcept override;
  void save(StateWriter& writer) const override;
  void load(StateReader& reader, bool is_exact) override;
  /// Names what makes the leg go on in another process to `archive` (mgw/state_codec.h).
  template <typename Self, typename Archive>
  static void visit_state(Self& self, Archive& archive) {
    archive(self.link_, self.stream_.ssrc, self.stream_.timestamp, self.stream_.sequence,
            self.clock_rate_hz_, self.uplink_, self.source_ssrc_, self.has_source_, self.peer_,
            self.source_sequence_, self.source_frame_, self.source_frames_,
            self.mode_request_barred_, self.active_, self.failed_);
  }

 private:
  [[nodiscard]] tl::expected<IngressAction, DropCause> take_data(const LegContext& context,
                                                                 const rtp::IuupData& data,
                                                                 MediaPacket& packet) noexcept;
  [[nodiscard]] bool is_wideband() const noexcept;
  /// The link has begun to work, perhaps with another set.
  void became_ready(const LegContext& context) noexcept;
  void initialise_partners(const LegContext& context) noexcept;
  /// Asks the peer to work with what another leg was initialised with, once it can be reached. A
  /// set that the peer itself has asked for stays.
  void initialise_like(const LegContext& context, const IuupLeg& other) noexcept;
  /// Another peer than the one that has acknowledged our initialisation must do so too.
  void follow_peer(const LegContext& context) noexcept;
  /// Tells the peer which RFCIs the other side doesn't want: what the other Iu UP legs' peers have
  /// barred and what an AMR leg requests.
  void update_limits(const LegContext& context) noexcept;
  void limit_partners(const LegContext& context) noexcept;
  /// Calls `visit` with each other Iu UP leg of the endpoint and its context.
  template <typename Visit>
  void for_each_partner(const LegContext& context, Visit visit) noexcept;
  /// Under which RFCI another Iu UP leg's frame of `bytes` octets goes out; none if it was not
  /// declared here.
  [[nodiscard]] std::optional<std::uint8_t> rfci_of(const IuupFrameDetails& frame,
                                                    std::size_t bytes) const noexcept;
  void send_amr(const LegContext& context, MediaPacket&& packet) noexcept;
  /// Sends each frame of a payload as a PDU of its own.
  void send_several(const LegContext& context, const MediaPacket& packet,
                    const rtp::AmrPayload& frames) noexcept;
  /// Where the first of a packet's frames stands among those of its source.
  [[nodiscard]] rtp::IuupPosition position_of(const MediaPacket& packet,
                                              std::uint16_t frames) noexcept;
  /// The AMR leg's mode request, if it has one, becomes a limit for the peer.
  void follow_mode_request(const LegContext& context, rtp::AmrCodec codec,
                           std::uint8_t mode_request) noexcept;
  /// Sends what the link has to say on its own account.
  void send_due(const LegContext& context) noexcept;
  /// The RTP header of a PDU of `pdu_bytes` that stands behind it in `packet`.
  void write_header(const LegContext& context, std::span<std::byte> packet) noexcept;
  void send_pdu(const LegContext& context, const io::SocketAddress& peer,
                std::span<const std::byte> pdu) noexcept;
  void send_frame(const LegContext& context, MediaPacket&& packet, const rtp::IuupData& data,
                  const rtp::IuupPosition& position) noexcept;

  rtp::IuupLink link_;
  StreamStart stream_;
  std::uint32_t clock_rate_hz_ = 0;  // of the described codec
  rtp::IuupMediaClock uplink_;
  std::uint32_t source_ssrc_ = 0;  // of what is sent to the peer
  bool has_source_ = false;
  io::SocketAddress peer_;                 // the last that the call agent named
  std::uint16_t source_sequence_ = 0;      // of its newest packet
  std::uint16_t source_frame_ = 0;         // the number of that packet's first frame
  std::uint16_t source_frames_ = 0;        // how many it has; 0 = none came yet
  std::uint64_t mode_request_barred_ = 0;  // what an AMR leg does not want
  bool active_ = false;                    // the initialisation in force was ours
  bool failed_ = false;                    // the last initialisation failed, and that has been told
};

}  // namespace mgw
