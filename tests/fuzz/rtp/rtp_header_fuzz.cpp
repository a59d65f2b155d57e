// RTP headers: what parses is consistent, what is written reads back, and the timeline takes any of
// it.
#include "rtp/demultiplex.h"
#include "rtp/rtp_header.h"
#include "rtp/timeline.h"

#include <algorithm>
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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = std::as_bytes(std::span(data, size));
  const auto kind = rtp::classify(input);
  const auto header = rtp::parse_rtp(input);
  if (!header) {
    require(!rtp::to_string(header.error()).empty());
    return 0;
  }
  require(kind == rtp::PacketKind::rtp || kind == rtp::PacketKind::rtcp);
  require(std::size_t{header->payload_offset} + header->payload_size + header->padding_size ==
          size);
  require(header->payload_offset >= rtp::kRtpHeaderBytes);

  std::vector<std::byte> packet(input.begin(), input.end());
  rtp::RtpHeader changed = *header;
  rtp::Timeline timeline;
  for (std::uint32_t step = 0; step < 3; ++step) {
    changed.ssrc += step;
    timeline.apply(packet, changed, io::TimePoint{std::chrono::milliseconds{17 * step}},
                   {step != 1, step != 0}, {changed.timestamp % 50'000, changed.sequence});
  }
  const auto patched = rtp::parse_rtp(packet);
  require(patched.has_value());
  require(patched->ssrc == changed.ssrc && patched->sequence == changed.sequence);
  require(patched->timestamp == changed.timestamp);
  require(patched->payload_type == header->payload_type && patched->marker == header->marker);
  require(std::equal(packet.begin() + 12, packet.end(), input.begin() + 12));

  packet.resize(rtp::remove_padding(packet, changed));
  const auto bare = rtp::parse_rtp(packet);
  require(bare.has_value() && bare->padding_size == 0);
  require(bare->payload_size == header->payload_size);
  return 0;
}
