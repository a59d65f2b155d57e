#pragma once
// What can be configured, as plain structs whose initial values are the defaults. Filled at start
// by conf/config_loader.h, or from an osmo-mgw configuration file by ttcn-compat; afterwards it
// belongs to the control thread, which may change it (VTY): other threads copy what they need when
// they start. The key of each field, its range and its text for operators stand in the table of
// conf/config_keys.cpp.

#include "conf/ip_network.h"
#include "conf/operation.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace conf {

/// How packets get in and out of the kernel.
enum class BackendChoice : std::uint8_t {
  automatic,  ///< io_uring where the kernel allows it, else poll
  poll,
  io_uring,  ///< starting fails where the kernel does not allow it
};

/// The longest time between two wake-ups of a worker that is waited out: a voice packet of 20 ms
/// bears one more millisecond of delay, not more.
inline constexpr std::chrono::microseconds kCoalescingMax{1000};

/// Whether the kernel forwards plain RTP by itself.
enum class KernelPathMode : std::uint8_t {
  off,
  automatic,  ///< where the kernel and the rights allow it: tc, else xdp
  xdp,        ///< starting fails where they don't
  tc,         ///< likewise
};

/// Section `io`: the I/O backend of every worker.
struct IoOptions {
  BackendChoice backend = BackendChoice::automatic;
  KernelPathMode kernel_path = KernelPathMode::off;
  /// Names of network devices, separated by commas; empty = those that have the addresses of the
  /// RTP sockets.
  std::string kernel_path_devices;
  /// Bytes of one packet buffer, 512..65536. A longer datagram is dropped and counted.
  std::uint32_t buffer_bytes = 2048;
  /// Packet buffers of each worker, 64..1048576; 0 = chosen from the number of endpoints.
  std::uint32_t buffers = 0;
  /// Bytes of kernel memory for received packets of one RTP or RTCP socket (SO_RCVBUF); 0 = the
  /// kernel's default.
  std::uint32_t receive_buffer_bytes = 0;
  /// Bytes of kernel memory for packets to be sent of one RTP or RTCP socket (SO_SNDBUF); 0 = the
  /// kernel's default.
  std::uint32_t send_buffer_bytes = 0;
  /// Connect RTP sockets whose peer is known and the only one allowed (SourceCheck::strict), on the
  /// poll backend: the route is looked up once, and the kernel turns strangers away, uncounted.
  bool connect_peers = false;
  /// How long a worker that has more than one packet per wake-up may wait for further ones: fewer
  /// wake-ups, which are most of what a packet costs, for so much more latency; 0..1000 us, 0 = do
  /// not wait. Empty = as long as pays at the present rate of packets, at most kCoalescingMax.
  std::optional<std::chrono::microseconds> coalescing;
  friend bool operator==(const IoOptions&, const IoOptions&) = default;
};

/// Section `workers`: the threads that forward media.
struct WorkerOptions {
  /// Threads, 1..64; 0 = one per usable core.
  std::uint32_t count = 0;
  /// CPU numbers, 0..1023: worker i runs on entry i modulo the size of the list; empty = not
  /// pinned.
  std::vector<std::uint32_t> cpu_affinity;
  /// NUMA node on whose CPUs the workers run (those that are not pinned) and whose memory they
  /// prefer, 0..1023; empty = any.
  std::optional<std::uint32_t> numa_node;
  /// SCHED_RR priority, 1..32; 0 = ordinary scheduling.
  std::uint32_t realtime_priority = 0;
  friend bool operator==(const WorkerOptions&, const WorkerOptions&) = default;
};

/// Section `mgcp`: the socket towards the call agents.
struct MgcpOptions {
  /// Numeric address to bind to, IPv4 or IPv6.
  std::string bind = "127.0.0.1";
  /// UDP port, 0..65535; 0 = chosen by the system and told in the log.
  std::uint16_t port = 2427;
  /// Domain part of the endpoint names, 1..255 characters; "*" accepts any.
  std::string domain = "mgw";
  /// Numeric address of the only call agent, of the family of `bind`; the socket is connected to
  /// its port kCallAgentPort. Empty = any agent.
  std::string call_agent;
  /// Who may send commands; empty = everybody. At most kAllowMax entries.
  std::vector<IpNetwork> allow;
  /// T-HIST of RFC 3435 section 3.5: how long an answer is kept for repeated commands, 1..3600 s.
  std::chrono::seconds transaction_history{30};
  /// Transactions remembered at the same time, 64..4194304. 2,000 calls per second with 5 commands
  /// each are 300,000 in 30 s.
  std::uint32_t transactions_max = 524288;
  /// Commands per second of one agent (by its host), 0..1000000; 0 = as many as it likes.
  std::uint32_t rate_limit = 0;
  /// Commands that an agent which was silent may send at once, 1..1000000.
  std::uint32_t rate_burst = 2000;
  /// After how long a command that still runs is answered with 100 (RFC 3435 section 3.5.6),
  /// 0..10000 ms; 0 = never.
  std::chrono::milliseconds provisional_after{0};
  /// Where RSIP is sent on start, drain and stop: "name@address:port", an RFC 3435 NotifiedEntity
  /// with a numeric address; empty = RSIP is not sent.
  std::string notify_entity;
  /// CRCX in sendrecv without any SDP is refused with 527, as the TTCN-3 suite of osmo-mgw wants
  /// it.
  bool early_bidir_error = false;
  friend bool operator==(const MgcpOptions&, const MgcpOptions&) = default;
};

/// The port to which the MGCP socket is connected when MgcpOptions::call_agent is set (RFC 3435
/// section 3.5).
inline constexpr std::uint16_t kCallAgentPort = 2727;

/// Entries of MgcpOptions::allow and TapOptions::udp_allow: each command is compared with all of
/// them.
inline constexpr std::size_t kAllowMax = 256;

/// Section `rtp`, the part that concerns the sockets and ports of the whole gateway.
struct RtpOptions {
  /// Numeric IPv4 address for RTP sockets; empty = MgcpOptions::bind, if that is IPv4.
  std::string bind;
  /// Numeric IPv6 address for RTP sockets; empty = MgcpOptions::bind if that is IPv6, else no IPv6
  /// media.
  std::string bind_v6;
  /// Numeric IPv4 address announced in SDP instead of the bound one (a gateway behind 1:1 NAT).
  std::string advertise;
  /// Numeric IPv6 address announced in SDP instead of the bound one.
  std::string advertise_v6;
  /// First port for RTP, even, 1024..65534.
  std::uint16_t port_min = 16384;
  /// Last port (RTCP), odd, 1025..65535.
  std::uint16_t port_max = 32767;
  /// How long a released port is not used again, 0..600000 ms.
  std::chrono::milliseconds port_quarantine{2000};
  /// Bind to and announce the local address from which the system would reach the peer, once that
  /// is known.
  bool ip_probing = false;
  /// DSCP of RTP and RTCP packets, 0..63 (RFC 2474).
  std::uint8_t dscp = 0;
  /// SO_PRIORITY of RTP and RTCP sockets, 0..255; above 6 needs CAP_NET_ADMIN.
  std::uint8_t socket_priority = 0;
  friend bool operator==(const RtpOptions&, const RtpOptions&) = default;
};

/// Whether and how often an RTP packet is sent to the peer to open firewalls on the way.
struct KeepAlive {
  /// Never, once for each new peer, or again and again.
  enum class Mode : std::uint8_t { off, once, interval };
  Mode mode = Mode::once;
  std::chrono::seconds interval{0};  ///< 1..120 s with Mode::interval, else 0
  friend bool operator==(const KeepAlive&, const KeepAlive&) = default;
};

/// From where a leg accepts packets.
enum class SourceCheck : std::uint8_t {
  strict,  ///< only from the address and port of the SDP
  latch,   ///< from the first valid source after each SDP
  any,     ///< from everywhere
};

/// What happens to packets with a payload type that their sender never negotiated.
enum class UnknownPayloadTypes : std::uint8_t { pass, drop };

/// What is made consistent in the RTP packets that leave the gateway.
struct PatchOptions {
  bool ssrc = false;       ///< one SSRC and one sequence per connection, whatever the source does
  bool timestamp = false;  ///< timestamps follow the sequence in whole packet durations
  bool rfc5993hr = false;  ///< GSM-HR payloads in the format that the receiver was told (RFC 5993)
  friend bool operator==(const PatchOptions&, const PatchOptions&) = default;
};

/// Section `sdp`: how the gateway describes its legs.
struct SdpOptions {
  /// Answers name the selected codec only (plus telephone-event and CN), not all common ones.
  bool single_codec = true;
  /// Answers have a=ptime.
  bool send_ptime = true;
  /// Answers have a=rtpmap.
  bool send_name = true;
  friend bool operator==(const SdpOptions&, const SdpOptions&) = default;
};

/// What can differ from trunk to trunk.
struct TrunkOptions {
  KeepAlive keep_alive;
  bool omit_rtcp = false;  ///< RTCP is not relayed
  /// The gateway reports to each leg by itself (RFC 3550) instead of relaying SR, RR and SDES;
  /// omit_rtcp wins.
  bool generate_rtcp = false;
  PatchOptions patch;
  SourceCheck source = SourceCheck::strict;
  UnknownPayloadTypes unknown_payload_types = UnknownPayloadTypes::pass;
  /// Packet duration announced to every peer, whatever it asks for: 10, 20 or 40 ms; 0 = as
  /// negotiated. Packets are not cut or joined.
  std::chrono::milliseconds force_ptime{0};
  /// CRCX on a busy endpoint with another call identifier frees the old call instead of failing
  /// with 400.
  bool force_realloc = false;
  /// Media packets of one connection's peer that are taken per second, 0..1000000; 0 = all. What is
  /// shorter than a second may be a burst.
  std::uint32_t packets_per_second = 1000;
  /// How long a connection lives without MDCX and media, 0..65534 s; 0 = for ever.
  std::chrono::seconds connection_timeout{0};
  SdpOptions sdp;
  friend bool operator==(const TrunkOptions&, const TrunkOptions&) = default;
};

/// Section `endpoints`: the virtual trunk, rtpbridge/1 to rtpbridge/COUNT (in hexadecimal).
struct VirtualTrunkOptions {
  /// Endpoints, 1..65534.
  std::uint32_t count = 512;
  /// Connections of one endpoint, 0..256; 0 = 256, the most that are bridged.
  std::uint32_t connections_max = 0;
  TrunkOptions options;
  friend bool operator==(const VirtualTrunkOptions&, const VirtualTrunkOptions&) = default;
};

/// Section `limits`: when new connections are refused (RFC 3435 section 2.4).
struct LimitOptions {
  /// Connections of all endpoints together, 0..1048576; 0 = as many as there is room for.
  std::uint32_t connections = 0;
  /// What the connections' codecs need in each direction, all together, headers of RTP, UDP and
  /// IPv4 included, 0..100000000 kbit/s; 0 = no limit.
  std::uint32_t bandwidth_kbps = 0;
  /// Share of a core that a worker may use before it gets no new calls, 0..100 %; 0 = no limit.
  std::uint32_t cpu_percent = 0;
  friend bool operator==(const LimitOptions&, const LimitOptions&) = default;
};

/// Section `taps`: copies of the packets of single connections, for those who look into a fault.
struct TapOptions {
  /// Where capture files are made; empty = there are none.
  std::string directory;
  /// A capture file ends before it becomes larger, 65536..4294967295 bytes.
  std::uint32_t file_max_bytes = 100'000'000;
  /// To which addresses copies may be sent; empty = to none. At most kAllowMax entries.
  std::vector<IpNetwork> udp_allow = loopback_networks();
  /// Taps at the same time, 0..1024; 0 = there are none.
  std::uint32_t max = 16;
  friend bool operator==(const TapOptions&, const TapOptions&) = default;
};

/// Whether legs may, or must, be circuits of an Osmux trunk.
enum class OsmuxMode : std::uint8_t {
  off,   ///< a CRCX with X-Osmux is refused
  on,    ///< a CRCX with X-Osmux gets a circuit, others plain RTP
  only,  ///< a CRCX without X-Osmux is refused
};

/// Section `osmux`: circuits towards other gateways.
struct OsmuxOptions {
  OsmuxMode mode = OsmuxMode::off;
  /// Numeric IPv4 address of the Osmux socket; empty = as RtpOptions::bind.
  std::string bind;
  /// Numeric IPv6 address of the Osmux socket; empty = as RtpOptions::bind_v6.
  std::string bind_v6;
  /// UDP port, 1..65535.
  std::uint16_t port = 1984;
  /// Frames of each circuit in a batch, 1..8; 20 ms of delay each.
  std::uint8_t batch_factor = 4;
  /// Bytes of a datagram, 1..65507, not more than IoOptions::buffer_bytes.
  std::uint16_t batch_bytes = 1472;
  /// Circuits on which nothing was sent yet are filled up with dummies.
  bool dummy_padding = false;
  /// A peer's address is that from which its circuit's first datagram comes, not that of its SDP.
  bool peer_behind_nat = false;
  friend bool operator==(const OsmuxOptions&, const OsmuxOptions&) = default;
};

/// What is sent on a time slot of a virtual E1 line, and where it is received.
enum class E1Wiring : std::uint8_t {
  loopback,        ///< on the same one
  timeslot_pairs,  ///< 1 and 2, 3 and 4, ... of each line; 31 on itself
  line_pairs,      ///< the same slot of the other line: first and second, third and fourth, ...
};

/// An E1 trunk and the line that it is on.
struct E1Trunk {
  std::uint8_t trunk = 0;
  std::uint8_t line = 0;
  friend bool operator==(const E1Trunk&, const E1Trunk&) = default;
};

/// What drives an E1 line. All but `none`, `virtual_line` and `osmo_e1d` are known from osmo-mgw's
/// configuration files only: such a line carries nothing here.
enum class E1Driver : std::uint8_t {
  none,
  virtual_line,  ///< in memory
  osmo_e1d,      ///< osmo-e1d's UNIX socket
  misdn,
  misdn_lapd,
  dahdi,
  ipa,
  unixsocket,
};

/// The drivers' words in configurations, in the order of the enumerators.
inline constexpr std::array<std::string_view, 8> kE1DriverWords = {
    "none", "virtual", "e1d", "misdn", "misdn_lapd", "dahdi", "ipa", "unixsocket"};

/// One of `e1.line-options`: an E1 line.
struct E1LineOptions {
  std::uint8_t line = 0;
  E1Driver driver = E1Driver::none;
  /// Which line of the driver, 0..255; with osmo-e1d interface * 16 + line.
  std::uint8_t port = 0;
  std::string name;    ///< for people
  std::string socket;  ///< path of the driver's socket; empty = its usual one
  std::string pcap;    ///< osmo-mgw's capture file of the line; kept, not written
  friend bool operator==(const E1LineOptions&, const E1LineOptions&) = default;
};

/// One of `e1.trunk-options`: what is different on one E1 trunk. Trunks without an entry take the
/// virtual trunk's options.
struct E1TrunkOptions {
  std::uint8_t trunk = 0;
  TrunkOptions options;
  friend bool operator==(const E1TrunkOptions&, const E1TrunkOptions&) = default;
};

/// Lines and trunks at most: their numbers are 0..255 and 0..64.
inline constexpr std::size_t kE1LinesMax = 256;
inline constexpr std::size_t kE1TrunksMax = 65;

/// Section `e1`: trunks of E1 lines, ds/e1-TRUNK/s-TIMESLOT/suRATE-OFFSET.
struct E1Options {
  /// All lines are virtual ones; without any trunk named there is trunk 1 on line 0.
  bool virtual_lines = false;
  /// Numbers of the trunks, 0..64, each once.
  std::vector<std::uint32_t> trunks;
  /// The line of each trunk, 0..255, each once; empty = 0, 1, 2, ...
  std::vector<std::uint32_t> lines;
  /// How virtual lines are wired.
  E1Wiring wiring = E1Wiring::loopback;
  /// How many of a million bits on virtual lines are inverted, 0..100000.
  std::uint32_t bit_errors_ppm = 0;
  /// The lines, each once; at most kE1LinesMax.
  std::vector<E1LineOptions> line_options;
  /// The trunks' own options, each trunk once; at most kE1TrunksMax.
  std::vector<E1TrunkOptions> trunk_options;

  /// The trunks that there are.
  [[nodiscard]] std::vector<E1Trunk> all_trunks() const {
    std::vector<E1Trunk> all;
    for (std::size_t i = 0; i < trunks.size(); ++i) {
      const std::size_t line = i < lines.size() ? lines[i] : i;
      all.push_back({static_cast<std::uint8_t>(trunks[i]), static_cast<std::uint8_t>(line)});
    }
    if (all.empty() && virtual_lines) {
      all.push_back({1, 0});
    }
    return all;
  }
  friend bool operator==(const E1Options&, const E1Options&) = default;
};

/// Section `journal`: calls go on after a crash or a restart.
struct JournalOptions {
  /// Where the journal is; empty = there is none.
  std::string directory;
  /// Older calls are over when the gateway starts, 1..86400 s.
  std::chrono::seconds restore_within{60};
  /// How often what was written is forced to the disk, 0..3600 s; 0 = when the system likes.
  std::chrono::seconds sync_interval{0};
  /// Sockets are kept by the service manager, if there is one.
  bool keep_sockets = true;
  friend bool operator==(const JournalOptions&, const JournalOptions&) = default;
};

/// Section `take-over`: a successor gets the calls of a gateway that runs.
struct TakeOverOptions {
  /// Path of the UNIX socket over which that happens; empty = not at all.
  std::string socket;
  friend bool operator==(const TakeOverOptions&, const TakeOverOptions&) = default;
};

/// Section `metrics`: the Prometheus exporter, http://BIND:PORT/metrics, and the status page.
struct MetricsOptions {
  bool enabled = true;
  /// Numeric address to bind to, IPv4 or IPv6.
  std::string bind = "127.0.0.1";
  /// TCP port, 0..65535; 0 = no exporter, as with `enabled` = false.
  std::uint16_t port = 9747;
  friend bool operator==(const MetricsOptions&, const MetricsOptions&) = default;
};

/// Section `records`: a record of each call when it has ended.
struct RecordOptions {
  /// File to which records are appended, one JSON object a line; empty = none.
  std::string file;
  /// Each record is a line of the log, too.
  bool log = false;
  friend bool operator==(const RecordOptions&, const RecordOptions&) = default;
};

/// The whole configuration; a default-constructed one is what an empty file gives.
struct Config {
  IoOptions io;
  WorkerOptions workers;
  MgcpOptions mgcp;
  RtpOptions rtp;
  VirtualTrunkOptions endpoints;
  LimitOptions limits;
  StopOptions stop;
  TapOptions taps;
  OsmuxOptions osmux;
  E1Options e1;
  JournalOptions journal;
  TakeOverOptions take_over;
  MetricsOptions metrics;
  RecordOptions records;
  VtyOptions vty;
  CtrlOptions ctrl;
  StatsOptions stats;
  LogOptions log;
  friend bool operator==(const Config&, const Config&) = default;
};

}  // namespace conf
