#pragma once
// A gateway of which only the configuration is real, for tests of what operators type.

#include "ttcn-compat/gateway_access.h"

#include <cctype>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace ttcn_compat::test {

/// Holds what a test puts into it, and remembers what was asked of it.
class FakeGateway final : public GatewayAccess {
 public:
  struct Trunk {
    TrunkView view;
    std::map<std::uint32_t, EndpointView> endpoints;  ///< those that differ from an unused one
    std::string prefix = "rtpbridge/";
  };

  conf::Config configuration;
  std::string file;
  std::vector<Trunk> all_trunks;
  std::vector<CounterGroupView> groups;
  std::vector<E1LineView> lines;
  std::size_t osmux_circuits = 0;
  std::string refusal;                     ///< what reconfigure() answers, if not empty
  std::vector<std::string> needs_restart;  ///< what reconfigure() tells
  std::vector<std::string> actions;        ///< "free 0 1"
  int reconfigured = 0;
  DrainView drain_now;
  bool agent_reachable = true;

  [[nodiscard]] const conf::Config& config() const override { return configuration; }
  [[nodiscard]] tl::expected<ReconfigureResult, Failure> reconfigure(
      conf::Config changed) override {
    if (!refusal.empty()) {
      return tl::make_unexpected(refusal);
    }
    configuration = std::move(changed);
    ++reconfigured;
    return ReconfigureResult{needs_restart};
  }
  [[nodiscard]] const std::string& configuration_file() const override { return file; }
  [[nodiscard]] std::vector<TrunkView> trunks() const override {
    std::vector<TrunkView> views;
    for (const Trunk& trunk : all_trunks) {
      views.push_back(trunk.view);
    }
    return views;
  }
  [[nodiscard]] EndpointView endpoint(std::size_t trunk, std::uint32_t index) const override {
    const Trunk& found = all_trunks.at(trunk);
    const auto special = found.endpoints.find(index);
    if (special != found.endpoints.end()) {
      return special->second;
    }
    EndpointView view;
    view.name = fmt_name(found, index);
    return view;
  }
  [[nodiscard]] std::optional<std::uint32_t> next_used(std::size_t trunk,
                                                       std::uint32_t index) const override {
    const auto& endpoints = all_trunks.at(trunk).endpoints;
    for (auto each = endpoints.lower_bound(index); each != endpoints.end(); ++each) {
      if (!each->second.connections.empty()) {
        return each->first;
      }
    }
    return std::nullopt;
  }
  [[nodiscard]] std::optional<std::uint32_t> find_endpoint(std::size_t trunk,
                                                           std::string_view name) const override {
    const Trunk& found = all_trunks.at(trunk);
    for (std::uint32_t index = 0; index < found.view.endpoints; ++index) {
      const std::string full = endpoint(trunk, index).name;
      if (name == full || name == full.substr(0, full.find('@')) ||
          std::string(name) + full.substr(full.find('@')) == full.substr(found.prefix.size())) {
        return index;
      }
    }
    return std::nullopt;
  }
  [[nodiscard]] std::size_t osmux_circuits_used() const override { return osmux_circuits; }
  [[nodiscard]] std::vector<E1LineView> e1_lines() const override { return lines; }
  [[nodiscard]] std::vector<ThreadView> threads() const override {
    return {{100, "mgw"}, {101, "mgw-worker-0"}};
  }
  [[nodiscard]] std::string_view backend() const override { return "poll"; }
  [[nodiscard]] std::string_view kernel_path() const override { return "off"; }
  void visit_counters(const CounterGroupVisitor& visit) const override {
    for (const CounterGroupView& group : groups) {
      visit(group);
    }
  }
  void free_endpoint(std::size_t trunk, std::uint32_t index) override {
    note("free", trunk, index);
  }
  bool reset_endpoint(std::size_t trunk, std::uint32_t index) override {
    note("reset", trunk, index);
    return agent_reachable;
  }
  [[nodiscard]] tl::expected<void, Failure> loop_endpoint(std::size_t trunk, std::uint32_t index,
                                                          bool on) override {
    note(on ? "loop" : "unloop", trunk, index);
    return {};
  }
  [[nodiscard]] tl::expected<void, Failure> tap(std::size_t trunk, std::uint32_t index,
                                                std::string_view connection_id, bool received,
                                                const io::SocketAddress& target) override {
    note("tap", trunk, index);
    actions.back() +=
        " " + std::string(connection_id) + (received ? " in " : " out ") + target.text();
    return {};
  }
  void set_draining(bool on) override { drain_now = {on}; }
  void drain_and_end(std::optional<std::chrono::seconds> deadline) override {
    drain_now = {true, true, deadline};
  }
  [[nodiscard]] DrainView drain() const override { return drain_now; }
  void shut_down() override { actions.emplace_back("shut down"); }

 private:
  static std::string fmt_name(const Trunk& trunk, std::uint32_t index) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string number;
    for (std::uint32_t rest = index + 1; rest != 0; rest /= 16) {
      number.insert(number.begin(), kDigits[rest % 16]);
    }
    return trunk.prefix + number + "@mgw";
  }
  void note(std::string_view what, std::size_t trunk, std::uint32_t index) {
    actions.push_back(std::string(what) + " " + std::to_string(trunk) + " " +
                      std::to_string(index));
  }
};

/// The virtual trunk with `endpoints` unused endpoints.
inline FakeGateway::Trunk virtual_trunk(std::uint32_t endpoints) {
  FakeGateway::Trunk trunk;
  trunk.view.endpoints = endpoints;
  return trunk;
}

}  // namespace ttcn_compat::test
