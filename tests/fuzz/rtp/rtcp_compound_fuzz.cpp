// RTCP compounds: readers stay inside the datagram, rewriting never makes it longer and leaves RTCP
// behind, and a session that hears any of it goes on to write what is well formed.
#include "rtp/byte_order.h"
#include "rtp/rtcp_packet.h"
#include "rtp/rtcp_rewrite.h"
#include "rtp/rtcp_session.h"

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

namespace {

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

void read_all(std::span<const std::byte> compound) {
  rtp::RtcpReader reader(compound);
  std::size_t total = 0;
  while (const auto packet = reader.next()) {
    total += packet->bytes.size();
    static_cast<void>(rtp::rtcp_ssrc(*packet));
    static_cast<void>(rtp::read_sender_info(*packet));
    const std::size_t blocks = rtp::report_block_count(*packet);
    require(blocks <= rtp::kRtcpCountMax);
    require(blocks == 0 || rtp::read_report_block(*packet, blocks - 1).has_value());
    require(!rtp::read_report_block(*packet, blocks).has_value());
    if (const auto chunk = rtp::read_sdes_chunk(packet->body)) {
      require(chunk->cname.size() < packet->bytes.size());
    }
    static_cast<void>(rtp::read_bye_source(*packet, packet->count / 2U));
  }
  require(total + reader.rest().size() == compound.size());
}

/// A session whose streams and own SSRC are those that the compound names.
void hear(std::span<const std::byte> compound, std::uint32_t sent_ssrc, std::uint32_t own_ssrc) {
  const io::TimePoint now{std::chrono::seconds(1'000)};
  rtp::RtcpSession session(own_ssrc, rtp::RtcpSession::Name{}, {});
  rtp::ConnectionStatistics received;
  session.on_sent({sent_ssrc, 160, 1, 160, 8000}, now);
  std::vector<std::byte> report(rtp::kRtcpReportBytesMax);
  require(session.write_report(report, received, now, 1) > 0);
  const std::size_t reports = session.on_received(compound, now + std::chrono::seconds(2));
  require(reports <= compound.size() / 8);
  require(session.remote().round_trip_sum >= io::Duration::zero());
  const std::size_t size = session.write_report(report, received, now, 1);
  require(size > 0 && rtp::validate_rtcp(std::span(report).first(size)).has_value());

  std::vector<std::byte> relayed(compound.begin(), compound.end());
  const std::size_t left = rtp::remove_reports(relayed);
  require(left <= relayed.size());
  relayed.resize(left);
  require(rtp::remove_reports(relayed) == left);
  require(left == 0 || rtp::RtcpReader(relayed).next().has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = std::as_bytes(std::span(data, size));
  read_all(input);
  if (!rtp::validate_rtcp(input)) {
    return 0;
  }
  // SSRCs from the datagram itself, so that the mappings meet what it names.
  const auto ssrc_at = [&](std::size_t at) {
    return at + 4 <= size ? rtp::load_u32(input.data() + at) : 0x11U;
  };
  hear(input, ssrc_at(8), ssrc_at(4));
  rtp::RtcpRewrite rewrite;
  rewrite.sender = {ssrc_at(4), ssrc_at(12), 77, 5, 1000, 3, 300, true};
  rewrite.reported = {0x44, ssrc_at(8), 0, 9, 70'000, 0, 0, true};
  std::vector<std::byte> compound(input.begin(), input.end());
  for (int round = 0; round < 2; ++round) {
    const std::size_t left = rtp::rewrite_rtcp(compound, rewrite);
    require(left <= compound.size());
    compound.resize(left);
    require(left == 0 || rtp::validate_rtcp(compound).has_value());
    read_all(compound);
    rewrite.sender = {0x11, ssrc_at(4), 0xfffffff0, 0xffff, 1, 0, 0, true};
  }
  return 0;
}
