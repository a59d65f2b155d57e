#pragma once
// The gateway's counters as Prometheus metrics over HTTP. The only code that knows prometheus-cpp.
// Everything is read at the scrape, on the server's own thread; nothing is counted here.

#include "io/socket_address.h"
#include "mgw/control_counters.h"
#include "mgw/page_server.h"
#include "mgw/worker_pool.h"

#include <tl/expected.hpp>

#include <memory>
#include <string>
#include <vector>

namespace mgw {

/// What is exported. All must outlive the exporter.
struct MetricsSources {
  const ControlCounters* control = nullptr;
  std::vector<WorkerView> workers;
  std::string backend;          ///< "poll" or "io_uring"
  std::string fallback_reason;  ///< why not io_uring; empty if it was not tried or runs
};

/// Serves http://ADDRESS/metrics from its construction to its destruction.
class MetricsExporter {
 public:
  /// The reason instead if the address can't be bound.
  [[nodiscard]] static tl::expected<std::unique_ptr<MetricsExporter>, std::string> start(
      const io::SocketAddress& address, MetricsSources sources);
  MetricsExporter(const MetricsExporter&) = delete;
  MetricsExporter& operator=(const MetricsExporter&) = delete;
  MetricsExporter(MetricsExporter&&) = delete;
  MetricsExporter& operator=(MetricsExporter&&) = delete;
  ~MetricsExporter();

 private:
  explicit MetricsExporter(std::unique_ptr<PageServer> server);
  std::unique_ptr<PageServer> server_;
};

}  // namespace mgw
