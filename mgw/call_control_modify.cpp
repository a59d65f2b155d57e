// MDCX (RFC 3435 section 2.3.6). The command is applied to a copy of the connection and checked
// whole before anything is changed: a refused one leaves everything as it was, and so does a
// command that its worker could not carry out.

#include "io/assert.h"
#include "io/log.h"
#include "mgcp/writer.h"
#include "mgw/call_control.h"

#include <utility>

namespace mgw {

using mgcp::ProtocolError;
using mgcp::ResponseCode;

void CallControl::mdcx(const mgcp::CommandLine& line, const mgcp::EndpointName& name, Reply reply) {
  if (mgcp::is_wildcard(name.kind)) {
    answer_error(std::move(reply), {ResponseCode::unsupported_function, "MDCX of a wildcard"});
    return;
  }
  const auto request = read_parameters(line, reply);
  if (!request) {
    answer_error(std::move(reply), request.error());
    return;
  }
  Endpoint& endpoint = *trunks_.find(name.number);
  Error error;
  if (endpoint.connections.empty()) {
    error = ProtocolError{ResponseCode::transient_error, "endpoint has no connection"};
    reply.outcome = CommandOutcome::no_connection;
  } else if (request->call_id && *request->call_id != endpoint.call_id &&
             !endpoint.ignore_call_id) {
    error = ProtocolError{ResponseCode::incorrect_call_id, {}};
  } else {
    error = mgcp::check_mdcx(*request);
    if (!request->connection_id) {
      reply.outcome = CommandOutcome::missing_connection_id;
    } else if (error && error->code == ResponseCode::protocol_error) {
      reply.outcome = CommandOutcome::bad_connection_id;
    }
  }
  const auto id = error ? std::nullopt : connection_number(*request->connection_id);
  Connection* current = id ? endpoint.find(*id) : nullptr;
  if (!error && current == nullptr) {
    error = ProtocolError{ResponseCode::incorrect_connection_id, {}};
  } else if (!error) {
    error = osmux_.check_mdcx(*request, *current);
    reply.outcome = error ? std::optional(CommandOutcome::no_osmux) : std::nullopt;
  }
  if (!error && is_rebinding(*current)) {
    error = ProtocolError{ResponseCode::transient_error, "an earlier change is under way"};
  } else if (!error && !parts_.media.has_room(endpoint.worker)) {
    counters_.transactions_refused.add();
    admission_.note(LimitCause::worker_queue, parts_.clock.now());
    error = ProtocolError{ResponseCode::overload, "overload: too many commands under way"};
  }
  if (error) {
    answer_error(std::move(reply), *error);
    return;
  }
  modify_connection(name.number, *request, *current, std::move(reply));
}

tl::expected<LocalHost, ProtocolError> CallControl::local_host(const Connection& current,
                                                               const Connection& next,
                                                               const io::SocketAddress& agent) {
  // Only another peer is a reason to move: not hold (0.0.0.0), a mode, or a route that changed.
  const bool on_hold =
      next.remote_host.is_unspecified() && next.remote_host.family() == current.local.family();
  if (on_hold || next.remote_host.same_host(current.remote_host)) {
    return LocalHost{current.local.with_port(0), current.announced};
  }
  return current.osmux ? osmux_.choose(next.remote_host, agent)
                       : local_media_.choose(next.remote_host, agent);
}

bool CallControl::is_rebinding(const Connection& connection) const {
  const auto found = pending_.find(connection.last_command);
  return found != pending_.end() && !found->second.on_failure.empty();
}

void CallControl::modify_connection(std::uint32_t number, const mgcp::Request& request,
                                    Connection& current, Reply reply) {
  Endpoint& endpoint = *trunks_.find(number);
  Connection next = current;
  apply_request(request, options_of(endpoint), next);
  const auto host = local_host(current, next, reply.key.agent);
  if (!host) {
    answer_error(std::move(reply), host.error());
    return;
  }
  auto command = std::make_unique<MediaCommand>();
  Pending pending;
  if (next.osmux) {
    next.local = host->bind.with_port(current.local.port());
  } else if (!host->bind.same_host(current.local)) {
    auto bound = local_media_.bind(host->bind, parts_.clock.now());
    if (!bound) {
      counters_.ports_exhausted.set(local_media_.exhausted());
      answer_error(std::move(reply), bound.error());
      return;
    }
    pending.remains.push_back({endpoint.worker, std::nullopt, current.ports, current.local.port()});
    pending.on_failure.push_back(
        {endpoint.worker, std::nullopt, bound->ports, bound->local.port()});
    next.local = bound->local;
    next.ports = bound->ports;
    command->installs.push_back({current.slot, nullptr, std::move(bound->sockets)});
  }
  next.announced = host->announce;
  const Error refused = osmux_.check_change(request, next);
  if (const Error error = refused ? refused : apply_tap(request, next)) {  // the tap last: it acts
    reply.outcome = refused ? std::optional(CommandOutcome::no_osmux_circuit) : std::nullopt;
    give_back(pending.on_failure);
    answer_error(std::move(reply), *error);
    return;
  }
  osmux_.change(request, next);
  if (request.sdp || next.codecs != current.codecs) {  // else what was negotiated holds
    negotiate(endpoint, next, pending);
  }
  pending.changed_from = std::make_unique<Connection>(std::exchange(current, std::move(next)));
  pending.endpoint = number;
  append_updates(endpoint, *command);
  mark_commanded(*command, request, current, options_of(endpoint));
  append_tap(endpoint.worker, *pending.changed_from, current, *command);
  const std::string description = describe(endpoint, current);
  mgcp::Response response;
  response.transaction_id = reply.key.transaction_id;
  response.osmux_circuit_id = circuit_number(current);
  response.sdp = description;
  const std::vector<std::string> taps = tap_texts(current.taps);
  append_tap_texts(request, taps, response);
  mgcp::write_response(pending.text, response);
  log_connection(io::LogLevel::info, io::LogCategory::lmgcp, number, current.id,
                 "connection modified", {"remote", current.remote_rtp()});
  pending.reply = std::move(reply);
  current.last_command = submit(endpoint.worker, std::move(command), std::move(pending));
}

void CallControl::undo(Pending& pending) {
  Endpoint* endpoint = trunks_.find(pending.endpoint);
  if (endpoint == nullptr) {
    return;  // no single endpoint's command: the signalling state is as it was
  }
  if (pending.restores) {
    undo_restored(pending);
    return;
  }
  if (pending.created != 0) {
    if (endpoint->find(pending.created) == nullptr) {
      return;  // deleted meanwhile, and what it held goes back with that deletion
    }
    admission_.remove(*endpoint->find(pending.created));
    std::erase_if(endpoint->connections,
                  [&pending](const auto& connection) { return connection->id == pending.created; });
    counters_.connections.set(counters_.connections.value() - 1);
  } else if (pending.changed_from != nullptr) {
    Connection* connection = endpoint->find(pending.changed_from->id);
    if (connection == nullptr) {
      give_back(pending.remains);  // deleted meanwhile: that deletion gives the new ports back,
                                   // nobody else the old ones
      return;
    }
    pending.changed_from->bandwidth_bps = connection->bandwidth_bps;  // as it is in the sum
    *connection = *pending.changed_from;
  }
  if (Connection* partner = endpoint->find(pending.partner); partner != nullptr) {
    if (partner->last_command == pending.partner_command) {  // else it has other codecs since
      partner->selected_codec = pending.partner_codec;
    }
    partner->kind = pending.partner_kind;
  }
  give_back(pending.on_failure);
  if (endpoint->connections.empty()) {
    release_endpoint(pending.endpoint, nullptr, pending);
    return;
  }
  std::vector<std::unique_ptr<MediaCommand>> commands(workers_.size());
  commands[endpoint->worker] = std::make_unique<MediaCommand>();
  append_updates(*endpoint, *commands[endpoint->worker]);
  submit_removals(std::move(commands), Pending());
}

}  // namespace mgw
