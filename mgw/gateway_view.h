#pragma once
// The gateway as its operators see it (VTY, CTRL, statistics), out of the parts that it is made of.

#include "conf/config.h"
#include "io/time.h"
#include "mgw/call_control.h"
#include "mgw/drain_control.h"
#include "mgw/restart_notifier.h"
#include "ttcn-compat/gateway_access.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mgw {

/// What the view is made of. All must outlive it.
struct GatewayViewParts {
  conf::Config& config;            ///< in force; changed by reconfigure()
  std::string configuration_file;  ///< empty: none
  CallControl& control;
  RestartNotifier& notifier;
  DrainControl& drain;
  const io::Clock& clock;
  std::string_view backend;  ///< "poll" or "io_uring"; a literal
  std::string kernel_path;   ///< "tc on lo", "off" or "off: the reason"
  /// `config` has changed and is to be applied; an error, a sentence, says that nothing of it was.
  std::function<tl::expected<void, std::string>()> on_reconfigured;
  std::function<void()> shut_down;
};

/// See above. Control thread only.
class GatewayView final : public ttcn_compat::GatewayAccess {
 public:
  explicit GatewayView(GatewayViewParts parts);

  /// What of it is in force.
  [[nodiscard]] const conf::Config& in_force() const { return parts_.config; }
  /// As configured, with what takes effect at the next start only.
  [[nodiscard]] const conf::Config& config() const override { return configured_; }
  [[nodiscard]] tl::expected<ttcn_compat::ReconfigureResult, ttcn_compat::Failure> reconfigure(
      conf::Config changed) override;
  [[nodiscard]] const std::string& configuration_file() const override {
    return parts_.configuration_file;
  }
  [[nodiscard]] std::vector<ttcn_compat::TrunkView> trunks() const override;
  [[nodiscard]] ttcn_compat::EndpointView endpoint(std::size_t trunk,
                                                   std::uint32_t index) const override;
  [[nodiscard]] std::optional<std::uint32_t> next_used(std::size_t trunk,
                                                       std::uint32_t index) const override;
  [[nodiscard]] std::optional<std::uint32_t> find_endpoint(std::size_t trunk,
                                                           std::string_view name) const override;
  [[nodiscard]] std::size_t osmux_circuits_used() const override;
  [[nodiscard]] std::vector<ttcn_compat::E1LineView> e1_lines() const override;
  [[nodiscard]] std::vector<ttcn_compat::ThreadView> threads() const override;
  [[nodiscard]] std::string_view backend() const override { return parts_.backend; }
  [[nodiscard]] std::string_view kernel_path() const override { return parts_.kernel_path; }
  void visit_counters(const ttcn_compat::CounterGroupVisitor& visit) const override;
  void free_endpoint(std::size_t trunk, std::uint32_t index) override;
  bool reset_endpoint(std::size_t trunk, std::uint32_t index) override;
  [[nodiscard]] tl::expected<void, ttcn_compat::Failure> loop_endpoint(std::size_t trunk,
                                                                       std::uint32_t index,
                                                                       bool on) override;
  [[nodiscard]] tl::expected<void, ttcn_compat::Failure> tap(
      std::size_t trunk, std::uint32_t index, std::string_view connection_id, bool received,
      const io::SocketAddress& target) override;
  void set_draining(bool on) override;
  void drain_and_end(std::optional<std::chrono::seconds> deadline) override;
  [[nodiscard]] ttcn_compat::DrainView drain() const override;
  void shut_down() override { parts_.shut_down(); }

 private:
  /// The number of an endpoint among all Trunks.
  [[nodiscard]] std::uint32_t number_of(std::size_t trunk, std::uint32_t index) const;
  /// How many endpoints a trunk has.
  [[nodiscard]] std::uint32_t endpoints_of(std::size_t trunk) const;
  [[nodiscard]] ttcn_compat::ConnectionView connection_view(std::uint32_t number,
                                                            const Endpoint& endpoint,
                                                            const Connection& connection) const;

  GatewayViewParts parts_;
  conf::Config configured_;
};

/// Paths of the keys in which the two differ.
[[nodiscard]] std::vector<std::string> changed_keys(const conf::Config& left,
                                                    const conf::Config& right);

/// `wanted` as far as it can take effect while the gateway runs with `running`: what can't is as it
/// was.
[[nodiscard]] conf::Config effective_config(const conf::Config& running,
                                            const conf::Config& wanted);

}  // namespace mgw
