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

Buffer Buffer::share() const noexcept {
  MGW_ASSERT(pool_ != nullptr);
  std::uint16_t& references = pool_->references_[slot_];
  MGW_ASSERT(references < std::numeric_limits<std::uint16_t>::max());
  ++references;
  return {pool_, slot_};
}

}  // namespace io
