#include "mgw/configuration_file.h"

#include "conf/config_environment.h"
#include "conf/config_loader.h"
#include "ttcn-compat/osmo_configuration.h"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <utility>

namespace mgw {

namespace {

using Fault = ConfigurationFault;

Fault fault_of(const conf::ConfigError& error) {
  return {error.to_string(), Fault::kInvalid};
}

tl::expected<ConfigurationRead, Fault> load_osmo_file(const std::string& file,
                                                      std::span<const std::string> settings) {
  std::ifstream stream(file, std::ios::binary);
  std::string text(conf::kFileBytesMax + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad() || !stream.eof()) {
    return tl::unexpected(
        Fault{fmt::format("Failed to parse the config file: '{}'", file), Fault::kOsmoFileMissing});
  }
  text.resize(static_cast<std::size_t>(stream.gcount()));
  ConfigurationRead read;
  const auto remarks = ttcn_compat::read_osmo_configuration(text, read.config);
  if (!remarks) {
    const ttcn_compat::ConfigurationRemark& error = remarks.error();
    return tl::unexpected(
        Fault{fmt::format("{}\nError occurred during reading the below line ({}:{}):\n{}",
                          error.message, file, error.line, error.text),
              Fault::kOsmoFileInvalid});
  }
  for (const ttcn_compat::ConfigurationRemark& remark : *remarks) {
    read.remarks.push_back(fmt::format("{}:{}: {}", file, remark.line, remark.message));
  }
  for (const std::string& setting : settings) {
    if (const auto applied = conf::apply_setting(read.config, setting); !applied) {
      return tl::unexpected(fault_of(applied.error()));
    }
  }
  if (const auto checked = conf::check(read.config); !checked) {
    return tl::unexpected(fault_of(checked.error()));
  }
  return read;
}

}  // namespace

tl::expected<ConfigurationRead, ConfigurationFault> load_configuration(
    const std::string& file, std::span<const std::string> settings) {
  ConfigurationRead read;
  if (ttcn_compat::is_osmo_file(file)) {
    auto loaded = load_osmo_file(file, settings);
    if (!loaded) {
      return loaded;
    }
    read = std::move(*loaded);
  } else {
    auto loaded =
        file.empty() ? conf::load_text("", "(defaults)", settings) : conf::load(file, settings);
    if (!loaded) {
      return tl::unexpected(fault_of(loaded.error()));
    }
    read.config = std::move(*loaded);
  }
  if (const auto applied =
          conf::apply_environment(read.config, [](const char* name) { return std::getenv(name); });
      !applied) {
    return tl::unexpected(fault_of(applied.error()));
  }
  return read;
}

}  // namespace mgw
