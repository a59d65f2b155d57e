#pragma once
// Remembers which transactions were run and how they were answered, so that each is run at most
// once (RFC 3435 section 3.5). One cache for the whole gateway, owned by its control thread. All
// memory is bounded by the options; answers live in one ring, so remembering does not touch the
// heap. Each operation takes constant time (amortised).

#include "io/socket_address.h"
#include "io/time.h"
#include "mgcp/message.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace mgcp {

/// Whose transaction, and which.
struct TransactionKey {
  io::SocketAddress agent;  ///< address and port
  TransactionId transaction_id = kNoTransactionId;
  friend bool operator==(const TransactionKey&, const TransactionKey&) = default;
};

/// Limits of a TransactionCache.
struct TransactionCacheOptions {
  /// T-HIST: how long an answer is kept after it was given (RFC 3435 section 3.5.1).
  io::Duration history = std::chrono::seconds(30);
  /// 2000 transactions per second for 30 s, rounded up; about 80 bytes each, made when first
  /// needed.
  std::size_t entries_max = 65'536;
  /// All answers together: 512 bytes on average, which an answer with SDP does not need. At least
  /// kAnswerBytesMin.
  std::size_t bytes_max = std::size_t{32} * 1024 * 1024;
  /// Seed of the hash function: a random number per process keeps agents from choosing colliding
  /// ids.
  std::uint64_t hash_seed = 0;
};

/// What happened so far; only ever counted up.
struct TransactionCacheCounters {
  std::uint64_t started = 0;                ///< new transactions
  std::uint64_t completed = 0;              ///< answers stored
  std::uint64_t repeated_done = 0;          ///< repeats answered from the cache
  std::uint64_t repeated_pending = 0;       ///< repeats of a command that still runs
  std::uint64_t repeated_acknowledged = 0;  ///< repeats after `K:`, to be ignored
  std::uint64_t acknowledged = 0;           ///< answers freed by `K:`
  std::uint64_t expired = 0;                ///< answers dropped after T-HIST
  std::uint64_t evicted = 0;                ///< answers dropped early, for want of room
  std::uint64_t refused = 0;                ///< new transactions refused: all entries pending
};

/// The cache. Not copyable; not thread-safe.
class TransactionCache {
 public:
  static constexpr std::size_t kAnswerBytesMin =
      131'072;  ///< smallest ring: two datagrams of the largest size
  /// Ids that one `K:` may acknowledge; the rest of longer ranges is ignored and expires by itself.
  static constexpr std::size_t kAcknowledgedIdsMax = 4096;

  /// What is known of a transaction.
  enum class State : std::uint8_t {
    fresh,    ///< new: now marked pending, the caller runs it and calls complete() or abandon()
    pending,  ///< still running: stay silent, or say 100
    done,     ///< send `answer` again
    acknowledged,  ///< the agent has the answer already: ignore (RFC 3435 section 3.2.2.12)
    full,          ///< no room, every entry is pending: refuse with 403 or stay silent
  };
  /// The answer to begin().
  struct Lookup {
    State state = State::fresh;
    std::string_view answer;     ///< if done; valid until the next call that is not const
    io::TimePoint started_at{};  ///< if pending
  };

  explicit TransactionCache(const TransactionCacheOptions& options);
  TransactionCache(const TransactionCache&) = delete;
  TransactionCache& operator=(const TransactionCache&) = delete;
  TransactionCache(TransactionCache&&) = delete;
  TransactionCache& operator=(TransactionCache&&) = delete;
  ~TransactionCache() = default;

  /// Asks for a transaction and, if it is new, marks it pending. Drops what has expired by `now`;
  /// when full, the oldest answer.
  [[nodiscard]] Lookup begin(const TransactionKey& key, io::TimePoint now);
  /// Stores the answer of a pending transaction, at most kAnswerBytesMin / 2 bytes. False (and
  /// nothing stored) if it is not pending; a longer answer is refused likewise and the transaction
  /// stays pending.
  bool complete(const TransactionKey& key, std::string_view answer, io::TimePoint now);
  /// Forgets a pending transaction that will not be answered. False if it is not pending.
  bool abandon(const TransactionKey& key) noexcept;
  /// `K:` of `agent`: frees the answers to these transactions; later repeats within T-HIST are
  /// ignored. Returns how many.
  std::size_t acknowledge(const io::SocketAddress& agent,
                          std::span<const TransactionRange> ranges) noexcept;
  /// Puts an answer in that was given at `at`, before this cache was made, unless its time is over
  /// or the transaction known. Answers are to come from the oldest to the newest, before all
  /// others.
  void restore(const TransactionKey& key, std::string_view answer, io::TimePoint at,
               io::TimePoint now);
  /// Calls `visitor(key, answer, at)` for each answer that an agent may still want again, from the
  /// oldest to the newest.
  template <typename Visitor>
  void visit_answers(Visitor visitor) const {
    for (Index index = oldest_; index != kNone; index = entries_[index].next_in_list) {
      const Entry& entry = entries_[index];
      if (entry.state == State::done) {
        visitor(entry.key, std::string_view(ring_.get() + entry.answer_offset, entry.answer_bytes),
                entry.at - options_.history);
      }
    }
  }
  /// Drops what has expired.
  void expire(io::TimePoint now) noexcept;

  /// When expire() has something to do next; io::kNever if nothing is stored.
  [[nodiscard]] io::TimePoint next_expiry() const noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return pending_count_ + finished_count_; }
  [[nodiscard]] std::size_t pending_count() const noexcept { return pending_count_; }
  /// Bytes of the ring between its oldest and its newest answer.
  [[nodiscard]] std::size_t bytes_in_use() const noexcept;
  [[nodiscard]] const TransactionCacheCounters& counters() const noexcept { return counters_; }

 private:
  using Index = std::uint32_t;
  static constexpr Index kNone = 0xffff'ffff;

  struct Entry {
    TransactionKey key;
    State state = State::fresh;  ///< pending, done or acknowledged; fresh = free
    Index next_in_bucket = kNone;
    Index next_in_list = kNone;  ///< finished entries in order of completion, or the free list
    std::uint32_t answer_offset = 0;
    std::uint32_t answer_bytes = 0;
    io::TimePoint at{};  ///< pending: begin; finished: expiry
  };

  [[nodiscard]] std::size_t bucket_of(const TransactionKey& key) const noexcept;
  [[nodiscard]] Index find(const TransactionKey& key) const noexcept;
  [[nodiscard]] Index take_entry();
  void release(Index index) noexcept;
  void drop_oldest() noexcept;
  [[nodiscard]] std::size_t reserve_answer(std::size_t bytes) noexcept;

  TransactionCacheOptions options_;
  std::vector<Entry> entries_;
  std::vector<Index> buckets_;
  Index free_ = kNone;
  Index oldest_ = kNone;  ///< first of the finished entries
  Index newest_ = kNone;
  std::size_t pending_count_ = 0;
  std::size_t finished_count_ = 0;
  std::unique_ptr<char[]> ring_;
  std::size_t ring_tail_ =
      0;  ///< where the next answer goes; the oldest finished entry is the head
  TransactionCacheCounters counters_;
};

}  // namespace mgcp
