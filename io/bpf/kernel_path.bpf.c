// The kernel fast path: forwards plain RTP between two legs where it comes in, at the ingress of a
// network device (tc) or before the stack (XDP). A packet that belongs to no flow, or is unusual in
// any way, goes to the sockets as if this program were not there; an unusual one of the flow's own
// source also ends the flow, because whatever follows it must not overtake it.

#include "io/bpf/kernel_path_layout.h"

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/pkt_cls.h>
#include <linux/udp.h>

// bpf_redirect_neigh and the atomic operations whose results are used are not tied to a licence;
// the word is what the verifier asks for.
char kLicence[] SEC("license") = "Dual BSD/GPL";

// The sizes of the maps are set when they are loaded.
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1);
  __type(key, struct KernelFlowKey);
  __type(value, __u32);
} flow_index SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct KernelFlow);
} flows SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct KernelPathControl);
} control SEC(".maps");

// The devices' own addresses, for XDP, which also sees packets that are not for this machine.
struct Mac {
  __u16 halves[4];  // three and padding
};
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 64);
  __type(key, __u32);
  __type(value, struct Mac);
} device_macs SEC(".maps");

enum Hook { kTc, kXdp };

#define RTP_HEADER_BYTES 12
#define LOOPBACK_DEVICE 1
// Every link of IPv6 takes this much (RFC 8200 section 5), and no voice packet is longer.
#define PACKET_BYTES_MAX 1280
// RFC 3550 A.1: a gap of this many numbers or more is a restart.
#define DROPOUT_MAX 3000
// A transit time that changes by more than this is a source that set its timestamps anew.
#define TRANSIT_STEP_SECONDS_MAX 10
#define NANOSECONDS_PER_SECOND 1000000000ULL
// A gateway that was not seen for so long is gone; it shows itself several times a second.
#define ALIVE_NANOSECONDS_MAX (5 * NANOSECONDS_PER_SECOND)

// Speech bits by frame type, of AMR and of AMR-WB (RFC 4867 section 4.3.2); 0xffff is reserved.
static const __u16 kAmrBits[2][16] = {
    {95, 103, 118, 134, 148, 159, 204, 244, 39, 43, 38, 37, 0xffff, 0xffff, 0xffff, 0},
    {132, 177, 253, 285, 317, 365, 397, 461, 477, 40, 0xffff, 0xffff, 0xffff, 0xffff, 0, 0}};

// What is known of a packet, all from its headers.
struct Packet {
  struct KernelFlowKey key;
  __u32 source_address[4];
  __u16 source_port;
  __u16 rtp_bytes;  // header and payload
  __u16 rtp_offset;
  __u16 payload_bytes;
  __u16 checksum;  // of UDP
  __u32 rtp[3];    // the fixed header as it came
};

static __always_inline __u32 packet_bytes(void* context, enum Hook hook) {
  if (hook == kXdp) {
    struct xdp_md* xdp = context;
    return (__u32)(xdp->data_end - xdp->data);
  }
  return ((struct __sk_buff*)context)->len;
}

static __always_inline long load_bytes(void* context, enum Hook hook, __u32 offset, void* to,
                                       __u32 size) {
  return hook == kXdp ? bpf_xdp_load_bytes(context, offset, to, size)
                      : bpf_skb_load_bytes(context, offset, to, size);
}

static __always_inline struct KernelPathControl* the_control(void) {
  const __u32 first = 0;
  return bpf_map_lookup_elem(&control, &first);
}

static __always_inline void count_miss(enum KernelMiss miss) {
  struct KernelPathControl* shared = the_control();
  if (shared) {
    __sync_fetch_and_add(&shared->misses[miss], 1);
  }
}

static __always_inline int is_same(const __u32* one, const __u32* other) {
  return one[0] == other[0] && one[1] == other[1] && one[2] == other[2] && one[3] == other[3];
}

// Fills `packet` in from the headers of IP and UDP and the fixed one of RTP; false: none of ours.
static __always_inline int read_headers(void* data, void* end, __u32 bytes, struct Packet* packet) {
  struct ethhdr* ethernet = data;
  struct udphdr* udp;
  __u32 ip_payload;
  if ((void*)(ethernet + 1) > end) {
    return 0;
  }
  if (ethernet->h_proto == bpf_htons(ETH_P_IP)) {
    struct iphdr* ip = (void*)(ethernet + 1);
    udp = (void*)(ip + 1);
    if ((void*)(udp + 1) + RTP_HEADER_BYTES > end || ip->version != 4 || ip->ihl != 5 ||
        ip->protocol != IPPROTO_UDP || ip->frag_off & bpf_htons(0x3fff)) {
      return 0;
    }
    packet->key.address[0] = ip->daddr;
    packet->key.family = 4;
    packet->source_address[0] = ip->saddr;
    ip_payload = bpf_ntohs(ip->tot_len) - sizeof(*ip);
  } else if (ethernet->h_proto == bpf_htons(ETH_P_IPV6)) {
    struct ipv6hdr* ip = (void*)(ethernet + 1);
    udp = (void*)(ip + 1);
    if ((void*)(udp + 1) + RTP_HEADER_BYTES > end || ip->version != 6 ||
        ip->nexthdr != IPPROTO_UDP || udp->check == 0) {
      return 0;
    }
    __builtin_memcpy(packet->key.address, &ip->daddr, sizeof(packet->key.address));
    packet->key.family = 6;
    __builtin_memcpy(packet->source_address, &ip->saddr, sizeof(packet->source_address));
    ip_payload = bpf_ntohs(ip->payload_len);
  } else {
    return 0;
  }
  const __u32 udp_bytes = bpf_ntohs(udp->len);
  const __u32 udp_offset = (__u32)((void*)udp - data);
  if (udp_bytes != ip_payload || udp_bytes < sizeof(*udp) || udp_offset + udp_bytes > bytes) {
    return 0;
  }
  packet->key.port = udp->dest;
  packet->source_port = udp->source;
  packet->checksum = udp->check;
  packet->rtp_bytes = (__u16)(udp_bytes - sizeof(*udp));
  packet->rtp_offset = (__u16)(udp_offset + sizeof(*udp));
  __builtin_memcpy(packet->rtp, udp + 1, RTP_HEADER_BYTES);
  return 1;
}

// Octets of payload, without header and padding; negative if the packet is malformed (RFC 3550
// section 5.1).
static __always_inline int payload_bytes(void* context, enum Hook hook,
                                         const struct Packet* packet) {
  const __u8* header = (const __u8*)packet->rtp;
  __u32 header_bytes = RTP_HEADER_BYTES + 4 * (header[0] & 0x0f);
  if (header[0] & 0x10) {
    __u16 extension[2];
    if (header_bytes + sizeof(extension) > packet->rtp_bytes ||
        load_bytes(context, hook, packet->rtp_offset + header_bytes, extension,
                   sizeof(extension)) != 0) {
      return -1;
    }
    header_bytes += sizeof(extension) + 4 * (__u32)bpf_ntohs(extension[1]);
  }
  int left = (int)packet->rtp_bytes - (int)header_bytes;
  if (header[0] & 0x20) {
    __u8 padding = 0;
    if (left <= 0 ||
        load_bytes(context, hook, packet->rtp_offset + packet->rtp_bytes - 1, &padding,
                   sizeof(padding)) != 0 ||
        padding == 0) {
      return -1;
    }
    left -= padding;
  }
  return left;
}

// Whether the payload is one frame of AMR in that form. What else the announced form allows
// (several frames) is left to the sockets.
static __always_inline int is_amr_frame(void* context, enum Hook hook, const struct Packet* packet,
                                        __u32 check) {
  const __u32 size = packet->payload_bytes;
  const __u32 padding = packet->rtp[0] & bpf_htonl(0x20000000);
  // The offset of the payload is known without looking when nothing is behind it.
  const __u32 offset = packet->rtp_offset + packet->rtp_bytes - size;
  const int wide = check == kKernelPayloadAmrWbOctets || check == kKernelPayloadAmrWbBits;
  __u8 first[2];
  if (padding || size < sizeof(first) ||
      load_bytes(context, hook, offset, first, sizeof(first)) != 0) {
    return 0;
  }
  if (check == kKernelPayloadAmrOctets || check == kKernelPayloadAmrWbOctets) {
    const __u32 bits = kAmrBits[wide][first[1] >> 3 & 0x0f];
    return (first[0] & 0x0f) == 0 && (first[1] & 0x83) == 0 && bits != 0xffff &&
           size == 2 + (bits + 7) / 8;
  }
  const __u32 bits = kAmrBits[wide][(first[0] << 1 | first[1] >> 7) & 0x0f];
  const __u32 used = 4 + 6 + bits;
  __u8 last = 0;
  if ((first[0] & 0x08) != 0 || bits == 0xffff || size != (used + 7) / 8 ||
      load_bytes(context, hook, offset + size - 1, &last, sizeof(last)) != 0) {
    return 0;
  }
  // Set bits in the padding may mean that it is the other form.
  return used % 8 == 0 || (last & (0xff >> used % 8)) == 0;
}

static __always_inline __u32 rtp_ticks(__u64 nanoseconds, __u32 clock_rate_hz) {
  return (__u32)(nanoseconds / NANOSECONDS_PER_SECOND * clock_rate_hz +
                 nanoseconds % NANOSECONDS_PER_SECOND * clock_rate_hz / NANOSECONDS_PER_SECOND);
}

static __always_inline void count_jitter(struct KernelFlowState* state, __u32 timestamp, __u64 now,
                                         __u32 clock_rate_hz) {
  const __u32 transit = rtp_ticks(now, clock_rate_hz) - timestamp;
  const __u32 forward = transit - state->transit;
  const __u32 change = forward < 0 - forward ? forward : 0 - forward;
  state->transit = transit;
  if (state->transit_known && change <= (__u64)TRANSIT_STEP_SECONDS_MAX * clock_rate_hz) {
    state->jitter_scaled += change - ((state->jitter_scaled + 8) >> 4);
  }
  state->transit_known = 1;
}

static __always_inline void advance_window(struct KernelFlowState* state, __u32 steps) {
  if (steps < 64) {
    state->window_high = state->window_high << steps | state->window_low >> (64 - steps);
    state->window_low <<= steps;
  } else {
    state->window_high = steps < 128 ? state->window_low << ((steps - 64) & 63) : 0;
    state->window_low = 0;
  }
  state->window_low |= 1;
}

// Counts the packet if it is the flow's next one, or a later one of a flow that has begun. The
// flow is ours. A negative result is the miss - kKernelMissCount.
static __always_inline int count_packet(struct KernelFlow* flow, const struct Packet* packet,
                                        __u64 now) {
  struct KernelFlowState* state = &flow->state;
  const struct KernelFlowEntry* entry = &flow->entry;
  const __u32 first = bpf_ntohl(packet->rtp[0]);
  const __u32 steps = (first - (__u32)state->highest) & 0xffff;
  const int marker = (first & 0x00800000) != 0;
  const __u32 timestamp = bpf_ntohl(packet->rtp[1]);
  const __s32 ticks = (__s32)(timestamp - state->timestamp);
  const __u32 distance = ticks < 0 ? 0 - (__u32)ticks : (__u32)ticks;
  if (steps == 0 || steps >= DROPOUT_MAX) {
    return kKernelMissSequence;
  }
  // Whatever lies between may wait in the socket.
  if (state->packets == 0 && steps != 1) {
    return kKernelMissSequence;
  }
  const int off_grid = !marker && entry->packet_ticks != 0 && distance % entry->packet_ticks != 0;
  if (off_grid && entry->options & kKernelFlowOnGrid) {
    return kKernelMissTimestamp;
  }
  const __u64 from = state->pace_ns > now ? state->pace_ns : now;
  if (entry->interval_ns != 0 && from - now + entry->interval_ns > entry->burst_ns) {
    return kKernelMissPace;
  }
  state->pace_ns = from + entry->interval_ns;
  if (off_grid && distance >= steps) {
    ++state->timestamp_errors;
  }
  state->highest += steps;
  advance_window(state, steps);
  count_jitter(state, timestamp, now, entry->clock_rate_hz);
  ++state->packets;
  state->octets += packet->rtp_bytes;
  state->payload_octets += packet->payload_bytes;
  state->timestamp = timestamp;
  state->arrival_ns = now;
  return -1;
}

// What keeps a packet of the flow's own source from being forwarded; -1: nothing, and it is
// counted.
static __always_inline int take_packet(void* context, enum Hook hook, struct KernelFlow* flow,
                                       struct Packet* packet, __u32 device, __u64 now,
                                       __u16* payload_type) {
  const struct KernelFlowEntry* entry = &flow->entry;
  const __u16 target = entry->payload_types[bpf_ntohl(packet->rtp[0]) >> 16 & 0x7f];
  if (packet->rtp[2] != entry->ssrc) {
    return kKernelMissSsrc;
  }
  if (target == MGW_KERNEL_PAYLOAD_MISS) {
    return kKernelMissPayloadType;
  }
  if (packet->rtp_offset + packet->rtp_bytes > PACKET_BYTES_MAX) {
    return kKernelMissSize;
  }
  if (entry->device == 0 && device != LOOPBACK_DEVICE) {
    return kKernelMissDevice;
  }
  if (target >> 8 != kKernelPayloadAny && !is_amr_frame(context, hook, packet, target >> 8)) {
    return kKernelMissPayload;
  }
  *payload_type = target & 0x7f;
  return count_packet(flow, packet, now);
}

// The packet's RTP header and ports as they leave: what the checksum covers besides the addresses.
static __always_inline void new_words(const struct KernelFlowEntry* entry,
                                      const struct Packet* packet, __u16 payload_type,
                                      __u32 words[4]) {
  const __u32 first = bpf_ntohl(packet->rtp[0]);
  words[0] = 0;
  ((__u16*)words)[0] = entry->from_port;
  ((__u16*)words)[1] = entry->target_port;
  words[1] = bpf_htonl((first & 0xff800000) | (__u32)payload_type << 16 |
                       ((first + entry->sequence_offset) & 0xffff));
  words[2] = bpf_htonl(bpf_ntohl(packet->rtp[1]) + entry->timestamp_offset);
  words[3] = entry->ssrc_out;
}

static __always_inline void old_words(const struct Packet* packet, __u32 words[4]) {
  words[0] = 0;
  ((__u16*)words)[0] = packet->source_port;
  ((__u16*)words)[1] = packet->key.port;
  words[1] = packet->rtp[0];
  words[2] = packet->rtp[1];
  words[3] = packet->rtp[2];
}

static __always_inline __u16 fold(__u64 sum) {
  sum = (sum & 0xffffffff) + (sum >> 32);
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  return (__u16)sum;
}

// Writes everything but the checksum of UDP; null if the packet has shrunk, which it can't.
static __always_inline struct udphdr* write_headers(void* data, void* end,
                                                    const struct KernelFlowEntry* entry,
                                                    const __u32 words[4]) {
  struct udphdr* udp;
  if (entry->family == 4) {
    struct iphdr* ip = data + sizeof(struct ethhdr);
    udp = (void*)(ip + 1);
    if ((void*)(udp + 1) + RTP_HEADER_BYTES > end) {
      return 0;
    }
    ip->tos = entry->traffic_class;
    ip->ttl = entry->hop_limit;
    ip->saddr = entry->from_address[0];
    ip->daddr = entry->target_address[0];
    ip->check = 0;
    ip->check = ~fold((__u32)bpf_csum_diff(0, 0, (void*)ip, sizeof(*ip), 0));
  } else {
    struct ipv6hdr* ip = data + sizeof(struct ethhdr);
    udp = (void*)(ip + 1);
    if ((void*)(udp + 1) + RTP_HEADER_BYTES > end) {
      return 0;
    }
    *(__u32*)ip = bpf_htonl(6U << 28 | (__u32)entry->traffic_class << 20);
    ip->hop_limit = entry->hop_limit;
    __builtin_memcpy(&ip->saddr, entry->from_address, sizeof(ip->saddr));
    __builtin_memcpy(&ip->daddr, entry->target_address, sizeof(ip->daddr));
  }
  __builtin_memcpy(udp, &words[0], sizeof(words[0]));
  __builtin_memcpy(udp + 1, &words[1], RTP_HEADER_BYTES);
  return udp;
}

// The addresses' part of the checksum's change.
static __always_inline __u32 address_change(const struct KernelFlowEntry* entry,
                                            const struct Packet* packet) {
  __u32 before[8];
  __u32 after[8];
  __builtin_memcpy(&before[0], packet->source_address, 16);
  __builtin_memcpy(&before[4], packet->key.address, 16);
  __builtin_memcpy(&after[0], entry->from_address, 16);
  __builtin_memcpy(&after[4], entry->target_address, 16);
  return (__u32)bpf_csum_diff(before, sizeof(before), after, sizeof(after), 0);
}

static __always_inline int forward_tc(struct __sk_buff* skb, const struct KernelFlowEntry* entry,
                                      const struct Packet* packet, __u16 payload_type) {
  __u32 before[4];
  __u32 after[4];
  old_words(packet, before);
  new_words(entry, packet, payload_type, after);
  const __u32 addresses = address_change(entry, packet);
  const __u32 words = (__u32)bpf_csum_diff(before, sizeof(before), after, sizeof(after), 0);
  struct udphdr* udp =
      write_headers((void*)(long)skb->data, (void*)(long)skb->data_end, entry, after);
  if (!udp) {
    return TC_ACT_SHOT;
  }
  // These know where the device is yet to add the checksum up (CHECKSUM_PARTIAL).
  const __u32 at = packet->rtp_offset - sizeof(*udp) + __builtin_offsetof(struct udphdr, check);
  bpf_l4_csum_replace(skb, at, 0, addresses, BPF_F_PSEUDO_HDR | BPF_F_MARK_MANGLED_0);
  bpf_l4_csum_replace(skb, at, 0, words, BPF_F_MARK_MANGLED_0);
  skb->priority = entry->priority;
  if (entry->device == 0) {
    return TC_ACT_UNSPEC;
  }
  return (int)bpf_redirect_neigh(entry->device, 0, 0, 0);
}

// The sum of UDP's pseudo header.
static __always_inline __u16 pseudo_sum(const struct Packet* packet) {
  __u32 pseudo[9];
  __builtin_memcpy(&pseudo[0], packet->source_address, 16);
  __builtin_memcpy(&pseudo[4], packet->key.address, 16);
  const __u16 udp_bytes = packet->rtp_bytes + sizeof(struct udphdr);
  pseudo[8] = bpf_htonl((__u32)udp_bytes + IPPROTO_UDP);
  return fold((__u32)bpf_csum_diff(0, 0, pseudo, sizeof(pseudo), 0));
}

// Whether the checksum of UDP is right as it stands, of the packet as it came. `sum` is that of the
// pseudo header.
static __always_inline int is_complete(struct xdp_md* xdp, const struct Packet* packet, __u32 sum) {
  __u32 words[16];
  __u32 offset = packet->rtp_offset - sizeof(struct udphdr);
  __u32 left = packet->rtp_bytes + sizeof(struct udphdr);
  for (int i = 0; i < PACKET_BYTES_MAX / (int)sizeof(words) && left >= sizeof(words); ++i) {
    if (bpf_xdp_load_bytes(xdp, offset, words, sizeof(words)) != 0) {
      return 0;
    }
    sum = fold((__u32)bpf_csum_diff(0, 0, words, sizeof(words), sum));
    offset += sizeof(words);
    left -= sizeof(words);
  }
#define ADD_PART(part)                                                           \
  if (left & (part)) {                                                           \
    words[0] = 0;                                                                \
    if (bpf_xdp_load_bytes(xdp, offset, words, (part)) != 0) {                   \
      return 0;                                                                  \
    }                                                                            \
    sum = fold((__u32)bpf_csum_diff(0, 0, words, (part) < 4 ? 4 : (part), sum)); \
    offset += (part);                                                            \
  }
  ADD_PART(32)
  ADD_PART(16)
  ADD_PART(8)
  ADD_PART(4)
  ADD_PART(2)
  ADD_PART(1)
#undef ADD_PART
  return fold(sum) == 0xffff;
}

// What the checksum of UDP becomes. Here nobody tells whether the device is yet to add it up; then
// it is the plain sum of the pseudo header, which a complete one may be too by chance.
static __always_inline __u16 new_checksum(__u16 checksum, int complete,
                                          const struct KernelFlowEntry* entry,
                                          const struct Packet* packet, const __u32 before[4],
                                          const __u32 after[4]) {
  if (checksum == 0) {
    return 0;
  }
  const __u32 addresses = address_change(entry, packet);
  if (!complete) {
    return fold((__u64)checksum + addresses);
  }
  const __u32 words = (__u32)bpf_csum_diff((__u32*)before, 16, (__u32*)after, 16, 0);
  const __u16 sum = ~fold((__u64)(__u16)~checksum + addresses + words);
  return sum == 0 ? 0xffff : sum;
}

static __always_inline int forward_xdp(struct xdp_md* xdp, const struct KernelFlowEntry* entry,
                                       const struct Packet* packet, __u16 payload_type) {
  __u32 before[4];
  __u32 after[4];
  old_words(packet, before);
  new_words(entry, packet, payload_type, after);
  const __u16 pseudo = pseudo_sum(packet);
  const int complete = packet->checksum != pseudo || is_complete(xdp, packet, pseudo);
  void* data = (void*)(long)xdp->data;
  struct udphdr* udp = write_headers(data, (void*)(long)xdp->data_end, entry, after);
  if (!udp) {
    return XDP_DROP;
  }
  udp->check = new_checksum(packet->checksum, complete, entry, packet, before, after);
  if (entry->device == 0) {
    return XDP_PASS;
  }
  struct ethhdr* ethernet = data;
  __builtin_memcpy(ethernet->h_source, entry->from_mac, sizeof(entry->from_mac));
  __builtin_memcpy(ethernet->h_dest, entry->target_mac, sizeof(entry->target_mac));
  return entry->device == xdp->ingress_ifindex ? XDP_TX : (int)bpf_redirect(entry->device, 0);
}

// The flow that the packet belongs to, if its entry may be used at all.
static __always_inline struct KernelFlow* find_flow(const struct Packet* packet, __u64 now) {
  const __u32* number = bpf_map_lookup_elem(&flow_index, &packet->key);
  if (!number) {
    return 0;
  }
  struct KernelFlow* flow = bpf_map_lookup_elem(&flows, number);
  struct KernelPathControl* shared = the_control();
  if (!flow || !shared || (*(volatile __u32*)&flow->word & ~kKernelFlowBusy) != kKernelFlowActive ||
      (shared->needs_alive && now - shared->alive_ns > ALIVE_NANOSECONDS_MAX)) {
    return 0;
  }
  return flow;
}

static __always_inline int is_source(const struct KernelFlow* flow, const struct Packet* packet) {
  const struct KernelFlowEntry* entry = &flow->entry;
  return entry->options & kKernelFlowAnySource ||
         (packet->source_port == entry->source_port &&
          is_same(packet->source_address, entry->source_address));
}

// Gives up the flow that is ours. An atomic operation whose result is used is fully ordered: what
// was counted is seen by whoever sees that the flow is free. (For a result that is not used the
// compiler takes one without order.)
static __always_inline void release(struct KernelFlow* flow) {
  volatile __u32 before = __sync_fetch_and_and(&flow->word, ~(__u32)kKernelFlowBusy);
  (void)before;
}

// What is no RTP at all: RTCP (RFC 5761 section 4), STUN, DTLS.
static __always_inline int is_rtp(const struct Packet* packet) {
  const __u8* header = (const __u8*)packet->rtp;
  return header[0] >> 6 == 2 && !(header[1] >= 192 && header[1] <= 223);
}

static __always_inline int handle(void* context, enum Hook hook, void* data, void* end,
                                  __u32 device, int pass) {
  struct Packet packet = {};
  if (!read_headers(data, end, packet_bytes(context, hook), &packet)) {
    return pass;
  }
  const __u64 now = bpf_ktime_get_ns();
  struct KernelFlow* flow = find_flow(&packet, now);
  if (!flow) {
    return pass;
  }
  const __u32 generation = *(volatile __u32*)&flow->generation;
  if (!is_source(flow, &packet)) {
    count_miss(kKernelMissSource);
    return pass;
  }
  if (packet.rtp_bytes < RTP_HEADER_BYTES || !is_rtp(&packet)) {
    count_miss(kKernelMissOther);
    return pass;
  }
  const int payload = payload_bytes(context, hook, &packet);
  if (payload < 0) {
    count_miss(kKernelMissMalformed);
    return pass;
  }
  packet.payload_bytes = (__u16)payload;
  const __u32 before = __sync_fetch_and_or(&flow->word, kKernelFlowBusy);
  if (before & kKernelFlowBusy) {
    __sync_fetch_and_or(&flow->word, kKernelFlowStopped);
    count_miss(kKernelMissContended);
    return pass;
  }
  // The place may have been given to another flow since it was looked up.
  if (before != kKernelFlowActive || *(volatile __u32*)&flow->generation != generation ||
      flow->entry.local_port != packet.key.port || flow->entry.family != packet.key.family ||
      !is_same(flow->entry.local_address, packet.key.address)) {
    release(flow);
    return pass;
  }
  __u16 payload_type = 0;
  const int miss = take_packet(context, hook, flow, &packet, device, now, &payload_type);
  if (miss >= 0) {
    __sync_fetch_and_or(&flow->word, kKernelFlowStopped);
    count_miss(miss);
    release(flow);
    return pass;
  }
  const int verdict = hook == kXdp ? forward_xdp(context, &flow->entry, &packet, payload_type)
                                   : forward_tc(context, &flow->entry, &packet, payload_type);
  release(flow);
  return verdict;
}

SEC("tc")
int kernel_path_tc(struct __sk_buff* skb) {
  // Other than PACKET_HOST: overheard, or sent to many. A tag belongs to another device. What was
  // joined (GRO, GSO) is several packets.
  if (skb->pkt_type != 0 || skb->vlan_present || skb->gso_size != 0) {
    return TC_ACT_UNSPEC;
  }
  const __u32 headers =
      sizeof(struct ethhdr) + sizeof(struct ipv6hdr) + sizeof(struct udphdr) + RTP_HEADER_BYTES;
  if (skb->data_end - skb->data < headers &&
      (skb->protocol == bpf_htons(ETH_P_IP) || skb->protocol == bpf_htons(ETH_P_IPV6)) &&
      skb->len > skb->data_end - skb->data &&
      bpf_skb_pull_data(skb, skb->len < headers ? skb->len : headers) != 0) {
    return TC_ACT_UNSPEC;
  }
  return handle(skb, kTc, (void*)(long)skb->data, (void*)(long)skb->data_end, skb->ifindex,
                TC_ACT_UNSPEC);
}

SEC("xdp")
int kernel_path_xdp(struct xdp_md* xdp) {
  struct ethhdr* ethernet = (void*)(long)xdp->data;
  const __u32 device = xdp->ingress_ifindex;
  if ((void*)(ethernet + 1) > (void*)(long)xdp->data_end) {
    return XDP_PASS;
  }
  const struct Mac* own = bpf_map_lookup_elem(&device_macs, &device);
  const __u16* to = (const __u16*)ethernet->h_dest;
  if (!own || own->halves[0] != to[0] || own->halves[1] != to[1] || own->halves[2] != to[2]) {
    return XDP_PASS;
  }
  return handle(xdp, kXdp, (void*)(long)xdp->data, (void*)(long)xdp->data_end, device, XDP_PASS);
}
