#include "io/sim_backend.h"

#include <algorithm>
#include <cerrno>
#include <limits>

namespace io {

SimBackend::SimBackend(BufferPool& pool, SimNetwork& network, const BackendOptions& options)
    : pool_(pool), network_(network), options_(options) {
  MGW_ASSERT(pool.slot_bytes() > kHeadroomBytes);
  if (options_.sockets_max == 0) {
    options_.sockets_max = std::numeric_limits<std::uint32_t>::max();
  }
  received_.reserve(kReceivedPerPassMax);
}

SimBackend::~SimBackend() {
  for (const Slot& slot : slots_) {
    if (slot.state != SlotState::unused) {
      network_.close(slot.handle);
    }
  }
}

SimBackend::Slot* SimBackend::find(SocketId socket) noexcept {
  if (socket.index >= slots_.size()) {
    return nullptr;
  }
  Slot& slot = slots_[socket.index];
  const bool current = slot.generation == socket.generation && slot.state != SlotState::unused;
  return current ? &slot : nullptr;
}

SocketId SimBackend::id_of(const Slot& slot) const noexcept {
  return {static_cast<std::uint32_t>(&slot - slots_.data()), slot.generation};
}

Result<SocketId> SimBackend::open(BoundSocket&& socket, std::uint64_t tag) noexcept {
  BoundSocket owned = std::move(socket);
  MGW_ASSERT(owned);
  if (open_sockets_ >= options_.sockets_max) {
    return failure(ENFILE);
  }
  if (unused_slots_.empty()) {
    unused_slots_.push_back(static_cast<std::uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const std::uint32_t index = unused_slots_.back();
  unused_slots_.pop_back();
  Slot& slot = slots_[index];
  slot.handle = owned.release();
  slot.tag = tag;
  slot.state = SlotState::open;
  slot_of_handle_[slot.handle] = index;
  network_.watch(slot.handle, &ready_);
  counters_.sockets.set(++open_sockets_);
  return id_of(slot);
}

void SimBackend::close(SocketId socket) noexcept {
  Slot* slot = find(socket);
  if (slot == nullptr || slot->state == SlotState::closing) {
    return;
  }
  slot->state = SlotState::closing;
  slot->close_mark = outgoing_.size();
  slot->close_passes_left = faults_.close_passes;
  network_.watch(slot->handle, nullptr);
  slot_of_handle_.erase(slot->handle);
  closing_slots_.push_back(socket.index);
}

PassResult SimBackend::pass(TimePoint /*deadline*/) noexcept {
  received_.clear();
  events_.clear();
  flush();
  finish_closing();
  network_.deliver_due();
  harvest();
  counters_.passes.add();
  return {received_, events_, woken_.exchange(false)};
}

bool SimBackend::ready() const noexcept {
  const bool due = network_.next_delivery() <= network_.clock().now();
  // What the last pass handed out and nobody took goes back to the pool with the next one.
  const bool returning = std::any_of(received_.begin(), received_.end(), [](const Datagram& left) {
    return static_cast<bool>(left.buffer);
  });
  const bool buffers = (pool_.available() > 0 || returning) && !faults_.starved;
  const bool receivable = !ready_.empty() && buffers;
  return !outgoing_.empty() || !closing_slots_.empty() || woken_.load() || due || receivable;
}

void SimBackend::flush() {
  for (std::size_t position = 0; position < outgoing_.size(); ++position) {
    send_one(outgoing_[position], position);
  }
  outgoing_.clear();
  for (const std::uint32_t index : closing_slots_) {
    slots_[index].close_mark = 0;  // what comes later is too late, should closing take some passes
  }
}

void SimBackend::send_one(const Datagram& datagram, std::size_t position) {
  const Slot* slot = find(datagram.socket);
  const bool closed =
      slot == nullptr || (slot->state == SlotState::closing && position >= slot->close_mark);
  if (closed) {
    counters_.send_closed.add();
    return;
  }
  int error = network_.send(slot->handle, datagram.bytes(), datagram.peer);
  if (error == ECONNREFUSED) {
    // The pending error of an earlier datagram, as on the kernel's sockets: try this one once more.
    report_error(*slot, error);
    error = network_.send(slot->handle, datagram.bytes(), datagram.peer);
  }
  if (error == 0) {
    counters_.sent.add();
  } else {
    count_send_error(error);
  }
}

void SimBackend::finish_closing() {
  std::vector<std::uint32_t> later;
  for (const std::uint32_t index : closing_slots_) {
    Slot& slot = slots_[index];
    if (slot.close_passes_left > 0) {
      --slot.close_passes_left;
      later.push_back(index);
      continue;
    }
    network_.close(slot.handle);
    events_.push_back({id_of(slot), slot.tag, SocketEventKind::closed, 0});
    const std::uint32_t generation = slot.generation + 1;
    slot = Slot{};
    slot.generation = generation;
    unused_slots_.push_back(index);
    counters_.sockets.set(--open_sockets_);
  }
  closing_slots_ = std::move(later);
}

void SimBackend::harvest() {
  // Every socket gets its turn; those that are not empty afterwards queue up again.
  for (std::size_t turns = ready_.size(); turns > 0 && !ready_.empty(); --turns) {
    if (received_.size() >= kReceivedPerPassMax) {
      return;
    }
    const int handle = ready_.front();
    const auto found = slot_of_handle_.find(handle);
    if (found == slot_of_handle_.end() || !network_.has_work(handle)) {
      ready_.pop_front();
      continue;
    }
    Slot& slot = slots_[found->second];
    if (const int error = network_.take_error(handle); error != 0) {
      report_error(slot, error);
    }
    if (!receive_from(slot)) {
      return;
    }
    ready_.pop_front();
    if (network_.has_work(handle)) {
      ready_.push_back(handle);
    }
  }
}

bool SimBackend::out_of_buffers() noexcept {
  const bool none = faults_.starved || pool_.available() == 0;
  if (none && !paused_) {
    counters_.received_no_buffer.add();
  }
  paused_ = none;
  return none;
}

bool SimBackend::receive_from(Slot& slot) {
  const std::size_t room = kReceivedPerPassMax - received_.size();
  const std::size_t most = std::min(kReceivedPerSocketMax, room);
  const std::size_t longest = pool_.slot_bytes() - kHeadroomBytes;
  for (std::size_t count = 0; count < most && network_.has_work(slot.handle); ++count) {
    if (out_of_buffers()) {
      return false;
    }
    const std::optional<SimDatagram> arrived = network_.receive(slot.handle);
    if (!arrived) {
      break;
    }
    if (arrived->bytes.size() > longest) {
      counters_.received_oversize.add();
      continue;
    }
    Datagram& datagram = received_.emplace_back();
    datagram.buffer = pool_.take();
    datagram.offset = kHeadroomBytes;
    datagram.size = static_cast<std::uint32_t>(arrived->bytes.size());
    datagram.socket = id_of(slot);
    datagram.tag = slot.tag;
    datagram.peer = arrived->source;
    std::copy(arrived->bytes.begin(), arrived->bytes.end(), datagram.bytes().begin());
    counters_.received.add();
  }
  return true;
}

void SimBackend::report_error(const Slot& slot, int error) {
  counters_.receive_errors.add();
  events_.push_back({id_of(slot), slot.tag, SocketEventKind::receive_error, error});
}

}  // namespace io
