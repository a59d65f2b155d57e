#include "io/kernel_flow_memory.h"

#include "io/assert.h"

#include <unistd.h>

#include <atomic>

namespace io {

namespace {

/// The kernel lets go of a flow within a fraction of a microsecond, unless the machine stands
/// still.
constexpr int kSpinsBeforeYield = 1000;

std::atomic_ref<std::uint32_t> word_of(KernelFlow& flow) noexcept {
  return std::atomic_ref<std::uint32_t>(flow.word);
}

}  // namespace

KernelFlow& KernelFlowMemory::at(std::uint32_t number) const noexcept {
  MGW_ASSERT(number < flows_.size());
  return flows_[number];
}

void KernelFlowMemory::activate(std::uint32_t number, const KernelFlowEntry& entry,
                                const KernelFlowState& seed) noexcept {
  KernelFlow& flow = at(number);
  MGW_ASSERT((word_of(flow).load(std::memory_order_relaxed) & kKernelFlowActive) == 0);
  flow.entry = entry;
  flow.state = seed;
  // A packet that met another one may have left its mark after stop().
  word_of(flow).fetch_and(~static_cast<std::uint32_t>(kKernelFlowStopped),
                          std::memory_order_relaxed);
  std::atomic_ref<std::uint32_t>(flow.generation).fetch_add(1, std::memory_order_release);
  word_of(flow).fetch_or(kKernelFlowActive, std::memory_order_release);
}

KernelFlowState KernelFlowMemory::stop(std::uint32_t number) noexcept {
  KernelFlow& flow = at(number);
  word_of(flow).fetch_or(kKernelFlowStopped, std::memory_order_acq_rel);
  for (int spins = 0; (word_of(flow).load(std::memory_order_acquire) & kKernelFlowBusy) != 0;
       ++spins) {
    if (spins > kSpinsBeforeYield) {
      ::usleep(1);
    }
  }
  const KernelFlowState state = flow.state;
  word_of(flow).fetch_and(~static_cast<std::uint32_t>(kKernelFlowActive),
                          std::memory_order_acq_rel);
  return state;
}

std::optional<KernelFlowState> KernelFlowMemory::read(std::uint32_t number) const noexcept {
  KernelFlow& flow = at(number);
  const std::atomic_ref<__u64> packets(flow.state.packets);
  const auto before = packets.load(std::memory_order_acquire);
  if ((word_of(flow).load(std::memory_order_acquire) & kKernelFlowBusy) != 0) {
    return std::nullopt;
  }
  const KernelFlowState state = flow.state;
  // Changes nothing, but what was read before it was read before it: as a fence would do, which
  // the thread sanitizer does not know.
  const std::uint32_t word = word_of(flow).fetch_or(0, std::memory_order_acq_rel);
  if ((word & kKernelFlowBusy) != 0 || packets.load(std::memory_order_relaxed) != before) {
    return std::nullopt;
  }
  return state;
}

bool KernelFlowMemory::is_active(std::uint32_t number) const noexcept {
  return (word_of(at(number)).load(std::memory_order_acquire) &
          (kKernelFlowActive | kKernelFlowStopped)) == kKernelFlowActive;
}

}  // namespace io
