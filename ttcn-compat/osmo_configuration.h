#pragma once
// What osmo-mgw's configuration files mean for this gateway where they say nothing.

#include "conf/config.h"
#include "ttcn-compat/configuration_reader.h"

#include <cstdint>
#include <string_view>

namespace ttcn_compat {

/// Whether a file of this name is osmo-mgw's: it ends in ".cfg".
[[nodiscard]] inline bool is_osmo_file(std::string_view name) noexcept {
  return name.ends_with(".cfg");
}

/// The configuration of an empty osmo-mgw file: osmo-mgw's defaults throughout. Among them: MGCP on
/// all addresses, VTY and CTRL on loopback, RTP ports 16002 to 16065, no Prometheus exporter.
[[nodiscard]] conf::Config osmo_mgw_defaults();

/// Reads an osmo-mgw configuration file over these defaults. `config` is set if there is no fault.
[[nodiscard]] tl::expected<std::vector<ConfigurationRemark>, ConfigurationRemark>
read_osmo_configuration(std::string_view text, conf::Config& config);

/// The E1 trunk `number` of a configuration, which is made with osmo-mgw's defaults, on the lowest
/// line that no other trunk has, if it is not there.
conf::TrunkOptions& e1_trunk_options(conf::Config& config, std::uint32_t number);

}  // namespace ttcn_compat
