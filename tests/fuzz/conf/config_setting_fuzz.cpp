// Arbitrary bytes as the argument of --set: refused, or a configuration that differs in that key
// only.

#include "conf/config_keys.h"
#include "conf/config_loader.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<char> bytes(data, data + size);
  const conf::Config defaults;
  conf::Config config;
  if (!conf::apply_setting(config, std::string_view(bytes.data(), bytes.size()))) {
    if (config != defaults) {
      std::abort();
    }
    return 0;
  }
  int changed = 0;
  for (const conf::Setting& setting : conf::all_settings()) {
    changed += conf::value_text(setting, config) != conf::value_text(setting, defaults) ? 1 : 0;
  }
  if (changed > 1) {
    std::abort();
  }
  return 0;
}
