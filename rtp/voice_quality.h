#pragma once
// How speech sounds at the end of a path, estimated from what can be measured on the way: the
// E-model of ITU-T G.107 (06/2015), with all that is not measured at its default. Pure functions.

#include "io/time.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace rtp {

/// What a codec costs, on the scale of R.
struct CodecImpairment {
  double equipment_impairment = 0;    ///< Ie: without loss
  double packet_loss_robustness = 1;  ///< Bpl: the larger, the less a lost packet costs
};

/// Ie and Bpl of a codec by its name in SDP, letter case ignored (ITU-T G.113 Appendix I, 11/2007,
/// tables I.1 and I.4; the receiver is taken to conceal losses). `amr_mode_max` is the highest mode
/// that AMR may use, 0..7: 7 (12.2 kbit/s) is GSM EFR's coder, 4 (7.4 kbit/s) that of IS-641. None
/// for codecs that G.113 says nothing of, wideband ones among them: theirs is another scale.
[[nodiscard]] std::optional<CodecImpairment> codec_impairment(
    std::string_view codec_name, std::uint8_t amr_mode_max = 7) noexcept;

/// The highest mode that the format parameter `mode-set` of AMR names (RFC 4867 section 8.1),
/// "0,2,4"; 7 if it names none.
[[nodiscard]] std::uint8_t highest_amr_mode(std::string_view mode_set) noexcept;

/// Idd, the impairment by one-way delay where echo is cancelled (G.107 clause 7.4, equations 7-27
/// and 7-28): 0 up to 100 ms.
[[nodiscard]] double delay_impairment(io::Duration one_way) noexcept;

/// Ie,eff = Ie + (95 - Ie) * Ppl / (Ppl / BurstR + Bpl) with random loss, BurstR = 1 (G.107 clause
/// 7.5, equation 7-29). `loss` is a fraction, 0..1.
[[nodiscard]] double loss_impairment(const CodecImpairment& codec, double loss) noexcept;

/// R = 93.2 - Idd - Ie,eff: the default R of G.107 (clause 7.7) less what was measured.
[[nodiscard]] double transmission_rating(const CodecImpairment& codec, double loss,
                                         io::Duration one_way) noexcept;

/// The mean opinion score, 1 to 4.5, that a rating stands for (G.107 Annex B, equation B-4).
[[nodiscard]] double mos_of_rating(double rating) noexcept;

/// What is known of the path from a peer to here.
struct PathMeasurement {
  double loss = 0;                              ///< fraction of the packets that never came, 0..1
  io::Duration jitter{};                        ///< interarrival jitter (RFC 3550 section 6.4.1)
  io::Duration packet_duration{};               ///< speech in a packet
  std::optional<io::Duration> round_trip_time;  ///< between gateway and peer, if it was measured
};

/// The delay that such a path has: half of the round trip, the packet's own duration, and a jitter
/// buffer of twice the jitter, which is what a receiver needs to lose next to nothing to it.
[[nodiscard]] io::Duration estimated_delay(const PathMeasurement& path) noexcept;

/// The three together.
[[nodiscard]] double estimated_mos(const CodecImpairment& codec,
                                   const PathMeasurement& path) noexcept;

}  // namespace rtp
