#pragma once
// The configuration that the program starts with: a YAML file or an osmo-mgw file, --set and the
// environment.

#include "conf/config.h"

#include <tl/expected.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mgw {

/// Why there is no configuration, and how the program ends.
struct ConfigurationFault {
  /// Exit statuses. Those of osmo-mgw files are osmo-mgw's.
  static constexpr int kInvalid = 3;
  static constexpr int kOsmoFileMissing = 254;
  static constexpr int kOsmoFileInvalid = 234;

  std::string message;
  int exit_status = kInvalid;
};

/// What was read.
struct ConfigurationRead {
  conf::Config config;
  std::vector<std::string> remarks;  ///< for the operator: deprecated directives
};

/// Reads `file` (empty: all defaults), then `settings` (KEY=VALUE) and the environment, which take
/// precedence in that order, and checks the whole.
[[nodiscard]] tl::expected<ConfigurationRead, ConfigurationFault> load_configuration(
    const std::string& file, std::span<const std::string> settings);

}  // namespace mgw
