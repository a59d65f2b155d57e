#include "mgw/e1_leg.h"

#include "mgw/e1_line.h"
#include "mgw/media_path.h"

#include <algorithm>
#include <utility>

namespace mgw {

namespace {

/// Adds what a count of a stream has grown by.
void add_growth(io::Counter& counter, std::uint64_t now, std::uint64_t before) noexcept {
  if (now != before) {
    counter.add(now - before);
  }
}

}  // namespace

E1Leg::E1Leg(const E1Channel& channel, const StreamStart& start) noexcept
    : channel_(channel), ssrc_(start.ssrc) {
  if (channel_.mapping) {
    streams_.emplace(Streams{rtp::TrauUplink(*channel_.mapping, start.sequence, start.timestamp),
                             rtp::TrauDownlink(*channel_.mapping, rtp::PlayoutOptions())});
  }
}

tl::expected<IngressAction, DropCause> E1Leg::ingress(const LegContext& /*context*/,
                                                      MediaPacket& /*packet*/) noexcept {
  return tl::unexpected(DropCause::closed_connection);
}

void E1Leg::egress(const LegContext& context, MediaPacket&& packet) noexcept {
  if (!streams_ || packet.header.payload_type != kE1PayloadType) {
    context.path.drop(context, DropCause::unmapped_payload_type);
    return;
  }
  rtp::TrauDownlink& downlink = streams_->downlink;
  const rtp::TrauDownlinkCounters before = downlink.counters();
  downlink.put(packet.header, packet.datagram.bytes().subspan(packet.header.payload_offset,
                                                              packet.header.payload_size));
  const rtp::TrauDownlinkCounters& after = downlink.counters();
  if (after.accepted != before.accepted) {
    context.path.count_consumed();
  } else if (after.late != before.late) {
    context.path.drop(context, DropCause::e1_late);
  } else if (after.duplicate != before.duplicate) {
    context.path.drop(context, DropCause::e1_duplicate);
  } else {
    context.connection.live.e1.send_failures.add();
    const auto error =
        std::mismatch(after.errors.begin(), after.errors.end(), before.errors.begin()).first;
    context.path.drop(context,
                      drop_cause(static_cast<rtp::TrauError>(error - after.errors.begin())));
  }
}

void E1Leg::entry_applied(const LegContext& context) noexcept {
  if (!std::exchange(attached_, true)) {
    channel_.line->attach(channel_.timeslot, *this, context.slot, context.now);
  }
}

void E1Leg::detached(const LegContext& /*context*/) noexcept {
  channel_.line->detach(channel_.timeslot, *this);
  attached_ = false;
}

void E1Leg::exchange(const LegContext& context, std::span<const std::byte> received,
                     std::span<std::byte> sent) noexcept {
  if (!streams_) {
    return;
  }
  std::array<std::byte, rtp::kTimeslotBlockBytes> bits;
  const std::size_t count = rtp::demultiplex_sub_slot(received, channel_.sub_slot, bits);
  for (const rtp::TrauUplinkPayload& payload : streams_->uplink.push(bits, count)) {
    hand_on(context, payload);
  }
  if (const auto steps = streams_->uplink.take_time_alignment()) {
    streams_->downlink.align_time(*steps);
  }
  const std::span<std::byte> out = std::span(bits).first(count / 8);
  streams_->downlink.pull(out);
  rtp::multiplex_sub_slot(out, channel_.sub_slot, sent);
  this->count(context.path.counters().e1, context.connection.live.e1);
}

void E1Leg::hand_on(const LegContext& context, const rtp::TrauUplinkPayload& payload) noexcept {
  MediaPacket packet{context.path.new_datagram(), {}, {}};
  if (!packet.datagram.buffer) {
    context.path.counters().generated.add();
    context.path.drop(context, DropCause::no_buffer);
    return;
  }
  packet.datagram.size = static_cast<std::uint32_t>(rtp::kRtpHeaderBytes + payload.size);
  packet.header.payload_type = kE1PayloadType;
  packet.header.ssrc = ssrc_;
  packet.header.sequence = payload.sequence;
  packet.header.timestamp = payload.timestamp;
  packet.header.payload_offset = rtp::kRtpHeaderBytes;
  packet.header.payload_size = static_cast<decltype(packet.header.payload_size)>(payload.size);
  const std::span<std::byte> bytes = packet.datagram.bytes();
  rtp::write_rtp_header(bytes, packet.header);
  std::copy_n(payload.octets.begin(), payload.size, bytes.begin() + rtp::kRtpHeaderBytes);
  context.path.inject(context, std::move(packet));
}

void E1Leg::count(E1Counters& counters, E1LegCounters& own) noexcept {
  const rtp::TrauUplinkCounters& up = streams_->uplink.counters();
  const rtp::TrauUplinkCounters& up_seen = streams_->uplink_seen;
  add_growth(counters.received_frames, up.frames, up_seen.frames);
  add_growth(counters.synchronisation_losses, up.sync_lost, up_seen.sync_lost);
  for (std::size_t i = 0; i < up.errors.size(); ++i) {
    add_growth(counters.receive_failures[i], up.errors[i], up_seen.errors[i]);
    add_growth(own.receive_failures, up.errors[i], up_seen.errors[i]);
  }
  streams_->uplink_seen = up;
  const rtp::TrauDownlinkCounters& down = streams_->downlink.counters();
  const rtp::TrauDownlinkCounters& down_seen = streams_->downlink_seen;
  add_growth(counters.sent_frames, down.frames, down_seen.frames);
  add_growth(counters.sent_fillers, down.fillers, down_seen.fillers);
  add_growth(own.fillers, down.fillers, down_seen.fillers);
  add_growth(counters.given_up_frames, down.overflowed, down_seen.overflowed);
  add_growth(counters.time_alignments, down.alignments, down_seen.alignments);
  streams_->downlink_seen = down;
}

}  // namespace mgw
