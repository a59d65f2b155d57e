// The way of a packet through a worker: each packet is sent, consumed, or dropped for one cause.

#include "mgw/media_path.h"

#include "tests/unit/mgw/worker_bench.h"

#include <doctest/doctest.h>

#include <chrono>

using namespace std::chrono_literals;
using mgw::DropCause;
using sim::from_hex;
using test::Bridge;
using test::WorkerBench;

namespace {

constexpr io::Duration kInstant = io::Duration::zero();

}  // namespace

TEST_CASE("a malformed packet is dropped for what is wrong with it, and nothing leaves") {
  struct Row {
    const char* packet;
    DropCause cause;
  };
  const std::vector<Row> rows = {
      {"", DropCause::rtp_too_short},
      {"80", DropCause::rtp_too_short},
      {"8008000100000001000000", DropCause::rtp_too_short},
      {"400800010000000100000001", DropCause::other_protocol},  // the range of TURN channels
      {"600800010000000100000001", DropCause::rtp_bad_version},
      {"c00800010000000100000001", DropCause::rtp_bad_version},
      {"8f0800010000000100000001", DropCause::rtp_csrc_overrun},
      {"900800010000000100000001", DropCause::rtp_extension_overrun},
      {"900800010000000100000001bede0001", DropCause::rtp_extension_overrun},
      {"a0080001000000010000000100", DropCause::rtp_bad_padding},
      {"a00800010000000100000001ff", DropCause::rtp_bad_padding},
      {"000100082112a4420102030405060708", DropCause::other_protocol},  // STUN
      {"16feff000000000000000000", DropCause::other_protocol},          // DTLS
      {"16feff", DropCause::rtp_too_short},
  };
  for (const Row& row : rows) {
    CAPTURE(row.packet);
    WorkerBench bench;
    Bridge bridge(bench);
    bridge.left.send_rtp(from_hex(row.packet));
    bench.run_for(kInstant);
    CHECK(bench.dropped(row.cause) == 1);
    CHECK(bench.counters().received.value() == 1);
    CHECK(bench.counters().sent.value() == 0);
    CHECK(bench.audit(0).rtp_received.packets == 0);
    CHECK(bench.plane.imbalances() == 0);
  }
}

TEST_CASE("malformed RTCP is dropped for what is wrong with it, well-formed passes unchanged") {
  struct Row {
    const char* packet;
    DropCause cause;
  };
  for (const Row& row : {Row{"80c8", DropCause::rtcp_too_short},
                         Row{"40c9000100000001", DropCause::rtcp_bad_version},
                         Row{"80c9000200000001", DropCause::rtcp_length_overrun},
                         Row{"80c7000100000001", DropCause::rtcp_unknown_type}}) {
    CAPTURE(row.packet);
    WorkerBench bench;
    Bridge bridge(bench);
    bridge.left.send_rtcp(from_hex(row.packet));
    bench.run_for(kInstant);
    CHECK(bench.dropped(row.cause) == 1);
    CHECK(bench.counters().sent.value() == 0);
  }
  WorkerBench bench;
  Bridge bridge(bench);
  const std::vector<sim::Bytes> good = {
      from_hex("80c9000100000001"),  // the smallest receiver report
      sim::sender_report(0x11, 160, 3, 99),
      from_hex("80c900010000000181ca000300000001010461626364000081cb000100000001"),
      from_hex("80cf000100000001"),  // XR
  };
  for (const sim::Bytes& packet : good) {
    bridge.left.send_rtcp(packet);
  }
  bench.run_for(kInstant);
  CHECK(bridge.right.received_rtcp() == good);
}

TEST_CASE("strictly, RTP is taken from the peer's RTP port alone, RTCP from both of its ports") {
  WorkerBench bench;
  Bridge bridge(bench);
  sim::RtpPeer& stranger = bench.add_peer(0);
  stranger.send_packet(8);
  stranger.send_rtcp(sim::sender_report(1, 2, 3, 4));
  bench.run_for(kInstant);
  CHECK(bench.dropped(DropCause::unknown_source) == 2);
  bridge.left.send_packet(8);
  bridge.left.send_rtp(sim::sender_report(1, 2, 3, 4));  // from the RTP port to the RTP port
  bridge.left.send_rtcp(sim::sender_report(1, 2, 3, 4));
  const auto rtp = sim::rtp_packet({}, from_hex("00"));
  bridge.left.send_rtcp(rtp);  // RTP on the RTCP port is no RTCP
  bench.run_for(kInstant);
  CHECK(bridge.right.received().size() == 1);
  CHECK(bridge.right.received_rtcp().size() == 2);
  CHECK(bench.counters().dropped[0].value() + bench.dropped(DropCause::unknown_source) <= 3);
  CHECK(bench.audit(0).rtp_received.packets == 1);
  CHECK(bench.audit(0).rtcp_received.packets == 2);
}

TEST_CASE(
    "as long as the peer is unknown or on hold nothing is taken from anybody, unless any is") {
  for (const auto& remote :
       {io::SocketAddress(), sim::address("0.0.0.0", 5000), sim::address("203.0.113.1", 0)}) {
    WorkerBench bench;
    Bridge bridge(bench);
    auto entry = WorkerBench::entry_for(bridge.left, {1});
    entry.remote_rtp = remote;
    bench.update(0, entry);
    bridge.left.send_packet(8);
    bridge.right.send_packet(8);
    bench.run_for(kInstant);
    CHECK(bench.dropped(DropCause::no_remote_address) == 1);
    CHECK(bench.dropped(DropCause::target_unknown) == 1);
    entry.source = mgw::SourceCheck::any;
    bench.update(0, entry);
    bridge.left.send_packet(8);
    bench.run_for(kInstant);
    CHECK(bridge.right.received().size() == 1);
  }
}

TEST_CASE("latching takes the first source of valid RTP, answers there, and sticks to it") {
  WorkerBench bench;
  Bridge bridge(bench);
  sim::RtpPeer& behind_nat = bench.add_peer(0);
  auto entry = WorkerBench::entry_for(bridge.left, {1});
  entry.source = mgw::SourceCheck::latch;
  entry.new_description = true;
  bench.update(0, entry);
  behind_nat.send_rtcp(sim::sender_report(1, 2, 3, 4));               // RTCP does not latch
  behind_nat.send_rtp(from_hex("000100082112a4420102030405060708"));  // STUN neither
  behind_nat.send_rtp(from_hex("c00800010000000100000001"));          // nor what is no RTP
  bench.run_for(kInstant);
  CHECK(bridge.right.received().empty());
  CHECK(bridge.right.received_rtcp().empty());
  behind_nat.send_packet(8);
  behind_nat.send_rtcp(sim::sender_report(1, 2, 3, 4));
  bench.run_for(kInstant);
  bridge.left.send_packet(8);  // the announced one comes too late
  bridge.right.send_packet(8);
  bridge.right.send_rtcp(sim::sender_report(1, 2, 3, 4));
  bench.run_for(kInstant);
  CHECK(bridge.right.received().size() == 1);
  CHECK(bridge.right.received_rtcp().size() == 1);
  CHECK(behind_nat.received().size() == 1);
  CHECK(behind_nat.received_rtcp().size() == 1);
  CHECK(bridge.left.received().empty());
  CHECK(bridge.left.received_rtcp().empty());
}

TEST_CASE("a new peer is latched anew, and late packets of the one before don't win") {
  WorkerBench bench;
  Bridge bridge(bench);
  sim::RtpPeer& old_source = bench.add_peer(0);
  sim::RtpPeer& new_source = bench.add_peer(0);
  auto entry = WorkerBench::entry_for(bridge.left, {1});
  entry.source = mgw::SourceCheck::latch;
  entry.new_description = true;
  bench.update(0, entry);
  old_source.send_packet(8);
  bench.run_for(kInstant);
  entry.remote_rtp = sim::address("10.1.1.1", 5004);
  bench.update(0, entry);
  old_source.send_packet(8);
  bench.run_for(kInstant);
  CHECK(bench.dropped(DropCause::unknown_source) == 1);
  new_source.send_packet(8);
  old_source.send_packet(8);
  bench.run_for(kInstant);
  CHECK(bench.dropped(DropCause::unknown_source) == 2);
  CHECK(bridge.right.count_from(old_source.number()) == 1);
  CHECK(bridge.right.count_from(new_source.number()) == 1);
}

TEST_CASE("a description that repeats the peer's address does not shut the latched peer out") {
  WorkerBench bench;
  Bridge bridge(bench);
  sim::RtpPeer& behind_nat = bench.add_peer(0);
  auto entry = WorkerBench::entry_for(bridge.left, {1});
  entry.source = mgw::SourceCheck::latch;
  entry.new_description = true;
  bench.update(0, entry);
  behind_nat.send_packet(8);
  bench.run_for(kInstant);
  bench.update(0, entry);  // the same SDP again, as agents send it with every MDCX
  behind_nat.send_packet(8);
  bridge.right.send_packet(8);
  bench.run_for(kInstant);
  CHECK(bridge.right.count_from(behind_nat.number()) == 2);
  CHECK(behind_nat.received().size() == 1);
}

TEST_CASE("with RTP and RTCP on one port a latched peer gets its RTCP where its media come from") {
  WorkerBench bench;
  Bridge bridge(bench);
  sim::RtpPeer& behind_nat = bench.add_peer(0);
  auto entry = WorkerBench::entry_for(bridge.left, {1});
  entry.source = mgw::SourceCheck::latch;
  entry.rtcp_mux = true;
  entry.remote_rtcp = entry.remote_rtp;
  entry.new_description = true;
  bench.update(0, entry);
  behind_nat.send_packet(8);
  bench.run_for(kInstant);
  bridge.right.send_rtcp(sim::sender_report(1, 2, 3, 4));
  bench.run_for(kInstant);
  CHECK(behind_nat.received_rtcp().size() == 1);
}

TEST_CASE("several targets get a copy each, the original goes to the last one") {
  WorkerBench bench;
  sim::RtpPeer& talker = bench.add_peer(0);
  std::vector<sim::RtpPeer*> listeners;
  bench.install(0, WorkerBench::entry_for(talker, {1, 2, 3}));
  for (std::uint32_t slot = 1; slot <= 3; ++slot) {
    listeners.push_back(&bench.add_peer(slot));
    auto entry = WorkerBench::entry_for(*listeners.back(), {});
    entry.target_types.set_target(0, {static_cast<std::uint8_t>(96 + slot), {}});
    bench.install(slot, entry);
  }
  talker.stream(5, 8);
  talker.send_rtcp(sim::sender_report(1, 2, 3, 4));
  bench.run_for(200ms);
  for (std::uint32_t i = 0; i < 3; ++i) {
    REQUIRE(listeners[i]->received().size() == 5);
    CHECK(listeners[i]->received().back().header.payload_type == 97 + i);
    CHECK(listeners[i]->received().back().header.sequence == 104);
    CHECK(listeners[i]->count_from(talker.number()) == 5);
    CHECK(listeners[i]->received_rtcp().size() == 1);
  }
  CHECK(bench.counters().copied.value() == 12);
  CHECK(bench.counters().sent.value() == 18);
  CHECK(bench.plane.imbalances() == 0);
}

TEST_CASE("without a free buffer only the copies are missing, and that is counted") {
  sim::SimPlane::Options options;
  options.buffers = 1;
  WorkerBench bench(options);
  sim::RtpPeer& talker = bench.add_peer(0);
  sim::RtpPeer& first = bench.add_peer(1);
  sim::RtpPeer& last = bench.add_peer(2);
  bench.install(0, WorkerBench::entry_for(talker, {1, 2}));
  bench.install(1, WorkerBench::entry_for(first, {}));
  bench.install(2, WorkerBench::entry_for(last, {}));
  talker.stream(4, 8);
  bench.run_for(200ms);
  CHECK(first.received().empty());
  CHECK(last.received().size() == 4);
  CHECK(bench.dropped(DropCause::no_buffer) == 4);
  CHECK(bench.plane.imbalances() == 0);
}

TEST_CASE("modes, missing targets and omitted RTCP each have a cause of their own") {
  WorkerBench bench;
  Bridge bridge(bench);
  auto entry = WorkerBench::entry_for(bridge.left, {1});
  entry.receives = false;
  bench.update(0, entry);
  bridge.left.send_packet(8);
  bridge.left.send_rtcp(sim::sender_report(1, 2, 3, 4));
  bench.run_for(kInstant);
  CHECK(bench.dropped(DropCause::mode_not_receiving) == 2);
  bench.update(0, WorkerBench::entry_for(bridge.left, {}));
  bridge.left.send_packet(8);
  bridge.left.send_rtcp(sim::sender_report(1, 2, 3, 4));
  bench.run_for(kInstant);
  CHECK(bench.dropped(DropCause::no_target) == 2);
  auto target = WorkerBench::entry_for(bridge.right, {0});
  target.omit_rtcp = true;
  bench.update(0, WorkerBench::entry_for(bridge.left, {1}));
  bench.update(1, target);
  bridge.left.send_packet(8);
  bridge.left.send_rtcp(sim::sender_report(1, 2, 3, 4));
  bench.run_for(kInstant);
  CHECK(bench.dropped(DropCause::rtcp_omitted) == 1);
  CHECK(bridge.right.received().size() == 1);
  bridge.left.send_packet(8);
  bench.remove({1});  // the route leads nowhere now
  bridge.left.send_packet(8);
  bench.run_for(kInstant);
  CHECK(bench.dropped(DropCause::closed_connection) >= 1);
  CHECK(bench.plane.imbalances() == 0);
}

TEST_CASE("an echo goes back as it came, whatever the payload type means") {
  WorkerBench bench;
  sim::RtpPeer& peer = bench.add_peer(0);
  auto entry = WorkerBench::entry_for(peer, {});
  entry.routes = {{0, true}};
  entry.unknown_payload_types = rtp::UnknownPayloadTypes::drop;
  bench.install(0, entry);
  peer.send_packet(45, from_hex("01020304"), true);
  peer.send_rtcp(sim::sender_report(1, 2, 3, 4));
  bench.run_for(kInstant);
  REQUIRE(peer.received().size() == 1);
  CHECK(peer.received()[0].header.payload_type == 45);
  CHECK(peer.received()[0].header.marker);
  CHECK(peer.received()[0].payload == from_hex("01020304"));
  CHECK(peer.received_rtcp().size() == 1);
}

TEST_CASE("keep-alives that come in are consumed, from whomever, and re-arm nothing") {
  WorkerBench bench;
  Bridge bridge(bench);
  sim::RtpPeer& stranger = bench.add_peer(0);
  bridge.left.send_rtp(from_hex("23"));
  bridge.left.send_rtcp(from_hex("23"));
  stranger.send_rtp(from_hex("23"));
  bench.run_for(kInstant);
  CHECK(bench.counters().consumed.value() == 3);
  CHECK(bench.counters().sent.value() == 0);
  CHECK(bench.plane.imbalances() == 0);
}

TEST_CASE("a longer datagram than a buffer is dropped, never cut") {
  sim::SimPlane::Options options;
  options.buffer_bytes = 512;
  WorkerBench bench(options);
  Bridge bridge(bench);
  const std::size_t longest = 512 - io::kHeadroomBytes;
  bridge.left.send_packet(8, sim::Bytes(longest - 12));
  bridge.left.send_packet(8, sim::Bytes(longest - 11));
  bridge.left.send_packet(8, sim::Bytes(20));
  bench.run_for(kInstant);
  REQUIRE(bridge.right.received().size() == 2);
  CHECK(bridge.right.received()[0].payload.size() == longest - 12);
  CHECK(bench.plane.backend(0).counters().received_oversize.value() == 1);
}

TEST_CASE("header extensions, contributing sources and padding arrive as they were sent") {
  WorkerBench bench;
  Bridge bridge(bench);
  // CSRC count 1, extension of one word, padding of 4.
  const auto packet = from_hex("b10800010000000100000001000000aabede000111000000deadbeef00000004");
  bridge.left.send_rtp(packet);
  bench.run_for(kInstant);
  REQUIRE(bridge.right.received().size() == 1);
  const auto& arrived = bridge.right.received()[0];
  CHECK(arrived.header.csrc_count == 1);
  CHECK(arrived.header.has_extension);
  CHECK(arrived.header.padding_size == 4);
  CHECK(arrived.payload == from_hex("deadbeef"));
}
