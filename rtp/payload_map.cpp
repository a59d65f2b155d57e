#include "rtp/payload_map.h"

namespace rtp {

bool SourcePayloadTypes::set(std::uint8_t payload_type, std::uint8_t slot) noexcept {
  if (payload_type >= kPayloadTypes || slot >= kCodecSlotsMax) {
    return false;
  }
  slots_[payload_type] = slot;
  return true;
}

void DestinationPayloadTypes::clear() noexcept {
  *this = DestinationPayloadTypes{};
}

bool DestinationPayloadTypes::set_target(std::uint8_t slot, PayloadTarget target) noexcept {
  if (slot >= kCodecSlotsMax || !set_used(target.payload_type)) {
    return false;
  }
  payload_types_[slot] = target.payload_type;
  conversions_[slot] = target.conversion;
  return true;
}

bool DestinationPayloadTypes::set_used(std::uint8_t payload_type) noexcept {
  if (payload_type >= kPayloadTypes) {
    return false;
  }
  used_[payload_type / 64U] |= std::uint64_t{1} << (payload_type % 64U);
  return true;
}

std::optional<PayloadTarget> DestinationPayloadTypes::target_of(std::uint8_t slot) const noexcept {
  if (slot >= kCodecSlotsMax || payload_types_[slot] == kNoPayloadType) {
    return std::nullopt;
  }
  return PayloadTarget{payload_types_[slot], conversions_[slot]};
}

bool DestinationPayloadTypes::is_used(std::uint8_t payload_type) const noexcept {
  return payload_type < kPayloadTypes &&
         (used_[payload_type / 64U] >> (payload_type % 64U) & 1U) != 0;
}

PayloadDecision map_payload_type(const SourcePayloadTypes& source,
                                 const DestinationPayloadTypes& destination,
                                 std::uint8_t payload_type, UnknownPayloadTypes unknown) noexcept {
  const std::uint8_t slot = source.slot_of(payload_type);
  if (slot != kNoCodecSlot) {
    const auto target = destination.target_of(slot);
    if (!target) {
      return {PayloadAction::drop_unmapped, payload_type, Conversion::none};
    }
    return {PayloadAction::forward, target->payload_type, target->conversion};
  }
  const bool passes = unknown == UnknownPayloadTypes::pass && !destination.is_used(payload_type);
  return {passes ? PayloadAction::pass_unchanged : PayloadAction::drop_unmapped, payload_type,
          Conversion::none};
}

}  // namespace rtp
