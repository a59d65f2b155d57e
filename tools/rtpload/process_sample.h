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

/// All cores of the machine at one instant: sums since it started.
struct MachineSample {
  std::uint64_t idle_ns = 0;    ///< nothing to do, or waiting for a disk
  std::uint64_t stolen_ns = 0;  ///< the hypervisor gave the core to others
  std::uint32_t cores = 0;
};

/// Reads /proc/stat; empty if it can't be read. Steps of 10 ms; the kernel counts idle time by its
/// clock, and not by looking at ticks what happens to run.
[[nodiscard]] std::optional<MachineSample> sample_machine();
/// The lines "cpu0", "cpu1", ... of a text of /proc/stat (proc(5)); empty without any.
[[nodiscard]] std::optional<MachineSample> parse_machine_stat(std::string_view text);

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
