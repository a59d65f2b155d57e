#pragma once
// The numbers with which an RTP stream of the gateway itself begins.

#include <cstdint>

namespace mgw {

/// Random start values of a stream that a leg makes (RFC 3550 section 5.1).
struct StreamStart {
  std::uint32_t ssrc = 0;
  std::uint32_t timestamp = 0;
  std::uint16_t sequence = 0;
};

}  // namespace mgw
