#pragma once
// A call agent: sends MGCP commands, repeats them as RFC 3435 section 3.5.2 says until they are
// answered, and remembers every answer.

#include "io/sim_network.h"
#include "tests/sim/actor.h"
#include "tests/sim/trace.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

/// An answer as text, with the parts that tests look at.
struct Answer {
  int code = 0;  ///< 0 = none came
  std::string text;

  /// The value of the line `NAME: value` before the description; empty if there is none.
  [[nodiscard]] std::string parameter(std::string_view name) const;
  /// What follows `prefix` on the first line of the description that begins with it ("m=audio ").
  [[nodiscard]] std::string sdp_line(std::string_view prefix) const;
  /// The address of c= with the port of m=.
  [[nodiscard]] io::SocketAddress media() const;
  /// The payload types of the m= line, as text.
  [[nodiscard]] std::string formats() const;
};

/// The messages of a datagram that are parted by lines with a single dot.
[[nodiscard]] std::vector<std::string> split_messages(std::string_view datagram);

/// One agent with one socket. Counts its transactions from 1.
class CallAgent final : public Actor {
 public:
  CallAgent(io::SimNetwork& network, Trace& trace, const io::SocketAddress& local,
            const io::SocketAddress& gateway);

  /// Sends `VERB id ENDPOINT MGCP 1.0` with `body` and repeats it until it is answered. The
  /// transaction id.
  std::uint32_t start(std::string_view verb, std::string_view endpoint, std::string_view body);
  /// The same under an id of the caller's choice.
  void start_as(std::uint32_t id, std::string_view verb, std::string_view endpoint,
                std::string_view body);
  /// Sends once whatever it is; never repeated.
  void send_raw(std::string_view datagram);
  /// Stops repeating anything.
  void give_up() { waiting_.clear(); }
  /// Whether commands are repeated until they are answered; at first they are.
  void repeat(bool wanted) { repeats_ = wanted; }

  /// The final answer to a transaction; null if none came yet.
  [[nodiscard]] const Answer* answer(std::uint32_t id) const;
  /// How many final answers to it came, repeats included.
  [[nodiscard]] std::size_t answers(std::uint32_t id) const;
  /// Provisional answers (100) to it.
  [[nodiscard]] std::size_t provisional(std::uint32_t id) const;
  /// Every datagram that came, oldest first.
  [[nodiscard]] const std::vector<std::string>& datagrams() const { return datagrams_; }
  /// Answers to a transaction begun by start() that differed from the first one: there may never be
  /// any.
  [[nodiscard]] std::size_t contradictions() const noexcept { return contradictions_; }
  /// Transactions begun, and those that are repeated no more without an answer.
  [[nodiscard]] std::size_t started() const noexcept { return started_; }
  [[nodiscard]] std::size_t abandoned() const noexcept { return abandoned_; }
  /// Transactions that wait for their answer.
  [[nodiscard]] std::size_t waiting() const noexcept { return waiting_.size(); }
  [[nodiscard]] const io::SocketAddress& local() const noexcept { return socket_.local(); }

  bool act() override;
  [[nodiscard]] io::TimePoint next() const override;

 private:
  struct Waiting {
    std::string text;
    io::TimePoint next;
    io::TimePoint give_up;
    io::Duration interval;
  };
  struct Record {
    Answer answer;
    std::size_t answers = 0;
    std::size_t provisional = 0;
    bool started = false;  ///< by start(), not as raw text
  };

  void on_message(const std::string& message);

  io::SimNetwork& network_;
  Trace& trace_;
  io::SocketAddress gateway_;
  io::SimPeer socket_;
  std::uint32_t next_id_ = 1;
  bool repeats_ = true;
  std::map<std::uint32_t, Waiting> waiting_;
  std::map<std::uint32_t, Record> records_;
  std::vector<std::string> datagrams_;
  std::size_t contradictions_ = 0;
  std::size_t started_ = 0;
  std::size_t abandoned_ = 0;
};

}  // namespace sim
