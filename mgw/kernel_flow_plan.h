#pragma once
// The forwarding entry of a connection compiled once more, for the program in the kernel. Pure
// functions.

#include "io/kernel_flow_table.h"
#include "mgw/kernel_counters.h"
#include "mgw/media_connection.h"

#include <tl/expected.hpp>

#include <cstdint>

namespace mgw {

/// What all packets that the kernel forwards have in common.
struct KernelFlowMarks {
  std::uint8_t dscp = 0;
  std::uint8_t priority = 0;  ///< SO_PRIORITY
};

/// A flow as it could be given to the kernel, all but its way.
struct KernelFlowPlan {
  io::KernelFlowEntry entry{};
  io::KernelFlowState seed{};
  io::SocketAddress from;    ///< whence it leaves
  io::SocketAddress target;  ///< and where to
};

/// Compiles the forwarding of `source`'s packets to `target`, the connection in the slot that its
/// only route leads to (null if there is none), or says why they must go through the sockets.
[[nodiscard]] tl::expected<KernelFlowPlan, KernelRefusal> plan_kernel_flow(
    const MediaConnection& source, const MediaConnection* target, KernelFlowMarks marks) noexcept;

}  // namespace mgw
