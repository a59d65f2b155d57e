#include "mgcp/writer.h"

#include "mgcp/text.h"

#include <algorithm>

namespace mgcp {

namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kMessageSeparator = ".\r\n";
constexpr std::size_t kResponseCodeDigits = 3;

void append_parameter(std::string& out, std::string_view name, std::string_view value) {
  out += name;
  out += ": ";
  out += value;
  out += kLineEnd;
}

void append_if_present(std::string& out, std::string_view name,
                       const std::optional<std::string_view>& value) {
  if (value) {
    append_parameter(out, name, *value);
  }
}

void append_first_line(std::string& out, ResponseCode code, TransactionId transaction_id,
                       std::string_view reason) {
  const std::size_t begin = out.size();
  text::append_decimal(out, number(code));
  out.insert(begin, kResponseCodeDigits - std::min(out.size() - begin, kResponseCodeDigits), '0');
  out += ' ';
  append_transaction_id(out, transaction_id);
  out += ' ';
  out += reason.empty() ? default_reason(code) : reason;
  out += kLineEnd;
}

void append_field(std::string& out, std::string_view name, std::uint64_t value) {
  out += name;
  text::append_decimal(out, value);
}

void append_statistics(std::string& out, const ConnectionStatistics& statistics) {
  append_field(out, "P: PS=", statistics.packets_sent);
  append_field(out, ", OS=", statistics.octets_sent);
  append_field(out, ", PR=", statistics.packets_received);
  append_field(out, ", OR=", statistics.octets_received);
  out += ", PL=";
  text::append_signed(out, statistics.packets_lost);
  append_field(out, ", JI=", statistics.jitter);
  if (statistics.latency_ms) {
    append_field(out, ", LA=", *statistics.latency_ms);
  }
  out += kLineEnd;
}

void append_body(std::string& out, std::string_view body) {
  if (!body.empty()) {
    out += kLineEnd;
    out += body;
  }
}

void append_osmux(std::string& out, const OsmuxParameter& osmux) {
  if (osmux.state == OsmuxParameter::State::any) {
    append_parameter(out, "X-Osmux", "*");
  } else if (osmux.state == OsmuxParameter::State::number) {
    append_field(out, "X-Osmux: ", osmux.circuit_id);
    out += kLineEnd;
  }
}

void append_tap(std::string& out, const TapParameter& tap) {
  if (tap.state == TapParameter::State::absent) {
    return;
  }
  out += "X-Mgw-Tap: ";
  out += tap.in && tap.out ? "both " : (tap.in ? "in " : "out ");
  switch (tap.state) {
    case TapParameter::State::udp:
      out += "udp " + tap.target.text();
      break;
    case TapParameter::State::pcap:
      out += "pcap ";
      out += tap.file;
      break;
    case TapParameter::State::off:
    case TapParameter::State::absent:
      out += "off";
      break;
  }
  out += kLineEnd;
}

void append_acknowledged(std::string& out, const std::vector<TransactionRange>& ranges) {
  if (ranges.empty()) {
    return;
  }
  out += "K: ";
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    out += i > 0 ? ", " : "";
    append_transaction_id(out, ranges[i].first);
    if (ranges[i].last != ranges[i].first) {
      out += '-';
      append_transaction_id(out, ranges[i].last);
    }
  }
  out += kLineEnd;
}

void append_requested_info(std::string& out, RequestedInfo info) {
  if (info.empty()) {
    return;
  }
  out += "F: ";
  bool first = true;
  for (std::size_t i = 0; i < kRequestedItemCount; ++i) {
    const auto item = static_cast<RequestedItem>(i);
    if (info.has(item)) {
      out += first ? "" : ", ";
      out += to_text(item);
      first = false;
    }
  }
  out += kLineEnd;
}

}  // namespace

void append_transaction_id(std::string& out, TransactionId transaction_id) {
  if (transaction_id == kNoTransactionId) {
    out += "000000";
  } else {
    text::append_decimal(out, transaction_id);
  }
}

void write_response(std::string& out, const Response& response) {
  append_first_line(out, response.code, response.transaction_id, response.reason);
  if (!response.endpoint.empty()) {
    append_parameter(out, "Z", response.endpoint);
  }
  if (!response.connection_id.empty()) {
    append_parameter(out, "I", response.connection_id);
  }
  if (response.osmux_circuit_id) {
    append_field(out, "X-Osmux: ", *response.osmux_circuit_id);
    out += kLineEnd;
  }
  if (response.statistics) {
    append_statistics(out, *response.statistics);
  }
  if (response.timestamp_errors) {
    append_field(out, "X-Osmo-CP: EC TI=", response.timestamp_errors->incoming);
    append_field(out, ", TO=", response.timestamp_errors->outgoing);
    out += kLineEnd;
  }
  if (response.osmux_statistics) {
    append_field(out, "X-Osmux-ST: CR=", response.osmux_statistics->chunks_received);
    append_field(out, ", BR=", response.osmux_statistics->bytes_received);
    out += kLineEnd;
  }
  for (const Parameter& parameter : response.parameters) {
    append_parameter(out, parameter.name, parameter.value);
  }
  append_body(out, response.sdp);
}

void write_error(std::string& out, TransactionId transaction_id, const ProtocolError& error) {
  append_first_line(out, error.code, transaction_id, error.reason);
}

void write_request(std::string& out, const Request& request) {
  out += to_text(request.verb);
  out += ' ';
  append_transaction_id(out, request.transaction_id);
  out += ' ';
  out += request.endpoint;
  out += " MGCP 1.0";
  if (!request.profile.empty()) {
    out += ' ';
    out += request.profile;
  }
  out += kLineEnd;
  append_if_present(out, "C", request.call_id);
  append_if_present(out, "I", request.connection_id);
  if (request.local_options) {
    out += "L: ";
    append_local_options(out, *request.local_options);
    out += kLineEnd;
  }
  if (request.mode.state == ModeParameter::State::known) {
    append_parameter(out, "M", to_text(request.mode.mode));
  }
  append_osmux(out, request.osmux);
  append_tap(out, request.tap);
  if (request.ignore_call_id) {
    append_parameter(out, "X-Osmo-IGN", "C");
  }
  append_acknowledged(out, request.acknowledged);
  append_requested_info(out, request.requested_info);
  if (!to_text(request.restart_method).empty()) {
    append_parameter(out, "RM", to_text(request.restart_method));
  }
  if (request.restart_delay_s) {
    append_field(out, "RD: ", *request.restart_delay_s);
    out += kLineEnd;
  }
  append_if_present(out, "E", request.reason_code);
  append_if_present(out, "X", request.request_id);
  append_if_present(out, "N", request.notified_entity);
  append_if_present(out, "S", request.signals);
  append_if_present(out, "O", request.observed_events);
  for (const Parameter& parameter : request.other_parameters) {
    append_parameter(out, parameter.name, parameter.value);
  }
  append_body(out, request.sdp_text);
}

bool append_piggybacked(std::string& out, std::string_view message, std::size_t bytes_max) {
  if (out.empty()) {
    out = message;
    return true;
  }
  // The separator must begin a line, whatever the message before it ends with.
  const std::string_view separator = out.back() == '\n' ? kMessageSeparator : "\r\n.\r\n";
  if (out.size() + separator.size() + message.size() > bytes_max) {
    return false;
  }
  out += separator;
  out += message;
  return true;
}

}  // namespace mgcp
