#pragma once
// The memory that packets live in: a fixed number of equal slots, allocated once. One pool per
// worker thread; a slot may be shared by several datagrams of that worker (fan-out) and returns
// when the last one lets go.

#include "io/assert.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace io {

class BufferPool;

/// A counted reference to one slot. Owner thread of the pool only. Empty after a move.
class Buffer {
 public:
  Buffer() noexcept = default;
  Buffer(Buffer&& other) noexcept
      : pool_(std::exchange(other.pool_, nullptr)), slot_(other.slot_) {}
  Buffer& operator=(Buffer&& other) noexcept {
    if (this != &other) {
      release();
      pool_ = std::exchange(other.pool_, nullptr);
      slot_ = other.slot_;
    }
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { release(); }

  /// True if it refers to a slot.
  [[nodiscard]] explicit operator bool() const noexcept { return pool_ != nullptr; }
  /// The slot's first byte. Writing requires unique().
  [[nodiscard]] std::byte* data() const noexcept;
  /// The slot's size in bytes.
  [[nodiscard]] std::size_t capacity() const noexcept;
  /// A further reference to the same slot.
  [[nodiscard]] Buffer share() const noexcept;
  /// True if no other reference to the slot exists.
  [[nodiscard]] bool unique() const noexcept;
  /// Which slot of its pool this is. For backends.
  [[nodiscard]] std::uint32_t slot() const noexcept { return slot_; }
  /// Gives the slot up without returning it to the pool: the caller (a backend that lends it to the
  /// kernel) brings it back with BufferPool::adopt(). Requires unique().
  [[nodiscard]] std::uint32_t detach() noexcept;

 private:
  friend class BufferPool;
  Buffer(BufferPool* pool, std::uint32_t slot) noexcept : pool_(pool), slot_(slot) {}
  void release() noexcept;

  BufferPool* pool_ = nullptr;
  std::uint32_t slot_ = 0;
};

/// `slots` slots of `slot_bytes` bytes. The most recently returned slot is handed out first, as its
/// memory is still in the cache. Must outlive every Buffer taken from it (the destructor asserts
/// that all are back).
class BufferPool {
 public:
  /// Allocates everything; throws std::bad_alloc. `slots` 1 to 1,048,576, `slot_bytes` 256 to
  /// 65,600.
  BufferPool(std::uint32_t slots, std::uint32_t slot_bytes);
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;
  BufferPool(BufferPool&&) = delete;
  BufferPool& operator=(BufferPool&&) = delete;
  ~BufferPool();

  /// A free slot, or an empty Buffer when all are in use.
  [[nodiscard]] Buffer take() noexcept;
  /// Makes a detached slot a Buffer again.
  [[nodiscard]] Buffer adopt(std::uint32_t slot) noexcept;

  [[nodiscard]] std::uint32_t available() const noexcept {
    return static_cast<std::uint32_t>(free_.size());
  }
  [[nodiscard]] std::uint32_t slots() const noexcept { return slots_; }
  [[nodiscard]] std::uint32_t slot_bytes() const noexcept { return slot_bytes_; }
  [[nodiscard]] std::byte* slot_data(std::uint32_t slot) const noexcept {
    return memory_.get() + static_cast<std::size_t>(slot) * slot_bytes_;
  }

 private:
  friend class Buffer;
  struct FreePages {
    std::size_t bytes = 0;
    void operator()(std::byte* memory) const noexcept;
  };

  std::uint32_t slots_;
  std::uint32_t slot_bytes_;
  std::unique_ptr<std::byte[], FreePages> memory_;
  std::vector<std::uint32_t> free_;        // a stack of free slot numbers
  std::vector<std::uint16_t> references_;  // per slot; 0 = free or detached
};

inline std::byte* Buffer::data() const noexcept {
  return pool_->slot_data(slot_);
}
inline std::size_t Buffer::capacity() const noexcept {
  return pool_->slot_bytes();
}

// Several of these run for every packet.

inline Buffer BufferPool::take() noexcept {
  if (free_.empty()) {
    return {};
  }
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  references_[slot] = 1;
  return {this, slot};
}

inline Buffer BufferPool::adopt(std::uint32_t slot) noexcept {
  MGW_ASSERT(slot < slots_);
  MGW_ASSERT(references_[slot] == 0);
  references_[slot] = 1;
  return {this, slot};
}

inline bool Buffer::unique() const noexcept {
  return pool_ != nullptr && pool_->references_[slot_] == 1;
}

inline std::uint32_t Buffer::detach() noexcept {
  MGW_ASSERT(unique());
  pool_->references_[slot_] = 0;
  pool_ = nullptr;
  return slot_;
}

inline void Buffer::release() noexcept {
  if (pool_ == nullptr) {
    return;
  }
  std::uint16_t& references = pool_->references_[slot_];
  MGW_ASSERT(references > 0);
  --references;
  if (references == 0) {
    // Within the capacity reserved by the constructor: never allocates.
    pool_->free_.push_back(slot_);
  }
  pool_ = nullptr;
}

}  // namespace io
