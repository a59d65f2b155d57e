// What a stream's receiver makes of loss, order and duplicates, compared with a slow model for
// random traffic.
#include "tools/rtpload/stream_checker.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

namespace {

using namespace rtpload;

ReceivedPacket packet(std::uint32_t sequence, std::uint16_t sequence_offset = 500,
                      std::uint32_t timestamp_offset = 9) {
  ReceivedPacket result;
  result.verdict = PacketVerdict::valid;
  result.identity.sequence = sequence;
  result.rtp_sequence = static_cast<std::uint16_t>(sequence + sequence_offset);
  result.rtp_timestamp = sequence * kSamplesPerPacket + timestamp_offset;
  return result;
}

}  // namespace

TEST_CASE("packets in order are received, gaps are neither reordered nor duplicated") {
  StreamChecker checker;
  for (const std::uint32_t sequence : {0U, 1U, 2U, 5U, 6U, 3000U, 3001U}) {
    CHECK(checker.on_packet(packet(sequence)) == Arrival::in_order);
  }
  CHECK(checker.received() == 7);
  CHECK(checker.next_expected() == 3002);
}

TEST_CASE("a late packet is reordered the first time and duplicated the second") {
  StreamChecker checker;
  CHECK(checker.on_packet(packet(0)) == Arrival::in_order);
  CHECK(checker.on_packet(packet(2)) == Arrival::in_order);
  CHECK(checker.on_packet(packet(1)) == Arrival::reordered);
  CHECK(checker.on_packet(packet(1)) == Arrival::duplicated);
  CHECK(checker.on_packet(packet(2)) == Arrival::duplicated);
  CHECK(checker.on_packet(packet(0)) == Arrival::duplicated);
  CHECK(checker.received() == 3);
}

TEST_CASE("a stream that starts in the middle has lost its beginning") {
  StreamChecker checker;
  CHECK(checker.on_packet(packet(100)) == Arrival::in_order);
  CHECK(checker.on_packet(packet(99)) == Arrival::reordered);
  CHECK(checker.received() == 2);
  CHECK(checker.next_expected() == 101);
}

TEST_CASE("a packet older than the window is stale and not counted as received") {
  StreamChecker checker;
  CHECK(checker.on_packet(packet(5000)) == Arrival::in_order);
  CHECK(checker.on_packet(packet(5000 - StreamChecker::kWindowPackets)) == Arrival::stale);
  CHECK(checker.on_packet(packet(5001 - StreamChecker::kWindowPackets)) == Arrival::reordered);
  CHECK(checker.received() == 2);
}

TEST_CASE(
    "the RTP sequence number and timestamp must follow the packets, whatever constant a gateway "
    "adds") {
  StreamChecker checker;
  CHECK(checker.on_packet(packet(7, 60000, 0xfffffff0)) == Arrival::in_order);
  CHECK(checker.on_packet(packet(70000, 60000, 0xfffffff0)) == Arrival::in_order);
  CHECK(checker.on_packet(packet(70001, 60001, 0xfffffff0)) == Arrival::header_broken);
  CHECK(checker.on_packet(packet(70001, 60000, 0)) == Arrival::header_broken);
  CHECK(checker.on_packet(packet(70001, 60000, 0xfffffff0)) == Arrival::in_order);
  CHECK(checker.received() == 3);
}

TEST_CASE("random traffic within the window is judged as a model that remembers everything does") {
  std::mt19937 random(7);
  StreamChecker checker;
  std::set<std::uint32_t> seen;
  std::uint32_t highest = 0;
  std::uint32_t base = 0;
  for (int step = 0; step < 200000; ++step) {
    base += static_cast<std::uint32_t>(random() % 3);
    const std::uint32_t back = static_cast<std::uint32_t>(random() % 1000);
    const std::uint32_t sequence = random() % 4 == 0 && base > back ? base - back : base;
    const bool is_old =
        highest > sequence && highest - sequence >= StreamChecker::kWindowPackets - 1;
    if (is_old) {
      continue;
    }
    const Arrival expected = !seen.insert(sequence).second           ? Arrival::duplicated
                             : seen.size() > 1 && sequence < highest ? Arrival::reordered
                                                                     : Arrival::in_order;
    highest = std::max(highest, sequence);
    REQUIRE(checker.on_packet(packet(sequence)) == expected);
  }
  CHECK(checker.received() == seen.size());
}
