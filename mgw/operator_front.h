#pragma once
// What serves the gateway's operators and their programs: VTY and CTRL sessions, and the reporters
// of statistics.

#include "conf/config.h"
#include "io/socket_factory.h"
#include "io/time.h"
#include "mgw/asio_front.h"
#include "mgw/gateway_view.h"
#include "mgw/password_delays.h"
#include "ttcn-compat/counter_history.h"
#include "ttcn-compat/counter_reporter.h"
#include "ttcn-compat/ctrl_variables.h"
#include "ttcn-compat/operator_services.h"
#include "ttcn-compat/vty_session.h"

#include <atomic>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace mgw {

/// What it works with. All must outlive it.
struct OperatorFrontParts {
  const conf::Config& config;
  GatewayView& view;
  AsioFront& front;
  io::SocketFactory& sockets;
  const io::Clock& clock;
  std::string version;  ///< "0.1.0"
};

/// See above. Control thread only.
class OperatorFront final : private ttcn_compat::OperatorServices {
 public:
  /// Sessions at once. Each may hold 64 KiB of output and a portion.
  static constexpr std::size_t kVtySessionsMax = 32;
  static constexpr std::size_t kCtrlSessionsMax = 32;

  explicit OperatorFront(OperatorFrontParts parts);
  OperatorFront(const OperatorFront&) = delete;
  OperatorFront& operator=(const OperatorFront&) = delete;
  OperatorFront(OperatorFront&&) = delete;
  OperatorFront& operator=(OperatorFront&&) = delete;
  ~OperatorFront() override;

  /// Listens where the configuration says so. Throws std::runtime_error if the VTY can't be bound;
  /// CTRL that can't is logged.
  void open();
  /// Rates of counters, and reports that are due. About once a second.
  void on_tick();
  /// Log lines may wait for VTY sessions.
  void on_wake();
  /// The configuration has become another one.
  void on_reconfigured();

 private:
  class VtyStream;
  class CtrlStream;
  struct Reporter {
    ttcn_compat::CounterReporter reporter;
    io::BoundSocket socket;  ///< none with log reporters
    io::SocketAddress server;
  };

  [[nodiscard]] ttcn_compat::CounterHistory& counter_history() override { return history_; }
  void report_statistics() override;
  void reset_statistics() override;
  void write_log(conf::LogLevel level, std::string_view category, std::string_view text) override;
  [[nodiscard]] std::vector<std::string> alarms() const override;
  [[nodiscard]] io::Duration uptime() const override;
  [[nodiscard]] std::int32_t process_id() const override;
  [[nodiscard]] std::uint64_t memory_bytes() const override;

  void listen(const std::string& bind, std::uint16_t port, StreamService service, bool required);
  void make_reporters();
  void open_socket(Reporter& reporter);
  void report(ttcn_compat::CounterReporter::Extent extent);
  [[nodiscard]] ttcn_compat::CounterSource counters() const;

  OperatorFrontParts parts_;
  io::TimePoint started_;
  ttcn_compat::CounterHistory history_;
  ttcn_compat::CtrlVariables variables_;
  ttcn_compat::VtySessionOptions session_options_;
  std::vector<Reporter> reporters_;
  std::vector<conf::StatsReporter> configured_reporters_;
  io::TimePoint next_report_;
  std::set<VtyStream*> vty_streams_;
  PasswordDelays password_delays_;
  std::atomic<bool> log_lines_wait_{false};  // set by whichever thread logs
};

}  // namespace mgw
