#include "tools/rtpload/codec.h"

#include <algorithm>

namespace rtpload {
namespace {

// AMR payloads are octet-aligned (RFC 4867 section 4.4): a CMR octet "no request", a
// table-of-contents octet 0|FT|Q=1|00, then the speech bits of the mode, zero padded to an octet.
constexpr std::uint8_t kNoModeRequest = 0xf0;

constexpr Codec amr(std::string_view name, std::uint8_t frame_type, std::uint16_t speech_bits) {
  const auto speech_bytes = static_cast<std::uint16_t>((speech_bits + 7) / 8);
  const auto padding_bits = static_cast<unsigned>(speech_bytes * 8 - speech_bits);
  return Codec{name,
               "AMR",
               "octet-align=1",
               112,
               static_cast<std::uint16_t>(speech_bytes + 2),
               {kNoModeRequest, static_cast<std::uint8_t>((unsigned{frame_type} << 3U) | 0x04U)},
               2,
               static_cast<std::uint8_t>(0xffU << padding_bits)};
}

constexpr Codec amr_efficient(std::string_view name, std::uint8_t frame_type,
                              std::uint16_t speech_bits) {
  Codec codec = amr(name, frame_type, speech_bits);
  codec.format_parameters = "octet-align=0";
  codec.form = PayloadForm::bandwidth_efficient;
  return codec;
}

constexpr Codec iuup(std::string_view name) {
  Codec codec = amr(name, 7, 244);
  codec.encoding = "VND.3GPP.IUFP";
  codec.format_parameters = "";
  codec.payload_type = 96;
  codec.form = PayloadForm::iuup;
  codec.described_rate_hz = 16000;
  return codec;
}

constexpr Codec osmux(std::string_view name, std::uint8_t frame_type, std::uint16_t speech_bits) {
  Codec codec = amr(name, frame_type, speech_bits);
  codec.form = PayloadForm::osmux;
  return codec;
}

// GSM-EFR and GSM-FR frames begin with a signature nibble (RFC 3551 sections 4.5.8 and 4.5.9).
constexpr std::array kCodecs{
    Codec{"GSM-EFR", "GSM-EFR", "", 110, 31, {0xc0, 0}, 1, 0xff},
    Codec{"GSM-FR", "GSM", "", 3, 33, {0xd0, 0}, 1, 0xff},
    amr("AMR-4.75", 0, 95),
    amr("AMR-5.15", 1, 103),
    amr("AMR-5.90", 2, 118),
    amr("AMR-6.70", 3, 134),
    amr("AMR-7.40", 4, 148),
    amr("AMR-7.95", 5, 159),
    amr("AMR-10.2", 6, 204),
    amr("AMR-12.2", 7, 244),
    amr_efficient("AMR-5.90-BE", 2, 118),
    amr_efficient("AMR-12.2-BE", 7, 244),
    iuup("IUUP"),
    osmux("OSMUX-5.90", 2, 118),
    osmux("OSMUX-12.2", 7, 244),
    Codec{"PCMA", "PCMA", "", 8, 160, {0, 0}, 0, 0xff},
    Codec{"PCMU", "PCMU", "", 0, 160, {0, 0}, 0, 0xff},
};

constexpr char upper(char letter) noexcept {
  return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
}

bool same_name(std::string_view left, std::string_view right) noexcept {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](char a, char b) { return upper(a) == upper(b); });
}

}  // namespace

std::optional<Codec> find_codec(std::string_view name) noexcept {
  if (same_name(name, "AMR")) {
    name = "AMR-12.2";
  } else if (same_name(name, "GSM")) {
    name = "GSM-FR";
  }
  for (const Codec& codec : kCodecs) {
    if (same_name(codec.name, name)) {
      return codec;
    }
  }
  return std::nullopt;
}

bool same_frames(const Codec& left, const Codec& right) noexcept {
  const bool same_codec = left.encoding == right.encoding || left.form == PayloadForm::iuup ||
                          right.form == PayloadForm::iuup;
  return same_codec && left.payload_bytes == right.payload_bytes &&
         left.signature == right.signature;
}

std::vector<std::string> codec_names() {
  std::vector<std::string> names;
  for (const Codec& codec : kCodecs) {
    names.emplace_back(codec.name);
  }
  return names;
}

}  // namespace rtpload
