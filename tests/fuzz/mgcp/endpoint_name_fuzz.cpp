// Any bytes as an endpoint name: a name that is accepted is written in a form that means the same.
#include "mgcp/endpoint_name.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  const auto name = mgcp::parse_endpoint_name(text);
  if (!name) {
    return 0;
  }
  std::string written;
  append_endpoint_name(written, *name);
  if (mgcp::parse_endpoint_name(written) != name) {
    std::abort();
  }
  return 0;
}
