#include "mgcp/transaction_cache.h"

#include "io/assert.h"

#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace mgcp {

namespace {

/// Offsets in the ring are 32 bits wide.
constexpr std::size_t kRingBytesMax = 0xffff'ffff;
constexpr std::size_t kEntriesMax = std::size_t{1} << 30U;

/// One round of a multiply-and-shift mixer (the finalizer of splitmix64): every input bit reaches
/// every output bit.
std::uint64_t mix(std::uint64_t value) noexcept {
  value = (value ^ (value >> 30U)) * 0xbf58'476d'1ce4'e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d0'49bb'1331'11ebU;
  return value ^ (value >> 31U);
}

/// Hashes all of an address with the seed from the start: a hash without a seed would let a sender
/// choose addresses that collide.
std::uint64_t hash_agent(const io::SocketAddress& agent, std::uint64_t seed) noexcept {
  std::uint64_t hash = mix(seed + 0x9e37'79b9'7f4a'7c15U + agent.port());
  if (agent.family() == io::AddressFamily::ipv4) {
    sockaddr_in ipv4{};
    std::memcpy(&ipv4, agent.kernel_address(), sizeof ipv4);
    return mix(hash ^ ipv4.sin_addr.s_addr);
  }
  if (agent.family() == io::AddressFamily::ipv6) {
    sockaddr_in6 ipv6{};
    std::memcpy(&ipv6, agent.kernel_address(), sizeof ipv6);
    std::array<std::uint64_t, 2> words{};
    std::memcpy(words.data(), &ipv6.sin6_addr, sizeof ipv6.sin6_addr);
    hash = mix(hash ^ words[0]);
    hash = mix(hash ^ words[1]);
  }
  return hash;
}

}  // namespace

TransactionCache::TransactionCache(const TransactionCacheOptions& options) : options_(options) {
  options_.entries_max = std::clamp(options_.entries_max, std::size_t{1}, kEntriesMax);
  options_.bytes_max = std::clamp(options_.bytes_max, kAnswerBytesMin, kRingBytesMax);
  buckets_.assign(std::bit_ceil(options_.entries_max), kNone);
  // Not initialised on purpose: the kernel supplies the pages when they are first written.
  ring_ = std::make_unique_for_overwrite<char[]>(options_.bytes_max);
}

TransactionCache::Lookup TransactionCache::begin(const TransactionKey& key, io::TimePoint now) {
  expire(now);
  const Index found = find(key);
  if (found != kNone) {
    const Entry& entry = entries_[found];
    switch (entry.state) {
      case State::pending:
        ++counters_.repeated_pending;
        return {State::pending, {}, entry.at};
      case State::acknowledged:
        ++counters_.repeated_acknowledged;
        return {State::acknowledged, {}, {}};
      default:
        MGW_ASSERT(entry.state == State::done);
        ++counters_.repeated_done;
        return {State::done,
                std::string_view(ring_.get() + entry.answer_offset, entry.answer_bytes),
                {}};
    }
  }
  if (size() == options_.entries_max) {
    if (oldest_ == kNone) {
      ++counters_.refused;
      return {State::full, {}, {}};
    }
    drop_oldest();
    ++counters_.evicted;
  }
  const Index index = take_entry();
  Entry& entry = entries_[index];
  entry.key = key;
  entry.state = State::pending;
  entry.at = now;
  Index& bucket = buckets_[bucket_of(key)];
  entry.next_in_bucket = bucket;
  bucket = index;
  ++pending_count_;
  ++counters_.started;
  return {State::fresh, {}, {}};
}

bool TransactionCache::complete(const TransactionKey& key, std::string_view answer,
                                io::TimePoint now) {
  const Index index = find(key);
  if (index == kNone || entries_[index].state != State::pending ||
      answer.size() > kAnswerBytesMin / 2) {
    return false;
  }
  const std::size_t offset = reserve_answer(answer.size());
  answer.copy(ring_.get() + offset, answer.size());
  Entry& entry = entries_[index];
  entry.state = State::done;
  entry.answer_offset = static_cast<std::uint32_t>(offset);
  entry.answer_bytes = static_cast<std::uint32_t>(answer.size());
  entry.at = now + options_.history;
  entry.next_in_list = kNone;
  (newest_ == kNone ? oldest_ : entries_[newest_].next_in_list) = index;
  newest_ = index;
  --pending_count_;
  ++finished_count_;
  ++counters_.completed;
  return true;
}

bool TransactionCache::abandon(const TransactionKey& key) noexcept {
  const Index index = find(key);
  if (index == kNone || entries_[index].state != State::pending) {
    return false;
  }
  release(index);
  --pending_count_;
  return true;
}

std::size_t TransactionCache::acknowledge(const io::SocketAddress& agent,
                                          std::span<const TransactionRange> ranges) noexcept {
  std::size_t looked_up = 0;
  std::size_t freed = 0;
  for (const TransactionRange& range : ranges) {
    const TransactionId last = std::min(range.last, kTransactionIdMax);
    for (TransactionId id = range.first; id <= last; ++id) {
      if (looked_up == kAcknowledgedIdsMax) {
        return freed;
      }
      ++looked_up;
      const Index index = find({agent, id});
      if (index != kNone && entries_[index].state == State::done) {
        entries_[index].state = State::acknowledged;
        ++counters_.acknowledged;
        ++freed;
      }
    }
  }
  return freed;
}

void TransactionCache::restore(const TransactionKey& key, std::string_view answer, io::TimePoint at,
                               io::TimePoint now) {
  if (at > now || now - at >= options_.history || begin(key, at).state != State::fresh) {
    return;
  }
  if (!complete(key, answer, at)) {
    abandon(key);
  }
}

void TransactionCache::expire(io::TimePoint now) noexcept {
  while (oldest_ != kNone && entries_[oldest_].at <= now) {
    drop_oldest();
    ++counters_.expired;
  }
}

io::TimePoint TransactionCache::next_expiry() const noexcept {
  return oldest_ == kNone ? io::kNever : entries_[oldest_].at;
}

std::size_t TransactionCache::bytes_in_use() const noexcept {
  if (oldest_ == kNone) {
    return 0;
  }
  const std::size_t head = entries_[oldest_].answer_offset;
  return ring_tail_ >= head ? ring_tail_ - head : options_.bytes_max - head + ring_tail_;
}

std::size_t TransactionCache::bucket_of(const TransactionKey& key) const noexcept {
  const std::uint64_t hash = hash_agent(key.agent, options_.hash_seed);
  return static_cast<std::size_t>(mix(hash ^ key.transaction_id)) & (buckets_.size() - 1);
}

TransactionCache::Index TransactionCache::find(const TransactionKey& key) const noexcept {
  Index index = buckets_[bucket_of(key)];
  while (index != kNone && !(entries_[index].key == key)) {
    index = entries_[index].next_in_bucket;
  }
  return index;
}

TransactionCache::Index TransactionCache::take_entry() {
  if (free_ != kNone) {
    const Index index = free_;
    free_ = entries_[index].next_in_list;
    return index;
  }
  entries_.emplace_back();
  return static_cast<Index>(entries_.size() - 1);
}

/// Takes an entry out of its bucket and puts it on the free list; the caller keeps the counts.
void TransactionCache::release(Index index) noexcept {
  Entry& entry = entries_[index];
  Index* link = &buckets_[bucket_of(entry.key)];
  while (*link != index) {
    MGW_ASSERT(*link != kNone);
    link = &entries_[*link].next_in_bucket;
  }
  *link = entry.next_in_bucket;
  entry.state = State::fresh;
  entry.next_in_list = free_;
  free_ = index;
}

void TransactionCache::drop_oldest() noexcept {
  MGW_ASSERT(oldest_ != kNone);
  const Index index = oldest_;
  oldest_ = entries_[index].next_in_list;
  if (oldest_ == kNone) {
    newest_ = kNone;
  }
  release(index);
  --finished_count_;
}

/// Finds room for an answer at the ring's tail, dropping the oldest answers as long as there is
/// none. Answers lie in order of completion, so the free part is one piece, or two around the
/// ring's end. The tail never catches up with a head that has bytes, so that "equal" can only mean
/// that none are in use.
std::size_t TransactionCache::reserve_answer(std::size_t bytes) noexcept {
  while (oldest_ != kNone) {
    const std::size_t head = entries_[oldest_].answer_offset;
    const bool wrapped = ring_tail_ < head;
    const std::size_t end = wrapped ? head - 1 : options_.bytes_max;
    if (ring_tail_ + bytes <= end) {
      const std::size_t offset = ring_tail_;
      ring_tail_ += bytes;
      return offset;
    }
    if (!wrapped && bytes < head) {
      ring_tail_ = bytes;
      return 0;
    }
    drop_oldest();
    ++counters_.evicted;
  }
  ring_tail_ = bytes;
  return 0;
}

}  // namespace mgcp
