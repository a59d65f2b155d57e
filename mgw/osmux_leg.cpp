#include "mgw/osmux_leg.h"

#include "rtp/amr.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace mgw {

namespace {

/// Datagrams that were on their way when a peer moved have arrived after this.
constexpr io::Duration kLateDatagramsEnd = std::chrono::seconds(2);
/// The bit of AMR's table of contents that says that another frame follows (RFC 4867
/// section 4.4.2).
constexpr auto kFollowed = std::byte{0x80};
constexpr auto kGood = std::byte{0x04};

bool has_several_frames(std::span<const std::byte> payload) noexcept {
  return payload.size() >= 2 && (payload[1] & kFollowed) != std::byte{0};
}

bool is_known(const io::SocketAddress& address) noexcept {
  return address.port() != 0 && !address.is_unspecified();
}

}  // namespace

OsmuxLeg::OsmuxLeg(const OsmuxCircuit& circuit, const rtp::OsmuxPlayoutOptions& stream) noexcept
    : device_(*circuit.device),
      local_(circuit.local),
      peer_behind_nat_(circuit.peer_behind_nat),
      link_(circuit.link),
      stream_(stream) {
  stream_.payload_type = kOsmuxAmrPayloadType;
}

tl::expected<IngressAction, DropCause> OsmuxLeg::ingress(const LegContext& /*context*/,
                                                         MediaPacket& /*packet*/) noexcept {
  return tl::unexpected(DropCause::closed_connection);
}

void OsmuxLeg::entry_applied(const LegContext& context) noexcept {
  device_.attach(context.path, local_, *this, context.slot);
  const ForwardingEntry& entry = context.connection.entry;
  const bool described_anew = described_ != std::exchange(described_, entry.remote_rtp);
  if (peer_behind_nat_) {
    if (peer_ != nullptr && described_anew) {
      refused_source_ = peer_->address;
      refused_until_ = context.now + kLateDatagramsEnd;
      disable(context);
    }
    remote_ = entry.osmux_circuit;
    return;
  }
  if (peer_ != nullptr && peer_->address != entry.remote_rtp) {
    disable(context);
  }
  remote_ = entry.osmux_circuit;
  if (peer_ == nullptr && remote_ && is_known(entry.remote_rtp)) {
    enable(context, entry.remote_rtp);
  }
}

void OsmuxLeg::enable(const LegContext& context, const io::SocketAddress& peer) noexcept {
  peer_ = device_.join(context.path, peer, *remote_, link_, context.now);
  if (peer_ != nullptr && !playout_) {
    rtp::OsmuxPlayoutOptions options = stream_;
    options.ssrc = rtp::osmux_ssrc(*remote_, stream_.ssrc);
    playout_.emplace(options);
  }
}

void OsmuxLeg::disable(const LegContext& context) noexcept {
  if (peer_ != nullptr) {
    device_.leave(context.path, *std::exchange(peer_, nullptr), *remote_);
  }
}

void OsmuxLeg::detached(const LegContext& context) noexcept {
  disable(context);
  device_.detach(context.path, local_);
}

tl::expected<void, DropCause> OsmuxLeg::on_chunk(const LegContext& context,
                                                 const rtp::OsmuxChunk& chunk,
                                                 const io::SocketAddress& source) noexcept {
  if (peer_ == nullptr && peer_behind_nat_ && remote_ &&
      (source != refused_source_ || context.now >= refused_until_)) {
    enable(context, source);
  }
  if (peer_ == nullptr) {
    return tl::unexpected(DropCause::osmux_not_enabled);
  }
  if (source != peer_->address) {
    return tl::unexpected(DropCause::unknown_source);
  }
  if (chunk.header.kind == rtp::OsmuxKind::voice) {
    context.connection.live.last_activity.set(context.now);
    play(context);  // what is due makes room for what comes
    playout_->on_chunk(chunk, context.now);
    OsmuxLegCounters& counters = context.connection.live.osmux;
    counters.chunks_received.set(playout_->statistics().chunks_in);
    counters.octets_received.set(playout_->statistics().octets_in);
    play(context);
    context.path.reschedule(context.slot, context.connection);
  }
  return {};
}

io::TimePoint OsmuxLeg::next_due() const noexcept {
  return playout_ ? playout_->next_look() : io::kNever;
}

void OsmuxLeg::play(const LegContext& context) noexcept {
  if (playout_->pending() == 0) {
    static_cast<void>(playout_->take_due(context.now, {}));
  }
  while (playout_->next_due() <= context.now) {
    io::Datagram datagram = context.path.new_datagram();
    if (!datagram.buffer) {
      std::array<std::byte, rtp::kOsmuxRtpBytesMax> lost;
      static_cast<void>(playout_->take_due(context.now, lost));
      context.path.drop_generated(context, DropCause::no_buffer);
      continue;
    }
    const std::span<std::byte> room(datagram.buffer.data() + datagram.offset,
                                    datagram.buffer.capacity() - datagram.offset);
    datagram.size = static_cast<std::uint32_t>(playout_->take_due(context.now, room));
    const auto header = rtp::parse_rtp(datagram.bytes());
    if (!header) {
      return;  // nothing was due after all
    }
    context.path.inject(context, MediaPacket{std::move(datagram), *header});
  }
}

void OsmuxLeg::egress(const LegContext& context, MediaPacket&& packet) noexcept {
  tl::expected<void, DropCause> pushed;
  if (packet.header.payload_type != kOsmuxAmrPayloadType) {
    pushed = tl::unexpected(DropCause::unmapped_payload_type);
  } else if (peer_ == nullptr) {
    pushed = tl::unexpected(DropCause::target_unknown);
  } else {
    pushed = push(context, packet);
  }
  OsmuxLegCounters& counters = context.connection.live.osmux;
  if (!pushed) {
    counters.packets_dropped.add();
    context.path.drop(context, pushed.error());
    return;
  }
  counters.packets_encoded.add();
  counters.amr_octets_encoded.add(packet.header.payload_size);
  context.path.count_taken(context, packet.datagram.size);
}

tl::expected<void, DropCause> OsmuxLeg::push(const LegContext& context,
                                             const MediaPacket& packet) noexcept {
  const std::span<const std::byte> payload =
      packet.datagram.bytes().subspan(packet.header.payload_offset, packet.header.payload_size);
  const auto push_one = [&](const rtp::RtpHeader& header, std::span<const std::byte> frame) {
    return device_.push(context.path, *peer_, *remote_, header, frame, context.now)
        .map_error([](rtp::OsmuxRefusal refusal) { return drop_cause(refusal); });
  };
  if (!has_several_frames(payload)) {
    return push_one(packet.header, payload);
  }
  const auto amr =
      rtp::parse_amr(payload, rtp::AmrCodec::narrowband, rtp::AmrFormat::octet_aligned);
  if (!amr) {
    return tl::unexpected(drop_cause(amr.error()));
  }
  // Frames get the numbers that they had if the source sent them one by one: they are consecutive
  // from packet to packet, also where the numbers wrap.
  rtp::RtpHeader header = packet.header;
  header.sequence = static_cast<std::uint16_t>(header.sequence * amr->frame_count);
  tl::expected<void, DropCause> outcome;
  for (const rtp::AmrFrame& frame : std::span(amr->frames).first(amr->frame_count)) {
    std::array<std::byte, 2 + rtp::kOsmuxFrameBytesMax> single;
    const auto speech = payload.subspan(frame.offset_bits / 8, (frame.bits + 7U) / 8);
    single[0] = payload[0];
    single[1] = static_cast<std::byte>(frame.type << 3U) | (frame.good ? kGood : std::byte{0});
    std::copy(speech.begin(), speech.end(), single.begin() + 2);
    outcome = push_one(header, std::span(single).first(2 + speech.size()));
    ++header.sequence;
    header.timestamp += rtp::kOsmuxFrameTicks;
    header.marker = false;
  }
  return outcome;
}

void OsmuxLeg::send_keep_alive(const LegContext& context) noexcept {
  const io::SocketAddress& peer =
      peer_ != nullptr ? peer_->address : context.connection.entry.remote_rtp;
  if (remote_ && is_known(peer)) {
    device_.send_dummy(context.path, peer, *remote_);
  }
}

void OsmuxLeg::add_counters(ConnectionCounters& counters) const noexcept {
  if (playout_) {
    const rtp::OsmuxPlayoutStatistics& statistics = playout_->statistics();
    counters.osmux = OsmuxTraffic{statistics.chunks_in, statistics.octets_in};
  }
}

}  // namespace mgw
