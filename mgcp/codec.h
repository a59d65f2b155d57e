#pragma once
// One codec of a session description, and what "the same codec" means. Values only; format
// parameters stay the text that the peer wrote, so that unknown ones are never lost, and are read
// on demand.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mgcp {

/// How much of `name/rate/channels` stands (and is written back) in the rtpmap.
enum class RtpmapForm : std::uint8_t { name_only, with_rate, with_channels };

/// A codec with its payload type (RFC 4566 rtpmap and fmtp).
struct Codec {
  std::uint8_t payload_type = 0;  ///< 0..127
  std::string name;               ///< as written, at most kCodecNameBytesMax; compared without case
  std::uint32_t clock_rate_hz = 8000;
  std::uint16_t channels = 1;
  RtpmapForm form = RtpmapForm::with_rate;
  std::string fmtp;  ///< text after `a=fmtp:PT `, trimmed; empty = no fmtp. Several lines are
                     ///< joined with `;`.

  friend bool operator==(const Codec&, const Codec&) = default;

  /// The value of a format parameter by name (any case), without surrounding blanks and quotes; a
  /// parameter without `=` gives an empty value; nothing if absent. The first of several with one
  /// name counts.
  [[nodiscard]] std::optional<std::string_view> parameter(
      std::string_view parameter_name) const noexcept;
  /// `octet-align` as written (RFC 4867): true for 1, false for 0, nothing if absent or another
  /// value.
  [[nodiscard]] std::optional<bool> octet_align() const noexcept;
};

/// Longest codec name kept; longer ones make their rtpmap line unusable. osmo-mgw keeps 63
/// characters too.
inline constexpr std::size_t kCodecNameBytesMax = 63;

/// Payload types that have a meaning only by their rtpmap (RFC 3551 section 6).
inline constexpr std::uint8_t kDynamicPayloadTypeMin = 96;
inline constexpr std::uint8_t kPayloadTypeMax = 127;

/// One parameter of an fmtp text; views into that text.
struct FormatParameter {
  std::string_view name;
  std::string_view value;  ///< empty if there was no `=`
  friend bool operator==(const FormatParameter&, const FormatParameter&) = default;
};

/// Splits an fmtp text at `;` and blanks into its parameters, in order. Blanks around `=` are
/// tolerated, and so are double quotes around a value, which may then contain separators.
[[nodiscard]] std::vector<FormatParameter> format_parameters(std::string_view fmtp);

/// True if the name matches without regard to case.
[[nodiscard]] bool is_codec(const Codec& codec, std::string_view name) noexcept;
/// RFC 4733 telephone-event.
[[nodiscard]] bool is_telephone_event(const Codec& codec) noexcept;
/// RFC 3389 comfort noise (`CN`).
[[nodiscard]] bool is_comfort_noise(const Codec& codec) noexcept;
/// `VND.3GPP.IUFP`: the connection speaks IuUP (3GPP TS 29.415).
[[nodiscard]] bool is_iuup(const Codec& codec) noexcept;

/// AMR or AMR-WB (RFC 4867).
[[nodiscard]] bool is_amr(const Codec& codec) noexcept;

/// How the frames of an AMR or AMR-WB codec lie in a payload (RFC 4867 section 8.1).
struct AmrPacking {
  bool octet_aligned = false;   ///< absent counts as bandwidth-efficient; the others imply it
  bool crc = false;             ///< each frame has a CRC
  bool robust_sorting = false;  ///< the octets of the frames alternate
  bool interleaved = false;     ///< frames of several packets are mixed, behind one more octet
  friend bool operator==(const AmrPacking&, const AmrPacking&) = default;

  /// True if it is one of the two packings between which the gateway converts.
  [[nodiscard]] bool is_plain() const noexcept { return !crc && !robust_sorting && !interleaved; }
};

/// The packing that the codec's format parameters ask for; of no meaning for other codecs.
[[nodiscard]] AmrPacking amr_packing(const Codec& codec) noexcept;

/// Equal name, clock rate and channels. Payload types and format parameters are not compared.
[[nodiscard]] bool same_encoding(const Codec& left, const Codec& right) noexcept;
/// As same_encoding and, for AMR and AMR-WB, equal packing. Which modes a side may send (mode-set)
/// is no difference: there is no transcoding that could help.
[[nodiscard]] bool same_codec(const Codec& left, const Codec& right) noexcept;
/// As same_codec, but one side's AMR may be octet-aligned and the other's bandwidth-efficient (none
/// with CRC, robust sorting or interleaving), and both convert to and from VND.3GPP.IUFP at any
/// rate.
[[nodiscard]] bool convertible_codec(const Codec& left, const Codec& right) noexcept;

/// Length of one frame in ms: 10 for G729, 30 for G723, otherwise 20.
[[nodiscard]] std::uint32_t frame_duration_ms(const Codec& codec) noexcept;

/// The codec of an RFC 3551 (section 6) static payload type, nothing for unassigned and dynamic
/// ones.
[[nodiscard]] std::optional<Codec> static_codec(std::uint8_t payload_type);

/// The codec that `L: a:NAME` means (also `NAME/rate/channels`), with osmo-mgw's payload types:
/// PCMU 0, GSM 3, PCMA 8, G729 18, GSM-EFR 110, GSM-HR-08 111, AMR 112, AMR-WB 113 (16 kHz),
/// others 96. Nothing for an empty or overlong name, or a rate or channel number that is none.
[[nodiscard]] std::optional<Codec> codec_from_option(std::string_view text);

/// PCMU/8000, what a connection uses when nobody named a codec.
[[nodiscard]] Codec default_codec();

/// Reads `NAME[/RATE[/CHANNELS]]` into a codec; nothing if a part is malformed.
[[nodiscard]] std::optional<Codec> parse_rtpmap(std::uint8_t payload_type, std::string_view text);

/// Appends `NAME[/RATE[/CHANNELS]]` as the codec's form says.
void append_rtpmap(std::string& out, const Codec& codec);

}  // namespace mgcp
