#pragma once
// The whole gateway: owns every part, starts them in order and stops them in the reverse order.

#include "conf/config.h"
#include "io/backend_factory.h"
#include "io/socket_factory.h"
#include "mgw/asio_front.h"
#include "mgw/call_control.h"
#include "mgw/call_keeper.h"
#include "mgw/call_sampler.h"
#include "mgw/drain_control.h"
#include "mgw/gateway_view.h"
#include "mgw/kernel_path_start.h"
#include "mgw/log_setup.h"
#include "mgw/operator_front.h"
#include "mgw/record_writer.h"
#include "mgw/reload.h"
#include "mgw/restart_notifier.h"
#include "mgw/service_link.h"
#include "mgw/snapshot_board.h"
#include "mgw/status_server.h"
#include "mgw/successor_process.h"
#include "mgw/worker_pool.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace mgw {

/// What a gateway has to know of the program that it is in.
struct ProgramFacts {
  std::string configuration_file;  ///< empty: none
  std::string version;             ///< "0.1.0"
  LogColours colours = LogColours::never;
  ConfigurationReader read_configuration;  ///< for SIGHUP; null: that opens log files anew, no more
  io::ServiceManager* service_manager = nullptr;  ///< must outlive the gateway; null: there is none
  bool takes_over = false;                        ///< the calls of the gateway that runs
};

/// Made, run and destroyed by the main thread, which becomes the control thread.
class Gateway {
 public:
  /// Binds the MGCP socket and those of the VTY and CTRL, starts the workers and the metrics.
  /// Throws std::runtime_error with a message for the operator.
  explicit Gateway(const conf::Config& config, ProgramFacts facts = {});
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
  void open_operator_front(std::string_view backend);
  [[nodiscard]] tl::expected<void, std::string> on_reconfigured();
  void start_status(const io::BackendSelection& selection);
  [[nodiscard]] std::vector<StateLine> states() const;
  void start_records();
  /// Records the calls that end with the gateway.
  void record_open_calls();
  void take_media_events();
  /// Handles the workers' events until no command is pending; false: that takes too long.
  [[nodiscard]] bool settle();
  /// Makes the calls of before go on: those of the journal, or of the gateway that runs.
  void bring_calls_back();
  void on_successor();
  [[nodiscard]] bool on_stop_signal(int signal);
  void on_reload_signal();
  void on_upgrade_signal();
  void handle_service(FrontHandlers& handlers);
  /// Ends the gateway if it was drained and nothing is left of its calls.
  void end_if_drained();

  /// std::random_device, buffered.
  class SystemRandom;

  // In the order of their construction; destruction is the order of shutdown.
  conf::Config config_;
  const ProgramFacts facts_;
  io::MonotonicClock clock_;
  io::KernelSocketFactory sockets_;
  std::unique_ptr<RandomSource> random_;
  // Sessions in front_ use operators_, which is destroyed before: close_streams() ends them first.
  AsioFront front_;
  std::unique_ptr<CallKeeper> keeper_;
  std::unique_ptr<TapRegistry> taps_;
  KernelPathSelection kernel_path_;
  std::unique_ptr<WorkerPool> workers_;
  std::unique_ptr<RecordWriter> records_;   // null: calls are not recorded
  std::unique_ptr<CallRecorder> recorder_;  // likewise
  std::unique_ptr<CallControl> control_;
  std::unique_ptr<RestartNotifier> notifier_;
  std::unique_ptr<DrainControl> drain_;
  SnapshotBoard board_{[this] { front_.wake(); }};
  std::unique_ptr<CallSampler> sampler_;
  std::unique_ptr<StatusServer> status_;
  std::unique_ptr<GatewayView> view_;
  std::unique_ptr<OperatorFront> operators_;
  std::optional<ServiceLink> service_;
  SuccessorProcess successor_;
  bool handed_over_ = false;
  bool calls_go_on_ = false;  ///< in another process
};

}  // namespace mgw
