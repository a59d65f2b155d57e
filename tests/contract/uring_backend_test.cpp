// What only the io_uring backend promises: how often it enters the kernel, that it works on older
// kernels, and that many sockets can go at once.

#include "tests/contract/bench.h"

#include <doctest/doctest.h>
#include <seccomp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

using contract::Node;
using contract::NodeOptions;
using contract::NodeSocket;
using contract::UringBench;
using namespace std::chrono_literals;

namespace {

/// Of one submission.
constexpr std::uint64_t kRequestsMax = 512;

/// Sends back what came since `seen`.
void echo(Node& node, std::size_t seen) {
  for (std::size_t number = seen; number < node.received.size(); ++number) {
    node.send(node.received[number].socket, node.received[number].peer,
              node.received[number].payload);
  }
}

/// Runs `body` in a child whose kernel knows no absolute deadlines (before Linux 6.12); its exit
/// status, 99 if the filter could not be set.
template <typename Body>
int on_older_kernel(const Body& body) {
  constexpr int kNoFilter = 99;
  constexpr scmp_datum_t kAbsoluteTimer = 1U << 5U;
  const scmp_arg_cmp flag_given{3, SCMP_CMP_MASKED_EQ, kAbsoluteTimer, kAbsoluteTimer};
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    const bool loaded = filter != nullptr &&
                        seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EINVAL),
                                               SCMP_SYS(io_uring_enter), 1, &flag_given) == 0 &&
                        seccomp_load(filter) == 0;
    ::_exit(loaded ? body() : kNoFilter);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("a pass that relays enters the kernel once, however many packets and sockets it serves") {
  if (contract::skipped<UringBench>()) {
    return;
  }
  UringBench bench;
  Node node(bench);
  std::vector<NodeSocket> sockets;
  for (std::uint64_t tag = 0; tag < 100; ++tag) {
    sockets.push_back(node.open(contract::loopback(), tag));
  }
  const auto far = bench.make_far_end(contract::loopback());
  const io::BackendCounters& counters = node.backend().counters();
  node.pass(0ns);
  std::uint64_t calls = 0;
  std::uint64_t passes = 0;
  for (int round = 0; round < 20; ++round) {
    if (round == 1) {  // from here on every pass has something to send
      calls = counters.system_calls.value();
      passes = counters.passes.value();
    }
    for (int burst = 0; burst < 3; ++burst) {
      for (const NodeSocket& socket : sockets) {
        far->send(socket.local, "to and fro");
      }
    }
    for (std::size_t all = node.received.size() + 300; node.received.size() < all;) {
      const std::size_t seen = node.received.size();
      node.pass(1s);
      echo(node, seen);
    }
  }
  node.pass(0ns);
  CHECK(counters.sent.value() == 6000);
  CHECK(counters.system_calls.value() - calls == counters.passes.value() - passes);
  CHECK(counters.passes.value() < 500);
}

TEST_CASE("more sends than one submission holds leave in order, with as few calls as possible") {
  if (contract::skipped<UringBench>()) {
    return;
  }
  UringBench bench;
  NodeOptions options;
  options.slots = 4096;
  Node node(bench, options);
  const NodeSocket socket = node.open(contract::loopback());
  node.pass(0ns);
  const auto far = bench.make_far_end(contract::loopback());
  const auto sent = contract::numbered("", 1600);
  for (const auto& payload : sent) {
    node.send(socket.id, far->local(), payload);
  }
  const std::uint64_t before = node.backend().counters().system_calls.value();
  node.pass(0ns);
  CHECK(node.backend().counters().system_calls.value() - before <= sent.size() / kRequestsMax + 1);
  for (const auto& payload : sent) {
    const auto datagram = far->receive();
    REQUIRE(datagram);
    CHECK(datagram->payload == payload);
  }
}

TEST_CASE("thousands of sockets that are closed at once are gone after a few passes") {
  if (contract::skipped<UringBench>()) {
    return;
  }
  UringBench bench;
  Node node(bench);
  std::vector<NodeSocket> sockets;
  for (std::uint64_t tag = 0; tag < 2000; ++tag) {
    sockets.push_back(node.open(contract::loopback(), tag));
  }
  node.pass(0ns);
  for (const NodeSocket& socket : sockets) {
    node.close(socket.id);
  }
  for (int passes = 0; passes < 40 && node.backend().sockets() > 0; ++passes) {
    node.pass(1s);
  }
  CHECK(node.backend().sockets() == 0);
  CHECK(node.events.size() == sockets.size());
}

TEST_CASE("thousands of starved sockets are served again, each in turn") {
  if (contract::skipped<UringBench>()) {
    return;
  }
  UringBench bench;
  NodeOptions options;
  options.slots = 64;
  Node node(bench, options);
  std::vector<NodeSocket> sockets;
  for (std::uint64_t tag = 0; tag < 1000; ++tag) {
    sockets.push_back(node.open(contract::loopback(), tag));
  }
  node.pass(0ns);
  const auto far = bench.make_far_end(contract::loopback());
  for (int round = 0; round < 3; ++round) {
    for (const NodeSocket& socket : sockets) {
      far->send(socket.local, std::to_string(round));
    }
  }
  REQUIRE(node.run_until_received(3000));
  CHECK(node.backend().counters().received_no_buffer.value() > 0);
  for (const NodeSocket& socket : sockets) {
    CHECK(node.payloads(socket.id) == contract::numbered("", 3));
  }
}

TEST_CASE("a full wave of failing sends is counted and the next datagrams leave") {
  if (contract::skipped<UringBench>()) {
    return;
  }
  UringBench bench;
  NodeOptions options;
  options.slots = 8192;
  Node node(bench, options);
  const NodeSocket socket = node.open(contract::loopback());
  const auto far = bench.make_far_end(contract::loopback());
  // An IPv6 target from an IPv4 socket: more failures than the queue of completions holds.
  const io::SocketAddress wrong = io::SocketAddress::parse("::1", 9).value();
  for (int number = 0; number < 6000; ++number) {
    node.send(socket.id, wrong, "lost");
  }
  node.send(socket.id, far->local(), "kept");
  node.pass(0ns);
  while (node.pass(0ns) > 0) {}
  CHECK(far->receive()->payload == "kept");
  const io::BackendCounters& counters = node.backend().counters();
  CHECK(counters.send_failed.value() + counters.send_unreachable.value() == 6000);
  CHECK(counters.sent.value() == 1);
}

TEST_CASE("on kernels without absolute deadlines passes end in time, also when coalescing") {
  if (contract::skipped<UringBench>()) {
    return;
  }
  for (const std::uint32_t coalesce_us : {0U, 2000U}) {
    CAPTURE(coalesce_us);
    const int status = on_older_kernel([&] {
      UringBench bench;
      NodeOptions options;
      options.backend.coalescing.limit_us = coalesce_us;
      Node node(bench, options);
      const NodeSocket socket = node.open(contract::loopback());
      const io::TimePoint start = bench.now();
      node.pass(5ms);
      if (bench.now() - start < 5ms) {
        return 1;
      }
      const auto far = bench.make_far_end(contract::loopback());
      const auto sent = contract::numbered("", 100);
      for (const auto& payload : sent) {
        far->send(socket.local, payload);
      }
      if (!node.run_until_received(sent.size()) || node.payloads(socket.id) != sent) {
        return 2;
      }
      node.backend().wake();
      node.pass(1h);
      return node.woken ? 0 : 3;
    });
    CHECK(status == 0);
  }
}

TEST_CASE("a backend that is destroyed by another thread does not hang") {
  if (contract::skipped<UringBench>()) {
    return;
  }
  UringBench bench;
  io::BufferPool pool(256, 512);
  std::unique_ptr<io::Backend> backend;
  std::thread worker([&] {
    backend = bench.make_backend(pool, {});
    io::SocketOptions options;
    options.local = contract::loopback();
    auto bound = bench.factory().bind_udp(options);
    REQUIRE(bound);
    REQUIRE(backend->open(std::move(*bound), 1));
    static_cast<void>(backend->pass(bench.now()));
  });
  worker.join();
  backend.reset();
  CHECK(pool.available() == pool.slots());
}
