#include "mgw/gateway_view.h"

#include "conf/collection.h"
#include "conf/config_keys.h"
#include "conf/config_loader.h"
#include "mgw/counter_groups.h"

#include <dirent.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <fstream>
#include <memory>
#include <set>
#include <utility>

namespace mgw {

namespace {

using ttcn_compat::ConnectionView;
using ttcn_compat::EndpointView;
using ttcn_compat::Failure;

Failure text_of(const mgcp::ProtocolError& error) {
  return std::string(error.reason.empty() ? mgcp::default_reason(error.code) : error.reason);
}

void add_osmux(const Connection& connection, const MediaConnection& media, ConnectionView& view) {
  const OsmuxLegCounters& live = media.live.osmux;
  ttcn_compat::OsmuxView osmux;
  osmux.state = connection.osmux->remote && connection.remote_port != 0 ? "enabled" : "activating";
  osmux.local_cid = connection.osmux->local;
  osmux.remote_cid = connection.osmux->remote;
  osmux.chunks_received = live.chunks_received.value();
  osmux.octets_received = live.octets_received.value();
  osmux.rtp_packets_encoded = live.packets_encoded.value();
  osmux.amr_octets_encoded = live.amr_octets_encoded.value();
  osmux.dropped = live.packets_dropped.value();
  view.osmux = osmux;
}

}  // namespace

std::vector<std::string> changed_keys(const conf::Config& left, const conf::Config& right) {
  std::vector<std::string> paths;
  for (const conf::Setting* setting : conf::differing_settings(left, right)) {
    paths.emplace_back(setting->path);
  }
  const std::pair<std::string_view, bool> lists[] = {
      {"e1.line-options", left.e1.line_options != right.e1.line_options},
      {"e1.trunk-options", left.e1.trunk_options != right.e1.trunk_options},
      {"stats.reporters", left.stats.reporters != right.stats.reporters},
      {"log.targets", left.log.targets != right.log.targets},
  };
  for (const auto& [path, differs] : lists) {
    if (differs) {
      paths.emplace_back(path);
    }
  }
  return paths;
}

conf::Config effective_config(const conf::Config& running, const conf::Config& wanted) {
  conf::Config effective = wanted;
  effective.io = running.io;
  effective.workers = running.workers;
  effective.mgcp.bind = running.mgcp.bind;
  effective.mgcp.port = running.mgcp.port;
  effective.mgcp.call_agent = running.mgcp.call_agent;
  effective.mgcp.transaction_history = running.mgcp.transaction_history;
  effective.mgcp.transactions_max = running.mgcp.transactions_max;
  effective.mgcp.notify_entity = running.mgcp.notify_entity;
  effective.endpoints.count = running.endpoints.count;
  effective.endpoints.options.generate_rtcp = running.endpoints.options.generate_rtcp;
  effective.taps.directory = running.taps.directory;
  effective.taps.file_max_bytes = running.taps.file_max_bytes;
  effective.e1 = running.e1;
  effective.e1.trunk_options = wanted.e1.trunk_options;
  effective.metrics = running.metrics;
  effective.records = running.records;
  effective.vty.enabled = running.vty.enabled;
  effective.vty.bind = running.vty.bind;
  effective.vty.port = running.vty.port;
  effective.ctrl = running.ctrl;
  return effective;
}

GatewayView::GatewayView(GatewayViewParts parts)
    : parts_(std::move(parts)), configured_(parts_.config) {}

tl::expected<ttcn_compat::ReconfigureResult, Failure> GatewayView::reconfigure(
    conf::Config changed) {
  if (const auto checked = conf::check(changed); !checked) {
    return tl::unexpected(checked.error().message);
  }
  ttcn_compat::ReconfigureResult result;
  conf::Config effective = effective_config(parts_.config, changed);
  const std::vector<std::string> waiting = changed_keys(effective, changed);
  const std::vector<std::string> waited = changed_keys(parts_.config, configured_);
  for (const std::string& path : waiting) {
    if (std::ranges::find(waited, path) == waited.end()) {
      result.needs_restart.push_back(path);
    }
  }
  if (effective != parts_.config) {
    conf::Config former = std::exchange(parts_.config, std::move(effective));
    if (auto applied = parts_.on_reconfigured(); !applied) {
      parts_.config = std::move(former);
      return tl::unexpected(std::move(applied.error()));
    }
    parts_.control.reconfigured();
  }
  configured_ = std::move(changed);
  return result;
}

std::vector<ttcn_compat::TrunkView> GatewayView::trunks() const {
  const Trunks& all = parts_.control.trunks();
  std::vector<ttcn_compat::TrunkView> views;
  views.push_back({true, 0, all.virtual_total(), all.virtual_used()});
  for (const std::uint8_t number : parts_.control.counters().e1_trunks) {
    views.push_back({false, number, kE1EndpointsPerTrunk, all.e1_used(views.size() - 1)});
  }
  return views;
}

std::uint32_t GatewayView::number_of(std::size_t trunk, std::uint32_t index) const {
  if (trunk == 0) {
    return index + 1;
  }
  return parts_.control.trunks().virtual_total() + 1 +
         static_cast<std::uint32_t>(trunk - 1) * kE1EndpointsPerTrunk + index;
}

std::uint32_t GatewayView::endpoints_of(std::size_t trunk) const {
  return trunk == 0 ? parts_.control.trunks().virtual_total() : kE1EndpointsPerTrunk;
}

EndpointView GatewayView::endpoint(std::size_t trunk, std::uint32_t index) const {
  const std::uint32_t number = number_of(trunk, index);
  const Endpoint& endpoint = *parts_.control.trunks().find(number);
  EndpointView view;
  view.name = parts_.control.endpoint_name(number);
  view.available = parts_.control.in_service(number);
  for (auto connection = endpoint.connections.rbegin(); connection != endpoint.connections.rend();
       ++connection) {
    view.connections.push_back(connection_view(number, endpoint, **connection));
  }
  return view;
}

ConnectionView GatewayView::connection_view(std::uint32_t number, const Endpoint& endpoint,
                                            const Connection& connection) const {
  ConnectionView view;
  view.call_id = endpoint.call_id;
  view.id = connection.id_text();
  view.kind = to_string(connection.kind);
  view.remote = connection.remote_rtp();
  view.local = connection.local;
  view.mode = mgcp::to_text(connection.mode);
  view.sends = mode_sends(connection.mode) || mode_echoes(connection.mode);
  const conf::TrunkOptions& options = parts_.control.trunk_options(number);
  const mgcp::Codec& codec = connection.codecs[connection.selected_codec];
  view.payload_type = codec.payload_type;
  view.rate_hz = codec.clock_rate_hz;
  view.channels = codec.channels;
  view.audio_name = codec.name + "/" + std::to_string(codec.clock_rate_hz);
  view.subtype = codec.name;
  view.packet_duration_ms = connection.ptime_ms;
  view.force_ptime_ms = static_cast<std::uint32_t>(options.force_ptime.count());
  const MediaConnection* media = parts_.control.media().find(endpoint.worker, connection.slot);
  if (media == nullptr) {
    return view;
  }
  const LiveCounters& live = media->live;
  const Traffic sent = live.rtp_sent.value();
  const Traffic received = live.rtp_received.value();
  view.packets_sent = sent.packets;
  view.octets_sent = sent.octets;
  view.packets_received = received.packets;
  view.octets_received = received.octets;
  view.timestamp_errors_in = live.timestamp_errors_in.value();
  view.timestamp_errors_out = live.timestamp_errors_out.value();
  view.dropped = live.dropped.value();
  if (options.connection_timeout.count() > 0) {
    view.remaining = std::max(
        io::Duration::zero(),
        live.last_activity.value() + io::Duration(options.connection_timeout) - parts_.clock.now());
  }
  if (connection.osmux) {
    add_osmux(connection, *media, view);
  }
  return view;
}

std::optional<std::uint32_t> GatewayView::next_used(std::size_t trunk, std::uint32_t index) const {
  const std::uint32_t first = number_of(trunk, 0);
  const auto number = parts_.control.trunks().next_used(number_of(trunk, index));
  if (!number || *number >= first + endpoints_of(trunk)) {
    return std::nullopt;
  }
  return *number - first;
}

std::optional<std::uint32_t> GatewayView::find_endpoint(std::size_t trunk,
                                                        std::string_view name) const {
  const std::string& domain = parts_.config.mgcp.domain;
  std::string full(name);
  if (full.find('@') == std::string::npos) {
    full += "@" + (domain == "*" ? std::string("mgw") : domain);
  }
  const auto parsed = mgcp::parse_endpoint_name(full);
  if (!parsed || parsed->kind == mgcp::EndpointKind::null || mgcp::is_wildcard(parsed->kind) ||
      !mgcp::domain_matches(domain, parsed->domain)) {
    return std::nullopt;
  }
  const auto range = parts_.control.trunks().resolve(*parsed);
  const std::uint32_t first = number_of(trunk, 0);
  if (!range || range->first < first || range->first >= first + endpoints_of(trunk)) {
    return std::nullopt;
  }
  return range->first - first;
}

std::size_t GatewayView::osmux_circuits_used() const {
  return parts_.control.osmux().used();
}

std::vector<ttcn_compat::E1LineView> GatewayView::e1_lines() const {
  const conf::E1Options& options = parts_.config.e1;
  std::vector<ttcn_compat::E1LineView> views;
  for (const conf::E1Trunk& trunk : options.all_trunks()) {
    const std::size_t position = views.size() + 1;
    ttcn_compat::E1LineView view;
    view.line = trunk.line;
    const auto line =
        std::ranges::find(options.line_options, trunk.line, &conf::E1LineOptions::line);
    const conf::E1Driver driver = options.virtual_lines ? conf::E1Driver::virtual_line
                                  : line == options.line_options.end() ? conf::E1Driver::none
                                                                       : line->driver;
    view.driver = conf::kE1DriverWords[static_cast<std::size_t>(driver)];
    view.name = line == options.line_options.end() ? std::string() : line->name;
    view.up = parts_.control.in_service(number_of(position, 0));
    std::set<std::uint32_t> timeslots;
    for (auto index = next_used(position, 0); index; index = next_used(position, *index + 1)) {
      timeslots.insert(*index / kE1EndpointsPerTimeslot);
    }
    view.timeslots_used = static_cast<std::uint32_t>(timeslots.size());
    views.push_back(std::move(view));
  }
  return views;
}

std::vector<ttcn_compat::ThreadView> GatewayView::threads() const {
  std::vector<ttcn_compat::ThreadView> views;
  const std::unique_ptr<DIR, int (*)(DIR*)> tasks(::opendir("/proc/self/task"), ::closedir);
  if (tasks == nullptr) {
    return views;
  }
  while (const dirent* entry = ::readdir(tasks.get())) {
    const std::string_view name = entry->d_name;
    ttcn_compat::ThreadView view;
    const auto read = std::from_chars(name.data(), name.data() + name.size(), view.id);
    if (read.ec != std::errc{}) {
      continue;  // "." and ".."
    }
    std::ifstream command("/proc/self/task/" + std::string(name) + "/comm");
    std::getline(command, view.name);
    views.push_back(std::move(view));
  }
  return views;
}

void GatewayView::visit_counters(const ttcn_compat::CounterGroupVisitor& visit) const {
  visit_counter_groups(parts_.control, visit);
}

void GatewayView::free_endpoint(std::size_t trunk, std::uint32_t index) {
  parts_.control.free_endpoint(number_of(trunk, index));
}

bool GatewayView::reset_endpoint(std::size_t trunk, std::uint32_t index) {
  const std::uint32_t number = number_of(trunk, index);
  parts_.control.free_endpoint(number);
  return parts_.notifier.notify(mgcp::RestartMethod::restart, parts_.control.endpoint_name(number),
                                parts_.clock.now());
}

tl::expected<void, Failure> GatewayView::loop_endpoint(std::size_t trunk, std::uint32_t index,
                                                       bool on) {
  if (!parts_.control.loop_endpoint(number_of(trunk, index), on)) {
    return tl::unexpected(Failure("the endpoint has no connection"));
  }
  return {};
}

tl::expected<void, Failure> GatewayView::tap(std::size_t trunk, std::uint32_t index,
                                             std::string_view connection_id, bool received,
                                             const io::SocketAddress& target) {
  mgcp::TapParameter tap;
  tap.state = target.port() == 0 ? mgcp::TapParameter::State::off : mgcp::TapParameter::State::udp;
  tap.in = received;
  tap.out = !received;
  tap.target = target;
  if (const auto error =
          parts_.control.tap_connection(number_of(trunk, index), connection_id, tap)) {
    return tl::unexpected(text_of(*error));
  }
  return {};
}

void GatewayView::set_draining(bool on) {
  if (!on) {
    parts_.drain.cancel();
  } else if (!parts_.drain.active()) {
    parts_.drain.begin({});
  }
}

void GatewayView::drain_and_end(std::optional<std::chrono::seconds> deadline) {
  parts_.drain.begin({true, deadline});
}

ttcn_compat::DrainView GatewayView::drain() const {
  return {parts_.drain.active(), parts_.drain.ends(), parts_.drain.remaining()};
}

}  // namespace mgw
