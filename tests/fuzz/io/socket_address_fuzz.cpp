// Any text is an address or it is not; what is one survives being printed and parsed again.

#include "io/socket_address.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace {

void demand(bool condition) {
  if (!condition) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto address = io::SocketAddress::parse(text, 5004)) {
    demand(io::SocketAddress::parse(address->host_text(), 5004) == address);
    demand(io::SocketAddress::parse_with_port(address->text()) == address);
  }
  if (const auto address = io::SocketAddress::parse_with_port(text)) {
    demand(io::SocketAddress::parse_with_port(address->text()) == address);
    demand(io::SocketAddress::parse(address->host_text(), address->port())->hash() ==
           address->hash());
  }
  const auto raw = io::SocketAddress::from_kernel(data, size);
  if (raw.family() != io::AddressFamily::none) {
    demand(io::SocketAddress::parse_with_port(raw.text()) == raw);
  }
  return 0;
}
