// Any bytes as local connection options: what was taken is written in a form that means the same.
#include "mgcp/local_options.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  const auto options = mgcp::parse_local_options(text);
  if (!options) {
    return 0;
  }
  if (codecs_from_options(*options).size() != options->codecs.size()) {
    std::abort();
  }
  std::string written;
  append_local_options(written, *options);
  if (mgcp::parse_local_options(written) != options) {
    std::abort();
  }
  return 0;
}
