// Any bytes as an RTP packet through every conversion: header, CSRCs and extension stay, padding
// goes, and a packet that can't be converted stays as it was.
#include "rtp/payload_conversion.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

namespace {

using Bytes = std::vector<std::byte>;

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

/// The packet after the conversion; empty if it can't be converted.
Bytes converted(const Bytes& packet, rtp::Conversion conversion, std::size_t room) {
  Bytes buffer = packet;
  buffer.resize(packet.size() + room, std::byte{0x5a});
  const Bytes before = buffer;
  auto header = rtp::parse_rtp(packet);
  const auto size = rtp::convert_payload(conversion, buffer, *header);
  if (!size) {
    require(buffer == before);
    return {};
  }
  require(*size <= buffer.size());
  buffer.resize(*size);
  const auto again = rtp::parse_rtp(buffer);
  require(again.has_value());
  require(again->payload_size == header->payload_size);
  require(again->padding_size == header->padding_size);
  return buffer;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::size_t room = data[0];
  const auto bytes = std::as_bytes(std::span(data + 1, size - 1));
  const Bytes packet(bytes.begin(), bytes.end());
  const auto header = rtp::parse_rtp(packet);
  if (!header) {
    return 0;
  }
  for (std::size_t index = 0; index < rtp::kConversionCount; ++index) {
    const auto conversion = static_cast<rtp::Conversion>(index);
    const Bytes result = converted(packet, conversion, room);
    if (result.empty()) {
      continue;
    }
    if (conversion == rtp::Conversion::none) {
      require(result == packet);
      continue;
    }
    // Only the P bit may change in front of the payload.
    const auto begin = static_cast<std::ptrdiff_t>(header->payload_offset);
    require((result[0] | std::byte{0x20}) == (packet[0] | std::byte{0x20}));
    require(std::equal(packet.begin() + 1, packet.begin() + begin, result.begin() + 1));
    // What is in the target's form already passes unchanged. (Not always AMR: a frame of 4.75
    // kbit/s can be read as either form.)
    if (conversion >= rtp::Conversion::gsm_hr_to_rfc5993) {
      require(converted(result, conversion, room) == result);
    }
  }
  return 0;
}
