#pragma once
// The kernel fast path: loads the program that forwards plain RTP inside the kernel
// (io/bpf/kernel_path.bpf.c), attaches it to network devices and holds the memory that the program
// and the workers share. Needs CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON while it is opened, none
// later. What is attached goes with the process, whatever its end; where the kernel has no links
// for tc (before Linux 6.6) the filter stays behind a process that was killed, forwards nothing
// from 5 s later on and is removed by the next one.

#include "io/kernel_flow_table.h"
#include "io/socket_address.h"

#include <tl/expected.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace io {

/// What was asked for.
enum class KernelPathChoice : std::uint8_t { off, automatic, xdp, tc };

/// What it is opened with.
struct KernelPathOptions {
  KernelPathChoice choice = KernelPathChoice::automatic;  ///< automatic tries tc, then XDP
  std::vector<std::string> devices;  ///< names; none: the devices that have `addresses`
  /// Where RTP sockets are bound; the loopback device is always one of theirs, as a machine reaches
  /// its own addresses over it. With none, all devices that are up.
  std::vector<SocketAddress> addresses;
  std::uint32_t flows_max = 1024;
  std::uint8_t traffic_class = 0;  ///< of the packets, which may decide about their way
  /// Attach as older kernels make it necessary, for tests.
  bool without_links = false;
};

/// Made and destroyed by the control thread; the tables are the workers'. Must outlive them.
class KernelPath {
 public:
  /// Loads and attaches. Instead the reason why that can't be had, for the operator.
  [[nodiscard]] static tl::expected<std::unique_ptr<KernelPath>, std::string> open(
      const KernelPathOptions& options);
  KernelPath(const KernelPath&) = delete;
  KernelPath& operator=(const KernelPath&) = delete;
  KernelPath(KernelPath&&) = delete;
  KernelPath& operator=(KernelPath&&) = delete;
  ~KernelPath();

  /// "tc" or "xdp".
  [[nodiscard]] std::string_view name() const noexcept;
  /// The devices it is attached to, "lo, eth0".
  [[nodiscard]] const std::string& devices() const noexcept;
  /// What should have been attached and could not be, for the log; mostly empty.
  [[nodiscard]] const std::vector<std::string>& remarks() const noexcept;
  /// The part of worker `number` of `workers`, each with as many flows.
  [[nodiscard]] std::unique_ptr<KernelFlowTable> make_table(std::uint32_t number,
                                                            std::uint32_t workers);
  /// To be called each second: without links the kernel does not notice that the process has ended.
  void show_alive(TimePoint now) noexcept;
  /// Packets of flows that were left to the sockets for that reason. Any thread.
  [[nodiscard]] std::uint64_t misses(KernelMiss miss) const noexcept;

 private:
  class State;
  class Table;

  explicit KernelPath(std::unique_ptr<State> state) noexcept;

  std::unique_ptr<State> state_;
};

/// The reason as in metrics, "sequence".
[[nodiscard]] std::string_view to_string(KernelMiss miss) noexcept;

}  // namespace io
