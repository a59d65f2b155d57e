// Two Iu UP legs wired back to back over a lossy wire on virtual time.
#include "rtp/iuup_link.h"
#include "tests/unit/rtp/iuup_test_link.h"
#include "tests/unit/rtp/iuup_test_sets.h"
#include "tests/unit/rtp/test_packets.h"

#include <doctest/doctest.h>

#include <bit>
#include <functional>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using rtp::IuupLink;
using rtp::IuupRates;
using rtp::IuupState;
using test::Bytes;
using test::due;
using test::kStart;
using test::reply_of;

/// Two links back to back, 30 ms apart; `lost` decides about each PDU by its number.
class Wire {
 public:
  explicit Wire(std::function<bool(unsigned)> lost) : lost_(std::move(lost)) {}

  IuupLink left;
  IuupLink right;
  unsigned sent = 0;
  io::TimePoint now = kStart;

  /// Runs both until nothing is under way any more.
  void run() {
    for (int turn = 0; turn < 1000; ++turn) {
      pump(left, to_right_);
      pump(right, to_left_);
      if (to_left_.empty() && to_right_.empty() && left.next_due() == io::kNever &&
          right.next_due() == io::kNever) {
        return;
      }
      deliver(to_right_, right, to_left_);
      deliver(to_left_, left, to_right_);
      now += 10ms;
    }
    FAIL("the links never come to rest");
  }

 private:
  struct Flying {
    io::TimePoint arrives;
    Bytes pdu;
  };

  void send(std::vector<Flying>& queue, Bytes pdu) {
    if (!pdu.empty() && !lost_(sent++)) {
      queue.push_back({now + 30ms, std::move(pdu)});
    }
  }
  void pump(IuupLink& link, std::vector<Flying>& queue) { send(queue, due(link, now)); }
  void deliver(std::vector<Flying>& queue, IuupLink& link, std::vector<Flying>& back) {
    while (!queue.empty() && queue.front().arrives <= now) {
      send(back, reply_of(link.on_pdu(queue.front().pdu, now)));
      queue.erase(queue.begin());
    }
  }

  std::function<bool(unsigned)> lost_;
  std::vector<Flying> to_left_;
  std::vector<Flying> to_right_;
};

}  // namespace

TEST_CASE("two links agree although initialisations or acknowledgements are lost") {
  // PDU n of the wire is lost if bit n is set: with at most three losses one attempt of the four
  // gets its answer.
  for (unsigned losses = 0; losses < 256; ++losses) {
    CAPTURE(losses);
    Wire wire([losses](unsigned number) { return number < 8 && (losses >> number & 1U) != 0; });
    wire.left.start_initialisation(test::unordered_set(), kStart);
    wire.run();
    if (wire.left.state() == IuupState::ready) {
      CHECK(wire.right.state() == IuupState::ready);
      CHECK(wire.right.configuration() == wire.left.configuration());
      CHECK(wire.right.mode_version() == 1);
      CHECK(wire.left.mode_version() == 1);
      CHECK(wire.left.initialisation_failures() == 0);
    } else {
      CHECK(wire.left.state() == IuupState::failed);
      CHECK(wire.left.initialisation_failures() == 1);
      CHECK(wire.now >= kStart + 4s);
      CHECK(std::popcount(losses) >= 4);
    }
  }
}

TEST_CASE("two links that ask each other for the same set at once both become ready") {
  Wire wire([](unsigned) { return false; });
  wire.left.start_initialisation(test::amr_122_set(), kStart);
  wire.right.start_initialisation(test::amr_122_set(), kStart);
  wire.run();
  CHECK(wire.left.state() == IuupState::ready);
  CHECK(wire.right.state() == IuupState::ready);
  CHECK(wire.left.configuration() == wire.right.configuration());
}

TEST_CASE("two links that ask each other for different sets at once agree on one") {
  for (const unsigned lost : {99U, 0U, 1U, 2U, 3U, 4U, 5U}) {
    CAPTURE(lost);
    Wire wire([lost](unsigned number) { return number == lost; });
    wire.left.start_initialisation(test::amr_122_set(), kStart);
    wire.right.start_initialisation(test::unordered_set(), kStart);
    wire.run();
    CHECK(wire.left.state() == IuupState::ready);
    CHECK(wire.right.state() == IuupState::ready);
    CHECK(wire.left.configuration().same_set(wire.right.configuration()));
  }
}

TEST_CASE("a peer that acknowledges our set after asking for its own is asked for its own again") {
  for (const bool ours_later : {true, false}) {
    CAPTURE(ours_later);
    const auto ours = ours_later ? test::unordered_set() : test::amr_122_set();
    const auto theirs = ours_later ? test::amr_122_set() : test::unordered_set();
    IuupLink link;
    link.start_initialisation(ours, kStart);
    REQUIRE(!due(link, kStart).empty());
    Bytes asked(rtp::kIuupInitialisationBytesMax);
    asked.resize(rtp::write_iuup_initialisation(theirs, 0, asked));
    CHECK(link.on_pdu(asked, kStart).event == rtp::IuupEvent::initialised);
    CHECK(due(link, kStart + 5s).empty());
    const auto answer = test::ack(rtp::IuupProcedure::initialisation);
    CHECK(link.on_pdu(answer, kStart).event == rtp::IuupEvent::unexpected_answer);
    CHECK(link.state() == IuupState::ready);
    CHECK(due(link, kStart).empty() != ours_later);
    const Bytes again = ours_later ? Bytes() : due(link, kStart + 1s);
    CHECK(again.empty() == ours_later);
    CHECK(link.configuration().same_set(theirs));
    CHECK(link.state() == IuupState::initialising);
    const auto second = test::ack(rtp::IuupProcedure::initialisation, 1);
    CHECK(link.on_pdu(second, kStart + 1s).event == rtp::IuupEvent::initialisation_acknowledged);
    CHECK(link.state() == IuupState::ready);
  }
}

TEST_CASE("a rate limit arrives over a wire that loses the first request or its answer") {
  for (const unsigned lost : {2U, 3U, 99U}) {
    Wire wire([lost](unsigned number) { return number == lost; });
    wire.left.start_initialisation(test::amr_122_set(), kStart);
    wire.run();
    wire.left.request_rates(0b001, wire.now);
    wire.run();
    CHECK(wire.right.peer_rates() == IuupRates{0b001, 3});
    CHECK(wire.left.rate_control_failures() == 0);
    CHECK(wire.left.repeats() == (lost == 99U ? 0U : 1U));
  }
}
