// The program of the kernel fast path with any frame and any flow: it stays within the frame,
// changes nothing that it lets pass, and what it forwards has right lengths and checksums.

#include "tests/sim/kernel/ethernet_frame.h"
#include "tests/sim/kernel/kernel_program.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

namespace {

constexpr std::size_t kSettingBytes = 8;
constexpr std::uint32_t kDevice = 2;
const __u32 kFirst = 0;

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

/// An address of this host or of others, in both families.
io::SocketAddress host(bool is_ipv6, unsigned number, std::uint16_t port) {
  const std::string text = (is_ipv6 ? "2001:db8::" : "192.0.2.") + std::to_string(number);
  return io::SocketAddress::parse(text, port).value_or(io::SocketAddress());
}

void fill(const io::SocketAddress& address, __u32 (&words)[4], __u16& port) {
  const auto bytes = address.host_bytes();
  std::memcpy(words, bytes.data(), bytes.size());
  port = static_cast<__u16>(address.port() << 8U | address.port() >> 8U);
}

/// A flow that fits the frame unless the setting says otherwise.
io::KernelFlow make_flow(std::span<const std::uint8_t> setting, const io::SimDatagram& datagram) {
  const bool is_ipv6 = datagram.target.family() == io::AddressFamily::ipv6;
  io::KernelFlow flow{};
  flow.word = (setting[0] & 1U) != 0 ? __u32{io::kKernelFlowActive} : setting[0];
  io::KernelFlowEntry& entry = flow.entry;
  fill(datagram.target, entry.local_address, entry.local_port);
  fill(datagram.source, entry.source_address, entry.source_port);
  fill(host(is_ipv6, 1, 4002), entry.from_address, entry.from_port);
  fill(host(is_ipv6, 9, 6002), entry.target_address, entry.target_port);
  entry.family = is_ipv6 ? 6 : 4;
  entry.options = setting[1];
  entry.traffic_class = setting[2];
  entry.device = (setting[3] & 1U) != 0 ? kDevice : 0;
  entry.hop_limit = 64;
  entry.ssrc_out = setting[2] * 0x01010101U;
  entry.timestamp_offset = setting[3] * 0x01010101U;
  entry.sequence_offset = setting[4];
  entry.clock_rate_hz = (setting[4] & 1U) != 0 ? 8000 : 16000;
  entry.packet_ticks = setting[5];
  entry.interval_ns = setting[6] * 1000U;
  entry.burst_ns = 1'000'000'000;
  for (std::size_t type = 0; type < 128; ++type) {
    const bool is_known = (type ^ setting[5]) % 4 != 0;
    entry.payload_types[type] = is_known ? static_cast<__u16>((setting[7] % 5U) << 8U | (type ^ 1U))
                                         : MGW_KERNEL_PAYLOAD_MISS;
  }
  if (datagram.bytes.size() >= 12) {
    std::memcpy(&entry.ssrc, &datagram.bytes[8], sizeof(entry.ssrc));
    flow.state.highest =
        std::to_integer<int>(datagram.bytes[2]) << 8 | std::to_integer<int>(datagram.bytes[3]);
    flow.state.highest -= (setting[6] & 1U) != 0 ? 1 : setting[6];
  }
  return flow;
}

KernelProgramRun make_run(io::KernelFlow& flow, io::KernelPathControl& control,
                          std::span<std::uint8_t> frame, std::uint32_t device) {
  KernelProgramRun run{};
  run.find_flow = [](void* /*owner*/, const KernelFlowKey* /*key*/) { return &kFirst; };
  run.flows = &flow;
  run.flow_count = 1;
  run.control = &control;
  run.now_ns = 1'000'000'000'000;
  run.data = frame.data();
  run.bytes = static_cast<__u32>(frame.size());
  run.device = device;
  std::copy_n(frame.begin(), std::min<std::size_t>(frame.size(), 6), run.own_mac);
  return run;
}

/// A datagram of fuzzed payload in a right frame.
void run_datagram(std::span<const std::uint8_t> setting, std::span<const std::uint8_t> payload,
                  bool is_xdp) {
  const bool is_ipv6 = (setting[0] & 2U) != 0;
  io::SimDatagram datagram;
  datagram.source = host(is_ipv6, 8, 6000);
  datagram.target = host(is_ipv6, 1, 4000);
  const auto* const bytes = reinterpret_cast<const std::byte*>(payload.data());
  datagram.bytes.assign(bytes, bytes + payload.size());
  sim::EthernetFrame frame(datagram, {2, 0, 0, 0, 0, 2}, {2, 0, 0, 0, 0, 1});
  const std::vector<std::uint8_t> before(frame.bytes().begin(), frame.bytes().end());
  io::KernelFlow flow = make_flow(setting, datagram);
  const std::uint32_t word = flow.word;
  io::KernelPathControl control{};
  KernelProgramRun run =
      make_run(flow, control, frame.bytes(), (setting[3] & 2U) != 0 ? kDevice : 1);
  const KernelVerdict verdict = is_xdp ? run_kernel_program_xdp(&run) : run_kernel_program_tc(&run);
  require(verdict != kKernelDropped);
  require((flow.word & io::kKernelFlowBusy) == (word & io::kKernelFlowBusy));
  const auto after = frame.datagram();
  require(after.has_value());
  const bool changed = !std::equal(before.begin(), before.end(), frame.bytes().begin());
  require(flow.state.packets == (changed ? 1 : 0));
  require(changed || verdict == kKernelPassed);
  if (changed) {
    require(after->source == host(is_ipv6, 1, 4002));
    require(after->target == host(is_ipv6, 9, 6002));
    require(std::equal(after->bytes.begin() + 12, after->bytes.end(), datagram.bytes.begin() + 12));
    require((verdict == kKernelRedirected) == (flow.entry.device != 0));
  }
}

/// Any octets as a frame, in memory of just that size.
void run_frame(std::span<const std::uint8_t> setting, std::span<const std::uint8_t> bytes,
               bool is_xdp) {
  constexpr std::size_t kShift = 2;
  const auto memory = std::make_unique<std::uint8_t[]>(kShift + bytes.size());
  std::copy(bytes.begin(), bytes.end(), memory.get() + kShift);
  io::SimDatagram fitting;
  fitting.source = host(false, 8, 6000);
  fitting.target = host(false, 1, 4000);
  io::KernelFlow flow = make_flow(setting, fitting);
  io::KernelPathControl control{};
  KernelProgramRun run = make_run(flow, control, {memory.get() + kShift, bytes.size()}, kDevice);
  static_cast<void>(is_xdp ? run_kernel_program_xdp(&run) : run_kernel_program_tc(&run));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < kSettingBytes) {
    return 0;
  }
  const std::span<const std::uint8_t> setting(data, kSettingBytes);
  const std::span<const std::uint8_t> rest(data + kSettingBytes, size - kSettingBytes);
  const bool is_xdp = (setting[0] & 4U) != 0;
  if ((setting[0] & 8U) != 0) {
    run_frame(setting, rest, is_xdp);
  } else {
    run_datagram(setting, rest.first(std::min<std::size_t>(rest.size(), 2000)), is_xdp);
  }
  return 0;
}
