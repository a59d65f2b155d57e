#include "tools/agent/transaction_client.h"

#include "mgcp/parser.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

namespace agent {

TransactionClient::TransactionClient(mgcp::TransactionId first_id,
                                     const RetransmissionTimers& timers, Send send)
    : first_id_(first_id % mgcp::kTransactionIdMax + 1),
      next_id_(first_id_),
      timers_(timers),
      send_(std::move(send)) {}

mgcp::TransactionId TransactionClient::allocate() noexcept {
  const mgcp::TransactionId allocated = next_id_;
  next_id_ = next_id_ % mgcp::kTransactionIdMax + 1;
  allocated_ = std::min(allocated_ + 1, mgcp::kTransactionIdMax);
  return allocated;
}

bool TransactionClient::was_allocated(mgcp::TransactionId transaction_id) const noexcept {
  const std::uint32_t distance =
      (transaction_id + mgcp::kTransactionIdMax - first_id_) % mgcp::kTransactionIdMax;
  return transaction_id != mgcp::kNoTransactionId && distance < allocated_;
}

// RFC 3435 section 4.3: the average acknowledgement delay plus a multiple of its average deviation.
io::Duration TransactionClient::first_interval() const noexcept {
  if (!delay_known_) {
    return timers_.first;
  }
  const auto estimate = io::Duration(std::llround(average_delay_ns_ + 4 * average_deviation_ns_));
  return std::clamp(estimate, timers_.minimum, timers_.maximum);
}

void TransactionClient::learn_round_trip(io::Duration round_trip) noexcept {
  const auto delay = static_cast<double>(round_trip.count());
  if (!delay_known_) {
    delay_known_ = true;
    average_delay_ns_ = delay;
    average_deviation_ns_ = delay / 2;
    return;
  }
  average_deviation_ns_ += (std::abs(delay - average_delay_ns_) - average_deviation_ns_) / 4;
  average_delay_ns_ += (delay - average_delay_ns_) / 8;
}

void TransactionClient::arm(mgcp::TransactionId transaction_id, const Pending& pending,
                            io::TimePoint now) {
  const io::TimePoint give_up_at = pending.first_sent + timers_.give_up;
  const io::TimePoint at =
      pending.provisional ? give_up_at : std::min(now + pending.interval, give_up_at);
  timers_queue_.arm(at, transaction_id, pending.transmissions);
}

void TransactionClient::start(mgcp::TransactionId transaction_id, std::string message,
                              std::uint64_t tag, io::TimePoint now) {
  Pending& pending = pending_[transaction_id];
  pending = {std::move(message), tag, now, first_interval(), 1, false};
  arm(transaction_id, pending, now);
  send_(pending.message);
}

Outcome TransactionClient::on_message(std::string_view message, io::TimePoint now) {
  Outcome outcome;
  const mgcp::FirstLine first_line = mgcp::parse_first_line(message);
  const auto* response = std::get_if<mgcp::ResponseLine>(&first_line);
  if (response == nullptr) {
    return outcome;
  }
  outcome.transaction_id = response->transaction_id;
  outcome.code = mgcp::number(response->code);
  outcome.message = message;
  const auto found = pending_.find(response->transaction_id);
  if (found == pending_.end()) {
    outcome.kind = was_allocated(response->transaction_id) ? Outcome::Kind::repeated
                                                           : Outcome::Kind::unrelated;
    return outcome;
  }
  Pending& pending = found->second;
  outcome.tag = pending.tag;
  outcome.round_trip = now - pending.first_sent;
  outcome.transmissions = pending.transmissions;
  if (outcome.code >= 100 && outcome.code < 200) {
    outcome.kind = Outcome::Kind::provisional;
    pending.provisional = true;
    return outcome;
  }
  outcome.kind = Outcome::Kind::answered;
  if (pending.transmissions ==
      1) {  // Karn: of a repeated request one can't tell which one was answered.
    learn_round_trip(outcome.round_trip);
  }
  pending_.erase(found);
  return outcome;
}

bool TransactionClient::on_timer(io::TimePoint now, Outcome& outcome) {
  io::TimerQueue::Timer timer;
  while (timers_queue_.take_due(now, timer)) {
    const auto transaction_id = static_cast<mgcp::TransactionId>(timer.key);
    const auto found = pending_.find(transaction_id);
    if (found == pending_.end() || found->second.transmissions != timer.generation) {
      continue;
    }
    Pending& pending = found->second;
    if (now >= pending.first_sent + timers_.give_up) {
      outcome = Outcome{Outcome::Kind::timed_out, transaction_id,        pending.tag, 0,
                        now - pending.first_sent, pending.transmissions, {}};
      pending_.erase(found);
      return true;
    }
    if (!pending.provisional) {
      pending.interval = std::min(pending.interval * 2, timers_.maximum);
      ++pending.transmissions;
      ++retransmissions_;
      send_(pending.message);
    }
    arm(transaction_id, pending, now);
  }
  return false;
}

}  // namespace agent
