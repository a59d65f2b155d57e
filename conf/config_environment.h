#pragma once
// What the environment may say about the configuration. The environment wins over file and --set,
// so that a benchmark or a unit file can switch the backend without touching the configuration.

#include "conf/config.h"
#include "conf/config_error.h"

#include <tl/expected.hpp>

#include <functional>

namespace conf {

/// The value of an environment variable, or nullptr; std::getenv in the program.
using EnvironmentLookup = std::function<const char*(const char* name)>;

/// Applies MGW_KERNEL_PATH (off, auto, xdp, tc) to io.kernel-path, and MGW_IO_BACKEND (auto, poll,
/// io_uring) or, without that, LIBOSMO_IO_BACKEND (POLL, IO_URING) to io.backend. Letter case does
/// not matter; an empty variable is none; an unknown value is an error.
[[nodiscard]] tl::expected<void, ConfigError> apply_environment(Config& config,
                                                                const EnvironmentLookup& lookup);

}  // namespace conf
