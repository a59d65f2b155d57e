#include "tools/rtpload/call_control.h"

#include "mgcp/parser.h"
#include "mgcp/sdp.h"
#include "mgcp/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace rtpload {
namespace {

// What a transaction's tag says: call * 4 + delete * 2 + leg.
constexpr std::uint64_t kDeleteBit = 2;
constexpr std::uint64_t kLegBit = 1;
constexpr std::uint64_t kOrphanTag = ~std::uint64_t{0};

std::uint64_t make_tag(std::size_t call, std::size_t leg, bool is_delete) noexcept {
  return call * 4 + (is_delete ? kDeleteBit : 0) + leg;
}

std::string hex(std::uint32_t call_id) {
  return fmt::format("{:x}", call_id);
}

// "CRCX: 403 no free endpoint", "CRCX: no answer after 7 transmissions".
std::string outcome_text(std::string_view verb, const agent::Outcome& outcome) {
  if (outcome.kind == agent::Outcome::Kind::timed_out) {
    return fmt::format("{}: no answer after {} transmissions", verb, outcome.transmissions);
  }
  const auto response = mgcp::parse_response(outcome.message);
  return fmt::format("{}: {} {}", verb, outcome.code, response ? response->reason : "unreadable");
}

bool succeeded(const agent::Outcome& outcome) noexcept {
  return outcome.kind == agent::Outcome::Kind::answered && outcome.code >= 200 &&
         outcome.code < 300;
}

}  // namespace

CallControl::CallControl(const CallOptions& options, agent::TransactionClient& transactions)
    : options_(options), transactions_(transactions), next_call_id_(options.first_call_id) {}

std::size_t CallControl::add_call(const io::SocketAddress& first, const io::SocketAddress& second) {
  Call& call = calls_.emplace_back();
  call.legs[0].local = first;
  call.legs[1].local = second;
  return calls_.size() - 1;
}

void CallControl::restart_rate(io::TimePoint now) noexcept {
  next_start_ = now;
}

void CallControl::set_up(std::size_t first, std::size_t count, io::TimePoint now) {
  task_ = Task::set_up;
  for (std::size_t index = first; index < first + count; ++index) {
    waiting_.push_back(index);
  }
  restart_rate(now);
  advance(now);
}

void CallControl::tear_down(std::size_t first, std::size_t count, io::TimePoint now) {
  task_ = Task::tear_down;
  for (std::size_t index = first; index < first + count; ++index) {
    if (calls_[index].state == Call::State::established) {
      waiting_.push_back(index);
    }
  }
  advance(now);
}

void CallControl::churn(std::size_t first, std::size_t count, io::TimePoint now,
                        io::TimePoint until) {
  churning_ = true;
  churn_until_ = until;
  set_up(first, count, now);
}

void CallControl::cancel() noexcept {
  waiting_.clear();
  churning_ = false;
}

void CallControl::advance(io::TimePoint now) {
  if (churning_ && now >= churn_until_) {
    cancel();
  }
  const bool is_limited = task_ == Task::set_up && options_.calls_per_second > 0;
  while (!waiting_.empty() && busy_ < options_.in_flight_max &&
         (!is_limited || next_start_ <= now)) {
    const std::size_t index = waiting_.front();
    waiting_.pop_front();
    if (is_limited) {
      next_start_ += io::Duration(static_cast<std::int64_t>(1e9 / options_.calls_per_second));
    }
    begin(index, now);
  }
}

io::TimePoint CallControl::next_start() const noexcept {
  if (waiting_.empty() || busy_ >= options_.in_flight_max) {
    return churning_ ? churn_until_ : io::kNever;
  }
  return next_start_;
}

void CallControl::begin(std::size_t index, io::TimePoint now) {
  Call& call = calls_[index];
  ++busy_;
  if (task_ == Task::tear_down) {
    call.state = Call::State::deleting_first;
    remove(index, 0, now);
    return;
  }
  call.state = Call::State::creating_first;
  call.call_id = next_call_id_++;
  call.setup_failed = false;
  call.endpoint = options_.endpoint_prefix + "*@" + options_.domain;
  create(index, 0, now);
}

void CallControl::append_offer(std::string& out, const Call& call, std::size_t leg) const {
  mgcp::SessionDescription offer;
  const Codec& shape = options_.codecs[leg];
  offer.address = call.legs[leg].local.with_port(0);
  offer.port = call.legs[leg].local.port();
  offer.ptime_ms = 20;
  mgcp::Codec codec;
  codec.payload_type = shape.payload_type;
  codec.name = shape.encoding;
  codec.clock_rate_hz = shape.described_rate_hz;
  codec.fmtp = shape.format_parameters;
  offer.codecs.push_back(std::move(codec));
  mgcp::write_sdp(out, offer, fmt::format("{}", call.call_id));
}

void CallControl::create(std::size_t index, std::size_t leg, io::TimePoint now) {
  Call& call = calls_[index];
  std::string offer;
  append_offer(offer, call, leg);
  const std::string call_id = hex(call.call_id);
  mgcp::Request request;
  request.verb = mgcp::Verb::crcx;
  request.transaction_id = transactions_.allocate();
  request.endpoint = call.endpoint;
  request.call_id = call_id;
  request.mode = {mgcp::ModeParameter::State::known, mgcp::ConnectionMode::sendrecv};
  request.local_options.emplace();
  request.local_options->packetisation = mgcp::PacketisationPeriod{20, 20};
  request.local_options->codecs.emplace_back(options_.codecs[leg].encoding);
  request.sdp_text = offer;
  if (options_.codecs[leg].form == PayloadForm::osmux) {
    call.legs[leg].own_circuit = static_cast<std::uint8_t>(index);
    request.osmux = {mgcp::OsmuxParameter::State::number, *call.legs[leg].own_circuit};
  }
  std::string message;
  mgcp::write_request(message, request);
  transactions_.start(request.transaction_id, std::move(message), make_tag(index, leg, false), now);
}

void CallControl::remove(std::size_t index, std::size_t leg, io::TimePoint now) {
  const Call& call = calls_[index];
  const std::string call_id = hex(call.call_id);
  mgcp::Request request;
  request.verb = mgcp::Verb::dlcx;
  request.transaction_id = transactions_.allocate();
  request.endpoint = call.endpoint;
  request.call_id = call_id;
  request.connection_id = call.legs[leg].connection_id;
  std::string message;
  mgcp::write_request(message, request);
  transactions_.start(request.transaction_id, std::move(message), make_tag(index, leg, true), now);
}

void CallControl::on_outcome(const agent::Outcome& outcome, io::TimePoint now) {
  using Kind = agent::Outcome::Kind;
  if (outcome.kind == Kind::repeated) {
    remove_orphan(outcome, now);
    return;
  }
  if ((outcome.kind != Kind::answered && outcome.kind != Kind::timed_out) ||
      outcome.tag == kOrphanTag) {
    return;
  }
  const auto index = static_cast<std::size_t>(outcome.tag / 4);
  const auto leg = static_cast<std::size_t>(outcome.tag & kLegBit);
  if ((outcome.tag & kDeleteBit) != 0) {
    on_deleted(index, leg, outcome, now);
  } else {
    on_created(index, leg, outcome, now);
  }
  advance(now);
}

// Reads what the gateway says about a new connection; an error text if something is missing.
std::string CallControl::take_answer(Call& call, std::size_t leg,
                                     const agent::Outcome& outcome) const {
  const auto response = mgcp::parse_response(outcome.message);
  if (!response || response->connection_id.empty()) {
    return "CRCX: answer without a connection id";
  }
  call.legs[leg].connection_id = response->connection_id;
  if (leg == 0) {
    if (response->endpoint.empty()) {
      return "CRCX: answer without the name of the endpoint";
    }
    call.endpoint = response->endpoint;
  }
  const auto description = mgcp::parse_sdp(response->sdp);
  if (!description || !description->address || !description->port || description->is_hold()) {
    return "CRCX: answer without a usable address";
  }
  call.legs[leg].gateway = description->address->with_port(*description->port);
  call.legs[leg].far_circuit = response->osmux_circuit_id;
  if (call.legs[leg].own_circuit && !response->osmux_circuit_id) {
    return "CRCX: answer without an Osmux circuit";
  }
  return {};
}

void CallControl::on_created(std::size_t index, std::size_t leg, const agent::Outcome& outcome,
                             io::TimePoint now) {
  Call& call = calls_[index];
  if (leg == 0 && outcome.transmissions > 1) {
    repeated_creates_.emplace(outcome.transaction_id, index);
  }
  if (!succeeded(outcome)) {
    note_error(outcome_text("CRCX", outcome));
    on_setup_failed(index, leg, now);
    return;
  }
  counters_.create_ns.add(static_cast<std::uint64_t>(outcome.round_trip.count()));
  std::string error = take_answer(call, leg, outcome);
  if (!error.empty()) {
    note_error(std::move(error));
    on_setup_failed(index, call.legs[leg].connection_id.empty() ? leg : leg + 1, now);
    return;
  }
  if (leg == 0) {
    call.state = Call::State::creating_second;
    create(index, 1, now);
    return;
  }
  ++counters_.established;
  if (churning_) {
    call.state = Call::State::deleting_first;
    remove(index, 0, now);
    return;
  }
  finish(index, Call::State::established);
}

// `created` connections of the call exist at the gateway.
void CallControl::on_setup_failed(std::size_t index, std::size_t created, io::TimePoint now) {
  Call& call = calls_[index];
  ++counters_.failed;
  if (created == 0) {
    finish(index, Call::State::failed);
    return;
  }
  call.setup_failed = true;
  call.state = created == 1 ? Call::State::deleting_second : Call::State::deleting_first;
  remove(index, 0, now);
}

void CallControl::on_deleted(std::size_t index, std::size_t leg, const agent::Outcome& outcome,
                             io::TimePoint now) {
  Call& call = calls_[index];
  if (succeeded(outcome)) {
    counters_.delete_ns.add(static_cast<std::uint64_t>(outcome.round_trip.count()));
    if (const auto response = mgcp::parse_response(outcome.message)) {
      call.legs[leg].statistics = response->statistics;
    }
  } else {
    ++counters_.delete_failed;
    note_error(outcome_text("DLCX", outcome));
  }
  if (call.state == Call::State::deleting_first) {
    call.state = Call::State::deleting_second;
    remove(index, 1, now);
    return;
  }
  if (!call.setup_failed) {
    ++counters_.released;
  }
  finish(index, call.setup_failed ? Call::State::failed : Call::State::idle);
}

void CallControl::finish(std::size_t index, Call::State state) {
  Call& call = calls_[index];
  call.state = state;
  --busy_;
  if (state != Call::State::established) {
    call.legs[0].connection_id.clear();
    call.legs[1].connection_id.clear();
  }
  if (churning_) {
    waiting_.push_back(index);
  }
}

// A gateway that does not recognise the repetition of a wildcard CRCX runs it twice. The second
// answer names an endpoint that belongs to nobody: it is given back.
void CallControl::remove_orphan(const agent::Outcome& outcome, io::TimePoint now) {
  const auto found = repeated_creates_.find(outcome.transaction_id);
  const auto response = mgcp::parse_response(outcome.message);
  if (found == repeated_creates_.end() ||
      !succeeded({agent::Outcome::Kind::answered, 0, 0, outcome.code, {}, 0, {}}) || !response ||
      response->endpoint.empty() || response->endpoint == calls_[found->second].endpoint) {
    return;
  }
  mgcp::Request request;
  request.verb = mgcp::Verb::dlcx;
  request.transaction_id = transactions_.allocate();
  request.endpoint = response->endpoint;
  request.connection_id = response->connection_id;
  std::string message;
  mgcp::write_request(message, request);
  transactions_.start(request.transaction_id, std::move(message), kOrphanTag, now);
  note_error("CRCX: a repeated request was run twice");
}

void CallControl::note_error(std::string text) {
  if (counters_.errors.size() >= kErrorTextsMax && counters_.errors.count(text) == 0) {
    text = "other errors";
  }
  ++counters_.errors[std::move(text)];
}

void CallControl::clear_round_trips() noexcept {
  counters_.create_ns.clear();
  counters_.delete_ns.clear();
}

}  // namespace rtpload
