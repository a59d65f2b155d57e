// What a worker does by commands and by itself: installing whole or not at all, removing, timers,
// notes about drops.

#include "mgw/worker.h"

#include "tests/unit/mgw/worker_bench.h"

#include <doctest/doctest.h>

#include <chrono>

using namespace std::chrono_literals;
using mgw::DropCause;
using mgw::MediaEvent;
using test::Bridge;
using test::WorkerBench;

TEST_CASE("a removed connection comes back with its counters once its ports are free") {
  WorkerBench bench;
  Bridge bridge(bench);
  bridge.left.stream(3, 8);
  bench.run_for(100ms);
  bench.plane.backend(0).faults().close_passes = 5;
  const auto done = bench.remove({0, 1, 7});
  REQUIRE(done);
  CHECK(done->error == 0);
  REQUIRE(done->removed.size() == 2);  // the third never existed
  CHECK(done->removed[0]->counters().rtp_received.packets == 3);
  CHECK(done->removed[0]->counters().rtp_received.octets == 3 * 45);
  CHECK(done->removed[1]->counters().rtp_sent.packets == 3);
  CHECK(bench.plane.backend(0).sockets() == 0);
  CHECK(bench.counters().connections.value() == 0);
  bench.install(0, WorkerBench::entry_for(bridge.left, {}));  // the port can be bound again
}

TEST_CASE("if one socket of several can't be opened nothing of the command remains") {
  for (std::uint32_t room = 0; room <= 3; ++room) {
    CAPTURE(room);
    sim::SimPlane::Options options;
    options.sockets_max = 2 + room;
    WorkerBench bench(options);
    sim::RtpPeer& first = bench.add_peer(0);
    sim::RtpPeer& second = bench.add_peer(1);
    sim::RtpPeer& third = bench.add_peer(2);
    bench.install(0, WorkerBench::entry_for(first, {1}));
    auto command = std::make_unique<mgw::MediaCommand>();
    WorkerBench::add_install(*command, 1, bench.bind_pair(1), WorkerBench::entry_for(second, {0}));
    WorkerBench::add_install(*command, 2, bench.bind_pair(2), WorkerBench::entry_for(third, {0}));
    command->updates.push_back({0, WorkerBench::entry_for(third, {})});
    auto done = bench.submit(std::move(command));
    REQUIRE(done);
    CHECK(done->error == ENFILE);
    done.reset();  // with it go the sockets that no backend took
    CHECK(bench.plane.backend(0).sockets() == 2);
    CHECK(bench.counters().connections.value() == 1);
    first.send_packet(8);  // its entry is the old one: `first` is still its peer
    bench.run_for(0ms);
    CHECK(bench.audit(0).rtp_received.packets == 1);
    static_cast<void>(bench.bind_pair(1));  // the ports are free
    static_cast<void>(bench.bind_pair(2));
  }
}

TEST_CASE("new sockets replace the old ones of a connection, whose counters go on") {
  WorkerBench bench;
  Bridge bridge(bench);
  bridge.left.send_packet(8);
  bench.run_for(0ms);
  auto command = std::make_unique<mgw::MediaCommand>();
  command->installs.push_back({0, nullptr, bench.bind_pair(5)});
  REQUIRE(bench.submit(std::move(command))->error == 0);
  CHECK(bench.plane.backend(0).sockets() == 4);
  bridge.left.send_packet(8);  // to the old port: closed
  bridge.left.set_target(WorkerBench::local_of(5));
  bridge.left.send_packet(8);
  bridge.right.send_packet(8);
  bench.run_for(0ms);
  CHECK(bench.audit(0).rtp_received.packets == 2);
  REQUIRE(bridge.left.received().size() == 1);
  CHECK(bridge.left.received()[0].source == WorkerBench::local_of(5));
  static_cast<void>(bench.bind_pair(0));
}

TEST_CASE("updates and audits of connections that are gone do no harm") {
  WorkerBench bench;
  Bridge bridge(bench);
  auto command = std::make_unique<mgw::MediaCommand>();
  command->updates.push_back({9, WorkerBench::entry_for(bridge.left, {})});
  command->audits = {9, 0};
  const auto done = bench.submit(std::move(command));
  CHECK(done->error == 0);
  CHECK(done->audited.size() == 2);
}

TEST_CASE("a silent connection is reported once, after its time; media, RTCP and commands count") {
  WorkerBench bench;
  Bridge bridge(bench);
  auto entry = WorkerBench::entry_for(bridge.left, {1});
  entry.connection_timeout = 1s;
  bench.update(0, entry);
  bench.run_for(900ms);
  bridge.left.send_packet(8);
  bench.run_for(900ms);
  bridge.left.send_rtcp(sim::sender_report(1, 2, 3, 4));
  bench.run_for(900ms);
  bench.update(0, entry);
  bench.run_for(900ms);
  CHECK(bench.events.empty());
  sim::RtpPeer& stranger = bench.add_peer(0);
  stranger.send_packet(8);                    // not accepted: does not count
  bridge.left.send_rtp(sim::from_hex("23"));  // a keep-alive neither
  bench.run_for(99ms);
  CHECK(bench.counters().connection_timeouts.value() == 0);
  bench.run_for(1ms);
  CHECK(bench.counters().connection_timeouts.value() == 1);
  bench.run_for(10s);
  CHECK(bench.counters().connection_timeouts.value() == 1);
  std::size_t timeouts = 0;
  for (const MediaEvent& event : bench.events) {
    timeouts += event.kind == MediaEvent::Kind::connection_timeout ? 1U : 0U;
    CHECK(event.slot == 0);
  }
  CHECK(timeouts == 1);
}

TEST_CASE("a change that was meant for another connection does not count as activity") {
  WorkerBench bench;
  sim::RtpPeer& peer = bench.add_peer(0);
  auto entry = WorkerBench::entry_for(peer, {});
  entry.connection_timeout = 1s;
  bench.install(0, entry);
  bench.run_for(900ms);
  entry.commanded = false;
  bench.update(0, entry);
  bench.run_for(100ms);
  CHECK(bench.counters().connection_timeouts.value() == 1);
}

TEST_CASE("drops are told within a second, also when nothing comes after them") {
  WorkerBench bench;
  bench.install(0, WorkerBench::entry_for(bench.add_peer(0), {}));
  sim::RtpPeer& stranger = bench.add_peer(0);
  stranger.send_packet(8);
  bench.run_for(100ms);
  CHECK(bench.events.size() == 1);
  stranger.send_packet(8);
  stranger.send_packet(8);
  bench.run_for(1s);
  REQUIRE(bench.events.size() == 2);
  CHECK(bench.events[1].kind == MediaEvent::Kind::drops_noted);
  CHECK(bench.events[1].count == 2);
}

TEST_CASE("the keep-alive of a latched leg goes to where its peer was found") {
  WorkerBench bench;
  sim::RtpPeer& announced = bench.add_peer(0);
  sim::RtpPeer& found = bench.add_peer(0);
  auto entry = WorkerBench::entry_for(announced, {});
  entry.source = mgw::SourceCheck::latch;
  entry.keep_alive_interval = 1s;
  bench.install(0, entry);
  bench.run_for(1s);
  CHECK(announced.keep_alives() == 1);
  found.send_packet(8);
  bench.run_for(1s);
  CHECK(announced.keep_alives() == 1);
  CHECK(found.keep_alives() == 1);
}

TEST_CASE("a successor in the slot has its own time, and timers don't pile up") {
  WorkerBench bench;
  sim::RtpPeer& peer = bench.add_peer(0);
  auto entry = WorkerBench::entry_for(peer, {});
  entry.connection_timeout = 1s;
  for (int call = 0; call < 200; ++call) {
    bench.install(0, entry);
    bench.run_for(30ms);
    bench.remove({0});
  }
  bench.install(0, entry);
  bench.run_for(999ms);
  CHECK(bench.counters().connection_timeouts.value() == 0);
  bench.run_for(1ms);
  CHECK(bench.counters().connection_timeouts.value() == 1);
  // Once it is reported nothing is armed any more: had each call left a timer, some would be.
  CHECK(bench.plane.next() == io::kNever);
}

TEST_CASE("a shorter time limit counts from now on, a longer one postpones, none ends it") {
  WorkerBench bench;
  sim::RtpPeer& peer = bench.add_peer(0);
  auto entry = WorkerBench::entry_for(peer, {});
  entry.connection_timeout = 100s;
  bench.install(0, entry);
  entry.connection_timeout = 1s;
  bench.update(0, entry);
  entry.connection_timeout = 2s;
  bench.update(0, entry);
  bench.run_for(1999ms);
  CHECK(bench.events.empty());
  entry.connection_timeout = 0s;
  bench.update(0, entry);
  bench.run_for(300s);
  CHECK(bench.events.empty());
}

TEST_CASE("keep-alives go out on both sockets at once and again each interval, and stop") {
  WorkerBench bench;
  Bridge bridge(bench);
  auto entry = WorkerBench::entry_for(bridge.left, {1});
  entry.keep_alive_now = true;
  entry.keep_alive_interval = 2s;
  bench.update(0, entry);
  CHECK(bridge.left.keep_alives() == 1);
  CHECK(bridge.left.rtcp_keep_alives() == 1);
  bench.run_for(6s);
  CHECK(bridge.left.keep_alives() == 4);
  CHECK(bridge.left.rtcp_keep_alives() == 4);
  CHECK(bench.counters().generated.value() == 8);
  CHECK(bench.audit(0).rtp_sent.packets == 0);  // they are no media
  entry.keep_alive_now = false;
  entry.keep_alive_interval = 0s;
  bench.update(0, entry);
  bench.run_for(10s);
  CHECK(bridge.left.keep_alives() == 4);
  entry.keep_alive_now = true;
  entry.omit_rtcp = true;
  bench.update(0, entry);
  CHECK(bridge.left.keep_alives() == 5);
  CHECK(bridge.left.rtcp_keep_alives() == 4);
  entry.omit_rtcp = false;
  entry.rtcp_mux = true;
  bench.update(0, entry);
  CHECK(bridge.left.keep_alives() == 6);
  CHECK(bridge.left.rtcp_keep_alives() == 4);
  entry.remote_rtp = io::SocketAddress();
  bench.update(0, entry);
  CHECK(bridge.left.keep_alives() == 6);
  CHECK(bench.plane.imbalances() == 0);
}

TEST_CASE("drops are noted once a second and connection, with the latest cause and their number") {
  WorkerBench bench;
  Bridge bridge(bench);
  sim::RtpPeer& stranger = bench.add_peer(0);
  stranger.stream(1000, 8);
  bench.run_for(5s);
  REQUIRE(bench.events.size() >= 5);
  CHECK(bench.events.size() <= 6);
  std::uint64_t noted = 0;
  for (const MediaEvent& event : bench.events) {
    CHECK(event.kind == MediaEvent::Kind::drops_noted);
    CHECK(event.slot == 0);
    CHECK(event.cause == DropCause::unknown_source);
    CHECK(event.count > 0);
    noted += event.count;
  }
  CHECK(noted <= bench.dropped(DropCause::unknown_source));
  CHECK(noted + 51 >= bench.dropped(DropCause::unknown_source));
}

TEST_CASE("drops of a connection that is gone are not noted against its successor") {
  WorkerBench bench;
  sim::RtpPeer& peer = bench.add_peer(0);
  sim::RtpPeer& stranger = bench.add_peer(0);
  bench.install(0, WorkerBench::entry_for(peer, {}));
  stranger.send_packet(8);
  bench.run_for(0ms);
  REQUIRE(bench.events.size() == 1);
  stranger.send_packet(8);  // within the second: not yet noted
  bench.run_for(10ms);
  bench.remove({0});
  bench.install(0, WorkerBench::entry_for(peer, {}));
  bench.run_for(2s);
  peer.send_packet(8);  // some pass after the second is over
  bench.run_for(0ms);
  CHECK(bench.events.size() == 1);
  stranger.send_packet(8);
  stranger.send_packet(8);
  bench.run_for(2s);
  peer.send_packet(8);
  bench.run_for(0ms);
  std::uint64_t noted = 0;
  for (std::size_t i = 1; i < bench.events.size(); ++i) {
    CHECK(bench.events[i].count > 0);
    noted += bench.events[i].count;
  }
  CHECK(noted == 2);
}

TEST_CASE("at the end everything is closed, also what was still on its way") {
  io::SimClock clock;
  io::SimNetwork network(clock, 1);
  io::SimSocketFactory sockets(network);
  io::BufferPool pool(16, 2048);
  {
    io::SimBackend backend(pool, network, {});
    mgw::WorkerQueues queues;
    struct Silent final : mgw::EventSignal {
      void signal() noexcept override {}
    } signal;
    mgw::Worker worker(backend, pool, clock, queues, signal);
    for (std::uint32_t slot = 0; slot < 3; ++slot) {
      auto command = std::make_unique<mgw::MediaCommand>();
      io::SocketOptions options;
      options.local = sim::address("127.0.0.1", 0);
      mgw::SocketPair pair{std::move(sockets.bind_udp(options).value()),
                           std::move(sockets.bind_udp(options).value())};
      WorkerBench::add_install(*command, slot, std::move(pair), {});
      REQUIRE(queues.commands.push(std::move(command)));
      if (slot == 1) {
        worker.run_pass(clock.now());  // the third is never applied
      }
    }
    CHECK(backend.sockets() == 4);
    backend.faults().close_passes = 3;
    worker.close_all();
    CHECK(backend.sockets() == 0);
  }
  CHECK(network.sockets() == 0);
}
