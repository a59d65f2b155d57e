#pragma once
// Stands for libbpf's header where the program of the kernel fast path is compiled for tests: the
// helpers are functions of kernel_program.c.

#include <linux/bpf.h>

#define SEC(name)
#define __uint(name, value) int(*name)[value]
#define __type(name, value) value* name
#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

static void* bpf_map_lookup_elem(const void* map, const void* key);
static long bpf_skb_load_bytes(const void* skb, __u32 offset, void* to, __u32 size);
static long bpf_xdp_load_bytes(const void* xdp, __u32 offset, void* to, __u32 size);
static long bpf_skb_pull_data(struct __sk_buff* skb, __u32 size);
static __s64 bpf_csum_diff(__u32* from, __u32 from_bytes, __u32* to, __u32 to_bytes, __u32 seed);
static long bpf_l4_csum_replace(struct __sk_buff* skb, __u32 offset, __u64 from, __u64 to,
                                __u64 flags);
static long bpf_redirect(__u32 device, __u64 flags);
static long bpf_redirect_neigh(__u32 device, void* parameters, int parameter_bytes, __u64 flags);
static __u64 bpf_ktime_get_ns(void);
