#include "mgw/port_pool.h"

#include "io/assert.h"

namespace mgw {

PortPool::PortPool(std::uint16_t first, std::uint16_t last, io::Duration quarantine)
    : first_(first), quarantine_(quarantine), free_((last - first + 1U) / 2U) {
  MGW_ASSERT(first % 2 == 0);
  MGW_ASSERT(first < last);
}

std::optional<std::uint16_t> PortPool::acquire(io::TimePoint now) {
  while (!resting_.empty() && resting_.front().until <= now) {
    free_.insert(resting_.front().pair);
    resting_.pop_front();
  }
  auto pair = free_.next_from(cursor_);
  if (!pair) {
    pair = free_.lowest();
  }
  if (!pair) {
    return std::nullopt;
  }
  free_.erase(*pair);
  ++used_;
  cursor_ = (*pair + 1) % free_.size();
  return static_cast<std::uint16_t>(first_ + 2 * *pair);
}

bool PortPool::claim(std::uint16_t rtp_port) {
  const bool in_range =
      rtp_port >= first_ && rtp_port < first_ + 2 * free_.size() && (rtp_port - first_) % 2 == 0;
  if (!in_range || !free_.contains(pair_of(rtp_port))) {
    return false;
  }
  free_.erase(pair_of(rtp_port));
  ++used_;
  return true;
}

void PortPool::release(std::uint16_t rtp_port, io::TimePoint now) {
  const std::size_t pair = pair_of(rtp_port);
  MGW_ASSERT(!free_.contains(pair));
  MGW_ASSERT(used_ > 0);
  --used_;
  resting_.push_back({now + quarantine_, pair});
}

std::size_t PortPool::pair_of(std::uint16_t rtp_port) const noexcept {
  MGW_ASSERT(rtp_port >= first_);
  const std::size_t pair = static_cast<std::size_t>(rtp_port - first_) / 2;
  MGW_ASSERT(pair < free_.size());
  return pair;
}

bool PortPool::is_out(std::uint16_t rtp_port) const noexcept {
  if (rtp_port < first_ || rtp_port % 2 != 0) {
    return false;
  }
  const std::size_t pair = (rtp_port - first_) / 2U;
  return pair < free_.size() && !free_.contains(pair);
}

}  // namespace mgw
