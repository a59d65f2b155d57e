// Calls that outlive the process: what is told to the listener, and how call control takes over
// what another process had.

#include "io/assert.h"
#include "io/log.h"
#include "mgw/call_control.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace mgw {

using io::LogCategory;
using io::LogLevel;

// --- telling

void CallControl::record_answer(const Reply& reply, mgcp::ResponseCode code, std::string_view text,
                                io::TimePoint at) {
  const bool changes = reply.verb == mgcp::Verb::crcx || reply.verb == mgcp::Verb::mdcx ||
                       reply.verb == mgcp::Verb::dlcx || reply.verb == mgcp::Verb::rsip;
  constexpr int kSuccessMax = 299;
  if (listener_ != nullptr && reply.remembered && changes && mgcp::number(code) <= kSuccessMax) {
    listener_->answered(reply.key, text, at);
  }
}

void CallControl::settle(const Pending& pending) {
  if (Endpoint* endpoint = trunks_.find(pending.endpoint); endpoint != nullptr) {
    if (Connection* created = endpoint->find(pending.created); created != nullptr) {
      created->answered = true;
    }
    if (pending.restores && pending.error == 0) {
      counters_.restored.add(endpoint->connections.size());
    }
    if (listener_ != nullptr) {
      listener_->endpoint_settled(pending.endpoint);
    }
  }
  if (listener_ != nullptr) {
    for (const std::uint32_t number : pending.touched) {
      listener_->endpoint_settled(number);
    }
  }
}

bool CallControl::save_media(std::uint32_t worker, std::vector<std::uint32_t> slots) {
  if (!parts_.media.has_room(worker)) {
    return false;
  }
  auto command = std::make_unique<MediaCommand>();
  command->saved.resize(slots.size());
  command->saves = std::move(slots);
  submit(worker, std::move(command), Pending());
  return true;
}

void CallControl::take_saved(std::uint32_t worker, MediaCommand& command, const Pending& pending) {
  for (std::size_t i = 0; i < command.saves.size(); ++i) {
    const auto [number, id] = workers_[worker].owners[command.saves[i]];
    if (listener_ != nullptr && id != 0 && !command.saved[i].empty()) {
      listener_->media_saved(number, id, std::move(command.saved[i]));
    }
  }
  if (listener_ != nullptr && !command.saves.empty()) {
    listener_->saved(worker);
  }
  if (pending.takes_away) {
    MGW_ASSERT(command.removed.size() == command.removals.size());
    for (std::size_t i = 0; i < command.removed.size(); ++i) {
      taken_.push_back({worker, command.removals[i], std::move(command.removed[i])});
    }
    command.removed.clear();
  }
}

// --- taking over

std::optional<BoundPair> CallControl::restore_connection(Connection& connection) {
  connection.answered = true;
  if (connection.osmux) {
    return osmux_.restore(connection) ? std::optional(BoundPair()) : std::nullopt;
  }
  auto bound = local_media_.rebind(connection.local, parts_.clock.now());
  if (!bound) {
    return std::nullopt;
  }
  connection.ports = bound->ports;
  return std::move(*bound);
}

void CallControl::restore(const SavedState& state) {
  for (const auto& [key, saved] : state.endpoints) {
    restore_endpoint(key, saved);
  }
  const io::TimePoint now = parts_.clock.now();
  for (const SavedAnswer& answer : state.answers) {
    cache_.restore(answer.key, answer.text, answer.at, now);
  }
  update_gauges();
}

void CallControl::restore_endpoint(const EndpointKey& key, const SavedEndpoint& saved) {
  const auto number = trunks_.number_of(key);
  const auto e1_trunk = number ? trunks_.e1_trunk_of(*number) : std::nullopt;
  const bool is_there =
      number && trunks_.find(*number)->call_id.empty() &&
      (!e1_trunk || (e1_lines_[*e1_trunk].line != nullptr && !trunks_.overlaps_used(*number)));
  std::vector<std::unique_ptr<Connection>> connections;
  std::vector<BoundPair> bound;
  for (const SavedConnection& one : saved.connections) {
    auto connection = std::make_unique<Connection>(one.connection);
    auto sockets = is_there ? restore_connection(*connection) : std::nullopt;
    if (!sockets) {
      counters_.not_restored.add();
      io::log(LogLevel::error, LogCategory::lmgcp,
              {{"conn", connection->id_text()}, {"call", saved.call_id}},
              "connection lost: it can't be had again at {}", connection->local.text());
      continue;
    }
    connections.push_back(std::move(connection));
    bound.push_back(std::move(*sockets));
  }
  if (connections.empty()) {
    return;
  }
  Restored& restored = restored_.emplace_back();
  restored.number = *number;
  restored.key = key;
  restored.command = std::make_unique<MediaCommand>();
  const std::uint32_t worker = worker_for(*number);
  trunks_.claim(*number, saved.call_id, worker);
  ++workers_[worker].endpoints;
  Endpoint& endpoint = *trunks_.find(*number);
  endpoint.ignore_call_id = saved.ignore_call_id;
  endpoint.connections = std::move(connections);
  counters_.connections.set(counters_.connections.value() + endpoint.connections.size());
  add_line_side(*number, restored.pending);
  append_restored(*number, std::move(bound), restored);
}

void CallControl::append_restored(std::uint32_t number, std::vector<BoundPair> bound,
                                  Restored& restored) {
  Endpoint& endpoint = *trunks_.find(number);
  MediaCommand& command = *restored.command;
  Pending& pending = restored.pending;
  bool has_circuits = false;
  for (const auto& connection : endpoint.connections) {
    connection->slot = take_slot(endpoint.worker);
    workers_[endpoint.worker].owners[connection->slot] = {number, connection->id};
    pending.on_failure.push_back({endpoint.worker, connection->slot, connection->ports,
                                  connection->local.port(), circuit_number(*connection)});
    has_circuits = has_circuits || connection->osmux;
  }
  pending.endpoint = number;
  pending.restores = true;
  pending.opens_osmux = has_circuits && osmux_.append_device(command);
  append_updates(endpoint, command);
  const std::size_t first = endpoint.line_side != nullptr ? 1 : 0;
  for (std::size_t i = 0; i < command.updates.size(); ++i) {
    auto media = std::make_unique<MediaConnection>();
    media->entry = std::move(command.updates[i].entry);
    media->entry.commanded = true;  // its time limit begins now
    media->leg = std::move(command.updates[i].leg);
    if (i >= first && options_of(endpoint).generate_rtcp) {
      media->rtcp = make_rtcp_reporting();
    }
    command.installs.push_back({command.updates[i].slot, std::move(media),
                                i < first ? SocketPair() : std::move(bound[i - first].sockets)});
  }
  command.updates.clear();
}

void CallControl::start_restored(const SavedState& state, bool is_exact) {
  for (Restored& restored : std::exchange(restored_, {})) {
    const Endpoint& endpoint = *trunks_.find(restored.number);
    const auto saved = state.endpoints.find(restored.key);
    for (MediaInstall& install : restored.command->installs) {
      const auto [number, id] = workers_[endpoint.worker].owners[install.slot];
      LegKind kind = id == 0 ? LegKind::e1 : LegKind::rtp;
      if (id != 0 && endpoint.connections.front()->osmux) {
        kind = LegKind::osmux;
      }
      registry_.add(endpoint.worker, install.slot, static_cast<std::uint32_t>(trunk_of(number)),
                    kind, *install.connection);
      if (saved == state.endpoints.end()) {
        continue;
      }
      const auto one =
          std::ranges::find_if(saved->second.connections,
                               [id](const SavedConnection& c) { return c.connection.id == id; });
      if (one != saved->second.connections.end() && !one->media.empty() &&
          !load_media(one->media, is_exact, *install.connection)) {
        log_connection(LogLevel::error, LogCategory::rtp, number, id,
                       "the state of its media can't be read: counters begin anew");
      }
    }
    submit(endpoint.worker, std::move(restored.command), std::move(restored.pending));
  }
  flush();
}

void CallControl::undo_restored(Pending& pending) {
  Endpoint& endpoint = *trunks_.find(pending.endpoint);
  counters_.not_restored.add(endpoint.connections.size());
  for (const auto& connection : endpoint.connections) {
    admission_.remove(*connection);
  }
  counters_.connections.set(counters_.connections.value() - endpoint.connections.size());
  endpoint.connections.clear();
  give_back(pending.on_failure);
  release_endpoint(pending.endpoint, nullptr, pending);
}

// --- giving away

void CallControl::take_media_away() {
  std::vector<std::unique_ptr<MediaCommand>> commands(workers_.size());
  for (auto number = trunks_.next_used(1); number; number = trunks_.next_used(*number + 1)) {
    const Endpoint& endpoint = *trunks_.find(*number);
    auto& command = commands[endpoint.worker];
    if (command == nullptr) {
      command = std::make_unique<MediaCommand>();
      command->is_quiet = true;
    }
    for (const Connection* leg : endpoint.legs()) {
      command->removals.push_back(leg->slot);
    }
  }
  Pending pending;
  pending.takes_away = true;
  submit_removals(std::move(commands), std::move(pending));
  parts_.media.flush();
}

void CallControl::visit_taken(
    const std::function<void(std::uint32_t number, std::uint32_t connection_id,
                             const MediaConnection& media)>& visitor) const {
  for (const TakenMedia& taken : taken_) {
    const auto [number, id] = workers_[taken.worker].owners[taken.slot];
    if (id != 0) {
      visitor(number, id, *taken.media);
    }
  }
}

void CallControl::give_media_back() {
  std::vector<std::unique_ptr<MediaCommand>> commands(workers_.size());
  for (TakenMedia& taken : std::exchange(taken_, {})) {
    const auto [number, id] = workers_[taken.worker].owners[taken.slot];
    const Connection* connection = trunks_.find(number)->find(id);
    LegKind kind = connection == nullptr ? LegKind::e1 : LegKind::rtp;
    SocketPair sockets;
    if (connection != nullptr && connection->osmux) {
      kind = LegKind::osmux;
    } else if (connection != nullptr) {
      sockets = local_media_.reopen(connection->local);
    }
    auto& command = commands[taken.worker];
    if (command == nullptr) {
      command = std::make_unique<MediaCommand>();
    }
    registry_.add(taken.worker, taken.slot, static_cast<std::uint32_t>(trunk_of(number)), kind,
                  *taken.media);
    command->installs.push_back({taken.slot, std::move(taken.media), std::move(sockets)});
  }
  submit_removals(std::move(commands), Pending());
  parts_.media.flush();
}

}  // namespace mgw
