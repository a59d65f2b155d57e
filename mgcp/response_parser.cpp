#include "mgcp/parser.h"
#include "mgcp/text.h"

namespace mgcp {

namespace {

constexpr std::uint64_t kCounterMax = UINT64_MAX;
constexpr ProtocolError kMalformed{ResponseCode::protocol_error, "malformed response"};

/// Reads a comma-separated list `KEY=number`; calls `store(key, value)`, which says whether the
/// value is fine.
template <typename Store>
bool read_numbers(std::string_view text, Store store) {
  while (!text.empty()) {
    std::string_view item = text::trim(text::take_until(text, ','));
    if (item.empty()) {
      continue;
    }
    if (item.find('=') == std::string_view::npos) {
      return false;
    }
    const std::string_view key = text::trim(text::take_until(item, '='));
    if (!store(key, text::trim(item))) {
      return false;
    }
  }
  return true;
}

bool store_counter(std::string_view value, std::uint64_t& counter) noexcept {
  const auto number = text::parse_decimal(value, kCounterMax);
  counter = number.value_or(0);
  return number.has_value();
}

bool store_signed(std::string_view value, std::int64_t& counter) noexcept {
  const bool negative = value.starts_with('-');
  const auto number = text::parse_decimal(value.substr(negative ? 1 : 0), INT64_MAX);
  const auto magnitude = static_cast<std::int64_t>(number.value_or(0));
  counter = negative ? -magnitude : magnitude;
  return number.has_value();
}

bool read_statistics(std::string_view value, ConnectionStatistics& statistics) {
  return read_numbers(value, [&](std::string_view key, std::string_view number) {
    const auto is = [key](std::string_view known) { return text::equal_ignoring_case(key, known); };
    if (is("PS")) {
      return store_counter(number, statistics.packets_sent);
    }
    if (is("OS")) {
      return store_counter(number, statistics.octets_sent);
    }
    if (is("PR")) {
      return store_counter(number, statistics.packets_received);
    }
    if (is("OR")) {
      return store_counter(number, statistics.octets_received);
    }
    if (is("PL")) {
      return store_signed(number, statistics.packets_lost);
    }
    if (is("JI")) {
      return store_counter(number, statistics.jitter);
    }
    if (is("LA")) {
      const auto latency = text::parse_decimal(number, UINT32_MAX);
      statistics.latency_ms = static_cast<std::uint32_t>(latency.value_or(0));
      return latency.has_value();
    }
    return true;
  });
}

/// `EC TI=0, TO=0`.
bool read_timestamp_errors(std::string_view value, TimestampErrors& errors) {
  if (!text::equal_ignoring_case(text::take_token(value), "EC")) {
    return false;
  }
  return read_numbers(value, [&](std::string_view key, std::string_view number) {
    if (text::equal_ignoring_case(key, "TI")) {
      return store_counter(number, errors.incoming);
    }
    return !text::equal_ignoring_case(key, "TO") || store_counter(number, errors.outgoing);
  });
}

bool read_osmux_statistics(std::string_view value, OsmuxStatistics& statistics) {
  return read_numbers(value, [&](std::string_view key, std::string_view number) {
    if (text::equal_ignoring_case(key, "CR")) {
      return store_counter(number, statistics.chunks_received);
    }
    return !text::equal_ignoring_case(key, "BR") ||
           store_counter(number, statistics.bytes_received);
  });
}

/// False if a known parameter is malformed.
bool read_response_parameter(const Parameter& parameter, Response& response) {
  const auto is = [&](std::string_view known) {
    return text::equal_ignoring_case(parameter.name, known);
  };
  if (is("Z") && response.endpoint.empty()) {
    response.endpoint = parameter.value;
  } else if (is("I") && response.connection_id.empty()) {
    response.connection_id = parameter.value;
  } else if (is("X-Osmux")) {
    const auto circuit = text::parse_decimal(parameter.value, 255);
    response.osmux_circuit_id = static_cast<std::uint8_t>(circuit.value_or(0));
    return circuit.has_value();
  } else if (is("P")) {
    return read_statistics(parameter.value, response.statistics.emplace());
  } else if (is("X-Osmo-CP")) {
    return read_timestamp_errors(parameter.value, response.timestamp_errors.emplace());
  } else if (is("X-Osmux-ST")) {
    return read_osmux_statistics(parameter.value, response.osmux_statistics.emplace());
  } else {
    response.parameters.push_back(parameter);
  }
  return true;
}

}  // namespace

tl::expected<Response, ProtocolError> parse_response(std::string_view message) {
  const FirstLine first = parse_first_line(message);
  const auto* const line = std::get_if<ResponseLine>(&first);
  if (line == nullptr) {
    return tl::unexpected(kMalformed);
  }
  tl::expected<Response, ProtocolError> result;
  Response& response = *result;
  response.code = line->code;
  response.transaction_id = line->transaction_id;
  response.reason = line->reason;
  text::LineReader lines(line->body);
  std::size_t count = 0;
  while (const auto next = lines.next()) {
    const std::string_view text = text::trim(*next);
    if (text.empty()) {
      break;
    }
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos || ++count > kParameterLinesMax ||
        text.size() > kLineBytesMax) {
      return tl::unexpected(kMalformed);
    }
    const Parameter parameter{text::trim(text.substr(0, colon)),
                              text::trim(text.substr(colon + 1))};
    if (!read_response_parameter(parameter, response)) {
      return tl::unexpected(kMalformed);
    }
  }
  response.sdp = lines.rest();
  return result;
}

}  // namespace mgcp
