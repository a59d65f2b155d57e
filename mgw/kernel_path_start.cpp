#include "mgw/kernel_path_start.h"

#include "io/log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace mgw {

namespace {

using io::LogCategory;
using io::LogLevel;

constexpr unsigned kDscpShift = 2;
/// Flows of a call between two legs.
constexpr std::uint32_t kFlowsPerEndpoint = 2;
/// Flows of a worker at most, some 60 MiB of kernel memory; a core carries fewer calls in its
/// sockets.
constexpr std::uint32_t kFlowsPerWorkerMax = 131072;
/// Calls don't spread over the workers to the last one.
constexpr std::uint32_t kUnevenness = 2;
constexpr std::uint32_t kFlowsPerWorkerMin = 64;

io::KernelPathChoice kernel_path_choice(conf::KernelPathMode mode) {
  switch (mode) {
    case conf::KernelPathMode::automatic:
      return io::KernelPathChoice::automatic;
    case conf::KernelPathMode::xdp:
      return io::KernelPathChoice::xdp;
    case conf::KernelPathMode::tc:
      return io::KernelPathChoice::tc;
    case conf::KernelPathMode::off:
      break;
  }
  return io::KernelPathChoice::off;
}

std::vector<std::string> device_names(std::string_view list) {
  std::vector<std::string> names;
  while (!list.empty()) {
    const std::string_view name = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), name.size() + 1));
    if (!name.empty()) {
      names.emplace_back(name);
    }
  }
  return names;
}

/// Where RTP sockets may be bound; empty if that depends on the peers.
std::vector<io::SocketAddress> rtp_addresses(const conf::Config& config) {
  std::vector<io::SocketAddress> addresses;
  const auto add = [&](const std::string& text) {
    const auto address = io::SocketAddress::parse(text, 0);
    if (address && !address->is_unspecified()) {
      addresses.push_back(*address);
    }
  };
  add(config.rtp.bind);
  add(config.rtp.bind_v6);
  if (config.rtp.bind.empty() || config.rtp.bind_v6.empty()) {
    add(config.mgcp.bind);
  }
  const auto mgcp = io::SocketAddress::parse(config.mgcp.bind, 0);
  const bool follows_route = config.rtp.bind.empty() && (!mgcp || mgcp->is_unspecified() ||
                                                         mgcp->family() != io::AddressFamily::ipv4);
  if (config.rtp.ip_probing || follows_route) {
    addresses.clear();
  }
  return addresses;
}

io::KernelPathOptions options_of(const conf::Config& config, std::uint32_t workers) {
  io::KernelPathOptions options;
  options.choice = kernel_path_choice(config.io.kernel_path);
  options.devices = device_names(config.io.kernel_path_devices);
  options.addresses = rtp_addresses(config);
  const std::uint32_t all = kFlowsPerEndpoint * config.endpoints.count;
  const std::uint32_t each = std::clamp(std::min(all, kUnevenness * (all / workers + 1)),
                                        kFlowsPerWorkerMin, kFlowsPerWorkerMax);
  options.flows_max = each * workers;
  options.traffic_class = static_cast<std::uint8_t>(config.rtp.dscp << kDscpShift);
  options.without_links = std::getenv("MGW_KERNEL_PATH_WITHOUT_LINKS") != nullptr;
  return options;
}

}  // namespace

std::string KernelPathSelection::text() const {
  if (path != nullptr) {
    return fmt::format("{} on {}", path->name(), path->devices());
  }
  return refusal.empty() ? "off" : fmt::format("off: {}", refusal);
}

KernelPathSelection start_kernel_path(const conf::Config& config, std::uint32_t workers) {
  KernelPathSelection selection;
  if (config.io.kernel_path == conf::KernelPathMode::off) {
    return selection;
  }
  auto opened = io::KernelPath::open(options_of(config, workers));
  if (opened) {
    selection.path = std::move(*opened);
    for (const std::string& remark : selection.path->remarks()) {
      io::log(LogLevel::notice, LogCategory::lio, "no kernel fast path there: {}", remark);
    }
    io::log(LogLevel::notice, LogCategory::lio, "kernel fast path: {}", selection.text());
    return selection;
  }
  if (config.io.kernel_path != conf::KernelPathMode::automatic) {
    throw std::runtime_error(fmt::format(
        "io.kernel-path is {}, but the kernel fast path can't be had: {}",
        config.io.kernel_path == conf::KernelPathMode::tc ? "tc" : "xdp", opened.error()));
  }
  selection.refusal = std::move(opened.error());
  io::log(LogLevel::notice, LogCategory::lio, "no kernel fast path: {}", selection.refusal);
  return selection;
}

}  // namespace mgw
