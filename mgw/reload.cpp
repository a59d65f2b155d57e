#include "mgw/reload.h"

#include "io/log.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace mgw {

namespace {

using io::LogCategory;
using io::LogLevel;

/// A log line has no line breaks.
std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

void log_keys(std::string_view what, const std::vector<std::string>& keys) {
  if (!keys.empty()) {
    io::log(LogLevel::notice, LogCategory::lglobal, "configuration: {}: {}", what,
            fmt::join(keys, ", "));
  }
}

}  // namespace

tl::expected<void, std::string> reload_configuration(const ConfigurationReader& read,
                                                     GatewayView& view) {
  const auto refuse = [](const std::string& reason) {
    const std::string line = one_line(reason);
    io::log(LogLevel::error, LogCategory::lglobal,
            "configuration not reloaded, nothing is changed: {}", line);
    return tl::unexpected(line);
  };
  auto loaded = read();
  if (!loaded) {
    return refuse(loaded.error().message);
  }
  for (const std::string& remark : loaded->remarks) {
    io::log(LogLevel::warning, LogCategory::lglobal, "{}", one_line(remark));
  }
  const conf::Config before = view.in_force();
  if (const auto result = view.reconfigure(std::move(loaded->config)); !result) {
    return refuse(result.error());
  }
  const std::vector<std::string> changed = changed_keys(before, view.in_force());
  const std::vector<std::string> waiting = changed_keys(view.in_force(), view.config());
  log_keys("changed", changed);
  log_keys("takes effect at the next start only", waiting);
  if (changed.empty() && waiting.empty()) {
    io::log(LogLevel::notice, LogCategory::lglobal, "configuration: reloaded, nothing has changed");
  }
  return {};
}

}  // namespace mgw
