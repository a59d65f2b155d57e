#pragma once
// The kernel of a simulated gateway: every datagram that arrives there runs through the program of
// the kernel fast path, the very source that real kernels run, before a socket has it.

#include "io/bpf/kernel_path_layout.h"
#include "io/kernel_flow_table.h"
#include "io/sim_network.h"
#include "tests/sim/kernel/ethernet_frame.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace sim {

/// Where the program is attached.
enum class KernelHook : std::uint8_t { none, tc, xdp };

/// What the environment variable MGW_SIM_KERNEL_PATH says (tc or xdp); none without it.
[[nodiscard]] KernelHook kernel_hook_of_environment();

/// See above. Must outlive the tables; the network must outlive it.
class KernelPathModel {
 public:
  /// `host4` and `host6` are the gateway's addresses.
  KernelPathModel(io::SimNetwork& network, KernelHook hook, const io::SocketAddress& host4,
                  const io::SocketAddress& host6, std::uint32_t workers);
  KernelPathModel(const KernelPathModel&) = delete;
  KernelPathModel& operator=(const KernelPathModel&) = delete;
  KernelPathModel(KernelPathModel&&) = delete;
  KernelPathModel& operator=(KernelPathModel&&) = delete;
  ~KernelPathModel();

  /// The flows of a worker.
  [[nodiscard]] std::unique_ptr<io::KernelFlowTable> make_table(std::uint32_t worker);
  /// Datagrams that the program forwarded.
  [[nodiscard]] std::uint64_t forwarded() const noexcept { return forwarded_; }
  /// Addresses under which packets find a flow.
  [[nodiscard]] std::size_t bound() const noexcept { return index_.size(); }

 private:
  class Table;

  static constexpr std::uint32_t kFlowsEach = 512;

  [[nodiscard]] bool is_own(const io::SocketAddress& address) const noexcept;
  [[nodiscard]] bool on_arrival(io::SimDatagram& datagram);

  io::SimNetwork& network_;
  const KernelHook hook_;
  const io::SocketAddress host4_;
  const io::SocketAddress host6_;
  std::vector<io::KernelFlow> flows_;
  std::map<std::string, std::uint32_t> index_;  ///< by the octets of the key
  io::KernelPathControl control_{};
  std::uint64_t forwarded_ = 0;
};

}  // namespace sim
