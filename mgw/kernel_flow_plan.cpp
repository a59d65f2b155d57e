#include "mgw/kernel_flow_plan.h"

#include "mgw/media_path.h"
#include "mgw/token_bucket.h"

#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace mgw {

namespace {

constexpr unsigned kDscpShift = 2;
/// What sockets send with (net.ipv4.ip_default_ttl, RFC 1700).
constexpr std::uint8_t kHopLimit = 64;
constexpr std::uint32_t kDefaultClockRateHz = 8000;

/// An address that the program can match or send to: not of a single link, as then the device would
/// be part of it.
bool is_usable(const io::SocketAddress& address) noexcept {
  if (address.port() == 0 || address.is_unspecified()) {
    return false;
  }
  const auto bytes = address.host_bytes();
  const bool is_link_local =
      address.family() == io::AddressFamily::ipv6 && bytes[0] == 0xfe && (bytes[1] & 0xc0U) == 0x80;
  return !is_link_local;
}

/// Where the source's packets come from; empty: from anywhere.
io::SocketAddress source_address(const MediaConnection& source) noexcept {
  switch (source.entry.source) {
    case SourceCheck::any:
      return io::SocketAddress();
    case SourceCheck::latch:
      return source.learned_source;
    case SourceCheck::strict:
      break;
  }
  return source.entry.remote_rtp;
}

std::optional<KernelRefusal> refusal(const MediaConnection& source,
                                     const MediaConnection* target) noexcept {
  if (source.leg != nullptr || source.rtp_socket == io::SocketId()) {
    return KernelRefusal::leg_kind;
  }
  if (!source.entry.receives) {
    return KernelRefusal::mode;
  }
  if (source.entry.routes.size() != 1 || source.entry.routes.front().echo || target == nullptr) {
    return KernelRefusal::routes;
  }
  if (target->leg != nullptr || target->rtp_socket == io::SocketId()) {
    return KernelRefusal::leg_kind;
  }
  if (source.tap != nullptr || target->tap != nullptr) {
    return KernelRefusal::tapped;
  }
  const bool any_source = source.entry.source == SourceCheck::any;
  const io::SocketAddress& peer = MediaPath::rtp_peer(*target);
  if (!is_usable(source.local_rtp) || !is_usable(target->local_rtp) || !is_usable(peer) ||
      (!any_source &&
       (!is_usable(source_address(source)) || !is_usable(source.entry.remote_rtp)))) {
    return KernelRefusal::address;
  }
  const auto family = source.local_rtp.family();
  if (family != target->local_rtp.family() || family != peer.family() ||
      (!any_source && family != source_address(source).family())) {
    return KernelRefusal::mixed_families;
  }
  return std::nullopt;
}

std::uint16_t payload_check(const ForwardingEntry& entry, std::uint8_t payload_type) noexcept {
  const auto found = std::find_if(
      entry.announced_amr.begin(), entry.announced_amr.end(),
      [payload_type](const AnnouncedAmr& amr) { return amr.payload_type == payload_type; });
  if (found == entry.announced_amr.end()) {
    return io::kKernelPayloadAny;
  }
  const bool in_octets = found->format == rtp::AmrFormat::octet_aligned;
  if (found->codec == rtp::AmrCodec::wideband) {
    return in_octets ? io::kKernelPayloadAmrWbOctets : io::kKernelPayloadAmrWbBits;
  }
  return in_octets ? io::kKernelPayloadAmrOctets : io::kKernelPayloadAmrBits;
}

void fill_payload_types(const ForwardingEntry& source, const ForwardingEntry& target,
                        io::KernelFlowEntry& entry) noexcept {
  for (std::uint8_t type = 0; type < rtp::kPayloadTypes; ++type) {
    const rtp::PayloadDecision decision = rtp::map_payload_type(
        source.source_types, target.target_types, type, source.unknown_payload_types);
    const bool stays = decision.action != rtp::PayloadAction::drop_unmapped &&
                       decision.conversion == rtp::Conversion::none;
    entry.payload_types[type] =
        stays
            ? static_cast<std::uint16_t>(payload_check(source, type) << 8U | decision.payload_type)
            : MGW_KERNEL_PAYLOAD_MISS;
  }
}

void fill_address(const io::SocketAddress& address, std::uint32_t (&words)[4],
                  std::uint16_t& port) noexcept {
  const io::KernelFlowKey key = io::kernel_flow_key(address);
  std::memcpy(words, key.address, sizeof(key.address));
  port = key.port;
}

}  // namespace

tl::expected<KernelFlowPlan, KernelRefusal> plan_kernel_flow(const MediaConnection& source,
                                                             const MediaConnection* target,
                                                             KernelFlowMarks marks) noexcept {
  if (const auto refused = refusal(source, target)) {
    return tl::unexpected(*refused);
  }
  const ForwardingEntry& from = source.entry;
  const auto progress = source.statistics.progress();
  if (!progress) {
    return tl::unexpected(KernelRefusal::out_of_step);
  }
  const std::uint32_t ssrc = source.statistics.current().ssrc();
  const auto mapping = source.timeline.steady_mapping(
      ssrc, static_cast<std::uint16_t>(progress->highest & 0xffff), progress->timestamp);
  const bool keeps_grid = from.timeline.align_timestamp;
  if (!mapping || (keeps_grid && from.timing.packet_duration_ticks == 0)) {
    return tl::unexpected(KernelRefusal::out_of_step);
  }
  KernelFlowPlan plan;
  plan.from = target->local_rtp;
  plan.target = MediaPath::rtp_peer(*target);
  io::KernelFlowEntry& entry = plan.entry;
  fill_payload_types(from, target->entry, entry);
  if (entry.payload_types[source.kernel.payload_type & 0x7fU] == MGW_KERNEL_PAYLOAD_MISS) {
    return tl::unexpected(KernelRefusal::payload_type);
  }
  fill_address(source.local_rtp, entry.local_address, entry.local_port);
  fill_address(source_address(source), entry.source_address, entry.source_port);
  fill_address(plan.from, entry.from_address, entry.from_port);
  fill_address(plan.target, entry.target_address, entry.target_port);
  entry.family = source.local_rtp.family() == io::AddressFamily::ipv4 ? 4 : 6;
  entry.options =
      static_cast<std::uint8_t>((from.source == SourceCheck::any ? io::kKernelFlowAnySource : 0) |
                                (keeps_grid ? io::kKernelFlowOnGrid : 0));
  entry.traffic_class = static_cast<std::uint8_t>(marks.dscp << kDscpShift);
  entry.priority = marks.priority;
  entry.hop_limit = kHopLimit;
  entry.ssrc = htonl(ssrc);
  entry.ssrc_out = htonl(mapping->output_ssrc);
  entry.timestamp_offset = mapping->timestamp_offset;
  entry.sequence_offset = mapping->sequence_offset;
  entry.clock_rate_hz =
      from.timing.clock_rate_hz != 0 ? from.timing.clock_rate_hz : kDefaultClockRateHz;
  entry.packet_ticks = from.timing.packet_duration_ticks;
  entry.interval_ns = static_cast<std::uint64_t>(from.packet_interval.count());
  entry.burst_ns = static_cast<std::uint64_t>(kPaceBurst.count());
  plan.seed.pace_ns = static_cast<std::uint64_t>(source.pace.full_at().time_since_epoch().count());
  plan.seed.highest = progress->highest;
  plan.seed.window_low = progress->window_low;
  plan.seed.window_high = progress->window_high;
  plan.seed.timestamp = progress->timestamp;
  plan.seed.transit = progress->transit;
  plan.seed.jitter_scaled = progress->jitter_scaled;
  plan.seed.transit_known = progress->transit_known ? 1 : 0;
  return plan;
}

}  // namespace mgw
