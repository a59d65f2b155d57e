// The bytes choose a sequence of operations on a small cache; a plain model of its promises
// watches: no transaction is started twice while it is known, answers come back whole, nothing
// exceeds the bounds.
#include "mgcp/transaction_cache.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

namespace {

using mgcp::TransactionCache;
using mgcp::TransactionKey;
using State = TransactionCache::State;

constexpr std::size_t kEntriesMax = 8;
constexpr std::size_t kAnswerUnitBytes = 250;
constexpr io::Duration kHistory = std::chrono::seconds(30);

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

class Player {
 public:
  Player()
      : agents_{io::SocketAddress::parse("127.0.0.1", 2727).value(),
                io::SocketAddress::parse("::1", 2727).value()},
        cache_(make_options()) {}

  /// One operation: which, on which transaction, and an amount of bytes or time.
  void step(std::uint8_t operation, std::uint8_t which, std::uint8_t amount) {
    const TransactionKey key{agents_[which & 1U], 1U + (which >> 1U) % 16U};
    const std::size_t slot = which % 32U;
    switch (operation % 8) {
      case 0:
      case 1:
      case 2:
        begin(key, slot);
        break;
      case 3:
      case 4:
        complete(key, slot, amount);
        break;
      case 5:
        require(cache_.abandon(key) == (model_[slot].state == State::pending));
        if (model_[slot].state == State::pending) {
          model_.erase(slot);
        }
        break;
      case 6:
        acknowledge(key, slot, amount);
        break;
      default:
        now_ += std::chrono::milliseconds(100) * amount;
        cache_.expire(now_);
        break;
    }
    require(cache_.size() <= kEntriesMax);
    require(cache_.pending_count() <= cache_.size());
    require(cache_.bytes_in_use() <= TransactionCache::kAnswerBytesMin);
  }

 private:
  struct Known {
    State state = State::fresh;
    std::string answer;
    io::TimePoint expiry{};
  };

  static mgcp::TransactionCacheOptions make_options() {
    mgcp::TransactionCacheOptions options;
    options.history = kHistory;
    options.entries_max = kEntriesMax;
    options.bytes_max = TransactionCache::kAnswerBytesMin;
    return options;
  }

  void begin(const TransactionKey& key, std::size_t slot) {
    const auto evicted = cache_.counters().evicted;
    const auto lookup = cache_.begin(key, now_);
    Known& known = model_[slot];
    switch (lookup.state) {
      case State::fresh:
        require(known.state != State::pending);
        // A finished one may be new again only if it expired or had to make room.
        require(known.state == State::fresh || known.expiry <= now_ || evicted > 0);
        known = {State::pending, {}, {}};
        break;
      case State::pending:
        require(known.state == State::pending);
        break;
      case State::done:
        require(known.state == State::done && known.answer == lookup.answer);
        require(now_ < known.expiry);
        break;
      case State::acknowledged:
        require(known.state == State::acknowledged && now_ < known.expiry);
        break;
      case State::full:
        require(known.state != State::pending && cache_.pending_count() == kEntriesMax);
        break;
    }
  }

  void complete(const TransactionKey& key, std::size_t slot, std::uint8_t amount) {
    const std::string answer(amount * kAnswerUnitBytes, static_cast<char>('a' + slot % 26));
    const bool pending = model_[slot].state == State::pending;
    require(cache_.complete(key, answer, now_) == pending);
    if (pending) {
      model_[slot] = {State::done, answer, now_ + kHistory};
    }
  }

  void acknowledge(const TransactionKey& key, std::size_t slot, std::uint8_t amount) {
    const std::vector<mgcp::TransactionRange> range{{key.transaction_id, key.transaction_id}};
    const std::size_t freed = cache_.acknowledge(key.agent, range);
    require(freed == 0 || model_[slot].state == State::done);
    if (freed == 1) {
      model_[slot].state = State::acknowledged;
      model_[slot].answer.clear();
    }
    // Ids that nobody used.
    const std::vector<mgcp::TransactionRange> far{{1000, 1000U + amount}};
    require(cache_.acknowledge(key.agent, far) == 0);
  }

  std::vector<io::SocketAddress> agents_;
  TransactionCache cache_;
  std::map<std::size_t, Known> model_;
  io::TimePoint now_{std::chrono::seconds(1)};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kStepsMax = 2000;
  Player player;
  for (std::size_t i = 0; i + 3 <= size && i / 3 < kStepsMax; i += 3) {
    player.step(data[i], data[i + 1], data[i + 2]);
  }
  return 0;
}
