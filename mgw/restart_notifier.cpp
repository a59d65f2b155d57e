#include "mgw/restart_notifier.h"

#include "conf/notified_entity.h"
#include "io/log.h"
#include "mgcp/writer.h"
#include "mgw/call_control.h"

#include <algorithm>
#include <chrono>

namespace mgw {

namespace {

/// RFC 3435 section 3.5.2: first repeat, longest interval, and T-MAX, after which the agent counts
/// as unreachable.
constexpr io::Duration kFirstInterval = std::chrono::milliseconds(500);
constexpr io::Duration kLongestInterval = std::chrono::seconds(4);
constexpr io::Duration kGiveUpAfter = std::chrono::seconds(20);
/// RFC 3435 section 3.5.6: the repetition timer once a provisional response has come.
constexpr io::Duration kProvisionalInterval = std::chrono::seconds(5);

}  // namespace

std::optional<io::SocketAddress> notified_agent(const conf::Config& config) {
  const auto entity = conf::parse_notified_entity(config.mgcp.notify_entity);
  if (!entity) {
    return std::nullopt;
  }
  return io::SocketAddress::parse(entity->address, entity->port);
}

RestartNotifier::RestartNotifier(const conf::Config& config, AgentSender& agents,
                                 mgcp::TransactionId transaction_id)
    : agent_(notified_agent(config)),
      connected_agent_(
          config.mgcp.call_agent.empty()
              ? std::nullopt
              : io::SocketAddress::parse(config.mgcp.call_agent, conf::kCallAgentPort)),
      all_endpoints_("*@" + (config.mgcp.domain == "*" ? "mgw" : config.mgcp.domain)),
      agents_(agents),
      next_id_(std::clamp<mgcp::TransactionId>(transaction_id, 1, mgcp::kTransactionIdMax)) {}

bool RestartNotifier::send(mgcp::RestartMethod method, std::string_view endpoint,
                           const std::optional<io::SocketAddress>& agent, io::TimePoint now,
                           std::optional<std::uint32_t> delay_s) {
  if (!agent) {
    return false;
  }
  mgcp::Request request;
  request.verb = mgcp::Verb::rsip;
  request.transaction_id = next_id_;
  request.endpoint = endpoint;
  request.restart_method = method;
  request.restart_delay_s = delay_s;
  UnderWay notice{*agent, next_id_, {}, now, now + kFirstInterval, kFirstInterval};
  mgcp::write_request(notice.datagram, request);
  next_id_ = next_id_ == mgcp::kTransactionIdMax ? 1 : next_id_ + 1;
  agents_.send(*agent, notice.datagram);
  under_way_ = std::move(notice);
  return true;
}

void RestartNotifier::on_response(const io::SocketAddress& agent,
                                  mgcp::TransactionId transaction_id, mgcp::ResponseCode code,
                                  io::TimePoint now) noexcept {
  if (!under_way_ || agent != under_way_->agent || under_way_->transaction_id != transaction_id) {
    return;
  }
  if (mgcp::number(code) >= mgcp::number(mgcp::ResponseCode::ok)) {
    under_way_.reset();
  } else {
    under_way_->interval = kProvisionalInterval;
    under_way_->next = now + kProvisionalInterval;
  }
}

void RestartNotifier::on_tick(io::TimePoint now) {
  if (!under_way_ || now < under_way_->next) {
    return;
  }
  if (now - under_way_->first >= kGiveUpAfter) {
    io::log(io::LogLevel::warning, io::LogCategory::lmgcp, "call agent {} does not answer RSIP",
            under_way_->agent.text());
    under_way_.reset();
    return;
  }
  agents_.send(under_way_->agent, under_way_->datagram);
  under_way_->interval =
      std::max(under_way_->interval, std::min(2 * under_way_->interval, kLongestInterval));
  under_way_->next = now + under_way_->interval;
}

}  // namespace mgw
