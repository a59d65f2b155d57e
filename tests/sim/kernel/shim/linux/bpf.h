#pragma once
// Stands for the kernel's header where the program of the kernel fast path is compiled for tests:
// contexts with addresses of this process instead of the 32-bit ones of the kernel's interface.

#include <linux/types.h>

enum {
  BPF_MAP_TYPE_HASH = 1,
  BPF_MAP_TYPE_ARRAY = 2,
  BPF_F_MMAPABLE = 1U << 10,
  BPF_F_PSEUDO_HDR = 1U << 4,
  BPF_F_MARK_MANGLED_0 = 1U << 5,
};

enum xdp_action { XDP_ABORTED, XDP_DROP, XDP_PASS, XDP_TX, XDP_REDIRECT };

/// What the program looks at of it.
struct __sk_buff {
  __u32 len;
  __u32 pkt_type;
  __u32 vlan_present;
  __u32 gso_size;
  __u32 protocol;
  __u32 priority;
  __u32 ifindex;
  unsigned long data;
  unsigned long data_end;
};

/// What the program looks at of it.
struct xdp_md {
  __u32 ingress_ifindex;
  unsigned long data;
  unsigned long data_end;
};
