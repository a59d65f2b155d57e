// AUEP, AUCX (RFC 3435 section 2.3.10, 2.3.11) and RSIP from an agent.

#include "mgcp/writer.h"
#include "mgw/call_control.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace mgw {

namespace {

using mgcp::ProtocolError;
using mgcp::RequestedItem;
using mgcp::ResponseCode;

/// RFC 3435 section 3.2.2.5: what an endpoint can do. Codecs are relayed whatever their name is;
/// these are the ones that the gateway knows by itself.
constexpr std::string_view kCapabilities =
    "a:PCMU;PCMA;GSM;GSM-EFR;GSM-HR-08;AMR;AMR-WB;G729;telephone-event, p:10-40, nt:IN, "
    "m:sendonly;recvonly;sendrecv;inactive;loopback;confecho";

}  // namespace

void CallControl::write_ok(std::string& out, mgcp::TransactionId transaction_id) {
  mgcp::Response response;
  response.transaction_id = transaction_id;
  mgcp::write_response(out, response);
}

void CallControl::auep(const mgcp::CommandLine& line, const mgcp::EndpointName& name, Reply reply) {
  if (mgcp::is_wildcard(name.kind) && !lowest_free(name)) {
    answer_error(std::move(reply), {ResponseCode::endpoint_not_ready, "no free endpoint"});
    return;
  }
  const auto request = read_parameters(line, reply);
  if (!request) {
    answer_error(std::move(reply), request.error());
    return;
  }
  mgcp::Response response;
  response.transaction_id = reply.key.transaction_id;
  response.reason = draining() ? "draining" : "";
  std::string connections;
  if (name.kind != mgcp::EndpointKind::null) {
    if (request->requested_info.has(RequestedItem::capabilities)) {
      response.parameters.push_back({"A", kCapabilities});
    }
    if (!mgcp::is_wildcard(name.kind) &&
        request->requested_info.has(RequestedItem::connection_id)) {
      for (const auto& connection : trunks_.find(name.number)->connections) {
        connections += (connections.empty() ? "" : ", ") + connection->id_text();
      }
      response.parameters.push_back({"I", connections});
    }
  }
  answer_.clear();
  mgcp::write_response(answer_, response);
  answer(std::move(reply), ResponseCode::ok, answer_);
}

void CallControl::aucx(const mgcp::CommandLine& line, const mgcp::EndpointName& name, Reply reply) {
  const auto request = read_parameters(line, reply);
  Error error;
  Connection* connection = nullptr;
  if (!request) {
    error = request.error();
  } else if (mgcp::is_wildcard(name.kind)) {
    error = ProtocolError{ResponseCode::unsupported_function, "AUCX of a wildcard"};
  } else if (!request->connection_id) {
    error = ProtocolError{ResponseCode::incorrect_connection_id, "connection id missing"};
  } else {
    const auto id = connection_number(*request->connection_id);
    connection = id ? trunks_.find(name.number)->find(*id) : nullptr;
    if (connection == nullptr) {
      error = ProtocolError{ResponseCode::incorrect_connection_id, {}};
    } else if (!parts_.media.has_room(trunks_.find(name.number)->worker)) {
      counters_.transactions_refused.add();
      error = ProtocolError{ResponseCode::transient_error, "too many commands under way"};
    }
  }
  if (error) {
    answer_error(std::move(reply), *error);
    return;
  }
  const Endpoint& endpoint = *trunks_.find(name.number);
  const mgcp::RequestedInfo& wanted = request->requested_info;
  Pending pending;
  pending.kind = Pending::Kind::audit;
  pending.wants_statistics = wanted.has(RequestedItem::connection_parameters);
  pending.wants_streams = wanted.has(RequestedItem::streams);
  if (wanted.has(RequestedItem::call_id)) {
    pending.parameters.emplace_back("C", endpoint.call_id);
  }
  if (wanted.has(RequestedItem::mode)) {
    pending.parameters.emplace_back("M", mgcp::to_text(connection->mode));
  }
  if (wanted.has(RequestedItem::local_options)) {
    pending.parameters.emplace_back(
        "L", fmt::format("p:{}, a:{}", connection->ptime_ms,
                         connection->codecs[connection->selected_codec].name));
  }
  if (wanted.has(RequestedItem::tap)) {
    for (std::string& text : tap_texts(connection->taps)) {
      pending.parameters.emplace_back("X-Mgw-Tap", std::move(text));
    }
  }
  if (wanted.has(RequestedItem::local_description)) {
    pending.description = describe(endpoint, *connection);
  }
  if (wanted.has(RequestedItem::remote_description) && !connection->remote_description.empty()) {
    // RFC 3435 section 3.2.2.10: local before remote, an empty line between them.
    pending.description +=
        (pending.description.empty() ? "" : "\r\n") + connection->remote_description;
  }
  auto command = std::make_unique<MediaCommand>();
  command->audits.push_back(connection->slot);
  pending.reply = std::move(reply);
  submit(endpoint.worker, std::move(command), std::move(pending));
}

void CallControl::append_streams(Pending& pending) {
  if (!pending.wants_streams || !pending.streams) {
    return;
  }
  const rtp::StreamList& list = *pending.streams;
  for (std::size_t i = 0; i < list.count; ++i) {
    const rtp::StreamSummary& stream = list.streams[i];
    pending.parameters.emplace_back(
        "X-Mgw-Streams", fmt::format("SSRC={:08X}, PR={}, OR={}, PL={}, DU={}, RO={}, JI={}",
                                     stream.ssrc, stream.received, stream.octets, stream.lost,
                                     stream.duplicates, stream.reordered, stream.jitter));
  }
  if (list.older != 0) {
    pending.parameters.emplace_back("X-Mgw-Streams", fmt::format("OLDER={}", list.older));
  }
}

void CallControl::rsip(const mgcp::CommandLine& line, const mgcp::EndpointName& name, Reply reply) {
  const auto request = read_parameters(line, reply);
  if (!request) {
    answer_error(std::move(reply), request.error());
    return;
  }
  switch (request->restart_method) {
    case mgcp::RestartMethod::graceful:
    case mgcp::RestartMethod::cancel_graceful:
    case mgcp::RestartMethod::disconnected:
      answer_ok(std::move(reply));  // existing calls go on (RFC 3435 section 2.3.12)
      return;
    case mgcp::RestartMethod::unknown:
      answer_error(std::move(reply), {ResponseCode::unsupported_restart_method, {}});
      return;
    case mgcp::RestartMethod::absent:
    case mgcp::RestartMethod::forced:
    case mgcp::RestartMethod::restart:
      break;
  }
  Pending pending;
  write_ok(pending.text, reply.key.transaction_id);
  pending.reply = std::move(reply);
  const EndReasonScope reason(end_reason_, EndReason::restarted);
  remove_calls(*trunks_.resolve(name), std::nullopt, std::move(pending));
}

}  // namespace mgw
