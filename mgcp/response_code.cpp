#include "mgcp/response_code.h"

#include <algorithm>
#include <array>
#include <utility>

namespace mgcp {

namespace {

constexpr std::array<std::pair<ResponseCode, std::string_view>, 31> kReasons{
    {{ResponseCode::acknowledgement, "OK"},
     {ResponseCode::ok, "OK"},
     {ResponseCode::connection_deleted, "OK"},
     {ResponseCode::provisional, "in progress"},
     {ResponseCode::transient_error, "not possible now"},
     {ResponseCode::no_free_endpoint, "no free endpoint"},
     {ResponseCode::insufficient_bandwidth, "not enough bandwidth"},
     {ResponseCode::overload, "overload"},
     {ResponseCode::endpoint_unknown, "unknown endpoint"},
     {ResponseCode::endpoint_not_ready, "endpoint not ready"},
     {ResponseCode::endpoint_without_resources, "endpoint has no resources"},
     {ResponseCode::wildcard_too_complicated, "wildcard too complicated"},
     {ResponseCode::unknown_command, "unknown command"},
     {ResponseCode::unsupported_description, "unsupported session description"},
     {ResponseCode::unsupported_function, "not supported with a wildcard"},
     {ResponseCode::description_error, "error in session description"},
     {ResponseCode::protocol_error, "protocol error"},
     {ResponseCode::unrecognized_extension, "unrecognized extension"},
     {ResponseCode::incorrect_connection_id, "incorrect connection id"},
     {ResponseCode::incorrect_call_id, "incorrect call id"},
     {ResponseCode::unsupported_mode, "unsupported mode"},
     {ResponseCode::illegal_combination, "illegal combination of parameters"},
     {ResponseCode::inconsistent_options, "inconsistent local options"},
     {ResponseCode::missing_description, "session description missing"},
     {ResponseCode::incompatible_version, "incompatible protocol version"},
     {ResponseCode::internal_failure, "internal failure"},
     {ResponseCode::codec_negotiation_failed, "no usable codec"},
     {ResponseCode::unsupported_packetisation, "unsupported packetisation period"},
     {ResponseCode::unsupported_restart_method, "unsupported restart method"},
     {ResponseCode::unsupported_parameter, "unsupported parameter"},
     {ResponseCode::connection_limit, "too many connections"}}};

}  // namespace

std::string_view default_reason(ResponseCode code) noexcept {
  const auto* const found = std::find_if(kReasons.begin(), kReasons.end(),
                                         [code](const auto& known) { return known.first == code; });
  if (found != kReasons.end()) {
    return found->second;
  }
  return number(code) < 300 ? "OK" : "FAIL";
}

}  // namespace mgcp
