#pragma once
// The content of the single kinds of TRAU frames, for trau_frame.cpp: readers and writers of their
// bits, the CRC-3, and the orders of the speech bits. Pure functions over bytes, any thread. The
// octets of a frame that they are given are as many as its layout has.

#include "rtp/bit_string.h"
#include "rtp/trau_frame.h"
#include "rtp/trau_layout.h"

#include <tl/expected.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace rtp {

/// The parity of 3 bits of TS 48.060 and TS 48.061: the remainder modulo x^3 + x + 1, inverted.
class Crc3 {
 public:
  /// The next bit that it covers.
  void add(bool bit) noexcept {
    const bool feedback = ((remainder_ >> 2U & 1U) != 0) != bit;
    remainder_ = (remainder_ << 1U & 7U) ^ (feedback ? 3U : 0U);
  }
  /// The parity of the bits so far, its first bit most significant.
  [[nodiscard]] unsigned value() const noexcept { return remainder_ ^ 7U; }

 private:
  unsigned remainder_ = 0;
};

/// Reads bits of a frame by their number among those that are no synchronisation bits.
class FrameReader {
 public:
  /// Both must outlive the reader.
  FrameReader(std::span<const std::byte> frame, const TrauLayout& layout) noexcept
      : frame_(frame), layout_(layout) {}
  /// One bit.
  [[nodiscard]] bool bit(std::size_t at) const noexcept {
    return get_bit(frame_, layout_.free[at]);
  }
  /// `count` bits (at most 32), the first one most significant.
  [[nodiscard]] unsigned field(std::size_t at, std::size_t count) const noexcept {
    unsigned value = 0;
    for (std::size_t index = 0; index < count; ++index) {
      value = value << 1U | (bit(at + index) ? 1U : 0U);
    }
    return value;
  }
  /// `count` bits to the front of `out`.
  void copy(std::size_t at, std::size_t count, std::span<std::byte> out) const noexcept {
    for (std::size_t index = 0; index < count; ++index) {
      set_bit(out, index, bit(at + index));
    }
  }

 private:
  std::span<const std::byte> frame_;
  const TrauLayout& layout_;
};

/// Writes a frame: begins with the synchronisation bits and ones everywhere else.
class FrameWriter {
 public:
  /// `frame` has exactly the octets of the layout; both must outlive the writer.
  FrameWriter(std::span<std::byte> frame, const TrauLayout& layout) noexcept
      : frame_(frame), layout_(layout) {
    for (std::size_t index = 0; index < frame.size(); ++index) {
      frame[index] = layout.value[index] | ~layout.mask[index];
    }
  }
  /// Reads what has been written so far.
  [[nodiscard]] FrameReader reader() const noexcept { return {frame_, layout_}; }
  /// One bit.
  void set(std::size_t at, bool value) noexcept { set_bit(frame_, layout_.free[at], value); }
  /// The low `count` bits of `value`, most significant first.
  void set_field(std::size_t at, std::size_t count, unsigned value) noexcept {
    for (std::size_t index = 0; index < count; ++index) {
      set(at + index, (value >> (count - 1 - index) & 1U) != 0);
    }
  }
  /// The first `count` bits of `in`.
  void copy(std::size_t at, std::size_t count, std::span<const std::byte> in) noexcept {
    for (std::size_t index = 0; index < count; ++index) {
      set(at + index, get_bit(in, index));
    }
  }

 private:
  std::span<std::byte> frame_;
  const TrauLayout& layout_;
};

/// Where a half rate frame has its 112 bits, among the free bits of its layout: D1..D44, the CRC,
/// D45..D112 follow one another.
struct HalfRatePlaces {
  std::size_t unreliable;  ///< UFI
  std::size_t first_data;  ///< D1
};
/// TS 48.061 clause 5.1.1.1: UFI is the bit before D1.
inline constexpr HalfRatePlaces kHalfRate16k{15, 16};
/// TS 48.061 clause 5.2: UFI is XC5, behind C1..C5 and XC1..XC4.
inline constexpr HalfRatePlaces kHalfRate8k{9, 11};

/// FR: each parameter of GSM 06.10 goes least significant bit first.
void parse_full_rate(const FrameReader& reader, TrauFrame& frame) noexcept;
/// The reverse of parse_full_rate.
void build_full_rate(const TrauFrame& frame, FrameWriter& writer) noexcept;
/// EFR: five groups of bits, each with a CRC-3 behind it over the important ones.
void parse_enhanced_full_rate(const FrameReader& reader, TrauFrame& frame) noexcept;
/// The reverse of parse_enhanced_full_rate.
void build_enhanced_full_rate(const TrauFrame& frame, FrameWriter& writer) noexcept;
/// HR: UFI, the bits in their order, a CRC-3 over the first 44.
void parse_half_rate(const FrameReader& reader, HalfRatePlaces places, TrauFrame& frame) noexcept;
/// The reverse of parse_half_rate; UFI is spare (1) in downlink frames at 16 kbit/s.
void build_half_rate(const TrauFrame& frame, HalfRatePlaces places, FrameWriter& writer) noexcept;
/// Data: 36 octets of a synchronisation bit and seven bits (TS 48.061 clause 5.1.2).
void parse_data(std::span<const std::byte> bits, TrauFrame& frame) noexcept;
/// The reverse of parse_data.
void build_data(const TrauFrame& frame, std::span<std::byte> out) noexcept;

/// A whole HR frame of 160 bits, its control bits included.
[[nodiscard]] tl::expected<TrauFrame, TrauError> parse_half_rate_8k(
    std::span<const std::byte> bits) noexcept;
/// The reverse of parse_half_rate_8k.
void build_half_rate_8k(const TrauFrame& frame, std::span<std::byte> out) noexcept;
/// A whole AMR frame of 160 bits, in the layout that fits it best.
[[nodiscard]] tl::expected<TrauFrame, TrauError> parse_amr_8k(
    std::span<const std::byte> bits) noexcept;
/// The reverse of parse_amr_8k. Modes above kAmrMode8kMax are unsupported; mode requests above it
/// are left out.
[[nodiscard]] tl::expected<void, TrauError> build_amr_8k(const TrauFrame& frame,
                                                         std::span<std::byte> out) noexcept;

}  // namespace rtp
