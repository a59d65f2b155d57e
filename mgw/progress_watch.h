#pragma once
// Whether all workers still do their work, out of how many passes they have made.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace mgw {

/// Control thread only.
class ProgressWatch {
 public:
  /// To be called at intervals, with the passes that each worker has made so far; between two calls
  /// each worker is woken, so that one without work makes a pass too. The number of the first
  /// worker that has made none since the last call; empty: all have. The first call has nothing to
  /// compare with and finds no fault.
  [[nodiscard]] std::optional<std::size_t> stuck_worker(std::span<const std::uint64_t> passes);

 private:
  std::vector<std::uint64_t> seen_;
};

}  // namespace mgw
