#pragma once
// What the signalling side tells the media side of one connection: from where packets may come,
// what is done to them and where they leave. Compiled anew by the control thread at every change,
// carried to the worker whole, and only read there.

#include "io/socket_address.h"
#include "io/time.h"
#include "rtp/amr.h"
#include "rtp/payload_map.h"
#include "rtp/timeline.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace mgw {

/// From where a connection accepts packets.
enum class SourceCheck : std::uint8_t {
  strict,  ///< the address and port of the peer's SDP
  latch,   ///< the first valid source after each SDP, then only that
  any,     ///< everywhere
};

/// Where accepted packets of a connection leave.
struct Route {
  std::uint32_t slot = 0;  ///< the target connection on the same worker
  bool echo = false;       ///< back to the sender: loopback and confecho; the payload type stays
};

/// A payload type whose sender announced how its AMR frames are packed (fmtp octet-align, RFC 4867
/// section 8).
struct AnnouncedAmr {
  std::uint8_t payload_type = 0;
  rtp::AmrCodec codec = rtp::AmrCodec::narrowband;
  rtp::AmrFormat format = rtp::AmrFormat::octet_aligned;
};

/// The compiled form of one connection.
struct ForwardingEntry {
  io::SocketAddress remote_rtp;   ///< family none = not known (or on hold): nothing is sent
  io::SocketAddress remote_rtcp;  ///< as remote_rtp; with rtcp_mux the same address and port
  SourceCheck source = SourceCheck::strict;
  rtp::UnknownPayloadTypes unknown_payload_types = rtp::UnknownPayloadTypes::pass;
  io::Duration packet_interval{};      ///< between two packets of the peer, on average; 0 = any
  bool loops = false;                  ///< a route is left out, as it led back to here
  bool receives = false;               ///< the mode takes media from the peer
  bool omit_rtcp = false;              ///< no RTCP is sent to the peer
  bool rtcp_mux = false;               ///< RTCP is sent from the RTP socket (RFC 5761)
  bool commanded = false;              ///< the call agent changed this very connection
  bool new_description = false;        ///< a new SDP came: a latched source is learned anew
  bool keep_alive_now = false;         ///< send a keep-alive datagram when this entry is applied
  io::Duration keep_alive_interval{};  ///< and again so often; 0 = not
  io::Duration
      connection_timeout{};  ///< without media or command for so long it is given up; 0 = never
  rtp::TimelineOptions timeline;
  rtp::TimelineTiming timing;
  rtp::SourcePayloadTypes source_types;       ///< payload type from the peer → codec slot
  rtp::DestinationPayloadTypes target_types;  ///< codec slot → payload type to the peer
  std::vector<AnnouncedAmr>
      announced_amr;  ///< packets of these types that are packed otherwise are dropped
  std::vector<Route> routes;
  std::uint8_t leg_payload_type = 0;  ///< of the codec that makes it another leg than plain RTP
  std::vector<std::uint32_t> iuup_partners;   ///< the other IuUP legs, whatever the modes
  std::optional<std::uint8_t> osmux_circuit;  ///< the peer's number for an Osmux leg, once known
};

}  // namespace mgw
