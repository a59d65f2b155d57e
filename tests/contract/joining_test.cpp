// Joined datagrams: runs from one socket to one peer, which leave in one send where the kernel can
// do that, and receives that bring several at once. What arrives is always the same.

#include "tests/contract/bench.h"
#include "tests/contract/throttled_network.h"

#include <doctest/doctest.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <map>

using contract::Node;
using contract::NodeOptions;
using contract::NodeSocket;
using namespace std::chrono_literals;

namespace {

constexpr io::AddressFamily kFamilies[] = {io::AddressFamily::ipv4, io::AddressFamily::ipv6};
/// What one send joins at most.
constexpr std::size_t kRunMax = 64;

bool kernel_knows(int option) {
  const int descriptor = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const int on = option == UDP_GRO ? 1 : 0;
  const bool known = ::setsockopt(descriptor, SOL_UDP, option, &on, sizeof(on)) == 0;
  ::close(descriptor);
  return known;
}

/// Sets the loopback interface's MTU, in the network namespace that the thread has for itself, and
/// takes the throttle off: this is about sizes, not about time.
void narrow(const contract::Bench& bench, int bytes) {
  if (!bench.real()) {
    return;
  }
  const std::string command =
      "PATH=$PATH:/usr/sbin:/sbin; tc qdisc del dev lo root 2>/dev/null; ip link set lo mtu " +
      std::to_string(bytes);
  REQUIRE(std::system(command.c_str()) == 0);
}

/// True if runs leave joined on this bench and kernel.
bool joins_sends(const contract::Bench& bench) {
  return bench.real() && kernel_knows(UDP_SEGMENT);
}

/// True if joined sends also arrive joined.
bool joins_receives(const contract::Bench& bench) {
  return joins_sends(bench) && kernel_knows(UDP_GRO);
}

/// A text of `size` characters that no other number has (from 4 characters on).
std::string text_of(std::size_t number, std::size_t size) {
  std::string text = std::to_string(10'000 + number).substr(1);
  text.resize(size, static_cast<char>('a' + number % 26));
  return text;
}

std::vector<std::string> texts(const std::vector<std::size_t>& sizes) {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    result.push_back(text_of(i, sizes[i]));
  }
  return result;
}

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

void send_all(Node& node, io::SocketId socket, const io::SocketAddress& peer,
              const std::vector<std::string>& payloads) {
  for (const auto& payload : payloads) {
    node.send(socket, peer, payload);
  }
}

NodeSocket open_joining(Node& node, io::AddressFamily family = io::AddressFamily::ipv4,
                        std::uint64_t tag = 0) {
  io::SocketOptions options;
  options.local = contract::loopback(family);
  options.receive_buffer_bytes = 4 << 20;
  options.join_received = true;
  options.join_sent = true;
  return node.open(options, tag);
}

NodeSocket open_sending(Node& node, io::AddressFamily family = io::AddressFamily::ipv4,
                        std::uint64_t tag = 0) {
  io::SocketOptions options;
  options.local = contract::loopback(family);
  options.join_sent = true;
  return node.open(options, tag);
}

}  // namespace

TEST_CASE_TEMPLATE("runs of equal and of other sizes arrive as they were queued", BenchType,
                   MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  const std::vector<std::vector<std::size_t>> shapes = {
      {200, 200, 200, 200},                 // equal
      {200, 200, 200, 200, 50},             // a shorter last one
      {200, 200, 50, 200, 200, 200, 200},   // which ends the run
      {200, 200, 200, 201, 201, 202},       // longer ones begin another
      {300, 200, 100, 50, 25, 12, 6},       // each shorter than the last
      {0, 0, 0, 0, 0},                      // empty ones can't be joined
      {200, 200, 200, 200, 0, 200, 200, 0}  // nor end a run
  };
  for (const io::AddressFamily family : kFamilies) {
    BenchType bench;
    Node node(bench);
    const NodeSocket socket = open_sending(node, family);
    const auto far = bench.make_far_end(contract::loopback(family));
    std::size_t total = 0;
    for (const auto& shape : shapes) {
      const auto sent = texts(shape);
      for (int round = 0; round < 2; ++round) {  // the first run to a peer goes another way
        send_all(node, socket.id, far->local(), sent);
        node.pass(0ns);
        CHECK(receive_all(*far, sent.size()) == sent);
        total += sent.size();
      }
    }
    CHECK_FALSE(far->receive(false));
    const io::BackendCounters& counters = node.backend().counters();
    CHECK(counters.sent.value() == total);
    CHECK((counters.sent_joined.value() > 0) == joins_sends(bench));
    CHECK(counters.joining_refused.value() == 0);
  }
}

TEST_CASE_TEMPLATE("a run leaves in one send, a long one in few", BenchType, MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  BenchType bench;
  NodeOptions options;
  options.slots = 4096;
  Node node(bench, options);
  const NodeSocket socket = open_sending(node);
  const auto far = bench.make_far_end(contract::loopback());
  const io::BackendCounters& counters = node.backend().counters();
  std::vector<std::size_t> sizes;
  std::uint64_t sends = 0;
  SUBCASE("limited by the number of datagrams") {
    sizes.assign(kRunMax * 3 + 7, 100);
    sends = 4;
  }
  SUBCASE("limited by their bytes") {
    sizes.assign(40 * 4, 1600);  // 40 x 1600 = 64,000
    sends = 4;
  }
  SUBCASE("a pair") {
    sizes.assign(kRunMax, 100);
    send_all(node, socket.id, far->local(), texts(sizes));
    node.pass(0ns);
    REQUIRE(receive_all(*far, sizes.size()).size() == sizes.size());
    sizes.assign(2, 100);
    sends = 1;
  }
  const std::uint64_t before = counters.joined_sends.value();
  const std::uint64_t joined_before = counters.sent_joined.value();
  const auto sent = texts(sizes);
  send_all(node, socket.id, far->local(), sent);
  node.pass(0ns);
  CHECK(receive_all(*far, sent.size()) == sent);
  if (joins_sends(bench)) {
    // The poll backend looks at no more than 64 datagrams of a socket at once.
    const std::uint64_t made = counters.joined_sends.value() - before;
    CHECK(made >= sends);
    CHECK(made <= sends + sends / 4);
    CHECK(counters.sent_joined.value() - joined_before == sent.size());
  } else {
    CHECK(counters.joined_sends.value() == 0);
  }
}

TEST_CASE_TEMPLATE("runs of several sockets and peers don't mix", BenchType, MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  for (const io::AddressFamily family : kFamilies) {
    BenchType bench;
    NodeOptions options;
    options.slots = 4096;
    Node node(bench, options);
    const std::vector<NodeSocket> sockets = {open_sending(node, family),
                                             open_sending(node, family)};
    std::vector<std::unique_ptr<contract::FarEnd>> far;
    for (int i = 0; i < 3; ++i) {
      far.push_back(bench.make_far_end(contract::loopback(family)));
    }
    std::map<std::pair<std::size_t, std::uint16_t>, std::vector<std::string>> expected;
    std::size_t number = 0;
    // Runs of every length from 1 to 9, of changing sockets, peers and sizes.
    for (std::size_t run = 0; run < 90; ++run) {
      const NodeSocket& socket = sockets[run / 2 % 2];
      const std::size_t peer = run % 3;
      for (std::size_t i = 0; i <= run % 9; ++i) {
        const std::string text = text_of(number++, 60 + run % 5);
        node.send(socket.id, far[peer]->local(), text);
        expected[{peer, socket.local.port()}].push_back(text);
      }
    }
    node.pass(0ns);
    std::map<std::pair<std::size_t, std::uint16_t>, std::vector<std::string>> arrived;
    for (const auto& [flow, payloads] : expected) {
      for (std::size_t i = 0; i < payloads.size(); ++i) {
        const auto datagram = far[flow.first]->receive();
        REQUIRE(datagram);
        arrived[{flow.first, datagram->source.port()}].push_back(datagram->payload);
      }
    }
    CHECK(arrived == expected);
    CHECK(node.backend().counters().sent.value() == number);
  }
}

TEST_CASE_TEMPLATE("a socket that is closed in mid-run sends what was queued before", BenchType,
                   MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  for (const std::size_t warm : {std::size_t{0}, std::size_t{8}}) {  // datagrams of an earlier run
    BenchType bench;
    Node node(bench);
    const NodeSocket socket = open_sending(node);
    const auto far = bench.make_far_end(contract::loopback());
    const auto earlier = texts(std::vector<std::size_t>(warm, 80));
    send_all(node, socket.id, far->local(), earlier);
    node.pass(0ns);
    CHECK(receive_all(*far, warm) == earlier);
    const auto sent = texts(std::vector<std::size_t>(10, 80));
    send_all(node, socket.id, far->local(), sent);
    node.close(socket.id);
    send_all(node, socket.id, far->local(), texts({80, 80, 80}));
    REQUIRE(node.run_until_closed(socket.id));
    CHECK(receive_all(*far, sent.size()) == sent);
    CHECK_FALSE(far->receive(false));
    CHECK(node.backend().counters().send_closed.value() == 3);
    CHECK(node.backend().counters().sent.value() == warm + sent.size());
  }
}

TEST_CASE_TEMPLATE("a run that can't be sent is counted by datagram and disturbs no other",
                   BenchType, MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  BenchType bench;
  Node node(bench);
  const NodeSocket socket = open_sending(node);
  const auto far = bench.make_far_end(contract::loopback());
  const auto dead = bench.make_far_end(contract::loopback())->local();  // nobody is there any more
  const auto run = texts(std::vector<std::size_t>(5, 90));
  for (int round = 0; round < 3; ++round) {
    send_all(node, socket.id, far->local().with_port(0), run);
    send_all(node, socket.id, far->local(), run);
    send_all(node, socket.id, dead, run);
    send_all(node, socket.id, contract::loopback(io::AddressFamily::ipv6).with_port(9), run);
    send_all(node, socket.id, far->local(), run);
    node.pass(0ns);
    CHECK(receive_all(*far, run.size()) == run);
    CHECK(receive_all(*far, run.size()) == run);
  }
  const io::BackendCounters& counters = node.backend().counters();
  CHECK(counters.sent.value() == 45);
  CHECK(counters.send_failed.value() + counters.send_unreachable.value() == 30);
  // Not the joining was refused.
  CHECK(counters.joining_refused.value() == 0);
  CHECK((counters.sent_joined.value() == 45) == joins_sends(bench));
}

TEST_CASE_TEMPLATE("a connected socket goes on with runs after its peer refused one", BenchType,
                   MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  BenchType bench;
  Node node(bench);
  const io::SocketAddress dead = bench.make_far_end(contract::loopback())->local();
  io::SocketOptions options;
  options.local = contract::loopback();
  options.connected = dead;
  options.join_sent = true;
  const NodeSocket socket = node.open(options);
  const auto run = texts(std::vector<std::size_t>(6, 90));
  send_all(node, socket.id, dead, run);
  REQUIRE(node.run_until([&] {
    return std::any_of(node.events.begin(), node.events.end(), [](const io::SocketEvent& event) {
      return event.kind == io::SocketEventKind::receive_error && event.error == ECONNREFUSED;
    });
  }));
  while (node.pass(10ms) > 0) {}
  const auto far = bench.make_far_end(dead);
  for (int round = 0; round < 2; ++round) {
    send_all(node, socket.id, dead, run);
    node.pass(0ns);
    CHECK(receive_all(*far, run.size()) == run);
  }
  CHECK(node.backend().counters().joining_refused.value() == 0);
}

TEST_CASE_TEMPLATE("where joined sends are refused, their datagrams leave singly, in order",
                   BenchType, MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  const contract::ThrottledNetwork network;
  if (!BenchType::kSimulated && !network.problem().empty()) {
    MESSAGE("not tested: " << network.problem());
    return;
  }
  BenchType bench;
  narrow(bench, 1500);
  Node node(bench);
  const NodeSocket socket = open_sending(node);
  const auto far = bench.make_far_end(contract::loopback());
  const io::BackendCounters& counters = node.backend().counters();
  const auto exchange = [&](std::size_t size) {
    auto sizes = std::vector<std::size_t>(6, size);
    sizes.push_back(7);
    const auto sent = texts(sizes);
    send_all(node, socket.id, far->local(), sent);
    node.pass(0ns);
    CHECK(receive_all(*far, sent.size()) == sent);
  };
  const std::uint64_t refused = joins_sends(bench) ? 1 : 0;
  // Longer than the path takes whole: IP fragments single ones.
  for (int round = 0; round < 3; ++round) {
    exchange(2000);
    CHECK(counters.sent_joined.value() == 0);
    CHECK(counters.joining_refused.value() == refused);  // it remembers
  }
  for (int round = 0; round < 3; ++round) {
    exchange(400);  // shorter ones can still be joined
  }
  CHECK(counters.sent_joined.value() == refused * 21);
  CHECK(counters.joining_refused.value() == refused);
  CHECK(counters.sent.value() == 42);

  // The path narrows. What is in the ring by then is lost at most once, as a run.
  narrow(bench, 300);
  const auto run = texts(std::vector<std::size_t>(6, 400));
  send_all(node, socket.id, far->local(), run);
  node.pass(0ns);
  CHECK(counters.sent.value() + counters.send_failed.value() == 48);
  CHECK(counters.joining_refused.value() == 2 * refused);
  const std::size_t left = counters.sent.value() - 42;
  CHECK((left == 0 || left == run.size()));
  CHECK(receive_all(*far, left).size() == left);
  exchange(400);
}

TEST_CASE_TEMPLATE("what arrives joined is handed out singly, in order, with its sender", BenchType,
                   MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  for (const io::AddressFamily family : kFamilies) {
    BenchType bench;
    NodeOptions options;
    options.slots = 4096;
    Node node(bench, options);
    const NodeSocket target = open_joining(node, family, 4711);
    const NodeSocket source = open_sending(node, family);
    const auto far = bench.make_far_end(contract::loopback(family));
    std::vector<std::size_t> sizes(150, 160);
    sizes.insert(sizes.end(), {31, 160, 160, 0, 0, 161, 162, 1, 2000, 2000, 2000, 2000, 7});
    const auto sent = texts(sizes);
    send_all(node, source.id, target.local, sent);
    REQUIRE(node.run_until_received(sent.size()));
    CHECK(node.payloads(target.id) == sent);
    for (const auto& datagram : node.received) {
      CHECK(datagram.tag == 4711);
      CHECK(datagram.peer == source.local);
    }
    CHECK((node.backend().counters().received_joined.value() > 0) == joins_receives(bench));

    // Single ones of others come the ordinary way.
    far->send(target.local, "single");
    far->send(target.local, "");
    REQUIRE(node.run_until_received(sent.size() + 2));
    CHECK(node.received[sent.size()].payload == "single");
    CHECK(node.received[sent.size()].peer == far->local());
    CHECK(node.received[sent.size() + 1].payload.empty());
  }
}

TEST_CASE_TEMPLATE("joined datagrams that are longer than a buffer are dropped and counted",
                   BenchType, MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  BenchType bench;
  NodeOptions options;
  options.slot_bytes = 512;
  Node node(bench, options);
  const NodeSocket target = open_joining(node);
  const NodeSocket source = open_sending(node);
  const std::size_t longest = options.slot_bytes - io::kHeadroomBytes;
  const std::vector<std::size_t> sizes = {512, 512, 512, 512, 512, longest, longest, longest, 9};
  const auto sent = texts(sizes);
  send_all(node, source.id, target.local, sent);
  REQUIRE(node.run_until_received(4));
  CHECK(node.payloads(target.id) == std::vector<std::string>(sent.begin() + 5, sent.end()));
  CHECK(node.backend().counters().received_oversize.value() == 5);
}

TEST_CASE_TEMPLATE("when buffers run out while joined datagrams are split, the rest waits",
                   BenchType, MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  BenchType bench;
  Node sender(bench);
  NodeOptions options;
  options.slots = 64;
  Node node(bench, options);
  const NodeSocket joining = open_joining(node, io::AddressFamily::ipv4, 1);
  const NodeSocket other = open_joining(node, io::AddressFamily::ipv4, 2);
  const NodeSocket plain = open_sending(node, io::AddressFamily::ipv4, 3);
  const NodeSocket source = open_sending(sender);
  const auto sent = texts(std::vector<std::size_t>(200, 120));
  send_all(sender, source.id, joining.local, sent);
  send_all(sender, source.id, other.local, sent);
  send_all(sender, source.id, plain.local, sent);
  sender.pass(0ns);
  node.hold = true;
  while (node.pass(50ms) > 0) {}
  CHECK(node.received.size() >= options.slots / 2);
  CHECK(node.backend().counters().received_no_buffer.value() >= 1);

  SUBCASE("a pass without buffers waits for its deadline") {
    const auto calls_before = node.backend().counters().system_calls.value();
    const io::TimePoint deadline = bench.now() + 20ms;
    CHECK(node.pass(20ms) == 0);
    CHECK(bench.now() >= deadline);
    CHECK(node.backend().counters().system_calls.value() - calls_before <= 4);
  }
  SUBCASE("a socket can be closed, and its rest is gone") {
    const std::size_t before = node.payloads(joining.id).size();
    node.close(joining.id);
    REQUIRE(node.run_until_closed(joining.id));
    CHECK(bench.make_far_end(joining.local)->local() == joining.local);
    node.hold = false;
    node.held.clear();
    REQUIRE(node.run_until([&] {
      return node.payloads(other.id).size() + node.payloads(plain.id).size() == 2 * sent.size();
    }));
    CHECK(node.payloads(joining.id).size() == before);
    CHECK(node.payloads(other.id) == sent);
    CHECK(node.payloads(plain.id) == sent);
    return;
  }
  SUBCASE("one buffer after the other brings one datagram after the other") {
    for (std::size_t count = node.received.size(); count < 150;) {
      node.held.erase(node.held.begin());
      REQUIRE(node.run_until([&] { return node.received.size() > count; }));
      count = node.received.size();
    }
  }
  node.hold = false;
  node.held.clear();
  REQUIRE(node.run_until_received(3 * sent.size()));
  CHECK(node.payloads(joining.id) == sent);
  CHECK(node.payloads(other.id) == sent);
  CHECK(node.payloads(plain.id) == sent);
}

TEST_CASE_TEMPLATE("a flood of joined datagrams does not keep the others waiting", BenchType,
                   MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  BenchType bench;
  NodeOptions options;
  options.slots = 4096;
  Node sender(bench, options);
  Node node(bench, options);
  const NodeSocket flooded = open_joining(node, io::AddressFamily::ipv4, 0);
  const NodeSocket joining = open_joining(node, io::AddressFamily::ipv4, 1);
  const NodeSocket plain = open_sending(node, io::AddressFamily::ipv4, 2);
  node.pass(0ns);
  const NodeSocket source = open_sending(sender);
  const auto flood = texts(std::vector<std::size_t>(240, 100));
  send_all(sender, source.id, flooded.local, flood);
  send_all(sender, source.id, joining.local, {"slow"});
  send_all(sender, source.id, plain.local, {"slow"});
  sender.pass(0ns);
  REQUIRE(node.run_until_received(flood.size() + 2));
  CHECK(node.payloads(flooded.id) == flood);
  const auto last_slow = std::find_if(node.received.rbegin(), node.received.rend(),
                                      [](const auto& datagram) { return datagram.tag != 0; });
  const auto flood_before = std::count_if(last_slow, node.received.rend(),
                                          [](const auto& datagram) { return datagram.tag == 0; });
  CHECK(flood_before <= static_cast<long>(2 * (io::Backend::kReceivedPerSocketMax + kRunMax)));
}

TEST_CASE_TEMPLATE("what is joined beyond a full pass comes with the next one, without waiting",
                   BenchType, MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  BenchType bench;
  NodeOptions options;
  options.slots = 8192;
  Node sender(bench, options);
  Node node(bench, options);
  std::vector<NodeSocket> sockets;
  for (std::uint64_t tag = 0; tag < 30; ++tag) {
    sockets.push_back(open_joining(node, io::AddressFamily::ipv4, tag));
  }
  node.pass(0ns);
  const NodeSocket source = open_sending(sender);
  const auto sent = texts(std::vector<std::size_t>(90, 50));
  for (const NodeSocket& socket : sockets) {
    send_all(sender, source.id, socket.local, sent);
  }
  sender.pass(0ns);
  const io::TimePoint before = bench.now();
  for (int passes = 0; passes < 20 && node.received.size() < sockets.size() * sent.size();
       ++passes) {
    node.pass(10s);
  }
  CHECK(bench.now() - before < 5s);
  for (const NodeSocket& socket : sockets) {
    CHECK(node.payloads(socket.id) == sent);
  }
}

TEST_CASE_TEMPLATE("a joining socket with datagrams in it can be closed, and its port is free",
                   BenchType, MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  BenchType bench;
  Node node(bench);
  const NodeSocket source = open_sending(node);
  for (const bool armed : {false, true}) {
    const NodeSocket socket = open_joining(node);
    if (armed) {
      node.pass(0ns);
    }
    send_all(node, source.id, socket.local, texts(std::vector<std::size_t>(70, 50)));
    node.close(socket.id);
    REQUIRE(node.run_until_closed(socket.id));
    CHECK(node.payloads(socket.id).empty());
    CHECK(node.closed_events(socket.id) == 1);
    CHECK(bench.make_far_end(socket.local)->local() == socket.local);
  }
  // Destroyed with one open.
  const NodeSocket last = open_joining(node);
  node.pass(0ns);
  node.destroy_backend();
  CHECK(bench.make_far_end(last.local)->local() == last.local);
}

TEST_CASE_TEMPLATE("a socket that was not made for many calls sends every datagram by itself",
                   BenchType, MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  BenchType bench;
  Node node(bench);
  const NodeSocket socket = node.open(contract::loopback());
  const auto far = bench.make_far_end(contract::loopback());
  const auto run = texts(std::vector<std::size_t>(8, 200));
  for (int round = 0; round < 2; ++round) {
    send_all(node, socket.id, far->local(), run);
    node.pass(0ns);
    CHECK(receive_all(*far, run.size()) == run);
  }
  CHECK(node.backend().counters().joined_sends.value() == 0);
}
