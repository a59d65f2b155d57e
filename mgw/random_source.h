#pragma once
// Randomness comes in from outside, so that a simulation is the same again with the same seed.

#include <cstdint>

namespace mgw {

/// Where random numbers come from.
class RandomSource {
 public:
  RandomSource() = default;
  RandomSource(const RandomSource&) = delete;
  RandomSource& operator=(const RandomSource&) = delete;
  RandomSource(RandomSource&&) = delete;
  RandomSource& operator=(RandomSource&&) = delete;
  virtual ~RandomSource() = default;
  /// 32 random bits.
  [[nodiscard]] virtual std::uint32_t next() = 0;
};

}  // namespace mgw
