// Any bytes as a response of a gateway: what was understood can be written and read again without a
// change.
#include "mgcp/parser.h"
#include "mgcp/writer.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  auto response = mgcp::parse_response(text);
  if (!response) {
    return 0;
  }
  // A missing reason is written as the default one.
  if (response->reason.empty()) {
    response->reason = default_reason(response->code);
  }
  std::string written;
  write_response(written, *response);
  const auto again = mgcp::parse_response(written);
  // Statistics are written in full, so a line at its limit may become longer.
  if (!again && response->statistics) {
    return 0;
  }
  if (!again || *again != *response) {
    std::abort();
  }
  return 0;
}
