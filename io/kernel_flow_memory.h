#pragma once
// Flows in memory that a worker and the program in the kernel share, and the protocol by which one
// of the two owns a flow at each instant (KernelFlowBits).

#include "io/kernel_flow_table.h"

#include <cstdint>
#include <optional>
#include <span>

namespace io {

/// A table whose flows are in memory; how packets find them and leave is for the derived class.
class KernelFlowMemory : public KernelFlowTable {
 public:
  [[nodiscard]] std::uint32_t size() const noexcept final {
    return static_cast<std::uint32_t>(flows_.size());
  }
  void activate(std::uint32_t number, const KernelFlowEntry& entry,
                const KernelFlowState& seed) noexcept final;
  KernelFlowState stop(std::uint32_t number) noexcept final;
  [[nodiscard]] std::optional<KernelFlowState> read(std::uint32_t number) const noexcept final;
  [[nodiscard]] bool is_active(std::uint32_t number) const noexcept final;

 protected:
  /// `flows` must outlive it.
  explicit KernelFlowMemory(std::span<KernelFlow> flows) noexcept : flows_(flows) {}

 private:
  [[nodiscard]] KernelFlow& at(std::uint32_t number) const noexcept;

  std::span<KernelFlow> flows_;
};

}  // namespace io
