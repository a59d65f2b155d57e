#include "ttcn-compat/osmo_configuration.h"

#include "ttcn-compat/command_tables.h"

#include <algorithm>
#include <utility>

namespace ttcn_compat {

namespace {

constexpr std::uint16_t kFirstPort = 16002;
/// osmo-mgw names 16066, the first port of a pair of which a firewall that is open for that range
/// lets only one pass.
constexpr std::uint16_t kLastPort = 16065;

std::uint32_t lowest_free_line(const std::vector<std::uint32_t>& lines) {
  std::uint32_t line = 0;
  while (std::ranges::find(lines, line) != lines.end()) {
    ++line;
  }
  return line;
}

}  // namespace

conf::Config osmo_mgw_defaults() {
  conf::Config config;
  config.mgcp.bind = "0.0.0.0";
  config.rtp.port_min = kFirstPort;
  config.rtp.port_max = kLastPort;
  config.vty.enabled = true;
  config.ctrl.enabled = true;
  config.metrics.enabled = false;
  return config;
}

tl::expected<std::vector<ConfigurationRemark>, ConfigurationRemark> read_osmo_configuration(
    std::string_view text, conf::Config& config) {
  conf::Config read = osmo_mgw_defaults();
  auto remarks = read_configuration(command_tree(), text, read);
  if (remarks) {
    config = std::move(read);
  }
  return remarks;
}

conf::TrunkOptions& e1_trunk_options(conf::Config& config, std::uint32_t number) {
  conf::E1Options& e1 = config.e1;
  if (std::ranges::find(e1.trunks, number) == e1.trunks.end()) {
    while (e1.lines.size() < e1.trunks.size()) {
      e1.lines.push_back(static_cast<std::uint32_t>(e1.lines.size()));
    }
    e1.trunks.push_back(number);
    e1.lines.push_back(lowest_free_line(e1.lines));
  }
  const auto trunk = static_cast<std::uint8_t>(number);
  auto options = std::ranges::find(e1.trunk_options, trunk, &conf::E1TrunkOptions::trunk);
  if (options == e1.trunk_options.end()) {
    conf::TrunkOptions defaults;
    // Who wants no keep-alives on the virtual trunk wants none elsewhere, unless the trunk says so.
    if (config.endpoints.options.keep_alive.mode == conf::KeepAlive::Mode::off) {
      defaults.keep_alive = config.endpoints.options.keep_alive;
    }
    defaults.connection_timeout = config.endpoints.options.connection_timeout;
    e1.trunk_options.push_back({trunk, defaults});
    options = std::prev(e1.trunk_options.end());
  }
  return options->options;
}

}  // namespace ttcn_compat
