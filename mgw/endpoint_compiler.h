#pragma once
// From the signalling state of one endpoint to what its worker needs: one forwarding entry per
// connection.

#include "conf/config.h"
#include "mgw/endpoint.h"
#include "mgw/media_command.h"

#include <vector>

namespace mgw {

/// Compiles all legs of `endpoint`, in their order. Every change of one connection may
/// concern the others (modes, payload types), so they are always compiled together. Pure.
[[nodiscard]] std::vector<MediaUpdate> compile_endpoint(const Endpoint& endpoint,
                                                        const conf::TrunkOptions& options);

}  // namespace mgw
