#include "tools/rtpload/media_checker.h"

#include <utility>

namespace rtpload {

MediaChecker::MediaChecker(const std::array<Codec, 2>& codecs, std::uint32_t run_seed,
                           LegLookup lookup, std::vector<MediaLeg> legs)
    : codecs_(codecs),
      run_seed_(run_seed),
      lookup_(lookup),
      legs_(std::move(legs)),
      streams_(legs_.size()) {
  if (lookup_ == LegLookup::by_source) {
    for (std::uint32_t leg = 0; leg < legs_.size(); ++leg) {
      // A gateway that announces one address for two legs shows as packets of a wrong stream.
      static_cast<void>(directory_.add(legs_[leg].gateway, leg));
    }
  }
}

void MediaChecker::on_datagram(const ReceivedDatagram& datagram) noexcept {
  const bool by_source = lookup_ == LegLookup::by_source;
  std::uint32_t leg = by_source ? directory_.find(datagram.source) : LegDirectory::kUnknown;
  const std::size_t side = leg == LegDirectory::kUnknown ? 0 : leg & 1U;
  const ReceivedPacket packet = read_packet(datagram.bytes, codecs_[side], run_seed_);
  if (packet.verdict == PacketVerdict::keep_alive) {
    ++counters_.keep_alives;
    return;
  }
  if (!by_source && packet.identity.stream < legs_.size()) {
    leg = packet.identity.stream ^ 1U;
  }
  if (packet.verdict == PacketVerdict::corrupted) {
    ++counters_.corrupted;
    counters_.unknown_source += leg == LegDirectory::kUnknown ? 1U : 0U;
    return;
  }
  if (leg != LegDirectory::kUnknown && legs_[leg].socket != datagram.socket) {
    ++counters_.wrong_stream;
    return;
  }
  judge(leg, packet, datagram.received_ns);
}

void MediaChecker::on_frame(std::uint32_t leg, std::span<const std::uint8_t> packet,
                            std::uint64_t received_ns) noexcept {
  ReceivedPacket read = read_packet(packet, codec_of(leg), run_seed_);
  if (read.verdict != PacketVerdict::valid) {
    ++counters_.corrupted;
    return;
  }
  read.has_timeline = false;
  judge(leg, read, received_ns);
}

void MediaChecker::judge(std::uint32_t leg, const ReceivedPacket& packet,
                         std::uint64_t received_ns) noexcept {
  const std::uint32_t stream = packet.identity.stream;
  if (leg == LegDirectory::kUnknown || stream != (leg ^ 1U)) {
    ++counters_.wrong_stream;
    return;
  }
  switch (streams_[stream].on_packet(packet)) {
    case Arrival::reordered:
      ++counters_.reordered;
      [[fallthrough]];
    case Arrival::in_order:
      ++counters_.received;
      latency_ns_.add(nanoseconds_since(packet.identity.stamp, received_ns));
      return;
    case Arrival::duplicated:
      ++counters_.duplicated;
      return;
    case Arrival::stale:
      ++counters_.reordered;
      return;
    case Arrival::header_broken:
      ++counters_.corrupted;
      return;
  }
}

}  // namespace rtpload
