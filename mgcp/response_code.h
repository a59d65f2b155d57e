#pragma once
// Return codes of MGCP (RFC 3435 section 2.4) that a media gateway gives or meets, and errors made
// of them.

#include <cstdint>
#include <string_view>

namespace mgcp {

/// The code of a response. Codes that a peer sends and that have no name here are kept by value.
enum class ResponseCode : std::uint16_t {
  acknowledgement = 0,  ///< response acknowledgement, never answered
  provisional = 100,    ///< the command is still running
  ok = 200,
  connection_deleted = 250,
  transient_error = 400,
  no_free_endpoint = 403,  ///< no resources now: all endpoints or connections are in use
  insufficient_bandwidth = 404,
  overload = 409,  ///< of the gateway, or too many commands of this agent
  endpoint_unknown = 500,
  endpoint_not_ready = 501,
  endpoint_without_resources = 502,
  wildcard_too_complicated = 503,
  unknown_command = 504,
  unsupported_description = 505,  ///< RemoteConnectionDescriptor that can't be served
  unsupported_function = 507,
  description_error = 509,
  protocol_error = 510,
  unrecognized_extension = 511,
  incorrect_connection_id = 515,
  incorrect_call_id = 516,
  unsupported_mode = 517,
  illegal_combination = 523,
  inconsistent_options = 524,
  missing_description = 527,
  incompatible_version = 528,
  internal_failure = 529,
  codec_negotiation_failed = 534,
  unsupported_packetisation = 535,
  unsupported_restart_method = 536,
  unsupported_parameter = 539,
  connection_limit = 540,
};

/// The number of a code.
[[nodiscard]] constexpr std::uint16_t number(ResponseCode code) noexcept {
  return static_cast<std::uint16_t>(code);
}

/// A short text for people, used when a response has no reason of its own; `OK` for 200 and 250.
[[nodiscard]] std::string_view default_reason(ResponseCode code) noexcept;

/// Why a command is refused.
struct ProtocolError {
  ResponseCode code = ResponseCode::protocol_error;
  std::string_view reason;  ///< a text with static lifetime, empty = default_reason(code)
  friend bool operator==(const ProtocolError&, const ProtocolError&) = default;
};

}  // namespace mgcp
