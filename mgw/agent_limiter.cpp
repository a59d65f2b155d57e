#include "mgw/agent_limiter.h"

#include <algorithm>
#include <chrono>

namespace mgw {

AgentVerdict AgentLimiter::judge(const io::SocketAddress& agent, std::uint32_t rate,
                                 std::uint32_t burst, io::TimePoint now) {
  if (rate == 0) {
    return AgentVerdict::admitted;
  }
  const io::Duration interval = io::Duration(std::chrono::seconds(1)) / rate;
  const io::Duration burst_time = interval * burst;
  Agent& known = find(agent);
  if (known.commands.take(now, interval, burst_time)) {
    return AgentVerdict::admitted;
  }
  return known.refusals.take(now, interval, burst_time) ? AgentVerdict::refused
                                                        : AgentVerdict::ignored;
}

AgentLimiter::Agent& AgentLimiter::find(const io::SocketAddress& agent) {
  Host host{};
  std::ranges::copy(agent.host_bytes(), host.begin());
  host.back() = static_cast<std::uint8_t>(agent.family());
  if (const auto known = by_host_.find(host); known != by_host_.end()) {
    agents_.splice(agents_.begin(), agents_, known->second);
    return agents_.front();
  }
  if (agents_.size() >= kAgentsMax) {
    by_host_.erase(agents_.back().host);
    agents_.pop_back();
  }
  agents_.push_front({host, {}, {}});
  by_host_.emplace(host, agents_.begin());
  return agents_.front();
}

}  // namespace mgw
