#pragma once
// A gateway with its call agents and RTP peers in one thread on virtual time. All that is random
// comes from one seed; the same seed and the same calls give the same run.

#include "conf/config.h"
#include "io/sim_network.h"
#include "mgw/call_control.h"
#include "mgw/tap_registry.h"
#include "tests/sim/call_agent.h"
#include "tests/sim/kernel/kernel_path_model.h"
#include "tests/sim/rtp_peer.h"
#include "tests/sim/sim_plane.h"
#include "tests/sim/trace.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

/// What a world is made with.
struct WorldOptions {
  std::uint64_t seed = 1;
  SimPlane::Options plane;
  KernelHook kernel_path = kernel_hook_of_environment();
};

/// A configuration for tests: 16 endpoints, IPv4 only, ports 4000 to 4199, no keep-alive.
[[nodiscard]] conf::Config small_config();

/// An address that must be right.
[[nodiscard]] io::SocketAddress address(std::string_view host, std::uint16_t port);

/// Where the gateway is.
inline constexpr std::string_view kGatewayHost = "192.0.2.1";
inline constexpr std::string_view kGatewayHost6 = "2001:db8::1";

/// See above. The destructor ends all calls and then checks what must hold at the end of every run:
/// counters balance, nothing is left, no answer contradicted another.
class SimWorld {
 public:
  explicit SimWorld(const conf::Config& config = small_config(), const WorldOptions& options = {});
  SimWorld(const SimWorld&) = delete;
  SimWorld& operator=(const SimWorld&) = delete;
  SimWorld(SimWorld&&) = delete;
  SimWorld& operator=(SimWorld&&) = delete;
  ~SimWorld();

  /// A further agent, on a host of its own.
  CallAgent& add_agent();
  /// A further peer, on a host of its own; port 6000.
  RtpPeer& add_peer(io::AddressFamily family = io::AddressFamily::ipv4);
  /// A further peer at this address.
  RtpPeer& add_peer_at(const io::SocketAddress& local);

  /// Lets time pass.
  void run_for(io::Duration duration);
  /// Lets time pass until `condition` holds, at most `limit`; whether it holds.
  bool run_until(const std::function<bool()>& condition, io::Duration limit);
  /// Lets time pass until no command is under way, at most some seconds.
  void settle();

  /// Sends a command and waits for its final answer; code 0 if none came in 30 s.
  Answer command(CallAgent& agent, std::string_view verb, std::string_view endpoint,
                 std::string_view body);

  /// Deletes everything, lets what is under way end and checks the end state. Called by the
  /// destructor; a second call does nothing.
  void finish();

  /// Puts another configuration into force, as an operator does.
  void reconfigure(const conf::Config& config) {
    config_ = config;
    control_->reconfigured();
  }
  [[nodiscard]] const conf::Config& config() const noexcept { return config_; }

  [[nodiscard]] io::SimNetwork& network() noexcept { return network_; }
  [[nodiscard]] io::SimClock& clock() noexcept { return clock_; }
  [[nodiscard]] io::SimRandom& random() noexcept { return random_; }
  [[nodiscard]] SimPlane& plane() noexcept { return plane_; }
  /// Null without the kernel fast path.
  [[nodiscard]] KernelPathModel* kernel_path() noexcept { return kernel_path_.get(); }
  /// The gateway's own, for what may be changed between two commands.
  [[nodiscard]] conf::Config& config() noexcept { return config_; }
  [[nodiscard]] mgw::TapRegistry& taps() noexcept { return taps_; }
  [[nodiscard]] mgw::CallControl& control() noexcept { return *control_; }
  [[nodiscard]] const io::SocketAddress& gateway() const noexcept { return mgcp_address_; }
  [[nodiscard]] Trace& trace() noexcept { return trace_; }
  /// Over everything that was received and counted so far.
  [[nodiscard]] std::uint64_t trace_hash() const;

  /// Drops for `cause`, all workers together.
  [[nodiscard]] std::uint64_t dropped(mgw::DropCause cause) const;
  [[nodiscard]] std::uint64_t dropped() const;
  [[nodiscard]] std::uint64_t endpoints_used() const;
  [[nodiscard]] std::uint64_t connections() const;
  [[nodiscard]] std::uint64_t ports_used() const;
  /// RTP and RTCP sockets that the gateway has bound.
  [[nodiscard]] std::size_t gateway_sockets() const;
  /// Answers given by the gateway to commands of `verb` with `code`.
  [[nodiscard]] std::uint64_t answers(mgcp::Verb verb, int code) const;

 private:
  class Sender final : public mgw::AgentSender {
   public:
    explicit Sender(io::SimPeer& socket) : socket_(socket) {}
    void send(const io::SocketAddress& agent, std::string_view datagram) noexcept override {
      socket_.send(agent, std::as_bytes(std::span(datagram.data(), datagram.size())));
    }

   private:
    io::SimPeer& socket_;
  };
  class Random final : public mgw::RandomSource {
   public:
    explicit Random(std::uint64_t seed) : random_(seed) {}
    [[nodiscard]] std::uint32_t next() override {
      return static_cast<std::uint32_t>(random_.next());
    }

   private:
    io::SimRandom random_;
  };

  bool act();
  bool act_once(std::size_t actor);
  bool step_control();
  void advance(io::TimePoint limit);
  void check_end();

  conf::Config config_;
  io::SimClock clock_;
  io::SimNetwork network_;
  io::SimRandom random_;
  Trace trace_;
  io::SocketAddress mgcp_address_;
  io::SimPeer mgcp_socket_;
  Sender sender_;
  Random gateway_random_;
  io::SimSocketFactory sockets_;
  mgw::TapRegistry taps_;
  std::unique_ptr<KernelPathModel> kernel_path_;
  SimPlane plane_;
  std::unique_ptr<mgw::CallControl> control_;
  io::TimePoint next_tick_;
  std::vector<std::unique_ptr<CallAgent>> agents_;
  std::vector<std::unique_ptr<RtpPeer>> peers_;
  std::vector<std::size_t> order_;
  bool finished_ = false;
};

}  // namespace sim
