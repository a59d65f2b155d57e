#pragma once
// The MGCP side of a run: the socket, the transactions and the calls, and the loop that drives them
// until they are where they should be.

#include "io/time.h"
#include "tools/agent/mgcp_socket.h"
#include "tools/agent/transaction_client.h"
#include "tools/rtpload/call_control.h"
#include "tools/rtpload/options.h"

#include <tl/expected.hpp>

#include <memory>
#include <string>

namespace rtpload {

/// One gateway, for one run. One thread. Not movable: its parts refer to each other.
class GatewaySession {
 public:
  /// `run_seed` makes transaction and call ids differ from those of other runs.
  [[nodiscard]] static tl::expected<std::unique_ptr<GatewaySession>, std::string> open(
      const Options& options, std::uint32_t run_seed);
  GatewaySession(const GatewaySession&) = delete;
  GatewaySession& operator=(const GatewaySession&) = delete;
  GatewaySession(GatewaySession&&) = delete;
  GatewaySession& operator=(GatewaySession&&) = delete;
  ~GatewaySession() = default;

  [[nodiscard]] CallControl& calls() noexcept { return calls_; }
  [[nodiscard]] const agent::TransactionClient& transactions() const noexcept {
    return transactions_;
  }

  /// Runs until the calls are idle. A stop signal cancels what has not begun. Returns the time it
  /// took.
  io::Duration run_until_idle();
  /// True if requests were given up and not one was ever answered: nobody is there.
  [[nodiscard]] bool gateway_is_absent() const noexcept { return timed_out_ && !answered_; }

 private:
  GatewaySession(const Options& options, std::uint32_t run_seed, agent::MgcpSocket&& socket);
  void take_answers();
  void take_timeouts(io::TimePoint now);

  agent::MgcpSocket socket_;
  agent::TransactionClient transactions_;
  CallControl calls_;
  bool answered_ = false;
  bool timed_out_ = false;
};

}  // namespace rtpload
