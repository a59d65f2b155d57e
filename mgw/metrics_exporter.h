#pragma once
// The gateway's counters as Prometheus metrics. The only code that knows prometheus-cpp. Everything
// is read when it is asked for, on the thread that asks; nothing is counted here.

#include "mgw/call_sampler.h"
#include "mgw/control_counters.h"
#include "mgw/record_writer.h"
#include "mgw/worker_pool.h"

#include <string>
#include <string_view>
#include <vector>

namespace io {
class KernelPath;
}

namespace mgw {

struct JournalCounters;

/// What is exported. All must outlive whoever has them.
struct MetricsSources {
  const ControlCounters* control = nullptr;
  std::vector<WorkerView> workers;
  const SampleCounters* samples = nullptr;
  const RecordWriter* records = nullptr;     ///< null: calls are not recorded
  const JournalCounters* journal = nullptr;  ///< null: there is none
  std::string backend;                       ///< "poll" or "io_uring"
  std::string fallback_reason;  ///< why not io_uring; empty if it was not tried or runs
  const io::KernelPath* kernel_path = nullptr;  ///< null: there is none
  std::string kernel_path_refusal;              ///< why there is none though it was asked for
};

/// The value of the Content-Type header of metrics_text().
inline constexpr std::string_view kMetricsContentType = "text/plain; version=0.0.4; charset=utf-8";

/// All metrics as they stand, in Prometheus' text format. Any thread.
[[nodiscard]] std::string metrics_text(const MetricsSources& sources);

}  // namespace mgw
