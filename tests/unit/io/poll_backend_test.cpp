// What is special to the poll backend; everything else is in tests/contract.

#include "io/poll_backend.h"

#include "tests/contract/bench.h"

#include <doctest/doctest.h>
#include <seccomp.h>

#include <cerrno>
#include <initializer_list>
#include <thread>

using namespace std::chrono_literals;

TEST_CASE("without epoll_pwait2 a pass still ends at its deadline and wakes are seen") {
  for (const int answer : {ENOSYS, EPERM}) {
    CAPTURE(answer);
    // A seccomp filter holds for the thread that loads it and ends with it.
    std::thread([answer] {
      scmp_filter_ctx filter = ::seccomp_init(SCMP_ACT_ALLOW);
      CHECK(::seccomp_rule_add(filter, SCMP_ACT_ERRNO(static_cast<unsigned>(answer)),
                               SCMP_SYS(epoll_pwait2), 0) == 0);
      CHECK(::seccomp_load(filter) == 0);
      ::seccomp_release(filter);
      io::BufferPool pool(16, 2048);
      io::PollBackend backend(pool, {});
      const io::MonotonicClock clock;
      for (const io::Duration wait : {io::Duration(1500us), io::Duration(0)}) {
        const io::TimePoint deadline = clock.now() + wait;
        const auto calls_before = backend.counters().system_calls.value();
        CHECK_FALSE(backend.pass(deadline).woken);
        CHECK(clock.now() >= deadline);
        CHECK(backend.counters().system_calls.value() - calls_before <= 2);
      }
      backend.wake();
      CHECK(backend.pass(io::kNever).woken);
    }).join();
  }
}

TEST_CASE("a small pool keeps most of its slots for others") {
  io::BufferPool pool(16, 2048);
  io::PollBackend backend(pool, {});
  static_cast<void>(backend.pass(io::TimePoint{}));
  CHECK(pool.available() >= 12);
}

TEST_CASE("one pass takes one datagram of every ready socket, the next one the rest of bursts") {
  contract::PollBench bench;
  contract::Node node(bench);
  std::vector<contract::NodeSocket> sockets;
  for (std::uint64_t tag = 0; tag < 100; ++tag) {
    sockets.push_back(node.open(contract::loopback(), tag));
  }
  const auto far = bench.make_far_end(contract::loopback());
  const auto send_to_all = [&](std::size_t count) {
    for (const auto& payload : contract::numbered("", count)) {
      for (const contract::NodeSocket& socket : sockets) {
        far->send(socket.local, payload);
      }
    }
  };
  send_to_all(1);
  node.pass(1s);
  CHECK(node.received.size() == 100);
  node.pass(0ns);
  send_to_all(4);
  node.pass(1s);
  CHECK(node.received.size() == 200);
  node.pass(1s);
  CHECK(node.received.size() == 500);
  node.pass(0ns);
  // Sockets that had a burst are asked for everything at once.
  send_to_all(4);
  node.pass(1s);
  CHECK(node.received.size() == 900);
}

TEST_CASE("a socket with a peer hears nobody else until it is set free, and sends to others") {
  contract::PollBench bench;
  contract::NodeOptions options;
  options.backend.connect_peers = true;
  contract::Node node(bench, options);
  auto port_finder = bench.make_far_end(contract::loopback());
  const io::SocketAddress local = port_finder->local();
  port_finder.reset();
  const contract::NodeSocket socket = node.open(local);
  const auto peer = bench.make_far_end(contract::loopback());
  const auto stranger = bench.make_far_end(contract::loopback());
  node.backend().set_peer(socket.id, peer->local());
  stranger->send(socket.local, "stranger");
  peer->send(socket.local, "peer");
  REQUIRE(node.run_until_received(1));
  node.pass(0ns);
  CHECK(node.payloads(socket.id) == std::vector<std::string>{"peer"});
  node.send(socket.id, stranger->local(), "to a stranger");
  node.send(socket.id, peer->local(), "to the peer");
  node.send(socket.id, stranger->local(), "once more");
  node.pass(0ns);
  node.send(socket.id, peer->local(), "alone");
  node.pass(0ns);
  CHECK(stranger->receive()->payload == "to a stranger");
  CHECK(stranger->receive()->payload == "once more");
  CHECK(peer->receive()->payload == "to the peer");
  CHECK(peer->receive()->payload == "alone");
  node.backend().set_peer(socket.id, io::SocketAddress());
  stranger->send(socket.local, "welcome");
  REQUIRE(node.run_until_received(2));
  CHECK(node.payloads(socket.id).back() == "welcome");
}

TEST_CASE("packets for a peer that is not there are dropped and counted, and the socket lives on") {
  contract::PollBench bench;
  contract::NodeOptions options;
  options.backend.connect_peers = true;
  contract::Node node(bench, options);
  const contract::NodeSocket socket = node.open(contract::loopback());
  auto peer = bench.make_far_end(contract::loopback());
  const io::SocketAddress address = peer->local();
  node.backend().set_peer(socket.id, address);
  peer.reset();
  for (int packet = 0; packet < 4; ++packet) {
    node.send(socket.id, address, "lost");
    node.pass(0ns);
  }
  CHECK(node.backend().counters().sent.value() +
            node.backend().counters().send_unreachable.value() ==
        4);
  CHECK(node.backend().counters().receive_errors.value() > 0);
}
