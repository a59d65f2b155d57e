#include "conf/config_environment.h"

#include "conf/setting.h"
#include "conf/setting_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace conf {

namespace {

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') {
      c = static_cast<char>(c - 'A' + 'a');
    }
  }
  return result;
}

tl::unexpected<ConfigError> unknown_value(const char* name, std::string_view value,
                                          std::string_view accepted) {
  return tl::unexpected(
      ConfigError{name, 0, 0, "io.backend",
                  fmt::format("{} is not a backend: it must be {}", quoted(value), accepted)});
}

tl::expected<void, ConfigError> apply_kernel_path(Config& config, const EnvironmentLookup& lookup) {
  constexpr const char* kName = "MGW_KERNEL_PATH";
  const char* const value = lookup(kName);
  if (value == nullptr || *value == '\0') {
    return {};
  }
  const auto found = std::ranges::find(table::kKernelPaths, lower_case(value));
  if (found == table::kKernelPaths.end()) {
    return tl::unexpected(ConfigError{
        kName, 0, 0, "io.kernel-path",
        fmt::format("{} is no kernel fast path: it must be off, auto, xdp or tc", quoted(value))});
  }
  config.io.kernel_path = static_cast<KernelPathMode>(found - table::kKernelPaths.begin());
  return {};
}

}  // namespace

tl::expected<void, ConfigError> apply_environment(Config& config, const EnvironmentLookup& lookup) {
  if (auto applied = apply_kernel_path(config, lookup); !applied) {
    return applied;
  }
  constexpr const char* kOwnName = "MGW_IO_BACKEND";
  constexpr const char* kOsmoName = "LIBOSMO_IO_BACKEND";
  const char* const own = lookup(kOwnName);
  const bool own_is_set = own != nullptr && *own != '\0';
  const char* const name = own_is_set ? kOwnName : kOsmoName;
  const char* const value = own_is_set ? own : lookup(kOsmoName);
  if (value == nullptr || *value == '\0') {
    return {};
  }
  const std::string choice = lower_case(value);
  if (choice == "poll") {
    config.io.backend = BackendChoice::poll;
  } else if (choice == "io_uring") {
    config.io.backend = BackendChoice::io_uring;
  } else if (choice == "auto" && own_is_set) {
    config.io.backend = BackendChoice::automatic;
  } else {
    return unknown_value(name, value, own_is_set ? "auto, poll or io_uring" : "POLL or IO_URING");
  }
  return {};
}

}  // namespace conf
