#pragma once
// Payload types translated by codec, per packet. Each source connection has a table from payload
// type to codec slot, each way from a source to a destination a table from slot to the
// destination's payload type and the conversion that lies between. The signalling side fills both;
// a packet costs two loads.

#include "rtp/payload_conversion.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace rtp {

/// Most codecs of one connection, telephone-event and comfort noise included. Offers of 23 payload
/// types have been seen.
inline constexpr std::size_t kCodecSlotsMax = 32;
/// No codec: the payload type was not negotiated.
inline constexpr std::uint8_t kNoCodecSlot = 0xff;
/// Payload types are 7 bits.
inline constexpr std::size_t kPayloadTypes = 128;

/// A source's payload types: which codec slot each one means.
class SourcePayloadTypes {
 public:
  SourcePayloadTypes() noexcept { clear(); }
  /// Forgets every payload type.
  void clear() noexcept { slots_.fill(kNoCodecSlot); }
  /// `payload_type` means the codec in `slot` from now on. False and nothing changed if either is
  /// out of range.
  bool set(std::uint8_t payload_type, std::uint8_t slot) noexcept;
  /// The slot, or kNoCodecSlot.
  [[nodiscard]] std::uint8_t slot_of(std::uint8_t payload_type) const noexcept {
    return slots_[payload_type & 0x7fU];
  }

 private:
  std::array<std::uint8_t, kPayloadTypes> slots_{};
};

/// How a codec of the source leaves towards one destination.
struct PayloadTarget {
  std::uint8_t payload_type = 0;
  Conversion conversion = Conversion::none;
};

/// The way from one source's codec slots to one destination.
class DestinationPayloadTypes {
 public:
  /// Forgets every target and every used payload type.
  void clear() noexcept;
  /// Packets of the source's codec `slot` leave as `target`. False and nothing changed if either is
  /// out of range.
  bool set_target(std::uint8_t slot, PayloadTarget target) noexcept;
  /// The destination negotiated `payload_type` for some codec (set_target does this too): a payload
  /// type that the source never negotiated must not go out under that number.
  bool set_used(std::uint8_t payload_type) noexcept;

  /// The target of a slot, none if the destination can't take that codec.
  [[nodiscard]] std::optional<PayloadTarget> target_of(std::uint8_t slot) const noexcept;
  /// Whether the number means something at the destination.
  [[nodiscard]] bool is_used(std::uint8_t payload_type) const noexcept;

 private:
  static constexpr std::uint8_t kNoPayloadType = 0xff;

  std::array<std::uint8_t, kCodecSlotsMax> payload_types_ = filled();
  std::array<Conversion, kCodecSlotsMax> conversions_{};
  std::array<std::uint64_t, kPayloadTypes / 64> used_{};

  static constexpr std::array<std::uint8_t, kCodecSlotsMax> filled() noexcept {
    std::array<std::uint8_t, kCodecSlotsMax> all{};
    for (auto& entry : all) {
      entry = kNoPayloadType;
    }
    return all;
  }
};

/// What is done with payload types that the source never negotiated (`rtp.unknown-payload-types`).
enum class UnknownPayloadTypes : std::uint8_t {
  pass,  ///< Unchanged, unless the number means something else at the destination.
  drop,
};

/// What becomes of one packet.
enum class PayloadAction : std::uint8_t {
  forward,         ///< Send it with `payload_type`, after `conversion`.
  pass_unchanged,  ///< Send it as it is.
  drop_unmapped,   ///< Drop it and count "unmapped payload type".
};

/// The verdict on one packet's payload type.
struct PayloadDecision {
  PayloadAction action = PayloadAction::drop_unmapped;
  std::uint8_t payload_type = 0;  ///< What to send it with; the packet's own for pass_unchanged.
  Conversion conversion = Conversion::none;
};

/// Decides on `payload_type` as received (0..127). Nothing is ever relabelled as another codec.
[[nodiscard]] PayloadDecision map_payload_type(const SourcePayloadTypes& source,
                                               const DestinationPayloadTypes& destination,
                                               std::uint8_t payload_type,
                                               UnknownPayloadTypes unknown) noexcept;

}  // namespace rtp
