#pragma once
// RSIP from the gateway to its call agent (RFC 3435 section 2.3.12), for agents that want to know
// when it starts and stops.

#include "conf/config.h"
#include "io/socket_address.h"
#include "io/time.h"
#include "mgcp/message.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mgw {

class AgentSender;

/// The address of the agent that the configuration wants to be told; empty if there is none.
[[nodiscard]] std::optional<io::SocketAddress> notified_agent(const conf::Config& config);

/// Sends RSIP and repeats it until it is answered or T-MAX is over. Does nothing when no entity is
/// configured. Control thread only.
class RestartNotifier {
 public:
  /// Both must outlive it. `transaction_id` is the first that it uses, 1 to 999999999.
  RestartNotifier(const conf::Config& config, AgentSender& agents,
                  mgcp::TransactionId transaction_id);

  /// All endpoints are in service, or go out of it, those with calls after `delay_s` seconds
  /// (graceful). A later notice replaces an earlier one that is not yet answered.
  void notify(mgcp::RestartMethod method, io::TimePoint now,
              std::optional<std::uint32_t> delay_s = std::nullopt) {
    static_cast<void>(send(method, all_endpoints_, agent_, now, delay_s));
  }
  /// The same for one endpoint, named with its domain: an agent that is merely connected
  /// (MgcpOptions::call_agent) is told of that too. False: there is nobody to be told.
  [[nodiscard]] bool notify(mgcp::RestartMethod method, std::string_view endpoint,
                            io::TimePoint now) {
    return send(method, endpoint, agent_ ? agent_ : connected_agent_, now);
  }
  /// A response came from somewhere. A provisional one (below 200) ends nothing, but the notice is
  /// repeated at longer intervals from then on.
  void on_response(const io::SocketAddress& agent, mgcp::TransactionId transaction_id,
                   mgcp::ResponseCode code, io::TimePoint now) noexcept;
  /// Repeats what is due.
  void on_tick(io::TimePoint now);
  /// True while an answer is awaited.
  [[nodiscard]] bool waiting() const noexcept { return under_way_.has_value(); }

 private:
  [[nodiscard]] bool send(mgcp::RestartMethod method, std::string_view endpoint,
                          const std::optional<io::SocketAddress>& agent, io::TimePoint now,
                          std::optional<std::uint32_t> delay_s = std::nullopt);

  struct UnderWay {
    io::SocketAddress agent;
    mgcp::TransactionId transaction_id = 0;
    std::string datagram;
    io::TimePoint first;
    io::TimePoint next;
    io::Duration interval;
  };

  std::optional<io::SocketAddress> agent_;
  std::optional<io::SocketAddress> connected_agent_;
  std::string all_endpoints_;
  AgentSender& agents_;
  mgcp::TransactionId next_id_;
  std::optional<UnderWay> under_way_;
};

}  // namespace mgw
