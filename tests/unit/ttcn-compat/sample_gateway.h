#pragma once
// A gateway with two trunks, as far as programs that ask it for figures see it.

#include "tests/unit/ttcn-compat/sample_counters.h"
#include "ttcn-compat/gateway_access.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ttcn_compat_test {

/// Has figures; what would change calls does nothing.
class SampleGateway final : public ttcn_compat::GatewayAccess {
 public:
  SampleCounters counters;
  ttcn_compat::DrainView drains;

  [[nodiscard]] const conf::Config& config() const override { return config_; }
  [[nodiscard]] tl::expected<ttcn_compat::ReconfigureResult, ttcn_compat::Failure> reconfigure(
      conf::Config /*changed*/) override {
    return ttcn_compat::ReconfigureResult();
  }
  [[nodiscard]] const std::string& configuration_file() const override { return no_file_; }
  [[nodiscard]] std::vector<ttcn_compat::TrunkView> trunks() const override {
    return {{true, 0, 300, 7}, {false, 1, 465, 16}};
  }
  [[nodiscard]] ttcn_compat::EndpointView endpoint(std::size_t /*trunk*/,
                                                   std::uint32_t /*index*/) const override {
    return {};
  }
  [[nodiscard]] std::optional<std::uint32_t> next_used(std::size_t /*trunk*/,
                                                       std::uint32_t /*index*/) const override {
    return std::nullopt;
  }
  [[nodiscard]] std::optional<std::uint32_t> find_endpoint(
      std::size_t /*trunk*/, std::string_view /*name*/) const override {
    return std::nullopt;
  }
  [[nodiscard]] std::size_t osmux_circuits_used() const override { return 3; }
  [[nodiscard]] std::vector<ttcn_compat::E1LineView> e1_lines() const override { return {}; }
  [[nodiscard]] std::vector<ttcn_compat::ThreadView> threads() const override { return {}; }
  [[nodiscard]] std::string_view backend() const override { return "poll"; }
  [[nodiscard]] std::string_view kernel_path() const override { return "off"; }
  void visit_counters(const ttcn_compat::CounterGroupVisitor& visit) const override {
    counters.visit(visit);
  }
  void free_endpoint(std::size_t /*trunk*/, std::uint32_t /*index*/) override {}
  bool reset_endpoint(std::size_t /*trunk*/, std::uint32_t /*index*/) override { return true; }
  [[nodiscard]] tl::expected<void, ttcn_compat::Failure> loop_endpoint(std::size_t /*trunk*/,
                                                                       std::uint32_t /*index*/,
                                                                       bool /*on*/) override {
    return {};
  }
  [[nodiscard]] tl::expected<void, ttcn_compat::Failure> tap(
      std::size_t /*trunk*/, std::uint32_t /*index*/, std::string_view /*connection_id*/,
      bool /*received*/, const io::SocketAddress& /*target*/) override {
    return {};
  }
  void set_draining(bool on) override { drains = {on}; }
  void drain_and_end(std::optional<std::chrono::seconds> deadline) override {
    drains = {true, true, deadline};
  }
  [[nodiscard]] ttcn_compat::DrainView drain() const override { return drains; }
  void shut_down() override {}

 private:
  conf::Config config_;
  std::string no_file_;
};

}  // namespace ttcn_compat_test
