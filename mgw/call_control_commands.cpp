// CRCX and DLCX (RFC 3435 sections 2.3.5, 2.3.7 to 2.3.9), and what CRCX has in common with MDCX
// (mgw/call_control_modify.cpp). Each command is checked whole before anything is changed: a
// refused one leaves everything as it was.

#include "io/assert.h"
#include "io/log.h"
#include "mgcp/writer.h"
#include "mgw/call_control.h"
#include "mgw/codec_decision.h"
#include "mgw/endpoint_compiler.h"
#include "mgw/leg_choice.h"

#include <algorithm>
#include <utility>

namespace mgw {

namespace {

using io::LogCategory;
using io::LogLevel;
using mgcp::Codec;
using mgcp::ProtocolError;
using mgcp::ResponseCode;

/// The codecs of the other leg that matters for negotiation: the one made last.
const Connection* negotiation_partner(const Endpoint& endpoint, const Connection& connection) {
  for (auto other = endpoint.connections.rbegin(); other != endpoint.connections.rend(); ++other) {
    if ((*other)->id != connection.id) {
      return other->get();
    }
  }
  return nullptr;
}

/// Puts the codecs that the options name in front, in their order, as far as the connection has
/// negotiated them; if it has none of them the options' codecs replace the list.
void apply_option_codecs(const mgcp::LocalConnectionOptions& options, Connection& connection) {
  std::vector<Codec> wanted = mgcp::codecs_from_options(options);
  auto end = connection.codecs.begin();
  for (const Codec& option : wanted) {
    const auto found = std::find_if(end, connection.codecs.end(), [&option](const Codec& codec) {
      return mgcp::is_codec(codec, option.name);
    });
    if (found != connection.codecs.end()) {
      std::rotate(end, found, found + 1);
      ++end;
    }
  }
  if (end == connection.codecs.begin() && !wanted.empty()) {
    connection.codecs = std::move(wanted);
  }
}

void apply_description(const mgcp::SessionDescription& description, std::string_view text,
                       Connection& connection) {
  if (description.address) {
    connection.remote_host = description.address->with_port(0);
  }
  if (description.port) {
    connection.remote_port = *description.port;
  }
  connection.remote_rtcp_port = description.rtcp_port.value_or(0);
  connection.remote_rtcp_host = description.rtcp_address.value_or(io::SocketAddress());
  connection.profile = description.profile;
  connection.rtcp_mux = description.rtcp_mux;
  connection.direction = description.direction;
  connection.other_media = description.other_media;
  connection.other_media_before = description.other_media_before;
  // A stream that is off may be described by its port alone (RFC 3264 section 6): that names no
  // codec and takes none away.
  const bool is_off = !description.port || description.is_hold();
  if (!description.codecs.empty() || !is_off) {
    connection.codecs = description.codecs;
  }
  connection.remote_description.assign(text);
  connection.noted_faults.reset();
  if (description.ptime_ms) {
    connection.ptime_ms = *description.ptime_ms;
  }
}

}  // namespace

// --- what CRCX and MDCX have in common

void CallControl::apply_request(const mgcp::Request& request, const conf::TrunkOptions& options,
                                Connection& connection) const {
  if (request.mode.state == mgcp::ModeParameter::State::known) {
    connection.mode = request.mode.mode;
    connection.mode_before_loop.reset();
  }
  if (request.local_options && request.local_options->packetisation &&
      request.local_options->packetisation->minimum_ms != 0) {
    connection.ptime_ms = request.local_options->packetisation->minimum_ms;
  }
  if (request.sdp) {
    apply_description(*request.sdp, request.sdp_text, connection);
  }
  const bool codecs_described = request.sdp && !request.sdp->codecs.empty();
  if (!codecs_described && request.local_options) {
    apply_option_codecs(*request.local_options, connection);
  }
  if (connection.codecs.empty()) {
    connection.codecs.push_back(mgcp::default_codec());
  }
  if (options.force_ptime.count() > 0) {
    connection.ptime_ms = static_cast<std::uint32_t>(options.force_ptime.count());
  }
}

void CallControl::negotiate(Endpoint& endpoint, Connection& connection, Pending& pending) {
  connection.selected_codec = 0;
  const Connection* partner = negotiation_partner(endpoint, connection);
  if (partner == nullptr) {
    connection.selected_codec = select_codecs(connection.codecs, {}).own;
    if (endpoint.line_side != nullptr) {
      connection.selected_codec = first_e1_codec(connection.codecs, *endpoint.line_side->e1)
                                      .value_or(connection.selected_codec);
    }
    return;
  }
  const CodecPair pair = select_codecs(connection.codecs, partner->codecs);
  connection.selected_codec = pair.own;
  pending.partner = partner->id;
  pending.partner_codec = partner->selected_codec;
  pending.partner_command = partner->last_command;
  pending.partner_kind = partner->kind;
  endpoint.find(partner->id)->selected_codec = pair.other;
}

std::string CallControl::describe(const Endpoint& endpoint, const Connection& connection) const {
  const Connection* partner = negotiation_partner(endpoint, connection);
  const std::vector<Codec> codecs = announced_codecs(
      connection.codecs, connection.selected_codec,
      partner == nullptr ? std::span<const Codec>() : std::span<const Codec>(partner->codecs),
      options_of(endpoint).sdp.single_codec);
  const std::string id = connection.id_text();
  mgcp::SessionAnswer answer;
  answer.connection_id = id;
  answer.address = connection.announced;
  answer.port = connection.local.port();
  answer.profile = connection.profile;
  answer.codecs = codecs;
  answer.ptime_ms = connection.ptime_ms;
  answer.send_name = options_of(endpoint).sdp.send_name;
  answer.send_ptime = options_of(endpoint).sdp.send_ptime;
  if (connection.direction == mgcp::MediaDirection::sendonly) {
    answer.direction = mgcp::MediaDirection::recvonly;
  } else if (connection.direction == mgcp::MediaDirection::recvonly) {
    answer.direction = mgcp::MediaDirection::sendonly;
  } else if (connection.direction == mgcp::MediaDirection::inactive) {
    answer.direction = mgcp::MediaDirection::inactive;
  }
  answer.rtcp_mux = connection.rtcp_mux;
  answer.other_media = connection.other_media;
  answer.other_media_before = connection.other_media_before;
  std::string text;
  mgcp::write_sdp(text, answer);
  return text;
}

bool CallControl::keeps_alive(const Connection& connection,
                              const conf::TrunkOptions& options) noexcept {
  return options.keep_alive.mode != conf::KeepAlive::Mode::off && mode_receives(connection.mode) &&
         connection.remote_port != 0;
}

void CallControl::append_updates(Endpoint& endpoint, MediaCommand& command) {
  follow_codec(endpoint);
  mark_circles(endpoint);
  for (const auto& connection : endpoint.connections) {
    admission_.update(*connection);
  }
  std::vector<MediaUpdate> updates = compile_endpoint(endpoint, options_of(endpoint));
  const std::size_t first = endpoint.line_side != nullptr ? 1 : 0;
  for (std::size_t i = 0; i < updates.size(); ++i) {
    Connection& connection = i < first ? *endpoint.line_side : *endpoint.connections[i - first];
    const LegKind kind = leg_kind(connection);
    if (kind != std::exchange(connection.kind, kind)) {
      updates[i].exchanges_leg = true;
      updates[i].leg = make_leg(connection, parts_.random);
    }
    command.updates.push_back(std::move(updates[i]));
  }
}

// --- CRCX

CallControl::Error CallControl::admit_crcx(const mgcp::Request& request, std::uint32_t number,
                                           Reply& reply) {
  const Endpoint& endpoint = *trunks_.find(number);
  if (const Error error = mgcp::check_crcx(request)) {
    return error;
  }
  if (const Error error = osmux_.check_crcx(request)) {
    reply.outcome = CommandOutcome::no_osmux;
    return error;
  }
  if (endpoint.connections.size() >= connections_max(number) &&
      !options_of(endpoint).force_realloc) {
    return ProtocolError{ResponseCode::connection_limit,
                         "endpoint has all connections that it may have"};
  }
  const bool foreign_call = !endpoint.call_id.empty() && endpoint.call_id != *request.call_id &&
                            !endpoint.ignore_call_id && !request.ignore_call_id;
  if (foreign_call && !options_of(endpoint).force_realloc) {
    reply.outcome = CommandOutcome::wrong_call_id;
    return ProtocolError{ResponseCode::transient_error, "endpoint is busy with another call"};
  }
  if (draining() && (foreign_call || endpoint.call_id.empty())) {
    return ProtocolError{ResponseCode::no_free_endpoint, "draining: no new calls"};
  }
  if (parts_.config.mgcp.early_bidir_error && request.mode.mode == mgcp::ConnectionMode::sendrecv &&
      !request.sdp) {
    return ProtocolError{ResponseCode::missing_description,
                         "sendrecv without a remote description"};
  }
  if (request.osmux.state != mgcp::OsmuxParameter::State::absent &&
      worker_of_next(number, request) != OsmuxControl::kWorker) {
    return ProtocolError{
        ResponseCode::transient_error,
        "the endpoint's call began without Osmux and is not where its circuits are"};
  }
  return check_line(request, number);
}

void CallControl::crcx(const mgcp::CommandLine& line, const mgcp::EndpointName& name, Reply reply) {
  const bool wildcard = mgcp::is_wildcard(name.kind);
  const auto number = wildcard ? lowest_free(name) : std::optional(name.number);
  if (!number) {
    answer_error(std::move(reply), {ResponseCode::no_free_endpoint, "no free endpoint"});
    return;
  }
  if (const Error error = check_overlap(*number)) {
    answer_error(std::move(reply), *error);
    return;
  }
  const auto request = read_parameters(line, reply);
  if (!request) {
    answer_error(std::move(reply), request.error());
    return;
  }
  Endpoint& endpoint = *trunks_.find(*number);
  if (const Error error = admit_crcx(*request, *number, reply)) {
    answer_error(std::move(reply), *error);
    return;
  }
  auto connection = std::make_unique<Connection>();
  apply_request(*request, options_of(endpoint), *connection);
  if (const Error error = check_room(*request, *number, *connection)) {
    reply.outcome = CommandOutcome::overload;
    answer_error(std::move(reply), *error);
    return;
  }
  auto bound = bind_connection(*number, *request, *connection, reply.key.agent);
  if (!bound) {
    const bool osmux = request->osmux.state != mgcp::OsmuxParameter::State::absent;
    if (osmux && bound.error().code != ResponseCode::unsupported_description) {
      reply.outcome = CommandOutcome::no_osmux_circuit;
    }
    answer_error(std::move(reply), bound.error());
    return;
  }
  connection->id = new_connection_id(endpoint);
  if (const Error error = apply_tap(*request, *connection)) {
    give_back({{endpoint.worker, std::nullopt, connection->ports, connection->local.port(),
                circuit_number(*connection)}});
    answer_error(std::move(reply), *error);
    return;
  }
  add_connection(*number, *request, wildcard, std::move(connection), std::move(*bound),
                 std::move(reply));
}

std::span<const std::unique_ptr<Connection>> CallControl::in_the_way(std::uint32_t number,
                                                                     const mgcp::Request& request) {
  const Endpoint& endpoint = *trunks_.find(number);
  const std::span all(endpoint.connections);
  if (!options_of(endpoint).force_realloc || endpoint.call_id.empty()) {
    return {};
  }
  const bool foreign_call = endpoint.call_id != *request.call_id;
  if (foreign_call && !endpoint.ignore_call_id && !request.ignore_call_id) {
    return all;
  }
  return all.first(all.size() >= connections_max(number) ? 1 : 0);
}

std::uint32_t CallControl::worker_of_next(std::uint32_t number, const mgcp::Request& request) {
  const Endpoint& endpoint = *trunks_.find(number);
  const bool stays = in_the_way(number, request).size() < endpoint.connections.size();
  return stays ? endpoint.worker : worker_for(number);
}

void CallControl::make_way(std::uint32_t number, const mgcp::Request& request) {
  const auto leaving = in_the_way(number, request);
  if (leaving.empty()) {
    return;
  }
  const Endpoint& endpoint = *trunks_.find(number);
  std::vector<std::unique_ptr<MediaCommand>> commands(workers_.size());
  MediaCommand& command = *(commands[endpoint.worker] = std::make_unique<MediaCommand>());
  Pending pending;
  const EndReasonScope reason(end_reason_, EndReason::replaced);
  if (leaving.size() == endpoint.connections.size()) {
    remove_all(number, command, pending);
  } else {
    remove_connection(number, leaving.front()->id, command, pending);
  }
  submit_removals(std::move(commands), std::move(pending));
}

void CallControl::add_connection(std::uint32_t number, const mgcp::Request& request, bool wildcard,
                                 std::unique_ptr<Connection> connection, BoundPair bound,
                                 Reply reply) {
  Endpoint& endpoint = *trunks_.find(number);
  make_way(number, request);
  Pending pending;
  if (endpoint.call_id.empty()) {
    const std::uint32_t worker = worker_for(number);
    trunks_.claim(number, std::string(*request.call_id), worker);
    ++workers_[worker].endpoints;
    add_line_side(number, pending);
  }
  const std::uint32_t worker = endpoint.worker;
  endpoint.ignore_call_id = endpoint.ignore_call_id || request.ignore_call_id;
  connection->slot = take_slot(worker);
  connection->created = parts_.clock.now();
  workers_[worker].owners[connection->slot] = {number, connection->id};
  negotiate(endpoint, *connection, pending);
  Connection& added = *endpoint.connections.emplace_back(std::move(connection));
  counters_.connections.set(counters_.connections.value() + 1);

  const std::string id = added.id_text();
  const std::string name = endpoint_name(number);
  const std::string description = describe(endpoint, added);
  mgcp::Response response;
  response.transaction_id = reply.key.transaction_id;
  response.endpoint = wildcard ? std::string_view(name) : std::string_view();
  response.connection_id = id;
  response.osmux_circuit_id = circuit_number(added);
  response.sdp = description;
  const std::vector<std::string> taps = tap_texts(added.taps);
  append_tap_texts(request, taps, response);
  mgcp::write_response(pending.text, response);

  auto command = std::make_unique<MediaCommand>();
  append_updates(endpoint, *command);
  auto media = std::make_unique<MediaConnection>();
  media->entry = std::move(command->updates.back().entry);  // the newest connection is the last one
  media->leg = std::move(command->updates.back().leg);
  media->entry.commanded = true;
  media->entry.new_description = request.sdp.has_value();
  media->entry.keep_alive_now = keeps_alive(added, options_of(endpoint));
  if (options_of(endpoint).generate_rtcp) {
    media->rtcp = make_rtcp_reporting();
  }
  media->tap = parts_.taps.make_tap(added.taps, worker, added.local);
  command->updates.pop_back();
  command->installs.push_back({added.slot, std::move(media), std::move(bound.sockets)});
  pending.opens_osmux = added.osmux && osmux_.append_device(*command);
  install_line_side(endpoint, *command);

  pending.on_failure.push_back(
      {worker, added.slot, added.ports, added.local.port(), circuit_number(added)});
  pending.endpoint = number;
  pending.created = added.id;
  log_connection(LogLevel::info, LogCategory::lmgcp, number, added.id, "connection created",
                 {"local", added.local});
  pending.reply = std::move(reply);
  submit(worker, std::move(command), std::move(pending));
}

std::unique_ptr<RtcpReporting> CallControl::make_rtcp_reporting() {
  std::array<std::uint32_t, RtcpReporting::kRandomNumbers> random;
  for (std::uint32_t& number : random) {
    number = parts_.random.next();
  }
  return std::make_unique<RtcpReporting>(random, parts_.clock.wall_clock_offset());
}

std::uint32_t CallControl::new_connection_id(Endpoint& endpoint) {
  for (;;) {
    const std::uint32_t id = parts_.random.next();
    if (id != 0 && endpoint.find(id) == nullptr) {
      return id;
    }
  }
}

// --- DLCX

void CallControl::detach_connection(std::uint32_t number, std::uint32_t id, MediaCommand& command,
                                    Pending& pending) {
  Endpoint& endpoint = *trunks_.find(number);
  const Connection* connection = endpoint.find(id);
  MGW_ASSERT(connection != nullptr);
  log_connection(LogLevel::info, LogCategory::lmgcp, number, id, "connection deleted");
  record_removal(number, *connection);
  command.removals.push_back(connection->slot);
  pending.touched.push_back(number);
  workers_[endpoint.worker].owners[connection->slot] = {0, 0};
  pending.remains.push_back({endpoint.worker, connection->slot, connection->ports,
                             connection->local.port(), circuit_number(*connection)});
  if (connection->osmux) {
    osmux_.forget_peer(connection->osmux->local);
  }
  admission_.remove(*connection);
  std::erase_if(endpoint.connections, [id](const auto& candidate) { return candidate->id == id; });
  counters_.connections.set(counters_.connections.value() - 1);
}

void CallControl::remove_connection(std::uint32_t number, std::uint32_t id, MediaCommand& command,
                                    Pending& pending) {
  detach_connection(number, id, command, pending);
  Endpoint& endpoint = *trunks_.find(number);
  if (endpoint.connections.empty()) {
    release_endpoint(number, &command, pending);
  } else {
    append_updates(endpoint, command);
  }
}

void CallControl::give_up(std::uint32_t number, std::uint32_t id) {
  log_connection(LogLevel::notice, LogCategory::rtp, number, id, "connection timed out");
  const std::uint32_t worker = trunks_.find(number)->worker;
  std::vector<std::unique_ptr<MediaCommand>> commands(workers_.size());
  commands[worker] = std::make_unique<MediaCommand>();
  Pending pending;
  const EndReasonScope reason(end_reason_, EndReason::timed_out);
  remove_connection(number, id, *commands[worker], pending);
  submit_removals(std::move(commands), std::move(pending));
  flush();
}

void CallControl::remove_all(std::uint32_t number, MediaCommand& command, Pending& pending) {
  Endpoint& endpoint = *trunks_.find(number);
  MGW_ASSERT(!endpoint.connections.empty());
  while (!endpoint.connections.empty()) {
    detach_connection(number, endpoint.connections.back()->id, command, pending);
  }
  release_endpoint(number, &command, pending);
}

CallControl::Error CallControl::check_deletion(const mgcp::Request& request, Endpoint& endpoint,
                                               Connection*& connection, Reply& reply) {
  if (endpoint.connections.empty()) {
    reply.outcome = CommandOutcome::no_connection;
    return ProtocolError{ResponseCode::incorrect_connection_id, "endpoint has no connection"};
  }
  if (request.call_id && *request.call_id != endpoint.call_id && !endpoint.ignore_call_id) {
    return ProtocolError{ResponseCode::incorrect_call_id, {}};
  }
  if (const Error error = mgcp::check_dlcx(request)) {
    reply.outcome = CommandOutcome::bad_connection_id;
    return error;
  }
  if (request.connection_id) {
    const auto id = connection_number(*request.connection_id);
    connection = id ? endpoint.find(*id) : nullptr;
    if (connection == nullptr) {
      return ProtocolError{ResponseCode::incorrect_connection_id, {}};
    }
  }
  return std::nullopt;
}

void CallControl::dlcx(const mgcp::CommandLine& line, const mgcp::EndpointName& name, Reply reply) {
  if (mgcp::is_wildcard(name.kind)) {
    dlcx_wildcard(line, name, std::move(reply));
    return;
  }
  const auto request = read_parameters(line, reply);
  if (!request) {
    answer_error(std::move(reply), request.error());
    return;
  }
  Endpoint& endpoint = *trunks_.find(name.number);
  Connection* connection = nullptr;
  if (const Error error = check_deletion(*request, endpoint, connection, reply)) {
    answer_error(std::move(reply), *error);
    return;
  }
  counters_.trunks[*reply.trunk].connections_deleted.add(
      connection != nullptr ? 1 : endpoint.connections.size());
  const std::uint32_t worker = endpoint.worker;
  std::vector<std::unique_ptr<MediaCommand>> commands(workers_.size());
  commands[worker] = std::make_unique<MediaCommand>();
  Pending pending;
  if (connection != nullptr) {
    pending.kind = Pending::Kind::deletion;
    remove_connection(name.number, connection->id, *commands[worker], pending);
  } else {
    write_ok(pending.text, reply.key.transaction_id);
    remove_all(name.number, *commands[worker], pending);
  }
  pending.reply = std::move(reply);
  submit_removals(std::move(commands), std::move(pending));
}

void CallControl::dlcx_wildcard(const mgcp::CommandLine& line, const mgcp::EndpointName& name,
                                Reply reply) {
  const auto request = read_parameters(line, reply);
  if (!request) {
    answer_error(std::move(reply), request.error());
    return;
  }
  Pending pending;
  write_ok(pending.text, reply.key.transaction_id);
  pending.reply = std::move(reply);
  remove_calls(*trunks_.resolve(name), request->call_id, std::move(pending));
}

void CallControl::remove_calls(Trunks::Range endpoints, std::optional<std::string_view> call_id,
                               Pending pending) {
  std::vector<std::unique_ptr<MediaCommand>> commands(workers_.size());
  for (auto number = trunks_.next_used(endpoints.first); number && *number <= endpoints.last;
       number = trunks_.next_used(*number + 1)) {
    const Endpoint& endpoint = *trunks_.find(*number);
    if (call_id && endpoint.call_id != *call_id) {
      continue;
    }
    auto& command = commands[endpoint.worker];
    if (command == nullptr) {
      command = std::make_unique<MediaCommand>();
    }
    if (pending.reply && pending.reply->verb == mgcp::Verb::dlcx) {
      counters_.trunks[trunk_of(*number)].connections_deleted.add(endpoint.connections.size());
    }
    remove_all(*number, *command, pending);
  }
  submit_removals(std::move(commands), std::move(pending));
}

}  // namespace mgw
