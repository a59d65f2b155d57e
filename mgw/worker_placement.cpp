#include "mgw/worker_placement.h"

#include "io/log.h"

#include <numa.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

namespace mgw {

namespace {

struct FreeMask {
  void operator()(bitmask* mask) const noexcept { numa_free_cpumask(mask); }
};
using CpuMask = std::unique_ptr<bitmask, FreeMask>;

/// The CPUs of a node; null if there is none of that number, or no NUMA at all.
CpuMask cpus_of_node(std::uint32_t node) {
  if (numa_available() < 0 || static_cast<int>(node) > numa_max_node()) {
    return nullptr;
  }
  CpuMask mask(numa_allocate_cpumask());
  return numa_node_to_cpus(static_cast<int>(node), mask.get()) == 0 ? std::move(mask) : nullptr;
}

void warn(std::uint32_t number, std::string_view wish, int error) {
  io::log(io::LogLevel::warning, io::LogCategory::lio, "worker {} cannot {}: {}", number, wish,
          std::error_code(error, std::generic_category()).message());
}

void run_on_cpu(std::uint32_t number, std::uint32_t cpu) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(cpu, &cpus);
  if (const int error = pthread_setaffinity_np(pthread_self(), sizeof(cpus), &cpus); error != 0) {
    warn(number, "run on CPU " + std::to_string(cpu), error);
  }
}

void run_on_node(std::uint32_t number, std::uint32_t node, bool is_pinned) {
  if (cpus_of_node(node) == nullptr) {
    warn(number, "run on NUMA node " + std::to_string(node), ENODEV);
    return;
  }
  if (!is_pinned && numa_run_on_node(static_cast<int>(node)) != 0) {
    warn(number, "run on NUMA node " + std::to_string(node), errno);
  }
  numa_set_preferred(static_cast<int>(node));
}

}  // namespace

void place_worker(const conf::WorkerOptions& options, std::uint32_t number) {
  const std::string name = "mgw-worker-" + std::to_string(number);
  pthread_setname_np(pthread_self(), name.c_str());
  const bool is_pinned = !options.cpu_affinity.empty();
  if (is_pinned) {
    run_on_cpu(number, options.cpu_affinity[number % options.cpu_affinity.size()]);
  }
  if (options.numa_node) {
    run_on_node(number, *options.numa_node, is_pinned);
  }
  if (options.realtime_priority != 0) {
    sched_param parameters{};
    parameters.sched_priority = static_cast<int>(options.realtime_priority);
    if (const int error = pthread_setschedparam(pthread_self(), SCHED_RR, &parameters);
        error != 0) {
      warn(number, "have real-time priority " + std::to_string(options.realtime_priority), error);
    }
  }
}

std::uint32_t usable_cpus(const conf::WorkerOptions& options) {
  cpu_set_t usable;
  CPU_ZERO(&usable);
  if (sched_getaffinity(0, sizeof(usable), &usable) != 0) {
    return 1;
  }
  const CpuMask node = options.numa_node ? cpus_of_node(*options.numa_node) : nullptr;
  std::uint32_t count = 0;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    const bool on_node = node == nullptr || numa_bitmask_isbitset(node.get(), cpu) != 0;
    count += CPU_ISSET(cpu, &usable) && on_node ? 1U : 0U;
  }
  return std::max(count, 1U);
}

}  // namespace mgw
