#include "conf/config_keys.h"

#include "conf/collection.h"
#include "conf/setting_table.h"
#include "conf/yaml_text.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace conf {

namespace {

using namespace table;

/// More letters than any key has; the rest of a longer word cannot make it more alike.
constexpr std::size_t kComparedBytesMax = 64;

/// A key of the virtual trunk's TrunkOptions.
constexpr auto kTrunk = &Config::endpoints;
constexpr auto kTrunkOptions = &VirtualTrunkOptions::options;

constexpr Section kSections[] = {
    {"io", "How packets get in and out of the kernel."},
    {"workers", "The threads that forward media."},
    {"mgcp", "The socket to which the call agents send their commands."},
    {"mgcp.compat", "Answers as other gateways give them, for call agents that rely on them."},
    {"rtp", "Media: addresses, ports, and how packets are treated on their way."},
    {"rtp.patch", "What is made consistent in the packets that leave the gateway."},
    {"rtcp", "Reports about the media streams."},
    {"sdp", "How the gateway describes its side of a call."},
    {"endpoints", "The virtual endpoints rtpbridge/1, rtpbridge/2, ... (in hexadecimal)."},
    {"limits", "When new connections are refused, and media of a peer that sends too much."},
    {"stop", "How the gateway ends."},
    {"taps", "Copies of a single connection's packets, ordered with X-Mgw-Tap or mgwctl tap."},
    {"osmux", "Circuits to other gateways: the AMR calls between two of them share datagrams."},
    {"e1",
     "E1 trunks: the endpoints ds/e1-TRUNK/s-TIMESLOT/suRATE-OFFSET, one for each sub-slot. Their "
     "other options are those of the virtual endpoints."},
    {"journal", "Calls that go on after a crash or a restart of the gateway."},
    {"take-over", "Calls that go on in another gateway on this machine: mgw --take-over."},
    {"metrics",
     "The Prometheus exporter, http://BIND:PORT/metrics, and the status page http://BIND:PORT/. "
     "The "
     "page shows call identifiers and addresses of all calls: keep it to those who may see them."},
    {"records", "A record of each call when it has ended: its legs, how they sounded, and why."},
    {"vty", "The command line for people, over telnet."},
    {"ctrl", "The control interface for programs (IPA framing)."},
    {"stats", "Reports of the counters to statsd servers and to the log."},
    {"log", "What is logged, and where to."},
};

constexpr Setting kIoAndWorkers[] = {
    choice<&Config::io, &IoOptions::backend>(
        "io.backend", kBackends,
        "auto takes io_uring where the kernel allows it and poll elsewhere; io_uring fails to "
        "start "
        "where it is not allowed. The environment variables MGW_IO_BACKEND and LIBOSMO_IO_BACKEND "
        "take precedence."),
    choice<&Config::io, &IoOptions::kernel_path>(
        "io.kernel-path", kKernelPaths,
        "Whether the kernel forwards plain RTP between two legs by itself (eBPF), without waking "
        "the gateway: tc and xdp say where, and fail to start where that is not allowed; auto "
        "takes tc, else xdp, else neither. Needs CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON. The "
        "environment variable MGW_KERNEL_PATH takes precedence."),
    text<&Config::io, &IoOptions::kernel_path_devices>(
        "io.kernel-path-devices", kDevices,
        "The network devices at which it does that, such as \"lo,eth0\"; \"\" finds those that "
        "have "
        "the addresses of the RTP sockets."),
    number<&Config::io, &IoOptions::buffer_bytes>(
        "io.buffer-bytes", "bytes", 512, 65536,
        "Size of a packet buffer. A longer datagram is dropped and counted."),
    number<&Config::io, &IoOptions::buffers>(
        "io.buffers", "", 64, 1048576,
        "Packet buffers of each worker; auto derives them from the number of endpoints.", kAuto),
    number<&Config::io, &IoOptions::receive_buffer_bytes>(
        "io.receive-buffer-bytes", "bytes", 0, 1073741824,
        "Kernel memory for received packets of one RTP or RTCP socket (SO_RCVBUF); 0 leaves the "
        "system's default."),
    number<&Config::io, &IoOptions::send_buffer_bytes>(
        "io.send-buffer-bytes", "bytes", 0, 1073741824,
        "Kernel memory for packets to be sent of one RTP or RTCP socket (SO_SNDBUF); 0 leaves the "
        "system's default."),
    toggle<&Config::io, &IoOptions::connect_peers>(
        "io.connect-peers",
        "On poll, connect RTP sockets whose peer is known and the only one allowed (rtp.source: "
        "strict): some percent less CPU per packet, but packets from strangers are turned away by "
        "the kernel, with an ICMP error, where no counter sees them."),
    number<&Config::io, &IoOptions::coalescing>(
        "io.coalesce-us", "us", 0, kCoalescingMax.count(),
        "How long a worker that is busy may wait for more packets before it forwards those it has: "
        "fewer wake-ups, which are most of what a packet costs, for up to this much more latency. "
        "auto waits as long as pays at the present rate of packets, up to 1000 us, and not at all "
        "with few packets; 0 does not wait. Commands end the wait at once.",
        kAuto),
    number<&Config::workers, &WorkerOptions::count>("workers.count", "", 1, 64,
                                                    "Threads; auto is one per usable core.", kAuto),
    number<&Config::workers, &WorkerOptions::cpu_affinity>(
        "workers.cpu-affinity", "", 0, 1023,
        "CPUs to which the workers are bound, one after the other; [] leaves them free."),
    number<&Config::workers, &WorkerOptions::numa_node>(
        "workers.numa-node", "", 0, 1023,
        "NUMA node on whose CPUs the workers run and whose memory they use: that of the network "
        "card; any leaves both to the system. workers.count: auto is then the cores of that node.",
        kAny),
    number<&Config::workers, &WorkerOptions::realtime_priority>(
        "workers.realtime-priority", "", 0, 32,
        "Real-time priority (SCHED_RR) of the workers, which needs CAP_SYS_NICE; 0 is ordinary "
        "scheduling."),
};

constexpr Setting kMgcp[] = {
    text<&Config::mgcp, &MgcpOptions::bind>(
        "mgcp.bind", kAddress,
        "Address to listen on. MGCP has no authentication: open it to trusted networks only."),
    number<&Config::mgcp, &MgcpOptions::port>(
        "mgcp.port", "", 0, 65535, "UDP port; 0 lets the system choose, the log tells which."),
    text<&Config::mgcp, &MgcpOptions::domain>("mgcp.domain", kDomain,
                                              "What stands behind the @ of endpoint names, in any "
                                              "letter case; \"*\" accepts every domain."),
    text<&Config::mgcp, &MgcpOptions::call_agent>(
        "mgcp.call-agent", kOptionalAddress,
        "Address of the only call agent: the socket is connected to its port 2727 and hears nobody "
        "else. \"\" serves every agent."),
    number<&Config::mgcp, &MgcpOptions::allow>("mgcp.allow", "", 0, 0,
                                               "Who may send commands; [] is everybody."),
    number<&Config::mgcp, &MgcpOptions::transaction_history>(
        "mgcp.transaction-history-s", "s", 1, 3600,
        "How long answers are kept for commands that are sent again (T-HIST of RFC 3435)."),
    number<&Config::mgcp, &MgcpOptions::transactions_max>(
        "mgcp.transactions-max", "", 64, 4194304,
        "Transactions that are remembered at the same time. Commands per second times the history "
        "is what is needed."),
    number<&Config::mgcp, &MgcpOptions::rate_limit>(
        "mgcp.rate-limit", "", 0, 1000000,
        "Commands per second that one agent may give; more are answered with 409, and those beyond "
        "the double not at all. 0 sets no limit."),
    number<&Config::mgcp, &MgcpOptions::rate_burst>(
        "mgcp.rate-burst", "", 1, 1000000,
        "Commands that an agent which was silent may give at once; mgcp.rate-limit holds then."),
    number<&Config::mgcp, &MgcpOptions::provisional_after>(
        "mgcp.provisional-after-ms", "ms", 0, 10000,
        "A command that is still running after this time and is sent again gets a provisional "
        "answer (100); 0 never sends one."),
    text<&Config::mgcp, &MgcpOptions::notify_entity>(
        "mgcp.notify-entity", kOptionalEntity,
        "Call agent that is told about start and stop with RSIP, such as "
        "ca@192.0.2.1:2727; \"\" sends none. Its answers are heard whatever mgcp.allow names."),
    toggle<&Config::mgcp, &MgcpOptions::early_bidir_error>(
        "mgcp.compat.early-bidir-error",
        "Refuse a CRCX in mode sendrecv without SDP (527) instead of waiting for the remote "
        "address."),
};

constexpr Setting kRtp[] = {
    text<&Config::rtp, &RtpOptions::bind>("rtp.bind", kOptionalIpv4,
                                          "IPv4 address of the RTP sockets; \"\" takes mgcp.bind, "
                                          "or, if that is \"any\" or IPv6, the "
                                          "address from which the peer is reached."),
    text<&Config::rtp, &RtpOptions::bind_v6>(
        "rtp.bind-v6", kOptionalIpv6,
        "IPv6 address of the RTP sockets; \"\" takes mgcp.bind if that is IPv6, else there is no "
        "IPv6 media."),
    text<&Config::rtp, &RtpOptions::advertise>(
        "rtp.advertise", kOptionalIpv4,
        "IPv4 address announced in SDP in place of the bound one, for a gateway behind 1:1 NAT."),
    text<&Config::rtp, &RtpOptions::advertise_v6>(
        "rtp.advertise-v6", kOptionalIpv6,
        "IPv6 address announced in SDP in place of the bound one; needs an address to bind to."),
    number<&Config::rtp, &RtpOptions::port_min>("rtp.port-min", "", 1024, 65534,
                                                "First port for media, an even number."),
    number<&Config::rtp, &RtpOptions::port_max>(
        "rtp.port-max", "", 1025, 65535,
        "Last port for media, an odd number. Each leg of a call takes two ports."),
    number<&Config::rtp, &RtpOptions::port_quarantine>(
        "rtp.port-quarantine-ms", "ms", 0, 600000,
        "How long the ports of an ended call rest, so that its late packets reach no other call."),
    toggle<&Config::rtp, &RtpOptions::ip_probing>(
        "rtp.ip-probing",
        "Bind to the local address from which the system reaches the peer, call by call, once that "
        "is known."),
    number<&Config::rtp, &RtpOptions::dscp>("rtp.dscp", "", 0, 63,
                                            "DSCP of media packets; 46 is expedited forwarding."),
    number<&Config::rtp, &RtpOptions::socket_priority>(
        "rtp.socket-priority", "", 0, 255,
        "Priority of media packets in the queues of this machine (SO_PRIORITY); above 6 needs "
        "CAP_NET_ADMIN."),
    number<kTrunk, kTrunkOptions, &TrunkOptions::keep_alive>(
        "rtp.keep-alive", "s", 1, 120,
        "Send a packet that opens firewalls on the way to the peer: never, once after each command "
        "that tells where it is, or then at this interval as well.",
        kKeepAlives),
    choice<kTrunk, kTrunkOptions, &TrunkOptions::source>(
        "rtp.source", kSources,
        "From where media is accepted: the address and port of the SDP only; the first valid "
        "source "
        "after each SDP (peers behind NAT); everywhere."),
    choice<kTrunk, kTrunkOptions, &TrunkOptions::unknown_payload_types>(
        "rtp.unknown-payload-types", kUnknownPayloadTypes,
        "What happens to packets with a payload type that was never negotiated."),
    choice<kTrunk, kTrunkOptions, &TrunkOptions::force_ptime>(
        "rtp.force-ptime-ms", kPtimes,
        "Packet duration announced to every peer, whatever it asks for (packets are not cut or "
        "joined); 0 follows the negotiation.",
        "ms"),
    toggle<kTrunk, kTrunkOptions, &TrunkOptions::patch, &PatchOptions::ssrc>(
        "rtp.patch.ssrc", "One SSRC for the whole connection, even if the source changes its own."),
    toggle<kTrunk, kTrunkOptions, &TrunkOptions::patch, &PatchOptions::timestamp>(
        "rtp.patch.timestamp", "Timestamps that follow the packet duration, whatever came in."),
    toggle<kTrunk, kTrunkOptions, &TrunkOptions::patch, &PatchOptions::rfc5993hr>(
        "rtp.patch.rfc5993hr",
        "GSM half-rate payloads change their format on the way: RFC 5993 becomes TS 101 318 and "
        "the "
        "other way round, unless both legs named the same one."),
};

constexpr Setting kRtcpAndSdp[] = {
    toggle<kTrunk, kTrunkOptions, &TrunkOptions::omit_rtcp>("rtcp.omit",
                                                            "Send no RTCP to the peers."),
    toggle<kTrunk, kTrunkOptions, &TrunkOptions::generate_rtcp>(
        "rtcp.generate",
        "Send sender and receiver reports of the gateway's own to each leg (RFC 3550) and keep "
        "those "
        "of the peers, instead of relaying them from leg to leg; measures loss and round trip of "
        "each leg."),
    toggle<kTrunk, kTrunkOptions, &TrunkOptions::sdp, &SdpOptions::single_codec>(
        "sdp.single-codec",
        "Answer with the selected codec only (and telephone-event and CN), not with all common "
        "ones."),
    toggle<kTrunk, kTrunkOptions, &TrunkOptions::sdp, &SdpOptions::send_ptime>(
        "sdp.send-ptime", "Answers have an a=ptime line."),
    toggle<kTrunk, kTrunkOptions, &TrunkOptions::sdp, &SdpOptions::send_name>(
        "sdp.send-name", "Answers have a=rtpmap lines."),
};

constexpr Setting kOsmux[] = {
    choice<&Config::osmux, &OsmuxOptions::mode>(
        "osmux.mode", kOsmuxModes,
        "Whether legs are Osmux circuits: never; those whose CRCX has X-Osmux; all, a CRCX without "
        "it being refused. The virtual endpoints then share one worker."),
    text<&Config::osmux, &OsmuxOptions::bind>(
        "osmux.bind", kOptionalIpv4, "IPv4 address of the Osmux socket; \"\" as with rtp.bind."),
    text<&Config::osmux, &OsmuxOptions::bind_v6>(
        "osmux.bind-v6", kOptionalIpv6,
        "IPv6 address of the Osmux socket; \"\" as with rtp.bind-v6."),
    number<&Config::osmux, &OsmuxOptions::port>("osmux.port", "", 1, 65535,
                                                "UDP port, opened with the first circuit."),
    number<&Config::osmux, &OsmuxOptions::batch_factor>(
        "osmux.batch-factor", "", 1, 8,
        "Frames of each circuit that leave together; each is 20 ms of delay."),
    number<&Config::osmux, &OsmuxOptions::batch_bytes>(
        "osmux.batch-bytes", "bytes", 1, 65507,
        "Size of the longest datagram, at most io.buffer-bytes; 1472 fits into Ethernet's frames."),
    toggle<&Config::osmux, &OsmuxOptions::dummy_padding>(
        "osmux.dummy-padding",
        "Send dummies on circuits that carry no speech yet, so that the bandwidth is theirs."),
    toggle<&Config::osmux, &OsmuxOptions::peer_behind_nat>(
        "osmux.peer-behind-nat",
        "A peer is where its circuit's first datagram comes from, whatever its SDP says."),
};

constexpr Setting kGateway[] = {
    number<&Config::endpoints, &VirtualTrunkOptions::count>("endpoints.count", "", 1, 65534,
                                                            "Number of endpoints."),
    number<&Config::endpoints, &VirtualTrunkOptions::connections_max>(
        "endpoints.connections-max", "", 0, 256,
        "Connections that one endpoint may have; 0 is as many as the gateway can bridge, 256."),
    number<kTrunk, kTrunkOptions, &TrunkOptions::connection_timeout>(
        "endpoints.connection-timeout-s", "s", 0, 65534,
        "A connection without MDCX and without media for this long is removed; 0 keeps it."),
    toggle<kTrunk, kTrunkOptions, &TrunkOptions::force_realloc>(
        "endpoints.force-realloc",
        "A CRCX with another call identifier ends the old call instead of being refused."),
    number<&Config::limits, &LimitOptions::connections>(
        "limits.connections", "", 0, 1048576,
        "Connections (legs) of the whole gateway; a further one is refused (403). 0 sets no "
        "limit."),
    number<&Config::limits, &LimitOptions::bandwidth_kbps>(
        "limits.bandwidth-kbps", "kbit/s", 0, 100000000,
        "What all connections may need in each direction by the codecs that were negotiated, "
        "headers included; a connection for which it does not suffice is refused (404). 0 sets no "
        "limit."),
    number<&Config::limits, &LimitOptions::cpu_percent>(
        "limits.cpu-percent", "%", 0, 100,
        "Share of a core that a worker may use: beyond it new calls are refused (409), while all "
        "other commands are served. 0 sets no limit."),
    number<kTrunk, kTrunkOptions, &TrunkOptions::packets_per_second>(
        "limits.packets-per-second", "", 0, 1000000,
        "RTP and RTCP packets of one connection's peer that are taken per second, so that a peer "
        "gone wild harms its own call only; voice is 50. 0 takes all."),
    choice<&Config::stop, &StopOptions::on_sigterm>(
        "stop.on-sigterm", kOnSigterm,
        "What SIGTERM does: end at once; or refuse new calls and end when the last one is over. A "
        "second SIGTERM, and SIGINT, end at once."),
    number<&Config::stop, &StopOptions::drain_deadline>(
        "stop.drain-deadline-s", "s", 0, 604800,
        "How long that may take before the calls that are left are ended; 0 waits for them."),
    text<&Config::taps, &TapOptions::directory>(
        "taps.directory", kOptionalDirectory,
        "Directory in which taps may make capture files, which hold what people say: keep it to "
        "those who may hear that. \"\" writes none."),
    number<&Config::taps, &TapOptions::file_max_bytes>(
        "taps.file-max-bytes", "bytes", 65536, 4294967295,
        "A capture file ends before it grows beyond this."),
    number<&Config::taps, &TapOptions::udp_allow>("taps.udp-allow", "", 0, 0,
                                                  "Where taps may send copies to; [] is nowhere."),
    number<&Config::taps, &TapOptions::max>("taps.max", "", 0, 1024,
                                            "Taps at the same time; 0 permits none."),
    toggle<&Config::e1, &E1Options::virtual_lines>(
        "e1.virtual",
        "All lines are virtual ones, in memory, for tests and demonstrations; where no trunk is "
        "named there is trunk 1 on line 0. Otherwise the lines are those of e1.line-options, and "
        "calls on trunks without a line are refused (502)."),
    number<&Config::e1, &E1Options::trunks>("e1.trunks", "", 0, 64,
                                            "Numbers of the trunks; [] is none."),
    number<&Config::e1, &E1Options::lines>(
        "e1.lines", "", 0, 255,
        "The E1 line of each trunk, in the order of e1.trunks; [] is 0, 1, 2 and so on."),
    choice<&Config::e1, &E1Options::wiring>(
        "e1.virtual-wiring", kE1Wirings,
        "Where it is received what is sent on a time slot of a virtual line: on the same one; on "
        "its neighbour (1 and 2, 3 and 4, ...); on the same slot of the neighbouring line (the "
        "first trunk's and the second's, the third's and the fourth's, ...)."),
    number<&Config::e1, &E1Options::bit_errors_ppm>(
        "e1.virtual-bit-errors-ppm", "", 0, 100000,
        "How many of a million bits on virtual lines are inverted on their way."),
    text<&Config::journal, &JournalOptions::directory>(
        "journal.directory", kOptionalDirectory,
        "Directory of the journal, in memory best (/run/mgw): each command is on record before it "
        "is "
        "answered. \"\" keeps none."),
    number<&Config::journal, &JournalOptions::restore_within>(
        "journal.restore-within-s", "s", 1, 86400,
        "Calls of a journal whose last record is older are over when the gateway starts."),
    number<&Config::journal, &JournalOptions::sync_interval>(
        "journal.sync-interval-s", "s", 0, 3600,
        "How often the journal is forced to the disk; 0 leaves that to the system, and loses "
        "nothing "
        "when only the gateway ends."),
    toggle<&Config::journal, &JournalOptions::keep_sockets>(
        "journal.keep-sockets",
        "The service manager keeps the sockets of the calls, if one runs the gateway "
        "(FileDescriptorStoreMax=), so that no packet is lost while it starts again."),
    text<&Config::take_over, &TakeOverOptions::socket>(
        "take-over.socket", kOptionalPath,
        "UNIX socket over which a successor of the same user gets all calls; \"\" is none."),
    toggle<&Config::metrics, &MetricsOptions::enabled>("metrics.enabled",
                                                       "Whether there is an exporter."),
    text<&Config::metrics, &MetricsOptions::bind>("metrics.bind", kAddress,
                                                  "Address to listen on."),
    number<&Config::metrics, &MetricsOptions::port>("metrics.port", "", 0, 65535,
                                                    "TCP port; 0 is no exporter."),
    text<&Config::records, &RecordOptions::file>(
        "records.file", kOptionalPath,
        "File to which records are appended, one JSON object a line; SIGHUP opens it anew. \"\" is "
        "none."),
    toggle<&Config::records, &RecordOptions::log>("records.log",
                                                  "Each record is a line of the log, too."),
    toggle<&Config::vty, &VtyOptions::enabled>("vty.enabled", "Whether there is a VTY."),
    text<&Config::vty, &VtyOptions::bind>(
        "vty.bind", kAddress,
        "Address to listen on. Keep it to trusted hosts: who gets in may end "
        "calls."),
    number<&Config::vty, &VtyOptions::port>("vty.port", "", 0, 65535,
                                            "TCP port; 0 lets the system choose."),
    toggle<&Config::vty, &VtyOptions::login>("vty.login",
                                             "Ask for the password; without one nobody gets in."),
    text<&Config::vty, &VtyOptions::password>("vty.password", kLabel, "The password."),
    toggle<&Config::ctrl, &CtrlOptions::enabled>("ctrl.enabled",
                                                 "Whether there is a control interface."),
    text<&Config::ctrl, &CtrlOptions::bind>("ctrl.bind", kAddress,
                                            "Address to listen on. It has no authentication."),
    number<&Config::ctrl, &CtrlOptions::port>("ctrl.port", "", 0, 65535,
                                              "TCP port; 0 lets the system choose."),
    number<&Config::stats, &StatsOptions::interval>(
        "stats.interval-s", "s", 0, 65535,
        "Time between two reports; 0 reports only when told to (VTY: stats report)."),
    choice<&Config::log, &LogOptions::level>("log.level", kLogLevels,
                                             "From which severity on a line is logged."),
    text<&Config::log, &LogOptions::file>(
        "log.file", kOptionalPath, "File to which lines are appended; \"\" is standard error."),
    toggle<&Config::log, &LogOptions::json>("log.json", "One JSON object a line."),
};

std::vector<Setting> join_tables() {
  std::vector<Setting> all;
  for (const std::span<const Setting> table :
       {std::span<const Setting>(kIoAndWorkers), std::span<const Setting>(kMgcp),
        std::span<const Setting>(kRtp), std::span<const Setting>(kRtcpAndSdp),
        std::span<const Setting>(kOsmux), std::span<const Setting>(kGateway)}) {
    all.insert(all.end(), table.begin(), table.end());
  }
  return all;
}

/// Letters to insert, remove or replace to get from one word to the other (Levenshtein).
std::size_t edit_distance(std::string_view left, std::string_view right) {
  std::vector<std::size_t> row(right.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < left.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < right.size(); ++j) {
      const std::size_t replaced = diagonal + (left[i] == right[j] ? 0U : 1U);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::span<const Setting> all_settings() noexcept {
  static const std::vector<Setting> all = join_tables();
  return all;
}

std::span<const Section> all_sections() noexcept {
  return kSections;
}

const Setting* find_setting(std::string_view path) noexcept {
  const auto found = std::ranges::find(all_settings(), path, &Setting::path);
  return found == all_settings().end() ? nullptr : &*found;
}

std::vector<const Setting*> differing_settings(const Config& left, const Config& right) {
  std::vector<const Setting*> differing;
  for (const Setting& setting : all_settings()) {
    if (value_text(setting, left) != value_text(setting, right)) {
      differing.push_back(&setting);
    }
  }
  return differing;
}

bool is_section(std::string_view path) noexcept {
  return std::ranges::find(kSections, path, &Section::path) != std::end(kSections);
}

std::string_view nearest_key(std::string_view path) {
  const std::string_view wanted = path.substr(0, kComparedBytesMax);
  std::string_view best;
  std::size_t best_distance = 0;
  // A right key in the wrong section is one mistake, however different the sections' names are.
  const auto consider = [&](std::string_view candidate) {
    const std::size_t whole = edit_distance(wanted, candidate);
    const std::size_t moved = edit_distance(last_part(wanted), last_part(candidate)) + 1;
    const std::size_t distance = std::min(2 * whole, 2 * moved + 1);
    if (best.empty() || distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  };
  for (const Setting& setting : all_settings()) {
    consider(setting.path);
  }
  for (const Section& section : kSections) {
    consider(section.path);
  }
  for (const Collection& collection : all_collections()) {
    consider(collection.path);
    for (const Setting& setting : collection.settings) {
      consider(setting.path);
    }
  }
  return best;
}

}  // namespace conf
