#pragma once
// What the metrics port serves: /metrics for Prometheus, / for people with a browser, and /api/ for
// programs that show calls. It only tells; nothing can be changed here.

#include "io/socket_address.h"
#include "io/time.h"
#include "mgw/metrics_exporter.h"
#include "mgw/page_server.h"
#include "mgw/snapshot_board.h"

#include <tl/expected.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace mgw {

/// What it tells of. All must outlive it.
struct StatusSources {
  MetricsSources metrics;
  SnapshotBoard& board;
  const io::Clock& clock;
};

/// Serves from its construction to its destruction. Made and destroyed by the control thread.
class StatusServer {
 public:
  /// The reason instead if the address can't be bound.
  [[nodiscard]] static tl::expected<std::unique_ptr<StatusServer>, std::string> start(
      const io::SocketAddress& address, StatusSources sources);
  StatusServer(const StatusServer&) = delete;
  StatusServer& operator=(const StatusServer&) = delete;
  StatusServer(StatusServer&&) = delete;
  StatusServer& operator=(StatusServer&&) = delete;
  ~StatusServer();

 private:
  explicit StatusServer(StatusSources sources) : sources_(std::move(sources)) {}
  [[nodiscard]] std::optional<PageAnswer> answer(const PageRequest& request) const;
  [[nodiscard]] PageAnswer api_answer(const PageRequest& request,
                                      const GatewaySnapshot& snapshot) const;

  StatusSources sources_;
  std::unique_ptr<PageServer> server_;
};

}  // namespace mgw
