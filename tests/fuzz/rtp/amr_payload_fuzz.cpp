// AMR payloads: what converts is well formed in the target's form, and the way there and back
// changes nothing more.
#include "rtp/amr.h"
#include "rtp/payload_conversion.h"

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

using Bytes = std::vector<std::byte>;

Bytes converted(std::span<const std::byte> payload, rtp::AmrCodec codec, rtp::AmrFormat target) {
  Bytes out(rtp::kAmrPayloadBytesMax);
  const auto size = rtp::convert_amr(payload, codec, target, out);
  require(size.has_value());
  out.resize(*size);
  return out;
}

void check(std::span<const std::byte> payload, rtp::AmrCodec codec, rtp::AmrFormat from,
           rtp::AmrFormat target) {
  const auto parsed = rtp::parse_amr(payload, codec, from);
  if (!parsed) {
    return;
  }
  const Bytes there = converted(payload, codec, target);
  const auto result = rtp::parse_amr(there, codec, target);
  require(result.has_value());
  require(result->frame_count == parsed->frame_count);
  require(result->mode_request == parsed->mode_request);
  for (std::size_t index = 0; index < parsed->frame_count; ++index) {
    require(result->frames[index].type == parsed->frames[index].type);
    require(result->frames[index].good == parsed->frames[index].good);
  }
  // Set padding bits become 0 on the way; apart from them the way back and there again is the same.
  const Bytes back = converted(there, codec, from);
  require(back.size() == payload.size());
  require(converted(back, codec, target) == there);
}

void convert_packet(std::span<const std::byte> payload, rtp::Conversion conversion) {
  Bytes buffer(rtp::kRtpHeaderBytes);
  rtp::write_rtp_header(buffer, rtp::RtpHeader{});
  buffer.insert(buffer.end(), payload.begin(), payload.end());
  auto header = rtp::parse_rtp(buffer);
  if (!header) {
    return;
  }
  const Bytes before = buffer;
  const auto size = rtp::convert_payload(conversion, buffer, *header);
  if (!size) {
    require(buffer == before);
    return;
  }
  require(*size <= buffer.size());
  buffer.resize(*size);
  const auto again = rtp::parse_rtp(buffer);
  require(again.has_value() && again->payload_size == header->payload_size);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto payload = std::as_bytes(std::span(data, size));
  for (const auto codec : {rtp::AmrCodec::narrowband, rtp::AmrCodec::wideband}) {
    check(payload, codec, rtp::AmrFormat::octet_aligned, rtp::AmrFormat::bandwidth_efficient);
    check(payload, codec, rtp::AmrFormat::bandwidth_efficient, rtp::AmrFormat::octet_aligned);
  }
  for (const auto conversion :
       {rtp::Conversion::amr_to_octet_aligned, rtp::Conversion::amr_to_bandwidth_efficient,
        rtp::Conversion::amr_wb_to_octet_aligned, rtp::Conversion::amr_wb_to_bandwidth_efficient}) {
    convert_packet(payload, conversion);
  }
  return 0;
}
