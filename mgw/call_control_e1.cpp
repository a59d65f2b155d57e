// Endpoints of E1 trunks (ITU-T I.460): which of them can be used, and their line side, a leg that
// the call agent does not see.

#include "io/assert.h"
#include "io/log.h"
#include "mgw/call_control.h"
#include "mgw/e1_line.h"
#include "mgw/e1d_driver.h"
#include "mgw/virtual_e1.h"

#include <algorithm>
#include <utility>

namespace mgw {

using mgcp::ProtocolError;
using mgcp::ResponseCode;

namespace {

/// How the line is driven: as configured, or in memory if all lines are.
conf::E1LineOptions line_options(const conf::E1Options& options, std::uint8_t line) {
  const auto found = std::find_if(options.line_options.begin(), options.line_options.end(),
                                  [line](const auto& one) { return one.line == line; });
  conf::E1LineOptions chosen;
  if (options.virtual_lines) {
    chosen.driver = conf::E1Driver::virtual_line;
  } else if (found != options.line_options.end()) {
    chosen = *found;
  }
  return chosen;
}

/// What a port of the configuration means to osmo-e1d.
E1dLine e1d_line(std::uint8_t port) {
  constexpr std::uint8_t kLinesPerInterface = 16;
  return {static_cast<std::uint8_t>(port / kLinesPerInterface),
          static_cast<std::uint8_t>(port % kLinesPerInterface)};
}

}  // namespace

void CallControl::install_e1_lines() {
  const conf::E1Options& options = parts_.config.e1;
  const std::vector<conf::E1Trunk> trunks = options.all_trunks();
  const auto lines =
      std::make_shared<VirtualE1>(trunks.size(), options.wiring, options.bit_errors_ppm);
  std::vector<std::unique_ptr<MediaCommand>> commands(workers_.size());
  for (const conf::E1Trunk& trunk : trunks) {
    install_e1_line(trunk, lines, commands);
    counters_.e1_trunks.push_back(trunk.trunk);
    counters_.e1_lines.push_back(e1_lines_.back().status);
  }
  for (std::uint32_t worker = 0; worker < commands.size(); ++worker) {
    if (commands[worker] != nullptr) {
      submit(worker, std::move(commands[worker]), Pending());
    }
  }
  parts_.media.flush();
}

void CallControl::install_e1_line(const conf::E1Trunk& trunk,
                                  const std::shared_ptr<VirtualE1>& virtual_lines,
                                  std::vector<std::unique_ptr<MediaCommand>>& commands) {
  const std::size_t index = e1_lines_.size();
  E1TrunkLine& installed = e1_lines_.emplace_back();
  const conf::E1LineOptions options = line_options(parts_.config.e1, trunk.line);
  auto status = std::make_shared<E1LineStatus>();
  std::unique_ptr<E1Driver> driver;
  if (options.driver == conf::E1Driver::virtual_line) {
    driver = VirtualE1::make_driver(virtual_lines, index);
    installed.forms = E1Forms::all;
  } else if (options.driver == conf::E1Driver::osmo_e1d) {
    driver = std::make_unique<E1dDriver>(options.socket.empty() ? kE1dSocketPath : options.socket,
                                         e1d_line(options.port), status);
    const bool may_meet_circuits = parts_.config.osmux.mode != conf::OsmuxMode::off;
    installed.worker = may_meet_circuits ? OsmuxControl::kWorker
                                         : static_cast<std::uint32_t>(index % workers_.size());
  } else {
    return;
  }
  auto line = std::make_unique<E1Line>(std::move(driver), status, parts_.clock.now());
  installed.line = line.get();
  installed.status = std::move(status);
  auto& command = commands[installed.worker];
  if (command == nullptr) {
    command = std::make_unique<MediaCommand>();
  }
  command->devices.push_back({std::move(line), {}});
}

void CallControl::note_lines() {
  for (std::size_t i = 0; i < e1_lines_.size(); ++i) {
    E1TrunkLine& line = e1_lines_[i];
    if (line.status == nullptr) {
      continue;
    }
    const E1LineState state = line.status->line_state();
    const std::uint64_t losses = line.status->losses.value();
    const bool is_new = state != line.noted || losses != line.noted_losses;  // or gone and back
    if (!is_new || state == E1LineState::connecting) {
      continue;
    }
    line.noted = state;
    line.noted_losses = losses;
    const bool is_up = state == E1LineState::up;
    io::log(is_up ? io::LogLevel::notice : io::LogLevel::warning, io::LogCategory::e1,
            "{} trunk={} losses={}", to_string(state), counters_.e1_trunks[i], losses);
  }
}

std::optional<std::uint32_t> CallControl::lowest_free(const mgcp::EndpointName& name) const {
  if (mgcp::is_virtual(name.kind)) {
    return trunks_.lowest_free();
  }
  return trunks_.lowest_free_subslot(*trunks_.resolve(name));
}

std::size_t CallControl::connections_max(std::uint32_t number) const noexcept {
  if (trunks_.e1_trunk_of(number)) {
    return 1;  // the other side is the line
  }
  const std::uint32_t configured = parts_.config.endpoints.connections_max;
  return configured == 0 ? kConnectionsPerEndpointMax : configured;
}

CallControl::Error CallControl::check_overlap(std::uint32_t number) const {
  if (trunks_.e1_trunk_of(number) && trunks_.overlaps_used(number)) {
    return ProtocolError{ResponseCode::endpoint_not_ready,
                         "a sub-slot with the same bits is in use"};
  }
  return std::nullopt;
}

CallControl::Error CallControl::check_line(const mgcp::Request& request,
                                           std::uint32_t number) const {
  const auto trunk = trunks_.e1_trunk_of(number);
  if (!trunk) {
    return std::nullopt;
  }
  const auto refusal = [](std::string_view reason) {
    return ProtocolError{ResponseCode::endpoint_without_resources, reason};
  };
  const E1TrunkLine& line = e1_lines_[*trunk];
  if (line.line == nullptr) {
    return refusal("the trunk has no line");
  }
  constexpr std::uint8_t kUnusedRateKbps = 32;  // no codec goes at this rate
  const auto subslot = *trunks_.subslot_of(number);
  if (subslot.rate_kbps == kUnusedRateKbps) {
    return refusal("nothing goes over sub-slots of 32 kbit/s");
  }
  if (line.status->line_state() != E1LineState::up) {
    return refusal(to_string(line.status->line_state()));
  }
  if ((line.status->refused.value() >> subslot.timeslot & 1U) != 0) {
    return refusal("the line's driver does not give the time slot away");
  }
  Connection described;
  apply_request(request, trunk_options(number), described);
  if (!first_e1_codec(described.codecs, subslot.rate_kbps, line.forms) &&
      first_e1_codec(described.codecs, subslot.rate_kbps, E1Forms::all)) {
    return refusal("AMR goes over virtual lines only");
  }
  return std::nullopt;
}

std::uint32_t CallControl::worker_for(std::uint32_t number) const noexcept {
  const auto trunk = trunks_.e1_trunk_of(number);
  return trunk ? e1_lines_[*trunk].worker : least_loaded_worker();
}

void CallControl::add_line_side(std::uint32_t number, Pending& pending) {
  const auto subslot = trunks_.subslot_of(number);
  if (!subslot) {
    return;
  }
  Endpoint& endpoint = *trunks_.find(number);
  auto line = std::make_unique<Connection>();
  line->slot = take_slot(endpoint.worker);
  line->mode = mgcp::ConnectionMode::sendrecv;  // that of the connection decides
  line->codecs.push_back(mgcp::default_codec());
  const E1TrunkLine& installed = e1_lines_[*trunks_.e1_trunk_of(number)];
  line->e1 = E1Channel{installed.line,
                       installed.forms,
                       subslot->timeslot,
                       {subslot->rate_kbps, subslot->bit_offset},
                       std::nullopt};
  workers_[endpoint.worker].owners[line->slot] = {number, 0};
  pending.on_failure.push_back({endpoint.worker, line->slot, nullptr, 0});
  endpoint.line_side = std::move(line);
}

void CallControl::install_line_side(const Endpoint& endpoint, MediaCommand& command) {
  if (endpoint.line_side == nullptr || endpoint.connections.size() > 1) {
    return;
  }
  MGW_ASSERT(command.updates.size() == 1);
  MGW_ASSERT(command.updates.front().slot == endpoint.line_side->slot);
  auto media = std::make_unique<MediaConnection>();
  media->entry = std::move(command.updates.front().entry);
  media->leg = std::move(command.updates.front().leg);
  command.updates.clear();
  command.installs.push_back({endpoint.line_side->slot, std::move(media), {}});
}

void CallControl::follow_codec(Endpoint& endpoint) {
  if (endpoint.line_side == nullptr || endpoint.connections.empty()) {
    return;
  }
  Connection& line = *endpoint.line_side;
  const Connection& connection = *endpoint.connections.front();
  const mgcp::Codec& codec = connection.codecs[connection.selected_codec];
  const auto mapping = e1_mapping(codec, line.e1->sub_slot.rate_kbps, line.e1->forms);
  if (!same_mapping(mapping, line.e1->mapping)) {
    line.kind = LegKind::rtp;  // so that the worker gets another leg
  }
  const std::vector<mgcp::Codec> codecs = {mapping ? e1_media_codec(codec) : mgcp::default_codec()};
  if (codecs != line.codecs) {
    line.noted_faults.reset();
  }
  line.e1->mapping = mapping;
  line.codecs = codecs;
}

void CallControl::release_endpoint(std::uint32_t number, MediaCommand* command, Pending& pending) {
  Endpoint& endpoint = *trunks_.find(number);
  if (endpoint.line_side != nullptr && command != nullptr) {
    record_removal(number, *endpoint.line_side);
    const std::uint32_t slot = endpoint.line_side->slot;
    command->removals.push_back(slot);
    workers_[endpoint.worker].owners[slot] = {0, 0};
    pending.remains.push_back({endpoint.worker, slot, nullptr, 0});
  }
  endpoint.line_side.reset();
  --workers_[endpoint.worker].endpoints;
  trunks_.release(number);
  if (parts_.recorder != nullptr) {
    parts_.recorder->call_ended(number);
  }
}

}  // namespace mgw
