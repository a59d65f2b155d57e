#include "mgcp/parser.h"
#include "mgcp/text.h"

#include <algorithm>

namespace mgcp {

namespace {

constexpr ProtocolError kCallIdTooLong{ResponseCode::protocol_error, "call id too long"};

std::optional<ProtocolError> check_connection_id(std::string_view id) noexcept {
  if (id.empty() || id.size() > kConnectionIdDigitsMax) {
    return ProtocolError{ResponseCode::protocol_error, "bad connection id"};
  }
  return std::nullopt;
}

}  // namespace

std::optional<ProtocolError> check_crcx(const Request& request) noexcept {
  if (!request.call_id || request.call_id->empty()) {
    return ProtocolError{ResponseCode::incorrect_call_id, "call id missing"};
  }
  if (request.call_id->size() > kCallIdBytesMax) {
    return kCallIdTooLong;
  }
  if (request.mode.state != ModeParameter::State::known) {
    const bool absent = request.mode.state == ModeParameter::State::absent;
    return ProtocolError{ResponseCode::unsupported_mode, absent ? "mode missing" : ""};
  }
  if (request.connection_id) {
    return ProtocolError{ResponseCode::illegal_combination, "connection id in CRCX"};
  }
  if (request.osmux.state == OsmuxParameter::State::invalid) {
    return ProtocolError{ResponseCode::protocol_error, "bad Osmux circuit id"};
  }
  return std::nullopt;
}

std::optional<ProtocolError> check_mdcx(const Request& request) noexcept {
  if (!request.connection_id) {
    return ProtocolError{ResponseCode::incorrect_connection_id, "connection id missing"};
  }
  if (auto error = check_connection_id(*request.connection_id)) {
    return error;
  }
  if (request.mode.state == ModeParameter::State::unknown) {
    return ProtocolError{ResponseCode::unsupported_mode, {}};
  }
  return std::nullopt;
}

std::optional<ProtocolError> check_dlcx(const Request& request) noexcept {
  return request.connection_id ? check_connection_id(*request.connection_id) : std::nullopt;
}

bool same_connection_id(std::string_view left, std::string_view right) noexcept {
  const auto significant = [](std::string_view id) {
    return id.substr(std::min(id.find_first_not_of('0'), id.size()));
  };
  left = significant(left);
  right = significant(right);
  return !left.empty() && text::equal_ignoring_case(left, right) &&
         std::all_of(left.begin(), left.end(), [](char c) { return text::hex_value(c) >= 0; });
}

}  // namespace mgcp
