#include "rtp/iuup_amr.h"

#include <algorithm>
#include <cstring>

namespace rtp {
namespace {

/// AMR-WB has a frame type for a frame that was lost (TS 26.201 table 1a).
constexpr std::uint8_t kWidebandSpeechLost = 14;

constexpr std::uint32_t octets_of(std::uint32_t bits) noexcept {
  return (bits + 7) / 8;
}

/// The highest frame type that is a speech mode: 12.2 of AMR, 23.85 of AMR-WB.
constexpr std::uint8_t highest_mode(AmrCodec codec) noexcept {
  return codec == AmrCodec::narrowband ? 7 : 8;
}

/// The first frame type of which `holds` is true for its bits, those without speech apart.
template <typename Predicate>
std::optional<std::uint8_t> first_type(AmrCodec codec, Predicate holds) noexcept {
  for (std::uint8_t type = 0; type < kAmrFrameTypes; ++type) {
    const auto bits = amr_frame_bits(codec, type);
    if (bits && *bits != 0 && holds(*bits)) {
      return type;
    }
  }
  return std::nullopt;
}

std::optional<std::uint8_t> type_of_bits(AmrCodec codec, std::uint32_t bits) noexcept {
  return first_type(codec, [bits](std::uint16_t type_bits) { return type_bits == bits; });
}

/// Five octets may be a SID of several codecs: the first is AMR's own.
std::optional<std::uint8_t> type_of_octets(AmrCodec codec, std::size_t octets) noexcept {
  return first_type(codec,
                    [octets](std::uint16_t type_bits) { return octets_of(type_bits) == octets; });
}

/// The speech mode of an RFCI, none if it carries something else.
std::optional<std::uint8_t> mode_of(AmrCodec codec, const IuupRfci& rfci) noexcept {
  const auto type = type_of_bits(codec, rfci.bits());
  return type && *type <= highest_mode(codec) ? type : std::nullopt;
}

}  // namespace

std::optional<std::uint8_t> amr_type_of_iuup(const IuupConfiguration& configuration, AmrCodec codec,
                                             const IuupData& data) noexcept {
  if (data.payload.empty()) {
    const bool lost = codec == AmrCodec::wideband && data.quality != IuupFrameQuality::good;
    return lost ? kWidebandSpeechLost : kAmrNoData;
  }
  const IuupRfci* rfci = configuration.find(data.rfci);
  if (rfci != nullptr && octets_of(rfci->bits()) == data.payload.size()) {
    if (const auto type = type_of_bits(codec, rfci->bits())) {
      return type;
    }
  }
  return type_of_octets(codec, data.payload.size());
}

std::optional<std::uint8_t> iuup_rfci_of_amr(const IuupConfiguration& configuration, AmrCodec codec,
                                             std::uint8_t frame_type) noexcept {
  const auto bits = amr_frame_bits(codec, frame_type);
  if (!bits) {
    return std::nullopt;
  }
  const auto declared = configuration.declared();
  auto found = std::find_if(declared.begin(), declared.end(),
                            [&](const IuupRfci& rfci) { return rfci.bits() == *bits; });
  if (found == declared.end()) {
    found = std::find_if(declared.begin(), declared.end(), [&](const IuupRfci& rfci) {
      return octets_of(rfci.bits()) == octets_of(*bits) && !type_of_bits(codec, rfci.bits());
    });
  }
  return found == declared.end() ? std::nullopt : std::optional(found->id);
}

tl::expected<std::size_t, ConversionError> iuup_to_amr(const IuupConfiguration& configuration,
                                                       AmrCodec codec, const IuupData& data,
                                                       std::uint8_t mode_request,
                                                       std::span<std::byte> out) noexcept {
  const auto type = amr_type_of_iuup(configuration, codec, data);
  if (!type) {
    return tl::unexpected(ConversionError::wrong_length);
  }
  const std::size_t speech_bytes = data.payload.size();
  const std::size_t size = kAmrSingleFrameHeaderBytes + speech_bytes;
  if (out.size() < size) {
    return tl::unexpected(ConversionError::no_room);
  }
  if (speech_bytes != 0) {
    std::memmove(out.data() + kAmrSingleFrameHeaderBytes, data.payload.data(), speech_bytes);
    const unsigned padding = (8U - amr_frame_bits(codec, *type).value_or(0) % 8U) % 8U;
    out[size - 1] &= std::byte{0xff} << padding;
  }
  const bool good = data.quality == IuupFrameQuality::good;
  out[0] = static_cast<std::byte>((mode_request & 0x0fU) << 4U);
  out[1] = static_cast<std::byte>(static_cast<unsigned>(*type) << 3U | (good ? 0x04U : 0U));
  return size;
}

tl::expected<AmrToIuup, ConversionError> amr_to_iuup(const IuupConfiguration& configuration,
                                                     AmrCodec codec,
                                                     std::span<const std::byte> payload) noexcept {
  const auto parsed = parse_amr(payload, codec, AmrFormat::octet_aligned);
  if (!parsed) {
    return tl::unexpected(parsed.error());
  }
  if (parsed->frame_count != 1) {
    return tl::unexpected(ConversionError::too_many_frames);
  }
  const AmrFrame& frame = parsed->frames[0];
  const auto rfci = iuup_rfci_of_amr(configuration, codec, frame.type);
  if (!rfci) {
    return tl::unexpected(ConversionError::no_equivalent);
  }
  AmrToIuup result;
  result.mode_request = parsed->mode_request;
  result.data.rfci = *rfci;
  result.data.quality = frame.good ? IuupFrameQuality::good : IuupFrameQuality::bad;
  result.data.payload = payload.subspan(kAmrSingleFrameHeaderBytes);
  return result;
}

std::uint8_t amr_mode_request_of(const IuupConfiguration& configuration, AmrCodec codec,
                                 const std::optional<IuupRates>& rates) noexcept {
  std::optional<std::uint8_t> highest;
  for (std::size_t index = 0; rates && index < configuration.declared().size(); ++index) {
    const auto mode = mode_of(codec, configuration.rfcis[index]);
    const bool allowed = (rates->barred >> index & 1U) == 0;
    if (mode && allowed) {
      highest = std::max(highest.value_or(0), *mode);
    }
  }
  return highest.value_or(kAmrNoModeRequest);
}

std::optional<std::uint64_t> iuup_barred_above(const IuupConfiguration& configuration,
                                               AmrCodec codec, std::uint8_t mode_request) noexcept {
  if (mode_request > highest_mode(codec)) {
    return std::nullopt;
  }
  std::optional<std::uint8_t> lowest;
  for (const IuupRfci& rfci : configuration.declared()) {
    if (const auto mode = mode_of(codec, rfci)) {
      lowest = std::min(lowest.value_or(*mode), *mode);
    }
  }
  const std::uint8_t limit = std::max(mode_request, lowest.value_or(0));
  std::uint64_t barred = 0;
  for (std::size_t index = 0; index < configuration.declared().size(); ++index) {
    const auto mode = mode_of(codec, configuration.rfcis[index]);
    if (mode && *mode > limit) {
      barred |= std::uint64_t{1} << index;
    }
  }
  return barred;
}

}  // namespace rtp
