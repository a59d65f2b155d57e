#include "mgw/media_path.h"

#include "io/assert.h"
#include "rtp/demultiplex.h"
#include "rtp/payload_conversion.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace mgw {

namespace {

/// Connections that are reported per second because of dropped packets; more are counted, not
/// named.
constexpr std::size_t kNotableMax = 64;

/// Whether `peer` is the one that the call agent named: its RTP port, and for RTCP its RTCP port
/// too.
bool is_announced_source(const ForwardingEntry& entry, const io::SocketAddress& peer,
                         bool rtcp) noexcept {
  return peer == entry.remote_rtp || (rtcp && peer == entry.remote_rtcp);
}

/// The address without a host or port to send to?
bool is_unknown(const io::SocketAddress& address) noexcept {
  return address.port() == 0 || address.is_unspecified();
}

/// Where RTP for the peer goes: to where a latched one sends from, else to where it asked for.
const io::SocketAddress& rtp_peer(const MediaConnection& connection) noexcept {
  return connection.learned_source.port() != 0 ? connection.learned_source
                                               : connection.entry.remote_rtp;
}

/// The same for RTCP; a latched peer that sent none yet is guessed to have it on the announced
/// port.
io::SocketAddress rtcp_peer(const MediaConnection& connection) noexcept {
  const ForwardingEntry& entry = connection.entry;
  if (connection.learned_source.port() == 0) {
    return entry.remote_rtcp;
  }
  if (connection.learned_rtcp.port() != 0) {
    return connection.learned_rtcp;
  }
  return entry.rtcp_mux ? connection.learned_source
                        : connection.learned_source.with_port(entry.remote_rtcp.port());
}

/// Whether a packet of an announced AMR payload type is packed as announced.
bool keeps_announced_format(const ForwardingEntry& entry, const rtp::RtpHeader& header,
                            const io::Datagram& datagram) noexcept {
  for (const AnnouncedAmr& announced : entry.announced_amr) {
    if (announced.payload_type == header.payload_type) {
      return rtp::has_amr_format(
          datagram.bytes().subspan(header.payload_offset, header.payload_size), announced.codec,
          announced.format);
    }
  }
  return true;
}

}  // namespace

MediaPath::MediaPath(io::Backend& backend, io::BufferPool& pool) noexcept
    : backend_(backend), pool_(pool) {
  notable_.reserve(kNotableMax);
}

void MediaPath::forward(std::span<io::Datagram> received, io::TimePoint now) noexcept {
  counters_.received.add(received.size());
  for (io::Datagram& datagram : received) {
    forward_one(datagram, now);
    datagram.buffer = io::Buffer();
  }
}

void MediaPath::forward_one(io::Datagram& datagram, io::TimePoint now) noexcept {
  const auto slot = static_cast<std::uint32_t>(datagram.tag);
  MediaConnection* connection = find(slot);
  if (connection == nullptr) {
    drop(DropCause::closed_connection);
    return;
  }
  const bool on_rtp_socket = datagram.socket == connection->rtp_socket;
  if (!on_rtp_socket && datagram.socket != connection->rtcp_socket) {
    drop(*connection, DropCause::closed_connection);  // a socket of an earlier binding
    return;
  }
  const auto kind = rtp::classify(datagram.bytes());
  if (kind == rtp::PacketKind::keep_alive) {
    counters_.consumed.add();
    return;
  }
  if (!on_rtp_socket) {
    forward_rtcp(slot, *connection, datagram, now);
    return;
  }
  switch (kind) {
    case rtp::PacketKind::rtcp:
      forward_rtcp(slot, *connection, datagram, now);
      return;
    case rtp::PacketKind::stun:
    case rtp::PacketKind::zrtp:
    case rtp::PacketKind::dtls:
    case rtp::PacketKind::turn_channel:
      // A short datagram of that sort is just garbage: the RTP check names what is wrong with it.
      if (datagram.size >= rtp::kRtpHeaderBytes) {
        drop_notable(slot, *connection, DropCause::other_protocol);
        return;
      }
      [[fallthrough]];
    case rtp::PacketKind::rtp:
    case rtp::PacketKind::keep_alive:
    case rtp::PacketKind::other:
      forward_rtp(slot, *connection, datagram, now);
      return;
  }
}

template <typename Emit>
void MediaPath::fan_out(std::span<const Route> routes, io::Datagram& datagram, Emit emit) noexcept {
  for (const Route& route : routes.first(routes.size() - 1)) {
    io::Datagram extra;
    counters_.copied.add();
    if (copy(datagram, extra)) {
      emit(route, std::move(extra));
    }
  }
  emit(routes.back(), std::move(datagram));
}

void MediaPath::forward_rtp(std::uint32_t slot, MediaConnection& source, io::Datagram& datagram,
                            io::TimePoint now) noexcept {
  const auto header = rtp::parse_rtp(datagram.bytes());
  if (!header) {
    drop_notable(slot, source, drop_cause(header.error()));
    return;
  }
  if (!accept_source(slot, source, datagram, false, now)) {
    return;
  }
  const ForwardingEntry& entry = source.entry;
  source.last_activity = now;
  source.rtp_received.count(datagram.size);
  counters_.rtp_packets_received.add();
  counters_.rtp_octets_received.add(datagram.size);
  source.statistics.on_packet(*header, now, entry.timing.packet_duration_ticks);
  if (!leads_somewhere(source)) {
    return;
  }
  if (!keeps_announced_format(entry, *header, datagram)) {
    drop_notable(slot, source, DropCause::amr_format_mismatch);
    return;
  }
  const rtp::TimelinePatch patch = source.timeline.next(*header, now, entry.timeline, entry.timing);
  rtp::write_patch(datagram.bytes(), patch);
  fan_out(entry.routes, datagram, [&](const Route& route, io::Datagram&& one) {
    emit_rtp(source, route, *header, std::move(one));
  });
}

void MediaPath::emit_rtp(const MediaConnection& source, const Route& route, rtp::RtpHeader header,
                         io::Datagram&& datagram) noexcept {
  MediaConnection* const found = find(route.slot);
  if (found == nullptr) {
    drop(DropCause::closed_connection);
    return;
  }
  MediaConnection& target = *found;
  const io::SocketAddress& peer = rtp_peer(target);
  if (is_unknown(peer)) {
    drop(target, DropCause::target_unknown);
    return;
  }
  if (!route.echo) {
    const rtp::PayloadDecision decision =
        rtp::map_payload_type(source.entry.source_types, target.entry.target_types,
                              header.payload_type, source.entry.unknown_payload_types);
    if (decision.action == rtp::PayloadAction::drop_unmapped) {
      drop_notable(route.slot, target, DropCause::unmapped_payload_type);
      return;
    }
    rtp::set_payload_type(datagram.bytes(), decision.payload_type);
    if (decision.conversion != rtp::Conversion::none) {
      const std::span<std::byte> room(datagram.bytes().data(),
                                      datagram.buffer.capacity() - datagram.offset);
      const auto size = rtp::convert_payload(decision.conversion, room, header);
      if (!size) {
        drop_notable(route.slot, target, drop_cause(size.error()));
        return;
      }
      datagram.size = static_cast<std::uint32_t>(*size);
    }
  }
  target.rtp_sent.count(datagram.size);
  counters_.rtp_packets_sent.add();
  counters_.rtp_octets_sent.add(datagram.size);
  send(target.rtp_socket, peer, std::move(datagram));
}

void MediaPath::forward_rtcp(std::uint32_t slot, MediaConnection& source, io::Datagram& datagram,
                             io::TimePoint now) noexcept {
  if (const auto valid = rtp::validate_rtcp(datagram.bytes()); !valid) {
    drop_notable(slot, source, drop_cause(valid.error()));
    return;
  }
  if (!accept_source(slot, source, datagram, true, now)) {
    return;
  }
  source.last_activity = now;
  source.rtcp_received.count(datagram.size);
  counters_.rtcp_packets_received.add();
  rtp::RtcpReader reader(datagram.bytes());
  while (const auto packet = reader.next()) {
    if (const auto sender = rtp::read_sender_info(*packet)) {
      source.statistics.on_sender_report(*sender, now);
    }
  }
  if (!leads_somewhere(source)) {
    return;
  }
  fan_out(source.entry.routes, datagram, [&](const Route& route, io::Datagram&& one) {
    emit_rtcp(source, route, std::move(one));
  });
}

bool MediaPath::leads_somewhere(MediaConnection& source) noexcept {
  if (!source.entry.receives) {
    drop(source, DropCause::mode_not_receiving);
    return false;
  }
  if (source.entry.routes.empty()) {
    drop(source, DropCause::no_target);
    return false;
  }
  return true;
}

void MediaPath::emit_rtcp(const MediaConnection& source, const Route& route,
                          io::Datagram&& datagram) noexcept {
  MediaConnection* const found = find(route.slot);
  if (found == nullptr) {
    drop(DropCause::closed_connection);
    return;
  }
  MediaConnection& target = *found;
  if (target.entry.omit_rtcp) {
    drop(target, DropCause::rtcp_omitted);
    return;
  }
  const io::SocketAddress peer = rtcp_peer(target);
  if (is_unknown(peer)) {
    drop(target, DropCause::target_unknown);
    return;
  }
  rtp::RtcpRewrite rewrite;
  rewrite.sender = source.timeline.mapping();
  rewrite.reported = target.timeline.mapping();
  if (rewrite.sender.active || rewrite.reported.active) {
    datagram.size = static_cast<std::uint32_t>(rtp::rewrite_rtcp(datagram.bytes(), rewrite));
    if (datagram.size == 0) {
      drop(target, DropCause::rtcp_outdated);
      return;
    }
  }
  target.rtcp_sent.count(datagram.size);
  counters_.rtcp_packets_sent.add();
  send(target.entry.rtcp_mux ? target.rtp_socket : target.rtcp_socket, peer, std::move(datagram));
}

bool MediaPath::accept_source(std::uint32_t slot, MediaConnection& source,
                              const io::Datagram& datagram, bool rtcp, io::TimePoint now) noexcept {
  const ForwardingEntry& entry = source.entry;
  if (entry.source == SourceCheck::any) {
    return true;
  }
  if (is_unknown(entry.remote_rtp)) {
    drop(source, DropCause::no_remote_address);
    return false;
  }
  if (entry.source == SourceCheck::latch) {
    const bool left_over = datagram.peer == source.refused_source && now < source.refused_until;
    if (source.learned_source.port() == 0 && !rtcp && !left_over) {
      source.learned_source = datagram.peer;
    }
    if (rtcp && datagram.peer.same_host(source.learned_source)) {
      source.learned_rtcp = datagram.peer;
      return true;
    }
    if (datagram.peer == source.learned_source) {
      return true;
    }
    if (rtcp && source.learned_source.port() == 0 &&
        is_announced_source(entry, datagram.peer, rtcp)) {
      return true;
    }
  } else if (is_announced_source(entry, datagram.peer, rtcp)) {
    return true;
  }
  drop_notable(slot, source, DropCause::unknown_source);
  return false;
}

void MediaPath::send_keep_alive(MediaConnection& connection) noexcept {
  const ForwardingEntry& entry = connection.entry;
  if (is_unknown(entry.remote_rtp)) {
    return;
  }
  const auto send_one = [&](const io::SocketId& socket, const io::SocketAddress& peer) {
    io::Buffer buffer = pool_.take();
    if (!buffer || is_unknown(peer)) {
      return;
    }
    io::Datagram datagram;
    buffer.data()[io::kHeadroomBytes] = rtp::kKeepAliveByte;
    datagram.buffer = std::move(buffer);
    datagram.offset = io::kHeadroomBytes;
    datagram.size = 1;
    counters_.generated.add();
    send(socket, peer, std::move(datagram));
  };
  send_one(connection.rtp_socket, rtp_peer(connection));
  if (!entry.omit_rtcp && !entry.rtcp_mux) {
    send_one(connection.rtcp_socket, rtcp_peer(connection));
  }
}

bool MediaPath::copy(const io::Datagram& from, io::Datagram& to) noexcept {
  to.buffer = pool_.take();
  if (!to.buffer) {
    drop(DropCause::no_buffer);
    return false;
  }
  to.offset = from.offset;
  to.size = from.size;
  std::memcpy(to.bytes().data(), from.bytes().data(), from.size);
  return true;
}

void MediaPath::send(const io::SocketId& socket, const io::SocketAddress& peer,
                     io::Datagram&& datagram) noexcept {
  datagram.socket = socket;
  datagram.peer = peer;
  counters_.sent.add();
  backend_.send(std::move(datagram));
}

void MediaPath::drop(DropCause cause) noexcept {
  counters_.dropped[static_cast<std::size_t>(cause)].add();
}

void MediaPath::drop(MediaConnection& connection, DropCause cause) noexcept {
  ++connection.dropped;
  drop(cause);
}

void MediaPath::drop_notable(std::uint32_t slot, MediaConnection& connection,
                             DropCause cause) noexcept {
  drop(connection, cause);
  if (connection.notable_drops == 0) {
    if (notable_.size() == kNotableMax) {
      return;
    }
    notable_.push_back(slot);
  }
  ++connection.notable_drops;
  connection.notable_cause = cause;
}

void MediaPath::install(std::uint32_t slot, std::unique_ptr<MediaConnection> connection) {
  if (slot >= connections_.size()) {
    connections_.resize(std::max<std::size_t>(slot + 1U, 2 * connections_.size()));
  }
  MGW_ASSERT(connections_[slot] == nullptr);
  connections_[slot] = std::move(connection);
  counters_.connections.set(counters_.connections.value() + 1);
}

std::unique_ptr<MediaConnection> MediaPath::take(std::uint32_t slot) noexcept {
  MGW_ASSERT(find(slot) != nullptr);
  counters_.connections.set(counters_.connections.value() - 1);
  return std::move(connections_[slot]);
}

void MediaPath::take_notable(std::vector<std::uint32_t>& report) noexcept {
  report.assign(notable_.begin(), notable_.end());
  notable_.clear();  // keeps its capacity: the packet path does not allocate
}

}  // namespace mgw
