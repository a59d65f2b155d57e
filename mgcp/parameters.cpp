#include "mgcp/parser.h"
#include "mgcp/text.h"

#include <algorithm>
#include <array>

namespace mgcp {

namespace {

using Failure = std::optional<ProtocolError>;

/// How many items of one line are looked at; there are fewer different ones.
constexpr std::size_t kRequestedItemsMax = 64;

/// Known, not acted on, and harmless to ignore in CRCX, MDCX and DLCX.
constexpr std::array<std::string_view, 13> kTolerated{"A",  "B", "D", "ES", "LC", "MD", "P",
                                                      "PL", "Q", "R", "RC", "T",  "VS"};

template <std::size_t count>
bool is_one_of(std::string_view name, const std::array<std::string_view, count>& names) noexcept {
  return std::any_of(names.begin(), names.end(), [&](std::string_view known) {
    return text::equal_ignoring_case(name, known);
  });
}

constexpr ProtocolError kMalformedLine{ResponseCode::protocol_error, "malformed parameter line"};
constexpr ProtocolError kUnsupported{ResponseCode::unsupported_parameter, {}};

ModeParameter read_mode(std::string_view value) noexcept {
  const auto mode = parse_mode(value);
  return mode ? ModeParameter{ModeParameter::State::known, *mode}
              : ModeParameter{ModeParameter::State::unknown, ConnectionMode::recvonly};
}

OsmuxParameter read_osmux(std::string_view value) noexcept {
  if (value == "*") {
    return {OsmuxParameter::State::any, 0};
  }
  const auto circuit = text::parse_decimal(value, 255);
  return circuit
             ? OsmuxParameter{OsmuxParameter::State::number, static_cast<std::uint8_t>(*circuit)}
             : OsmuxParameter{OsmuxParameter::State::invalid, 0};
}

/// Items are parted by blanks; `C` is the only one that is known.
bool has_item_c(std::string_view value) noexcept {
  for (auto item = text::take_token(value); !item.empty(); item = text::take_token(value)) {
    if (text::equal_ignoring_case(item, "C")) {
      return true;
    }
  }
  return false;
}

/// `10-20, 30`; items that are no ids are left out.
void read_acknowledged(std::string_view value, std::vector<TransactionRange>& ranges) {
  while (!value.empty() && ranges.size() < kAcknowledgedRangesMax) {
    std::string_view item = text::take_until(value, ',');
    const std::string_view first_text = text::trim(text::take_until(item, '-'));
    const std::string_view last_text = text::trim(item);
    const auto first = text::parse_decimal(first_text, kTransactionIdMax);
    const auto last = last_text.empty() ? first : text::parse_decimal(last_text, kTransactionIdMax);
    if (first && last && *first >= 1 && *last >= *first) {
      ranges.push_back({static_cast<TransactionId>(*first), static_cast<TransactionId>(*last)});
    }
  }
}

RequestedInfo read_requested_info(std::string_view value) noexcept {
  RequestedInfo info;
  for (std::size_t items = 0; !value.empty() && items < kRequestedItemsMax; ++items) {
    const std::string_view item = text::trim(text::take_until(value, ','));
    for (std::size_t i = 0; i < kRequestedItemCount; ++i) {
      if (text::equal_ignoring_case(item, to_text(static_cast<RequestedItem>(i)))) {
        info.add(static_cast<RequestedItem>(i));
      }
    }
  }
  return info;
}

RestartMethod read_restart_method(std::string_view value) noexcept {
  for (const RestartMethod method :
       {RestartMethod::graceful, RestartMethod::forced, RestartMethod::restart,
        RestartMethod::disconnected, RestartMethod::cancel_graceful}) {
    if (text::equal_ignoring_case(value, to_text(method))) {
      return method;
    }
  }
  return RestartMethod::unknown;
}

/// Reads the parameter lines of one command into its Request.
class ParameterReader {
 public:
  explicit ParameterReader(Request& request) noexcept
      : request_(request),
        handles_connections_(request.verb == Verb::crcx || request.verb == Verb::mdcx ||
                             request.verb == Verb::dlcx) {}

  Failure read_line(std::string_view line);

 private:
  Failure read_parameter(std::string_view name, std::string_view value);
  Failure read_one_letter(char letter, std::string_view value);
  Failure read_refused(char letter, std::string_view value);
  Failure read_extension(std::string_view name, std::string_view value);
  Failure read_restart(std::string_view name, std::string_view value);
  Failure read_options(std::string_view value);
  Failure read_tap(std::string_view value);

  Request& request_;
  bool handles_connections_;  ///< CRCX, MDCX, DLCX: what is unknown is refused
};

Failure ParameterReader::read_line(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) {
    // osmo-mgw skips a lone letter, and every line that begins with X.
    const bool skip = !handles_connections_ || line.size() == 1 || text::to_upper(line[0]) == 'X';
    return skip ? std::nullopt : Failure(kMalformedLine);
  }
  const std::string_view name = text::trim(line.substr(0, colon));
  return read_parameter(name, text::trim(line.substr(colon + 1)));
}

Failure ParameterReader::read_parameter(std::string_view name, std::string_view value) {
  if (name.size() == 1) {
    return read_one_letter(text::to_upper(name[0]), value);
  }
  if (name.empty()) {
    return handles_connections_ ? Failure(kMalformedLine) : std::nullopt;
  }
  if (text::to_upper(name[0]) == 'X') {
    return read_extension(name, value);
  }
  return read_restart(name, value);
}

Failure ParameterReader::read_one_letter(char letter, std::string_view value) {
  switch (letter) {
    case 'C':
      request_.call_id = value;
      break;
    case 'I':
      request_.connection_id = value;
      break;
    case 'M':
      request_.mode = read_mode(value);
      break;
    case 'L':
      return read_options(value);
    case 'X':
      request_.request_id = value;
      break;
    case 'K':
      request_.acknowledged.clear();
      read_acknowledged(value, request_.acknowledged);
      break;
    case 'F':
      request_.requested_info = read_requested_info(value);
      break;
    case 'E':
      request_.reason_code = value;
      break;
    case 'O':
      request_.observed_events = value;
      break;
    case 'N':
    case 'S':
      return read_refused(letter, value);
    default:
      if (handles_connections_ && !is_one_of(std::string_view(&letter, 1), kTolerated)) {
        return kUnsupported;
      }
      break;
  }
  return std::nullopt;
}

/// `N:` and `S:` ask for notifications and signals, which a connection command can't have here:
/// silence would be a promise. An empty `S:` asks for none.
Failure ParameterReader::read_refused(char letter, std::string_view value) {
  if (handles_connections_ && (letter == 'N' || !value.empty())) {
    return kUnsupported;
  }
  (letter == 'N' ? request_.notified_entity : request_.signals) = value;
  return std::nullopt;
}

Failure ParameterReader::read_extension(std::string_view name, std::string_view value) {
  if (text::equal_ignoring_case(name, "X-Osmux")) {
    request_.osmux = read_osmux(value);
  } else if (text::equal_ignoring_case(name, "X-Osmo-IGN")) {
    request_.ignore_call_id = has_item_c(value);
  } else if (text::equal_ignoring_case(name, "X-Mgw-Tap")) {
    return read_tap(value);
  } else if (name[1] == '+') {
    return ProtocolError{ResponseCode::unrecognized_extension, {}};
  }
  return std::nullopt;
}

Failure ParameterReader::read_restart(std::string_view name, std::string_view value) {
  if (text::equal_ignoring_case(name, "RM")) {
    request_.restart_method = read_restart_method(value);
  } else if (text::equal_ignoring_case(name, "RD")) {
    const auto delay = text::parse_decimal(value, 999'999'999);
    request_.restart_delay_s =
        delay ? std::optional(static_cast<std::uint32_t>(*delay)) : std::nullopt;
  } else if (handles_connections_ && !is_one_of(name, kTolerated)) {
    return kUnsupported;
  }
  return std::nullopt;
}

Failure ParameterReader::read_options(std::string_view value) {
  if (!handles_connections_) {
    return std::nullopt;
  }
  auto options = parse_local_options(value);
  if (!options) {
    return options.error();
  }
  request_.local_options = *std::move(options);
  return std::nullopt;
}

Failure ParameterReader::read_tap(std::string_view value) {
  if (request_.verb != Verb::crcx && request_.verb != Verb::mdcx) {
    return std::nullopt;
  }
  const auto tap = parse_tap(value);
  if (!tap) {
    return tap.error();
  }
  request_.tap = *tap;
  return std::nullopt;
}

/// True if `body` holds more than line ends.
bool has_content(std::string_view body) noexcept {
  return std::any_of(body.begin(), body.end(),
                     [](char c) { return !text::is_blank(c) && !text::is_line_end(c); });
}

}  // namespace

tl::expected<Request, ProtocolError> parse_parameters(const CommandLine& line) {
  tl::expected<Request, ProtocolError> result;
  Request& request = *result;
  request.verb = line.verb;
  request.transaction_id = line.transaction_id;
  request.endpoint = line.endpoint;
  request.profile = line.profile;
  ParameterReader reader(request);
  text::LineReader lines(line.body);
  std::size_t count = 0;
  while (const auto next = lines.next()) {
    const std::string_view text = text::trim(*next);
    if (text.empty()) {
      break;
    }
    if (text.size() > kLineBytesMax || ++count > kParameterLinesMax) {
      return tl::unexpected(ProtocolError{ResponseCode::protocol_error, "message too large"});
    }
    if (const auto failure = reader.read_line(text)) {
      return tl::unexpected(*failure);
    }
  }
  if (!has_content(lines.rest())) {
    return result;
  }
  request.sdp_text = lines.rest();
  if (line.verb == Verb::crcx || line.verb == Verb::mdcx) {
    auto description = parse_sdp(request.sdp_text);
    if (!description) {
      return tl::unexpected(description.error());
    }
    request.sdp = *std::move(description);
  }
  return result;
}

}  // namespace mgcp
