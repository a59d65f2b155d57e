#pragma once
// From a YAML file to a Config. Used once at start, on one thread; may allocate and block on the
// file. What comes in is limited (kFileBytesMax) and never trusted: unknown keys, values out of
// range, keys given twice, aliases and broken YAML are errors that name file, line and column.

#include "conf/config.h"
#include "conf/config_error.h"

#include <tl/expected.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace conf {

/// The longest file that is read: all keys with their comments are 10 KB, a full access list 12 KB.
inline constexpr std::size_t kFileBytesMax = 256UL * 1024;

/// Reads `file`, applies `settings` (each "KEY=VALUE") on top of it, and checks the whole.
[[nodiscard]] tl::expected<Config, ConfigError> load(const std::string& file,
                                                     std::span<const std::string> settings = {});

/// The same for YAML text that is in memory; `file` is the name for messages.
[[nodiscard]] tl::expected<Config, ConfigError> load_text(
    std::string_view yaml, const std::string& file, std::span<const std::string> settings = {});

/// Applies one "KEY=VALUE", such as "rtp.port-min=20000" or "mgcp.allow=10.0.0.0/8,192.0.2.1".
/// Rules that concern several keys are not checked here: see check().
[[nodiscard]] tl::expected<void, ConfigError> apply_setting(Config& config,
                                                            std::string_view key_and_value);

/// Checks the rules that concern several keys; needed after apply_setting() only.
[[nodiscard]] tl::expected<void, ConfigError> check(const Config& config);

}  // namespace conf
