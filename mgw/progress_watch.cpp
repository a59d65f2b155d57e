#include "mgw/progress_watch.h"

namespace mgw {

std::optional<std::size_t> ProgressWatch::stuck_worker(std::span<const std::uint64_t> passes) {
  std::optional<std::size_t> stuck;
  if (seen_.size() == passes.size()) {
    for (std::size_t i = 0; i < passes.size() && !stuck; ++i) {
      if (passes[i] == seen_[i]) {
        stuck = i;
      }
    }
  }
  seen_.assign(passes.begin(), passes.end());
  return stuck;
}

}  // namespace mgw
