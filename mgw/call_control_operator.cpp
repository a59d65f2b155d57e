// What an operator may do with endpoints and connections, beside the call agent (VTY, CTRL).

#include "mgw/call_control.h"

#include <limits>
#include <memory>
#include <utility>

namespace mgw {

using mgcp::ProtocolError;
using mgcp::ResponseCode;

void CallControl::reconfigured() {
  const std::vector<conf::TrunkOptions> former =
      std::exchange(trunk_options_, options_by_trunk(parts_.config));
  local_media_.reconfigured(parts_.config);
  std::vector<std::unique_ptr<MediaCommand>> commands(workers_.size());
  for (auto number = trunks_.next_used(1); number; number = trunks_.next_used(*number + 1)) {
    Endpoint& endpoint = *trunks_.find(*number);
    // A worker is not held up for all its calls by what says nothing about them.
    if (endpoint.connections.empty() || options_of(endpoint) == former[endpoint.trunk]) {
      continue;
    }
    auto& command = commands[endpoint.worker];
    if (command == nullptr) {
      command = std::make_unique<MediaCommand>();
    }
    append_updates(endpoint, *command);
  }
  submit_removals(std::move(commands), Pending());
  flush();
}

void CallControl::free_endpoint(std::uint32_t number) {
  const EndReasonScope reason(end_reason_, EndReason::by_operator);
  remove_calls({number, number}, std::nullopt, Pending());
  flush();
}

void CallControl::free_all_endpoints() {
  const EndReasonScope reason(end_reason_, EndReason::drain_deadline);
  remove_calls({1, std::numeric_limits<std::uint32_t>::max()}, std::nullopt, Pending());
  flush();
}

std::uint32_t CallControl::calls() const noexcept {
  std::uint32_t used = trunks_.virtual_used();
  for (std::size_t trunk = 0; trunk < e1_lines_.size(); ++trunk) {
    used += trunks_.e1_used(trunk);
  }
  return used;
}

bool CallControl::loop_endpoint(std::uint32_t number, bool on) {
  Endpoint& endpoint = *trunks_.find(number);
  if (endpoint.connections.empty()) {
    return false;
  }
  for (const auto& connection : endpoint.connections) {
    if (on && !connection->mode_before_loop) {
      connection->mode_before_loop =
          std::exchange(connection->mode, mgcp::ConnectionMode::loopback);
    } else if (!on && connection->mode_before_loop) {
      connection->mode = *std::exchange(connection->mode_before_loop, std::nullopt);
    }
  }
  auto command = std::make_unique<MediaCommand>();
  append_updates(endpoint, *command);
  Pending pending;
  pending.touched.push_back(number);
  submit(endpoint.worker, std::move(command), std::move(pending));
  flush();
  return true;
}

std::optional<ProtocolError> CallControl::tap_connection(std::uint32_t number,
                                                         std::string_view connection_id,
                                                         const mgcp::TapParameter& tap) {
  Endpoint& endpoint = *trunks_.find(number);
  const auto id = connection_number(connection_id);
  Connection* connection = id ? endpoint.find(*id) : nullptr;
  if (connection == nullptr) {
    return ProtocolError{ResponseCode::incorrect_connection_id, "connection unknown"};
  }
  if (is_rebinding(*connection)) {
    return ProtocolError{ResponseCode::transient_error, "a change is under way"};
  }
  mgcp::Request request;
  request.tap = tap;
  const Connection before = *connection;
  if (const Error error = apply_tap(request, *connection)) {
    return error;
  }
  auto command = std::make_unique<MediaCommand>();
  append_tap(endpoint.worker, before, *connection, *command);
  submit(endpoint.worker, std::move(command), Pending());
  flush();
  return std::nullopt;
}

bool CallControl::in_service(std::uint32_t number) const noexcept {
  const auto trunk = trunks_.e1_trunk_of(number);
  if (!trunk) {
    return true;
  }
  const E1TrunkLine& line = e1_lines_[*trunk];
  return line.line != nullptr && line.status->line_state() == E1LineState::up;
}

const conf::TrunkOptions& CallControl::trunk_options(std::uint32_t number) const noexcept {
  return options_of(*trunks_.find(number));
}

}  // namespace mgw
