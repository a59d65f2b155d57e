#pragma once
// How many commands each agent may give: an agent gone wild is slowed down, others notice nothing.

#include "io/socket_address.h"
#include "io/time.h"
#include "mgw/token_bucket.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>

namespace mgw {

/// What is to become of a message.
enum class AgentVerdict : std::uint8_t {
  admitted,
  refused,  ///< above the rate: to be answered with 409 (RFC 3435 section 2.4)
  ignored,  ///< above twice the rate: answering costs too much already
};

/// Agents are told apart by their hosts, as ports are easily changed. Control thread only.
class AgentLimiter {
 public:
  /// Agents that are remembered: with one more, the one that was silent for longest is forgotten,
  /// so made-up senders cost nothing but that.
  static constexpr std::size_t kAgentsMax = 1024;

  /// One message of `agent` has come; `rate` per second are admitted, and `burst` at once after a
  /// silence. Rate 0 admits all.
  [[nodiscard]] AgentVerdict judge(const io::SocketAddress& agent, std::uint32_t rate,
                                   std::uint32_t burst, io::TimePoint now);
  [[nodiscard]] std::size_t agents() const noexcept { return by_host_.size(); }

 private:
  /// IPv4 as the first four octets of zeros and the family in the last.
  using Host = std::array<std::uint8_t, 17>;
  struct Agent {
    Host host{};
    TokenBucket commands;
    TokenBucket refusals;
  };
  using Agents = std::list<Agent>;

  [[nodiscard]] Agent& find(const io::SocketAddress& agent);

  Agents agents_;  // the one heard last comes first
  std::map<Host, Agents::iterator> by_host_;
};

}  // namespace mgw
