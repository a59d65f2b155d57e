#include "conf/config_check.h"

#include "conf/notified_entity.h"
#include "io/log_category.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <span>

namespace conf {

namespace {

std::optional<Violation> check_ports(const RtpOptions& rtp) {
  if (rtp.port_min % 2 != 0) {
    return Violation{"rtp.port-min", "",
                     fmt::format("rtp.port-min is {}, but RTP ports are even", rtp.port_min)};
  }
  if (rtp.port_max % 2 != 1) {
    return Violation{
        "rtp.port-max", "",
        fmt::format("rtp.port-max is {}, but the last port is an RTCP port, which is odd",
                    rtp.port_max)};
  }
  if (rtp.port_min >= rtp.port_max) {
    return Violation{"rtp.port-max", "rtp.port-min",
                     fmt::format("rtp.port-max is {}, which is below rtp.port-min, {}",
                                 rtp.port_max, rtp.port_min)};
  }
  return std::nullopt;
}

/// Whether the list names the address; an empty list names everybody.
bool is_allowed(const std::vector<IpNetwork>& allow, const std::string& address) {
  if (allow.empty()) {
    return true;
  }
  std::array<std::uint8_t, 16> bytes{};
  const bool is_ipv4 = address_family(address) == AddressFamily::ipv4;
  inet_pton(is_ipv4 ? AF_INET : AF_INET6, address.c_str(), bytes.data());
  const auto used = std::span<const std::uint8_t>(bytes).first(is_ipv4 ? 4 : bytes.size());
  return std::ranges::any_of(allow,
                             [&](const IpNetwork& network) { return network.contains(used); });
}

std::optional<Violation> check_call_agent(const MgcpOptions& mgcp) {
  if (mgcp.call_agent.empty()) {
    return std::nullopt;
  }
  if (address_family(mgcp.call_agent) != address_family(mgcp.bind)) {
    return Violation{"mgcp.call-agent", "mgcp.bind",
                     fmt::format("mgcp.call-agent is {} and mgcp.bind is {}: both must be IPv4 or "
                                 "both IPv6",
                                 mgcp.call_agent, mgcp.bind)};
  }
  if (!is_allowed(mgcp.allow, mgcp.call_agent)) {
    return Violation{
        "mgcp.call-agent", "mgcp.allow",
        fmt::format("mgcp.call-agent is {}, which mgcp.allow does not name", mgcp.call_agent)};
  }
  return std::nullopt;
}

std::optional<Violation> check_notify_entity(const MgcpOptions& mgcp) {
  const auto entity = parse_notified_entity(mgcp.notify_entity);
  if (!entity) {
    return std::nullopt;
  }
  if (address_family(entity->address) != address_family(mgcp.bind)) {
    return Violation{"mgcp.notify-entity", "mgcp.bind",
                     fmt::format("mgcp.notify-entity is at {} and mgcp.bind is {}: both must be "
                                 "IPv4 or both IPv6",
                                 entity->address, mgcp.bind)};
  }
  if (!mgcp.call_agent.empty() &&
      (entity->address != mgcp.call_agent || entity->port != kCallAgentPort)) {
    return Violation{"mgcp.notify-entity", "mgcp.call-agent",
                     fmt::format("mgcp.notify-entity is at {} port {}, but with mgcp.call-agent "
                                 "nobody is heard but {} port {}",
                                 entity->address, entity->port, mgcp.call_agent, kCallAgentPort)};
  }
  return std::nullopt;
}

std::optional<Violation> check_osmux(const Config& config) {
  if (config.osmux.mode != OsmuxMode::off && config.osmux.batch_bytes > config.io.buffer_bytes) {
    return Violation{"osmux.batch-bytes", "io.buffer-bytes",
                     fmt::format("osmux.batch-bytes is {}, more than io.buffer-bytes, {}",
                                 config.osmux.batch_bytes, config.io.buffer_bytes)};
  }
  return std::nullopt;
}

std::optional<Violation> check_e1(const E1Options& e1) {
  if (!e1.lines.empty() && e1.lines.size() != e1.trunks.size()) {
    return Violation{
        "e1.lines", "e1.trunks",
        fmt::format("e1.lines names {} lines for {} trunks", e1.lines.size(), e1.trunks.size())};
  }
  if (std::set<std::uint32_t>(e1.trunks.begin(), e1.trunks.end()).size() != e1.trunks.size()) {
    return Violation{"e1.trunks", "", "e1.trunks names a trunk twice"};
  }
  if (std::set<std::uint32_t>(e1.lines.begin(), e1.lines.end()).size() != e1.lines.size()) {
    return Violation{"e1.lines", "", "e1.lines names a line twice: two trunks cannot share one"};
  }
  return std::nullopt;
}

/// The first number that `entries` have twice.
template <typename Entry, typename Number>
std::optional<int> repeated(const std::vector<Entry>& entries, Number Entry::*number) {
  std::set<int> seen;
  for (const Entry& entry : entries) {
    if (!seen.insert(entry.*number).second) {
      return entry.*number;
    }
  }
  return std::nullopt;
}

std::optional<Violation> check_e1_lists(const E1Options& e1) {
  if (const auto line = repeated(e1.line_options, &E1LineOptions::line)) {
    return Violation{"e1.line-options", "",
                     fmt::format("e1.line-options has line {} twice", *line)};
  }
  if (const auto trunk = repeated(e1.trunk_options, &E1TrunkOptions::trunk)) {
    return Violation{"e1.trunk-options", "",
                     fmt::format("e1.trunk-options has trunk {} twice", *trunk)};
  }
  return std::nullopt;
}

std::optional<Violation> check_log(const LogOptions& log) {
  for (const LogTarget& target : log.targets) {
    if (target.kind == LogTarget::Kind::file && target.destination.empty()) {
      return Violation{"log.targets", "", "a target of type file needs a destination"};
    }
    for (const LogCategoryLevel& one : target.levels) {
      if (!io::find_log_category(one.category)) {
        return Violation{"log.targets", "",
                         fmt::format("log.targets.levels: no category '{}'", one.category)};
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Violation> find_violation(const Config& config) {
  if (auto violation = check_ports(config.rtp)) {
    return violation;
  }
  if (auto violation = check_call_agent(config.mgcp)) {
    return violation;
  }
  if (auto violation = check_notify_entity(config.mgcp)) {
    return violation;
  }
  if (auto violation = check_osmux(config)) {
    return violation;
  }
  if (auto violation = check_e1(config.e1)) {
    return violation;
  }
  if (auto violation = check_e1_lists(config.e1)) {
    return violation;
  }
  return check_log(config.log);
}

}  // namespace conf
