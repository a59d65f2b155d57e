#pragma once
// A bounded queue from one thread to another. It carries no wake-up of its own: the producer wakes
// the consumer once after a burst.

#include "io/assert.h"

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace io {

/// Single producer, single consumer, no locks, no allocation after construction. Both ends see the
/// other's writes in order.
template <typename Value>
class Inbox {
 public:
  /// `capacity` is rounded up to a power of two.
  explicit Inbox(std::size_t capacity)
      : mask_(round_up(capacity) - 1), values_(new Value[mask_ + 1]) {}

  /// Producer: false when full or closed; `value` is untouched then.
  [[nodiscard]] bool push(Value&& value) noexcept {
    if (closed_.load(std::memory_order_acquire)) {
      return false;
    }
    const std::size_t tail = tail_.load(std::memory_order_relaxed);
    if (tail - head_.load(std::memory_order_acquire) > mask_) {
      return false;
    }
    values_[tail & mask_] = std::move(value);
    tail_.store(tail + 1, std::memory_order_release);
    return true;
  }

  /// Consumer: the oldest value, moved to `value`; false when empty.
  [[nodiscard]] bool pop(Value& value) noexcept {
    const std::size_t head = head_.load(std::memory_order_relaxed);
    if (head == tail_.load(std::memory_order_acquire)) {
      return false;
    }
    value = std::move(values_[head & mask_]);
    values_[head & mask_] = Value{};
    head_.store(head + 1, std::memory_order_release);
    return true;
  }

  /// Either end: no push succeeds any more; what is inside can still be popped.
  void close() noexcept { closed_.store(true, std::memory_order_release); }
  /// How many values wait. Either end; a moment later it may be different.
  [[nodiscard]] std::size_t size() const noexcept {
    const std::size_t head = head_.load(std::memory_order_acquire);
    return tail_.load(std::memory_order_acquire) - head;
  }
  [[nodiscard]] bool empty() const noexcept {
    return head_.load(std::memory_order_acquire) == tail_.load(std::memory_order_acquire);
  }
  [[nodiscard]] std::size_t capacity() const noexcept { return mask_ + 1; }

 private:
  [[nodiscard]] static std::size_t round_up(std::size_t wanted) noexcept {
    std::size_t power = 1;
    while (power < wanted) {
      power *= 2;
    }
    return power;
  }

  std::size_t mask_;
  std::unique_ptr<Value[]> values_;
  alignas(64) std::atomic<std::size_t> head_{0};
  alignas(64) std::atomic<std::size_t> tail_{0};
  alignas(64) std::atomic<bool> closed_{false};
};

}  // namespace io
