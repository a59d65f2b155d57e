#include "conf/config_environment.h"

#include "conf/setting.h"

#include <fmt/format.h>

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

}  // namespace

tl::expected<void, ConfigError> apply_environment(Config& config, const EnvironmentLookup& lookup) {
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
