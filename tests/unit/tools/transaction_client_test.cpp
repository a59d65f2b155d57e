// The agent's transactions on virtual time: repetition, giving up, late and foreign answers.
#include "tools/agent/transaction_client.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace {

using agent::Outcome;
using agent::TransactionClient;
using namespace std::chrono_literals;

const io::TimePoint kStart = io::TimePoint(1000s);

struct Fixture {
  std::vector<std::string> sent;
  TransactionClient client{4711, {}, [this](std::string_view text) { sent.emplace_back(text); }};

  mgcp::TransactionId start(std::uint64_t tag, io::TimePoint now = kStart) {
    const mgcp::TransactionId id = client.allocate();
    client.start(id, "AUEP " + std::to_string(id) + " null@mgw MGCP 1.0\r\n", tag, now);
    return id;
  }
  static std::string answer(mgcp::TransactionId id, const std::string& code = "200") {
    return code + " " + std::to_string(id) + " OK\r\n";
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "an answer ends its transaction and no other") {
  const auto first = start(1);
  const auto second = start(2);
  CHECK(first != second);
  const std::string text = answer(second, "403");
  const Outcome outcome = client.on_message(text, kStart + 3ms);
  CHECK(outcome.kind == Outcome::Kind::answered);
  CHECK(outcome.tag == 2);
  CHECK(outcome.code == 403);
  CHECK(outcome.round_trip == 3ms);
  CHECK(outcome.transmissions == 1);
  CHECK(client.pending() == 1);
}

TEST_CASE_FIXTURE(
    Fixture,
    "an unanswered request is sent again, unchanged, at growing intervals, until it is given up") {
  start(5);
  std::vector<io::Duration> intervals;
  io::TimePoint last = kStart;
  Outcome outcome;
  io::TimePoint now = client.next_expiry();
  while (!client.on_timer(now, outcome)) {
    intervals.push_back(now - last);
    last = now;
    now = client.next_expiry();
  }
  CHECK(outcome.kind == Outcome::Kind::timed_out);
  CHECK(outcome.tag == 5);
  CHECK(now == kStart + 20s);
  CHECK(client.pending() == 0);
  CHECK(intervals == std::vector<io::Duration>{500ms, 1s, 2s, 4s, 4s, 4s, 4s});
  CHECK(sent.size() == 8);
  CHECK(outcome.transmissions == 8);
  CHECK(client.retransmissions() == 7);
  for (const std::string& text : sent) {
    CHECK(text == sent.front());
  }
  CHECK(client.next_expiry() == io::kNever);
}

TEST_CASE_FIXTURE(Fixture, "no repetition after the answer") {
  const auto id = start(1);
  const std::string text = answer(id);
  CHECK(client.on_message(text, kStart + 1ms).kind == Outcome::Kind::answered);
  Outcome outcome;
  CHECK_FALSE(client.on_timer(kStart + 60s, outcome));
  CHECK(sent.size() == 1);
}

TEST_CASE_FIXTURE(Fixture,
                  "a second answer is repeated, an answer to nothing of ours is unrelated") {
  const auto id = start(1);
  const std::string text = answer(id);
  CHECK(client.on_message(text, kStart).kind == Outcome::Kind::answered);
  CHECK(client.on_message(text, kStart).kind == Outcome::Kind::repeated);
  const std::string other = answer(id + 1);
  CHECK(client.on_message(other, kStart).kind == Outcome::Kind::unrelated);
  CHECK(client.on_message("garbage", kStart).kind == Outcome::Kind::unrelated);
  CHECK(client.on_message("CRCX 5 x@mgw MGCP 1.0\r\n", kStart).kind == Outcome::Kind::unrelated);
  CHECK(client.on_message("", kStart).kind == Outcome::Kind::unrelated);
}

TEST_CASE_FIXTURE(Fixture, "a provisional answer stops the repetitions but not the wait") {
  const auto id = start(9);
  const std::string provisional = answer(id, "100");
  CHECK(client.on_message(provisional, kStart + 1ms).kind == Outcome::Kind::provisional);
  Outcome outcome;
  CHECK_FALSE(client.on_timer(kStart + 19s, outcome));
  CHECK(sent.size() == 1);
  CHECK(client.on_timer(kStart + 20s, outcome));
  CHECK(outcome.kind == Outcome::Kind::timed_out);
}

TEST_CASE_FIXTURE(Fixture,
                  "the first repetition follows the measured round trips, within its bounds") {
  for (int i = 0; i < 50; ++i) {
    const std::string text = answer(start(1));
    CHECK(client.on_message(text, kStart + 1ms).kind == Outcome::Kind::answered);
  }
  Outcome outcome;
  CHECK_FALSE(client.on_timer(kStart + 60s, outcome));
  start(2, kStart + 60s);
  CHECK(client.next_expiry() == kStart + 60s + 200ms);
}

TEST_CASE("transaction ids wrap within the range of the protocol") {
  TransactionClient client(mgcp::kTransactionIdMax - 2, {}, [](std::string_view) {});
  CHECK(client.allocate() == mgcp::kTransactionIdMax - 1);
  CHECK(client.allocate() == mgcp::kTransactionIdMax);
  CHECK(client.allocate() == 1);
  CHECK(client.on_message("200 1 OK\r\n", kStart).kind == Outcome::Kind::repeated);
  CHECK(client.on_message("200 2 OK\r\n", kStart).kind == Outcome::Kind::unrelated);
}
