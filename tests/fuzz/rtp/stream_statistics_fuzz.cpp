// A stream that the input steers, four octets per packet: counts stay in balance whatever order the
// packets have.
#include "rtp/byte_order.h"
#include "rtp/stream_statistics.h"
#include "rtp/timeline.h"

#include <cstdint>
#include <cstdlib>
#include <span>

namespace {

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

void check(const rtp::StatisticsTotals& totals, std::uint64_t packets, std::uint64_t octets) {
  require(totals.received == packets);
  require(totals.octets == octets);
  require(totals.duplicates + totals.reordered + totals.restarts <= packets);
  require(totals.expected == totals.received - totals.duplicates + totals.lost());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = std::as_bytes(std::span(data, size));
  rtp::ConnectionStatistics statistics(8000);
  rtp::Timeline timeline;
  rtp::RtpHeader header;
  io::TimePoint now{std::chrono::hours{1000}};
  std::uint64_t packets = 0;
  std::uint64_t octets = 0;
  for (std::size_t at = 0; at + 4 <= size; at += 4) {
    const auto control = std::to_integer<unsigned>(input[at]);
    const auto step = rtp::load_u16(input.data() + at + 2);
    header.ssrc = control & 0x03U;
    // Small steps as in real streams, unless the control octet asks for any 16 bits.
    const int distance = (control & 0x40U) != 0 ? step : step % 16 - 4;
    header.sequence = static_cast<std::uint16_t>(header.sequence + distance);
    header.timestamp += (control & 0x20U) != 0 ? step * 65'521U : 160U;
    header.marker = (control & 0x10U) != 0;
    header.payload_size = std::to_integer<std::uint8_t>(input[at + 1]);
    now += std::chrono::microseconds{std::int64_t{header.payload_size} * 200};
    statistics.on_packet(header, now, control % 3 == 0 ? 0 : 160);
    static_cast<void>(timeline.next(header, now, {(control & 4U) != 0, (control & 8U) != 0}, {}));
    ++packets;
    octets += header.payload_size;
    check(statistics.totals(), packets, octets);
    if ((control & 0x80U) != 0) {
      statistics.on_sender_report({header.ssrc, step, 0, 0, 0}, now);
      const auto block = statistics.current().make_report_block(now);
      require(block.ssrc == header.ssrc);
      require(block.cumulative_lost <= static_cast<std::int64_t>(statistics.totals().lost()));
      statistics.set_clock_rate(step);
    }
  }
  require(timeline.mapping().packets_before <= packets);
  return 0;
}
