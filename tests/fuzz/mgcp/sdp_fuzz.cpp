// Any bytes as a session description: what was understood is written as an offer that reads back
// the same.
#include "mgcp/sdp.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  auto description = mgcp::parse_sdp(text);
  if (!description) {
    return 0;
  }
  for (const mgcp::Codec& codec : description->codecs) {
    static_cast<void>(mgcp::format_parameters(codec.fmtp));
    if (!same_codec(codec, codec) || !convertible_codec(codec, codec)) {
      std::abort();
    }
  }
  // An offer always says address and port.
  if (!description->address) {
    description->address = io::SocketAddress::any(io::AddressFamily::ipv4, 0);
  }
  if (!description->port) {
    description->port = std::uint16_t{0};
  }
  std::string written;
  write_sdp(written, *description, "1");
  const auto again = mgcp::parse_sdp(written);
  if (!again || *again != *description) {
    std::abort();
  }
  return 0;
}
