// Waiting: passes end at their deadline, at a wake, and not for nothing in between.

#include "tests/contract/bench.h"

#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <thread>

using contract::Node;
using contract::NodeOptions;
using contract::NodeSocket;
using namespace std::chrono_literals;

TEST_CASE("io_uring runs here, unless its absence was allowed") {
  const bool allowed = std::getenv("MGW_TEST_ALLOW_NO_URING") != nullptr;
  if (!contract::UringBench::available()) {
    MESSAGE("io_uring is not tested: " << contract::UringBench::why_not());
  }
  CHECK((contract::UringBench::available() || allowed));
}

TEST_CASE_TEMPLATE("a pass without traffic ends at its deadline and does not spin", BenchType,
                   MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  BenchType bench;
  Node node(bench);
  node.open(contract::loopback());
  node.pass(0ns);
  const io::BackendCounters& counters = node.backend().counters();
  const auto calls_before = counters.system_calls.value();
  for (int passes = 0; passes < 10; ++passes) {
    const io::TimePoint deadline = bench.now() + 3ms;
    CHECK(node.pass(3ms) == 0);
    CHECK(bench.now() >= deadline);
    CHECK_FALSE(node.woken);
  }
  CHECK(counters.system_calls.value() - calls_before <= 20);
}

TEST_CASE_TEMPLATE("a deadline in the past does not wait and still takes what is there", BenchType,
                   MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  BenchType bench;
  Node node(bench);
  const NodeSocket socket = node.open(contract::loopback());
  node.pass(0ns);
  CHECK(node.pass(-1s) == 0);
  const auto far = bench.make_far_end(contract::loopback());
  far->send(socket.local, "there");
  node.pass(-1s);
  CHECK(node.received.size() == 1);
}

TEST_CASE_TEMPLATE("a wake before the pass makes it return, once", BenchType,
                   MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  BenchType bench;
  Node node(bench);
  node.pass(0ns);
  node.backend().wake();
  node.backend().wake();
  const io::TimePoint before = bench.now();
  node.pass(10s);
  CHECK(node.woken);
  CHECK(bench.now() - before < 5s);
  const io::TimePoint deadline = bench.now() + 3ms;
  node.pass(3ms);
  CHECK_FALSE(node.woken);
  CHECK(bench.now() >= deadline);
}

TEST_CASE_TEMPLATE("a wake from another thread ends every wait", BenchType, MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  BenchType bench;
  Node node(bench);
  node.pass(0ns);
  constexpr int kRounds = 300;
  if (!bench.real()) {
    std::thread([&] { node.backend().wake(); }).join();
    node.pass(10s);
    CHECK(node.woken);
    return;
  }
  // The other thread wakes as soon as the last wake was seen: before, during and after the
  // beginning of the next wait, as it happens.
  std::atomic<int> seen{0};
  io::Backend& backend = node.backend();
  std::thread waker([&] {
    for (int round = 0; round < kRounds; ++round) {
      while (seen.load() < round) {
        std::this_thread::yield();
      }
      backend.wake();
    }
  });
  const io::TimePoint before = bench.now();
  int wakes = 0;
  for (int round = 0; round < kRounds; ++round) {
    node.pass(10s);
    wakes += node.woken ? 1 : 0;
    seen.store(round + 1);
  }
  waker.join();
  CHECK(wakes == kRounds);
  CHECK(bench.now() - before < 8s);
}

TEST_CASE_TEMPLATE("wakes and datagrams at the same time: none is lost", BenchType,
                   MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  BenchType bench;
  if (!bench.real()) {
    return;
  }
  Node node(bench);
  const NodeSocket socket = node.open(contract::loopback());
  const auto far = bench.make_far_end(contract::loopback());
  constexpr std::size_t kCount = 1000;
  io::Backend& backend = node.backend();
  std::atomic<std::uint64_t> posted{0};
  std::thread other([&] {
    for (std::size_t count = 0; count < kCount; ++count) {
      posted.fetch_add(1);
      backend.wake();
      far->send(socket.local, std::to_string(count));
    }
  });
  std::uint64_t taken = 0;
  CHECK(node.run_until([&] {
    if (node.woken) {
      taken = posted.load();
    }
    return taken == kCount && node.received.size() == kCount;
  }));
  other.join();
  CHECK(node.payloads(socket.id) == contract::numbered("", kCount));
}

TEST_CASE_TEMPLATE("a waiting pass ends when a datagram comes", BenchType, MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  BenchType bench;
  Node node(bench);
  const NodeSocket socket = node.open(contract::loopback());
  const auto far = bench.make_far_end(contract::loopback());
  if constexpr (BenchType::kSimulated) {
    bench.network().default_link().delay = 40ms;
    far->send(socket.local, "later");
    const io::TimePoint before = bench.now();
    node.pass(10s);
    CHECK(node.received.size() == 1);
    CHECK(bench.now() - before == 40ms);
  } else {
    node.pass(0ns);
    std::thread sender([&] { far->send(socket.local, "later"); });
    const io::TimePoint before = bench.now();
    node.pass(10s);
    sender.join();
    CHECK(node.received.size() == 1);
    CHECK(bench.now() - before < 5s);
  }
}

TEST_CASE_TEMPLATE("with coalescing nothing is lost, late or out of order", BenchType,
                   MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  BenchType bench;
  NodeOptions options;
  options.backend.coalescing.limit_us = 1000;
  Node node(bench, options);
  const NodeSocket socket = node.open(contract::loopback());
  const auto far = bench.make_far_end(contract::loopback());
  std::size_t sent = 0;
  for (int round = 0; round < 30; ++round) {
    for (int burst = 0; burst < 5; ++burst) {
      far->send(socket.local, std::to_string(sent++));
    }
    REQUIRE(node.run_until_received(sent));
  }
  CHECK(node.payloads(socket.id) == contract::numbered("", sent));
  node.backend().wake();
  node.pass(10s);
  CHECK(node.woken);
  const io::TimePoint deadline = bench.now() + 3ms;
  node.pass(3ms);
  CHECK(bench.now() >= deadline);
}

TEST_CASE_TEMPLATE("a wake ends the wait for more datagrams at once, whenever it comes", BenchType,
                   MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  BenchType bench;
  NodeOptions options;
  options.backend.coalescing.limit_us = 3'600'000'000;
  Node node(bench, options);
  const NodeSocket first = node.open(contract::loopback());
  const NodeSocket second = node.open(contract::loopback());
  const auto far = bench.make_far_end(contract::loopback());
  node.pass(0ns);
  for (int round = 0; round < 20; ++round) {
    far->send(first.local, "a");
    far->send(second.local, "b");
    REQUIRE(node.pass(10s) == 2);
    if (BenchType::kSimulated || round == 0) {
      node.backend().wake();
      node.pass(2h);
    } else {
      std::thread waker([&] { node.backend().wake(); });
      node.pass(2h);
      waker.join();
    }
    CHECK(node.woken);
  }
}

TEST_CASE_TEMPLATE("one packet through costs at most one wait, one receive and one send call",
                   BenchType, MGW_CONTRACT_BENCHES) {
  if (contract::skipped<BenchType>()) {
    return;
  }
  BenchType bench;
  Node node(bench);
  const NodeSocket socket = node.open(contract::loopback());
  const auto far = bench.make_far_end(contract::loopback());
  node.pass(0ns);
  const io::BackendCounters& counters = node.backend().counters();
  const auto calls_before = counters.system_calls.value();
  const auto passes_before = counters.passes.value();
  constexpr std::uint64_t kPackets = 50;
  for (std::uint64_t packet = 1; packet <= kPackets; ++packet) {
    far->send(socket.local, "in");
    REQUIRE(node.run_until_received(packet));
    node.send(socket.id, far->local(), "out");
  }
  node.pass(0ns);
  const auto passes = counters.passes.value() - passes_before;
  CHECK(passes <= kPackets + 2);
  CHECK(counters.system_calls.value() - calls_before <= passes + 2 * kPackets);
  for (std::uint64_t packet = 0; packet < kPackets; ++packet) {
    CHECK(far->receive());
  }
}
