#include "io/timer_queue.h"

#include <algorithm>

namespace io {

namespace {

/// Heap order: the earliest instant on top, of the same instant the one that was armed first.
struct Later {
  template <typename Entry>
  bool operator()(const Entry& left, const Entry& right) const noexcept {
    if (left.timer.at != right.timer.at) {
      return left.timer.at > right.timer.at;
    }
    return left.order > right.order;
  }
};

}  // namespace

void TimerQueue::arm(TimePoint at, std::uint64_t key, std::uint32_t generation) {
  heap_.push_back(Entry{Timer{at, key, generation}, armed_++});
  std::push_heap(heap_.begin(), heap_.end(), Later{});
}

TimePoint TimerQueue::next_expiry() const noexcept {
  return heap_.empty() ? kNever : heap_.front().timer.at;
}

bool TimerQueue::take_due(TimePoint now, Timer& timer) noexcept {
  if (heap_.empty() || heap_.front().timer.at > now) {
    return false;
  }
  timer = heap_.front().timer;
  std::pop_heap(heap_.begin(), heap_.end(), Later{});
  heap_.pop_back();
  return true;
}

}  // namespace io
