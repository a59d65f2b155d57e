#include "tools/rtpload/gateway_session.h"

#include "mgcp/parser.h"
#include "tools/rtpload/stop_signal.h"

#include <algorithm>
#include <utility>

namespace rtpload {
namespace {

CallOptions call_options(const Options& options, std::uint32_t run_seed) {
  CallOptions calls;
  calls.codecs = {options.codec, options.answer_codec};
  calls.endpoint_prefix = options.endpoint_prefix;
  calls.domain = options.domain;
  calls.in_flight_max = options.in_flight;
  calls.calls_per_second = options.rate;
  calls.first_call_id = run_seed | 1U;
  return calls;
}

agent::RetransmissionTimers timers(const Options& options) {
  agent::RetransmissionTimers result;
  result.give_up = std::chrono::seconds(options.mgcp_timeout_s);
  return result;
}

}  // namespace

GatewaySession::GatewaySession(const Options& options, std::uint32_t run_seed,
                               agent::MgcpSocket&& socket)
    : socket_(std::move(socket)),
      transactions_(run_seed, timers(options),
                    [this](std::string_view datagram) { socket_.send(datagram); }),
      calls_(call_options(options, run_seed), transactions_) {}

tl::expected<std::unique_ptr<GatewaySession>, std::string> GatewaySession::open(
    const Options& options, std::uint32_t run_seed) {
  auto socket = agent::MgcpSocket::open(*options.mgcp);
  if (!socket) {
    return tl::unexpected(socket.error());
  }
  return std::unique_ptr<GatewaySession>(new GatewaySession(options, run_seed, std::move(*socket)));
}

io::Duration GatewaySession::run_until_idle() {
  const io::MonotonicClock clock;
  const io::TimePoint begin = clock.now();
  bool cancelled = false;
  while (!calls_.idle()) {
    take_answers();
    const io::TimePoint now = clock.now();
    take_timeouts(now);
    if (!cancelled && (stop_was_requested() || gateway_is_absent())) {
      cancelled = true;
      calls_.cancel();
    }
    calls_.advance(now);
    if (!calls_.idle()) {
      socket_.wait(std::min(transactions_.next_expiry(), calls_.next_start()));
    }
  }
  return clock.now() - begin;
}

void GatewaySession::take_answers() {
  agent::ReceivedText received;
  while (socket_.receive(received)) {
    mgcp::MessageSplitter messages(received.text);
    while (const auto message = messages.next()) {
      const agent::Outcome outcome = transactions_.on_message(*message, received.received_at);
      answered_ = answered_ || outcome.kind == agent::Outcome::Kind::answered;
      calls_.on_outcome(outcome, io::MonotonicClock().now());
    }
  }
}

void GatewaySession::take_timeouts(io::TimePoint now) {
  agent::Outcome outcome;
  while (transactions_.on_timer(now, outcome)) {
    timed_out_ = true;
    calls_.on_outcome(outcome, now);
  }
}

}  // namespace rtpload
