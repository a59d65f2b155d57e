#include "mgw/codec_decision.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace mgw {

namespace {

using mgcp::Codec;
using Codecs = std::span<const Codec>;

/// Negotiated by its source, but no other connection can take it.
constexpr std::uint8_t kDeadEndSlot = rtp::kCodecSlotsMax - 1;

bool is_voice(const Codec& codec) {
  return !mgcp::is_telephone_event(codec) && !mgcp::is_comfort_noise(codec);
}

std::size_t first_voice(Codecs codecs) {
  const auto found = std::find_if(codecs.begin(), codecs.end(), is_voice);
  return found == codecs.end() ? 0 : static_cast<std::size_t>(found - codecs.begin());
}

bool takes(Codecs other, const Codec& codec) {
  return std::any_of(other.begin(), other.end(), [&codec](const Codec& candidate) {
    return mgcp::convertible_codec(codec, candidate);
  });
}

/// How GSM-HR frames lie in a payload, as far as the peer said: TS 101 318, RFC 5993, or RFC 5993
/// extended by TW-TS-002.
enum class GsmHrFormat : std::uint8_t { unsaid, rfc5993, ts101318, extended };

/// What of a codec's format parameters decides how packets lie or what they may hold.
struct Form {
  mgcp::AmrPacking packing;
  std::uint16_t modes = 0;  ///< mode-set (RFC 4867 section 8.1), one bit per mode; 0 = all
  GsmHrFormat gsm_hr = GsmHrFormat::unsaid;
  bool extended_gsm = false;  ///< TW-TS-001: an octet goes before a full rate frame
  friend bool operator==(const Form&, const Form&) = default;
};

GsmHrFormat gsm_hr_format(const Codec& codec) {
  if (codec.parameter("tw-ts-002") == "1") {
    return GsmHrFormat::extended;
  }
  const auto value = codec.parameter("gsm-hr-format");
  if (!value) {
    return GsmHrFormat::unsaid;
  }
  const auto equals = [&value](std::string_view text) {
    return std::equal(value->begin(), value->end(), text.begin(), text.end(),
                      [](char left, char right) { return (left | 0x20) == right; });
  };
  if (equals("rfc5993")) {
    return GsmHrFormat::rfc5993;
  }
  return equals("ts101318") ? GsmHrFormat::ts101318 : GsmHrFormat::unsaid;
}

/// `0,2,4,7` as bits; anything else counts as all modes.
std::uint16_t mode_bits(std::string_view list) {
  std::uint16_t bits = 0;
  for (const char letter : list) {
    if (letter >= '0' && letter <= '9') {
      bits |= static_cast<std::uint16_t>(1U << static_cast<unsigned>(letter - '0'));
    }
  }
  return bits;
}

Form form_of(const Codec& codec) {
  Form form;
  if (mgcp::is_amr(codec)) {
    form.packing = mgcp::amr_packing(codec);
    form.modes = mode_bits(codec.parameter("mode-set").value_or(""));
  } else if (mgcp::is_codec(codec, "GSM-HR-08")) {
    form.gsm_hr = gsm_hr_format(codec);
  } else if (mgcp::is_codec(codec, "GSM") || mgcp::is_codec(codec, "GSM-EFR")) {
    form.extended_gsm = codec.parameter("tw-ts-001") == "1";
  }
  return form;
}

rtp::Conversion amr_conversion(bool wide, const mgcp::AmrPacking& from,
                               const mgcp::AmrPacking& to) {
  if (from.octet_aligned == to.octet_aligned) {
    return rtp::Conversion::none;
  }
  if (to.octet_aligned) {
    return wide ? rtp::Conversion::amr_wb_to_octet_aligned : rtp::Conversion::amr_to_octet_aligned;
  }
  return wide ? rtp::Conversion::amr_wb_to_bandwidth_efficient
              : rtp::Conversion::amr_to_bandwidth_efficient;
}

/// A peer that said nothing gets what it gets unless the other one uses TW-TS-002, which nobody
/// takes for granted: then it is RFC 5993, the format that defines the name GSM-HR-08.
rtp::Conversion gsm_hr_conversion(GsmHrFormat from, GsmHrFormat to, bool toggle) {
  const bool both_said = from != GsmHrFormat::unsaid && to != GsmHrFormat::unsaid;
  if (!both_said && from != GsmHrFormat::extended && to != GsmHrFormat::extended) {
    return toggle ? rtp::Conversion::gsm_hr_toggle : rtp::Conversion::none;
  }
  if (from == to || (from == GsmHrFormat::rfc5993 && to == GsmHrFormat::extended)) {
    return rtp::Conversion::none;
  }
  return to == GsmHrFormat::ts101318 ? rtp::Conversion::gsm_hr_to_ts101318
                                     : rtp::Conversion::gsm_hr_to_rfc5993;
}

rtp::Conversion gsm_conversion(bool enhanced, bool to_extended) {
  if (to_extended) {
    return enhanced ? rtp::Conversion::gsm_efr_to_extended : rtp::Conversion::gsm_to_extended;
  }
  return enhanced ? rtp::Conversion::gsm_efr_to_bare : rtp::Conversion::gsm_to_bare;
}

/// A codec with its form and a number that all codecs with its name, rate and channels share:
/// agents may list dozens of codecs for many legs, and most pairs are told apart by one comparison.
struct HashedCodec {
  const Codec* codec = nullptr;
  std::uint64_t hash = 0;
  Form form;
  bool osmux = false;  ///< of an Osmux leg: a slot of its own, as its conversions differ
};
using HashedCodecs = std::vector<HashedCodec>;

HashedCodecs hashed(Codecs codecs, LegKind kind = LegKind::rtp) {
  constexpr std::uint64_t kOffset = 0xcbf29ce484222325;  // FNV-1a
  constexpr std::uint64_t kPrime = 0x100000001b3;
  HashedCodecs result;
  result.reserve(codecs.size());
  for (const Codec& codec : codecs) {
    std::uint64_t hash = kOffset;
    for (const char letter : codec.name) {
      hash = (hash ^ static_cast<std::uint64_t>(letter | 0x20)) * kPrime;
    }
    hash = (hash ^ codec.clock_rate_hz) * kPrime;
    hash = (hash ^ codec.channels) * kPrime;
    result.push_back({&codec, hash, form_of(codec), kind == LegKind::osmux});
  }
  return result;
}

/// The same codec in the same form: packets need nothing but another payload type.
bool same_form(const HashedCodec& left, const HashedCodec& right) {
  return left.hash == right.hash && left.form == right.form &&
         mgcp::same_encoding(*left.codec, *right.codec);
}

/// The same codec with frames that lie in packets the same way, though perhaps of other modes.
bool same_packing(const HashedCodec& left, const HashedCodec& right) {
  Form form = left.form;
  form.modes = right.form.modes;
  return left.hash == right.hash && form == right.form &&
         mgcp::same_encoding(*left.codec, *right.codec);
}

bool same_codec(const HashedCodec& left, const HashedCodec& right) {
  return left.hash == right.hash && mgcp::same_codec(*left.codec, *right.codec);
}

bool convertible(const HashedCodec& left, const HashedCodec& right) {
  return mgcp::convertible_codec(*left.codec, *right.codec);
}

template <typename Matches>
std::optional<CodecPair> first_pair(const HashedCodecs& own, const HashedCodecs& other,
                                    Matches matches) {
  for (std::size_t i = 0; i < own.size(); ++i) {
    for (std::size_t j = 0; is_voice(*own[i].codec) && j < other.size(); ++j) {
      if (is_voice(*other[j].codec) && matches(own[i], other[j])) {
        return CodecPair{i, j};
      }
    }
  }
  return std::nullopt;
}

/// What has to be done to a payload in the form of `from` so that a peer that announced `to` can
/// read it.
rtp::Conversion conversion_between(const HashedCodec& from, const HashedCodec& to,
                                   bool toggle_gsm_hr) {
  if (from.osmux && !to.codec->octet_align()) {
    return rtp::Conversion::none;
  }
  if (mgcp::is_amr(*from.codec)) {
    return amr_conversion(mgcp::is_codec(*from.codec, "AMR-WB"), from.form.packing,
                          to.form.packing);
  }
  if (mgcp::is_codec(*from.codec, "GSM-HR-08")) {
    return gsm_hr_conversion(from.form.gsm_hr, to.form.gsm_hr, toggle_gsm_hr);
  }
  return from.form.extended_gsm == to.form.extended_gsm
             ? rtp::Conversion::none
             : gsm_conversion(mgcp::is_codec(*from.codec, "GSM-EFR"), to.form.extended_gsm);
}

/// The codec of `codecs` that takes what `from` sends: the one in the same form, else with the same
/// packing, else one that it can be converted into.
const HashedCodec* counterpart(const HashedCodec& from, const HashedCodecs& codecs) {
  const HashedCodec* same = nullptr;
  const HashedCodec* convertible_one = nullptr;
  for (const HashedCodec& to : codecs) {
    if (to.hash != from.hash) {
      continue;
    }
    if (same_form(from, to)) {
      return &to;
    }
    if (same == nullptr && same_packing(from, to)) {
      same = &to;
    } else if (convertible_one == nullptr && convertible(from, to)) {
      convertible_one = &to;
    }
  }
  return same != nullptr ? same : convertible_one;
}

/// The slot of a codec, none if no other connection has it.
std::optional<std::uint8_t> slot_of(const HashedCodec& codec, const HashedCodecs& slots) {
  for (std::size_t slot = 0; slot < slots.size(); ++slot) {
    if (slots[slot].osmux == codec.osmux && same_form(slots[slot], codec)) {
      return static_cast<std::uint8_t>(slot);
    }
  }
  return std::nullopt;
}

/// The distinct codecs that several connections have in some form: index = slot.
HashedCodecs shared_codecs(const std::vector<HashedCodecs>& connections) {
  constexpr std::size_t kSeveral = ~std::size_t{0};
  std::unordered_map<std::uint64_t, std::size_t> owners;  // hash to connection
  for (std::size_t i = 0; i < connections.size(); ++i) {
    for (const HashedCodec& codec : connections[i]) {
      const auto [owner, is_new] = owners.try_emplace(codec.hash, i);
      if (!is_new && owner->second != i) {
        owner->second = kSeveral;
      }
    }
  }
  HashedCodecs slots;
  for (const HashedCodecs& codecs : connections) {
    for (const HashedCodec& codec : codecs) {
      if (slots.size() < kDeadEndSlot && owners[codec.hash] == kSeveral && !slot_of(codec, slots)) {
        slots.push_back(codec);
      }
    }
  }
  return slots;
}

}  // namespace

CodecPair select_codecs(Codecs own, Codecs other) {
  const HashedCodecs left = hashed(own);
  const HashedCodecs right = hashed(other);
  for (const auto matches : {same_codec, convertible}) {
    if (const auto pair = first_pair(left, right, matches)) {
      const HashedCodec* closest = counterpart(left[pair->own], right);
      return {pair->own,
              closest == nullptr ? pair->other : static_cast<std::size_t>(closest - right.data())};
    }
  }
  return {first_voice(own), first_voice(other)};
}

std::vector<Codec> announced_codecs(Codecs own, std::size_t selected, Codecs other,
                                    bool single_codec) {
  std::vector<Codec> announced;
  if (selected >= own.size()) {
    return announced;
  }
  announced.push_back(own[selected]);
  const auto add = [&](auto wanted) {
    for (std::size_t i = 0; i < own.size() && announced.size() < kAnnouncedCodecsMax; ++i) {
      if (i != selected && wanted(own[i]) && (other.empty() || takes(other, own[i]))) {
        announced.push_back(own[i]);
      }
    }
  };
  const auto fits = [&](const Codec& codec) {
    return codec.clock_rate_hz == own[selected].clock_rate_hz;
  };
  const auto fitting_one_is_there = [&](const Codec& codec) {
    return std::any_of(announced.begin(), announced.end(), [&](const Codec& one) {
      return fits(one) && mgcp::is_codec(one, codec.name);
    });
  };
  if (!single_codec) {
    add(is_voice);
  }
  add([&](const Codec& codec) { return !is_voice(codec) && fits(codec); });
  add([&](const Codec& codec) {
    return !is_voice(codec) && !fits(codec) && !(single_codec && fitting_one_is_there(codec));
  });
  return announced;
}

std::vector<CompiledPayloadTypes> compile_payload_types(std::span<const Codecs> connections,
                                                        bool toggle_gsm_hr,
                                                        std::span<const LegKind> kinds) {
  std::vector<HashedCodecs> codecs;
  codecs.reserve(connections.size());
  for (std::size_t i = 0; i < connections.size(); ++i) {
    codecs.push_back(hashed(connections[i], i < kinds.size() ? kinds[i] : LegKind::rtp));
  }
  const HashedCodecs slots = shared_codecs(codecs);
  std::vector<CompiledPayloadTypes> compiled(connections.size());
  for (std::size_t i = 0; i < connections.size(); ++i) {
    for (const HashedCodec& codec : codecs[i]) {
      compiled[i].source.set(codec.codec->payload_type,
                             slot_of(codec, slots).value_or(kDeadEndSlot));
      compiled[i].target.set_used(codec.codec->payload_type);
    }
    for (std::size_t slot = 0; slot < slots.size(); ++slot) {
      if (const auto* to = counterpart(slots[slot], codecs[i]); to != nullptr) {
        compiled[i].target.set_target(
            static_cast<std::uint8_t>(slot),
            {to->codec->payload_type, conversion_between(slots[slot], *to, toggle_gsm_hr)});
      }
    }
  }
  return compiled;
}

}  // namespace mgw
