#include "mgw/media_path.h"

#include "io/assert.h"
#include "mgw/kernel_flows.h"
#include "rtp/demultiplex.h"
#include "rtp/payload_conversion.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <utility>

namespace mgw {

namespace {

/// A leg that becomes due earlier than it was leaves its former timer to run out: seldom more than
/// one, as none of them lies further ahead than a few packets.
constexpr std::size_t kLegTimersPerSlot = 4;

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

/// Whether RTCP of our own may go to the peer.
bool takes_rtcp(const MediaConnection& connection) noexcept {
  return !connection.entry.omit_rtcp && (!connection.leg || connection.leg->relays_rtcp()) &&
         !is_unknown(rtcp_peer(connection));
}

/// Whether the peer keeps to the packets per second that it may send.
bool keeps_pace(MediaConnection& connection, io::TimePoint now) noexcept {
  const io::Duration interval = connection.entry.packet_interval;
  return interval == io::Duration::zero() || connection.pace.take(now, interval, kPaceBurst);
}

/// Octets of the headers of IP and UDP on the way from or to `peer`.
std::size_t ip_header_bytes(const io::SocketAddress& peer) noexcept {
  constexpr std::size_t kIpv4 = 20 + 8;
  constexpr std::size_t kIpv6 = 40 + 8;
  return peer.family() == io::AddressFamily::ipv6 ? kIpv6 : kIpv4;
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
    : backend_(backend), pool_(pool), taps_(backend, pool, counters_) {
  notable_.reserve(kNotableMax);
  failures_.reserve(kNotableMax);
}

/// A latched peer's packets go to where it sends from, others to where it asked for.
const io::SocketAddress& MediaPath::rtp_peer(const MediaConnection& connection) noexcept {
  return connection.learned_source.port() != 0 ? connection.learned_source
                                               : connection.entry.remote_rtp;
}

void MediaPath::forward(std::span<io::Datagram> received, io::TimePoint now) noexcept {
  taps_.begin(now);
  counters_.received.add(received.size());
  for (io::Datagram& datagram : received) {
    forward_one(datagram, now);
    datagram.buffer = io::Buffer();
  }
}

void MediaPath::forward_one(io::Datagram& datagram, io::TimePoint now) noexcept {
  if (datagram.tag >= kDeviceTag) {
    devices_[datagram.tag - kDeviceTag]->receive(*this, datagram, now);
    return;
  }
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
  const LegContext context{*this, source, slot, now};
  MediaPacket packet{std::move(datagram), *header};
  const bool stranger_welcome = source.leg && source.leg->accepts_stranger(context, packet);
  if (!stranger_welcome && !accept_source(slot, source, packet.datagram, false, now)) {
    return;
  }
  if (!keeps_pace(source, now)) {
    drop_notable(slot, source, DropCause::peer_too_fast);
    return;
  }
  if (source.kernel.active) {
    kernel_flows_->interrupt(source, now);
  }
  if (source.tap != nullptr) {
    taps_.received(source, packet.datagram);
  }
  count_received(source, packet, now);
  if (source.leg && !run_ingress(context, packet)) {
    return;
  }
  const std::uint8_t payload_type = packet.header.payload_type;
  deliver(context, packet);
  if (kernel_flows_ != nullptr) {
    kernel_flows_->on_forwarded(slot, source, payload_type, now);
  }
}

void MediaPath::count_received(MediaConnection& source, const MediaPacket& packet,
                               io::TimePoint now) noexcept {
  source.live.last_activity.set(now);
  source.live.rtp_received.count(packet.datagram.size);
  counters_.rtp_packets_received.add();
  counters_.rtp_octets_received.add(packet.datagram.size);
  source.statistics.on_packet(packet.header, now, source.entry.timing.packet_duration_ticks);
  source.live.timestamp_errors_in.set(source.statistics.timestamp_errors());
  if (source.rtcp) {
    source.rtcp->on_rtp_received();
  }
}

void MediaPath::deliver(const LegContext& context, MediaPacket& packet) noexcept {
  MediaConnection& source = context.connection;
  const ForwardingEntry& entry = source.entry;
  if (!leads_somewhere(source)) {
    return;
  }
  if (!keeps_announced_format(entry, packet.header, packet.datagram)) {
    drop_notable(context.slot, source, DropCause::amr_format_mismatch);
    return;
  }
  const rtp::TimelineTiming timing = source.leg ? source.leg->media_timing(entry) : entry.timing;
  const rtp::TimelinePatch patch =
      source.timeline.next(packet.header, context.now, entry.timeline, timing);
  source.live.timestamp_errors_out.set(source.timeline.timestamp_errors());
  rtp::write_patch(packet.datagram.bytes(), patch);
  fan_out(entry.routes, packet.datagram, [&](const Route& route, io::Datagram&& one) {
    emit_rtp(context, route, MediaPacket{std::move(one), packet.header, packet.iuup});
  });
}

void MediaPath::emit_rtp(const LegContext& source, const Route& route,
                         MediaPacket&& packet) noexcept {
  MediaConnection* const found = find(route.slot);
  if (found == nullptr) {
    drop(DropCause::closed_connection);
    return;
  }
  const LegContext target{*this, *found, route.slot, source.now};
  if (!found->leg && is_unknown(rtp_peer(*found))) {
    drop(*found, DropCause::target_unknown);
    return;
  }
  if (!route.echo && !map_payload(source.connection, target, packet)) {
    return;
  }
  if (found->leg) {
    if (found->tap != nullptr && found->rtp_socket == io::SocketId()) {
      taps_.to_device(*found, packet.datagram);
    }
    found->leg->egress(target, std::move(packet));
    reschedule(route.slot, *found);
    return;
  }
  send_rtp(target, std::move(packet.datagram));
}

bool MediaPath::map_payload(const MediaConnection& source, const LegContext& target,
                            MediaPacket& packet) noexcept {
  const rtp::PayloadDecision decision =
      rtp::map_payload_type(source.entry.source_types, target.connection.entry.target_types,
                            packet.header.payload_type, source.entry.unknown_payload_types);
  if (decision.action == rtp::PayloadAction::drop_unmapped) {
    drop(target, DropCause::unmapped_payload_type);
    return false;
  }
  io::Datagram& datagram = packet.datagram;
  rtp::set_payload_type(datagram.bytes(), decision.payload_type);
  packet.header.payload_type = decision.payload_type;
  if (decision.conversion == rtp::Conversion::none) {
    return true;
  }
  const std::span<std::byte> room(datagram.bytes().data(),
                                  datagram.buffer.capacity() - datagram.offset);
  const auto size = rtp::convert_payload(decision.conversion, room, packet.header);
  if (!size) {
    drop(target, drop_cause(size.error()));
    return false;
  }
  datagram.size = static_cast<std::uint32_t>(*size);
  return true;
}

void MediaPath::send_rtp(const LegContext& context, io::Datagram&& datagram) noexcept {
  MediaConnection& target = context.connection;
  const io::SocketAddress& peer = rtp_peer(target);
  if (is_unknown(peer)) {
    drop(target, DropCause::target_unknown);
    return;
  }
  if (target.rtcp) {
    target.rtcp->on_rtp_sent(datagram.bytes(), target.entry.timing.clock_rate_hz, target.statistics,
                             context.now);
  }
  target.live.rtp_sent.count(datagram.size);
  counters_.rtp_packets_sent.add();
  counters_.rtp_octets_sent.add(datagram.size);
  send(&target, target.rtp_socket, peer, std::move(datagram));
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
  if (!keeps_pace(source, now)) {
    drop_notable(slot, source, DropCause::peer_too_fast);
    return;
  }
  if (source.tap != nullptr) {
    taps_.received(source, datagram);
  }
  if (kernel_flows_ != nullptr) {
    kernel_flows_->update(slot);  // RTCP speaks of what media have passed
  }
  source.live.last_activity.set(now);
  source.rtcp_received.count(datagram.size);
  counters_.rtcp_packets_received.add();
  rtp::RtcpReader reader(datagram.bytes());
  while (const auto packet = reader.next()) {
    if (const auto sender = rtp::read_sender_info(*packet)) {
      source.statistics.on_sender_report(*sender, now);
    }
  }
  if (source.rtcp && !consume_reports(source, datagram, now)) {
    counters_.consumed.add();
    return;
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
    drop(source, source.entry.loops ? DropCause::media_loop : DropCause::no_target);
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
  if (target.entry.omit_rtcp || (target.leg && !target.leg->relays_rtcp())) {
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
  rewrite.without_reports = source.leg && source.leg->numbers_anew();
  if (target.leg && target.leg->numbers_anew()) {
    drop(target, DropCause::rtcp_outdated);  // no source of ours is known to that peer
    return;
  }
  if (rewrite.without_reports || rewrite.sender.active || rewrite.reported.active) {
    datagram.size = static_cast<std::uint32_t>(rtp::rewrite_rtcp(datagram.bytes(), rewrite));
    if (datagram.size == 0) {
      drop(target, DropCause::rtcp_outdated);
      return;
    }
  }
  if (target.rtcp && !target.rtcp->open_compound(datagram)) {
    drop(target, DropCause::conversion_no_room);
    return;
  }
  target.rtcp_sent.count(datagram.size);
  counters_.rtcp_packets_sent.add();
  send(&target, target.entry.rtcp_mux ? target.rtp_socket : target.rtcp_socket, peer,
       std::move(datagram));
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
      if (kernel_flows_ != nullptr) {
        kernel_flows_->on_change(slot);  // what is sent there goes elsewhere from now on
      }
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

void MediaPath::send_keep_alive(std::uint32_t slot, MediaConnection& connection,
                                io::TimePoint now) noexcept {
  const ForwardingEntry& entry = connection.entry;
  if (is_unknown(entry.remote_rtp)) {
    return;
  }
  const std::array<std::byte, 1> keep_alive = {rtp::kKeepAliveByte};
  if (connection.leg) {
    connection.leg->send_keep_alive({*this, connection, slot, now});
    if (!connection.leg->relays_rtcp()) {
      return;
    }
  } else {
    send_generated(connection.rtp_socket, rtp_peer(connection), keep_alive, &connection);
  }
  if (!entry.omit_rtcp && !entry.rtcp_mux) {
    send_generated(connection.rtcp_socket, rtcp_peer(connection), keep_alive, &connection);
  }
}

bool MediaPath::consume_reports(MediaConnection& source, io::Datagram& datagram,
                                io::TimePoint now) noexcept {
  const RtcpReporting::Consumed consumed =
      source.rtcp->consume(datagram.bytes(), ip_header_bytes(datagram.peer), now);
  counters_.rtcp_reports_received.add(consumed.reports);
  datagram.size = static_cast<std::uint32_t>(consumed.left_bytes);
  return datagram.size > 0;
}

void MediaPath::send_own_rtcp(MediaConnection& connection,
                              std::span<const std::byte> compound) noexcept {
  if (compound.empty()) {
    return;
  }
  counters_.rtcp_reports_sent.add();
  connection.rtcp_sent.count(compound.size());
  counters_.rtcp_packets_sent.add();
  send_generated(connection.entry.rtcp_mux ? connection.rtp_socket : connection.rtcp_socket,
                 rtcp_peer(connection), compound, &connection);
}

void MediaPath::send_report(MediaConnection& connection, io::TimePoint now) noexcept {
  std::array<std::byte, rtp::kRtcpReportBytesMax> compound;
  const std::size_t size = connection.rtcp->write_due_report(
      compound, connection.statistics, ip_header_bytes(connection.entry.remote_rtcp),
      takes_rtcp(connection), now);
  send_own_rtcp(connection, std::span(compound).first(size));
}

void MediaPath::send_goodbye(MediaConnection& connection, io::TimePoint now) noexcept {
  if (connection.rtcp == nullptr || !takes_rtcp(connection)) {
    return;
  }
  std::array<std::byte, rtp::kRtcpReportBytesMax> compound;
  const std::size_t size = connection.rtcp->write_goodbye(compound, connection.statistics, now);
  send_own_rtcp(connection, std::span(compound).first(size));
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

void MediaPath::send(const MediaConnection* connection, const io::SocketId& socket,
                     const io::SocketAddress& peer, io::Datagram&& datagram) noexcept {
  datagram.socket = socket;
  datagram.peer = peer;
  if (connection != nullptr && connection->tap != nullptr) {
    taps_.sent(*connection, datagram);
  }
  counters_.sent.add();
  backend_.send(std::move(datagram));
}

void MediaPath::drop(DropCause cause) noexcept {
  counters_.dropped[static_cast<std::size_t>(cause)].add();
}

void MediaPath::drop(MediaConnection& connection, DropCause cause) noexcept {
  connection.live.dropped.add();
  if (auto& count = connection.drops[static_cast<std::size_t>(cause)];
      count != std::numeric_limits<std::uint32_t>::max()) {
    ++count;
  }
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
    leg_timers_.reserve(kLegTimersPerSlot * connections_.size());
    if (kernel_flows_ != nullptr) {
      kernel_flows_->reserve(connections_.size());
    }
  }
  MGW_ASSERT(connections_[slot] == nullptr);
  connections_[slot] = std::move(connection);
  counters_.connections.set(counters_.connections.value() + 1);
}

void MediaPath::take_notable(std::vector<std::uint32_t>& report) noexcept {
  report.assign(notable_.begin(), notable_.end());
  notable_.clear();  // keeps its capacity: the packet path does not allocate
}

}  // namespace mgw
