#include "mgcp/codec.h"

#include "mgcp/text.h"

#include <algorithm>
#include <array>

namespace mgcp {

namespace {

/// Above every clock rate in use (the highest is 192 kHz), and small enough to multiply by seconds.
constexpr std::uint32_t kClockRateMaxHz = 10'000'000;
constexpr std::uint16_t kChannelsMax = 255;

struct KnownCodec {
  std::uint8_t payload_type;
  std::string_view name;
  std::uint32_t clock_rate_hz;
  std::uint16_t channels;
};

/// RFC 3551 table 4; audio only.
constexpr std::array<KnownCodec, 17> kStaticCodecs{{{0, "PCMU", 8000, 1},
                                                    {3, "GSM", 8000, 1},
                                                    {4, "G723", 8000, 1},
                                                    {5, "DVI4", 8000, 1},
                                                    {6, "DVI4", 16000, 1},
                                                    {7, "LPC", 8000, 1},
                                                    {8, "PCMA", 8000, 1},
                                                    {9, "G722", 8000, 1},
                                                    {10, "L16", 44100, 2},
                                                    {11, "L16", 44100, 1},
                                                    {12, "QCELP", 8000, 1},
                                                    {13, "CN", 8000, 1},
                                                    {14, "MPA", 90000, 1},
                                                    {15, "G728", 8000, 1},
                                                    {16, "DVI4", 11025, 1},
                                                    {17, "DVI4", 22050, 1},
                                                    {18, "G729", 8000, 1}}};

/// What osmo-mgw makes of codec names in `L: a:`.
constexpr std::array<KnownCodec, 8> kOptionCodecs{{{0, "PCMU", 8000, 1},
                                                   {3, "GSM", 8000, 1},
                                                   {8, "PCMA", 8000, 1},
                                                   {18, "G729", 8000, 1},
                                                   {110, "GSM-EFR", 8000, 1},
                                                   {111, "GSM-HR-08", 8000, 1},
                                                   {112, "AMR", 8000, 1},
                                                   {113, "AMR-WB", 16000, 1}}};

/// Takes a parameter's value off the front of `rest`, where no blank is.
std::string_view take_value(std::string_view& rest) noexcept {
  if (rest.starts_with('"')) {
    rest.remove_prefix(1);
    return text::trim(text::take_until(rest, '"'));
  }
  // A list may be written with blanks after its commas: `mode-set=0, 2, 4`.
  std::size_t end = 0;
  char previous = '\0';
  while (end < rest.size() && rest[end] != ';' && (!text::is_blank(rest[end]) || previous == ',')) {
    previous = text::is_blank(rest[end]) ? previous : rest[end];
    ++end;
  }
  const std::string_view value = text::trim(rest.substr(0, end));
  rest.remove_prefix(end);
  return value;
}

/// Takes the next parameter off the front of `rest`; nothing at the end.
std::optional<FormatParameter> take_parameter(std::string_view& rest) noexcept {
  const auto is_separator = [](char c) { return c == ';' || text::is_blank(c); };
  const auto skip_blanks = [&rest] {
    while (!rest.empty() && text::is_blank(rest.front())) {
      rest.remove_prefix(1);
    }
  };
  while (!rest.empty() && is_separator(rest.front())) {
    rest.remove_prefix(1);
  }
  if (rest.empty()) {
    return std::nullopt;
  }
  std::size_t end = 0;
  while (end < rest.size() && !is_separator(rest[end]) && rest[end] != '=') {
    ++end;
  }
  FormatParameter parameter{rest.substr(0, end), {}};
  rest.remove_prefix(end);
  skip_blanks();
  if (rest.empty() || rest.front() != '=') {
    return parameter;
  }
  rest.remove_prefix(1);
  skip_blanks();
  parameter.value = take_value(rest);
  return parameter;
}

}  // namespace

std::optional<std::string_view> Codec::parameter(std::string_view parameter_name) const noexcept {
  std::string_view rest = fmtp;
  while (const auto parameter = take_parameter(rest)) {
    if (text::equal_ignoring_case(parameter->name, parameter_name)) {
      return parameter->value;
    }
  }
  return std::nullopt;
}

std::optional<bool> Codec::octet_align() const noexcept {
  const auto value = parameter("octet-align");
  if (value == "1") {
    return true;
  }
  return value == "0" ? std::optional(false) : std::nullopt;
}

std::vector<FormatParameter> format_parameters(std::string_view fmtp) {
  std::vector<FormatParameter> parameters;
  while (const auto parameter = take_parameter(fmtp)) {
    parameters.push_back(*parameter);
  }
  return parameters;
}

bool is_codec(const Codec& codec, std::string_view name) noexcept {
  return text::equal_ignoring_case(codec.name, name);
}

bool is_telephone_event(const Codec& codec) noexcept {
  return is_codec(codec, "telephone-event");
}

bool is_comfort_noise(const Codec& codec) noexcept {
  return is_codec(codec, "CN");
}

bool is_iuup(const Codec& codec) noexcept {
  return is_codec(codec, "VND.3GPP.IUFP");
}

bool is_amr(const Codec& codec) noexcept {
  return is_codec(codec, "AMR") || is_codec(codec, "AMR-WB");
}

AmrPacking amr_packing(const Codec& codec) noexcept {
  AmrPacking packing;
  packing.crc = codec.parameter("crc") == "1";
  packing.robust_sorting = codec.parameter("robust-sorting") == "1";
  packing.interleaved = codec.parameter("interleaving").has_value();
  packing.octet_aligned = codec.octet_align().value_or(false) || !packing.is_plain();
  return packing;
}

bool same_encoding(const Codec& left, const Codec& right) noexcept {
  return text::equal_ignoring_case(left.name, right.name) &&
         left.clock_rate_hz == right.clock_rate_hz && left.channels == right.channels;
}

bool same_codec(const Codec& left, const Codec& right) noexcept {
  return same_encoding(left, right) && (!is_amr(left) || amr_packing(left) == amr_packing(right));
}

bool convertible_codec(const Codec& left, const Codec& right) noexcept {
  if ((is_amr(left) && is_iuup(right)) || (is_iuup(left) && is_amr(right))) {
    return amr_packing(is_iuup(left) ? right : left).is_plain();
  }
  return same_codec(left, right) || (same_encoding(left, right) && amr_packing(left).is_plain() &&
                                     amr_packing(right).is_plain());
}

std::uint32_t frame_duration_ms(const Codec& codec) noexcept {
  if (is_codec(codec, "G729")) {
    return 10;
  }
  return is_codec(codec, "G723") ? 30 : 20;
}

std::optional<Codec> static_codec(std::uint8_t payload_type) {
  const auto* const found =
      std::find_if(kStaticCodecs.begin(), kStaticCodecs.end(),
                   [=](const KnownCodec& known) { return known.payload_type == payload_type; });
  if (found == kStaticCodecs.end()) {
    return std::nullopt;
  }
  Codec codec;
  codec.payload_type = payload_type;
  codec.name = found->name;
  codec.clock_rate_hz = found->clock_rate_hz;
  codec.channels = found->channels;
  codec.form = found->channels == 1 ? RtpmapForm::with_rate : RtpmapForm::with_channels;
  return codec;
}

std::optional<Codec> codec_from_option(std::string_view text) {
  auto codec = parse_rtpmap(kDynamicPayloadTypeMin, text);
  if (!codec) {
    return std::nullopt;
  }
  const bool rate_given = codec->form != RtpmapForm::name_only;
  for (const KnownCodec& known : kOptionCodecs) {
    if (is_codec(*codec, known.name) &&
        (!rate_given || codec->clock_rate_hz == known.clock_rate_hz)) {
      codec->payload_type = known.payload_type;
      codec->clock_rate_hz = known.clock_rate_hz;
    }
  }
  // A bare name is no valid rtpmap (RFC 4566 section 6), so the answer shows the rate.
  if (!rate_given) {
    codec->form = RtpmapForm::with_rate;
  }
  return codec;
}

Codec default_codec() {
  Codec codec;
  codec.name = "PCMU";
  return codec;
}

std::optional<Codec> parse_rtpmap(std::uint8_t payload_type, std::string_view text) {
  std::string_view rest = text::take_token(text);
  const std::string_view name = text::take_until(rest, '/');
  if (name.empty() || name.size() > kCodecNameBytesMax) {
    return std::nullopt;
  }
  Codec codec;
  codec.payload_type = payload_type;
  codec.form = RtpmapForm::name_only;
  if (!rest.empty()) {
    const auto rate = text::parse_decimal(text::take_until(rest, '/'), kClockRateMaxHz);
    if (!rate || *rate == 0) {
      return std::nullopt;
    }
    codec.clock_rate_hz = static_cast<std::uint32_t>(*rate);
    codec.form = RtpmapForm::with_rate;
  }
  if (!rest.empty()) {
    const auto channels = text::parse_decimal(rest, kChannelsMax);
    if (!channels || *channels == 0) {
      return std::nullopt;
    }
    codec.channels = static_cast<std::uint16_t>(*channels);
    codec.form = RtpmapForm::with_channels;
  }
  codec.name = name;
  return codec;
}

void append_rtpmap(std::string& out, const Codec& codec) {
  out += codec.name;
  if (codec.form == RtpmapForm::name_only && codec.clock_rate_hz == 8000 && codec.channels == 1) {
    return;
  }
  out += '/';
  text::append_decimal(out, codec.clock_rate_hz);
  if (codec.form == RtpmapForm::with_channels || codec.channels != 1) {
    out += '/';
    text::append_decimal(out, codec.channels);
  }
}

}  // namespace mgcp
