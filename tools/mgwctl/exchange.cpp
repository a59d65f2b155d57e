#include "tools/mgwctl/exchange.h"

#include "mgcp/parser.h"
#include "tools/agent/mgcp_socket.h"
#include "tools/agent/transaction_client.h"

#include <fmt/format.h>

#include <algorithm>

namespace mgwctl {
namespace {

std::string no_answer(const io::SocketAddress& gateway) {
  return fmt::format("no answer from {}", gateway.text());
}

}  // namespace

tl::expected<Answer, std::string> exchange(const io::SocketAddress& gateway,
                                           const std::string& message,
                                           mgcp::TransactionId transaction_id,
                                           io::Duration timeout) {
  auto socket = agent::MgcpSocket::open(gateway);
  if (!socket) {
    return tl::unexpected(socket.error());
  }
  agent::RetransmissionTimers timers;
  timers.give_up = timeout;
  agent::TransactionClient client(transaction_id, timers,
                                  [&socket](std::string_view text) { socket->send(text); });
  const io::MonotonicClock clock;
  client.start(transaction_id, message, 0, clock.now());
  agent::Outcome outcome;
  agent::ReceivedText received;
  while (!client.on_timer(clock.now(), outcome)) {
    while (socket->receive(received)) {
      mgcp::MessageSplitter messages(received.text);
      while (const auto text = messages.next()) {
        outcome = client.on_message(*text, received.received_at);
        if (outcome.kind == agent::Outcome::Kind::answered) {
          return Answer{std::string(*text), outcome.round_trip};
        }
      }
    }
    socket->wait(client.next_expiry());
  }
  return tl::unexpected(no_answer(gateway));
}

tl::expected<Answer, std::string> exchange_raw(const io::SocketAddress& gateway,
                                               const std::string& message, io::Duration timeout) {
  auto socket = agent::MgcpSocket::open(gateway);
  if (!socket) {
    return tl::unexpected(socket.error());
  }
  const io::MonotonicClock clock;
  const io::TimePoint begin = clock.now();
  io::Duration interval = agent::RetransmissionTimers().first;
  io::TimePoint next_send = begin;
  agent::ReceivedText received;
  for (io::TimePoint now = begin; now < begin + timeout; now = clock.now()) {
    if (now >= next_send) {
      socket->send(message);
      next_send = now + interval;
      interval *= 2;
    }
    socket->wait(std::min(next_send, begin + timeout));
    if (socket->receive(received)) {
      return Answer{std::string(received.text), received.received_at - begin};
    }
  }
  return tl::unexpected(no_answer(gateway));
}

}  // namespace mgwctl
