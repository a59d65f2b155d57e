#pragma once
// What the program in the kernel and the gateway share: the layout of the maps. Included by C for
// the kernel and by C++, so it is plain C. Addresses, ports, SSRCs are in network order, all else
// in the machine's.

#include <linux/types.h>

#ifdef __cplusplus
namespace io {
#endif

/// Under what a packet finds its flow: where it was sent to. An IPv4 address has the first four
/// octets, the rest is 0.
struct KernelFlowKey {
  __u32 address[4];
  __u16 port;
  __u16 family;  ///< 4 or 6
};

/// The bits of KernelFlow::word. The gateway sets `active`, the program takes `busy` while it works
/// on the flow, either sets `stopped`: after that the flow is the gateway's.
enum KernelFlowBits {
  kKernelFlowActive = 1,
  kKernelFlowBusy = 2,
  kKernelFlowStopped = 4,
};

/// What is checked of a payload, in the upper octet of a payload type's entry.
enum KernelPayloadCheck {
  kKernelPayloadAny = 0,
  kKernelPayloadAmrOctets = 1,  ///< one frame of AMR, octet-aligned (RFC 4867 section 4.4)
  kKernelPayloadAmrBits = 2,    ///< the same, bandwidth-efficient (section 4.3)
  kKernelPayloadAmrWbOctets = 3,
  kKernelPayloadAmrWbBits = 4,
};

/// A payload type that the sockets have to look at.
#define MGW_KERNEL_PAYLOAD_MISS 0xffff

/// The bits of KernelFlowEntry::options.
enum KernelFlowOptions {
  kKernelFlowAnySource = 1,  ///< whoever sends
  kKernelFlowOnGrid = 2,     ///< a timestamp off the grid of packets is the gateway's to mend
};

/// What is done with the packets of a flow. The gateway writes it while the flow is not active.
struct KernelFlowEntry {
  __u32 local_address[4];  ///< as in the key
  __u32 source_address[4];
  __u32 from_address[4];  ///< under which it leaves
  __u32 target_address[4];
  __u16 local_port;
  __u16 source_port;
  __u16 from_port;
  __u16 target_port;
  __u16 family;
  __u8 options;
  __u8 traffic_class;  ///< the whole octet of IPv4's TOS, of IPv6's traffic class
  __u32 device;        ///< the number of the device that it leaves by; 0: for this machine itself
  __u32 priority;      ///< as SO_PRIORITY
  __u8 from_mac[6];    ///< XDP only
  __u8 target_mac[6];
  __u8 hop_limit;
  __u8 reserved[3];
  __u32 ssrc;      ///< of the source
  __u32 ssrc_out;  ///< that it leaves with
  __u32 timestamp_offset;
  __u32 sequence_offset;
  __u32 clock_rate_hz;
  __u32 packet_ticks;        ///< duration of a packet; 0 = not known
  __u64 interval_ns;         ///< packets may come so often on average; 0 = as often as they like
  __u64 burst_ns;            ///< what has come in this time may come at once
  __u16 payload_types[128];  ///< that it leaves with, and the check; or MGW_KERNEL_PAYLOAD_MISS
};

/// What has come, seeded by the gateway when it makes the flow active.
struct KernelFlowState {
  __u64 packets;  ///< since it was made active
  __u64 octets;   ///< likewise; of RTP, headers included
  __u64 payload_octets;
  __s64 highest;      ///< extended sequence number of the newest packet
  __u64 window_low;   ///< bit n: number highest - n has come
  __u64 window_high;  ///< bit n: number highest - 64 - n has come
  __u64 arrival_ns;   ///< of the newest packet, CLOCK_MONOTONIC
  __u64 pace_ns;      ///< when as many may come at once as ever
  __u32 timestamp;    ///< of the newest packet
  __u32 transit;      ///< RFC 3550 A.8
  __u32 jitter_scaled;
  __u32 transit_known;
  __u32 timestamp_errors;  ///< since it was made active
  __u32 reserved;
};

/// One flow: a leg's RTP on its way to one other leg. Two of them never share a cache line.
struct __attribute__((aligned(64))) KernelFlow {
  __u32 word;        ///< KernelFlowBits
  __u32 generation;  ///< changes whenever the entry does
  struct KernelFlowState state;
  struct KernelFlowEntry entry;
};

/// Why a packet of a flow was left to the sockets. All but the first three end the flow.
enum KernelMiss {
  kKernelMissSource,     ///< somebody else sent it
  kKernelMissOther,      ///< no RTP: RTCP, STUN, keep-alives
  kKernelMissMalformed,  ///< no valid RTP
  kKernelMissSsrc,
  kKernelMissSequence,  ///< late, a duplicate or a jump
  kKernelMissPayloadType,
  kKernelMissPayload,    ///< not in the form that was announced
  kKernelMissTimestamp,  ///< off the grid that it is to be kept on
  kKernelMissPace,       ///< more than may come
  kKernelMissSize,       ///< perhaps too long for the device that it leaves by
  kKernelMissDevice,     ///< came by a device from which it can't be passed on
  kKernelMissContended,  ///< another packet of the flow was being worked on
  kKernelMissCount,
};

/// One for all flows.
struct KernelPathControl {
  __u64 alive_ns;     ///< when the gateway was last seen, CLOCK_MONOTONIC
  __u64 needs_alive;  ///< not 0: nothing is forwarded once that is long ago
  __u64 misses[kKernelMissCount];
};

#ifdef __cplusplus
}  // namespace io
#endif
