// Receiving: every test sends from plain sockets to the backend under test and looks at what its
// passes hand out.

#include "tests/contract/bench.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>

using contract::Node;
using contract::NodeOptions;
using contract::NodeSocket;
using namespace std::chrono_literals;

namespace {

constexpr io::AddressFamily kFamilies[] = {io::AddressFamily::ipv4, io::AddressFamily::ipv6};

}  // namespace

TEST_CASE_TEMPLATE("datagrams of a socket arrive in order, with their sender and the socket's tag",
                   BenchType, MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  for (const io::AddressFamily family : kFamilies) {
    BenchType bench;
    Node node(bench);
    const NodeSocket socket = node.open(contract::loopback(family), 4711);
    const auto far = bench.make_far_end(contract::loopback(family));
    const auto sent = contract::numbered("datagram ", 100);
    for (const auto& payload : sent) {
      far->send(socket.local, payload);
    }
    REQUIRE(node.run_until_received(sent.size()));
    CHECK(node.payloads(socket.id) == sent);
    for (const auto& datagram : node.received) {
      CHECK(datagram.tag == 4711);
      CHECK(datagram.peer == far->local());
    }
  }
}

TEST_CASE_TEMPLATE(
    "passes take what waits on many sockets in large vectors, without waiting between them",
    BenchType, MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  BenchType bench;
  Node node(bench);
  std::vector<NodeSocket> sockets;
  for (std::uint64_t tag = 0; tag < 100; ++tag) {
    sockets.push_back(node.open(contract::loopback(), tag));
  }
  node.pass(0ns);
  const auto far = bench.make_far_end(contract::loopback());
  // Since Linux 6.13 one call works off the arrivals of 20 sockets only (DEFER_TASKRUN), and of a
  // burst the poll backend takes the first datagram alone. What is left comes at once.
  constexpr int kPassesMax = 7;
  const io::TimePoint before = bench.now();
  for (const NodeSocket& socket : sockets) {
    far->send(socket.local, "0");
  }
  for (int passes = 0; passes < kPassesMax && node.received.size() < sockets.size(); ++passes) {
    node.pass(10s);
  }
  CHECK(node.received.size() == sockets.size());
  for (const char* payload : {"1", "2", "3", "4"}) {
    for (const NodeSocket& socket : sockets) {
      far->send(socket.local, payload);
    }
  }
  for (int passes = 0; passes < kPassesMax && node.received.size() < 5 * sockets.size(); ++passes) {
    node.pass(10s);
  }
  CHECK(node.received.size() == 5 * sockets.size());
  CHECK(bench.now() - before < 5s);
  for (const NodeSocket& socket : sockets) {
    CHECK(node.payloads(socket.id) == contract::numbered("", 5));
  }
}

TEST_CASE_TEMPLATE("a flooded socket does not keep the others waiting", BenchType,
                   MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  BenchType bench;
  Node node(bench);
  const NodeSocket flooded = node.open(contract::loopback(), 0);
  std::vector<NodeSocket> slow;
  for (std::uint64_t tag = 1; tag <= 5; ++tag) {
    slow.push_back(node.open(contract::loopback(), tag));
  }
  node.pass(0ns);
  const auto far = bench.make_far_end(contract::loopback());
  const std::size_t flood = 200;
  for (const auto& payload : contract::numbered("flood ", flood)) {
    far->send(flooded.local, payload);
  }
  for (const NodeSocket& socket : slow) {
    far->send(socket.local, "slow");
  }
  REQUIRE(node.run_until_received(flood + slow.size()));
  CHECK(node.payloads(flooded.id) == contract::numbered("flood ", flood));
  const auto last_slow = std::find_if(node.received.rbegin(), node.received.rend(),
                                      [](const auto& datagram) { return datagram.tag != 0; });
  const auto flood_before = std::count_if(last_slow, node.received.rend(),
                                          [](const auto& datagram) { return datagram.tag == 0; });
  CHECK(flood_before <= 2 * static_cast<long>(io::Backend::kReceivedPerSocketMax));
}

TEST_CASE_TEMPLATE("what a full pass leaves behind comes with the next ones, without waiting",
                   BenchType, MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  BenchType bench;
  NodeOptions options;
  options.slots = 4096;
  Node node(bench, options);
  std::vector<NodeSocket> sockets;
  for (std::uint64_t tag = 0; tag < 64; ++tag) {
    sockets.push_back(node.open(contract::loopback(), tag));
  }
  node.pass(0ns);
  const auto far = bench.make_far_end(contract::loopback());
  const auto sent = contract::numbered("", 33);
  for (const auto& payload : sent) {
    for (const NodeSocket& socket : sockets) {
      far->send(socket.local, payload);
    }
  }
  const io::TimePoint before = bench.now();
  for (int passes = 0; passes < 10 && node.received.size() < 64 * 33; ++passes) {
    node.pass(10s);
  }
  CHECK(bench.now() - before < 5s);
  for (const NodeSocket& socket : sockets) {
    CHECK(node.payloads(socket.id) == sent);
  }
}

TEST_CASE_TEMPLATE("when buffers run out, datagrams wait and nothing spins or is lost", BenchType,
                   MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  BenchType bench;
  NodeOptions options;
  options.slots = 64;
  Node node(bench, options);
  const NodeSocket first = node.open(contract::loopback(), 1);
  const NodeSocket second = node.open(contract::loopback(), 2);
  const auto far = bench.make_far_end(contract::loopback());
  const auto sent = contract::numbered("", 100);
  for (const auto& payload : sent) {
    far->send(first.local, payload);
    far->send(second.local, payload);
  }
  node.hold = true;
  while (node.pass(50ms) > 0) {}
  CHECK(node.received.size() <= options.slots);
  CHECK(node.received.size() >= options.slots / 2);
  CHECK(node.backend().counters().received_no_buffer.value() >= 1);

  SUBCASE("a pass without buffers waits for its deadline") {
    const auto calls_before = node.backend().counters().system_calls.value();
    const io::TimePoint deadline = bench.now() + 20ms;
    CHECK(node.pass(20ms) == 0);
    CHECK(bench.now() >= deadline);
    CHECK(node.backend().counters().system_calls.value() - calls_before <= 4);
  }
  SUBCASE("a wake ends the waiting") {
    node.backend().wake();
    node.pass(10s);
    CHECK(node.woken);
  }
  SUBCASE("sockets can be closed and sends leave") {
    io::Datagram datagram = std::move(node.held.front());
    node.held.erase(node.held.begin());
    node.close(second.id);
    REQUIRE(node.run_until_closed(second.id));
    CHECK(bench.make_far_end(second.local)->local() == second.local);
    datagram = {};
    node.send(first.id, far->local(), "out");
    node.pass(0ns);
    const auto arrived = far->receive();
    REQUIRE(arrived);
    CHECK(arrived->payload == "out");
    return;
  }
  node.hold = false;
  node.held.clear();
  REQUIRE(node.run_until_received(2 * sent.size()));
  CHECK(node.payloads(first.id) == sent);
  CHECK(node.payloads(second.id) == sent);
}

TEST_CASE_TEMPLATE("running out of buffers again and again loses nothing", BenchType,
                   MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  BenchType bench;
  NodeOptions options;
  options.slots = 32;
  Node node(bench, options);
  const NodeSocket socket = node.open(contract::loopback(), 1);
  const auto far = bench.make_far_end(contract::loopback());
  std::size_t total = 0;
  for (int round = 0; round < 20; ++round) {
    for (int count = 0; count < 50; ++count) {
      far->send(socket.local, std::to_string(total++));
    }
    node.hold = true;
    for (int passes = 0; passes < 8 && node.held.size() < options.slots / 2; ++passes) {
      node.pass(1ms);
    }
    node.hold = false;
    node.held.clear();
    REQUIRE(node.run_until_received(total));
  }
  CHECK(node.payloads(socket.id) == contract::numbered("", total));
}

TEST_CASE_TEMPLATE("zero-length, large and oversize datagrams don't disturb the others", BenchType,
                   MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  for (const io::AddressFamily family : kFamilies) {
    BenchType bench;
    NodeOptions options;
    options.slot_bytes = 2048;
    Node node(bench, options);
    const NodeSocket socket = node.open(contract::loopback(family), 1);
    const auto far = bench.make_far_end(contract::loopback(family));
    const std::size_t longest = options.slot_bytes - io::kHeadroomBytes;
    const std::vector<std::string> fitting = {"first", "", std::string(longest, 'x'), "", "last"};
    for (const auto& payload : fitting) {
      far->send(socket.local, std::string(longest + 1, 'y'));
      far->send(socket.local, payload);
      far->send(socket.local, std::string(9000, 'z'));
    }
    REQUIRE(node.run_until([&] {
      return node.received.size() >= fitting.size() &&
             node.backend().counters().received_oversize.value() >= 2 * fitting.size();
    }));
    CHECK(node.payloads(socket.id) == fitting);
    CHECK(node.backend().counters().received_oversize.value() == 2 * fitting.size());
  }
}

TEST_CASE_TEMPLATE("a datagram of 9000 bytes passes through slots that are large enough", BenchType,
                   MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  BenchType bench;
  NodeOptions options;
  options.slot_bytes = 9216;
  options.slots = 256;
  Node node(bench, options);
  const NodeSocket socket = node.open(contract::loopback(), 1);
  const auto far = bench.make_far_end(contract::loopback());
  std::string payload(9000, '\0');
  for (std::size_t i = 0; i < payload.size(); ++i) {
    payload[i] = static_cast<char>(i * 7 % 251);
  }
  far->send(socket.local, payload);
  REQUIRE(node.run_until_received(1));
  CHECK(node.received[0].payload == payload);
  node.send(socket.id, far->local(), payload);
  node.pass(0ns);
  const auto arrived = far->receive();
  REQUIRE(arrived);
  CHECK(arrived->payload == payload);
}

TEST_CASE_TEMPLATE("a connected socket hears its peer only", BenchType, MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  BenchType bench;
  Node node(bench);
  const auto friendly = bench.make_far_end(contract::loopback());
  const auto stranger = bench.make_far_end(contract::loopback());
  io::SocketOptions options;
  options.local = contract::loopback();
  options.connected = friendly->local();
  const NodeSocket socket = node.open(options, 1);
  stranger->send(socket.local, "stranger");
  friendly->send(socket.local, "friend");
  REQUIRE(node.run_until_received(1));
  node.pass(0ns);
  CHECK(node.payloads(socket.id) == std::vector<std::string>{"friend"});
  CHECK(node.received[0].peer == friendly->local());
}

TEST_CASE_TEMPLATE("datagrams that came before the socket was opened are not lost", BenchType,
                   MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  BenchType bench;
  Node node(bench);
  io::SocketOptions options;
  options.local = contract::loopback();
  auto bound = bench.factory().bind_udp(options);
  REQUIRE(bound);
  const auto far = bench.make_far_end(contract::loopback());
  far->send(bound->local(), "early");
  const auto id = node.backend().open(std::move(*bound), 9);
  REQUIRE(id);
  REQUIRE(node.run_until_received(1));
  CHECK(node.payloads(*id) == std::vector<std::string>{"early"});
}
