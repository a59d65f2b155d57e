#pragma once
// The call agent's side of MGCP transactions (RFC 3435 section 3.5): sends requests, repeats them
// until an answer comes, gives up after a while. No socket and no clock: bytes go out through a
// function, time is an argument.

#include "io/time.h"
#include "io/timer_queue.h"
#include "mgcp/message.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace agent {

/// When a request is sent again and when it is given up (RFC 3435 section 3.5.3 and 4.3).
struct RetransmissionTimers {
  io::Duration first = std::chrono::milliseconds(500);    ///< before any round trip was measured
  io::Duration minimum = std::chrono::milliseconds(200);  ///< of the first repetition, then doubled
  io::Duration maximum = std::chrono::seconds(4);         ///< between two repetitions
  io::Duration give_up = std::chrono::seconds(20);        ///< T-MAX
};

/// How a transaction ended, or what else a response was.
struct Outcome {
  /// Which of these it was.
  enum class Kind : std::uint8_t {
    answered,     ///< the final answer to a pending request
    timed_out,    ///< no answer until T-MAX
    provisional,  ///< 1xx: the request is no longer repeated, its answer is still awaited
    repeated,     ///< an answer to a request that was answered or given up before
    unrelated,    ///< not an answer to any request of ours
  };
  Kind kind = Kind::unrelated;
  mgcp::TransactionId transaction_id = mgcp::kNoTransactionId;
  std::uint64_t tag = 0;      ///< as given to start(); 0 for repeated and unrelated
  std::uint16_t code = 0;     ///< MGCP response code; 0 if none
  io::Duration round_trip{};  ///< first transmission to answer
  std::uint32_t transmissions = 0;
  std::string_view message;  ///< the response, a view of what on_message() was given
};

/// All pending requests to one gateway. One thread.
class TransactionClient {
 public:
  /// Takes one datagram to the gateway.
  using Send = std::function<void(std::string_view datagram)>;

  /// Transaction ids count from `first_id` on; a random one keeps apart the runs of several
  /// clients.
  TransactionClient(mgcp::TransactionId first_id, const RetransmissionTimers& timers, Send send);

  /// The id for the next request.
  [[nodiscard]] mgcp::TransactionId allocate() noexcept;
  /// Sends `message`, which carries `transaction_id`, and waits for its answer.
  void start(mgcp::TransactionId transaction_id, std::string message, std::uint64_t tag,
             io::TimePoint now);
  /// Takes one response, as mgcp::MessageSplitter gives it, that arrived at `now`.
  [[nodiscard]] Outcome on_message(std::string_view message, io::TimePoint now);
  /// Repeats all requests that are due. True if one of them is given up: `outcome` tells which; to
  /// be called again.
  [[nodiscard]] bool on_timer(io::TimePoint now, Outcome& outcome);
  /// When on_timer() has something to do next; io::kNever if nothing is pending.
  [[nodiscard]] io::TimePoint next_expiry() const noexcept { return timers_queue_.next_expiry(); }

  [[nodiscard]] std::size_t pending() const noexcept { return pending_.size(); }
  [[nodiscard]] std::uint64_t retransmissions() const noexcept { return retransmissions_; }

 private:
  struct Pending {
    std::string message;
    std::uint64_t tag = 0;
    io::TimePoint first_sent;
    io::Duration interval{};
    std::uint32_t transmissions = 0;
    bool provisional = false;
  };

  [[nodiscard]] bool was_allocated(mgcp::TransactionId transaction_id) const noexcept;
  [[nodiscard]] io::Duration first_interval() const noexcept;
  void learn_round_trip(io::Duration round_trip) noexcept;
  void arm(mgcp::TransactionId transaction_id, const Pending& pending, io::TimePoint now);

  mgcp::TransactionId first_id_;
  mgcp::TransactionId next_id_;
  std::uint32_t allocated_ = 0;
  RetransmissionTimers timers_;
  Send send_;
  io::TimerQueue timers_queue_;
  std::unordered_map<mgcp::TransactionId, Pending> pending_;
  std::uint64_t retransmissions_ = 0;
  double average_delay_ns_ = 0;
  double average_deviation_ns_ = 0;
  bool delay_known_ = false;
};

}  // namespace agent
