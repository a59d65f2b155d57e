// What the control thread says in the log about commands and connections.

#include "io/log.h"
#include "mgw/call_control.h"

#include <fmt/format.h>

#include <system_error>

namespace mgw {

namespace {

using io::LogCategory;
using io::LogLevel;

/// The field `trans`, which is left out if there is none.
io::LogField transaction_field(mgcp::TransactionId id) {
  return id == mgcp::kNoTransactionId ? io::LogField("trans", "") : io::LogField("trans", id);
}

}  // namespace

void CallControl::log_refused(const Reply& reply, const mgcp::ProtocolError& error) const {
  if (!io::log_enabled(LogLevel::info, LogCategory::lmgcp)) {
    return;
  }
  io::log(LogLevel::info, LogCategory::lmgcp,
          {{"endpoint", subject_.endpoint},
           {"conn", subject_.connection},
           {"call", subject_.call},
           transaction_field(reply.key.transaction_id),
           {"verb", mgcp::to_text(reply.verb)},
           {"agent", reply.key.agent.text()},
           {"code", mgcp::number(error.code)},
           {"reason", error.reason.empty() ? mgcp::default_reason(error.code) : error.reason}},
          "refused");
}

void CallControl::log_connection(io::LogAt at, LogCategory category, std::uint32_t number,
                                 std::uint32_t id, std::string_view words,
                                 const AddressField& address) {
  if (!io::log_enabled(at.level, category)) {
    return;
  }
  const Endpoint* endpoint = trunks_.find(number);
  io::log(at, category,
          {{"endpoint", endpoint_name(number)},
           {"conn", id == 0 ? std::string() : fmt::format("{:08X}", id)},
           {"call", endpoint != nullptr ? endpoint->call_id : std::string_view()},
           transaction_field(subject_.transaction),
           {address.key, address.address.kernel_size() == 0 ? "" : address.address.text()}},
          "{}", words);
}

CallControl::PendingSubject CallControl::subject_of(const Pending& pending) {
  PendingSubject subject{endpoint_name(pending.endpoint), {}, {}};
  if (const Endpoint* endpoint = trunks_.find(pending.endpoint)) {
    subject.call = endpoint->call_id;
  }
  const std::uint32_t id = pending.changed_from ? pending.changed_from->id : pending.created;
  subject.connection = id == 0 ? std::string() : fmt::format("{:08X}", id);
  return subject;
}

void CallControl::fail(Pending& pending, const PendingSubject& subject) {
  subject_ = {subject.endpoint, subject.call, subject.connection,
              pending.reply ? pending.reply->key.transaction_id : mgcp::kNoTransactionId};
  io::log(LogLevel::error, LogCategory::rtp,
          {{"endpoint", subject.endpoint},
           {"conn", subject.connection},
           {"call", subject.call},
           transaction_field(subject_.transaction)},
          "a worker could not take over sockets: {}",
          std::error_code(pending.error, std::generic_category()).message());
  if (pending.reply) {
    answer_error(std::move(*pending.reply),
                 {mgcp::ResponseCode::endpoint_unknown, "RTP sockets could not be set up"});
  }
  subject_ = {};
}

}  // namespace mgw
