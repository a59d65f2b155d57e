#pragma once
// The calls of a run as their call agent sees them: two connections on one endpoint each, set up
// and taken down over MGCP with a bounded number of transactions in flight. No socket, no clock.
// One thread.

#include "io/socket_address.h"
#include "io/time.h"
#include "mgcp/message.h"
#include "tools/agent/transaction_client.h"
#include "tools/rtpload/codec.h"
#include "tools/rtpload/histogram.h"

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace rtpload {

/// How calls are set up.
struct CallOptions {
  std::array<Codec, 2> codecs;                 ///< of the first and the second leg
  std::string endpoint_prefix = "rtpbridge/";  ///< what stands before the wildcard
  std::string domain = "mgw";
  std::uint32_t in_flight_max = 64;  ///< transactions that wait for an answer at one time
  double calls_per_second = 0;  ///< calls begun per second; 0 = as fast as `in_flight_max` allows
  std::uint32_t first_call_id = 1;  ///< call ids count up from here
};

/// One side of a call.
struct CallLeg {
  io::SocketAddress local;    ///< where we send from and want to hear
  io::SocketAddress gateway;  ///< where the gateway listens; family none until it has said so
  std::string connection_id;
  std::optional<std::uint8_t> own_circuit;  ///< in a multiplex: by which the gateway names it to us
  std::optional<std::uint8_t> far_circuit;  ///< and we to the gateway
  std::optional<mgcp::ConnectionStatistics>
      statistics;  ///< what the gateway counted, after its DLCX
};

/// One call.
struct Call {
  /// How far the set-up has come.
  enum class State : std::uint8_t {
    idle,
    creating_first,
    creating_second,
    established,
    deleting_first,
    deleting_second,
    failed,  ///< could not be set up; nothing of it is left at the gateway
  };
  State state = State::idle;
  std::uint32_t call_id = 0;
  bool setup_failed = false;  ///< being taken down because its second leg could not be made
  std::string endpoint;
  CallLeg legs[2];
};

/// What went through.
struct CallCounters {
  std::uint64_t established = 0;
  std::uint64_t failed = 0;  ///< set-ups that did not succeed
  std::uint64_t released = 0;
  std::uint64_t delete_failed = 0;              ///< DLCX refused or unanswered
  Histogram create_ns;                          ///< round trips of CRCX
  Histogram delete_ns;                          ///< round trips of DLCX
  std::map<std::string, std::uint64_t> errors;  ///< by text, at most kErrorTextsMax different ones
};

/// Drives all calls.
class CallControl {
 public:
  static constexpr std::size_t kErrorTextsMax = 32;

  CallControl(const CallOptions& options, agent::TransactionClient& transactions);

  /// Adds a call with the addresses of its two sides. Returns its index.
  std::size_t add_call(const io::SocketAddress& first, const io::SocketAddress& second);

  /// Begins to set up the calls first .. first + count - 1.
  void set_up(std::size_t first, std::size_t count, io::TimePoint now);
  /// Begins to take down those of the calls first .. first + count - 1 that are established.
  void tear_down(std::size_t first, std::size_t count, io::TimePoint now);
  /// Sets up and takes down the calls first .. first + count - 1 again and again until `until`.
  void churn(std::size_t first, std::size_t count, io::TimePoint now, io::TimePoint until);
  /// Starts nothing new; what is half set up is taken down by tear_down().
  void cancel() noexcept;

  /// Starts what may start now.
  void advance(io::TimePoint now);
  /// Takes the outcome of a transaction.
  void on_outcome(const agent::Outcome& outcome, io::TimePoint now);
  /// True when nothing is in flight and nothing waits to be started.
  [[nodiscard]] bool idle() const noexcept { return busy_ == 0 && waiting_.empty() && !churning_; }
  /// When advance() can start something that the rate forbids now; io::kNever if only answers help.
  [[nodiscard]] io::TimePoint next_start() const noexcept;

  [[nodiscard]] const std::vector<Call>& calls() const noexcept { return calls_; }
  [[nodiscard]] const CallCounters& counters() const noexcept { return counters_; }
  /// Forgets the round trips measured so far.
  void clear_round_trips() noexcept;

 private:
  enum class Task : std::uint8_t { none, set_up, tear_down };

  void restart_rate(io::TimePoint now) noexcept;
  void begin(std::size_t index, io::TimePoint now);
  void create(std::size_t index, std::size_t leg, io::TimePoint now);
  void remove(std::size_t index, std::size_t leg, io::TimePoint now);
  void on_created(std::size_t index, std::size_t leg, const agent::Outcome& outcome,
                  io::TimePoint now);
  void on_deleted(std::size_t index, std::size_t leg, const agent::Outcome& outcome,
                  io::TimePoint now);
  void on_setup_failed(std::size_t index, std::size_t leg, io::TimePoint now);
  void finish(std::size_t index, Call::State state);
  void remove_orphan(const agent::Outcome& outcome, io::TimePoint now);
  void note_error(std::string text);
  [[nodiscard]] std::string take_answer(Call& call, std::size_t leg,
                                        const agent::Outcome& outcome) const;
  void append_offer(std::string& out, const Call& call, std::size_t leg) const;

  CallOptions options_;
  agent::TransactionClient& transactions_;
  std::vector<Call> calls_;
  std::deque<std::size_t> waiting_;  // to be begun, in order
  Task task_ = Task::none;
  bool churning_ = false;
  io::TimePoint churn_until_{};
  std::size_t busy_ = 0;  // calls with a transaction in flight
  std::uint32_t next_call_id_;
  io::TimePoint next_start_{};
  std::unordered_map<mgcp::TransactionId, std::size_t>
      repeated_creates_;  // of wildcard CRCX sent more than once
  CallCounters counters_;
};

}  // namespace rtpload
