#include "tests/sim/kernel/kernel_program.h"

#include "io/bpf/kernel_path.bpf.c"

#include <string.h>

// The one that runs.
static struct KernelProgramRun* the_run;

static void* bpf_map_lookup_elem(const void* map, const void* key) {
  static struct Mac mac;
  if (map == &flow_index) {
    return (void*)the_run->find_flow(the_run->owner, key);
  }
  const __u32 number = *(const __u32*)key;
  if (map == &flows) {
    return number < the_run->flow_count ? &the_run->flows[number] : 0;
  }
  if (map == &control) {
    return the_run->control;
  }
  memcpy(mac.halves, the_run->own_mac, sizeof(the_run->own_mac));
  return number == the_run->device ? &mac : 0;
}

static long load(__u32 offset, void* to, __u32 size) {
  if (offset > the_run->bytes || size > the_run->bytes - offset) {
    return -1;
  }
  memcpy(to, the_run->data + offset, size);
  return 0;
}

static long bpf_skb_load_bytes(const void* skb, __u32 offset, void* to, __u32 size) {
  (void)skb;
  return load(offset, to, size);
}

static long bpf_xdp_load_bytes(const void* xdp, __u32 offset, void* to, __u32 size) {
  (void)xdp;
  return load(offset, to, size);
}

// All is in one piece here.
static long bpf_skb_pull_data(struct __sk_buff* skb, __u32 size) {
  return size <= skb->len ? 0 : -1;
}

static __u64 sum_of(const __u32* words, __u32 bytes, __u32 inverted) {
  __u64 sum = 0;
  for (__u32 i = 0; i < bytes / sizeof(*words); ++i) {
    sum += words[i] ^ inverted;
  }
  return sum;
}

static __s64 bpf_csum_diff(__u32* from, __u32 from_bytes, __u32* to, __u32 to_bytes, __u32 seed) {
  __u64 sum = seed + sum_of(from, from_bytes, 0xffffffff) + sum_of(to, to_bytes, 0);
  sum = (sum & 0xffffffff) + (sum >> 32);
  return (__s64)((sum & 0xffffffff) + (sum >> 32));
}

// As for a packet whose checksum is complete: the pseudo header is in it like the rest.
static long bpf_l4_csum_replace(struct __sk_buff* skb, __u32 offset, __u64 from, __u64 to,
                                __u64 flags) {
  __u16* const place = (__u16*)(skb->data + offset);
  if (from != 0 || offset + sizeof(*place) > skb->len) {
    return -1;
  }
  if (*place == 0 && flags & BPF_F_MARK_MANGLED_0) {
    return 0;
  }
  const __u16 sum = ~fold((__u64)(__u16)~*place + (__u32)to);
  *place = sum == 0 && flags & BPF_F_MARK_MANGLED_0 ? 0xffff : sum;
  return 0;
}

static long bpf_redirect_neigh(__u32 device, void* parameters, int parameter_bytes, __u64 flags) {
  (void)parameters;
  (void)parameter_bytes;
  (void)flags;
  the_run->out_device = device;
  return TC_ACT_REDIRECT;
}

static long bpf_redirect(__u32 device, __u64 flags) {
  (void)flags;
  the_run->out_device = device;
  return XDP_REDIRECT;
}

static __u64 bpf_ktime_get_ns(void) { return the_run->now_ns; }

enum KernelVerdict run_kernel_program_tc(struct KernelProgramRun* run) {
  const struct ethhdr* ethernet = (const struct ethhdr*)run->data;
  struct __sk_buff skb = {.len = run->bytes,
                          .protocol = run->bytes >= sizeof(*ethernet) ? ethernet->h_proto : 0,
                          .priority = run->priority,
                          .ifindex = run->device,
                          .data = (unsigned long)run->data,
                          .data_end = (unsigned long)run->data + run->bytes};
  the_run = run;
  const int verdict = kernel_path_tc(&skb);
  run->priority = skb.priority;
  if (verdict == TC_ACT_REDIRECT) {
    return kKernelRedirected;
  }
  return verdict == TC_ACT_UNSPEC ? kKernelPassed : kKernelDropped;
}

enum KernelVerdict run_kernel_program_xdp(struct KernelProgramRun* run) {
  struct xdp_md xdp = {.ingress_ifindex = run->device,
                       .data = (unsigned long)run->data,
                       .data_end = (unsigned long)run->data + run->bytes};
  the_run = run;
  const int verdict = kernel_path_xdp(&xdp);
  if (verdict == XDP_TX) {
    run->out_device = run->device;
  }
  if (verdict == XDP_TX || verdict == XDP_REDIRECT) {
    return kKernelRedirected;
  }
  return verdict == XDP_PASS ? kKernelPassed : kKernelDropped;
}
