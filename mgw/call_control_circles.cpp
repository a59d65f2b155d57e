// Own RTP ports wired to each other. Chains over several endpoints are a use of the gateway, but a
// chain that closes would send each packet round and round: the connection that closes it is sent
// nothing as long as that is so.

#include "io/log.h"
#include "mgw/call_control.h"

#include <algorithm>
#include <utility>

namespace mgw {

namespace {

/// Connections in a chain that are looked at; each costs a walk over all that are up. What comes
/// back after more hops is held down by limits.packets-per-second.
constexpr std::size_t kChainMax = 64;

/// Whether the connection takes what comes from `sender`.
bool takes_from(const Connection& connection, const Connection& sender,
                const conf::TrunkOptions& options) {
  const bool takes = mode_receives(connection.mode) || mode_echoes(connection.mode);
  return takes &&
         (options.source != conf::SourceCheck::strict || connection.remote_rtp() == sender.local ||
          connection.remote_rtp() == sender.announced.with_port(sender.local.port()));
}

}  // namespace

std::optional<CallControl::Wired> CallControl::owner_of(const io::SocketAddress& address) {
  if (!local_media_.may_own(address)) {
    return std::nullopt;
  }
  for (auto number = trunks_.next_used(1); number; number = trunks_.next_used(*number + 1)) {
    Endpoint& endpoint = *trunks_.find(*number);
    for (const auto& connection : endpoint.connections) {
      if (connection->local == address || (connection->local.port() == address.port() &&
                                           connection->announced.same_host(address))) {
        return Wired{&endpoint, connection.get()};
      }
    }
  }
  return std::nullopt;
}

bool CallControl::comes_back(const Wired& start) {
  std::vector<Wired> senders = {start};
  for (std::size_t next = 0; next < senders.size() && senders.size() <= kChainMax; ++next) {
    const Connection& sender = *senders[next].connection;
    if (sender.in_circle || sender.osmux ||
        !(mode_sends(sender.mode) || mode_echoes(sender.mode))) {
      continue;
    }
    const auto receiver = owner_of(sender.remote_rtp());
    if (!receiver || !takes_from(*receiver->connection, sender, options_of(*receiver->endpoint))) {
      continue;
    }
    for (const auto& leg : receiver->endpoint->connections) {
      const bool itself = leg.get() == receiver->connection;
      const bool goes_on =
          itself ? mode_echoes(leg->mode)
                 : mode_sends(leg->mode) && mode_receives(receiver->connection->mode) &&
                       receiver->connection->mode != mgcp::ConnectionMode::loopback;
      if (!goes_on) {
        continue;
      }
      if (leg.get() == start.connection) {
        return true;
      }
      if (std::ranges::find(senders, leg.get(), &Wired::connection) == senders.end()) {
        senders.push_back({receiver->endpoint, leg.get()});
      }
    }
  }
  return false;
}

bool CallControl::mark_circles(Endpoint& endpoint) {
  bool changed = false;
  bool any = false;
  for (const auto& connection : endpoint.connections) {
    const bool was = std::exchange(connection->in_circle, false);
    connection->in_circle = comes_back({&endpoint, connection.get()});
    any = any || connection->in_circle;
    changed = changed || was != connection->in_circle;
    if (connection->in_circle && !was) {
      counters_.limits.media_loops.add();
      const auto number = workers_[endpoint.worker].owners[connection->slot].first;
      log_connection(io::LogLevel::notice, io::LogCategory::rtp, number, connection->id,
                     "is sent nothing: it would come back over the gateway's own ports",
                     {"remote", connection->remote_rtp()});
    }
  }
  if (any) {
    circled_.insert(&endpoint);
  } else {
    circled_.erase(&endpoint);
  }
  return changed;
}

void CallControl::recheck_circles() {
  std::vector<std::unique_ptr<MediaCommand>> commands(workers_.size());
  const std::vector<Endpoint*> marked(circled_.begin(), circled_.end());
  for (Endpoint* endpoint : marked) {
    if (!mark_circles(*endpoint)) {
      continue;
    }
    auto& command = commands[endpoint->worker];
    if (command == nullptr) {
      command = std::make_unique<MediaCommand>();
    }
    append_updates(*endpoint, *command);
  }
  if (!marked.empty()) {
    submit_removals(std::move(commands), Pending());
    flush();
  }
}

}  // namespace mgw
