// Sending: every test queues datagrams on the backend under test and looks at what arrives at
// plain sockets, and at how what does not arrive is counted.

#include "tests/contract/bench.h"
#include "tests/contract/throttled_network.h"

#include <doctest/doctest.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>

using contract::Node;
using contract::NodeOptions;
using contract::NodeSocket;
using namespace std::chrono_literals;

namespace {

constexpr io::AddressFamily kFamilies[] = {io::AddressFamily::ipv4, io::AddressFamily::ipv6};

std::vector<std::string> receive_all(contract::FarEnd& far, std::size_t count) {
  std::vector<std::string> result;
  while (result.size() < count) {
    const auto datagram = far.receive();
    if (!datagram) {
      break;
    }
    result.push_back(datagram->payload);
  }
  return result;
}

/// An address on which nobody listens.
io::SocketAddress dead_address(contract::Bench& bench) {
  return bench.make_far_end(contract::loopback())->local();
}

std::uint64_t refusals(const Node& node) {
  return static_cast<std::uint64_t>(
      std::count_if(node.events.begin(), node.events.end(), [](const io::SocketEvent& event) {
        return event.kind == io::SocketEventKind::receive_error && event.error == ECONNREFUSED;
      }));
}

}  // namespace

TEST_CASE_TEMPLATE("the datagrams of a socket leave in the order in which they were queued",
                   BenchType, MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  for (const io::AddressFamily family : kFamilies) {
    BenchType bench;
    Node node(bench);
    std::vector<NodeSocket> sockets;
    std::vector<std::unique_ptr<contract::FarEnd>> far;
    for (std::uint64_t tag = 0; tag < 4; ++tag) {
      sockets.push_back(node.open(contract::loopback(family), tag));
      far.push_back(bench.make_far_end(contract::loopback(family)));
    }
    // Interleaved between sockets, and in runs of one socket.
    std::vector<std::string> expected;
    for (int number = 0; number < 100; ++number) {
      expected.push_back("single " + std::to_string(number));
      for (std::size_t i = 0; i < sockets.size(); ++i) {
        node.send(sockets[i].id, far[i]->local(), expected.back());
      }
    }
    for (std::size_t i = 0; i < sockets.size(); ++i) {
      for (int number = 0; number < 100; ++number) {
        node.send(sockets[i].id, far[i]->local(), "run " + std::to_string(number));
      }
    }
    const auto runs = contract::numbered("run ", 100);
    expected.insert(expected.end(), runs.begin(), runs.end());
    node.pass(0ns);
    for (std::size_t i = 0; i < sockets.size(); ++i) {
      CHECK(receive_all(*far[i], expected.size()) == expected);
    }
    CHECK(node.backend().counters().sent.value() == expected.size() * sockets.size());
  }
}

TEST_CASE_TEMPLATE("one pass sends to many peers from one socket, from the socket's address",
                   BenchType, MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  BenchType bench;
  Node node(bench);
  const NodeSocket socket = node.open(contract::loopback());
  std::vector<std::unique_ptr<contract::FarEnd>> far;
  for (int i = 0; i < 10; ++i) {
    far.push_back(bench.make_far_end(contract::loopback()));
    node.send(socket.id, far.back()->local(), "to " + std::to_string(i));
  }
  node.pass(0ns);
  for (std::size_t i = 0; i < far.size(); ++i) {
    const auto datagram = far[i]->receive();
    REQUIRE(datagram);
    CHECK(datagram->payload == "to " + std::to_string(i));
    CHECK(datagram->source == socket.local);
  }
}

TEST_CASE_TEMPLATE("with full send buffers datagrams are dropped, never swapped or damaged",
                   BenchType, MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  const contract::ThrottledNetwork network;
  BenchType bench;
  if constexpr (BenchType::kSimulated) {
    bench.network().default_link().bytes_per_second = 250'000;
  } else if (!network.problem().empty()) {
    MESSAGE("not tested: " << network.problem());
    return;
  }
  Node node(bench);
  const auto far = bench.make_far_end(contract::loopback());
  std::vector<NodeSocket> sockets;
  io::SocketOptions options;
  options.local = contract::loopback();
  options.send_buffer_bytes = 1;  // the kernel makes its minimum of it
  if (BenchType::kSimulated) {
    options.send_buffer_bytes = 2304;
  }
  for (std::uint64_t tag = 0; tag < 4; ++tag) {
    sockets.push_back(node.open(options, tag));
  }
  std::uint64_t number = 100'000;
  for (int round = 0; round < 150; ++round) {
    for (int burst = 0; burst < 6; ++burst) {
      for (const NodeSocket& socket : sockets) {
        const std::string text = std::to_string(number++);
        node.send(socket.id, far->local(), text + std::string(160, text.back()));
      }
    }
    node.pass(1ms);
  }
  const io::BackendCounters& counters = node.backend().counters();
  CHECK(counters.send_would_block.value() > 0);
  CHECK(counters.sent.value() > 0);
  std::map<std::uint16_t, std::uint64_t> last;
  std::uint64_t arrived = 0;
  for (; arrived < counters.sent.value(); ++arrived) {
    const auto datagram = far->receive();
    REQUIRE(datagram);
    REQUIRE(datagram->payload.size() == 166);
    const std::string text = datagram->payload.substr(0, 6);
    CHECK(datagram->payload == text + std::string(160, text.back()));
    const std::uint64_t value = std::stoull(text);
    CHECK(value > last[datagram->source.port()]);
    last[datagram->source.port()] = value;
  }
  CHECK(last.size() == sockets.size());
  CHECK_FALSE(far->receive(false));
}

TEST_CASE_TEMPLATE("an empty datagram can be sent", BenchType, MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  BenchType bench;
  Node node(bench);
  const NodeSocket socket = node.open(contract::loopback());
  const auto far = bench.make_far_end(contract::loopback());
  node.send(socket.id, far->local(), "");
  node.send(socket.id, far->local(), "after");
  node.pass(0ns);
  CHECK(receive_all(*far, 2) == std::vector<std::string>{"", "after"});
}

TEST_CASE_TEMPLATE("a datagram that cannot be sent is counted and does not stop the next ones",
                   BenchType, MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  BenchType bench;
  NodeOptions options;
  options.slots = 16;
  options.slot_bytes = 65'536;
  Node node(bench, options);
  const NodeSocket socket = node.open(contract::loopback());
  const auto far = bench.make_far_end(contract::loopback());
  // Longer than an UDP datagram over IPv4 can be, of the wrong family, without address, to port 0.
  node.send(socket.id, far->local(), std::string(65'520, 'x'));
  node.send(socket.id, far->local(), "one");
  node.send(socket.id, contract::loopback(io::AddressFamily::ipv6).with_port(9), "wrong family");
  node.send(socket.id, io::SocketAddress(), "no address");
  node.send(socket.id, far->local(), "two");
  node.send(socket.id, far->local().with_port(0), "port 0");
  node.send(socket.id, far->local(), "three");
  node.pass(0ns);
  CHECK(receive_all(*far, 3) == std::vector<std::string>{"one", "two", "three"});
  const io::BackendCounters& counters = node.backend().counters();
  CHECK(counters.sent.value() == 3);
  CHECK(counters.send_failed.value() + counters.send_unreachable.value() == 4);
}

TEST_CASE_TEMPLATE("an ICMP error on a connected socket is an event and the socket goes on",
                   BenchType, MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  BenchType bench;
  Node node(bench);
  const io::SocketAddress dead = dead_address(bench);
  io::SocketOptions options;
  options.local = contract::loopback();
  options.connected = dead;
  const NodeSocket socket = node.open(options, 77);
  for (int number = 0; number < 3; ++number) {
    node.send(socket.id, dead, "into the void");
  }
  REQUIRE(node.run_until([&] { return refusals(node) > 0; }));
  CHECK(node.events.front().socket == socket.id);
  CHECK(node.events.front().tag == 77);
  CHECK(node.backend().counters().receive_errors.value() == node.events.size());
  while (node.pass(10ms) > 0) {  // further errors of the three
  }

  const auto far = bench.make_far_end(dead);
  const auto sent = contract::numbered("now ", 5);
  for (const auto& payload : sent) {
    node.send(socket.id, dead, payload);
  }
  node.pass(0ns);
  CHECK(receive_all(*far, sent.size()) == sent);
  far->send(socket.local, "answer");
  REQUIRE(node.run_until_received(1));
  CHECK(node.received[0].payload == "answer");
}

TEST_CASE_TEMPLATE("the error of an earlier datagram does not swallow the next one", BenchType,
                   MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  BenchType bench;
  Node node(bench);
  const io::SocketAddress dead = dead_address(bench);
  io::SocketOptions options;
  options.local = contract::loopback();
  options.connected = dead;
  auto bound = bench.factory().bind_udp(options);
  REQUIRE(bound);
  // The error is pending already when the backend takes the socket over.
  if constexpr (BenchType::kSimulated) {
    const std::array<std::byte, 1> byte{};
    REQUIRE(bench.network().send(bound->handle(), byte, dead) == 0);
    bench.network().deliver_due();
  } else {
    REQUIRE(::send(bound->handle(), "x", 1, 0) == 1);
  }
  const auto far = bench.make_far_end(dead);
  const auto id = node.backend().open(std::move(*bound), 1);
  REQUIRE(id);
  const auto sent = contract::numbered("", 3);
  for (const auto& payload : sent) {
    node.send(*id, dead, payload);
  }
  node.pass(0ns);
  CHECK(receive_all(*far, sent.size()) == sent);
  REQUIRE(node.run_until([&] { return refusals(node) > 0; }));
  CHECK(refusals(node) == 1);
}

TEST_CASE_TEMPLATE("an unconnected socket is not disturbed by a dead peer", BenchType,
                   MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  BenchType bench;
  Node node(bench);
  const NodeSocket socket = node.open(contract::loopback());
  const io::SocketAddress dead = dead_address(bench);
  const auto far = bench.make_far_end(contract::loopback());
  const auto sent = contract::numbered("", 20);
  for (const auto& payload : sent) {
    node.send(socket.id, dead, payload);
    node.send(socket.id, far->local(), payload);
    node.pass(0ns);
  }
  CHECK(receive_all(*far, sent.size()) == sent);
  CHECK(node.events.empty());
  CHECK(node.backend().counters().sent.value() == 2 * sent.size());
}

TEST_CASE_TEMPLATE("every datagram carries the code point that its socket was made with", BenchType,
                   MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  for (const io::AddressFamily family : kFamilies) {
    BenchType bench;
    Node node(bench);
    io::SocketOptions options;
    options.local = contract::loopback(family);
    options.dscp = 46;
    options.priority = 6;
    const NodeSocket rtp = node.open(options, 0);
    const NodeSocket rtcp = node.open(options, 1);
    options.dscp = 0;
    options.priority = 0;
    const NodeSocket plain = node.open(options, 2);
    const auto far = bench.make_far_end(contract::loopback(family));
    for (int round = 0; round < 3; ++round) {
      node.send(rtp.id, far->local(), "rtp");
      node.send(rtcp.id, far->local(), "rtcp");
      node.send(plain.id, far->local(), "plain");
    }
    node.pass(0ns);
    for (int count = 0; count < 9; ++count) {
      const auto datagram = far->receive();
      REQUIRE(datagram);
      CHECK(datagram->traffic_class == (datagram->payload == "plain" ? 0 : 0xb8));
    }
  }
}

TEST_CASE_TEMPLATE("a received buffer can be sent on, also to several peers", BenchType,
                   MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  BenchType bench;
  io::BufferPool pool(64, 2048);
  const auto backend = bench.make_backend(pool, {});
  io::SocketOptions options;
  options.local = contract::loopback();
  auto bound = bench.factory().bind_udp(options);
  REQUIRE(bound);
  const io::SocketAddress local = bound->local();
  const auto id = backend->open(std::move(*bound), 0);
  REQUIRE(id);
  const auto source = bench.make_far_end(contract::loopback());
  const auto first = bench.make_far_end(contract::loopback());
  const auto second = bench.make_far_end(contract::loopback());
  // Many times the pool, so that every slot goes around.
  for (int number = 0; number < 300; ++number) {
    const std::string payload = "packet " + std::to_string(number);
    source->send(local, payload);
    std::size_t received = 0;
    for (int tries = 0; tries < 100 && received == 0; ++tries) {
      for (io::Datagram& datagram : bench.pass(*backend, 1s).received) {
        ++received;
        io::Datagram copy;
        copy.buffer = datagram.buffer.share();
        copy.offset = datagram.offset;
        copy.size = datagram.size;
        copy.socket = *id;
        copy.peer = second->local();
        datagram.peer = first->local();
        backend->send(std::move(datagram));
        backend->send(std::move(copy));
      }
    }
    REQUIRE(received == 1);
    static_cast<void>(bench.pass(*backend, 0ns));
    REQUIRE(receive_all(*first, 1) == std::vector<std::string>{payload});
    REQUIRE(receive_all(*second, 1) == std::vector<std::string>{payload});
  }
}
