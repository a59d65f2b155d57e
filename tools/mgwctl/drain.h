#pragma once
// Taking a gateway out of service without losing calls, over its control interface.

#include "io/socket_address.h"
#include "io/time.h"

#include <tl/expected.hpp>

#include <cstdint>
#include <string>

namespace mgwctl {

/// How to drain.
struct DrainOptions {
  io::SocketAddress ctrl;
  std::uint32_t deadline_s = 0;  ///< 0 = calls are waited for
  bool stay = false;             ///< the gateway does not end when the last call is over
  bool wait = false;             ///< until the last call is over
};

/// What there is now.
struct DrainResult {
  bool draining = false;
  std::string end;       ///< as the CTRL variable `drain.end`; empty: not asked for
  std::string calls;     ///< that are up
  bool is_over = false;  ///< waited for, and nothing is left
};

/// Begins to drain; returns at once, or with `wait` when the last call is over or the gateway has
/// ended. Each answer may take `timeout`. Text of the error otherwise.
[[nodiscard]] tl::expected<DrainResult, std::string> drain(const DrainOptions& options,
                                                           io::Duration timeout);
/// Has new calls taken again.
[[nodiscard]] tl::expected<DrainResult, std::string> undrain(const DrainOptions& options,
                                                             io::Duration timeout);

/// The result for people and for programs.
[[nodiscard]] std::string drain_text(const DrainResult& result);
[[nodiscard]] std::string drain_json(const DrainResult& result);

}  // namespace mgwctl
