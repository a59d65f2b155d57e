#pragma once
// How often which value came, in constant time and memory, for values from 1 ns to centuries.

#include <array>
#include <cstdint>

namespace rtpload {

/// Log-linear: 64 equal buckets per power of two, so a quantile is right within 1.6 %; below 64 it
/// is exact.
class Histogram {
 public:
  /// Counts one value.
  void add(std::uint64_t value) noexcept;
  /// Adds all values of `other`.
  void merge(const Histogram& other) noexcept;
  /// Forgets everything.
  void clear() noexcept { *this = Histogram{}; }

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  /// The largest value, exact; 0 without values.
  [[nodiscard]] std::uint64_t max() const noexcept { return max_; }
  /// The least value such that at least `fraction` (0 to 1) of all values are not larger; 0 without
  /// values. Rounded up to the end of its bucket.
  [[nodiscard]] std::uint64_t quantile(double fraction) const noexcept;

 private:
  static constexpr unsigned kBucketBits = 6;
  static constexpr std::uint64_t kBucketsPerOctave = std::uint64_t{1} << kBucketBits;
  static constexpr std::size_t kBuckets = (64 - kBucketBits + 1) * kBucketsPerOctave;

  [[nodiscard]] static std::size_t bucket_of(std::uint64_t value) noexcept;
  [[nodiscard]] static std::uint64_t last_value_of(std::size_t bucket) noexcept;

  std::array<std::uint64_t, kBuckets> buckets_{};
  std::uint64_t count_ = 0;
  std::uint64_t max_ = 0;
};

}  // namespace rtpload
