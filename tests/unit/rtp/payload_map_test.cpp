// Payload types translated by codec; nothing is relabelled as something else.
#include "rtp/payload_map.h"

#include <doctest/doctest.h>

namespace {

using rtp::Conversion;
using rtp::PayloadAction;
using rtp::UnknownPayloadTypes;

}  // namespace

TEST_CASE("each codec leaves with the destination's payload type and conversion, both ways") {
  // PCMA, AMR and telephone-event, numbered differently at both ends.
  rtp::SourcePayloadTypes source;
  CHECK(source.set(8, 0));
  CHECK(source.set(112, 1));
  CHECK(source.set(101, 2));
  rtp::DestinationPayloadTypes destination;
  CHECK(destination.set_target(0, {8, Conversion::none}));
  CHECK(destination.set_target(1, {96, Conversion::amr_to_bandwidth_efficient}));
  CHECK(destination.set_target(2, {97, Conversion::none}));
  for (const auto unknown : {UnknownPayloadTypes::pass, UnknownPayloadTypes::drop}) {
    auto decision = rtp::map_payload_type(source, destination, 112, unknown);
    CHECK(decision.action == PayloadAction::forward);
    CHECK(decision.payload_type == 96);
    CHECK(decision.conversion == Conversion::amr_to_bandwidth_efficient);
    decision = rtp::map_payload_type(source, destination, 101, unknown);
    CHECK(decision.action == PayloadAction::forward);
    CHECK(decision.payload_type == 97);
    CHECK(decision.conversion == Conversion::none);
  }
}

TEST_CASE("a codec that only the source has is dropped, not passed as voice") {
  rtp::SourcePayloadTypes source;
  CHECK(source.set(8, 0));
  CHECK(source.set(101, 1));
  rtp::DestinationPayloadTypes destination;
  CHECK(destination.set_target(0, {8, Conversion::none}));
  const auto decision = rtp::map_payload_type(source, destination, 101, UnknownPayloadTypes::pass);
  CHECK(decision.action == PayloadAction::drop_unmapped);
}

TEST_CASE("a type nobody negotiated passes unchanged, one that means something there does not") {
  rtp::SourcePayloadTypes source;
  CHECK(source.set(112, 0));
  rtp::DestinationPayloadTypes destination;
  CHECK(destination.set_target(0, {96, Conversion::none}));
  CHECK(destination.set_used(13));
  for (unsigned payload_type = 0; payload_type < rtp::kPayloadTypes; ++payload_type) {
    if (payload_type == 112) {
      continue;
    }
    const auto number = static_cast<std::uint8_t>(payload_type);
    const bool used = number == 96 || number == 13;
    const auto passed =
        rtp::map_payload_type(source, destination, number, UnknownPayloadTypes::pass);
    CHECK(passed.action == (used ? PayloadAction::drop_unmapped : PayloadAction::pass_unchanged));
    CHECK(passed.payload_type == number);
    CHECK(rtp::map_payload_type(source, destination, number, UnknownPayloadTypes::drop).action ==
          PayloadAction::drop_unmapped);
  }
}

TEST_CASE("empty tables pass everything, as on a leg without SDP") {
  const rtp::SourcePayloadTypes source;
  const rtp::DestinationPayloadTypes destination;
  CHECK(rtp::map_payload_type(source, destination, 0, UnknownPayloadTypes::pass).action ==
        PayloadAction::pass_unchanged);
}

TEST_CASE("all 32 slots and all 128 payload types can be used, and nothing beyond") {
  rtp::SourcePayloadTypes source;
  rtp::DestinationPayloadTypes destination;
  for (std::uint8_t slot = 0; slot < rtp::kCodecSlotsMax; ++slot) {
    const auto payload_type = static_cast<std::uint8_t>(127 - slot);
    CHECK(source.set(slot, slot));
    CHECK(destination.set_target(slot, {payload_type, Conversion::none}));
    CHECK(destination.target_of(slot)->payload_type == payload_type);
    CHECK(destination.is_used(payload_type));
  }
  CHECK_FALSE(source.set(128, 0));
  CHECK_FALSE(source.set(0, 32));
  CHECK_FALSE(source.set(0, rtp::kNoCodecSlot));
  CHECK_FALSE(destination.set_target(32, {0, Conversion::none}));
  CHECK_FALSE(destination.set_target(0, {128, Conversion::none}));
  CHECK_FALSE(destination.set_used(128));
  CHECK_FALSE(destination.is_used(200));
  CHECK_FALSE(destination.target_of(99).has_value());
  CHECK(destination.target_of(0)->payload_type == 127);
}

TEST_CASE("cleared tables know nothing any more") {
  rtp::SourcePayloadTypes source;
  rtp::DestinationPayloadTypes destination;
  CHECK(source.set(127, 31));
  CHECK(destination.set_target(31, {127, Conversion::gsm_hr_toggle}));
  source.clear();
  destination.clear();
  CHECK(source.slot_of(127) == rtp::kNoCodecSlot);
  CHECK_FALSE(destination.target_of(31).has_value());
  CHECK_FALSE(destination.is_used(127));
}
