#include "rtp/trau_layout.h"

#include <bit>

namespace rtp {

unsigned count_sync_errors(std::span<const std::byte> frame, const TrauLayout& layout) noexcept {
  unsigned errors = 0;
  for (std::size_t index = 0; index < layout.frame_bits / 8; ++index) {
    const std::byte wrong = (frame[index] ^ layout.value[index]) & layout.mask[index];
    errors += static_cast<unsigned>(std::popcount(std::to_integer<unsigned>(wrong)));
  }
  return errors;
}

const TrauLayout& find_amr_8k_layout(std::span<const std::byte> frame) noexcept {
  const TrauLayout* best = &kTrauLayout8k;
  for (const TrauLayout* layout : {&kTrauLayout8kAmr670, &kTrauLayout8kAmr740}) {
    if (count_sync_errors(frame, *layout) * best->sync_bits <
        count_sync_errors(frame, *best) * layout->sync_bits) {
      best = layout;
    }
  }
  return *best;
}

}  // namespace rtp
