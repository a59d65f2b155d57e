#pragma once
// What a worker counts of the kernel fast path.

#include "io/counter.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mgw {

/// Why a connection's media stay with the sockets.
enum class KernelRefusal : std::uint8_t {
  leg_kind,        ///< one of the two legs is not plain RTP
  tapped,          ///< somebody listens
  mode,            ///< the mode takes nothing
  routes,          ///< not exactly one other leg, or the leg itself
  address,         ///< not known yet, or of a kind that the program can't tell apart
  mixed_families,  ///< from IPv4 to IPv6 or the other way round
  payload_type,    ///< of the last packet: not to be forwarded as it is
  out_of_step,     ///< the last packet was late, or the stream has just changed
  no_way,          ///< no route without the stack, or the next hop is not known yet
  full,            ///< no more flows
};

inline constexpr std::size_t kKernelRefusalCount = 10;

/// The refusal as in metrics, "mixed_families".
[[nodiscard]] constexpr std::string_view to_string(KernelRefusal refusal) noexcept {
  constexpr std::array<std::string_view, kKernelRefusalCount> kNames = {
      "leg_kind",       "tapped",       "mode",        "routes", "address",
      "mixed_families", "payload_type", "out_of_step", "no_way", "full"};
  return kNames[static_cast<std::size_t>(refusal)];
}

/// Written by the worker, read by any thread. What the kernel forwards is counted with everything
/// else too.
struct KernelPathCounters {
  io::Counter packets;        ///< forwarded by the kernel
  io::Counter octets;         ///< of those; of RTP, headers included
  io::Counter flows;          ///< gauge: active ones
  io::Counter activations;    ///< times that a flow was given to the kernel
  io::Counter interruptions;  ///< of those: ended because a packet came to the sockets
  std::array<io::Counter, kKernelRefusalCount> refusals;  ///< times that one could not be given
};

}  // namespace mgw
