#pragma once
// Trunks, endpoints and connections as `show mgcp` prints them, in osmo-mgw's layout. Values in,
// text out.

#include "ttcn-compat/gateway_access.h"

#include <cstdint>
#include <string>

namespace ttcn_compat {

/// How much is said about connections.
enum class ConnectionDetail : std::uint8_t { name, statistics };

/// "Virtual trunk 0" or "E1 trunk N".
[[nodiscard]] std::string trunk_title(const TrunkView& trunk);

/// One endpoint with its connections. Lines end with '\n'.
[[nodiscard]] std::string endpoint_text(const TrunkView& trunk, const EndpointView& endpoint,
                                        ConnectionDetail detail);

}  // namespace ttcn_compat
