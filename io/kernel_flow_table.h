#pragma once
// The part of the kernel fast path that a worker uses: its flows, by number. One flow is the RTP of
// one leg on its way to one other leg, forwarded by a program in the kernel while it is active. No
// call here is made per packet.

#include "io/bpf/kernel_path_layout.h"
#include "io/result.h"
#include "io/socket_address.h"
#include "io/time.h"

#include <cstdint>
#include <optional>

namespace io {

/// How a packet leaves towards an address.
struct Way {
  std::uint32_t device = 0;  ///< its number; 0: the address is this machine's own
  std::uint8_t from_mac[6] = {};
  std::uint8_t target_mac[6] = {};
  friend bool operator==(const Way&, const Way&) noexcept = default;
};

/// The flows of one worker. Worker thread only.
class KernelFlowTable {
 public:
  KernelFlowTable() = default;
  KernelFlowTable(const KernelFlowTable&) = delete;
  KernelFlowTable& operator=(const KernelFlowTable&) = delete;
  KernelFlowTable(KernelFlowTable&&) = delete;
  KernelFlowTable& operator=(KernelFlowTable&&) = delete;
  virtual ~KernelFlowTable() = default;

  /// How many flows there may be; their numbers are smaller than this.
  [[nodiscard]] virtual std::uint32_t size() const noexcept = 0;
  /// Packets that are sent to `local` find the flow from now on. Errors: E2BIG, ENOMEM …
  [[nodiscard]] virtual Result<void> bind(const SocketAddress& local,
                                          std::uint32_t flow) noexcept = 0;
  /// Packets that are sent to `local` find no flow any more.
  virtual void unbind(const SocketAddress& local) noexcept = 0;
  /// The kernel forwards from now on, beginning with the packet that follows `seed.highest`. The
  /// flow must not be active.
  virtual void activate(std::uint32_t flow, const KernelFlowEntry& entry,
                        const KernelFlowState& seed) noexcept = 0;
  /// Ends what activate() began; no packet is forwarded after it returns. What has come until then.
  virtual KernelFlowState stop(std::uint32_t flow) noexcept = 0;
  /// What has come so far; none if the kernel is busy with the flow just now.
  [[nodiscard]] virtual std::optional<KernelFlowState> read(std::uint32_t flow) const noexcept = 0;
  /// Whether the kernel still forwards. False from when it met a packet that it left to the
  /// sockets.
  [[nodiscard]] virtual bool is_active(std::uint32_t flow) const noexcept = 0;
  /// The way from `local` to `remote` as the routing table has it now; none: nowhere that packets
  /// could be sent to without the stack.
  [[nodiscard]] virtual std::optional<Way> find_way(const SocketAddress& local,
                                                    const SocketAddress& remote) noexcept = 0;
};

/// The key under which packets that are sent to `local` find their flow.
[[nodiscard]] KernelFlowKey kernel_flow_key(const SocketAddress& local) noexcept;

}  // namespace io
