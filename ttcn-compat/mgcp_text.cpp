#include "ttcn-compat/mgcp_text.h"

#include "io/printable_text.h"

#include <fmt/format.h>

#include <chrono>
#include <iterator>

namespace ttcn_compat {

namespace {

std::string address_text(const io::SocketAddress& address) {
  return address.family() == io::AddressFamily::none ? "NULL:0" : address.text();
}

void append_osmux(std::string& out, const OsmuxView& osmux) {
  fmt::format_to(std::back_inserter(out),
                 "   Osmux:\n"
                 "    State: {}\n"
                 "    Local CID: {}\n"
                 "    Remote CID: {}\n"
                 "    Chunks received: {} ({} bytes total)\n"
                 "    RTP Packets encoded (Tx): {} ({} AMR octets total)\n"
                 "    AMR payloads Dropped (Tx): {}\n",
                 osmux.state, osmux.local_cid,
                 osmux.remote_cid ? std::to_string(*osmux.remote_cid) : "unknown",
                 osmux.chunks_received, osmux.octets_received, osmux.rtp_packets_encoded,
                 osmux.amr_octets_encoded, osmux.dropped);
}

void append_statistics(std::string& out, const ConnectionView& connection) {
  if (connection.remaining) {
    fmt::format_to(std::back_inserter(out), "   Currently remaining timeout (seconds): {:.6f}\n",
                   std::chrono::duration<double>(*connection.remaining).count());
  }
  // Frames of 20 ms in any number per packet are what osmo-mgw prints for every codec; the blank
  // after the channels is its, too.
  fmt::format_to(std::back_inserter(out),
                 "   Packets Sent: {} ({} bytes total)\n"
                 "   Packets Received: {} ({} bytes total)\n"
                 "   Timestamp Errs: {}->{}\n"
                 "   Dropped Packets: {}\n"
                 "   Payload Type: {} Rate: {} Channels: {} \n"
                 "   Frame Duration: 20 Frame Denominator: 1000\n"
                 "   FPP: 0 Packet Duration: {}\n"
                 "   Audio-Name: {} Sub-Type: {}\n"
                 "   Output-Enabled: {} Force-PTIME: {}\n",
                 connection.packets_sent, connection.octets_sent, connection.packets_received,
                 connection.octets_received, connection.timestamp_errors_in,
                 connection.timestamp_errors_out, connection.dropped, connection.payload_type,
                 connection.rate_hz, connection.channels, connection.packet_duration_ms,
                 io::printable(connection.audio_name), io::printable(connection.subtype),
                 connection.sends ? 1 : 0, connection.force_ptime_ms);
  if (connection.osmux) {
    append_osmux(out, *connection.osmux);
  }
}

}  // namespace

std::string trunk_title(const TrunkView& trunk) {
  return fmt::format("{} trunk {}", trunk.is_virtual ? "Virtual" : "E1", trunk.number);
}

std::string endpoint_text(const TrunkView& trunk, const EndpointView& endpoint,
                          ConnectionDetail detail) {
  std::string out = fmt::format("{} endpoint {}:\n   Availability: {}\n", trunk_title(trunk),
                                endpoint.name, endpoint.available ? "available" : "not in service");
  if (endpoint.connections.empty()) {
    out += "   No active connections\n";
  }
  for (const ConnectionView& connection : endpoint.connections) {
    const std::string circuit =
        connection.osmux ? fmt::format(" CID={}", connection.osmux->local_cid) : "";
    fmt::format_to(std::back_inserter(out), "   CONN: ({}/rtp C:{} r={}<->l={}{})\n",
                   io::printable(connection.call_id), connection.id,
                   address_text(connection.remote), address_text(connection.local), circuit);
    if (detail == ConnectionDetail::statistics) {
      append_statistics(out, connection);
    }
  }
  return out;
}

}  // namespace ttcn_compat
