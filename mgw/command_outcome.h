#pragma once
// What became of a command, finer than its response code: what operators count by trunk and verb.
// Counted once for each command, where it is answered.

#include "mgcp/message.h"
#include "mgcp/response_code.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mgw {

/// One way for a command to end; also the label of the metric.
enum class CommandOutcome : std::uint8_t {
  success,
  bad_action,           ///< parameters that exclude each other
  unhandled_parameter,  ///< a parameter or extension that the gateway does not act on
  missing_call_id,      ///< a CRCX without one
  wrong_call_id,        ///< the endpoint is in another call
  invalid_mode,
  connection_limit,   ///< the endpoint has all connections that it may have
  wildcard,           ///< a name that stands for many endpoints
  no_connection,      ///< the endpoint has none
  bad_connection_id,  ///< none that a connection can have
  missing_connection_id,
  connection_not_found,   ///< the endpoint has others
  connection_options,     ///< LocalConnectionOptions that contradict each other or are unsupported
  codec_negotiation,      ///< no codec, or no usable media description
  no_remote_description,  ///< sendrecv, but nobody knows with whom
  no_osmux,               ///< Osmux where there must be none, or the other way round
  no_osmux_circuit,       ///< no circuit or socket for it, or not that one
  no_port,                ///< no RTP ports, or the worker could not use them
  unavailable,            ///< no free endpoint, or one that is blocked by others
  no_line,                ///< no E1 line for the endpoint
  overload,               ///< too much under way
  other,                  ///< malformed, for example
};

inline constexpr std::size_t kCommandOutcomes = static_cast<std::size_t>(CommandOutcome::other) + 1;

/// The outcome as in metrics, for example "missing_call_id".
[[nodiscard]] constexpr std::string_view to_string(CommandOutcome outcome) noexcept {
  constexpr std::array<std::string_view, kCommandOutcomes> kNames = {
      "success",
      "bad_action",
      "unhandled_parameter",
      "missing_call_id",
      "wrong_call_id",
      "invalid_mode",
      "connection_limit",
      "wildcard",
      "no_connection",
      "bad_connection_id",
      "missing_connection_id",
      "connection_not_found",
      "connection_options",
      "codec_negotiation",
      "no_remote_description",
      "no_osmux",
      "no_osmux_circuit",
      "no_port",
      "unavailable",
      "no_line",
      "overload",
      "other",
  };
  return kNames[static_cast<std::size_t>(outcome)];
}

/// What a response code says about a command whose endpoint exists, as far as nothing more is known
/// about it.
[[nodiscard]] constexpr CommandOutcome outcome_of(mgcp::Verb verb,
                                                  mgcp::ResponseCode code) noexcept {
  using mgcp::ResponseCode;
  switch (code) {
    case ResponseCode::ok:
    case ResponseCode::connection_deleted:
      return CommandOutcome::success;
    case ResponseCode::transient_error:
    case ResponseCode::insufficient_bandwidth:
    case ResponseCode::overload:
      return CommandOutcome::overload;
    case ResponseCode::no_free_endpoint:
    case ResponseCode::endpoint_not_ready:
      return CommandOutcome::unavailable;
    case ResponseCode::endpoint_unknown:
      return CommandOutcome::no_port;
    case ResponseCode::endpoint_without_resources:
      return CommandOutcome::no_line;
    case ResponseCode::unsupported_function:
      return CommandOutcome::wildcard;
    case ResponseCode::unsupported_description:
    case ResponseCode::codec_negotiation_failed:
      return CommandOutcome::codec_negotiation;
    case ResponseCode::incorrect_connection_id:
      return CommandOutcome::connection_not_found;
    case ResponseCode::incorrect_call_id:
      return verb == mgcp::Verb::crcx ? CommandOutcome::missing_call_id
                                      : CommandOutcome::wrong_call_id;
    case ResponseCode::unsupported_mode:
      return CommandOutcome::invalid_mode;
    case ResponseCode::illegal_combination:
      return CommandOutcome::bad_action;
    case ResponseCode::inconsistent_options:
    case ResponseCode::unsupported_packetisation:
      return CommandOutcome::connection_options;
    case ResponseCode::missing_description:
      return CommandOutcome::no_remote_description;
    case ResponseCode::unsupported_parameter:
    case ResponseCode::unrecognized_extension:
      return CommandOutcome::unhandled_parameter;
    case ResponseCode::connection_limit:
      return CommandOutcome::connection_limit;
    default:
      return CommandOutcome::other;
  }
}

}  // namespace mgw
