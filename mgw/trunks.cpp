#include "mgw/trunks.h"

#include "io/assert.h"
#include "rtp/i460.h"

#include <algorithm>
#include <array>
#include <utility>

namespace mgw {

static_assert(kE1EndpointsPerTimeslot == rtp::kSubSlotCount);

namespace {

/// No codec goes at this rate.
constexpr std::uint8_t kUnusedRateKbps = 32;

}  // namespace

Trunks::Trunks(std::uint32_t virtual_endpoints, std::span<const std::uint8_t> e1_trunks)
    : virtual_total_(virtual_endpoints),
      endpoints_(virtual_endpoints + e1_trunks.size() * kE1EndpointsPerTrunk),
      free_(virtual_endpoints),
      used_(endpoints_.size()) {
  for (const std::uint8_t number : e1_trunks) {
    e1_trunks_.push_back({number, 0});
  }
  for (std::size_t i = 0; i < endpoints_.size(); ++i) {
    used_.erase(i);
    if (i >= virtual_endpoints) {
      endpoints_[i].trunk =
          static_cast<std::uint8_t>(1 + (i - virtual_endpoints) / kE1EndpointsPerTrunk);
    }
  }
}

std::optional<Trunks::Range> Trunks::resolve(const mgcp::EndpointName& name) const noexcept {
  if (mgcp::is_virtual(name.kind)) {
    if (mgcp::is_wildcard(name.kind)) {
      return Range{1, virtual_total_};
    }
    return name.number >= 1 && name.number <= virtual_total_
               ? std::optional(Range{name.number, name.number})
               : std::nullopt;
  }
  const auto trunk =
      std::find_if(e1_trunks_.begin(), e1_trunks_.end(),
                   [&name](const E1Trunk& candidate) { return candidate.number == name.e1_trunk; });
  if (!mgcp::is_e1(name.kind) || trunk == e1_trunks_.end()) {
    return std::nullopt;
  }
  const std::uint32_t first = first_of(static_cast<std::size_t>(trunk - e1_trunks_.begin()));
  if (mgcp::is_wildcard(name.kind)) {
    return Range{first, first + kE1EndpointsPerTrunk - 1};
  }
  const auto index = rtp::find_sub_slot(name.subslot.rate_kbps, name.subslot.bit_offset);
  MGW_ASSERT(index);  // the parser of names knows no others
  const std::uint32_t number = first + (name.subslot.timeslot - 1U) * kE1EndpointsPerTimeslot +
                               static_cast<std::uint32_t>(*index);
  return Range{number, number};
}

std::string Trunks::name_of(std::uint32_t number, std::string_view domain) const {
  mgcp::EndpointName name;
  name.domain = domain;
  if (const auto subslot = subslot_of(number)) {
    name.kind = mgcp::EndpointKind::e1_one;
    name.e1_trunk = e1_trunks_[*e1_trunk_of(number)].number;
    name.subslot = *subslot;
  } else {
    name.kind = mgcp::EndpointKind::virtual_one;
    name.number = number;
  }
  std::string text;
  mgcp::append_endpoint_name(text, name);
  return text;
}

std::optional<std::size_t> Trunks::e1_trunk_of(std::uint32_t number) const noexcept {
  if (number <= virtual_total_) {
    return std::nullopt;
  }
  return (number - virtual_total_ - 1) / kE1EndpointsPerTrunk;
}

std::optional<mgcp::E1Subslot> Trunks::subslot_of(std::uint32_t number) const noexcept {
  const auto trunk = e1_trunk_of(number);
  if (!trunk) {
    return std::nullopt;
  }
  const std::uint32_t index = number - first_of(*trunk);
  const rtp::SubSlot shape = *rtp::sub_slot_at(index % kE1EndpointsPerTimeslot);
  return mgcp::E1Subslot{static_cast<std::uint8_t>(index / kE1EndpointsPerTimeslot + 1),
                         shape.rate_kbps, shape.bit_offset};
}

EndpointKey Trunks::key_of(std::uint32_t number) const noexcept {
  const auto trunk = e1_trunk_of(number);
  if (!trunk) {
    return {0, number - 1};
  }
  return {static_cast<std::uint16_t>(1 + e1_trunks_[*trunk].number), number - first_of(*trunk)};
}

std::optional<std::uint32_t> Trunks::number_of(const EndpointKey& key) const noexcept {
  if (key.trunk == 0) {
    return key.position < virtual_total_ ? std::optional(key.position + 1) : std::nullopt;
  }
  for (std::size_t i = 0; i < e1_trunks_.size(); ++i) {
    if (e1_trunks_[i].number + 1U == key.trunk && key.position < kE1EndpointsPerTrunk) {
      return first_of(i) + key.position;
    }
  }
  return std::nullopt;
}

Endpoint* Trunks::find(std::uint32_t number) noexcept {
  return number >= 1 && number <= endpoints_.size() ? &endpoints_[number - 1] : nullptr;
}

const Endpoint* Trunks::find(std::uint32_t number) const noexcept {
  return number >= 1 && number <= endpoints_.size() ? &endpoints_[number - 1] : nullptr;
}

std::optional<std::uint32_t> Trunks::lowest_free() const noexcept {
  const auto index = free_.lowest();
  return index ? std::optional(static_cast<std::uint32_t>(*index + 1)) : std::nullopt;
}

std::optional<std::uint32_t> Trunks::lowest_free_subslot(Range range) const noexcept {
  for (std::uint32_t number = range.first; number <= range.last; ++number) {
    const bool usable = subslot_of(number)->rate_kbps != kUnusedRateKbps;
    if (usable && endpoints_[number - 1].call_id.empty() && !overlaps_used(number)) {
      return number;
    }
  }
  return std::nullopt;
}

bool Trunks::overlaps_used(std::uint32_t number) const noexcept {
  const auto own = subslot_of(number);
  MGW_ASSERT(own);
  const rtp::SubSlot bits{own->rate_kbps, own->bit_offset};
  const std::uint32_t first =
      number - (number - first_of(*e1_trunk_of(number))) % kE1EndpointsPerTimeslot;
  for (std::uint32_t i = 0; i < kE1EndpointsPerTimeslot; ++i) {
    const rtp::SubSlot other = *rtp::sub_slot_at(i);
    if (first + i != number && !endpoints_[first + i - 1].call_id.empty() &&
        rtp::sub_slots_overlap(bits, other)) {
      return true;
    }
  }
  return false;
}

void Trunks::claim(std::uint32_t number, std::string call_id, std::uint32_t worker) {
  Endpoint* endpoint = find(number);
  MGW_ASSERT(endpoint != nullptr);
  MGW_ASSERT(endpoint->call_id.empty());
  endpoint->call_id = std::move(call_id);
  endpoint->ignore_call_id = false;
  endpoint->worker = worker;
  ++used_counter(number);
  used_.insert(number - 1);
  if (number <= virtual_total_) {
    free_.erase(number - 1);
  }
}

void Trunks::release(std::uint32_t number) {
  Endpoint* endpoint = find(number);
  MGW_ASSERT(endpoint != nullptr);
  MGW_ASSERT(endpoint->connections.empty());
  endpoint->call_id.clear();
  endpoint->ignore_call_id = false;
  --used_counter(number);
  used_.erase(number - 1);
  if (number <= virtual_total_) {
    free_.insert(number - 1);
  }
}

std::optional<std::uint32_t> Trunks::next_used(std::uint32_t number) const noexcept {
  const auto index = used_.next_from(number >= 1 ? number - 1 : 0);
  return index ? std::optional(static_cast<std::uint32_t>(*index + 1)) : std::nullopt;
}

std::uint32_t& Trunks::used_counter(std::uint32_t number) noexcept {
  const auto trunk = e1_trunk_of(number);
  return trunk ? e1_trunks_[*trunk].used : virtual_used_;
}

}  // namespace mgw
