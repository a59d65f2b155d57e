#pragma once
// What a process costs, as the kernel accounts it under /proc: CPU time, memory, threads, context
// switches.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace rtpload {

/// A process at one instant: sums over all its threads.
struct ProcessSample {
  std::uint64_t cpu_ns = 0;  ///< time on a CPU since it started
  std::uint64_t voluntary_switches = 0;
  std::uint64_t rss_kib = 0;
  std::uint32_t threads = 0;
};

/// Reads /proc/PID; empty if there is no such process or it can't be read.
[[nodiscard]] std::optional<ProcessSample> sample_process(pid_t pid);

/// The CPU time in a thread's schedstat file: the first number, ns (kernel documentation,
/// sched-stats).
[[nodiscard]] std::optional<std::uint64_t> parse_schedstat(std::string_view text) noexcept;
/// User and system time in a thread's stat file, fields 14 and 15, in clock ticks (proc(5)).
[[nodiscard]] std::optional<std::uint64_t> parse_stat_ticks(std::string_view text) noexcept;
/// The number after "NAME:" in a status file.
[[nodiscard]] std::optional<std::uint64_t> parse_status_field(std::string_view text,
                                                              std::string_view name) noexcept;

}  // namespace rtpload
