// The part of PollBackend that concerns sockets whose datagrams come joined (UDP GRO).

#include "io/poll_backend.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace io {

void PollBackend::receive_joined(std::uint32_t index) noexcept {
  Slot& slot = slots_[index];
  const std::size_t calls_max = expects_burst(slot) ? kReceivedPerSocketMax : 1;
  const std::size_t enough = received_.size() + kReceivedPerSocketMax;
  std::size_t calls = 0;
  while (calls < calls_max && !joined_.pending() && spares_armed_ > 0 &&
         received_.size() < std::min(enough, kReceivedPerPassMax)) {
    const int error = joined_.receive(slot.descriptor, {index, slot.generation}, slot.tag);
    counters_.system_calls.add();
    if (error != 0) {
      if (error != EAGAIN && error != EINTR) {
        report_error(index, error);
      }
      break;
    }
    ++calls;
    split_joined();
  }
  slot.burst = calls > 1;
}

void PollBackend::split_joined() noexcept {
  if (!joined_.pending()) {
    return;
  }
  const Slot* slot = find(joined_.socket());
  if (slot == nullptr) {
    joined_.discard();  // closed since
    return;
  }
  joined_.split(received_, pool_.slot_bytes(), counters_, [this]() noexcept {
    Buffer buffer = pool_.take();
    if (!buffer && spares_armed_ > 0) {
      buffer = std::move(spares_[--spares_armed_]);
    }
    return buffer;
  });
}

}  // namespace io
