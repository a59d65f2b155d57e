// Closing: what is queued leaves, what is late reaches nobody, and ports and descriptors come back.

#include "tests/contract/bench.h"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <algorithm>

using contract::Node;
using contract::NodeOptions;
using contract::NodeSocket;
using namespace std::chrono_literals;

namespace {

/// So many sockets must work at once, as far as the limit on open files allows.
constexpr std::size_t kManySockets = 10'000;

std::size_t sockets_allowed() {
  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
  if (limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
  }
  constexpr rlim_t kOthers = 200;
  return std::min<std::size_t>(kManySockets, limit.rlim_cur - kOthers);
}

}  // namespace

TEST_CASE_TEMPLATE("datagrams queued before close leave, later ones are refused", BenchType,
                   MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  BenchType bench;
  Node node(bench);
  const NodeSocket socket = node.open(contract::loopback(), 5);
  const NodeSocket other = node.open(contract::loopback(), 6);
  const auto far = bench.make_far_end(contract::loopback());
  for (int number = 0; number < 10; ++number) {
    node.send(socket.id, far->local(), "before " + std::to_string(number));
  }
  node.close(socket.id);
  node.close(socket.id);
  node.send(socket.id, far->local(), "after");
  node.send(socket.id, far->local(), "after");
  node.send(other.id, far->local(), "other");
  node.send(socket.id, far->local(), "after");
  CHECK(node.events.empty());
  REQUIRE(node.run_until_closed(socket.id));
  node.send(socket.id, far->local(), "much later");
  node.pass(0ns);
  auto expected = contract::numbered("before ", 10);
  expected.emplace_back("other");
  for (const auto& payload : expected) {
    const auto datagram = far->receive();
    REQUIRE(datagram);
    CHECK(datagram->payload == payload);
  }
  CHECK_FALSE(far->receive(false));
  CHECK(node.backend().counters().send_closed.value() == 4);
  CHECK(node.closed_events(socket.id) == 1);
  CHECK(node.events.front().tag == 5);
  CHECK(node.backend().sockets() == 1);
}

TEST_CASE_TEMPLATE("after close nothing of the socket is handed out, and closed comes once",
                   BenchType, MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  BenchType bench;
  Node node(bench);
  const NodeSocket socket = node.open(contract::loopback(), 1);
  const auto far = bench.make_far_end(contract::loopback());
  far->send(socket.local, "heard");
  REQUIRE(node.run_until_received(1));
  for (int number = 0; number < 50; ++number) {
    far->send(socket.local, "unheard");
  }
  node.close(socket.id);
  REQUIRE(node.run_until_closed(socket.id));
  for (int passes = 0; passes < 5; ++passes) {
    node.pass(1ms);
  }
  CHECK(node.payloads(socket.id) == std::vector<std::string>{"heard"});
  CHECK(node.closed_events(socket.id) == 1);
  CHECK(node.backend().sockets() == 0);
}

TEST_CASE_TEMPLATE(
    "a port is free as soon as its socket reports closed, and no late packet "
    "reaches the successor",
    BenchType, MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  BenchType bench;
  Node node(bench);
  const auto far = bench.make_far_end(contract::loopback());
  NodeSocket socket = node.open(contract::loopback(), 0);
  for (std::uint64_t life = 1; life <= 50; ++life) {
    // Work in flight in both directions: received but not taken, queued but not sent.
    far->send(socket.local, "late");
    node.send(socket.id, far->local(), "bye");
    node.close(socket.id);
    REQUIRE(node.run_until_closed(socket.id));
    const io::SocketId old = socket.id;
    socket = node.open(socket.local, life);
    CHECK_FALSE(socket.id == old);
    // The old name means nothing any more, even though slot and port are the same.
    node.close(old);
    node.send(old, far->local(), "stale");
    far->send(socket.local, "fresh " + std::to_string(life));
    REQUIRE(node.run_until([&] { return !node.payloads(socket.id).empty(); }));
    CHECK(node.payloads(socket.id) == std::vector<std::string>{"fresh " + std::to_string(life)});
    CHECK(node.received.back().tag == life);
    const auto datagram = far->receive();
    REQUIRE(datagram);
    CHECK(datagram->payload == "bye");
  }
  CHECK_FALSE(far->receive(false));
}

TEST_CASE_TEMPLATE("closing one socket leaves the traffic of the others alone", BenchType,
                   MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  BenchType bench;
  Node node(bench);
  const NodeSocket steady = node.open(contract::loopback(), 1);
  const auto far = bench.make_far_end(contract::loopback());
  std::size_t sent = 0;
  for (int round = 0; round < 30; ++round) {
    const NodeSocket brief = node.open(contract::loopback(), 2);
    far->send(steady.local, std::to_string(sent++));
    far->send(brief.local, "brief");
    node.pass(0ns);
    node.close(brief.id);
    far->send(steady.local, std::to_string(sent++));
    REQUIRE(node.run_until_closed(brief.id));
  }
  REQUIRE(node.run_until([&] { return node.payloads(steady.id).size() == sent; }));
  CHECK(node.payloads(steady.id) == contract::numbered("", sent));
}

TEST_CASE_TEMPLATE("a socket can be closed before its first pass", BenchType,
                   MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  BenchType bench;
  Node node(bench);
  const NodeSocket socket = node.open(contract::loopback(), 1);
  node.close(socket.id);
  REQUIRE(node.run_until_closed(socket.id));
  CHECK(bench.make_far_end(socket.local)->local() == socket.local);
}

TEST_CASE_TEMPLATE("destroying a backend with open sockets frees their ports at once", BenchType,
                   MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  BenchType bench;
  const auto far = bench.make_far_end(contract::loopback());
  std::vector<NodeSocket> sockets;
  for (int life = 0; life < 3; ++life) {
    Node node(bench);
    if (sockets.empty()) {
      for (std::uint64_t tag = 0; tag < 50; ++tag) {
        sockets.push_back(node.open(contract::loopback(), tag));
      }
    } else {
      for (NodeSocket& socket : sockets) {
        socket = node.open(socket.local);
      }
    }
    node.pass(0ns);
    for (const NodeSocket& socket : sockets) {
      far->send(socket.local, "unread");
    }
    node.close(sockets.front().id);
    node.received.clear();
    node.destroy_backend();
  }
}

TEST_CASE_TEMPLATE("a bound socket that no backend takes gives its port back", BenchType,
                   MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  BenchType bench;
  NodeOptions options;
  options.backend.sockets_max = 1;
  Node node(bench, options);
  const NodeSocket only = node.open(contract::loopback());
  io::SocketOptions wanted;
  wanted.local = contract::loopback();
  auto bound = bench.factory().bind_udp(wanted);
  REQUIRE(bound);
  wanted.local = bound->local();
  CHECK(bench.factory().bind_udp(wanted).error() == std::errc::address_in_use);
  const auto refused = node.backend().open(std::move(*bound), 0);
  REQUIRE_FALSE(refused);
  CHECK(refused.error() == std::errc::too_many_files_open_in_system);
  CHECK(bench.factory().bind_udp(wanted));
  node.close(only.id);
  REQUIRE(node.run_until_closed(only.id));
  node.open(wanted.local);
}

TEST_CASE_TEMPLATE("names that never were are harmless", BenchType, MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  BenchType bench;
  Node node(bench);
  const auto far = bench.make_far_end(contract::loopback());
  const NodeSocket socket = node.open(contract::loopback());
  for (const io::SocketId id : {io::SocketId{}, io::SocketId{socket.id.index, 77},
                                io::SocketId{socket.id.index + 1, socket.id.generation}}) {
    node.close(id);
    node.send(id, far->local(), "nobody");
  }
  node.send(socket.id, far->local(), "somebody");
  node.pass(0ns);
  const auto datagram = far->receive();
  REQUIRE(datagram);
  CHECK(datagram->payload == "somebody");
  CHECK(node.backend().counters().send_closed.value() == 3);
  CHECK(node.events.empty());
}

TEST_CASE_TEMPLATE("ten thousand sockets come and go without a trace", BenchType,
                   MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  const std::size_t count = BenchType::kSimulated ? kManySockets : sockets_allowed();
  if (count < kManySockets) {
    MESSAGE("the limit on open files allows " << count << " sockets only");
  }
  BenchType bench;
  const std::size_t before = contract::open_descriptors();
  {
    Node node(bench);
    const std::size_t with_backend = contract::open_descriptors();
    const auto far = bench.make_far_end(contract::loopback());
    for (int life = 0; life < 2; ++life) {
      std::vector<NodeSocket> sockets;
      for (std::size_t tag = 0; tag < count; ++tag) {
        io::SocketOptions options;
        options.local = contract::loopback();
        sockets.push_back(node.open(options, tag));
      }
      node.pass(0ns);
      const std::size_t probes = 100;
      node.received.clear();
      for (std::size_t probe = 0; probe < probes; ++probe) {
        far->send(sockets[probe * (count / probes)].local, "probe");
      }
      CHECK(node.run_until_received(probes));
      for (const NodeSocket& socket : sockets) {
        node.close(socket.id);
      }
      node.events.clear();
      CHECK(node.run_until([&] { return node.events.size() >= count; }));
      CHECK(node.events.size() == count);
      CHECK(node.backend().sockets() == 0);
    }
    CHECK(contract::open_descriptors() == with_backend + (bench.real() ? 1 : 0));
    node.destroy_backend();
  }
  CHECK(contract::open_descriptors() == before);
}
