#include "mgw/iuup_leg.h"

#include "mgw/media_path.h"
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
/// Frames that a source may seem late by the arrival clock before that clock is believed.
constexpr std::int64_t kLateStepsMax = 3;
/// Frame numbers behind the last by less than half the circle are late, not ahead.
constexpr std::uint8_t kFrameNumbersHalf = rtp::kIuupFrameNumbers / 2;

bool is_unknown(const io::SocketAddress& address) noexcept {
  return address.port() == 0 || address.is_unspecified();
}

/// Bits that only AMR-WB speech has (3GPP TS 26.201 table 1a), AMR none of them.
constexpr std::array<std::uint32_t, 9> kWidebandBits = {132, 177, 253, 285, 317,
                                                        365, 397, 461, 477};

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
    case rtp::IuupEvent::initialisation_repeated:
      failed_ = false;
      initialise_partners(context);
      break;
    case rtp::IuupEvent::rates_changed:
      limit_partners(context);
      break;
    default:
      break;  // the link has answered what wants an answer
  }
  send_due(context);
  return IngressAction::consumed;
}

tl::expected<IngressAction, DropCause> IuupLeg::take_data(const LegContext& context,
                                                          const rtp::IuupData& data,
                                                          MediaPacket& packet) noexcept {
  packet.iuup = IuupFrameDetails{data.frame_number, data.quality, data.rfci};
  const bool wideband = is_wideband();
  packet.header.timestamp = timestamp_of(packet, data.frame_number, context.now);
  rtp::set_timestamp(packet.datagram.bytes(), packet.header.timestamp);
  if (packet.header.padding_size > 0) {
    packet.datagram.size =
        static_cast<std::uint32_t>(rtp::remove_padding(packet.datagram.bytes(), packet.header));
  }
  const std::uint8_t mode_request =
      rtp::amr_mode_request_of(link_.configuration(), codec_of(wideband), link_.peer_rates());
  const auto size = rtp::iuup_to_amr(link_.configuration(), codec_of(wideband), data, mode_request,
                                     room_of(packet));
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
  rtp::set_payload_type(packet.datagram.bytes(), packet.header.payload_type);
  return IngressAction::forward;
}

std::uint32_t IuupLeg::timestamp_of(const MediaPacket& packet, std::uint8_t frame_number,
                                    io::TimePoint now) noexcept {
  const std::int64_t ticks = is_wideband() ? kAmrWbFrameTicks : kAmrFrameTicks;
  const std::uint16_t sequence = packet.header.sequence;
  if (!uplink_.started) {
    uplink_ = {now, packet.header.timestamp, sequence, frame_number, true};
    return uplink_.timestamp;
  }
  const auto packets = static_cast<std::int16_t>(sequence - uplink_.sequence);
  if (packets <= 0) {  // late, or once more
    return uplink_.timestamp + static_cast<std::uint32_t>(packets * ticks);
  }
  const std::int64_t elapsed = (now - uplink_.at + rtp::kIuupInterval / 2) / rtp::kIuupInterval;
  std::int64_t steps = packets;
  if (link_.configuration().has_intervals) {
    steps = static_cast<std::uint8_t>(frame_number - uplink_.frame_number) % rtp::kIuupFrameNumbers;
    if (steps == 0 || (steps > kFrameNumbersHalf && elapsed < kLateStepsMax)) {
      steps = packets;
    }
    const std::int64_t rounds =
        (elapsed - steps + kFrameNumbersHalf) / std::int64_t{rtp::kIuupFrameNumbers};
    steps += std::max<std::int64_t>(rounds, 0) * std::int64_t{rtp::kIuupFrameNumbers};
  } else if (elapsed > steps + kLateStepsMax) {
    steps = elapsed;
  }
  uplink_ = {now, uplink_.timestamp + static_cast<std::uint32_t>(steps * ticks), sequence,
             frame_number, true};
  return uplink_.timestamp;
}

bool IuupLeg::is_wideband() const noexcept {
  const auto declared = link_.configuration().declared();
  return std::any_of(declared.begin(), declared.end(), [](const rtp::IuupRfci& rfci) {
    return std::find(kWidebandBits.begin(), kWidebandBits.end(), rfci.bits()) !=
           kWidebandBits.end();
  });
}

void IuupLeg::initialise_partners(const LegContext& context) noexcept {
  for (const std::uint32_t slot : context.connection.entry.iuup_partners) {
    MediaConnection* partner = context.path.find(slot);
    if (partner == nullptr || !partner->leg || partner->leg->kind() != LegKind::iuup) {
      continue;
    }
    auto& leg = static_cast<IuupLeg&>(*partner->leg);
    leg.initialise_like({context.path, *partner, slot, context.now}, *this);
    context.path.reschedule(slot, *partner);
  }
}

void IuupLeg::initialise_like(const LegContext& context, const IuupLeg& other) noexcept {
  if (!is_unknown(MediaPath::rtp_peer(context.connection))) {
    link_.start_initialisation(other.link_.configuration(), context.now);
    send_due(context);
  }
}

void IuupLeg::limit_partners(const LegContext& context) noexcept {
  for (const std::uint32_t slot : context.connection.entry.iuup_partners) {
    MediaConnection* partner = context.path.find(slot);
    if (partner == nullptr || !partner->leg || partner->leg->kind() != LegKind::iuup) {
      continue;
    }
    auto& leg = static_cast<IuupLeg&>(*partner->leg);
    if (link_.peer_rates() && leg.link_.configuration().same_set(link_.configuration())) {
      leg.link_.request_rates(link_.peer_rates()->barred, context.now);
      leg.send_due({context.path, *partner, slot, context.now});
      context.path.reschedule(slot, *partner);
    }
  }
}

void IuupLeg::entry_applied(const LegContext& context) noexcept {
  clock_rate_hz_ = context.connection.entry.timing.clock_rate_hz;
  if (link_.state() == rtp::IuupState::ready) {
    initialise_partners(context);
    return;
  }
  for (const std::uint32_t slot : context.connection.entry.iuup_partners) {
    const MediaConnection* partner = context.path.find(slot);
    if (partner == nullptr || !partner->leg || partner->leg->kind() != LegKind::iuup) {
      continue;
    }
    const auto& leg = static_cast<const IuupLeg&>(*partner->leg);
    if (leg.link_.state() == rtp::IuupState::ready) {
      initialise_like(context, leg);
      return;
    }
  }
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
  if (packet.header.ssrc != std::exchange(source_ssrc_, packet.header.ssrc) &&
      std::exchange(has_source_, true)) {
    link_.source_changed();
  }
  if (packet.iuup && link_.configuration().find(packet.iuup->rfci) != nullptr) {
    const std::size_t skip = type == kIuupOpaquePayloadType ? 0 : rtp::kAmrSingleFrameHeaderBytes;
    const rtp::IuupData data{0, packet.iuup->quality, packet.iuup->rfci,
                             payload_of(packet).subspan(skip)};
    rtp::IuupPosition position;
    position.kind = rtp::IuupPosition::Kind::iuup;
    position.sequence = packet.iuup->frame_number;
    send_frame(context, std::move(packet), data, position);
    return;
  }
  if (type == kIuupOpaquePayloadType) {
    context.path.drop(context, DropCause::conversion_no_equivalent);
    return;
  }
  const AmrCodec codec = codec_of(type == kIuupAmrWbPayloadType);
  const auto frame = rtp::amr_to_iuup(link_.configuration(), codec, payload_of(packet));
  if (link_.state() != rtp::IuupState::ready) {
    context.path.drop(context, DropCause::iuup_not_initialised);
    return;
  }
  if (!frame) {
    context.path.drop(context, drop_cause(frame.error()));
    return;
  }
  if (const auto barred =
          rtp::iuup_barred_above(link_.configuration(), codec, frame->mode_request)) {
    link_.request_rates(*barred, context.now);
    send_due(context);
  }
  const rtp::IuupPosition position{rtp::IuupPosition::Kind::rtp, packet.header.sequence,
                                   packet.header.timestamp,
                                   codec == AmrCodec::wideband ? kAmrWbFrameTicks : kAmrFrameTicks};
  send_frame(context, std::move(packet), frame->data, position);
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
  context.path.send_generated(context.connection.rtp_socket, peer,
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

}  // namespace mgw
