#include "io/buffer_pool.h"

#include "io/assert.h"

#include <sys/mman.h>

#include <limits>
#include <new>

namespace io {

namespace {

constexpr std::uint32_t kSlotsMax = 1'048'576;
constexpr std::uint32_t kSlotBytesMin = 256;
constexpr std::uint32_t kSlotBytesMax = 65'600;

std::size_t total_bytes(std::uint32_t slots, std::uint32_t slot_bytes) noexcept {
  MGW_ASSERT(slots >= 1);
  MGW_ASSERT(slots <= kSlotsMax);
  MGW_ASSERT(slot_bytes >= kSlotBytesMin);
  MGW_ASSERT(slot_bytes <= kSlotBytesMax);
  return static_cast<std::size_t>(slots) * slot_bytes;
}

/// Fresh pages from the kernel: they cost memory only from the first use of a slot on, and slots
/// are handed out most recently used first, so a pool that is sized for the worst hour costs what
/// the present one needs.
std::byte* map_pages(std::size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::bad_alloc();
  }
  return static_cast<std::byte*>(memory);
}

}  // namespace

void BufferPool::FreePages::operator()(std::byte* memory) const noexcept {
  static_cast<void>(::munmap(memory, bytes));
}

BufferPool::BufferPool(std::uint32_t slots, std::uint32_t slot_bytes)
    : slots_(slots),
      slot_bytes_(slot_bytes),
      memory_(map_pages(total_bytes(slots, slot_bytes)),
              FreePages{total_bytes(slots, slot_bytes)}) {
  references_.assign(slots, 0);
  free_.reserve(slots);
  for (std::uint32_t slot = slots; slot > 0; --slot) {
    free_.push_back(slot - 1);
  }
}

BufferPool::~BufferPool() {
  MGW_ASSERT(free_.size() == slots_);
}

Buffer BufferPool::take() noexcept {
  if (free_.empty()) {
    return {};
  }
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  references_[slot] = 1;
  return {this, slot};
}

Buffer BufferPool::adopt(std::uint32_t slot) noexcept {
  MGW_ASSERT(slot < slots_);
  MGW_ASSERT(references_[slot] == 0);
  references_[slot] = 1;
  return {this, slot};
}

Buffer Buffer::share() const noexcept {
  MGW_ASSERT(pool_ != nullptr);
  std::uint16_t& references = pool_->references_[slot_];
  MGW_ASSERT(references < std::numeric_limits<std::uint16_t>::max());
  ++references;
  return {pool_, slot_};
}

bool Buffer::unique() const noexcept {
  return pool_ != nullptr && pool_->references_[slot_] == 1;
}

std::uint32_t Buffer::detach() noexcept {
  MGW_ASSERT(unique());
  pool_->references_[slot_] = 0;
  pool_ = nullptr;
  return slot_;
}

void Buffer::release() noexcept {
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
