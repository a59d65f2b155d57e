#pragma once
// The signalling state: what the call agent asked for and was answered. Owned by the control
// thread; plain values, so a change is made on a copy, checked, and then taken over whole or not at
// all.

#include "io/socket_address.h"
#include "io/time.h"
#include "mgcp/message.h"
#include "mgw/drop_cause.h"
#include "mgw/e1_channel.h"
#include "mgw/leg.h"
#include "mgw/port_pool.h"
#include "mgw/tap.h"
#include "rtp/osmux_encoder.h"

#include <bitset>
#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mgw {

class OsmuxDevice;

/// What makes a connection an Osmux circuit; it stays one to its end.
struct OsmuxCircuit {
  std::uint8_t local = 0;              ///< our number for it, in what comes in
  std::optional<std::uint8_t> remote;  ///< the peer's number for it, once known
  OsmuxDevice* device = nullptr;       ///< the worker's; only to be handed to the leg
  bool peer_behind_nat = false;        ///< the peer is where its datagrams come from
  rtp::OsmuxOptions link;              ///< of the batches, if its peer has no circuit yet
};

/// One connection (RFC 3435 section 2.1.3): a leg of a call.
struct Connection {
  std::uint32_t id = 0;    ///< random, not 0, unique in its endpoint
  std::uint32_t slot = 0;  ///< its number at the worker
  mgcp::ConnectionMode mode = mgcp::ConnectionMode::inactive;
  /// While an operator has the connection looped: the mode that it comes back to.
  std::optional<mgcp::ConnectionMode> mode_before_loop;
  std::vector<mgcp::Codec> codecs;  ///< in the peer's order; never empty once set up
  std::size_t selected_codec = 0;   ///< index in `codecs`
  std::uint32_t ptime_ms = 20;      ///< 0 = any
  LegKind kind = LegKind::rtp;      ///< what its worker takes it for, or will when told
  std::optional<E1Channel> e1;      ///< of the line side of an E1 endpoint only

  io::SocketAddress remote_host;       ///< of the last SDP, port 0; family none = not yet known
  std::uint16_t remote_port = 0;       ///< 0 = not yet known, or on hold
  io::SocketAddress remote_rtcp_host;  ///< of a=rtcp:, if it named one
  std::uint16_t remote_rtcp_port = 0;  ///< of a=rtcp:; 0 = the port after remote_port
  mgcp::MediaProfile profile = mgcp::MediaProfile::rtp_avp;
  bool rtcp_mux = false;                          ///< the peer takes RTCP on its RTP port
  std::optional<mgcp::MediaDirection> direction;  ///< as the peer said
  std::vector<mgcp::OtherMedia> other_media;      ///< m= lines that the answer refuses
  std::size_t other_media_before = 0;
  std::string remote_description;             ///< the last SDP as it came, for audits
  std::bitset<kDropCauseCount> noted_faults;  ///< payload faults noted since the last SDP

  io::SocketAddress local;      ///< where the RTP socket is bound
  io::SocketAddress announced;  ///< the address in the answer's SDP, port as `local`
  PortPool* ports = nullptr;    ///< where the pair came from
  TapSet taps;                  ///< who is sent copies
  std::optional<OsmuxCircuit> osmux;
  io::TimePoint created{};          ///< when its CRCX came; not known = 0
  bool in_circle = false;           ///< what it sends would come back to it: it is sent nothing
  std::uint64_t bandwidth_bps = 0;  ///< its share of the sum that limits.bandwidth-kbps is about
  std::uint64_t last_command = 0;   ///< ticket of the last MDCX; it may still be under way
  bool answered = false;            ///< its worker has it, and the call agent is told or knows

  /// Where RTP is sent; family none or port 0 when nothing is to be sent.
  [[nodiscard]] io::SocketAddress remote_rtp() const noexcept {
    return remote_host.with_port(remote_port);
  }
  /// Where RTCP is sent.
  [[nodiscard]] io::SocketAddress remote_rtcp() const noexcept;
  /// Eight upper-case hexadecimal digits.
  [[nodiscard]] std::string id_text() const;
};

/// Most connections of one endpoint, whatever is configured: each change concerns all of them, so
/// its cost and the memory of their routes grow with the square.
inline constexpr std::size_t kConnectionsPerEndpointMax = 256;

/// An endpoint whatever the numbers of endpoints and trunks in the configuration.
struct EndpointKey {
  std::uint16_t trunk = 0;     ///< 0: the virtual one; else 1 + the number of the E1 trunk
  std::uint32_t position = 0;  ///< among those of its trunk, from 0
  friend auto operator<=>(const EndpointKey&, const EndpointKey&) = default;
};

/// One endpoint (RFC 3435 section 2.1.2). Free when it has no call id.
struct Endpoint {
  std::string call_id;
  bool ignore_call_id = false;  ///< X-Osmo-IGN: C was given for this call
  std::uint8_t trunk = 0;       ///< 0: the virtual one; else 1 + its position among the E1 trunks
  std::uint32_t worker = 0;     ///< where its connections live, once it is in use
  std::vector<std::unique_ptr<Connection>> connections;  ///< oldest first
  /// The other side of an E1 endpoint that is in use: the sub-slot, which the call agent does not
  /// see as a connection.
  std::unique_ptr<Connection> line_side;

  /// The connection with this identifier, or nullptr.
  [[nodiscard]] Connection* find(std::uint32_t id) noexcept;
  /// All between which packets go: the line side, if there is one, then the connections.
  [[nodiscard]] std::vector<const Connection*> legs() const;
};

/// The number behind a connection id's text (letter case and leading zeros don't matter); empty if
/// it is none.
[[nodiscard]] std::optional<std::uint32_t> connection_number(std::string_view text) noexcept;

/// True if the mode takes media from the peer and hands it on.
[[nodiscard]] bool mode_receives(mgcp::ConnectionMode mode) noexcept;
/// True if the mode sends to the peer what other connections receive.
[[nodiscard]] bool mode_sends(mgcp::ConnectionMode mode) noexcept;
/// True if the mode returns the peer's own media to it.
[[nodiscard]] bool mode_echoes(mgcp::ConnectionMode mode) noexcept;

}  // namespace mgw
