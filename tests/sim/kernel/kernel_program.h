#pragma once
// The program of the kernel fast path, the very source that is loaded into the kernel, compiled for
// this machine: packet bytes in, packet bytes and verdict out.

#include "io/bpf/kernel_path_layout.h"

#ifdef __cplusplus
extern "C" {
using io::KernelFlow;
using io::KernelFlowKey;
using io::KernelPathControl;
#endif

/// What happened to a packet.
enum KernelVerdict {
  kKernelPassed,      ///< it goes on to the sockets, perhaps changed
  kKernelRedirected,  ///< it left by `out_device`
  kKernelDropped,
};

/// The maps and the packet of one run.
struct KernelProgramRun {
  void* owner;  ///< for find_flow
  /// The number of the flow that packets to `key` belong to; null: none.
  const __u32* (*find_flow)(void* owner, const struct KernelFlowKey* key);
  struct KernelFlow* flows;
  __u32 flow_count;
  struct KernelPathControl* control;
  __u64 now_ns;
  /// A whole Ethernet frame; its third octet is at an address that 4 divides, as in the kernel.
  __u8* data;
  __u32 bytes;
  __u32 device;      ///< it came by; 1 is the loopback
  __u8 own_mac[6];   ///< of that device
  __u32 priority;    ///< of the packet, before and after
  __u32 out_device;  ///< set by the run
};

/// Runs the program as at the ingress of a device. One thread.
enum KernelVerdict run_kernel_program_tc(struct KernelProgramRun* run);
/// The same before the stack.
enum KernelVerdict run_kernel_program_xdp(struct KernelProgramRun* run);

#ifdef __cplusplus
}
#endif
