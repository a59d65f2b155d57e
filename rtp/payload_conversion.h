#pragma once
// What is done to a packet's payload between two legs that negotiated the same codec in two forms
// (AMR octet-aligned and bandwidth-efficient, GSM-HR of TS 101 318 and RFC 5993, GSM with and
// without the octet of TW-TS-001). Pure functions, any thread.

#include "rtp/rtp_header.h"

#include <tl/expected.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace rtp {

/// A change of payload format. "to" names the destination's form; the source's announced form is
/// the other one.
enum class Conversion : std::uint8_t {
  none,
  amr_to_octet_aligned,
  amr_to_bandwidth_efficient,
  amr_wb_to_octet_aligned,
  amr_wb_to_bandwidth_efficient,
  gsm_hr_toggle,       ///< 14 octets become 15 and 15 become 14: `rtp-patch rfc5993hr`.
  gsm_hr_to_rfc5993,   ///< TS 101 318 frames get their table of contents.
  gsm_hr_to_ts101318,  ///< RFC 5993 frames lose it.
  gsm_to_extended,     ///< Full rate frames get the octet of TW-TS-001.
  gsm_to_bare,         ///< They lose it.
  gsm_efr_to_extended,
  gsm_efr_to_bare,
};

/// Number of enumerators of Conversion.
inline constexpr std::size_t kConversionCount = 12;

/// Why a packet can't be converted; it is dropped and counted.
enum class ConversionError : std::uint8_t {
  wrong_length,        ///< The payload is not as long as its frames say.
  invalid_frame_type,  ///< A reserved frame type.
  too_many_frames,     ///< More frames than the limit of the codec's header.
  no_equivalent,       ///< The destination's form can't say it (a frame that is missing or bad).
  no_room,             ///< The result does not fit into the buffer.
};

/// Number of enumerators of ConversionError, for counters by cause.
inline constexpr std::size_t kConversionErrorCount = 5;

/// The cause as in metrics and logs, for example "wrong_length".
[[nodiscard]] std::string_view to_string(ConversionError error) noexcept;

/// Converts the payload of one packet in place. `buffer` begins at the packet's first octet and
/// reaches to the end of what may be written, for the packet may grow at its end; `header` is
/// parse_rtp's value for it. CSRCs and extension stay, padding is taken off, payload_size and
/// padding_size of `header` are updated.
///
/// A payload that is already in the destination's form passes unchanged, as some senders don't keep
/// to what they announced and the receiver can play it. Returns the new size of the packet; on an
/// error the packet is unchanged.
[[nodiscard]] tl::expected<std::size_t, ConversionError> convert_payload(
    Conversion conversion, std::span<std::byte> buffer, RtpHeader& header) noexcept;

}  // namespace rtp
