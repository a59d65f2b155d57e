#pragma once
// TRAU frames to RTP payloads and back: FR and EFR (RFC 3551 sections 4.5.8 and 4.5.9), HR
// (RFC 5993; TS 101 318 is read too), AMR (RFC 4867), circuit-switched data as V.110 in a clear
// channel (RFC 4040), and the extended forms TW-TS-001 (FR, EFR) and TW-TS-002 (HR), which keep
// damaged frames and the flags of the base station. Pure functions over bytes, any thread.

#include "rtp/amr.h"
#include "rtp/trau_frame.h"

#include <tl/expected.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace rtp {

/// What goes over a sub-slot.
enum class TrauCodec : std::uint8_t {
  full_rate,
  enhanced_full_rate,
  half_rate,
  adaptive_multi_rate,
  clear_data,  ///< 16 kbit/s of V.110 (TCH/F9.6 and slower ones adapted to it).
  pcma,        ///< The whole timeslot, octet for octet; no TRAU frames.
  pcmu,
};

/// Whether FR, EFR and HR payloads say what happened to a frame: TW-TS-001 and TW-TS-002.
enum class TrauExtension : std::uint8_t { none, tw_ts };

/// How a sub-slot and a connection are joined.
struct TrauMapping {
  TrauCodec codec = TrauCodec::full_rate;
  TrauFraming framing = TrauFraming::trau_16k;      ///< Means nothing to PCM.
  TrauExtension extension = TrauExtension::none;    ///< Of what is sent; both are read.
  AmrFormat amr_format = AmrFormat::octet_aligned;  ///< Of what is sent and read.
};

/// Octets of the largest payload of one frame interval: 20 ms of PCM.
inline constexpr std::size_t kTrauPayloadBytesMax = 160;
/// RTP timestamp units of a frame, at 8 kHz.
inline constexpr std::uint32_t kTrauFrameTicks = 160;

/// The sub-slot rate in kbit/s at which a codec can go: 16 for all of them, 8 for HR and AMR, 64
/// for PCM. None: the codec does not go at this rate.
[[nodiscard]] std::optional<TrauFraming> trau_framing_of(TrauCodec codec,
                                                         unsigned rate_kbps) noexcept;

/// The type of the frames that carry a codec; PCM has none and must not be asked for.
[[nodiscard]] TrauFrameType trau_frame_type_of(TrauCodec codec) noexcept;

/// Writes the payload of one frame and returns its octets. `mode_request` is the CMR of an AMR
/// payload (15 = none). Without extension a damaged FR, EFR or HR frame gives bad_frame or bad_crc,
/// and nothing is sent; AMR says it in its Q bit. nothing: an idle frame, No_Data.
[[nodiscard]] tl::expected<std::size_t, TrauError> trau_to_rtp(const TrauFrame& frame,
                                                               const TrauMapping& mapping,
                                                               std::uint8_t mode_request,
                                                               std::span<std::byte> out) noexcept;

/// Reads the frames of a payload as downlink frames, in their order, and returns their number. Of
/// more frames than `out` holds the first ones are taken. A TW-TS frame marked as bad gives
/// bad_frame; data that is no four V.110 frames in step with the packet is unsupported.
[[nodiscard]] tl::expected<std::size_t, TrauError> rtp_to_trau(std::span<const std::byte> payload,
                                                               const TrauMapping& mapping,
                                                               std::span<TrauFrame> out) noexcept;

}  // namespace rtp
