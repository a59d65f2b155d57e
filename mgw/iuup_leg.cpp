#include "mgw/iuup_leg.h"

#include "mgw/media_path.h"
#include "mgw/state_codec.h"
#include "rtp/stream_statistics.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <variant>

namespace mgw {

namespace {

using rtp::AmrCodec;

/// Ticks of 20 ms at the rates of AMR and AMR-WB.
constexpr std::uint16_t kAmrFrameTicks = 160;
constexpr std::uint16_t kAmrWbFrameTicks = 320;
/// RTP sequence numbers to the peer that are left out where nobody knows how many were used: those
/// of two seconds, twice the usual time between two records.
constexpr std::uint16_t kResumeSequenceStep = 100;
/// The frame type of silence descriptors; those from it on are no speech.
constexpr std::uint8_t kAmrSid = 8;
constexpr std::uint8_t kAmrWbSid = 9;

bool is_unknown(const io::SocketAddress& address) noexcept {
  return address.port() == 0 || address.is_unspecified();
}

/// The longest frame, AMR-WB at 23.85 kbit/s.
constexpr std::size_t kFrameBytesMax = 60;

/// Bits that only AMR-WB speech has (3GPP TS 26.201 table 1a), also in whole octets; AMR none of
/// them.
constexpr std::array<std::uint32_t, 17> kWidebandBits = {
    132, 177, 253, 285, 317, 365, 397, 461, 477, 184, 256, 288, 320, 368, 400, 464, 480};

AmrCodec codec_of(bool wideband) noexcept {
  return wideband ? AmrCodec::wideband : AmrCodec::narrowband;
}

/// The octet-aligned payload of a packet.
std::span<std::byte> payload_of(MediaPacket& packet) noexcept {
  return packet.datagram.bytes().subspan(packet.header.payload_offset, packet.header.payload_size);
}

/// The payload and what may be written behind it.
std::span<std::byte> room_of(MediaPacket& packet) noexcept {
  const io::Datagram& datagram = packet.datagram;
  return std::span(datagram.bytes().data(), datagram.buffer.capacity() - datagram.offset)
      .subspan(packet.header.payload_offset);
}

rtp::IuupNumbering numbering_of(const rtp::IuupConfiguration& set) noexcept {
  return set.has_intervals ? rtp::IuupNumbering::by_time : rtp::IuupNumbering::by_pdu;
}

/// Frames of 20 ms later in the same stream.
rtp::IuupPosition later(rtp::IuupPosition position, std::uint16_t frames) noexcept {
  position.sequence = static_cast<std::uint16_t>(position.sequence + frames);
  position.timestamp += std::uint32_t{position.interval_ticks} * frames;
  return position;
}

}  // namespace

IuupLeg::IuupLeg(const StreamStart& start) noexcept : stream_(start) {}

bool IuupLeg::accepts_stranger(const LegContext& context,
                               const MediaPacket& packet) const noexcept {
  if (!is_unknown(context.connection.entry.remote_rtp)) {
    return false;
  }
  const auto pdu = rtp::parse_iuup(
      packet.datagram.bytes().subspan(packet.header.payload_offset, packet.header.payload_size));
  if (!pdu) {
    return false;
  }
  const auto* control = std::get_if<rtp::IuupControl>(&*pdu);
  return control != nullptr && control->procedure == rtp::IuupProcedure::initialisation &&
         control->acknowledgement == rtp::IuupAcknowledgement::procedure;
}

tl::expected<IngressAction, DropCause> IuupLeg::ingress(const LegContext& context,
                                                        MediaPacket& packet) noexcept {
  const rtp::IuupReceived received = link_.on_pdu(payload_of(packet), context.now);
  if (!received.reply.bytes().empty()) {
    send_pdu(context, packet.datagram.peer, received.reply.bytes());
  }
  switch (received.event) {
    case rtp::IuupEvent::data:
      return take_data(context, received.data, packet);
    case rtp::IuupEvent::data_not_ready:
      return tl::unexpected(DropCause::iuup_not_initialised);
    case rtp::IuupEvent::malformed:
      return tl::unexpected(drop_cause(received.malformed));
    case rtp::IuupEvent::initialised:
      active_ = false;
      became_ready(context);
      break;
    case rtp::IuupEvent::initialisation_acknowledged:
      became_ready(context);
      break;
    case rtp::IuupEvent::initialisation_repeated:
      initialise_partners(context);
      break;
    case rtp::IuupEvent::rates_changed:
      limit_partners(context);
      break;
    default:
      break;  // the link has answered what wants an answer
  }
  uplink_.skip(packet.header.ssrc, packet.header.sequence);
  send_due(context);
  return IngressAction::consumed;
}

tl::expected<IngressAction, DropCause> IuupLeg::take_data(const LegContext& context,
                                                          const rtp::IuupData& data,
                                                          MediaPacket& packet) noexcept {
  const rtp::IuupConfiguration& set = link_.configuration();
  packet.iuup = IuupFrameDetails{data.frame_number, data.quality, data.rfci, &set};
  if (packet.header.padding_size > 0) {
    packet.datagram.size =
        static_cast<std::uint32_t>(rtp::remove_padding(packet.datagram.bytes(), packet.header));
  }
  const bool wideband = is_wideband();
  const AmrCodec codec = codec_of(wideband);
  const auto type = rtp::amr_type_of_iuup(set, codec, data);
  const auto size = rtp::iuup_to_amr(
      set, codec, data, rtp::amr_mode_request_of(set, codec, link_.peer_rates()), room_of(packet));
  if (size) {
    packet.header.payload_type = wideband ? kIuupAmrWbPayloadType : kIuupAmrPayloadType;
    packet.header.payload_size = static_cast<std::uint16_t>(*size);
  } else if (size.error() == rtp::ConversionError::wrong_length) {
    // No speech frame: another Iu UP leg may take it as it is.
    packet.header.payload_type = kIuupOpaquePayloadType;
    packet.header.payload_size = static_cast<std::uint16_t>(data.payload.size());
    std::memmove(room_of(packet).data(), data.payload.data(), data.payload.size());
  } else {
    return tl::unexpected(drop_cause(size.error()));
  }
  packet.datagram.size = packet.header.payload_offset + packet.header.payload_size;
  const bool silence = type && *type >= (wideband ? kAmrWbSid : kAmrSid);
  const rtp::IuupMediaNumbers numbers =
      uplink_.next({packet.header.ssrc, packet.header.timestamp, packet.header.sequence,
                    data.frame_number, silence},
                   numbering_of(set), wideband ? kAmrWbFrameTicks : kAmrFrameTicks, context.now);
  packet.header.sequence = numbers.sequence;
  packet.header.timestamp = numbers.timestamp;
  rtp::set_sequence(packet.datagram.bytes(), numbers.sequence);
  rtp::set_timestamp(packet.datagram.bytes(), numbers.timestamp);
  rtp::set_payload_type(packet.datagram.bytes(), packet.header.payload_type);
  return IngressAction::forward;
}

bool IuupLeg::is_wideband() const noexcept {
  const auto declared = link_.configuration().declared();
  return std::any_of(declared.begin(), declared.end(), [](const rtp::IuupRfci& rfci) {
    return std::find(kWidebandBits.begin(), kWidebandBits.end(), rfci.bits()) !=
           kWidebandBits.end();
  });
}

template <typename Visit>
void IuupLeg::for_each_partner(const LegContext& context, Visit visit) noexcept {
  for (const std::uint32_t slot : context.connection.entry.iuup_partners) {
    MediaConnection* partner = context.path.find(slot);
    if (partner != nullptr && partner->leg && partner->leg->kind() == LegKind::iuup) {
      visit(static_cast<IuupLeg&>(*partner->leg),
            LegContext{context.path, *partner, slot, context.now});
      context.path.reschedule(slot, *partner);
    }
  }
}

void IuupLeg::became_ready(const LegContext& context) noexcept {
  failed_ = false;
  mode_request_barred_ = 0;
  initialise_partners(context);
  update_limits(context);
  limit_partners(context);
}

void IuupLeg::initialise_partners(const LegContext& context) noexcept {
  for_each_partner(context, [this](IuupLeg& leg, const LegContext& partner) noexcept {
    leg.initialise_like(partner, *this);
  });
}

void IuupLeg::initialise_like(const LegContext& context, const IuupLeg& other) noexcept {
  const bool peers_choice = link_.state() == rtp::IuupState::ready && !active_;
  if (!peers_choice && !is_unknown(MediaPath::rtp_peer(context.connection))) {
    active_ = true;
    link_.start_initialisation(other.link_.configuration(), context.now);
    send_due(context);
  }
}

void IuupLeg::follow_peer(const LegContext& context) noexcept {
  const io::SocketAddress& named = context.connection.entry.remote_rtp;
  if (is_unknown(named)) {
    return;  // on hold
  }
  const bool other = !is_unknown(peer_) && peer_ != named;
  peer_ = named;
  if (other && active_ && link_.state() != rtp::IuupState::idle) {
    link_.initialise_again(context.now);
    send_due(context);
  }
}

void IuupLeg::update_limits(const LegContext& context) noexcept {
  std::uint64_t barred = mode_request_barred_;
  for_each_partner(context, [&](const IuupLeg& leg, const LegContext&) noexcept {
    if (leg.link_.state() == rtp::IuupState::ready && leg.link_.peer_rates()) {
      barred |= rtp::iuup_barred_between(leg.link_.configuration(), *leg.link_.peer_rates(),
                                         link_.configuration());
    }
  });
  link_.request_rates(barred, context.now);
  send_due(context);
}

void IuupLeg::limit_partners(const LegContext& context) noexcept {
  for_each_partner(context, [](IuupLeg& leg, const LegContext& partner) noexcept {
    leg.update_limits(partner);
  });
}

void IuupLeg::entry_applied(const LegContext& context) noexcept {
  clock_rate_hz_ = context.connection.entry.timing.clock_rate_hz;
  follow_peer(context);
  if (link_.state() == rtp::IuupState::ready) {
    initialise_partners(context);
    update_limits(context);
    return;
  }
  for_each_partner(context, [&](const IuupLeg& leg, const LegContext&) noexcept {
    if (leg.link_.state() == rtp::IuupState::ready &&
        link_.state() != rtp::IuupState::initialising) {
      initialise_like(context, leg);
    }
  });
}

void IuupLeg::on_due(const LegContext& context) noexcept {
  send_due(context);
}

void IuupLeg::send_due(const LegContext& context) noexcept {
  std::array<std::byte, rtp::kIuupInitialisationBytesMax> pdu;
  while (const std::size_t size = link_.on_timer(context.now, pdu)) {
    send_pdu(context, MediaPath::rtp_peer(context.connection), std::span(pdu).first(size));
  }
  if (link_.state() == rtp::IuupState::failed && !std::exchange(failed_, true)) {
    context.path.note_failure(context.slot);
  } else if (link_.state() != rtp::IuupState::failed) {
    failed_ = false;
  }
}

void IuupLeg::egress(const LegContext& context, MediaPacket&& packet) noexcept {
  const std::uint8_t type = packet.header.payload_type;
  if (type < kIuupAmrPayloadType || type > kIuupOpaquePayloadType) {
    context.path.drop(context, DropCause::unmapped_payload_type);
    return;
  }
  if (link_.state() != rtp::IuupState::ready) {
    context.path.drop(context, DropCause::iuup_not_initialised);
    return;
  }
  if (packet.header.ssrc != std::exchange(source_ssrc_, packet.header.ssrc) &&
      std::exchange(has_source_, true)) {
    link_.source_changed();
    source_frames_ = 0;
  }
  const bool opaque = type == kIuupOpaquePayloadType;
  const std::size_t skip = opaque ? 0 : rtp::kAmrSingleFrameHeaderBytes;
  if (packet.iuup && packet.header.payload_size >= skip) {
    const std::span<const std::byte> frame = payload_of(packet).subspan(skip);
    if (const auto rfci = rfci_of(*packet.iuup, frame.size())) {
      const rtp::IuupData data{0, packet.iuup->quality, *rfci, frame};
      rtp::IuupPosition position = position_of(packet, 1);
      if (numbering_of(*packet.iuup->configuration) == numbering_of(link_.configuration())) {
        position.kind = rtp::IuupPosition::Kind::iuup;
        position.sequence = packet.iuup->frame_number;
      }
      send_frame(context, std::move(packet), data, position);
      return;
    }
  }
  if (opaque) {
    context.path.drop(context, DropCause::conversion_no_equivalent);
    return;
  }
  send_amr(context, std::move(packet));
}

std::optional<std::uint8_t> IuupLeg::rfci_of(const IuupFrameDetails& frame,
                                             std::size_t bytes) const noexcept {
  const rtp::IuupConfiguration& source = *frame.configuration;
  const rtp::IuupConfiguration& target = link_.configuration();
  const std::uint8_t rfci = rtp::iuup_rfci_between(source, frame.rfci, target);
  const rtp::IuupRfci* declared = source.find(frame.rfci);
  const rtp::IuupRfci* sent = target.find(rfci);
  if (sent == nullptr) {
    return std::nullopt;
  }
  // Peers exist that use one RFCI for everything: what it was declared for says nothing then.
  const bool as_declared = declared != nullptr && (declared->bits() + 7) / 8 == bytes;
  return as_declared && declared->bits() != sent->bits() ? std::nullopt : std::optional(rfci);
}

rtp::IuupPosition IuupLeg::position_of(const MediaPacket& packet, std::uint16_t frames) noexcept {
  const bool wideband = packet.header.payload_type == kIuupAmrWbPayloadType;
  rtp::IuupPosition position{rtp::IuupPosition::Kind::rtp, packet.header.sequence,
                             packet.header.timestamp, wideband ? kAmrWbFrameTicks : kAmrFrameTicks};
  if (source_frames_ != 0) {
    // Packets that are missing between two had as many frames as the older of them.
    const int packets = static_cast<std::int16_t>(
        static_cast<std::uint16_t>(packet.header.sequence - source_sequence_));
    const int each = packets > 0 ? source_frames_ : frames;
    position.sequence = static_cast<std::uint16_t>(source_frame_ + packets * each);
    if (packets <= 0) {
      return position;
    }
  }
  source_sequence_ = packet.header.sequence;
  source_frame_ = position.sequence;
  source_frames_ = frames;
  return position;
}

void IuupLeg::follow_mode_request(const LegContext& context, AmrCodec codec,
                                  std::uint8_t mode_request) noexcept {
  const auto barred = rtp::iuup_barred_above(link_.configuration(), codec, mode_request);
  if (barred && *barred != mode_request_barred_) {
    mode_request_barred_ = *barred;
    update_limits(context);
  }
}

void IuupLeg::send_amr(const LegContext& context, MediaPacket&& packet) noexcept {
  const AmrCodec codec = codec_of(packet.header.payload_type == kIuupAmrWbPayloadType);
  const auto frame = rtp::amr_to_iuup(link_.configuration(), codec, payload_of(packet));
  if (!frame && frame.error() == rtp::ConversionError::too_many_frames) {
    if (const auto several =
            rtp::parse_amr(payload_of(packet), codec, rtp::AmrFormat::octet_aligned)) {
      send_several(context, packet, *several);
      return;
    }
  }
  if (!frame) {
    context.path.drop(context, drop_cause(frame.error()));
    return;
  }
  if (!packet.iuup) {
    follow_mode_request(context, codec, frame->mode_request);
  }
  const rtp::IuupPosition position = position_of(packet, 1);
  send_frame(context, std::move(packet), frame->data, position);
}

void IuupLeg::send_several(const LegContext& context, const MediaPacket& packet,
                           const rtp::AmrPayload& frames) noexcept {
  const AmrCodec codec = codec_of(packet.header.payload_type == kIuupAmrWbPayloadType);
  const auto bytes = packet.datagram.bytes().subspan(packet.header.payload_offset);
  const rtp::IuupPosition first =
      position_of(packet, static_cast<std::uint16_t>(frames.frame_count));
  bool sent = false;
  for (std::uint16_t i = 0; i < frames.frame_count; ++i) {
    const rtp::AmrFrame& frame = frames.frames[i];
    const auto rfci = rtp::iuup_rfci_of_amr(link_.configuration(), codec, frame.type);
    if (!rfci) {
      continue;
    }
    const rtp::IuupData data{0,
                             frame.good ? rtp::IuupFrameQuality::good : rtp::IuupFrameQuality::bad,
                             *rfci, bytes.subspan(frame.offset_bits / 8, (frame.bits + 7U) / 8)};
    std::array<std::byte, rtp::kIuupHeaderBytesMax + kFrameBytesMax> pdu;
    const auto size = link_.write_data(data, later(first, i), context.now, pdu);
    if (size) {
      send_pdu(context, MediaPath::rtp_peer(context.connection), std::span(pdu).first(*size));
      sent = true;
    }
  }
  if (sent) {
    context.path.count_consumed();
    follow_mode_request(context, codec, frames.mode_request);
  } else {
    context.path.drop(context, DropCause::conversion_no_equivalent);
  }
}

void IuupLeg::send_frame(const LegContext& context, MediaPacket&& packet, const rtp::IuupData& data,
                         const rtp::IuupPosition& position) noexcept {
  const auto size = link_.write_data(data, position, context.now, room_of(packet));
  if (!size) {
    context.path.drop(context, size.error() == rtp::IuupSendError::not_ready
                                   ? DropCause::iuup_not_initialised
                                   : DropCause::conversion_no_room);
    return;
  }
  // CSRCs and extensions belong to the source's stream: a plain header stands before the PDU.
  io::Datagram datagram = std::move(packet.datagram);
  datagram.offset +=
      packet.header.payload_offset - static_cast<std::uint32_t>(rtp::kRtpHeaderBytes);
  datagram.size = static_cast<std::uint32_t>(rtp::kRtpHeaderBytes + *size);
  write_header(context, datagram.bytes());
  context.path.send_rtp(context, std::move(datagram));
}

void IuupLeg::write_header(const LegContext& context, std::span<std::byte> packet) noexcept {
  rtp::RtpHeader header;
  header.payload_type = context.connection.entry.leg_payload_type;
  header.ssrc = stream_.ssrc;
  header.sequence = stream_.sequence++;
  header.timestamp = stream_.timestamp + rtp::to_rtp_ticks(context.now, clock_rate_hz_);
  rtp::write_rtp_header(packet, header);
}

void IuupLeg::send_pdu(const LegContext& context, const io::SocketAddress& peer,
                       std::span<const std::byte> pdu) noexcept {
  std::array<std::byte, rtp::kRtpHeaderBytes + rtp::kIuupInitialisationBytesMax> packet;
  write_header(context, packet);
  std::copy(pdu.begin(), pdu.end(), packet.begin() + rtp::kRtpHeaderBytes);
  context.path.send_leg_rtp(context, peer,
                            std::span(packet).first(rtp::kRtpHeaderBytes + pdu.size()));
}

rtp::TimelineTiming IuupLeg::media_timing(const ForwardingEntry& /*entry*/) const noexcept {
  return is_wideband() ? rtp::TimelineTiming{16000, kAmrWbFrameTicks}
                       : rtp::TimelineTiming{8000, kAmrFrameTicks};
}

void IuupLeg::send_keep_alive(const LegContext& context) noexcept {
  const auto rfci =
      rtp::iuup_rfci_of_amr(link_.configuration(), AmrCodec::narrowband, rtp::kAmrNoData);
  if (!rfci || link_.state() != rtp::IuupState::ready) {
    return;
  }
  std::array<std::byte, rtp::kIuupHeaderBytesMax> pdu;
  const auto size =
      link_.write_data({0, rtp::IuupFrameQuality::good, *rfci, {}}, {}, context.now, pdu);
  if (size) {
    send_pdu(context, MediaPath::rtp_peer(context.connection), std::span(pdu).first(*size));
  }
}

void IuupLeg::save(StateWriter& writer) const {
  writer(*this);
}

void IuupLeg::load(StateReader& reader, bool is_exact) {
  IuupLeg restored(stream_);
  reader(restored);
  if (reader.ok()) {
    link_ = restored.link_;
    stream_ = restored.stream_;
    clock_rate_hz_ = restored.clock_rate_hz_;
    uplink_ = restored.uplink_;
    source_ssrc_ = restored.source_ssrc_;
    has_source_ = restored.has_source_;
    peer_ = restored.peer_;
    source_sequence_ = restored.source_sequence_;
    source_frame_ = restored.source_frame_;
    source_frames_ = restored.source_frames_;
    mode_request_barred_ = restored.mode_request_barred_;
    active_ = restored.active_;
    failed_ = restored.failed_;
    if (!is_exact) {
      stream_.sequence = static_cast<std::uint16_t>(stream_.sequence + kResumeSequenceStep);
    }
  }
}

}  // namespace mgw
