#include "tests/sim/kernel/kernel_path_model.h"

#include "io/assert.h"
#include "io/kernel_flow_memory.h"
#include "tests/sim/kernel/kernel_program.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace sim {

namespace {

constexpr std::uint32_t kLoopback = 1;
constexpr std::uint32_t kDevice = 2;
constexpr MacAddress kOwnMac = {2, 0, 0, 0, 0, 1};
constexpr MacAddress kRouterMac = {2, 0, 0, 0, 0, 2};

std::string text_of(const io::KernelFlowKey& key) {
  return {reinterpret_cast<const char*>(&key), sizeof(key)};
}

}  // namespace

KernelHook kernel_hook_of_environment() {
  const char* const wanted = std::getenv("MGW_SIM_KERNEL_PATH");
  const std::string_view text = wanted != nullptr ? wanted : "";
  MGW_ASSERT(text.empty() || text == "tc" || text == "xdp");
  if (text.empty()) {
    return KernelHook::none;
  }
  return text == "tc" ? KernelHook::tc : KernelHook::xdp;
}

class KernelPathModel::Table final : public io::KernelFlowMemory {
 public:
  Table(KernelPathModel& model, std::uint32_t first)
      : KernelFlowMemory(std::span(model.flows_).subspan(first, kFlowsEach)),
        model_(model),
        first_(first) {}

  [[nodiscard]] io::Result<void> bind(const io::SocketAddress& local,
                                      std::uint32_t flow) noexcept override {
    const bool is_new =
        model_.index_.insert_or_assign(text_of(io::kernel_flow_key(local)), first_ + flow).second;
    MGW_ASSERT(is_new);
    return {};
  }
  void unbind(const io::SocketAddress& local) noexcept override {
    MGW_ASSERT(model_.index_.erase(text_of(io::kernel_flow_key(local))) == 1);
  }
  [[nodiscard]] std::optional<io::Way> find_way(const io::SocketAddress& /*local*/,
                                                const io::SocketAddress& remote) noexcept override {
    io::Way way;
    if (!model_.is_own(remote)) {
      way.device = kDevice;
      std::copy(kOwnMac.begin(), kOwnMac.end(), way.from_mac);
      std::copy(kRouterMac.begin(), kRouterMac.end(), way.target_mac);
    }
    return way;
  }

 private:
  KernelPathModel& model_;
  const std::uint32_t first_;
};

KernelPathModel::KernelPathModel(io::SimNetwork& network, KernelHook hook,
                                 const io::SocketAddress& host4, const io::SocketAddress& host6,
                                 std::uint32_t workers)
    : network_(network),
      hook_(hook),
      host4_(host4),
      host6_(host6),
      flows_(std::size_t{workers} * kFlowsEach) {
  network_.at_arrival([this](io::SimDatagram& datagram) { return on_arrival(datagram); });
}

KernelPathModel::~KernelPathModel() {
  network_.at_arrival({});
}

std::unique_ptr<io::KernelFlowTable> KernelPathModel::make_table(std::uint32_t worker) {
  return std::make_unique<Table>(*this, worker * kFlowsEach);
}

bool KernelPathModel::is_own(const io::SocketAddress& address) const noexcept {
  return address.same_host(host4_) || address.same_host(host6_);
}

bool KernelPathModel::on_arrival(io::SimDatagram& datagram) {
  if (!is_own(datagram.target)) {
    return false;
  }
  EthernetFrame frame(datagram, kRouterMac, kOwnMac);
  KernelProgramRun run{};
  run.owner = this;
  run.find_flow = [](void* owner, const KernelFlowKey* key) -> const __u32* {
    const auto& index = static_cast<KernelPathModel*>(owner)->index_;
    const auto found = index.find(text_of(*key));
    return found == index.end() ? nullptr : &found->second;
  };
  run.flows = flows_.data();
  run.flow_count = static_cast<__u32>(flows_.size());
  run.control = &control_;
  run.now_ns = static_cast<__u64>(network_.clock().now().time_since_epoch().count());
  run.data = frame.bytes().data();
  run.bytes = static_cast<__u32>(frame.bytes().size());
  run.device = is_own(datagram.source) ? kLoopback : kDevice;
  std::copy(kOwnMac.begin(), kOwnMac.end(), run.own_mac);
  run.priority = datagram.priority;
  const KernelVerdict verdict =
      hook_ == KernelHook::tc ? run_kernel_program_tc(&run) : run_kernel_program_xdp(&run);
  MGW_ASSERT(verdict != kKernelDropped);
  auto after = frame.datagram();
  MGW_ASSERT(after);  // lengths and checksums are right
  after->priority = static_cast<std::uint8_t>(run.priority);
  const bool changed = !(after->target == datagram.target);
  forwarded_ += changed ? 1U : 0U;
  if (verdict == kKernelRedirected) {
    MGW_ASSERT(run.out_device == kDevice);
    MGW_ASSERT(hook_ == KernelHook::tc || (frame.from() == kOwnMac && frame.to() == kRouterMac));
    network_.relay(std::move(*after));
    return true;
  }
  if (changed) {
    datagram = std::move(*after);  // the stack has it for this machine itself
  }
  return false;
}

}  // namespace sim
