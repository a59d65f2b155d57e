#include "mgw/media_registry.h"

#include "io/assert.h"

namespace mgw {

LegTotals& LegTotals::operator+=(const LegTotals& other) noexcept {
  rtp_received.packets += other.rtp_received.packets;
  rtp_received.octets += other.rtp_received.octets;
  rtp_sent.packets += other.rtp_sent.packets;
  rtp_sent.octets += other.rtp_sent.octets;
  dropped += other.dropped;
  timestamp_errors_in += other.timestamp_errors_in;
  timestamp_errors_out += other.timestamp_errors_out;
  osmux_chunks_received += other.osmux_chunks_received;
  osmux_octets_received += other.osmux_octets_received;
  osmux_packets_encoded += other.osmux_packets_encoded;
  osmux_amr_octets_encoded += other.osmux_amr_octets_encoded;
  osmux_packets_dropped += other.osmux_packets_dropped;
  e1_receive_failures += other.e1_receive_failures;
  e1_send_failures += other.e1_send_failures;
  e1_fillers += other.e1_fillers;
  closed += other.closed;
  return *this;
}

LegTotals totals_of(const LiveCounters& live) noexcept {
  LegTotals totals;
  totals.rtp_received = live.rtp_received.value();
  totals.rtp_sent = live.rtp_sent.value();
  totals.dropped = live.dropped.value();
  totals.timestamp_errors_in = live.timestamp_errors_in.value();
  totals.timestamp_errors_out = live.timestamp_errors_out.value();
  totals.osmux_chunks_received = live.osmux.chunks_received.value();
  totals.osmux_octets_received = live.osmux.octets_received.value();
  totals.osmux_packets_encoded = live.osmux.packets_encoded.value();
  totals.osmux_amr_octets_encoded = live.osmux.amr_octets_encoded.value();
  totals.osmux_packets_dropped = live.osmux.packets_dropped.value();
  totals.e1_receive_failures = live.e1.receive_failures.value();
  totals.e1_send_failures = live.e1.send_failures.value();
  totals.e1_fillers = live.e1.fillers.value();
  return totals;
}

LegTotals& TrunkLegTotals::of(LegKind kind) noexcept {
  switch (kind) {
    case LegKind::osmux:
      return osmux;
    case LegKind::e1:
      return lines;
    case LegKind::rtp:
    case LegKind::iuup:
      break;
  }
  return rtp;
}

void MediaRegistry::add(std::uint32_t worker, std::uint32_t slot, std::uint32_t trunk, LegKind kind,
                        const MediaConnection& media) {
  std::vector<RegisteredLeg>& slots = workers_[worker];
  if (slot >= slots.size()) {
    slots.resize(slot + 1U);
  }
  MGW_ASSERT(slots[slot].media == nullptr);
  slots[slot] = {&media, kind == LegKind::e1 ? 0 : next_number_++, trunk, kind};
}

void MediaRegistry::remove(std::uint32_t worker, std::uint32_t slot) {
  if (find(worker, slot) == nullptr) {
    return;
  }
  RegisteredLeg& leg = workers_[worker][slot];
  LegTotals totals = totals_of(leg.media->live);
  totals.closed = 1;
  closed_[leg.trunk].of(leg.kind) += totals;
  leg = RegisteredLeg();
}

void MediaRegistry::forget(std::uint32_t worker, std::uint32_t slot) {
  if (find(worker, slot) != nullptr) {
    workers_[worker][slot] = RegisteredLeg();
  }
}

const MediaConnection* MediaRegistry::find(std::uint32_t worker,
                                           std::uint32_t slot) const noexcept {
  const std::vector<RegisteredLeg>& slots = workers_[worker];
  return slot < slots.size() ? slots[slot].media : nullptr;
}

void MediaRegistry::visit(const std::function<void(const RegisteredLeg&)>& visitor) const {
  for (const std::vector<RegisteredLeg>& slots : workers_) {
    for (const RegisteredLeg& leg : slots) {
      if (leg.media != nullptr) {
        visitor(leg);
      }
    }
  }
}

std::vector<TrunkLegTotals> MediaRegistry::totals() const {
  std::vector<TrunkLegTotals> sums = closed_;
  visit([&sums](const RegisteredLeg& leg) {
    sums[leg.trunk].of(leg.kind) += totals_of(leg.media->live);
  });
  return sums;
}

}  // namespace mgw
