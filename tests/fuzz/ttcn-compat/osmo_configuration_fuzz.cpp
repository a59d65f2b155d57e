// Arbitrary text as an osmo-mgw configuration file: refused with a line of it, or a configuration
// that is the same when it is written and read again.

#include "ttcn-compat/command_tables.h"
#include "ttcn-compat/configuration_text.h"
#include "ttcn-compat/osmo_configuration.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  const ttcn_compat::CommandTree& tree = ttcn_compat::command_tree();
  conf::Config config;
  const auto remarks = ttcn_compat::read_osmo_configuration(text, config);
  if (!remarks) {
    if (remarks.error().line == 0 || remarks.error().message.empty()) {
      std::abort();
    }
    return 0;
  }
  const std::string written = ttcn_compat::write_configuration(tree, config);
  conf::Config again;
  if (!ttcn_compat::read_osmo_configuration(written, again) || again != config) {
    std::abort();
  }
  return 0;
}
