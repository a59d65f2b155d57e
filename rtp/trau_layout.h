#pragma once
// Where the synchronisation bits of the TRAU frames are (3GPP TS 48.060, TS 48.061
// clause 5), as tables made at compile time. Everything else of a frame is addressed as the n-th
// bit that is none of them. Constants and pure functions, any thread.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace rtp {

/// Bits of the longest frame: 20 ms of 16 kbit/s.
inline constexpr std::size_t kTrauFrameBitsMax = 320;
/// Octets of the longest frame.
inline constexpr std::size_t kTrauFrameBytesMax = kTrauFrameBitsMax / 8;

/// What a stream of TRAU frames can look like. In amr_8k the layout changes from frame to frame.
enum class TrauFraming : std::uint8_t {
  trau_16k,  ///< FR, EFR, HR, AMR, data, idle and O&M frames of 320 bits.
  hr_8k,     ///< Half rate frames of 160 bits.
  amr_8k,    ///< AMR frames of 160 bits, up to 7.40 kbit/s.
};

/// Bits of a frame: 20 ms of the sub-slot.
[[nodiscard]] constexpr std::size_t trau_frame_bits(TrauFraming framing) noexcept {
  return framing == TrauFraming::trau_16k ? kTrauFrameBitsMax : kTrauFrameBitsMax / 2;
}

/// The synchronisation bits of one layout and the places that they leave.
struct TrauLayout {
  std::size_t frame_bits = 0;
  std::size_t sync_bits = 0;
  std::array<std::byte, kTrauFrameBytesMax> mask{};   ///< 1 = a synchronisation bit.
  std::array<std::byte, kTrauFrameBytesMax> value{};  ///< The synchronisation bits, else 0.
  /// The other bits' numbers within the frame, in order; the first frame_bits - sync_bits are set.
  std::array<std::uint16_t, kTrauFrameBitsMax> free{};
};

namespace detail {

/// What a bit of a pattern must be.
enum class SyncBit : std::uint8_t { none, zero, one };

template <typename Rule>
constexpr TrauLayout make_layout(std::size_t frame_bits, Rule rule) noexcept {
  TrauLayout layout;
  layout.frame_bits = frame_bits;
  for (std::size_t bit = 0; bit < frame_bits; ++bit) {
    const SyncBit sync = rule(bit);
    if (sync == SyncBit::none) {
      layout.free[bit - layout.sync_bits] = static_cast<std::uint16_t>(bit);
      continue;
    }
    const std::byte place = std::byte{0x80} >> (bit % 8);
    layout.mask[bit / 8] |= place;
    layout.value[bit / 8] |= sync == SyncBit::one ? place : std::byte{0};
    ++layout.sync_bits;
  }
  return layout;
}

constexpr SyncBit sync_16k(std::size_t bit) noexcept {
  return bit < 16 ? SyncBit::zero : bit % 16 == 0 ? SyncBit::one : SyncBit::none;
}

constexpr SyncBit sync_8k(std::size_t bit) noexcept {
  if (bit < 8 || bit == 16) {
    return SyncBit::zero;
  }
  return bit % 8 == 0 || bit == 17 ? SyncBit::one : SyncBit::none;
}

constexpr SyncBit sync_8k_amr_670(std::size_t bit) noexcept {
  if (bit < 8) {
    return SyncBit::zero;
  }
  return bit == 8 || bit % 16 == 0 ? SyncBit::one : SyncBit::none;
}

constexpr SyncBit sync_8k_amr_740(std::size_t bit) noexcept {
  // Far from eight zeros, with which the other layouts begin, and from idle bits.
  constexpr unsigned kFirstOctet = 0x1d;
  if (bit >= 8) {
    return SyncBit::none;
  }
  return (kFirstOctet >> (7 - bit) & 1U) != 0 ? SyncBit::one : SyncBit::zero;
}

}  // namespace detail

/// All frames of 16 kbit/s: 16 zeros, then a one before every 15 bits (TS 48.060).
inline constexpr TrauLayout kTrauLayout16k =
    detail::make_layout(kTrauFrameBitsMax, detail::sync_16k);
/// Half rate speech at 8 kbit/s (TS 48.061 clause 5.2); AMR up to 5.90 kbit/s uses it too.
inline constexpr TrauLayout kTrauLayout8k =
    detail::make_layout(kTrauFrameBitsMax / 2, detail::sync_8k);
/// AMR 6.70 kbit/s at 8 kbit/s: mgw's own layout, see trau_frame.h.
inline constexpr TrauLayout kTrauLayout8kAmr670 =
    detail::make_layout(kTrauFrameBitsMax / 2, detail::sync_8k_amr_670);
/// AMR 7.40 kbit/s at 8 kbit/s: mgw's own layout, see trau_frame.h.
inline constexpr TrauLayout kTrauLayout8kAmr740 =
    detail::make_layout(kTrauFrameBitsMax / 2, detail::sync_8k_amr_740);

static_assert(kTrauLayout16k.sync_bits == 35);
static_assert(kTrauLayout8k.sync_bits == 28);
static_assert(kTrauLayout8kAmr670.sync_bits == 18);
static_assert(kTrauLayout8kAmr740.sync_bits == 8);

/// How many synchronisation bits of a frame are wrong. `frame` has the octets of layout.frame_bits.
[[nodiscard]] unsigned count_sync_errors(std::span<const std::byte> frame,
                                         const TrauLayout& layout) noexcept;

/// Which of the three layouts of amr_8k a frame of 160 bits has: the first of them, strongest
/// pattern first, of which the smallest part of the synchronisation bits is wrong.
[[nodiscard]] const TrauLayout& find_amr_8k_layout(std::span<const std::byte> frame) noexcept;

}  // namespace rtp
