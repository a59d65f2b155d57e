#pragma once
// The whole gateway: owns every part, starts them in order and stops them in the reverse order.

#include "conf/config.h"
#include "io/backend_factory.h"
#include "io/socket_factory.h"
#include "mgw/asio_front.h"
#include "mgw/call_control.h"
#include "mgw/metrics_exporter.h"
#include "mgw/restart_notifier.h"
#include "mgw/worker_pool.h"

#include <memory>
#include <string>

namespace mgw {

/// Made, run and destroyed by the main thread, which becomes the control thread.
class Gateway {
 public:
  /// Binds the MGCP socket, starts the workers and the metrics. Throws std::runtime_error with a
  /// message for the operator.
  explicit Gateway(const conf::Config& config);
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;
  Gateway(Gateway&&) = delete;
  Gateway& operator=(Gateway&&) = delete;
  /// Closes all connections and joins the workers.
  ~Gateway();

  /// Serves until SIGINT or SIGTERM.
  void run();

 private:
  void open_front();
  void start_metrics(const io::BackendSelection& selection);
  void take_media_events();
  [[nodiscard]] bool on_stop_signal(int signal);

  /// std::random_device, buffered.
  class SystemRandom;

  // In the order of their construction; destruction is the order of shutdown.
  const conf::Config config_;
  io::MonotonicClock clock_;
  io::KernelSocketFactory sockets_;
  std::unique_ptr<RandomSource> random_;
  AsioFront front_;
  std::unique_ptr<TapRegistry> taps_;
  std::unique_ptr<WorkerPool> workers_;
  std::unique_ptr<CallControl> control_;
  std::unique_ptr<RestartNotifier> notifier_;
  std::unique_ptr<MetricsExporter> metrics_;
};

}  // namespace mgw
