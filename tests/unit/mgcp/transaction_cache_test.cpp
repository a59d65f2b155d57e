// At most once: repeats get the stored answer, byte for byte, within bounds of time, number and
// size.
#include "mgcp/transaction_cache.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using mgcp::TransactionCache;
using mgcp::TransactionCacheOptions;
using mgcp::TransactionKey;
using State = TransactionCache::State;
using namespace std::chrono_literals;

namespace {

constexpr io::TimePoint kStart{1000s};

io::SocketAddress agent(std::uint16_t port = 2727) {
  return io::SocketAddress::parse("127.0.0.1", port).value();
}

TransactionKey key(mgcp::TransactionId id, std::uint16_t port = 2727) {
  return {agent(port), id};
}

/// Runs a transaction from begin to answer.
void run(TransactionCache& cache, mgcp::TransactionId id, std::string_view answer,
         io::TimePoint now = kStart) {
  REQUIRE(cache.begin(key(id), now).state == State::fresh);
  REQUIRE(cache.complete(key(id), answer, now));
}

}  // namespace

TEST_CASE("a repeated command gets the stored answer, a running one does not start again") {
  TransactionCache cache{TransactionCacheOptions{}};
  CHECK(cache.begin(key(1), kStart).state == State::fresh);
  const auto pending = cache.begin(key(1), kStart + 1s);
  CHECK(pending.state == State::pending);
  CHECK(pending.started_at == kStart);
  CHECK(cache.complete(key(1), "200 1 OK\r\n", kStart + 2s));
  for (int i = 0; i < 3; ++i) {
    const auto done = cache.begin(key(1), kStart + 3s);
    CHECK(done.state == State::done);
    CHECK(done.answer == "200 1 OK\r\n");
  }
  CHECK(cache.counters().started == 1);
  CHECK(cache.counters().repeated_pending == 1);
  CHECK(cache.counters().repeated_done == 3);
  CHECK(cache.size() == 1);
}

TEST_CASE("agents that count alike do not collide, by address or by port") {
  TransactionCache cache{TransactionCacheOptions{}};
  const std::vector<io::SocketAddress> agents{
      agent(1), agent(2), io::SocketAddress::parse("127.0.0.2", 1).value(),
      io::SocketAddress::parse("::1", 1).value(), io::SocketAddress::parse("::2", 1).value()};
  for (const auto& address : agents) {
    CHECK(cache.begin({address, 7}, kStart).state == State::fresh);
    CHECK(cache.complete({address, 7}, address.text(), kStart));
  }
  for (const auto& address : agents) {
    CHECK(cache.begin({address, 7}, kStart).answer == address.text());
  }
}

TEST_CASE("an answer is kept for T-HIST after it was given, and not longer") {
  TransactionCacheOptions options;
  options.history = 30s;
  TransactionCache cache{options};
  CHECK(cache.next_expiry() == io::kNever);
  CHECK(cache.begin(key(1), kStart).state == State::fresh);
  CHECK(cache.next_expiry() == io::kNever);
  CHECK(cache.complete(key(1), "a", kStart + 5s));
  CHECK(cache.next_expiry() == kStart + 35s);
  CHECK(cache.begin(key(1), kStart + 35s - 1ns).state == State::done);
  CHECK(cache.begin(key(1), kStart + 35s).state == State::fresh);
  CHECK(cache.counters().expired == 1);
}

TEST_CASE("a pending transaction never expires") {
  TransactionCache cache{TransactionCacheOptions{}};
  CHECK(cache.begin(key(1), kStart).state == State::fresh);
  cache.expire(kStart + 1h);
  CHECK(cache.begin(key(1), kStart + 1h).state == State::pending);
}

TEST_CASE("expiry drops the old and leaves the young") {
  TransactionCache cache{TransactionCacheOptions{}};
  run(cache, 1, "one", kStart);
  run(cache, 2, "two", kStart + 10s);
  cache.expire(kStart + 30s);
  CHECK(cache.size() == 1);
  CHECK(cache.begin(key(2), kStart + 30s).answer == "two");
  CHECK(cache.next_expiry() == kStart + 40s);
  cache.expire(kStart + 40s);
  CHECK(cache.size() == 0);
  CHECK(cache.bytes_in_use() == 0);
}

TEST_CASE("when the table is full the oldest answer goes, never a running transaction") {
  TransactionCacheOptions options;
  options.entries_max = 3;
  TransactionCache cache{options};
  CHECK(cache.begin(key(1), kStart).state == State::fresh);
  run(cache, 2, "two");
  run(cache, 3, "three");
  run(cache, 4, "four");
  CHECK(cache.counters().evicted == 1);
  CHECK(cache.begin(key(1), kStart).state == State::pending);
  CHECK(cache.begin(key(3), kStart).answer == "three");
  CHECK(cache.begin(key(4), kStart).answer == "four");
  CHECK(cache.begin(key(2), kStart).state == State::fresh);
  CHECK(cache.begin(key(5), kStart).state == State::fresh);
  CHECK(cache.size() == 3);
  CHECK(cache.begin(key(6), kStart).state == State::full);
  CHECK(cache.counters().refused == 1);
  CHECK(cache.begin(key(1), kStart).state == State::pending);
  CHECK(cache.abandon(key(5)));
  CHECK(cache.begin(key(6), kStart).state == State::fresh);
}

TEST_CASE("an abandoned transaction is new again, an answered one can't be abandoned") {
  TransactionCache cache{TransactionCacheOptions{}};
  CHECK_FALSE(cache.abandon(key(1)));
  CHECK(cache.begin(key(1), kStart).state == State::fresh);
  CHECK(cache.abandon(key(1)));
  CHECK(cache.size() == 0);
  run(cache, 1, "a");
  CHECK_FALSE(cache.abandon(key(1)));
}

TEST_CASE("only a pending transaction can be completed, once") {
  TransactionCache cache{TransactionCacheOptions{}};
  CHECK_FALSE(cache.complete(key(1), "a", kStart));
  run(cache, 1, "first");
  CHECK_FALSE(cache.complete(key(1), "second", kStart));
  CHECK(cache.begin(key(1), kStart).answer == "first");
  CHECK(cache.begin(key(2), kStart).state == State::fresh);
  const std::string too_long(TransactionCache::kAnswerBytesMin / 2 + 1, 'x');
  CHECK_FALSE(cache.complete(key(2), too_long, kStart));
  CHECK(cache.begin(key(2), kStart).state == State::pending);
}

TEST_CASE("an acknowledged answer is freed and its command ignored until T-HIST") {
  TransactionCache cache{TransactionCacheOptions{}};
  for (mgcp::TransactionId id = 1; id <= 5; ++id) {
    run(cache, id, "answer");
  }
  CHECK(cache.begin(key(6), kStart).state == State::fresh);
  const std::vector<mgcp::TransactionRange> ranges{{1, 2}, {4, 4}, {6, 9}};
  CHECK(cache.acknowledge(agent(), ranges) == 3);
  CHECK(cache.acknowledge(agent(), ranges) == 0);
  CHECK(cache.acknowledge(agent(1), ranges) == 0);
  CHECK(cache.begin(key(1), kStart).state == State::acknowledged);
  CHECK(cache.begin(key(2), kStart).answer.empty());
  CHECK(cache.begin(key(3), kStart).state == State::done);
  CHECK(cache.begin(key(4), kStart).state == State::acknowledged);
  CHECK(cache.begin(key(6), kStart).state == State::pending);
  CHECK(cache.counters().acknowledged == 3);
  CHECK(cache.counters().repeated_acknowledged == 3);
  CHECK(cache.begin(key(1), kStart + 30s).state == State::fresh);
}

TEST_CASE("a range of all transactions costs no more than its limit") {
  TransactionCache cache{TransactionCacheOptions{}};
  run(cache, 1, "near");
  run(cache, 900'000'000, "far");
  const std::vector<mgcp::TransactionRange> all(1000, {1, mgcp::kTransactionIdMax});
  CHECK(cache.acknowledge(agent(), all) == 1);
  const std::vector<mgcp::TransactionRange> strange{{5, 3}, {999'999'999, UINT32_MAX}};
  CHECK(cache.acknowledge(agent(), strange) == 0);
}

TEST_CASE("answers stay whole while the ring turns round many times") {
  TransactionCacheOptions options;
  options.bytes_max = TransactionCache::kAnswerBytesMin;
  TransactionCache cache{options};
  std::size_t size = 1;
  for (mgcp::TransactionId id = 1; id <= 3000; ++id) {
    size = (size * 31 + 7) % 5000;
    run(cache, id, std::string(size, static_cast<char>('a' + id % 26)));
    CHECK(cache.bytes_in_use() <= options.bytes_max);
    std::size_t kept = 0;
    std::size_t expected_size = size;
    for (mgcp::TransactionId old = id; old + 10 > id && old >= 1; --old) {
      const auto found = cache.begin(key(old), kStart);
      REQUIRE(found.state == State::done);
      CHECK(found.answer.find_first_not_of(static_cast<char>('a' + old % 26)) ==
            std::string_view::npos);
      if (old == id) {
        CHECK(found.answer.size() == expected_size);
      }
      ++kept;
    }
    CHECK(kept == std::min<std::size_t>(id, 10));
  }
  CHECK(cache.counters().evicted > 1000);
}

TEST_CASE("the largest answers fit, the second pushes out what is in its way only") {
  TransactionCacheOptions options;
  options.bytes_max = 0;
  TransactionCache cache{options};
  const std::string largest(TransactionCache::kAnswerBytesMin / 2, 'x');
  run(cache, 1, largest);
  run(cache, 2, largest);
  CHECK(cache.begin(key(1), kStart).state == State::done);
  CHECK(cache.begin(key(2), kStart).state == State::done);
  run(cache, 3, "y");
  CHECK(cache.begin(key(2), kStart).answer == largest);
  CHECK(cache.begin(key(3), kStart).answer == "y");
  CHECK(cache.begin(key(1), kStart).state == State::fresh);
}

TEST_CASE("empty answers are answers") {
  TransactionCache cache{TransactionCacheOptions{}};
  for (mgcp::TransactionId id = 1; id <= 10; ++id) {
    run(cache, id, "");
  }
  CHECK(cache.begin(key(5), kStart).state == State::done);
  CHECK(cache.bytes_in_use() == 0);
}

TEST_CASE("many transactions of one agent are all found again") {
  TransactionCacheOptions options;
  options.entries_max = 10'000;
  options.hash_seed = 12345;
  TransactionCache cache{options};
  for (mgcp::TransactionId id = 1; id <= 10'000; ++id) {
    run(cache, id, std::to_string(id));
  }
  for (mgcp::TransactionId id = 1; id <= 10'000; ++id) {
    REQUIRE(cache.begin(key(id), kStart).answer == std::to_string(id));
  }
  CHECK(cache.counters().evicted == 0);
  CHECK(cache.size() == 10'000);
}
