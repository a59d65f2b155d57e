#include "mgw/leg_choice.h"

#include "mgw/e1_leg.h"
#include "mgw/iuup_leg.h"
#include "mgw/osmux_leg.h"

namespace mgw {

namespace {

mgcp::Codec internal_codec(std::uint8_t payload_type, const char* name,
                           std::uint32_t clock_rate_hz) {
  mgcp::Codec codec;
  codec.payload_type = payload_type;
  codec.name = name;
  codec.clock_rate_hz = clock_rate_hz;
  codec.fmtp = "octet-align=1";
  return codec;
}

StreamStart stream_start(RandomSource& random) {
  return {random.next(), random.next(), static_cast<std::uint16_t>(random.next())};
}

std::unique_ptr<Leg> make_osmux_leg(const Connection& connection, RandomSource& random) {
  rtp::OsmuxPlayoutOptions stream;
  stream.ssrc = random.next();
  stream.timestamp = random.next();
  stream.sequence = static_cast<std::uint16_t>(random.next());
  return std::make_unique<OsmuxLeg>(*connection.osmux, stream);
}

}  // namespace

LegKind leg_kind(const Connection& connection) noexcept {
  if (connection.osmux) {
    return LegKind::osmux;
  }
  if (connection.e1) {
    return LegKind::e1;
  }
  return mgcp::is_iuup(connection.codecs[connection.selected_codec]) ? LegKind::iuup : LegKind::rtp;
}

std::unique_ptr<Leg> make_leg(const Connection& connection, RandomSource& random) {
  switch (connection.kind) {
    case LegKind::iuup:
      return std::make_unique<IuupLeg>(stream_start(random));
    case LegKind::osmux:
      return make_osmux_leg(connection, random);
    case LegKind::e1:
      return std::make_unique<E1Leg>(*connection.e1, stream_start(random));
    case LegKind::rtp:
      break;
  }
  return nullptr;
}

std::vector<mgcp::Codec> media_codecs(const Connection& connection) {
  if (connection.osmux) {
    return {internal_codec(kOsmuxAmrPayloadType, "AMR", 8000)};
  }
  if (leg_kind(connection) == LegKind::iuup) {
    return {internal_codec(kIuupAmrPayloadType, "AMR", 8000),
            internal_codec(kIuupAmrWbPayloadType, "AMR-WB", 16000),
            internal_codec(kIuupOpaquePayloadType, "VND.3GPP.IUFP", 16000)};
  }
  if (connection.e1 && !connection.e1->mapping) {
    return {};
  }
  return connection.codecs;
}

}  // namespace mgw
