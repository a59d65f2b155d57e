// Endpoints of E1 trunks (ITU-T I.460): which of them can be used, and their line side, a leg that
// the call agent does not see.

#include "io/assert.h"
#include "mgw/call_control.h"
#include "mgw/e1_line.h"
#include "mgw/virtual_e1.h"

#include <utility>

namespace mgw {

using mgcp::ProtocolError;
using mgcp::ResponseCode;

void CallControl::install_e1_lines() {
  const conf::E1Options& options = parts_.config.e1;
  for (const conf::E1Trunk& trunk : options.all_trunks()) {
    counters_.e1_trunks.push_back(trunk.trunk);
  }
  const std::size_t count = counters_.e1_trunks.size();
  e1_lines_.resize(count, nullptr);
  if (count == 0 || !options.virtual_lines) {
    return;
  }
  const auto lines = std::make_shared<VirtualE1>(count, options.wiring, options.bit_errors_ppm);
  auto command = std::make_unique<MediaCommand>();
  for (std::size_t i = 0; i < count; ++i) {
    auto line = std::make_unique<E1Line>(VirtualE1::make_driver(lines, i));
    e1_lines_[i] = line.get();
    command->devices.push_back({std::move(line), {}});
  }
  submit(0, std::move(command), Pending());
  parts_.media.flush();
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

CallControl::Error CallControl::check_line(std::uint32_t number) const {
  const auto trunk = trunks_.e1_trunk_of(number);
  if (!trunk) {
    return std::nullopt;
  }
  if (e1_lines_[*trunk] == nullptr) {
    return ProtocolError{ResponseCode::endpoint_without_resources, "the trunk has no line"};
  }
  constexpr std::uint8_t kUnusedRateKbps = 32;  // no codec goes at this rate
  if (trunks_.subslot_of(number)->rate_kbps == kUnusedRateKbps) {
    return ProtocolError{ResponseCode::endpoint_without_resources,
                         "nothing goes over sub-slots of 32 kbit/s"};
  }
  return std::nullopt;
}

std::uint32_t CallControl::worker_for(std::uint32_t number) const noexcept {
  // The virtual lines are wired to each other, so they live on one worker.
  return trunks_.e1_trunk_of(number) ? 0 : least_loaded_worker();
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
  line->e1 = E1Channel{e1_lines_[*trunks_.e1_trunk_of(number)],
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
  const auto mapping = e1_mapping(codec, line.e1->sub_slot.rate_kbps);
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
    const std::uint32_t slot = endpoint.line_side->slot;
    command->removals.push_back(slot);
    workers_[endpoint.worker].owners[slot] = {0, 0};
    pending.remains.push_back({endpoint.worker, slot, nullptr, 0});
  }
  endpoint.line_side.reset();
  --workers_[endpoint.worker].endpoints;
  trunks_.release(number);
}

}  // namespace mgw
