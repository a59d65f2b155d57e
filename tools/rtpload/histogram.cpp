#include "tools/rtpload/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace rtpload {

// Values below 64 have a bucket each. Above, the position of the highest bit chooses the octave and
// the six bits after it the bucket within.
std::size_t Histogram::bucket_of(std::uint64_t value) noexcept {
  if (value < kBucketsPerOctave) {
    return static_cast<std::size_t>(value);
  }
  const unsigned shift = static_cast<unsigned>(std::bit_width(value)) - 1U - kBucketBits;
  return static_cast<std::size_t>((std::uint64_t{shift} << kBucketBits) + (value >> shift));
}

std::uint64_t Histogram::last_value_of(std::size_t bucket) noexcept {
  if (bucket < kBucketsPerOctave) {
    return bucket;
  }
  const auto shift = static_cast<unsigned>(bucket >> kBucketBits) - 1U;
  const std::uint64_t mantissa = (bucket & (kBucketsPerOctave - 1)) + kBucketsPerOctave;
  return ((mantissa + 1) << shift) - 1;
}

void Histogram::add(std::uint64_t value) noexcept {
  ++buckets_[bucket_of(value)];
  ++count_;
  max_ = std::max(max_, value);
}

void Histogram::merge(const Histogram& other) noexcept {
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    buckets_[bucket] += other.buckets_[bucket];
  }
  count_ += other.count_;
  max_ = std::max(max_, other.max_);
}

std::uint64_t Histogram::quantile(double fraction) const noexcept {
  const double exact_rank = std::ceil(std::clamp(fraction, 0.0, 1.0) * static_cast<double>(count_));
  const std::uint64_t rank = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(exact_rank));
  std::uint64_t below = 0;
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    below += buckets_[bucket];
    if (below >= rank) {
      return std::min(last_value_of(bucket), max_);
    }
  }
  return max_;
}

}  // namespace rtpload
