#include "mgw/gateway.h"

#include "io/log.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <array>
#include <chrono>
#include <csignal>
#include <random>
#include <stdexcept>
#include <thread>
#include <utility>

namespace mgw {

namespace {

using io::LogCategory;
using io::LogLevel;

/// Descriptors that RTP sockets leave free: sessions of the VTY and CTRL, scrapes, log files,
/// captures.
constexpr std::uint32_t kReservedDescriptors = 128;

/// How long the end of the gateway may be held up by records of the calls that end with it.
constexpr std::chrono::milliseconds kLastSampleTime{500};

/// FileDescriptorName= of the MGCP socket that a service manager may pass.
constexpr std::string_view kMgcpSocketName = "mgcp";

io::BackendChoice backend_choice(conf::BackendChoice choice) {
  switch (choice) {
    case conf::BackendChoice::poll:
      return io::BackendChoice::poll;
    case conf::BackendChoice::io_uring:
      return io::BackendChoice::io_uring;
    case conf::BackendChoice::automatic:
      break;
  }
  return io::BackendChoice::automatic;
}

/// Two sockets a leg, two legs a call, and a few for everything else: take as many as the system
/// allows.
void raise_open_files_limit(std::uint32_t endpoints) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return;
  }
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
    getrlimit(RLIMIT_NOFILE, &limit);
  }
  constexpr rlim_t kDescriptorsPerCall = 4;
  if (limit.rlim_cur < endpoints * kDescriptorsPerCall) {
    io::log(LogLevel::notice, LogCategory::lio,
            "the limit of open files ({}) is less than {} endpoints with two legs need ({})",
            limit.rlim_cur, endpoints, endpoints * kDescriptorsPerCall);
  }
}

/// What lies between the monotonic clock and the wall clock now.
io::Duration unix_offset() {
  return std::chrono::system_clock::now().time_since_epoch() -
         std::chrono::steady_clock::now().time_since_epoch();
}

/// An address of the configuration, which was checked when it was loaded.
io::SocketAddress configured(const std::string& text, std::uint16_t port) {
  const auto address = io::SocketAddress::parse(text, port);
  if (!address) {
    throw std::runtime_error(fmt::format("\"{}\" is not a numeric address", text));
  }
  return *address;
}

}  // namespace

class Gateway::SystemRandom final : public RandomSource {
 public:
  [[nodiscard]] std::uint32_t next() override {
    if (position_ == buffer_.size()) {
      for (std::uint32_t& value : buffer_) {
        value = device_();
      }
      position_ = 0;
    }
    return buffer_[position_++];
  }

 private:
  std::random_device device_;
  std::array<std::uint32_t, 64> buffer_{};
  std::size_t position_ = buffer_.size();
};

Gateway::Gateway(const conf::Config& config, ProgramFacts facts)
    : config_(config),
      facts_(std::move(facts)),
      sockets_(kReservedDescriptors),
      random_(std::make_unique<SystemRandom>()) {
  raise_open_files_limit(config_.endpoints.count);
  const auto selection = io::select_backend(backend_choice(config_.io.backend));
  if (!selection) {
    throw std::runtime_error(selection.error());
  }
  kernel_path_ = start_kernel_path(config_, worker_count(config_));
  workers_ = std::make_unique<WorkerPool>(
      config_, selection->choice, [this] { front_.wake(); }, kernel_path_.path.get());
  const std::string_view backend =
      selection->choice == io::BackendChoice::io_uring ? "io_uring" : "poll";
  if (selection->fallback_reason.empty()) {
    io::log(LogLevel::notice, LogCategory::lio, "I/O backend {} with {} workers", backend,
            workers_->workers());
  } else {
    io::log(LogLevel::notice, LogCategory::lio,
            "I/O backend {} with {} workers, as io_uring can't be had: {}", backend,
            workers_->workers(), selection->fallback_reason);
  }
  keeper_ = std::make_unique<CallKeeper>(CallKeeperParts{config_, clock_, sockets_, front_,
                                                         facts_.service_manager, facts_.version,
                                                         [this] { return settle(); }});
  taps_ = std::make_unique<TapRegistry>(config_, workers_->workers(), unix_offset);
  taps_->start();
  start_records();
  control_ = std::make_unique<CallControl>(CallControlParts{config_, clock_, keeper_->sockets(),
                                                            *workers_, keeper_->agents(), *random_,
                                                            *taps_, recorder_.get()});
  notifier_ = std::make_unique<RestartNotifier>(config_, front_,
                                                random_->next() % mgcp::kTransactionIdMax + 1);
  drain_ = std::make_unique<DrainControl>(*control_, *notifier_, clock_);
  control_->on_response([this](const io::SocketAddress& agent, mgcp::TransactionId transaction_id,
                               mgcp::ResponseCode code) {
    notifier_->on_response(agent, transaction_id, code, clock_.now());
  });
  bring_calls_back();
  start_status(*selection);
  open_operator_front(backend);
  open_front();
  keeper_->start(*control_);
  if (facts_.service_manager != nullptr) {
    service_.emplace(*facts_.service_manager, *workers_, *control_);
  }
}

Gateway::~Gateway() {
  front_.close_streams();
  if (!calls_go_on_) {
    record_open_calls();
  }
  status_.reset();  // the workers' counters go with them
  workers_->stop();
}

bool Gateway::settle() {
  constexpr io::Duration kSettleMax = std::chrono::seconds(3);
  constexpr std::chrono::microseconds kPause{200};
  const io::TimePoint deadline = clock_.now() + kSettleMax;
  take_media_events();
  while (control_->pending() > 0) {
    if (clock_.now() > deadline) {
      return false;
    }
    std::this_thread::sleep_for(kPause);
    take_media_events();
  }
  return true;
}

void Gateway::bring_calls_back() {
  if (!facts_.takes_over) {
    keeper_->restore(*control_);
    return;
  }
  workers_->close_quietly(true);  // should it fail the calls go on where they are
  keeper_->take_over(*control_);
  workers_->close_quietly(false);
}

void Gateway::on_successor() {
  handed_over_ = keeper_->hand_over(*control_, front_.descriptor(), [this] {
    front_.close_streams();
    status_.reset();
  });
  if (handed_over_) {
    calls_go_on_ = true;
    workers_->close_quietly(true);
    front_.stop();
  }
}

void Gateway::open_front() {
  const io::SocketAddress local = configured(config_.mgcp.bind, config_.mgcp.port);
  io::SocketAddress call_agent;
  if (!config_.mgcp.call_agent.empty()) {
    call_agent = configured(config_.mgcp.call_agent, conf::kCallAgentPort);
  }
  std::optional<int> passed = keeper_->take_mgcp_socket();
  const bool is_taken_over = passed.has_value();
  if (!passed && facts_.service_manager != nullptr) {
    passed = facts_.service_manager->take(kMgcpSocketName);
  }
  const auto bound = passed ? front_.adopt(*passed, call_agent) : front_.open(local, call_agent);
  if (!bound && passed) {
    throw std::runtime_error(
        fmt::format("the socket \"{}\" of the service manager is of no use: {}", kMgcpSocketName,
                    bound.error().message()));
  }
  if (!bound) {
    throw std::runtime_error(fmt::format("the MGCP socket can't be bound to {}: {}", local.text(),
                                         bound.error().message()));
  }
  if (passed && !is_taken_over) {
    io::log(LogLevel::notice, LogCategory::lmgcp,
            "the MGCP socket is the service manager's: mgcp.bind and mgcp.port don't matter");
  }
  io::log(LogLevel::notice, LogCategory::lmgcp, "listening on {} for {} endpoints", bound->text(),
          config_.endpoints.count);
}

void Gateway::open_operator_front(std::string_view backend) {
  view_ = std::make_unique<GatewayView>(
      GatewayViewParts{config_, facts_.configuration_file, *control_, *notifier_, *drain_, clock_,
                       backend, kernel_path_.text(), [this] { return on_reconfigured(); },
                       [this] {
                         notifier_->notify(mgcp::RestartMethod::forced, clock_.now());
                         front_.stop();
                       }});
  operators_ = std::make_unique<OperatorFront>(
      OperatorFrontParts{config_, *view_, front_, sockets_, clock_, facts_.version});
  operators_->open();
}

tl::expected<void, std::string> Gateway::on_reconfigured() {
  if (const auto log = set_up_log(config_.log, facts_.colours); !log) {
    return tl::unexpected(log.error());
  }
  operators_->on_reconfigured();
  return {};
}

void Gateway::start_status(const io::BackendSelection& selection) {
  const std::string_view backend =
      selection.choice == io::BackendChoice::io_uring ? "io_uring" : "poll";
  sampler_ = std::make_unique<CallSampler>(CallSamplerParts{
      *control_, *workers_, clock_, board_, workers_->views(),
      GatewayFacts{facts_.version, backend, selection.fallback_reason, workers_->workers()},
      [this] { return states(); }});
  control_->on_leg_ended(
      [this](std::uint32_t worker, std::uint32_t slot, const ConnectionCounters& counters) {
        sampler_->leg_ended(worker, slot, counters);
      });
  if (!config_.metrics.enabled || config_.metrics.port == 0) {
    return;
  }
  MetricsSources metrics;
  metrics.control = &control_->counters();
  metrics.workers = workers_->views();
  metrics.samples = &sampler_->counters();
  metrics.records = records_.get();
  metrics.backend = backend;
  metrics.fallback_reason = selection.fallback_reason;
  metrics.kernel_path = kernel_path_.path.get();
  metrics.kernel_path_refusal = kernel_path_.refusal;
  metrics.journal = keeper_->counters();
  const io::SocketAddress address = configured(config_.metrics.bind, config_.metrics.port);
  auto server = StatusServer::start(address, {std::move(metrics), board_, clock_});
  if (server) {
    status_ = std::move(*server);
    io::log(LogLevel::notice, LogCategory::lstats,
            "status page at http://{}/, metrics at http://{}/metrics", address.text(),
            address.text());
  } else {
    io::log(LogLevel::error, LogCategory::lstats, "no metrics: {} can't be bound ({})",
            address.text(), server.error());
  }
}

std::vector<StateLine> Gateway::states() const {
  if (const auto remaining = drain_->remaining()) {
    return {{"drain ends in", fmt::format("{} s", remaining->count())}};
  }
  return {};
}

void Gateway::start_records() {
  if (!config_.records.file.empty() || config_.records.log) {
    records_ = std::make_unique<RecordWriter>(config_.records.file, config_.records.log);
    recorder_ = std::make_unique<CallRecorder>(clock_, *records_);
  }
}

void Gateway::record_open_calls() {
  if (recorder_ == nullptr || control_->counters().connections.value() == 0) {
    return;
  }
  const io::TimePoint latest = clock_.now() + kLastSampleTime;
  const io::TimePoint begun = clock_.now();
  std::shared_ptr<const GatewaySnapshot> snapshot;
  do {
    sampler_->begin_whole();
    take_media_events();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    snapshot = board_.latest();
  } while ((snapshot == nullptr || !snapshot->calls || snapshot->at < begun) &&
           clock_.now() < latest);
  if (snapshot == nullptr || !snapshot->calls) {
    return;
  }
  for (const CallSnapshot& call : *snapshot->calls) {
    recorder_->record_as_is(call, EndReason::shutdown);
  }
}

void Gateway::take_media_events() {
  workers_->take_events([this](std::uint32_t worker, MediaEvent&& event) {
    // There is none yet while calls of an earlier process are taken up.
    if (sampler_ == nullptr || !sampler_->take(worker, event)) {
      control_->on_media_event(worker, std::move(event));
    }
  });
  control_->flush();
}

bool Gateway::on_stop_signal(int signal) {
  if (signal == SIGTERM && config_.stop.on_sigterm == conf::OnSigterm::drain &&
      !drain_->by_signal()) {
    DrainOrder order{true, std::nullopt, true};
    if (config_.stop.drain_deadline.count() > 0) {
      order.deadline = config_.stop.drain_deadline;
    }
    drain_->begin(order);
    end_if_drained();
    return false;
  }
  io::log(LogLevel::notice, LogCategory::lglobal, "{}: stopping with {} connections",
          signal == SIGINT ? "SIGINT" : "SIGTERM", control_->counters().connections.value());
  if (keeper_->suspend(*control_)) {
    io::log(LogLevel::notice, LogCategory::lglobal, "the calls go on with the next start");
    calls_go_on_ = true;
    workers_->close_quietly(true);
    return true;
  }
  notifier_->notify(mgcp::RestartMethod::forced, clock_.now());
  return true;
}

void Gateway::on_reload_signal() {
  io::reopen_log();
  if (records_ != nullptr) {
    records_->reopen();
  }
  if (!facts_.read_configuration) {
    return;
  }
  if (service_) {
    service_->reloading();
  }
  const auto reloaded = reload_configuration(facts_.read_configuration, *view_);
  if (service_) {
    service_->remember(reloaded ? std::string() : reloaded.error());
    service_->ready();
  }
}

void Gateway::on_upgrade_signal() {
  if (keeper_->successor_descriptor() < 0) {
    io::log(LogLevel::error, LogCategory::lglobal,
            "SIGUSR2: no successor is started, for take-over.socket is not configured or not open");
    return;
  }
  successor_.start(facts_.service_manager != nullptr ? facts_.service_manager->watchdog_timeout()
                                                     : io::Duration::zero());
}

void Gateway::handle_service(FrontHandlers& handlers) {
  handlers.on_reload_signal = [this] { on_reload_signal(); };
  handlers.on_upgrade_signal = [this] { on_upgrade_signal(); };
  if (service_) {
    handlers.heartbeat_interval = service_->heartbeat_interval();
    handlers.on_heartbeat = [this] { service_->on_heartbeat(); };
    service_->ready();
  }
}

void Gateway::end_if_drained() {
  if (drain_->is_over()) {
    io::log(LogLevel::notice, LogCategory::lglobal, "drained: stopping");
    if (!drain_->timed_out()) {
      notifier_->notify(mgcp::RestartMethod::forced, clock_.now());
    }
    front_.stop();
  }
}

void Gateway::run() {
  FrontHandlers handlers;
  handlers.on_datagram = [this](const io::SocketAddress& agent, std::string_view datagram) {
    control_->on_datagram(agent, datagram);
  };
  handlers.on_burst_end = [this](bool emptied) {
    control_->admission().on_burst_end(emptied, clock_.now());
    control_->flush();
  };
  handlers.on_wake = [this] {
    take_media_events();
    operators_->on_wake();
    end_if_drained();
    sampler_->on_asked();
  };
  handlers.on_tick = [this] {
    control_->admission().on_cpu_times(workers_->cpu_times(), clock_.now());
    control_->on_tick();
    notifier_->on_tick(clock_.now());
    operators_->on_tick();
    if (kernel_path_.path != nullptr) {
      kernel_path_.path->show_alive(clock_.now());
    }
    keeper_->on_tick();
    if (service_) {
      service_->on_tick();
    }
    end_if_drained();
    successor_.on_tick();
    sampler_->on_tick();
  };
  handlers.on_stop_signal = [this](int signal) { return on_stop_signal(signal); };
  handle_service(handlers);
  if (control_->counters().restored.value() == 0) {  // else agents would end the calls
    notifier_->notify(mgcp::RestartMethod::restart, clock_.now());
  }
  if (keeper_->successor_descriptor() >= 0) {
    front_.watch(keeper_->successor_descriptor(), [this] { on_successor(); });
  }
  front_.run(std::move(handlers));
  keeper_->end();
  if (service_ && !handed_over_) {
    service_->stopping();
  }
}

}  // namespace mgw
