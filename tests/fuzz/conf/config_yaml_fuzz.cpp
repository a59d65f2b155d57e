// Arbitrary bytes as a configuration file: an error or a configuration that can be written out
// again.

#include "conf/config_keys.h"
#include "conf/config_loader.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<char> bytes(data, data + size);
  const auto config = conf::load_text(std::string_view(bytes.data(), bytes.size()), "fuzz");
  if (!config) {
    if (config.error().message.empty()) {
      std::abort();
    }
    return 0;
  }
  std::vector<std::string> settings;
  for (const conf::Setting& setting : conf::all_settings()) {
    std::string value = conf::value_text(setting, *config);
    if (setting.form.accepts != nullptr) {
      continue;  // texts are quoted for YAML, and --set takes them as they are
    }
    std::erase(value, '"');
    settings.push_back(std::string(setting.path) + '=' + value);
  }
  conf::Config copy = *config;
  for (const std::string& setting : settings) {
    if (!conf::apply_setting(copy, setting)) {
      std::abort();
    }
  }
  if (copy != *config) {
    std::abort();
  }
  return 0;
}
