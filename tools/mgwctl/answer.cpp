#include "tools/mgwctl/answer.h"

#include "mgcp/parser.h"
#include "mgcp/sdp.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <iterator>

namespace mgwctl {
namespace {

using Json = nlohmann::ordered_json;

double microseconds(io::Duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

// Bytes that are no UTF-8 must not stop the output.
std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string codec_text(const mgcp::Codec& codec) {
  std::string text = fmt::format("{} ", codec.payload_type);
  mgcp::append_rtpmap(text, codec);
  return codec.fmtp.empty() ? text : fmt::format("{} ({})", text, codec.fmtp);
}

void append_line(std::string& out, std::string_view name, std::string_view value) {
  fmt::format_to(std::back_inserter(out), "  {:<14} {}\n", name, value);
}

void append_description(std::string& out, std::string_view sdp) {
  const auto description = mgcp::parse_sdp(sdp);
  if (!description) {
    append_line(out, "description", "unreadable:");
    out += sdp;
    return;
  }
  if (description->address && description->port) {
    append_line(out, "media", description->address->with_port(*description->port).text());
  }
  for (const mgcp::Codec& codec : description->codecs) {
    append_line(out, "codec", codec_text(codec));
  }
  if (description->ptime_ms) {
    append_line(out, "packet", fmt::format("{} ms", *description->ptime_ms));
  }
}

void append_statistics(std::string& out, const mgcp::Response& response) {
  if (response.statistics) {
    const mgcp::ConnectionStatistics& counts = *response.statistics;
    append_line(
        out, "received",
        fmt::format("{} packets, {} octets", counts.packets_received, counts.octets_received));
    append_line(out, "sent",
                fmt::format("{} packets, {} octets", counts.packets_sent, counts.octets_sent));
    append_line(out, "lost", fmt::format("{} packets", counts.packets_lost));
    append_line(out, "jitter", fmt::format("{} timestamp units", counts.jitter));
    if (counts.latency_ms) {
      append_line(out, "latency", fmt::format("{} ms", *counts.latency_ms));
    }
  }
  if (response.timestamp_errors) {
    append_line(out, "timestamps",
                fmt::format("{} wrong coming in, {} going out", response.timestamp_errors->incoming,
                            response.timestamp_errors->outgoing));
  }
  if (response.osmux_statistics) {
    append_line(
        out, "Osmux",
        fmt::format("{} chunks, {} octets received", response.osmux_statistics->chunks_received,
                    response.osmux_statistics->bytes_received));
  }
}

Json description_json(std::string_view sdp) {
  Json json{{"sdp", sdp}};
  const auto description = mgcp::parse_sdp(sdp);
  if (!description) {
    return json;
  }
  if (description->address) {
    json["address"] = description->address->host_text();
  }
  if (description->port) {
    json["port"] = *description->port;
  }
  Json codecs = Json::array();
  for (const mgcp::Codec& codec : description->codecs) {
    codecs.push_back({{"payload_type", codec.payload_type},
                      {"name", codec.name},
                      {"clock_rate_hz", codec.clock_rate_hz},
                      {"channels", codec.channels},
                      {"fmtp", codec.fmtp}});
  }
  json["codecs"] = std::move(codecs);
  if (description->ptime_ms) {
    json["ptime_ms"] = *description->ptime_ms;
  }
  return json;
}

Json statistics_json(const mgcp::ConnectionStatistics& counts) {
  Json json{
      {"packets_sent", counts.packets_sent},         {"octets_sent", counts.octets_sent},
      {"packets_received", counts.packets_received}, {"octets_received", counts.octets_received},
      {"packets_lost", counts.packets_lost},         {"jitter", counts.jitter}};
  if (counts.latency_ms) {
    json["latency_ms"] = *counts.latency_ms;
  }
  return json;
}

Json response_json(const mgcp::Response& response) {
  Json json{{"code", mgcp::number(response.code)},
            {"reason", response.reason},
            {"transaction_id", response.transaction_id}};
  if (!response.endpoint.empty()) {
    json["endpoint"] = response.endpoint;
  }
  if (!response.connection_id.empty()) {
    json["connection_id"] = response.connection_id;
  }
  if (response.osmux_circuit_id) {
    json["osmux_circuit_id"] = *response.osmux_circuit_id;
  }
  if (!response.sdp.empty()) {
    json.update(description_json(response.sdp));
  }
  if (response.statistics) {
    json["statistics"] = statistics_json(*response.statistics);
  }
  if (response.timestamp_errors) {
    json["timestamp_errors"] = {{"incoming", response.timestamp_errors->incoming},
                                {"outgoing", response.timestamp_errors->outgoing}};
  }
  if (response.osmux_statistics) {
    json["osmux_statistics"] = {{"chunks_received", response.osmux_statistics->chunks_received},
                                {"bytes_received", response.osmux_statistics->bytes_received}};
  }
  Json parameters = Json::array();
  for (const mgcp::Parameter& parameter : response.parameters) {
    parameters.push_back({{"name", parameter.name}, {"value", parameter.value}});
  }
  if (!parameters.empty()) {
    json["parameters"] = std::move(parameters);
  }
  return json;
}

}  // namespace

std::string answer_text(std::string_view message) {
  const auto response = mgcp::parse_response(message);
  if (!response) {
    return std::string(message) + "\n";
  }
  std::string out = fmt::format("{} {}\n", mgcp::number(response->code), response->reason);
  if (!response->endpoint.empty()) {
    append_line(out, "endpoint", response->endpoint);
  }
  if (!response->connection_id.empty()) {
    append_line(out, "connection", response->connection_id);
  }
  if (response->osmux_circuit_id) {
    append_line(out, "Osmux circuit", fmt::format("{}", *response->osmux_circuit_id));
  }
  if (!response->sdp.empty()) {
    append_description(out, response->sdp);
  }
  append_statistics(out, *response);
  for (const mgcp::Parameter& parameter : response->parameters) {
    append_line(out, parameter.name, parameter.value);
  }
  return out;
}

std::string answer_json(std::string_view message, io::Duration round_trip) {
  const auto response = mgcp::parse_response(message);
  Json json = response ? response_json(*response)
                       : Json{{"error", "not an MGCP response"}, {"text", message}};
  json["round_trip_us"] = microseconds(round_trip);
  return dump(json);
}

std::string raw_json(std::string_view datagram, io::Duration round_trip) {
  Json json{{"text", datagram}, {"round_trip_us", microseconds(round_trip)}};
  if (const auto response = mgcp::parse_response(datagram)) {
    json["code"] = mgcp::number(response->code);
  }
  return dump(json);
}

std::string error_json(std::string_view error) {
  return dump(Json{{"error", error}});
}

int exit_status(std::string_view message) {
  const auto response = mgcp::parse_response(message);
  if (!response) {
    return 2;
  }
  const std::uint16_t code = mgcp::number(response->code);
  return code >= 200 && code < 300 ? 0 : 1;
}

}  // namespace mgwctl
