// The simulated network: what its links promise, and that a seed gives the same run every time.

#include "io/sim_network.h"

#include "io/backend.h"
#include "io/buffer_pool.h"
#include "io/sim_backend.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>
#include <ostream>

using namespace std::chrono_literals;

namespace {

io::SocketAddress address(const char* host, std::uint16_t port = 5004) {
  return *io::SocketAddress::parse(host, port);
}

std::vector<std::byte> number_bytes(std::uint16_t number) {
  return {static_cast<std::byte>(number >> 8U), static_cast<std::byte>(number & 0xffU)};
}

/// A network with two hosts.
struct Pair {
  explicit Pair(std::uint64_t seed = 1) : network(clock, seed) {}

  io::SimClock clock;
  io::SimNetwork network;
  io::SimPeer left{network, address("10.0.0.1")};
  io::SimPeer right{network, address("10.0.0.2")};

  void send(std::uint16_t number) { CHECK(left.send(right.local(), number_bytes(number)) == 0); }
  /// Lets everything arrive; the numbers in order of arrival.
  std::vector<std::uint16_t> drain() {
    std::vector<std::uint16_t> result;
    while (network.next_delivery() != io::kNever) {
      clock.advance_to(network.next_delivery());
      while (const auto datagram = right.receive()) {
        result.push_back(
            static_cast<std::uint16_t>((std::to_integer<unsigned>(datagram->bytes.at(0)) << 8U) |
                                       std::to_integer<unsigned>(datagram->bytes.at(1))));
      }
    }
    return result;
  }
  [[nodiscard]] bool balanced() const {
    const io::SimNetworkCounters& counters = network.counters();
    return counters.sent + counters.duplicated == counters.delivered + counters.lost +
                                                      counters.unreachable + counters.overflowed +
                                                      network.in_flight();
  }
};

/// What arrives of 500 datagrams, one per millisecond.
std::vector<std::uint16_t> run(std::uint64_t seed, const io::SimLink& link) {
  Pair pair(seed);
  pair.network.default_link() = link;
  std::vector<std::uint16_t> result;
  for (std::uint16_t number = 0; number < 500; ++number) {
    pair.send(number);
    pair.clock.advance(1ms);
    if (number % 50 == 49) {
      const auto some = pair.drain();
      result.insert(result.end(), some.begin(), some.end());
    }
  }
  CHECK(pair.balanced());
  return result;
}

}  // namespace

TEST_CASE("a datagram arrives after the link's delay, not before") {
  Pair pair;
  pair.network.link(pair.left.local(), pair.right.local()).delay = 30ms;
  pair.send(1);
  CHECK(pair.network.next_delivery() == pair.clock.now() + 30ms);
  pair.clock.advance(30ms - 1ns);
  CHECK_FALSE(pair.right.receive());
  pair.clock.advance(1ns);
  const auto datagram = pair.right.receive();
  REQUIRE(datagram);
  CHECK(datagram->source == pair.left.local());
  CHECK(pair.network.next_delivery() == io::kNever);
}

TEST_CASE("links are directed") {
  Pair pair;
  pair.network.link(pair.left.local(), pair.right.local()).loss = 1;
  pair.send(1);
  CHECK(pair.drain().empty());
  CHECK(pair.right.send(pair.left.local(), number_bytes(2)) == 0);
  CHECK(pair.left.receive());
  CHECK(pair.network.counters().lost == 1);
}

TEST_CASE("the same seed gives the same run, another seed another one") {
  const io::SimLink link{10ms, 20ms, 0.1, 0.05, true, 1500, 0, 0};
  const auto first = run(7, link);
  CHECK(first == run(7, link));
  CHECK(first != run(8, link));
  CHECK(first.size() > 400);
  CHECK(first.size() < 520);
}

TEST_CASE("jitter changes the order only where reordering is on") {
  io::SimLink link;
  link.jitter = 20ms;
  const auto ordered = run(3, link);
  CHECK(ordered.size() == 500);
  CHECK(std::is_sorted(ordered.begin(), ordered.end()));
  link.reorder = true;
  auto shuffled = run(3, link);
  CHECK_FALSE(std::is_sorted(shuffled.begin(), shuffled.end()));
  std::sort(shuffled.begin(), shuffled.end());
  CHECK(shuffled == ordered);
}

TEST_CASE("aimed losses hit what they are aimed at") {
  Pair pair;
  pair.network.link(pair.left.local(), pair.right.local()).drop_next = 2;
  for (std::uint16_t number = 0; number < 4; ++number) {
    pair.send(number);
  }
  CHECK(pair.drain() == std::vector<std::uint16_t>{2, 3});
  pair.network.drop_if(
      [](const io::SimDatagram& datagram) { return datagram.bytes.at(1) == std::byte{5}; });
  for (std::uint16_t number = 4; number < 7; ++number) {
    pair.send(number);
  }
  CHECK(pair.drain() == std::vector<std::uint16_t>{4, 6});
  CHECK(pair.balanced());
}

TEST_CASE("duplication delivers twice, a full receive queue drops") {
  Pair pair;
  pair.network.default_link().duplication = 1;
  pair.send(9);
  CHECK(pair.drain() == std::vector<std::uint16_t>{9, 9});
  pair.network.default_link().duplication = 0;
  for (std::uint16_t number = 0; number < io::SimNetwork::kReceiveQueueMax + 10; ++number) {
    pair.send(number);
  }
  CHECK(pair.drain().size() == io::SimNetwork::kReceiveQueueMax);
  CHECK(pair.network.counters().overflowed == 10);
  CHECK(pair.balanced());
}

TEST_CASE("a slow link delays, and blocks senders whose buffer is full") {
  Pair pair;
  pair.network.default_link().bytes_per_second = 1000;
  io::SocketOptions options;
  options.local = address("10.0.0.3");
  options.send_buffer_bytes = 300;
  io::SimSocketFactory factory(pair.network);
  const auto socket = factory.bind_udp(options);
  REQUIRE(socket);
  const std::vector<std::byte> hundred(100);
  int taken = 0;
  while (taken < 100 && pair.network.send(socket->handle(), hundred, pair.right.local()) == 0) {
    ++taken;
  }
  CHECK(taken == 3);
  CHECK(pair.network.next_delivery() == pair.clock.now() + 100ms);
  pair.clock.advance(100ms);
  CHECK(pair.network.send(socket->handle(), hundred, pair.right.local()) == 0);
  CHECK(pair.network.send(socket->handle(), hundred, pair.right.local()) == EAGAIN);
}

TEST_CASE("binding in the simulation fails as in the kernel, or as told") {
  Pair pair;
  io::SimSocketFactory factory(pair.network, address("10.0.0.9", 0), address("fd00::9", 0));
  io::SocketOptions options;
  options.local = pair.left.local();
  CHECK(factory.bind_udp(options).error() == std::errc::address_in_use);
  options.local = io::SocketAddress::any(io::AddressFamily::ipv4, 0);
  const auto any = factory.bind_udp(options);
  REQUIRE(any);
  // Bound to all addresses, heard at the host's.
  CHECK(any->local().is_unspecified());
  CHECK(pair.left.send(address("10.0.0.9", any->local().port()), number_bytes(1)) == 0);
  pair.network.deliver_due();
  CHECK(pair.network.has_work(any->handle()));
  CHECK(factory.route_source(pair.right.local())->host_text() == "10.0.0.9");
  pair.network.fail_binds(EMFILE, 1);
  CHECK(factory.bind_udp(options).error() == std::errc::too_many_files_open);
  CHECK(factory.bind_udp(options));
}

namespace {

/// A simulated backend with one open socket.
struct SimNode {
  SimNode() {
    options.local = address("127.0.0.1");
    auto bound = factory.bind_udp(options);
    REQUIRE(bound);
    id = backend.open(std::move(*bound), 3).value();
  }
  void queue_one() {
    io::Datagram datagram;
    datagram.buffer = pool.take();
    datagram.size = 10;
    datagram.socket = id;
    datagram.peer = pair.right.local();
    backend.send(std::move(datagram));
  }
  io::PassResult pass() { return backend.pass(pair.clock.now()); }

  Pair pair;
  io::SimSocketFactory factory{pair.network};
  io::BufferPool pool{16, 2048};
  io::SimBackend backend{pool, pair.network, {}};
  io::SocketOptions options;
  io::SocketId id;
};

}  // namespace

TEST_CASE("a starved simulated backend leaves datagrams waiting") {
  SimNode node;
  node.backend.faults().starved = true;
  CHECK(node.pair.left.send(node.options.local, number_bytes(1)) == 0);
  CHECK(node.pass().received.empty());
  CHECK_FALSE(node.backend.ready());
  node.backend.faults().starved = false;
  CHECK(node.backend.ready());
  CHECK(node.pass().received.size() == 1);
  CHECK(node.backend.counters().received_no_buffer.value() == 1);
}

TEST_CASE("a blocked simulated socket drops and counts") {
  SimNode node;
  node.pair.network.block_sends(node.options.local, true);
  node.queue_one();
  static_cast<void>(node.pass());
  node.pair.network.block_sends(node.options.local, false);
  node.queue_one();
  static_cast<void>(node.pass());
  CHECK(node.backend.counters().send_would_block.value() == 1);
  CHECK(node.backend.counters().sent.value() == 1);
}

TEST_CASE("injected errors of sending are counted by kind") {
  SimNode node;
  node.pair.network.fail_sends(EPERM, 1);
  node.queue_one();
  static_cast<void>(node.pass());
  node.pair.network.fail_sends(ENETUNREACH, 1);
  node.queue_one();
  static_cast<void>(node.pass());
  CHECK(node.backend.counters().send_failed.value() == 1);
  CHECK(node.backend.counters().send_unreachable.value() == 1);
}

TEST_CASE("late closing keeps the port and then reports once") {
  SimNode node;
  node.backend.faults().close_passes = 2;
  node.queue_one();
  node.backend.close(node.id);
  CHECK(node.pass().events.empty());
  CHECK(node.backend.counters().sent.value() == 1);
  node.queue_one();
  CHECK(node.factory.bind_udp(node.options).error() == std::errc::address_in_use);
  CHECK(node.pass().events.empty());
  CHECK(node.backend.counters().send_closed.value() == 1);
  CHECK(node.pass().events.size() == 1);
  CHECK(node.factory.bind_udp(node.options));
  CHECK(node.backend.sockets() == 0);
}
