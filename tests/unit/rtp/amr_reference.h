#pragma once
// AMR payloads built bit by bit as the figures of RFC 4867 draw them: slow, and no code in common
// with the library, whose conversions are compared with them.

#include "rtp/amr.h"
#include "tests/unit/rtp/test_packets.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace test {

/// Bits one after the other.
class Bits {
 public:
  void put(unsigned value, unsigned count) {
    while (count-- > 0) {
      bits_.push_back((value >> count & 1U) != 0);
    }
  }
  void put(const std::vector<bool>& more) { bits_.insert(bits_.end(), more.begin(), more.end()); }
  void align() { bits_.resize((bits_.size() + 7) / 8 * 8); }
  Bytes bytes() {
    align();
    Bytes result(bits_.size() / 8);
    for (std::size_t index = 0; index < bits_.size(); ++index) {
      if (bits_[index]) {
        result[index / 8] |= static_cast<std::byte>(0x80U >> (index % 8));
      }
    }
    return result;
  }

 private:
  std::vector<bool> bits_;
};

/// One frame; `speech` has as many bits as its type says.
struct TestFrame {
  unsigned type;
  bool good;
  std::vector<bool> speech;
};

/// A payload of these frames in the octet-aligned form.
inline Bytes octet_aligned(unsigned mode_request, const std::vector<TestFrame>& frames) {
  Bits bits;
  bits.put(mode_request, 4);
  bits.align();
  for (const TestFrame& frame : frames) {
    bits.put(&frame != &frames.back() ? 1 : 0, 1);
    bits.put(frame.type, 4);
    bits.put(frame.good ? 1 : 0, 1);
    bits.align();
  }
  for (const TestFrame& frame : frames) {
    bits.put(frame.speech);
    bits.align();
  }
  return bits.bytes();
}

/// A payload of these frames in the bandwidth-efficient form.
inline Bytes bandwidth_efficient(unsigned mode_request, const std::vector<TestFrame>& frames) {
  Bits bits;
  bits.put(mode_request, 4);
  for (const TestFrame& frame : frames) {
    bits.put(&frame != &frames.back() ? 1 : 0, 1);
    bits.put(frame.type, 4);
    bits.put(frame.good ? 1 : 0, 1);
  }
  for (const TestFrame& frame : frames) {
    bits.put(frame.speech);
  }
  return bits.bytes();
}

/// A frame of `type` with random speech bits; one in four is marked as damaged.
inline TestFrame random_frame(test::Random& random, rtp::AmrCodec codec, unsigned type) {
  TestFrame frame{type, random.below(4) != 0, {}};
  const auto bits = rtp::amr_frame_bits(codec, static_cast<std::uint8_t>(type));
  for (unsigned bit = 0; bit < bits.value_or(0); ++bit) {
    frame.speech.push_back(random.below(2) == 1);
  }
  return frame;
}

}  // namespace test
