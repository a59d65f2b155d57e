#pragma once
// Where worker threads run: names, CPUs, NUMA node, scheduling class. What the system refuses is
// logged, and the worker runs where the system puts it.

#include "conf/config.h"

#include <cstdint>

namespace mgw {

/// Names and places the calling thread as worker `number` (0 is the first). The memory that it
/// touches first from then on comes from the node on which it runs, or from `numa_node` if that is
/// set.
void place_worker(const conf::WorkerOptions& options, std::uint32_t number);

/// CPUs that this process may use, of the configured NUMA node if there is one; at least 1.
[[nodiscard]] std::uint32_t usable_cpus(const conf::WorkerOptions& options);

}  // namespace mgw
