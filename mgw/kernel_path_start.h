#pragma once
// The kernel fast path as the configuration wants it.

#include "conf/config.h"
#include "io/kernel_path.h"

#include <cstdint>
#include <memory>
#include <string>

namespace mgw {

/// What runs, or why nothing does.
struct KernelPathSelection {
  std::unique_ptr<io::KernelPath> path;  ///< null: media go through the sockets alone
  std::string refusal;  ///< why `auto` could not have it; empty if it was not asked
  /// "tc on lo", "off" or "off: the reason", for people.
  [[nodiscard]] std::string text() const;
};

/// Opens what `io.kernel-path` asks for, for so many workers, and logs what came of it. Throws
/// std::runtime_error where it was asked for by name and can't be had. Control thread, before the
/// workers start.
[[nodiscard]] KernelPathSelection start_kernel_path(const conf::Config& config,
                                                    std::uint32_t workers);

}  // namespace mgw
