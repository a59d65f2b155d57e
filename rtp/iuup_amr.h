#pragma once
// AMR and AMR-WB frames in Iu UP data (3GPP TS 26.102) and in RTP (RFC 4867, octet-aligned): the
// speech bits are the same in the same order (class A, B, C), so only what stands around them
// changes, and rate control on one side is a codec mode request on the other. Pure functions, any
// thread; one frame per packet. The bandwidth-efficient form is made and read by rtp/amr.h.

#include "rtp/amr.h"
#include "rtp/iuup_pdu.h"

#include <tl/expected.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace rtp {

/// A codec mode request that requests nothing (RFC 4867 section 4.3.1).
inline constexpr std::uint8_t kAmrNoModeRequest = 15;
/// Octets before the speech of an octet-aligned payload of one frame: CMR, table of contents.
inline constexpr std::size_t kAmrSingleFrameHeaderBytes = 2;

/// The frame type of a data payload. Its RFCI decides if it was declared and has the size of a
/// frame type that takes as many octets as the payload; else the payload's length alone, as peers
/// exist that use one RFCI for everything. No payload is NO_DATA, or SPEECH_LOST if it is AMR-WB
/// and bad.
[[nodiscard]] std::optional<std::uint8_t> amr_type_of_iuup(const IuupConfiguration& configuration,
                                                           AmrCodec codec,
                                                           const IuupData& data) noexcept;

/// The RFCI for a frame type, over all that were declared: the first with as many bits; if there is
/// none, the first with as many octets that is not the size of another frame type (some peers
/// declare whole octets). NO_DATA and SPEECH_LOST take the RFCI without bits.
[[nodiscard]] std::optional<std::uint8_t> iuup_rfci_of_amr(const IuupConfiguration& configuration,
                                                           AmrCodec codec,
                                                           std::uint8_t frame_type) noexcept;

/// Writes a data PDU's frame as an octet-aligned payload with `mode_request` to `out` and returns
/// its octets (2 + speech). Good frames have Q = 1, all others 0; bits behind the speech become 0.
/// The data's payload may lie in `out`: it is moved first. A length of no frame type is
/// wrong_length.
[[nodiscard]] tl::expected<std::size_t, ConversionError> iuup_to_amr(
    const IuupConfiguration& configuration, AmrCodec codec, const IuupData& data,
    std::uint8_t mode_request, std::span<std::byte> out) noexcept;

/// A frame on its way to Iu UP.
struct AmrToIuup {
  IuupData data;  ///< Its payload is a view into the AMR payload; the frame number is not set.
  std::uint8_t mode_request = kAmrNoModeRequest;
};

/// Reads an octet-aligned payload of one frame. No RFCI for the frame type is no_equivalent, more
/// than one frame too_many_frames.
[[nodiscard]] tl::expected<AmrToIuup, ConversionError> amr_to_iuup(
    const IuupConfiguration& configuration, AmrCodec codec,
    std::span<const std::byte> payload) noexcept;

/// The mode request for the AMR leg out of the peer's rate control: the highest speech mode that is
/// declared and not barred; kAmrNoModeRequest if `rates` is none or no speech mode is left.
[[nodiscard]] std::uint8_t amr_mode_request_of(const IuupConfiguration& configuration,
                                               AmrCodec codec,
                                               const std::optional<IuupRates>& rates) noexcept;

/// The RFCIs to bar (bit n for the n-th declared one) so that no speech mode above `mode_request`
/// comes: for IuupLink::request_rates(). The lowest declared speech mode, SID and NO_DATA can't be
/// barred (TS 25.415 clause 6.5.3.1). None if the request is none or names no speech mode: then
/// what was asked before stays.
[[nodiscard]] std::optional<std::uint64_t> iuup_barred_above(const IuupConfiguration& configuration,
                                                             AmrCodec codec,
                                                             std::uint8_t mode_request) noexcept;

}  // namespace rtp
