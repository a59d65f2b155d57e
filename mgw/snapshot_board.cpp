#include "mgw/snapshot_board.h"

#include <utility>

namespace mgw {

std::shared_ptr<const GatewaySnapshot> SnapshotBoard::ask(io::TimePoint now) {
  asked_at_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  if (auto snapshot = latest();
      snapshot != nullptr && snapshot->calls && now - snapshot->at <= kAgeMax) {
    return snapshot;
  }
  on_asked_();
  return nullptr;
}

std::shared_ptr<const GatewaySnapshot> SnapshotBoard::latest() const {
  const std::lock_guard lock(mutex_);
  return latest_;
}

bool SnapshotBoard::is_watched(io::TimePoint now) const noexcept {
  const io::Duration asked_at(asked_at_.load(std::memory_order_relaxed));
  return asked_at.count() != 0 && now.time_since_epoch() - asked_at <= kAttention;
}

void SnapshotBoard::publish(std::shared_ptr<const GatewaySnapshot> snapshot) {
  {
    const std::lock_guard lock(mutex_);
    latest_.swap(snapshot);
  }
  snapshot.reset();  // thousands of calls may go with it: not under the lock
  if (on_published_) {
    on_published_();
  }
}

void SnapshotBoard::on_published(std::function<void()> handler) {
  on_published_ = std::move(handler);
}

}  // namespace mgw
