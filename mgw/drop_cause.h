#pragma once
// Why a datagram was not forwarded. Each received datagram, and each copy of it, is either sent,
// consumed or dropped for exactly one of these causes.

#include "rtp/iuup_pdu.h"
#include "rtp/osmux_chunk.h"
#include "rtp/osmux_encoder.h"
#include "rtp/payload_conversion.h"
#include "rtp/rtcp_packet.h"
#include "rtp/rtp_header.h"
#include "rtp/trau_frame.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mgw {

/// One cause per way to be dropped; also the label of the metric.
enum class DropCause : std::uint8_t {
  rtp_too_short,
  rtp_bad_version,
  rtp_csrc_overrun,
  rtp_extension_overrun,
  rtp_bad_padding,
  rtcp_too_short,
  rtcp_bad_version,
  rtcp_length_overrun,
  rtcp_unknown_type,
  other_protocol,         ///< STUN, DTLS and the like on a media port
  closed_connection,      ///< arrived while its connection was being deleted
  no_remote_address,      ///< early media: the call agent has not yet said who the peer is
  unknown_source,         ///< from an address or port that is not the peer's
  mode_not_receiving,     ///< the connection's mode does not take media from its peer
  no_target,              ///< no other connection of the endpoint sends at the moment
  target_unknown,         ///< the target's call agent has not yet said where to send
  rtcp_omitted,           ///< RTCP is not relayed on this trunk
  rtcp_outdated,          ///< all it said was about a stream that has gone on under other numbers
  unmapped_payload_type,  ///< the target did not negotiate that codec
  amr_format_mismatch,    ///< AMR not packed as its sender announced (octet-align)
  conversion_wrong_length,
  conversion_invalid_frame_type,
  conversion_too_many_frames,
  conversion_no_equivalent,
  conversion_no_room,
  iuup_too_short,
  iuup_too_long,
  iuup_unknown_pdu_type,
  iuup_bad_header_crc,
  iuup_bad_payload_crc,
  iuup_reserved_acknowledgement,
  iuup_not_initialised,  ///< data before the leg, or the one it goes to, was initialised
  osmux_too_short,
  osmux_signalling,
  osmux_bad_type,
  osmux_reserved_frame_type,
  osmux_frames_overrun,
  osmux_unknown_circuit,  ///< no chunk of the datagram was of a circuit that exists
  osmux_not_enabled,      ///< the circuit's peer, or the peer's number for it, is not known yet
  osmux_not_amr,          ///< no octet-aligned AMR of whole frames
  osmux_too_large,        ///< the frame is longer than a batch may be
  osmux_late,             ///< sent already, or older than what was sent
  osmux_conflict,         ///< the sequence number of a queued packet, but another size
  trau_wrong_length,      ///< the following: a payload that does not go over an E1 line
  trau_unknown_type,
  trau_unsupported,
  trau_no_room,
  trau_wrong_type,
  trau_bad_frame,
  trau_bad_crc,
  trau_nothing,
  e1_late,        ///< its turn on the E1 line was over
  e1_duplicate,   ///< the line has its frames already
  no_buffer,      ///< no buffer was free for a copy
  peer_too_fast,  ///< more packets per second than the connection's peer may send
  media_loop,     ///< it would have come back to where it came from, for ever
  tap_overrun,    ///< a tap's copy: no buffer to spare, or its file's writer was behind
};

inline constexpr std::size_t kDropCauseCount = 57;

/// The causes' names, in their order.
inline constexpr std::array<std::string_view, kDropCauseCount> kDropCauseNames = {
    "rtp_too_short",
    "rtp_bad_version",
    "rtp_csrc_overrun",
    "rtp_extension_overrun",
    "rtp_bad_padding",
    "rtcp_too_short",
    "rtcp_bad_version",
    "rtcp_length_overrun",
    "rtcp_unknown_type",
    "other_protocol",
    "closed_connection",
    "no_remote_address",
    "unknown_source",
    "mode_not_receiving",
    "no_target",
    "target_unknown",
    "rtcp_omitted",
    "rtcp_outdated",
    "unmapped_payload_type",
    "amr_format_mismatch",
    "conversion_wrong_length",
    "conversion_invalid_frame_type",
    "conversion_too_many_frames",
    "conversion_no_equivalent",
    "conversion_no_room",
    "iuup_too_short",
    "iuup_too_long",
    "iuup_unknown_pdu_type",
    "iuup_bad_header_crc",
    "iuup_bad_payload_crc",
    "iuup_reserved_acknowledgement",
    "iuup_not_initialised",
    "osmux_too_short",
    "osmux_signalling",
    "osmux_bad_type",
    "osmux_reserved_frame_type",
    "osmux_frames_overrun",
    "osmux_unknown_circuit",
    "osmux_not_enabled",
    "osmux_not_amr",
    "osmux_too_large",
    "osmux_late",
    "osmux_conflict",
    "trau_wrong_length",
    "trau_unknown_type",
    "trau_unsupported",
    "trau_no_room",
    "trau_wrong_type",
    "trau_bad_frame",
    "trau_bad_crc",
    "trau_nothing",
    "e1_late",
    "e1_duplicate",
    "no_buffer",
    "peer_too_fast",
    "media_loop",
    "tap_overrun",
};

/// The cause as in metrics and logs, for example "unknown_source".
[[nodiscard]] constexpr std::string_view to_string(DropCause cause) noexcept {
  return kDropCauseNames[static_cast<std::size_t>(cause)];
}

static_assert(static_cast<std::size_t>(DropCause::tap_overrun) + 1 == kDropCauseCount);
static_assert(rtp::kRtpMalformedCount == 5 && rtp::kRtcpMalformedCount == 4);
static_assert(rtp::kConversionErrorCount == 5 && rtp::kIuupMalformedCount == 6);
static_assert(rtp::kOsmuxMalformedCount == 5 && rtp::kOsmuxRefusalCount == 6);
static_assert(rtp::kTrauErrorCount == 8);

/// True if the payload is not what was negotiated. That is no event but lasts until the call agent
/// negotiates anew, so it is noted once, not every second.
[[nodiscard]] constexpr bool is_payload_fault(DropCause cause) noexcept {
  return cause >= DropCause::unmapped_payload_type && cause <= DropCause::conversion_no_room;
}

/// The cause under which a fault that the RTP layer found is counted.
[[nodiscard]] constexpr DropCause drop_cause(rtp::RtpMalformed cause) noexcept {
  return static_cast<DropCause>(static_cast<std::size_t>(DropCause::rtp_too_short) +
                                static_cast<std::size_t>(cause));
}
[[nodiscard]] constexpr DropCause drop_cause(rtp::RtcpMalformed cause) noexcept {
  return static_cast<DropCause>(static_cast<std::size_t>(DropCause::rtcp_too_short) +
                                static_cast<std::size_t>(cause));
}
[[nodiscard]] constexpr DropCause drop_cause(rtp::ConversionError error) noexcept {
  return static_cast<DropCause>(static_cast<std::size_t>(DropCause::conversion_wrong_length) +
                                static_cast<std::size_t>(error));
}
[[nodiscard]] constexpr DropCause drop_cause(rtp::IuupMalformed cause) noexcept {
  return static_cast<DropCause>(static_cast<std::size_t>(DropCause::iuup_too_short) +
                                static_cast<std::size_t>(cause));
}
[[nodiscard]] constexpr DropCause drop_cause(rtp::OsmuxMalformed cause) noexcept {
  return static_cast<DropCause>(static_cast<std::size_t>(DropCause::osmux_too_short) +
                                static_cast<std::size_t>(cause));
}
[[nodiscard]] constexpr DropCause drop_cause(rtp::OsmuxRefusal refusal) noexcept {
  switch (refusal) {
    case rtp::OsmuxRefusal::unknown_circuit:
      return DropCause::target_unknown;
    case rtp::OsmuxRefusal::rtcp:
      return DropCause::rtcp_omitted;
    case rtp::OsmuxRefusal::not_amr:
      return DropCause::osmux_not_amr;
    case rtp::OsmuxRefusal::too_large:
      return DropCause::osmux_too_large;
    case rtp::OsmuxRefusal::late:
      return DropCause::osmux_late;
    case rtp::OsmuxRefusal::conflict:
      break;
  }
  return DropCause::osmux_conflict;
}
[[nodiscard]] constexpr DropCause drop_cause(rtp::TrauError cause) noexcept {
  return static_cast<DropCause>(static_cast<std::size_t>(DropCause::trau_wrong_length) +
                                static_cast<std::size_t>(cause));
}

}  // namespace mgw
