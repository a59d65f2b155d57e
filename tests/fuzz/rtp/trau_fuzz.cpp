// TRAU: any octets as frames, as payloads and as the bits of a line, with any packets into the
// downlink. What is read and written again is the same, and all counters balance.
#include "rtp/i460.h"
#include "rtp/trau_downlink.h"
#include "rtp/trau_uplink.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <span>
#include <vector>

namespace {

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

using Errors = std::array<std::uint64_t, rtp::kTrauErrorCount>;

std::uint64_t sum(const Errors& errors) {
  return std::accumulate(errors.begin(), errors.end(), std::uint64_t{0});
}

/// A frame that was read is written, and read again it has the same content.
void check_frame(std::span<const std::byte> bits, rtp::TrauFraming framing, std::uint8_t mode) {
  const auto frame = rtp::parse_trau_frame(bits, framing, mode);
  if (!frame) {
    return;
  }
  std::vector<std::byte> built(rtp::kTrauFrameBytesMax);
  require(rtp::build_trau_frame(*frame, framing, built).has_value());
  const auto again = rtp::parse_trau_frame(std::span(built).first(bits.size()), framing, mode);
  require(again.has_value());
  require(again->type == frame->type && again->content == frame->content);
  require(again->content_bits == frame->content_bits && again->crc_good);
}

rtp::TrauMapping mapping_of(std::uint8_t choice) {
  rtp::TrauMapping mapping;
  mapping.codec = static_cast<rtp::TrauCodec>(choice % 7);
  mapping.framing = rtp::trau_framing_of(mapping.codec, (choice & 0x40U) != 0 ? 8 : 16)
                        .value_or(rtp::TrauFraming::trau_16k);
  mapping.extension = (choice & 0x20U) != 0 ? rtp::TrauExtension::tw_ts : rtp::TrauExtension::none;
  mapping.amr_format =
      (choice & 0x10U) != 0 ? rtp::AmrFormat::bandwidth_efficient : rtp::AmrFormat::octet_aligned;
  return mapping;
}

/// Payloads that go over a line in memory are read from it without a fault of the line.
void check_line(std::span<const std::byte> input, const rtp::TrauMapping& mapping) {
  rtp::TrauDownlink downlink(mapping, {2, 5});
  rtp::TrauUplink uplink(mapping, 0, 0);
  std::vector<std::byte> block(rtp::kTimeslotBlockBytes / 4);
  rtp::RtpHeader header{};
  while (input.size() > 4) {
    header.sequence = static_cast<std::uint16_t>(header.sequence + 1);
    header.timestamp += 160U * std::to_integer<std::uint32_t>(input[0] & std::byte{0x0f});
    const auto size = std::min(std::to_integer<std::size_t>(input[1]), input.size() - 4);
    downlink.align_time(std::to_integer<int>(input[2]) - 10);
    downlink.put(header, input.subspan(4, size));
    input = input.subspan(4 + size);
    downlink.pull(block);
    const auto payloads = uplink.push(block, block.size() * 8);
    require(payloads.size() <= rtp::TrauUplink::kPayloadsMax);
    for (const auto& payload : payloads) {
      require(payload.size >= 1 && payload.size <= payload.octets.size());
    }
  }
  const auto& down = downlink.counters();
  require(down.packets == down.accepted + down.late + down.duplicate + sum(down.errors));
  const auto& up = uplink.counters();
  require(up.frames == up.payloads + sum(up.errors));
  require(up.sync_lost == 0);
}

/// The bits of a line as they are.
void check_noise(std::span<const std::byte> input, const rtp::TrauMapping& mapping) {
  rtp::TrauUplink uplink(mapping, 0, 0);
  while (!input.empty()) {
    const auto block = input.first(std::min<std::size_t>(input.size(), 40));
    static_cast<void>(uplink.push(block, block.size() * 8));
    static_cast<void>(uplink.take_time_alignment());
    input = input.subspan(block.size());
  }
  const auto& counters = uplink.counters();
  require(counters.frames == counters.payloads + sum(counters.errors));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::uint8_t choice = data[0];
  const auto input = std::as_bytes(std::span(data + 1, size - 1));
  const auto mapping = mapping_of(choice);
  for (const auto framing :
       {rtp::TrauFraming::trau_16k, rtp::TrauFraming::hr_8k, rtp::TrauFraming::amr_8k}) {
    const std::size_t octets = rtp::trau_frame_bits(framing) / 8;
    check_frame(input.first(std::min(octets, input.size())), framing, choice % 8);
  }
  std::array<rtp::TrauFrame, 3> frames;
  if (const auto count = rtp::rtp_to_trau(input, mapping, frames)) {
    require(*count <= frames.size());
    std::vector<std::byte> built(rtp::kTrauFrameBytesMax);
    for (const auto& frame : std::span(frames).first(*count)) {
      require(rtp::build_trau_frame(frame, mapping.framing, built).has_value());
    }
  }
  check_line(input, mapping);
  check_noise(input, mapping);
  return 0;
}
