#include "rtp/rtcp_session.h"

#include "rtp/sequence.h"

#include <algorithm>
#include <cstring>

namespace rtp {
namespace {

constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;
/// From 1900 to 1970 (RFC 868).
constexpr std::int64_t kNtpSecondsIn1970 = 2'208'988'800;
constexpr std::int64_t kDelayUnitsPerSecond = 65'536;
/// Longer round trips are no calls but errors.
constexpr std::int64_t kRoundTripSecondsMax = 60;
/// A stream that stopped for so long gives its place to a new one.
constexpr io::Duration kStreamPause = std::chrono::seconds(1);

bool is_report(const RtcpPacket& packet) noexcept {
  return packet.type == static_cast<std::uint8_t>(RtcpType::sender_report) ||
         packet.type == static_cast<std::uint8_t>(RtcpType::receiver_report);
}

}  // namespace

std::uint64_t to_ntp(io::Duration since_1970) noexcept {
  std::int64_t seconds = since_1970.count() / kNanosecondsPerSecond;
  std::int64_t rest = since_1970.count() % kNanosecondsPerSecond;
  if (rest < 0) {
    rest += kNanosecondsPerSecond;
    --seconds;
  }
  const auto whole = static_cast<std::uint64_t>(seconds + kNtpSecondsIn1970);
  const std::uint64_t fraction =
      (static_cast<std::uint64_t>(rest) << 32U) / std::uint64_t{kNanosecondsPerSecond};
  return whole << 32U | fraction;
}

std::optional<io::Duration> round_trip_time(std::uint32_t now, std::uint32_t last_sender_report,
                                            std::uint32_t delay) noexcept {
  const std::int64_t units = static_cast<std::int32_t>(now - last_sender_report - delay);
  if (units > kRoundTripSecondsMax * kDelayUnitsPerSecond || units < -kDelayUnitsPerSecond) {
    return std::nullopt;
  }
  return io::Duration(std::max<std::int64_t>(units, 0) * kNanosecondsPerSecond /
                      kDelayUnitsPerSecond);
}

std::size_t remove_reports(std::span<std::byte> compound) noexcept {
  RtcpReader reader(compound);
  std::size_t read = 0;
  std::size_t left = 0;
  while (const auto packet = reader.next()) {
    const std::size_t size = packet->bytes.size();
    if (!is_report(*packet) &&
        packet->type != static_cast<std::uint8_t>(RtcpType::source_description)) {
      std::memmove(compound.data() + left, compound.data() + read, size);
      left += size;
    }
    read += size;
  }
  return left;
}

RtcpSession::SentStream* RtcpSession::find(std::uint32_t ssrc) noexcept {
  const auto found =
      std::find_if(streams_.begin(), streams_.end(),
                   [ssrc](const SentStream& stream) { return stream.used && stream.ssrc == ssrc; });
  return found == streams_.end() ? nullptr : &*found;
}

RtcpSession::SentStream* RtcpSession::place_for(std::uint32_t ssrc, io::TimePoint now) noexcept {
  if (SentStream* known = find(ssrc); known != nullptr) {
    return known;
  }
  const auto oldest = std::min_element(
      streams_.begin(), streams_.end(), [](const SentStream& left, const SentStream& right) {
        return left.used != right.used ? !left.used : left.last_at < right.last_at;
      });
  if (oldest->used && now - oldest->last_at < kStreamPause) {
    return nullptr;
  }
  *oldest = SentStream{};
  return &*oldest;
}

void RtcpSession::on_sent(const SentPacket& packet, io::TimePoint now) noexcept {
  sent_anything_ = true;
  SentStream* const stream = place_for(packet.ssrc, now);
  if (stream == nullptr) {
    return;
  }
  // A telephone event repeats its timestamp (RFC 4733 section 2.5.1.3): the time stays that of the
  // first packet with it. A late packet says nothing of the present.
  const int steps = sequence_distance(stream->sequence, packet.sequence);
  if (!stream->used || steps > 0 || steps <= -kMaxMisorder) {
    stream->sequence = packet.sequence;
    if (!stream->used || packet.timestamp != stream->timestamp) {
      stream->timestamp = packet.timestamp;
      stream->newest_at = now;
      stream->clock_rate_hz = packet.clock_rate_hz;
    }
  }
  stream->ssrc = packet.ssrc;
  stream->used = true;
  stream->last_at = now;
  stream->packets += packet.packets;
  stream->octets += static_cast<std::uint32_t>(packet.payload_bytes);
}

void RtcpSession::on_stream_ended(std::uint32_t ssrc) noexcept {
  if (SentStream* stream = find(ssrc); stream != nullptr) {
    *stream = SentStream{};
  }
}

const RtcpSession::SentStream* RtcpSession::newest() const noexcept {
  const SentStream* newest = nullptr;
  for (const SentStream& stream : streams_) {
    if (is_reported(stream) && (newest == nullptr || stream.last_at > newest->last_at)) {
      newest = &stream;
    }
  }
  return newest;
}

bool RtcpSession::is_sender() const noexcept {
  return newest() != nullptr;
}

std::uint32_t RtcpSession::ssrc() const noexcept {
  const SentStream* stream = newest();
  return stream != nullptr ? stream->ssrc : own_ssrc_;
}

std::size_t RtcpSession::on_received(std::span<const std::byte> compound,
                                     io::TimePoint now) noexcept {
  RtcpReader reader(compound);
  std::size_t reports = 0;
  while (const auto packet = reader.next()) {
    if (packet->type == static_cast<std::uint8_t>(RtcpType::goodbye)) {
      peer_present_ = false;
      continue;
    }
    const auto sender = rtcp_ssrc(*packet);
    if (!is_report(*packet) || !sender) {
      continue;
    }
    ++reports;
    peer_present_ = true;
    peer_ssrc_ = *sender;
    for (std::size_t index = 0; const auto block = read_report_block(*packet, index); ++index) {
      on_report_block(*block, now);
    }
  }
  return reports;
}

void RtcpSession::on_report_block(const ReportBlock& block, io::TimePoint now) noexcept {
  if (find(block.ssrc) == nullptr) {
    return;
  }
  ++remote_.reports;
  remote_.cumulative_lost = block.cumulative_lost;
  remote_.fraction_lost = block.fraction_lost;
  remote_.jitter_ticks = block.jitter;
  if (block.last_sender_report == 0 ||
      std::find(sender_reports_.begin(), sender_reports_.end(), block.last_sender_report) ==
          sender_reports_.end()) {
    return;
  }
  if (const auto trip = round_trip_time(middle_of_ntp(ntp(now)), block.last_sender_report,
                                        block.delay_since_last_report)) {
    ++remote_.round_trips;
    remote_.round_trip = *trip;
    remote_.round_trip_sum += *trip;
  }
}

bool RtcpSession::collides(const ConnectionStatistics& received) const noexcept {
  const auto is_used = [this](const SentStream& stream) {
    return stream.used && stream.ssrc == own_ssrc_;
  };
  return own_ssrc_ == peer_ssrc_ ||
         (received.current().started() && received.current().ssrc() == own_ssrc_) ||
         (received.previous().started() && received.previous().ssrc() == own_ssrc_) ||
         std::any_of(streams_.begin(), streams_.end(), is_used);
}

void RtcpSession::avoid_collision(const ConnectionStatistics& received,
                                  std::uint32_t random) noexcept {
  // Each step passes one of the few numbers that are taken.
  for (; collides(received); ++random) {
    own_ssrc_ = random;
  }
}

bool RtcpSession::add_reports(RtcpWriter& writer, ConnectionStatistics& received,
                              io::TimePoint now) noexcept {
  std::array<ReportBlock, 2> blocks;
  std::size_t block_count = 0;
  for (StreamStatistics* source : {&received.current(), &received.previous()}) {
    if (source->heard_since_report()) {
      blocks[block_count++] = source->make_report_block(now);
    }
  }
  const std::span<const ReportBlock> all(blocks.data(), block_count);
  const SentStream* const first = newest();
  if (first == nullptr) {
    return writer.add_receiver_report(own_ssrc_, all) && writer.add_cname(own_ssrc_, name());
  }
  const std::uint64_t ntp_now = ntp(now);
  const auto add = [&](const SentStream& stream, std::span<const ReportBlock> with) {
    const io::TimePoint age{now - stream.newest_at};
    return writer.add_sender_report(
        {stream.ssrc, ntp_now, stream.timestamp + to_rtp_ticks(age, stream.clock_rate_hz),
         stream.packets, stream.octets},
        with);
  };
  bool fits = add(*first, all);
  for (const SentStream& stream : streams_) {
    fits = fits && (&stream == first || !is_reported(stream) || add(stream, {}));
  }
  for (const SentStream& stream : streams_) {
    fits = fits && (!is_reported(stream) || writer.add_cname(stream.ssrc, name()));
  }
  sender_reports_[next_sender_report_] = middle_of_ntp(ntp_now);
  next_sender_report_ = (next_sender_report_ + 1) % sender_reports_.size();
  return fits;
}

std::size_t RtcpSession::write_report(std::span<std::byte> out, ConnectionStatistics& received,
                                      io::TimePoint now, std::uint32_t random) noexcept {
  if (out.size() < kRtcpReportBytesMax) {
    return 0;
  }
  avoid_collision(received, random);
  RtcpWriter writer(out);
  if (!add_reports(writer, received, now)) {
    return 0;
  }
  sent_anything_ = true;
  before_last_report_ = last_report_;
  last_report_ = now;
  return writer.size();
}

std::size_t RtcpSession::write_goodbye(std::span<std::byte> out, ConnectionStatistics& received,
                                       io::TimePoint now, std::uint32_t random) noexcept {
  if (!sent_anything_ || out.size() < kRtcpReportBytesMax) {
    return 0;
  }
  avoid_collision(received, random);
  RtcpWriter writer(out);
  bool fits = add_reports(writer, received, now);
  if (!is_sender()) {
    fits = fits && writer.add_bye(own_ssrc_, {});
  }
  for (const SentStream& stream : streams_) {
    fits = fits && (!is_reported(stream) || writer.add_bye(stream.ssrc, {}));
  }
  return fits ? writer.size() : 0;
}

std::size_t RtcpSession::write_opening(std::span<std::byte> out) const noexcept {
  RtcpWriter writer(out);
  const bool fits = writer.add_receiver_report(ssrc(), {}) && writer.add_cname(ssrc(), name());
  return fits ? writer.size() : 0;
}

}  // namespace rtp
