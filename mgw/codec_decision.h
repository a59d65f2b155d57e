#pragma once
// Which codec a connection speaks, and what each payload type means between the connections of an
// endpoint. Pure functions over the codec lists that the call agent gave.

#include "mgcp/codec.h"
#include "mgw/leg.h"
#include "rtp/payload_map.h"

#include <cstddef>
#include <span>
#include <vector>

namespace mgw {

/// A pair of codecs, by index, one of each connection.
struct CodecPair {
  std::size_t own = 0;
  std::size_t other = 0;
};

/// The codec that `own` and `other` use between them: the first of `own` that `other` has too, else
/// the first that can be converted into one of `other`, else the first voice codec of each. If
/// `other` has it several times, the one with the same payload format and mode-set is taken.
/// telephone-event and comfort noise are never selected while there is a voice codec. An empty list
/// has index 0.
[[nodiscard]] CodecPair select_codecs(std::span<const mgcp::Codec> own,
                                      std::span<const mgcp::Codec> other);

/// The codecs to announce to a peer that offered `own`: the selected one first, then, unless
/// `single_codec`, the other voice codecs that `other` can take, then telephone-event and comfort
/// noise if both sides have them (or there is no other side yet: `other` empty), those with the
/// clock rate of the selected codec first (RFC 4733 section 2.1). With `single_codec` the others
/// are left out if there is one that fits. At most kAnnouncedCodecsMax.
[[nodiscard]] std::vector<mgcp::Codec> announced_codecs(std::span<const mgcp::Codec> own,
                                                        std::size_t selected,
                                                        std::span<const mgcp::Codec> other,
                                                        bool single_codec);

/// Deployed call agents read at most ten payload types.
inline constexpr std::size_t kAnnouncedCodecsMax = 10;

/// The payload types of one connection, as the media path needs them.
struct CompiledPayloadTypes {
  rtp::SourcePayloadTypes source;
  rtp::DestinationPayloadTypes target;
};

/// Compiles the payload types of all connections of an endpoint together, one result per list.
/// Codecs that occur on one connection only share a slot that leads nowhere: their packets are
/// known, but nobody takes them. `toggle_gsm_hr`: GSM-HR payloads change their format on the way,
/// whatever was announced (`rtp-patch rfc5993hr`). `kinds`: the kind of each connection's leg,
/// plain RTP where it is not said. The octet-aligned AMR of an Osmux leg stays so towards legs that
/// did not say how theirs is packed.
[[nodiscard]] std::vector<CompiledPayloadTypes> compile_payload_types(
    std::span<const std::span<const mgcp::Codec>> connections, bool toggle_gsm_hr,
    std::span<const LegKind> kinds = {});

}  // namespace mgw
