#include "mgcp/response_code.h"

namespace mgcp {

std::string_view default_reason(ResponseCode code) noexcept {
  switch (code) {
    case ResponseCode::acknowledgement:
    case ResponseCode::ok:
    case ResponseCode::connection_deleted:
      return "OK";
    case ResponseCode::provisional:
      return "in progress";
    case ResponseCode::transient_error:
      return "not possible now";
    case ResponseCode::no_free_endpoint:
      return "no free endpoint";
    case ResponseCode::endpoint_unknown:
      return "unknown endpoint";
    case ResponseCode::endpoint_not_ready:
      return "endpoint not ready";
    case ResponseCode::endpoint_without_resources:
      return "endpoint has no resources";
    case ResponseCode::wildcard_too_complicated:
      return "wildcard too complicated";
    case ResponseCode::unknown_command:
      return "unknown command";
    case ResponseCode::unsupported_description:
      return "unsupported session description";
    case ResponseCode::unsupported_function:
      return "not supported with a wildcard";
    case ResponseCode::description_error:
      return "error in session description";
    case ResponseCode::protocol_error:
      return "protocol error";
    case ResponseCode::unrecognized_extension:
      return "unrecognized extension";
    case ResponseCode::incorrect_connection_id:
      return "incorrect connection id";
    case ResponseCode::incorrect_call_id:
      return "incorrect call id";
    case ResponseCode::unsupported_mode:
      return "unsupported mode";
    case ResponseCode::illegal_combination:
      return "illegal combination of parameters";
    case ResponseCode::inconsistent_options:
      return "inconsistent local options";
    case ResponseCode::missing_description:
      return "session description missing";
    case ResponseCode::incompatible_version:
      return "incompatible protocol version";
    case ResponseCode::internal_failure:
      return "internal failure";
    case ResponseCode::codec_negotiation_failed:
      return "no usable codec";
    case ResponseCode::unsupported_packetisation:
      return "unsupported packetisation period";
    case ResponseCode::unsupported_restart_method:
      return "unsupported restart method";
    case ResponseCode::unsupported_parameter:
      return "unsupported parameter";
    case ResponseCode::connection_limit:
      return "too many connections";
  }
  return number(code) < 300 ? "OK" : "FAIL";
}

}  // namespace mgcp
