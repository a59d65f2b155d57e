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

template <typename Matches>
std::optional<CodecPair> first_pair(Codecs own, Codecs other, Matches matches) {
  for (std::size_t i = 0; i < own.size(); ++i) {
    for (std::size_t j = 0; is_voice(own[i]) && j < other.size(); ++j) {
      if (is_voice(other[j]) && matches(own[i], other[j])) {
        return CodecPair{i, j};
      }
    }
  }
  return std::nullopt;
}

bool takes(Codecs other, const Codec& codec) {
  return std::any_of(other.begin(), other.end(), [&codec](const Codec& candidate) {
    return mgcp::convertible_codec(codec, candidate);
  });
}

/// RFC 5993 or TS 101 318, as far as the peer said.
enum class GsmHrFormat { unsaid, rfc5993, ts101318 };

GsmHrFormat gsm_hr_format(const Codec& codec) {
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

/// What has to be done to a payload in the form of `from` so that a peer that announced `to` can
/// read it.
rtp::Conversion conversion_between(const Codec& from, const Codec& to, bool toggle_gsm_hr) {
  const bool wide = mgcp::is_codec(from, "AMR-WB");
  if ((wide || mgcp::is_codec(from, "AMR")) &&
      from.octet_align().value_or(false) != to.octet_align().value_or(false)) {
    if (to.octet_align().value_or(false)) {
      return wide ? rtp::Conversion::amr_wb_to_octet_aligned
                  : rtp::Conversion::amr_to_octet_aligned;
    }
    return wide ? rtp::Conversion::amr_wb_to_bandwidth_efficient
                : rtp::Conversion::amr_to_bandwidth_efficient;
  }
  if (mgcp::is_codec(from, "GSM-HR-08")) {
    const GsmHrFormat source = gsm_hr_format(from);
    const GsmHrFormat target = gsm_hr_format(to);
    if (source != GsmHrFormat::unsaid && target != GsmHrFormat::unsaid) {
      if (source == target) {
        return rtp::Conversion::none;
      }
      return target == GsmHrFormat::rfc5993 ? rtp::Conversion::gsm_hr_to_rfc5993
                                            : rtp::Conversion::gsm_hr_to_ts101318;
    }
    if (toggle_gsm_hr) {
      return rtp::Conversion::gsm_hr_toggle;
    }
  }
  return rtp::Conversion::none;
}

/// One slot per codec in one form; GSM-HR formats are told apart here although they are "the same
/// codec".
bool same_slot(const Codec& left, const Codec& right) {
  return mgcp::same_codec(left, right) && gsm_hr_format(left) == gsm_hr_format(right);
}

/// A codec and a number that all codecs with its name, rate and channels share: agents may list
/// dozens of codecs for many legs, and most pairs are told apart by one comparison.
struct HashedCodec {
  const Codec* codec = nullptr;
  std::uint64_t hash = 0;
};
using HashedCodecs = std::vector<HashedCodec>;

HashedCodecs hashed(Codecs codecs) {
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
    result.push_back({&codec, hash});
  }
  return result;
}

/// The codec of `codecs` that takes what `from` sends: the same one, else one that it can be
/// converted into.
const Codec* counterpart(const HashedCodec& from, const HashedCodecs& codecs) {
  const Codec* convertible = nullptr;
  for (const HashedCodec& to : codecs) {
    if (to.hash != from.hash) {
      continue;
    }
    if (same_slot(*from.codec, *to.codec)) {
      return to.codec;
    }
    if (convertible == nullptr && mgcp::convertible_codec(*from.codec, *to.codec)) {
      convertible = to.codec;
    }
  }
  return convertible;
}

/// The slot of a codec, none if no other connection has it.
std::optional<std::uint8_t> slot_of(const HashedCodec& codec, const HashedCodecs& slots) {
  for (std::size_t slot = 0; slot < slots.size(); ++slot) {
    if (slots[slot].hash == codec.hash && same_slot(*slots[slot].codec, *codec.codec)) {
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
  if (const auto pair = first_pair(own, other, mgcp::same_codec)) {
    return *pair;
  }
  if (const auto pair = first_pair(own, other, mgcp::convertible_codec)) {
    return *pair;
  }
  return {first_voice(own), first_voice(other)};
}

std::vector<Codec> announced_codecs(Codecs own, std::size_t selected, Codecs other,
                                    bool single_codec) {
  std::vector<Codec> announced;
  if (selected < own.size()) {
    announced.push_back(own[selected]);
  }
  for (const bool voice : {true, false}) {
    for (std::size_t i = 0; i < own.size() && announced.size() < kAnnouncedCodecsMax; ++i) {
      const bool wanted = is_voice(own[i]) == voice && i != selected && !(voice && single_codec);
      if (wanted && (other.empty() || takes(other, own[i]))) {
        announced.push_back(own[i]);
      }
    }
  }
  return announced;
}

std::vector<CompiledPayloadTypes> compile_payload_types(std::span<const Codecs> connections,
                                                        bool toggle_gsm_hr) {
  std::vector<HashedCodecs> codecs;
  codecs.reserve(connections.size());
  for (const Codecs& list : connections) {
    codecs.push_back(hashed(list));
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
      if (const Codec* to = counterpart(slots[slot], codecs[i]); to != nullptr) {
        compiled[i].target.set_target(
            static_cast<std::uint8_t>(slot),
            {to->payload_type, conversion_between(*slots[slot].codec, *to, toggle_gsm_hr)});
      }
    }
  }
  return compiled;
}

}  // namespace mgw
