#include "mgw/e1_channel.h"

#include <array>
#include <string_view>

namespace mgw {

namespace {

using rtp::TrauCodec;

struct NamedCodec {
  std::string_view name;
  TrauCodec codec;
  std::string_view extension;  ///< the format parameter that asks for the extended form
};

constexpr std::array<NamedCodec, 7> kCodecs = {{
    {"GSM", TrauCodec::full_rate, "tw-ts-001"},
    {"GSM-EFR", TrauCodec::enhanced_full_rate, "tw-ts-001"},
    {"GSM-HR-08", TrauCodec::half_rate, "tw-ts-002"},
    {"AMR", TrauCodec::adaptive_multi_rate, {}},
    {"CLEARMODE", TrauCodec::clear_data, {}},
    {"PCMA", TrauCodec::pcma, {}},
    {"PCMU", TrauCodec::pcmu, {}},
}};

constexpr unsigned kTimeslotKbps = 64;

const NamedCodec* find_codec(const mgcp::Codec& codec) {
  const bool amr = mgcp::is_iuup(codec);
  for (const NamedCodec& known : kCodecs) {
    if (amr ? known.codec == TrauCodec::adaptive_multi_rate : mgcp::is_codec(codec, known.name)) {
      return &known;
    }
  }
  return nullptr;
}

}  // namespace

std::optional<rtp::TrauMapping> e1_mapping(const mgcp::Codec& codec, unsigned rate_kbps,
                                           E1Forms forms) {
  const NamedCodec* known = find_codec(codec);
  if (known == nullptr) {
    return std::nullopt;
  }
  rtp::TrauMapping mapping;
  mapping.codec = known->codec;
  if (known->codec == TrauCodec::clear_data && rate_kbps == kTimeslotKbps) {
    mapping.codec = TrauCodec::pcma;  // octet for octet, whatever they mean
  }
  const auto framing = rtp::trau_framing_of(mapping.codec, rate_kbps);
  if (!framing) {
    return std::nullopt;
  }
  mapping.framing = *framing;
  if (forms == E1Forms::standard && rate_kbps != kTimeslotKbps &&
      !rtp::trau_is_standard(rtp::trau_frame_type_of(mapping.codec), mapping.framing)) {
    return std::nullopt;
  }
  if (!known->extension.empty() && codec.parameter(known->extension) == "1") {
    mapping.extension = rtp::TrauExtension::tw_ts;
  }
  return mapping;
}

bool same_mapping(const std::optional<rtp::TrauMapping>& left,
                  const std::optional<rtp::TrauMapping>& right) noexcept {
  if (!left || !right) {
    return left.has_value() == right.has_value();
  }
  return left->codec == right->codec && left->framing == right->framing &&
         left->extension == right->extension && left->amr_format == right->amr_format;
}

std::optional<std::size_t> first_e1_codec(std::span<const mgcp::Codec> codecs, unsigned rate_kbps,
                                          E1Forms forms) {
  for (std::size_t i = 0; i < codecs.size(); ++i) {
    if (e1_mapping(codecs[i], rate_kbps, forms)) {
      return i;
    }
  }
  return std::nullopt;
}

std::optional<std::size_t> first_e1_codec(std::span<const mgcp::Codec> codecs,
                                          const E1Channel& channel) {
  return first_e1_codec(codecs, channel.sub_slot.rate_kbps, channel.forms);
}

mgcp::Codec e1_media_codec(const mgcp::Codec& codec) {
  mgcp::Codec media = codec;
  media.payload_type = kE1PayloadType;
  if (mgcp::is_iuup(codec) || mgcp::is_codec(codec, "AMR")) {
    media.name = "AMR";
    media.clock_rate_hz = 8000;
    media.fmtp = "octet-align=1";
  } else if (codec.parameter("gsm-hr-format")) {
    media.fmtp = "gsm-hr-format=rfc5993";  // the peer named a form: what is made is the other one
  }
  return media;
}

}  // namespace mgw
