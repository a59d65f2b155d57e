#include "mgw/leg.h"

namespace mgw {

bool Leg::accepts_stranger(const LegContext& /*context*/,
                           const MediaPacket& /*packet*/) const noexcept {
  return false;
}

rtp::TimelineTiming Leg::media_timing(const ForwardingEntry& entry) const noexcept {
  return entry.timing;
}

void Leg::send_keep_alive(const LegContext& /*context*/) noexcept {}

void Leg::entry_applied(const LegContext& /*context*/) noexcept {}

void Leg::detached(const LegContext& /*context*/) noexcept {}

void Leg::on_due(const LegContext& /*context*/) noexcept {}

void Leg::add_counters(ConnectionCounters& /*counters*/) const noexcept {}

void Leg::save(StateWriter& /*writer*/) const {}

void Leg::load(StateReader& /*reader*/, bool /*is_exact*/) {}

}  // namespace mgw
