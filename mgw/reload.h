#pragma once
// The configuration is read anew while the gateway runs (SIGHUP).

#include "mgw/configuration_file.h"
#include "mgw/gateway_view.h"

#include <tl/expected.hpp>

#include <functional>
#include <string>

namespace mgw {

/// Reads and checks what the program was started with: file, options, environment.
using ConfigurationReader = std::function<tl::expected<ConfigurationRead, ConfigurationFault>()>;

/// Reads the configuration whole and applies what can be applied while calls are up; logs what has
/// changed, and all keys that wait for a restart. A configuration with a fault changes nothing: the
/// fault is logged, with file and line, and returned. Control thread.
[[nodiscard]] tl::expected<void, std::string> reload_configuration(const ConfigurationReader& read,
                                                                   GatewayView& view);

}  // namespace mgw
