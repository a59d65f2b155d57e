#include "mgw/endpoint_compiler.h"

#include "mgw/codec_decision.h"
#include "mgw/leg_choice.h"
#include "rtp/osmux_chunk.h"

#include <algorithm>
#include <chrono>
#include <span>

namespace mgw {

namespace {

SourceCheck source_check(conf::SourceCheck check) {
  switch (check) {
    case conf::SourceCheck::latch:
      return SourceCheck::latch;
    case conf::SourceCheck::any:
      return SourceCheck::any;
    case conf::SourceCheck::strict:
      break;
  }
  return SourceCheck::strict;
}

/// A peer that only sends, or neither, is sent nothing (RFC 3264 section 5.1).
bool peer_listens(const Connection& connection) {
  return connection.direction != mgcp::MediaDirection::sendonly &&
         connection.direction != mgcp::MediaDirection::inactive;
}

/// Where the media of connection `from` go (spec of the modes: RFC 3435 section 2.3.5, confecho as
/// osmo-mgw has it).
std::vector<Route> routes_of(const Endpoint& endpoint, const Connection& from) {
  std::vector<Route> routes;
  if (mode_echoes(from.mode) && peer_listens(from) && !from.in_circle) {
    routes.push_back({from.slot, true});
  }
  if (from.mode == mgcp::ConnectionMode::loopback || !mode_receives(from.mode)) {
    return routes;
  }
  for (const Connection* to : endpoint.legs()) {
    if (to->id != from.id && mode_sends(to->mode) && peer_listens(*to) && !to->in_circle) {
      routes.push_back({to->slot, false});
    }
  }
  return routes;
}

/// The AMR codecs whose packets can be checked: not those with CRC, robust sorting, interleaving or
/// the extension of Themyscira TW-TS-006, which are relayed as they are.
std::vector<AnnouncedAmr> announced_amr(const std::vector<mgcp::Codec>& codecs) {
  std::vector<AnnouncedAmr> announced;
  for (const mgcp::Codec& codec : codecs) {
    const bool wide = mgcp::is_codec(codec, "AMR-WB");
    const auto octet_align = codec.octet_align();
    if (octet_align && mgcp::is_amr(codec) && mgcp::amr_packing(codec).is_plain() &&
        codec.parameter("tw-ts-006") != "1") {
      announced.push_back(
          {codec.payload_type, wide ? rtp::AmrCodec::wideband : rtp::AmrCodec::narrowband,
           *octet_align ? rtp::AmrFormat::octet_aligned : rtp::AmrFormat::bandwidth_efficient});
    }
  }
  return announced;
}

std::vector<std::uint32_t> iuup_partners(const Endpoint& endpoint, const Connection& connection) {
  std::vector<std::uint32_t> partners;
  for (const auto& other : endpoint.connections) {
    if (other->id != connection.id && leg_kind(*other) == LegKind::iuup) {
      partners.push_back(other->slot);
    }
  }
  return partners;
}

ForwardingEntry compile(const Endpoint& endpoint, const Connection& connection,
                        const CompiledPayloadTypes& types, const conf::TrunkOptions& options) {
  constexpr std::uint32_t kDefaultPacketMs = 20;
  constexpr std::uint32_t kAmrClockRateHz = 8000;
  const mgcp::Codec& codec = connection.codecs[connection.selected_codec];
  const std::uint32_t packet_ms = connection.ptime_ms != 0 ? connection.ptime_ms : kDefaultPacketMs;
  ForwardingEntry entry;
  entry.remote_rtp = connection.remote_rtp();
  entry.remote_rtcp = connection.remote_rtcp();
  entry.source = source_check(options.source);
  entry.unknown_payload_types = options.unknown_payload_types == conf::UnknownPayloadTypes::drop
                                    ? rtp::UnknownPayloadTypes::drop
                                    : rtp::UnknownPayloadTypes::pass;
  entry.receives = mode_receives(connection.mode);
  entry.omit_rtcp = options.omit_rtcp;
  entry.rtcp_mux = connection.rtcp_mux;
  if (options.keep_alive.mode == conf::KeepAlive::Mode::interval &&
      connection.mode == mgcp::ConnectionMode::recvonly) {
    entry.keep_alive_interval = options.keep_alive.interval;
  }
  if (!connection.e1) {  // a line is there whether something comes or not
    entry.connection_timeout = options.connection_timeout;
  }
  entry.timeline.patch_ssrc = options.patch.ssrc;
  entry.timeline.align_timestamp = options.patch.timestamp;
  entry.timing.clock_rate_hz = codec.clock_rate_hz;
  entry.timing.packet_duration_ticks =
      static_cast<std::uint32_t>(std::uint64_t{codec.clock_rate_hz} * packet_ms / 1000);
  entry.source_types = types.source;
  entry.target_types = types.target;
  entry.leg_payload_type = codec.payload_type;
  if (leg_kind(connection) == LegKind::iuup) {
    entry.iuup_partners = iuup_partners(endpoint, connection);
  } else if (connection.osmux) {
    entry.osmux_circuit = connection.osmux->remote;
    entry.timing = {kAmrClockRateHz, rtp::kOsmuxFrameTicks};
  } else {
    entry.announced_amr = announced_amr(connection.codecs);
  }
  if (options.packets_per_second > 0) {
    entry.packet_interval = io::Duration(std::chrono::seconds(1)) / options.packets_per_second;
  }
  const auto legs = endpoint.legs();
  entry.loops = std::ranges::any_of(legs, [](const Connection* leg) { return leg->in_circle; });
  entry.routes = routes_of(endpoint, connection);
  return entry;
}

}  // namespace

std::vector<MediaUpdate> compile_endpoint(const Endpoint& endpoint,
                                          const conf::TrunkOptions& options) {
  std::vector<std::vector<mgcp::Codec>> lists;
  const std::vector<const Connection*> legs = endpoint.legs();
  std::vector<LegKind> kinds;
  lists.reserve(legs.size());
  kinds.reserve(legs.size());
  for (const Connection* connection : legs) {
    lists.push_back(media_codecs(*connection));
    kinds.push_back(leg_kind(*connection));
  }
  const std::vector<std::span<const mgcp::Codec>> codecs(lists.begin(), lists.end());
  const auto types = compile_payload_types(codecs, options.patch.rfc5993hr, kinds);
  std::vector<MediaUpdate> updates;
  updates.reserve(types.size());
  for (std::size_t i = 0; i < types.size(); ++i) {
    const Connection& connection = *legs[i];
    updates.push_back({connection.slot, compile(endpoint, connection, types[i], options)});
  }
  return updates;
}

}  // namespace mgw
