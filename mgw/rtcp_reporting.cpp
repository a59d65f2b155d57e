#include "mgw/rtcp_reporting.h"

#include "rtp/rtp_header.h"

#include <string_view>

namespace mgw {

namespace {

/// 5 % of the 16 kbit/s that the slowest voice codec takes with its headers (RFC 3550 section 6.2),
/// so that RTCP has no more than its share whatever the codec is. With two members the minimum of
/// 5 s is longer anyway.
constexpr std::uint32_t kRtcpBandwidthBytesPerSecond = 100;
/// A usual report with one block and SDES, with the headers of UDP and IPv4.
constexpr std::size_t kExpectedReportBytes = 108;
/// What a relayed compound grows by: an RR without blocks, an SDES of one chunk with a name of 16
/// characters.
constexpr std::uint32_t kOpeningBytes = 36;
static_assert(kOpeningBytes <= io::kHeadroomBytes);

/// 96 random bits in base 64 (RFC 7022 section 4.2).
rtp::RtcpSession::Name make_name(std::span<const std::uint32_t, 3> random) noexcept {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  rtp::RtcpSession::Name name{};
  std::array<std::uint8_t, 12> octets{};
  for (std::size_t i = 0; i < octets.size(); ++i) {
    octets[i] = static_cast<std::uint8_t>(random[i / 4] >> (8 * (i % 4)) & 0xffU);
  }
  for (std::size_t i = 0; i < name.size() / 4; ++i) {
    const std::uint32_t bits = static_cast<std::uint32_t>(octets[3 * i]) << 16U |
                               static_cast<std::uint32_t>(octets[3 * i + 1]) << 8U |
                               static_cast<std::uint32_t>(octets[3 * i + 2]);
    for (std::size_t digit = 0; digit < 4; ++digit) {
      name[4 * i + digit] = kDigits[bits >> (18 - 6 * digit) & 0x3fU];
    }
  }
  return name;
}

}  // namespace

RtcpReporting::RtcpReporting(const std::array<std::uint32_t, kRandomNumbers>& random,
                             io::Duration wall_clock_offset) noexcept
    : session_(random[0], make_name(std::span(random).subspan<1, 3>()), wall_clock_offset),
      schedule_(kRtcpBandwidthBytesPerSecond),
      random_state_(std::uint64_t{random[4]} << 32U | random[5]) {}

std::uint32_t RtcpReporting::random() noexcept {
  // splitmix64: reports only have to spread, nobody gains by guessing when they come.
  random_state_ += 0x9e3779b97f4a7c15U;
  std::uint64_t value = random_state_;
  value = (value ^ value >> 30U) * 0xbf58476d1ce4e5b9U;
  value = (value ^ value >> 27U) * 0x94d049bb133111ebU;
  return static_cast<std::uint32_t>(value >> 32U);
}

void RtcpReporting::start(io::TimePoint now) noexcept {
  if (schedule_.next() == io::kNever) {
    schedule_.start(now, kExpectedReportBytes, random());
  }
}

void RtcpReporting::on_rtp_sent(std::span<const std::byte> packet, std::uint32_t clock_rate_hz,
                                const rtp::ConnectionStatistics& received,
                                io::TimePoint now) noexcept {
  if (const auto header = rtp::parse_rtp(packet)) {
    on_rtp_run_sent(
        {header->ssrc, header->timestamp, header->sequence, header->payload_size, clock_rate_hz},
        received, now);
  }
}

void RtcpReporting::on_rtp_run_sent(const rtp::SentPacket& run,
                                    const rtp::ConnectionStatistics& received,
                                    io::TimePoint now) noexcept {
  if (!received.started() || received.current().ssrc() != run.ssrc) {
    session_.on_sent(run, now);
  }
}

RtcpReporting::Consumed RtcpReporting::consume(std::span<std::byte> compound,
                                               std::size_t header_bytes,
                                               io::TimePoint now) noexcept {
  Consumed consumed;
  schedule_.received(compound.size() + header_bytes);
  consumed.reports = session_.on_received(compound, now);
  consumed.left_bytes = rtp::remove_reports(compound);
  return consumed;
}

bool RtcpReporting::open_compound(io::Datagram& datagram) noexcept {
  if (datagram.offset < kOpeningBytes) {
    return false;
  }
  const std::span<std::byte> opening(datagram.buffer.data() + datagram.offset - kOpeningBytes,
                                     kOpeningBytes);
  if (session_.write_opening(opening) != opening.size()) {
    return false;
  }
  rtp::RtcpReader reader(datagram.bytes());
  while (const auto packet = reader.next()) {
    for (std::size_t i = 0; const auto source = rtp::read_bye_source(*packet, i); ++i) {
      session_.on_stream_ended(*source);
    }
  }
  datagram.offset -= kOpeningBytes;
  datagram.size += kOpeningBytes;
  return true;
}

std::size_t RtcpReporting::write_due_report(std::span<std::byte> out,
                                            rtp::ConnectionStatistics& received,
                                            std::size_t header_bytes, bool can_send,
                                            io::TimePoint now) noexcept {
  const bool we_sent = session_.is_sender();
  const bool peer_sent =
      received.current().heard_since_report() || received.previous().heard_since_report();
  schedule_.set_members(session_.peer_present() ? 2 : 1,
                        (we_sent ? 1U : 0U) + (peer_sent ? 1U : 0U), we_sent);
  if (!schedule_.is_due(now, random())) {
    return 0;
  }
  const std::size_t size = can_send ? session_.write_report(out, received, now, random()) : 0;
  if (size == 0) {
    schedule_.skipped(now, random());
  } else {
    schedule_.sent(now, size + header_bytes, random());
  }
  return size;
}

}  // namespace mgw
