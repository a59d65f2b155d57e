#pragma once
// What goes over a sub-slot of an E1 line, from the codecs of the connection that is joined to it.
// Pure functions over values.

#include "mgcp/codec.h"
#include "rtp/i460.h"
#include "rtp/trau_rtp.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace mgw {

class E1Line;

/// Payload type by which packets of a line are known inside the gateway.
inline constexpr std::uint8_t kE1PayloadType = 96;

/// Which forms of frames a line may carry. AMR in TRAU frames is a form of our own
/// (rtp/trau_frame.h), which nothing but another mgw reads.
enum class E1Forms : std::uint8_t {
  standard,  ///< a real line: what base stations read
  all,       ///< a line in memory
};

/// The sub-slot of an endpoint and what goes over it.
struct E1Channel {
  E1Line* line = nullptr;  ///< owned by its worker; touched there only
  E1Forms forms = E1Forms::standard;
  std::uint8_t timeslot = 0;
  rtp::SubSlot sub_slot{};
  std::optional<rtp::TrauMapping> mapping;  ///< none: nothing that the codec can be put into
};

/// How the codec goes over a sub-slot of this rate in kbit/s in one of the `forms`; none if it does
/// not. IuUP goes as the AMR that it carries; a clear channel takes the whole time slot as it is.
[[nodiscard]] std::optional<rtp::TrauMapping> e1_mapping(const mgcp::Codec& codec,
                                                         unsigned rate_kbps, E1Forms forms);
/// Whether the two are the same in every field.
[[nodiscard]] bool same_mapping(const std::optional<rtp::TrauMapping>& left,
                                const std::optional<rtp::TrauMapping>& right) noexcept;
/// The index of the first codec that goes over a sub-slot of this rate, none if there is no such.
[[nodiscard]] std::optional<std::size_t> first_e1_codec(std::span<const mgcp::Codec> codecs,
                                                        unsigned rate_kbps, E1Forms forms);
/// The same for a channel.
[[nodiscard]] std::optional<std::size_t> first_e1_codec(std::span<const mgcp::Codec> codecs,
                                                        const E1Channel& channel);
/// The codec in which the line's packets are known inside the gateway, for a connection that speaks
/// `codec` and is mapped by e1_mapping.
[[nodiscard]] mgcp::Codec e1_media_codec(const mgcp::Codec& codec);

}  // namespace mgw
