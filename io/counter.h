#pragma once
// Counters that one thread writes and any thread reads (metrics scrapes, tests).

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace io {

/// What two threads write is at least so far apart, or each write of one would take the line from
/// the other's cache. (std::hardware_destructive_interference_size is not to be had of clang 14.)
inline constexpr std::size_t kCacheLineBytes = 64;

/// A number with one writer thread and any number of readers. Adding costs a plain load and store.
class Counter {
 public:
  /// Adds `amount`. Owner thread only.
  void add(std::uint64_t amount = 1) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
  /// Sets the value, for gauges. Owner thread only.
  void set(std::uint64_t value) noexcept { value_.store(value, std::memory_order_relaxed); }
  /// The present value. Any thread.
  [[nodiscard]] std::uint64_t value() const noexcept {
    return value_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint64_t> value_{0};
};

}  // namespace io
