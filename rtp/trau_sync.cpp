#include "rtp/trau_sync.h"

#include "rtp/bit_string.h"
#include "rtp/trau_frame.h"

#include <algorithm>

namespace rtp {
namespace {

// Chance of a false alignment: 2^-36 per bit with two patterns of 18 bits, 2^-32 with four of 8.
constexpr std::uint8_t kConfirmations670 = 2;
constexpr std::uint8_t kConfirmations740 = 4;

}  // namespace

TrauSync::Pattern TrauSync::make_pattern(const TrauLayout& layout,
                                         std::uint8_t confirmations) noexcept {
  Pattern pattern;
  pattern.confirmations = confirmations;
  for (std::size_t bit = 0; bit < layout.frame_bits; ++bit) {
    const std::size_t from_end = layout.frame_bits - 1 - bit;
    const std::size_t word = kWords - 1 - from_end / 64;
    const std::uint64_t place = std::uint64_t{1} << (from_end % 64);
    pattern.mask[word] |= get_bit(layout.mask, bit) ? place : 0;
    pattern.value[word] |= get_bit(layout.value, bit) ? place : 0;
  }
  return pattern;
}

TrauSync::TrauSync(TrauFraming framing) noexcept
    : frame_bits_(trau_frame_bits(framing)),
      step_bits_(time_alignment_steps_max(framing) == 0 ? 0 : time_alignment_step_bits(framing)),
      lengthened_max_(step_bits_ * time_alignment_steps_max(framing)),
      framing_(framing) {
  if (framing == TrauFraming::trau_16k) {
    patterns_[pattern_count_++] = make_pattern(kTrauLayout16k, 1);
  } else {
    patterns_[pattern_count_++] = make_pattern(kTrauLayout8k, 1);
  }
  if (framing == TrauFraming::amr_8k) {
    patterns_[pattern_count_++] = make_pattern(kTrauLayout8kAmr670, kConfirmations670);
    patterns_[pattern_count_++] = make_pattern(kTrauLayout8kAmr740, kConfirmations740);
  }
  reset();
}

void TrauSync::reset() noexcept {
  newest_.fill(~std::uint64_t{0});
  matches_.fill(0);
  frame_.fill(std::byte{0xff});
  place_ = 0;
  since_frame_ = 0;
  errored_frames_ = 0;
  pattern_errors_ = 0;
  aligned_ = false;
  lengthened_ = false;
}

std::span<const std::byte> TrauSync::frame() const noexcept {
  return std::span(frame_).first(frame_bits_ / 8);
}

const TrauSync::Pattern* TrauSync::find_match() const noexcept {
  for (std::size_t index = 0; index < pattern_count_; ++index) {
    const Pattern& pattern = patterns_[index];
    std::uint64_t wrong = 0;
    for (std::size_t word = 0; word < kWords; ++word) {
      wrong |= (newest_[word] ^ pattern.value[word]) & pattern.mask[word];
    }
    if (wrong == 0) {
      return &pattern;
    }
  }
  return nullptr;
}

bool TrauSync::begins_with_ones() const noexcept {
  for (std::size_t bit = 0; bit < step_bits_; ++bit) {
    const std::size_t from_end = frame_bits_ - 1 - bit;
    if ((newest_[kWords - 1 - from_end / 64] >> (from_end % 64) & 1U) == 0) {
      return false;
    }
  }
  return step_bits_ != 0;
}

TrauSyncEvent TrauSync::push(bool bit) noexcept {
  for (std::size_t word = 0; word + 1 < kWords; ++word) {
    newest_[word] = newest_[word] << 1U | newest_[word + 1] >> 63U;
  }
  newest_[kWords - 1] = newest_[kWords - 1] << 1U | (bit ? 1U : 0U);
  ++since_frame_;
  return aligned_ ? keep() : search();
}

TrauSyncEvent TrauSync::search() noexcept {
  const Pattern* const match = find_match();
  std::uint8_t& in_row = matches_[place_];
  place_ = place_ + 1 == frame_bits_ ? 0 : place_ + 1;
  if (match == nullptr) {
    in_row = 0;
    return TrauSyncEvent::none;
  }
  in_row = static_cast<std::uint8_t>(in_row + 1);
  if (in_row < match->confirmations) {
    return TrauSyncEvent::none;
  }
  aligned_ = true;
  return deliver();
}

TrauSyncEvent TrauSync::keep() noexcept {
  if (lengthened_) {
    if (since_frame_ == 2 * frame_bits_) {
      lengthened_ = false;
      ++errored_frames_;  // the one that was taken for ones and is gone
      return find_match() != nullptr ? deliver() : take_errored();
    }
    const std::size_t added = since_frame_ - frame_bits_;
    const bool may_end = added % step_bits_ == 0 && added <= lengthened_max_;
    return may_end && find_match() != nullptr ? deliver() : TrauSyncEvent::none;
  }
  if (since_frame_ + step_bits_ == frame_bits_ && step_bits_ != 0) {
    return find_match() != nullptr ? deliver() : TrauSyncEvent::none;
  }
  if (since_frame_ < frame_bits_) {
    return TrauSyncEvent::none;
  }
  if (find_match() != nullptr) {
    return deliver();
  }
  lengthened_ = errored_frames_ + 1 < kErroredFramesMax && begins_with_ones();
  return lengthened_ ? TrauSyncEvent::none : take_errored();
}

TrauSyncEvent TrauSync::take_errored() noexcept {
  ++errored_frames_;
  since_frame_ = 0;
  if (errored_frames_ >= kErroredFramesMax) {
    aligned_ = false;
    errored_frames_ = 0;
    matches_.fill(0);
    return TrauSyncEvent::lost;
  }
  store_frame();
  return TrauSyncEvent::frame;
}

TrauSyncEvent TrauSync::deliver() noexcept {
  errored_frames_ = 0;
  since_frame_ = 0;
  lengthened_ = false;
  store_frame();
  return TrauSyncEvent::frame;
}

void TrauSync::store_frame() noexcept {
  const std::size_t octets = frame_bits_ / 8;
  for (std::size_t index = 0; index < octets; ++index) {
    const std::size_t from_end = octets - 1 - index;
    const std::uint64_t word = newest_[kWords - 1 - from_end / 8];
    frame_[index] = static_cast<std::byte>(word >> (from_end % 8 * 8) & 0xffU);
  }
  const TrauLayout& layout = framing_ == TrauFraming::trau_16k ? kTrauLayout16k
                             : framing_ == TrauFraming::hr_8k  ? kTrauLayout8k
                                                               : find_amr_8k_layout(frame());
  pattern_errors_ = count_sync_errors(frame(), layout);
}

}  // namespace rtp
