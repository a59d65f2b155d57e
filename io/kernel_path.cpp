#include "io/kernel_path.h"

#include "io/assert.h"
#include "io/kernel_flow_memory.h"
#include "io/kernel_path_object.h"
#include "io/route_query.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <linux/if_link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <system_error>
#include <utility>

namespace io {

namespace {

/// BPF_TCX_INGRESS (Linux 6.6), which this libbpf does not name.
constexpr auto kTcxIngress = static_cast<bpf_attach_type>(46);
/// Where our filters are looked for in a clsact queueing discipline: from this priority on, one for
/// each gateway of a machine, under the handle 1.
constexpr std::uint32_t kFilterPriority = 40961;
constexpr std::uint32_t kFilterPriorities = 16;
constexpr std::uint32_t kFilterHandle = 1;
constexpr const char* kTcProgram = "kernel_path_tc";
constexpr const char* kXdpProgram = "kernel_path_xdp";
constexpr const char* kControlMap = "control";
/// A gateway that has not shown itself for so long is gone. As in the program.
constexpr std::uint64_t kAliveNanosecondsMax = 5'000'000'000;

constexpr std::array<std::string_view, kKernelMissCount> kMissNames = {
    "source",  "other",     "malformed", "ssrc", "sequence", "payload_type",
    "payload", "timestamp", "pace",      "size", "device",   "contended"};

/// The last complaint of libbpf on this thread: the best reason there is for the operator.
thread_local std::array<char, 256> last_complaint{};

int note_complaint(libbpf_print_level level, const char* format, va_list arguments) {
  if (level == LIBBPF_WARN) {
    static_cast<void>(
        std::vsnprintf(last_complaint.data(), last_complaint.size(), format, arguments));
  }
  return 0;
}

/// Why an operation failed, for the operator.
std::string reason(std::string_view what, int error) {
  const int number = error < 0 ? -error : error;
  if (number == EPERM || number == EACCES) {
    return fmt::format("{}: {} (CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON are needed)", what,
                       std::generic_category().message(number));
  }
  return fmt::format("{}: {}", what, std::generic_category().message(number));
}

std::uint64_t monotonic_ns() noexcept {
  return static_cast<std::uint64_t>(MonotonicClock().now().time_since_epoch().count());
}

/// The memory of a map's values.
template <typename Value>
class MappedValues {
 public:
  MappedValues() = default;
  MappedValues(const MappedValues&) = delete;
  MappedValues& operator=(const MappedValues&) = delete;
  ~MappedValues() {
    if (values_ != nullptr) {
      ::munmap(values_, bytes_);
    }
  }
  [[nodiscard]] bool map(int descriptor, std::uint32_t count) noexcept {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    bytes_ = (count * sizeof(Value) + page - 1) / page * page;
    void* const at = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    values_ = at == MAP_FAILED ? nullptr : static_cast<Value*>(at);
    return values_ != nullptr;
  }
  [[nodiscard]] Value& operator[](std::uint32_t number) const noexcept { return values_[number]; }

 private:
  Value* values_ = nullptr;
  std::size_t bytes_ = 0;
};

static_assert(sizeof(KernelFlow) % 8 == 0, "the kernel rounds the size of values up to 8");

/// When the gateway to which a program belongs was last seen; 0 if it is no program of ours.
std::uint64_t alive_of_program(std::uint32_t program) noexcept {
  const int descriptor = bpf_prog_get_fd_by_id(program);
  if (descriptor < 0) {
    return 0;
  }
  std::array<std::uint32_t, 16> maps{};
  bpf_prog_info info{};
  std::uint32_t size = sizeof(info);
  info.nr_map_ids = maps.size();
  info.map_ids = reinterpret_cast<std::uintptr_t>(maps.data());
  std::uint64_t alive = 0;
  if (bpf_obj_get_info_by_fd(descriptor, &info, &size) == 0 &&
      std::strncmp(info.name, kTcProgram, BPF_OBJ_NAME_LEN - 1) == 0) {
    const auto count = std::min<std::size_t>(info.nr_map_ids, maps.size());
    for (std::size_t i = 0; i < count; ++i) {
      const int map = bpf_map_get_fd_by_id(maps[i]);
      bpf_map_info map_info{};
      std::uint32_t map_size = sizeof(map_info);
      KernelPathControl control{};
      const std::uint32_t first = 0;
      if (map >= 0 && bpf_obj_get_info_by_fd(map, &map_info, &map_size) == 0 &&
          map_info.value_size == sizeof(control) && std::strcmp(map_info.name, kControlMap) == 0 &&
          bpf_map_lookup_elem(map, &first, &control) == 0) {
        alive = std::max<std::uint64_t>(control.alive_ns, 1);
      }
      if (map >= 0) {
        ::close(map);
      }
    }
  }
  ::close(descriptor);
  return alive;
}

}  // namespace

KernelFlowKey kernel_flow_key(const SocketAddress& local) noexcept {
  KernelFlowKey key{};
  const auto bytes = local.host_bytes();
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<std::uint8_t*>(key.address));
  key.port = htons(local.port());
  key.family = local.family() == AddressFamily::ipv4 ? 4 : 6;
  return key;
}

std::string_view to_string(KernelMiss miss) noexcept {
  return kMissNames[miss];
}

/// What is loaded and attached.
class KernelPath::State {
 public:
  State(const KernelPathOptions& options, bool is_xdp) : options_(options), is_xdp_(is_xdp) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State();

  /// The reason if it can't be had.
  [[nodiscard]] std::string load();
  /// The same: attaches to all devices that are wanted; at least one must do it.
  [[nodiscard]] std::string attach();

  const KernelPathOptions options_;
  const bool is_xdp_;
  bpf_object* object_ = nullptr;
  MappedValues<KernelFlow> flows_;
  MappedValues<KernelPathControl> control_;
  int index_ = -1;
  int macs_ = -1;
  std::string devices_;
  std::vector<std::string> remarks_;

 private:
  struct Filter {
    int device = 0;
    std::uint32_t priority = 0;
  };

  [[nodiscard]] bool is_wanted(const NetworkDevice& device) const;
  [[nodiscard]] std::string attach_to(const NetworkDevice& device);
  [[nodiscard]] std::string attach_filter(const NetworkDevice& device, int program);
  [[nodiscard]] std::string attach_xdp(const NetworkDevice& device);
  [[nodiscard]] int program(const char* name) const noexcept {
    return bpf_program__fd(bpf_object__find_program_by_name(object_, name));
  }

  std::vector<int> links_;
  std::vector<Filter> filters_;
};

KernelPath::State::~State() {
  for (const int link : links_) {
    ::close(link);
  }
  for (const Filter& filter : filters_) {
    bpf_tc_hook hook{};
    hook.sz = sizeof(hook);
    hook.ifindex = filter.device;
    hook.attach_point = BPF_TC_INGRESS;
    bpf_tc_opts which{};
    which.sz = sizeof(which);
    which.handle = kFilterHandle;
    which.priority = filter.priority;
    bpf_tc_detach(&hook, &which);
  }
  bpf_object__close(object_);
}

std::string KernelPath::State::load() {
  libbpf_set_print(note_complaint);
  last_complaint[0] = '\0';
  bpf_object_open_opts open_options{};
  open_options.sz = sizeof(open_options);
  open_options.object_name = "mgw";
  object_ = bpf_object__open_mem(kKernelPathObject.data(), kKernelPathObject.size(), &open_options);
  if (object_ == nullptr) {
    return reason("the program for the kernel can't be read", errno);
  }
  bpf_map* const index = bpf_object__find_map_by_name(object_, "flow_index");
  bpf_map* const flows = bpf_object__find_map_by_name(object_, "flows");
  bpf_map* const control = bpf_object__find_map_by_name(object_, kControlMap);
  bpf_map* const macs = bpf_object__find_map_by_name(object_, "device_macs");
  MGW_ASSERT(index != nullptr && flows != nullptr && control != nullptr && macs != nullptr);
  // Only what is attached: an older kernel may know what one of the two needs.
  bpf_program__set_autoload(bpf_object__find_program_by_name(object_, kTcProgram), !is_xdp_);
  bpf_program__set_autoload(bpf_object__find_program_by_name(object_, kXdpProgram), is_xdp_);
  bpf_map__set_max_entries(index, options_.flows_max);
  bpf_map__set_max_entries(flows, options_.flows_max);
  if (const int error = bpf_object__load(object_); error != 0) {
    std::string text = reason("the kernel does not take the program", error);
    if (error != -EPERM && last_complaint[0] != '\0') {
      std::string_view complaint(last_complaint.data());
      text += fmt::format(" ({})", complaint.substr(0, complaint.find('\n')));
    }
    return text;
  }
  index_ = bpf_map__fd(index);
  macs_ = bpf_map__fd(macs);
  if (!flows_.map(bpf_map__fd(flows), options_.flows_max) ||
      !control_.map(bpf_map__fd(control), 1)) {
    return reason("the program's memory can't be mapped", errno);
  }
  control_[0].alive_ns = monotonic_ns();
  return {};
}

bool KernelPath::State::is_wanted(const NetworkDevice& device) const {
  if (!options_.devices.empty()) {
    return std::find(options_.devices.begin(), options_.devices.end(), device.name) !=
           options_.devices.end();
  }
  const auto is_ours = [this](const SocketAddress& address) {
    return std::any_of(options_.addresses.begin(), options_.addresses.end(),
                       [&](const SocketAddress& ours) { return ours.same_host(address); });
  };
  return device.is_up && (device.is_loopback || options_.addresses.empty() ||
                          std::any_of(device.addresses.begin(), device.addresses.end(), is_ours));
}

std::string KernelPath::State::attach() {
  std::string first_failure;
  std::vector<std::string> missing = options_.devices;
  for (const NetworkDevice& device : network_devices()) {
    if (!is_wanted(device)) {
      continue;
    }
    missing.erase(std::remove(missing.begin(), missing.end(), device.name), missing.end());
    const std::string failure = attach_to(device);
    if (failure.empty()) {
      devices_ += (devices_.empty() ? "" : ", ") + device.name;
      continue;
    }
    remarks_.push_back(failure);
    first_failure = first_failure.empty() ? failure : first_failure;
  }
  for (const std::string& name : missing) {
    remarks_.push_back(fmt::format("there is no network device {}", name));
    first_failure = first_failure.empty() ? remarks_.back() : first_failure;
  }
  if (!devices_.empty()) {
    return {};
  }
  remarks_.clear();
  return first_failure.empty() ? "no network device has an address of the RTP sockets"
                               : first_failure;
}

std::string KernelPath::State::attach_to(const NetworkDevice& device) {
  if (!device.has_ethernet_frames) {
    return fmt::format("{} has no Ethernet frames", device.name);
  }
  std::array<std::uint8_t, 8> mac{};
  std::copy(device.mac.begin(), device.mac.end(), mac.begin());
  if (bpf_map_update_elem(macs_, &device.number, mac.data(), BPF_ANY) != 0) {
    return reason(device.name, errno);
  }
  if (is_xdp_) {
    return attach_xdp(device);
  }
  const int tc = program(kTcProgram);
  if (!options_.without_links) {
    const int link = bpf_link_create(tc, static_cast<int>(device.number), kTcxIngress, nullptr);
    if (link >= 0) {
      links_.push_back(link);
      return {};
    }
    if (link != -EINVAL) {
      return reason(device.name, link);
    }
  }
  return attach_filter(device, tc);
}

std::string KernelPath::State::attach_filter(const NetworkDevice& device, int program) {
  bpf_tc_hook hook{};
  hook.sz = sizeof(hook);
  hook.ifindex = static_cast<int>(device.number);
  hook.attach_point = BPF_TC_INGRESS;
  if (const int error = bpf_tc_hook_create(&hook); error != 0 && error != -EEXIST) {
    return reason(device.name, error);
  }
  for (std::uint32_t i = 0; i < kFilterPriorities; ++i) {
    const auto named = [&] {
      bpf_tc_opts which{};
      which.sz = sizeof(which);
      which.handle = kFilterHandle;
      which.priority = kFilterPriority + i;
      return which;
    };
    bpf_tc_opts there = named();
    if (bpf_tc_query(&hook, &there) == 0) {
      const std::uint64_t alive = alive_of_program(there.prog_id);
      if (alive == 0 || monotonic_ns() < alive + kAliveNanosecondsMax) {
        continue;  // somebody else's, or that of another gateway
      }
      bpf_tc_opts left_over = named();
      bpf_tc_detach(&hook, &left_over);
    }
    bpf_tc_opts ours = named();
    ours.prog_fd = program;
    if (const int error = bpf_tc_attach(&hook, &ours); error != 0) {
      return reason(device.name, error);
    }
    filters_.push_back({hook.ifindex, kFilterPriority + i});
    control_[0].needs_alive = 1;
    return {};
  }
  return fmt::format("{} has too many filters of other gateways", device.name);
}

std::string KernelPath::State::attach_xdp(const NetworkDevice& device) {
  const int xdp = program(kXdpProgram);
  bpf_link_create_opts create_options{};
  create_options.sz = sizeof(create_options);
  // In the driver of a real device; devices made by software give checksums to it that are yet to
  // be added up, and forget that they are.
  int link = -EOPNOTSUPP;
  if (device.is_physical) {
    create_options.flags = XDP_FLAGS_DRV_MODE;
    link = bpf_link_create(xdp, static_cast<int>(device.number), BPF_XDP, &create_options);
  }
  if (link < 0) {
    create_options.flags = XDP_FLAGS_SKB_MODE;
    link = bpf_link_create(xdp, static_cast<int>(device.number), BPF_XDP, &create_options);
  }
  if (link < 0) {
    return reason(device.name, link);
  }
  links_.push_back(link);
  return {};
}

/// The flows from `first` on.
class KernelPath::Table final : public KernelFlowMemory {
 public:
  Table(State& state, std::uint32_t first, std::uint32_t count) noexcept
      : KernelFlowMemory({&state.flows_[first], count}), state_(state), first_(first) {}

  [[nodiscard]] Result<void> bind(const SocketAddress& local,
                                  std::uint32_t flow) noexcept override {
    const KernelFlowKey key = kernel_flow_key(local);
    const std::uint32_t number = first_ + flow;
    if (bpf_map_update_elem(state_.index_, &key, &number, BPF_ANY) != 0) {
      return failure(errno);
    }
    return {};
  }

  void unbind(const SocketAddress& local) noexcept override {
    const KernelFlowKey key = kernel_flow_key(local);
    bpf_map_delete_elem(state_.index_, &key);
  }

  [[nodiscard]] std::optional<Way> find_way(const SocketAddress& local,
                                            const SocketAddress& remote) noexcept override {
    return routes_.find_way(local, remote, state_.options_.traffic_class, state_.is_xdp_);
  }

 private:
  State& state_;
  const std::uint32_t first_;
  RouteQuery routes_;
};

KernelPath::KernelPath(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}

KernelPath::~KernelPath() = default;

tl::expected<std::unique_ptr<KernelPath>, std::string> KernelPath::open(
    const KernelPathOptions& options) {
  std::string failure;
  for (const bool is_xdp : {false, true}) {
    if (options.choice == (is_xdp ? KernelPathChoice::tc : KernelPathChoice::xdp)) {
      continue;
    }
    auto state = std::make_unique<State>(options, is_xdp);
    std::string problem = state->load();
    if (problem.empty()) {
      problem = state->attach();
    }
    if (problem.empty()) {
      return std::unique_ptr<KernelPath>(new KernelPath(std::move(state)));
    }
    failure = failure.empty() ? std::move(problem) : failure;
  }
  return tl::unexpected(std::move(failure));
}

std::string_view KernelPath::name() const noexcept {
  return state_->is_xdp_ ? "xdp" : "tc";
}

const std::string& KernelPath::devices() const noexcept {
  return state_->devices_;
}

const std::vector<std::string>& KernelPath::remarks() const noexcept {
  return state_->remarks_;
}

std::unique_ptr<KernelFlowTable> KernelPath::make_table(std::uint32_t number,
                                                        std::uint32_t workers) {
  const std::uint32_t each = state_->options_.flows_max / workers;
  return std::make_unique<Table>(*state_, number * each, each);
}

void KernelPath::show_alive(TimePoint now) noexcept {
  std::atomic_ref<__u64>(state_->control_[0].alive_ns)
      .store(static_cast<__u64>(now.time_since_epoch().count()), std::memory_order_relaxed);
}

std::uint64_t KernelPath::misses(KernelMiss miss) const noexcept {
  return std::atomic_ref<__u64>(state_->control_[0].misses[miss]).load(std::memory_order_relaxed);
}

}  // namespace io
