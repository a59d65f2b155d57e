#pragma once
// Counters that one thread writes and any thread reads (metrics scrapes, tests).

#include <atomic>
#include <cstdint>

namespace io {

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
