// Who may give commands, how many, and whether there is room for another connection.

#include "mgw/call_control.h"

#include <algorithm>
#include <variant>

namespace mgw {

bool CallControl::allowed(const io::SocketAddress& agent) const noexcept {
  const auto& allow = parts_.config.mgcp.allow;
  return allow.empty() ||
         std::any_of(allow.begin(), allow.end(), [&agent](const conf::IpNetwork& network) {
           return network.contains(agent.host_bytes());
         });
}

AgentVerdict CallControl::judge(const io::SocketAddress& agent) {
  const conf::MgcpOptions& options = parts_.config.mgcp;
  const io::TimePoint now = parts_.clock.now();
  const AgentVerdict verdict =
      agent_limiter_.judge(agent, options.rate_limit, options.rate_burst, now);
  if (verdict != AgentVerdict::admitted) {
    admission_.note(
        verdict == AgentVerdict::refused ? LimitCause::agent_rate : LimitCause::agent_flood, now);
  }
  return verdict;
}

void CallControl::on_refused(const io::SocketAddress& agent, std::string_view datagram) {
  bool refused = agent != notified_agent_;
  mgcp::MessageSplitter splitter(refused ? std::string_view() : datagram);
  while (const auto message = splitter.next()) {
    const mgcp::FirstLine line = mgcp::parse_first_line(*message);
    if (const auto* response = std::get_if<mgcp::ResponseLine>(&line)) {
      on_response_line(agent, *response);
    } else {
      refused = true;
    }
  }
  if (refused) {
    counters_.refused_agents.add();
  }
}

CallControl::Error CallControl::check_room(const mgcp::Request& request, std::uint32_t number,
                                           const Connection& connection) {
  Admission::Candidate candidate;
  candidate.new_call = trunks_.find(number)->call_id.empty();
  candidate.worker = worker_of_next(number, request);
  candidate.worker_has_room = parts_.media.has_room(candidate.worker);
  candidate.connections = counters_.connections.value() - in_the_way(number, request).size();
  candidate.bandwidth_bps = bandwidth_bps(connection);
  if (!candidate.worker_has_room) {
    counters_.transactions_refused.add();
  }
  return admission_.check(candidate, parts_.clock.now());
}

}  // namespace mgw
