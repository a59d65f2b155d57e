#include "mgw/call_control.h"

#include "io/assert.h"
#include "io/log.h"
#include "mgcp/writer.h"
#include "mgw/restart_notifier.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <variant>

namespace mgw {

namespace {

/// `LA` of RFC 3435: one way, half of the round trip where that is what is known.
std::optional<std::uint32_t> average_latency_ms(const ConnectionCounters& counters) {
  const auto round_trip = counters.remote.mean_round_trip();
  if (!round_trip) {
    return std::nullopt;
  }
  return static_cast<std::uint32_t>(
      std::chrono::round<std::chrono::milliseconds>(*round_trip / 2).count());
}

using io::LogCategory;
using io::LogLevel;
using mgcp::ProtocolError;
using mgcp::ResponseCode;

/// Answers to piggybacked commands share a datagram up to this size: one that no ordinary link has
/// to fragment.
constexpr std::size_t kPiggybackedBytesMax = 1400;

/// Room for the answer of each remembered transaction, on average; one with SDP needs about 250.
constexpr std::size_t kRememberedAnswerBytes = 512;

mgcp::TransactionCacheOptions cache_options(const conf::Config& config, RandomSource& random) {
  mgcp::TransactionCacheOptions options;
  options.history = config.mgcp.transaction_history;
  options.entries_max = config.mgcp.transactions_max;
  options.bytes_max = std::min(options.bytes_max, options.entries_max * kRememberedAnswerBytes);
  options.bytes_max = std::max(options.bytes_max, mgcp::TransactionCache::kAnswerBytesMin);
  options.hash_seed = std::uint64_t{random.next()} << 32U | random.next();
  return options;
}

std::vector<std::uint8_t> e1_trunk_numbers(const conf::Config& config) {
  std::vector<std::uint8_t> numbers;
  for (const conf::E1Trunk& trunk : config.e1.all_trunks()) {
    numbers.push_back(trunk.trunk);
  }
  return numbers;
}

}  // namespace

std::vector<conf::TrunkOptions> options_by_trunk(const conf::Config& config) {
  std::vector<conf::TrunkOptions> options = {config.endpoints.options};
  for (const conf::E1Trunk& trunk : config.e1.all_trunks()) {
    const auto own =
        std::ranges::find(config.e1.trunk_options, trunk.trunk, &conf::E1TrunkOptions::trunk);
    options.push_back(own == config.e1.trunk_options.end() ? config.endpoints.options
                                                           : own->options);
  }
  return options;
}

CallControl::CallControl(const CallControlParts& parts)
    : parts_(parts),
      trunk_options_(options_by_trunk(parts.config)),
      notified_agent_(notified_agent(parts.config)),
      cache_(cache_options(parts.config, parts.random)),
      trunks_(parts.config.endpoints.count, e1_trunk_numbers(parts.config)),
      local_media_(parts.config, parts.sockets),
      osmux_(parts.config, parts.sockets),
      registry_(parts.media.workers(), 1 + e1_trunk_numbers(parts.config).size()),
      workers_(parts.media.workers()) {
  counters_.trunks = std::vector<TrunkCounters>(1 + e1_trunk_numbers(parts.config).size());
  install_e1_lines();
  on_tick();
}

CallControl::~CallControl() = default;

void CallControl::on_datagram(const io::SocketAddress& agent, std::string_view datagram) {
  counters_.datagrams.add();
  if (!allowed(agent)) {
    on_refused(agent, datagram);
    return;
  }
  mgcp::MessageSplitter splitter(datagram);
  std::optional<std::string_view> message = splitter.next();
  if (!message) {
    counters_.garbage.add();
    return;
  }
  const std::optional<std::string_view> second = splitter.next();
  if (!second) {
    on_message(agent, *message, nullptr);
    return;
  }
  auto group = std::make_shared<ReplyGroup>();
  group->agent = agent;
  group->open = 1;  // kept open until the last message has been read
  on_message(agent, *message, group);
  for (message = second; message; message = splitter.next()) {
    on_message(agent, *message, group);
  }
  close_group(*group);
}

void CallControl::on_message(const io::SocketAddress& agent, std::string_view message,
                             const std::shared_ptr<ReplyGroup>& group) {
  counters_.messages.add();
  const AgentVerdict verdict = judge(agent);
  if (verdict == AgentVerdict::ignored) {
    return;
  }
  const mgcp::FirstLine line = mgcp::parse_first_line(message);
  if (const auto* command = std::get_if<mgcp::CommandLine>(&line)) {
    on_command(agent, *command, group, verdict);
  } else if (const auto* error = std::get_if<mgcp::CommandLineError>(&line)) {
    counters_.malformed.add();
    if (error->error.code == ResponseCode::unknown_command) {
      counters_.unhandled.add();
    }
    Reply reply{{agent, error->transaction_id}, error->verb, parts_.clock.now(), group, false};
    if (group) {
      ++group->open;
    }
    answer_error(std::move(reply), error->error);
  } else if (const auto* response = std::get_if<mgcp::ResponseLine>(&line)) {
    on_response_line(agent, *response);
  } else {
    counters_.garbage.add();
  }
}

void CallControl::on_response_line(const io::SocketAddress& agent,
                                   const mgcp::ResponseLine& response) {
  counters_.responses.add();
  if (response_handler_) {
    response_handler_(agent, response.transaction_id, response.code);
  }
}

void CallControl::on_command(const io::SocketAddress& agent, const mgcp::CommandLine& line,
                             const std::shared_ptr<ReplyGroup>& group, AgentVerdict verdict) {
  const io::TimePoint now = parts_.clock.now();
  const mgcp::TransactionKey key{agent, line.transaction_id};
  const auto lookup = cache_.begin(key, now);
  switch (lookup.state) {
    case mgcp::TransactionCache::State::fresh:
      if (group) {
        ++group->open;
      }
      subject_ = {line.endpoint, {}, {}, line.transaction_id};
      // Deletions are served even so: they make things better.
      if (verdict == AgentVerdict::refused && line.verb != mgcp::Verb::dlcx) {
        answer_error(Reply{key, line.verb, now, group, true},
                     {ResponseCode::overload, "too many commands of this agent"});
      } else {
        execute(line, Reply{key, line.verb, now, group, true});
      }
      subject_ = {};
      return;
    case mgcp::TransactionCache::State::done:
      counters_.repeated.add();
      deliver(group, agent, lookup.answer);
      return;
    case mgcp::TransactionCache::State::pending:
      counters_.repeated.add();
      if (parts_.config.mgcp.provisional_after.count() > 0 &&
          now - lookup.started_at >= parts_.config.mgcp.provisional_after) {
        answer_.clear();
        mgcp::write_error(answer_, line.transaction_id, {ResponseCode::provisional, "pending"});
        deliver(group, agent, answer_);
      }
      return;
    case mgcp::TransactionCache::State::acknowledged:
      counters_.repeated.add();
      return;
    case mgcp::TransactionCache::State::full:
      counters_.transactions_refused.add();
      return;  // silence: the agent repeats its command when there may be room again
  }
}

void CallControl::execute(const mgcp::CommandLine& line, Reply reply) {
  mgcp::EndpointName name;
  const Error error = check_name(line, name);
  count_command(line.verb, error ? nullptr : &name);
  if (error) {
    answer_error(std::move(reply), *error);
    return;
  }
  reply.trunk = trunk_of(name);
  if (name.kind == mgcp::EndpointKind::null && line.verb != mgcp::Verb::auep) {
    answer_error(std::move(reply),
                 {ResponseCode::endpoint_without_resources, "the null endpoint takes AUEP only"});
    return;
  }
  switch (line.verb) {
    case mgcp::Verb::crcx:
      crcx(line, name, std::move(reply));
      return;
    case mgcp::Verb::mdcx:
      mdcx(line, name, std::move(reply));
      return;
    case mgcp::Verb::dlcx:
      dlcx(line, name, std::move(reply));
      return;
    case mgcp::Verb::auep:
      auep(line, name, std::move(reply));
      return;
    case mgcp::Verb::aucx:
      aucx(line, name, std::move(reply));
      return;
    case mgcp::Verb::rsip:
      rsip(line, name, std::move(reply));
      return;
    case mgcp::Verb::rqnt:
    case mgcp::Verb::epcf:
      static_cast<void>(read_parameters(line, reply));
      answer_ok(std::move(reply));  // nothing is detected or configured: there are no events here
      return;
    case mgcp::Verb::ntfy:
    case mgcp::Verb::unknown:
      answer_error(std::move(reply), {ResponseCode::unknown_command, {}});
      return;
  }
}

tl::expected<mgcp::Request, ProtocolError> CallControl::read_parameters(
    const mgcp::CommandLine& line, const Reply& reply) {
  auto request = mgcp::parse_parameters(line);
  if (request) {
    subject_.call = request->call_id.value_or("");
    subject_.connection = request->connection_id.value_or("");
  } else if (request.error().code == ResponseCode::protocol_error) {
    counters_.malformed.add();
  }
  if (request && !request->acknowledged.empty()) {
    cache_.acknowledge(reply.key.agent, request->acknowledged);
  }
  return request;
}

CallControl::Error CallControl::check_name(const mgcp::CommandLine& line,
                                           mgcp::EndpointName& name) const {
  const auto parsed = mgcp::parse_endpoint_name(line.endpoint);
  if (!parsed) {
    return parsed.error();
  }
  name = *parsed;
  if (name.kind == mgcp::EndpointKind::null) {
    return std::nullopt;
  }
  if (!mgcp::domain_matches(parts_.config.mgcp.domain, name.domain)) {
    return ProtocolError{ResponseCode::endpoint_unknown, "domain unknown"};
  }
  const auto range = trunks_.resolve(name);
  if (!range) {
    return ProtocolError{ResponseCode::endpoint_unknown,
                         mgcp::is_virtual(name.kind) ? "endpoint unknown" : "trunk unknown"};
  }
  if (!mgcp::is_wildcard(name.kind)) {
    name.number = range->first;
  }
  return std::nullopt;
}

// --- answers

void CallControl::answer(Reply&& reply, ResponseCode code, std::string_view text) {
  const io::TimePoint now = parts_.clock.now();
  counters_.transactions.count(reply.verb, code, now - reply.started);
  if (reply.trunk) {
    counters_.trunks[*reply.trunk].count(reply.verb,
                                         reply.outcome.value_or(outcome_of(reply.verb, code)));
  }
  if (reply.remembered && !cache_.complete(reply.key, text, now)) {
    cache_.abandon(reply.key);
  }
  record_answer(reply, code, text, now);
  deliver(reply.group, reply.key.agent, text);
  if (reply.group) {
    close_group(*reply.group);
  }
}

void CallControl::answer_error(Reply&& reply, const ProtocolError& error) {
  answer_.clear();
  mgcp::write_error(answer_, reply.key.transaction_id, error);
  log_refused(reply, error);
  answer(std::move(reply), error.code, answer_);
}

void CallControl::answer_ok(Reply&& reply) {
  mgcp::Response response;
  response.transaction_id = reply.key.transaction_id;
  answer_.clear();
  mgcp::write_response(answer_, response);
  answer(std::move(reply), ResponseCode::ok, answer_);
}

void CallControl::deliver(const std::shared_ptr<ReplyGroup>& group, const io::SocketAddress& agent,
                          std::string_view text) {
  if (!group) {
    parts_.agents.send(agent, text);
    return;
  }
  if (!mgcp::append_piggybacked(group->datagram, text, kPiggybackedBytesMax)) {
    parts_.agents.send(agent, group->datagram);
    group->datagram.assign(text);
  }
}

void CallControl::close_group(ReplyGroup& group) {
  MGW_ASSERT(group.open > 0);
  if (--group.open == 0 && !group.datagram.empty()) {
    parts_.agents.send(group.agent, group.datagram);
    group.datagram.clear();
  }
}

// --- workers

std::uint64_t CallControl::submit(std::uint32_t worker, std::unique_ptr<MediaCommand> command,
                                  Pending pending) {
  const std::uint64_t ticket = next_ticket_++;
  command->ticket = ticket;
  if (pending.created != 0) {
    register_installs(worker, pending.endpoint, *command);
  }
  pending.outstanding = 1;
  pending_.emplace(ticket, std::move(pending));
  parts_.media.submit(worker, std::move(command));
  return ticket;
}

void CallControl::submit_removals(std::vector<std::unique_ptr<MediaCommand>> commands,
                                  Pending pending) {
  const std::uint64_t ticket = next_ticket_++;
  for (std::uint32_t worker = 0; worker < commands.size(); ++worker) {
    if (commands[worker] == nullptr) {
      continue;
    }
    commands[worker]->ticket = ticket;
    parts_.media.submit(worker, std::move(commands[worker]));
    ++pending.outstanding;
  }
  if (pending.outstanding == 0) {
    finish(pending);
    return;
  }
  pending_.emplace(ticket, std::move(pending));
}

void CallControl::on_media_event(std::uint32_t worker, MediaEvent&& event) {
  if (event.kind == MediaEvent::Kind::command_done) {
    const auto found = pending_.find(event.command->ticket);
    MGW_ASSERT(found != pending_.end());
    Pending& pending = found->second;
    register_done(worker, *event.command);
    take_saved(worker, *event.command, pending);
    pending.error = event.command->error != 0 ? event.command->error : pending.error;
    if (!event.command->removed.empty()) {
      pending.counters = event.command->removed.front()->counters();
    } else if (!event.command->audited.empty()) {
      pending.counters = event.command->audited.front();
      pending.streams = event.command->audited_streams.front();
    }
    if (--pending.outstanding == 0) {
      Pending done = std::move(pending);
      pending_.erase(found);
      finish(done);
    }
    return;
  }
  const auto& owners = workers_[worker].owners;
  if (event.slot >= owners.size() || owners[event.slot].first == 0) {
    return;  // removed meanwhile
  }
  const auto [number, id] = owners[event.slot];
  Endpoint* endpoint = trunks_.find(number);
  if (event.kind == MediaEvent::Kind::drops_noted) {
    Connection& concerned = id == 0 ? *endpoint->line_side : *endpoint->find(id);
    auto noted = concerned.noted_faults[static_cast<std::size_t>(event.cause)];
    if (noted) {
      return;
    }
    noted = is_payload_fault(event.cause);
    io::log(LogLevel::notice, LogCategory::rtp,
            {{"endpoint", endpoint_name(number)},
             {"conn", id == 0 ? std::string() : concerned.id_text()},
             {"call", endpoint->call_id},
             {"packets", event.count},
             {"cause", to_string(event.cause)}},
            "dropped");
    return;
  }
  if (event.kind == MediaEvent::Kind::leg_failed) {
    log_connection(LogLevel::notice, LogCategory::liuup, number, id,
                   "peer does not answer the IuUP initialisation");
    return;
  }
  if (pending_.contains(endpoint->find(id)->last_command)) {
    return;  // an MDCX crossed with the timeout and begins a new time limit
  }
  give_up(number, id);
}

void CallControl::finish(Pending& pending) {
  if (pending.error == 0) {
    give_back(pending.remains);
    settle(pending);
  } else {
    if (pending.opens_osmux) {
      osmux_.device_failed();
    }
    const PendingSubject subject = subject_of(pending);
    undo(pending);
    settle(pending);
    fail(pending, subject);
    return;
  }
  if (!pending.reply) {
    return;
  }
  if (pending.kind == Pending::Kind::text) {
    answer(std::move(*pending.reply), ResponseCode::ok, pending.text);
    return;
  }
  mgcp::Response response;
  response.transaction_id = pending.reply->key.transaction_id;
  response.code =
      pending.kind == Pending::Kind::deletion ? ResponseCode::connection_deleted : ResponseCode::ok;
  if (pending.counters && (pending.kind == Pending::Kind::deletion || pending.wants_statistics)) {
    const ConnectionCounters& counters = *pending.counters;
    response.statistics =
        mgcp::ConnectionStatistics{counters.rtp_sent.packets,
                                   counters.rtp_sent.octets,
                                   counters.rtp_received.packets,
                                   counters.rtp_received.octets,
                                   static_cast<std::int64_t>(counters.totals.lost()),
                                   counters.jitter_ticks,
                                   average_latency_ms(counters)};
    if (osmux_.on() || counters.osmux) {
      response.timestamp_errors =
          mgcp::TimestampErrors{counters.timestamp_errors_in, counters.timestamp_errors_out};
    }
    if (counters.osmux) {
      response.osmux_statistics =
          mgcp::OsmuxStatistics{counters.osmux->chunks, counters.osmux->octets};
    }
  }
  append_streams(pending);
  for (const auto& [name, value] : pending.parameters) {
    response.parameters.push_back({name, value});
  }
  response.sdp = pending.description;
  answer_.clear();
  mgcp::write_response(answer_, response);
  answer(std::move(*pending.reply), response.code, answer_);
}

tl::expected<BoundPair, ProtocolError> CallControl::bind_connection(
    std::uint32_t number, const mgcp::Request& request, Connection& connection,
    const io::SocketAddress& agent) {
  if (request.osmux.state != mgcp::OsmuxParameter::State::absent) {
    if (const Error error =
            osmux_.set_up(request, connection, agent, in_the_way(number, request))) {
      return tl::unexpected(*error);
    }
    return BoundPair{};
  }
  const auto host = local_media_.choose(connection.remote_host, agent);
  if (!host) {
    return tl::unexpected(host.error());
  }
  auto bound = local_media_.bind(host->bind, parts_.clock.now());
  if (!bound) {
    counters_.ports_exhausted.set(local_media_.exhausted());
    return bound;
  }
  connection.local = bound->local;
  connection.announced = host->announce;
  connection.ports = bound->ports;
  return bound;
}

void CallControl::give_back(const std::vector<LegRemains>& remains) {
  const io::TimePoint now = parts_.clock.now();
  for (const LegRemains& leg : remains) {
    if (leg.ports != nullptr) {
      leg.ports->release(leg.port, now);
    }
    if (leg.circuit) {
      osmux_.release(*leg.circuit);
    }
    if (leg.slot) {
      WorkerSlots& slots = workers_[leg.worker];
      slots.owners[*leg.slot] = {0, 0};
      slots.free.push_back(*leg.slot);
    }
  }
}

std::uint32_t CallControl::least_loaded_worker() const noexcept {
  if (osmux_.on()) {
    return OsmuxControl::kWorker;
  }
  const auto least = std::min_element(workers_.begin(), workers_.end(),
                                      [](const WorkerSlots& left, const WorkerSlots& right) {
                                        return left.endpoints < right.endpoints;
                                      });
  return static_cast<std::uint32_t>(least - workers_.begin());
}

std::uint32_t CallControl::take_slot(std::uint32_t worker) {
  WorkerSlots& slots = workers_[worker];
  if (slots.free.empty()) {
    slots.owners.emplace_back(0, 0);
    return slots.next++;
  }
  const std::uint32_t slot = slots.free.back();
  slots.free.pop_back();
  return slot;
}

std::string CallControl::endpoint_name(std::uint32_t number) const {
  return trunks_.name_of(number, parts_.config.mgcp.domain == "*" ? std::string_view("mgw")
                                                                  : parts_.config.mgcp.domain);
}

}  // namespace mgw
