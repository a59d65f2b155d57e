#pragma once
// One MGCP command and its answer, over the network.

#include "io/socket_address.h"
#include "io/time.h"
#include "mgcp/message.h"

#include <tl/expected.hpp>

#include <string>
#include <string_view>

namespace mgwctl {

/// What came back.
struct Answer {
  std::string text;  ///< one response, or for raw messages the datagram
  io::Duration round_trip{};
};

/// Sends `message` with `transaction_id` and waits until its final answer or `timeout`, repeating
/// the message at growing intervals. Text of the error if no answer comes.
[[nodiscard]] tl::expected<Answer, std::string> exchange(const io::SocketAddress& gateway,
                                                         const std::string& message,
                                                         mgcp::TransactionId transaction_id,
                                                         io::Duration timeout);

/// The same for a message that may be anything: whatever datagram comes first is the answer.
[[nodiscard]] tl::expected<Answer, std::string> exchange_raw(const io::SocketAddress& gateway,
                                                             const std::string& message,
                                                             io::Duration timeout);

}  // namespace mgwctl
