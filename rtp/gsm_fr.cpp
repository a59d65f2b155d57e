#include "rtp/gsm_fr.h"

#include <cstring>

namespace rtp {
namespace {

using ConvertedSize = tl::expected<std::size_t, ConversionError>;

constexpr std::byte kSignatureMask{0xf0};
constexpr std::byte kExtensionSignature{0xe0};
/// Bits of the extension's octet.
constexpr std::byte kNoDataBit{0x04};
constexpr std::byte kBadFrameBit{0x02};

std::byte signature_of(GsmFrCodec codec) noexcept {
  return codec == GsmFrCodec::full_rate ? std::byte{0xd0} : std::byte{0xc0};
}

bool is_bare(std::span<const std::byte> payload, GsmFrCodec codec) noexcept {
  const std::size_t frame_bytes = gsm_fr_frame_bytes(codec);
  if (payload.empty() || payload.size() % frame_bytes != 0 ||
      payload.size() / frame_bytes > kGsmFrFramesMax) {
    return false;
  }
  for (std::size_t at = 0; at < payload.size(); at += frame_bytes) {
    if ((payload[at] & kSignatureMask) != signature_of(codec)) {
      return false;
    }
  }
  return true;
}

bool is_extended(std::span<const std::byte> payload, GsmFrCodec codec) noexcept {
  if (payload.empty() || (payload[0] & kSignatureMask) != kExtensionSignature) {
    return false;
  }
  const auto frame = payload.subspan(1);
  return frame.empty() || (frame.size() == gsm_fr_frame_bytes(codec) && is_bare(frame, codec));
}

ConvertedSize copy(std::span<const std::byte> bytes, std::span<std::byte> out) noexcept {
  if (bytes.size() > out.size()) {
    return tl::unexpected(ConversionError::no_room);
  }
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return bytes.size();
}

ConvertedSize extend(std::span<const std::byte> frame, std::span<std::byte> out) noexcept {
  if (frame.size() + 1 > out.size()) {
    return tl::unexpected(ConversionError::no_room);
  }
  out[0] = kExtensionSignature;
  std::memcpy(out.data() + 1, frame.data(), frame.size());
  return frame.size() + 1;
}

/// Why a payload is in neither format.
ConversionError fault_of(std::span<const std::byte> payload, GsmFrCodec codec) noexcept {
  const std::size_t frame_bytes = gsm_fr_frame_bytes(codec);
  const bool length_fits =
      !payload.empty() && (payload.size() % frame_bytes == 0 || payload.size() == frame_bytes + 1 ||
                           payload.size() == 1);
  if (!length_fits) {
    return ConversionError::wrong_length;
  }
  return payload.size() > kGsmFrFramesMax * frame_bytes ? ConversionError::too_many_frames
                                                        : ConversionError::invalid_frame_type;
}

}  // namespace

std::size_t gsm_fr_frame_bytes(GsmFrCodec codec) noexcept {
  return codec == GsmFrCodec::full_rate ? 33 : 31;
}

tl::expected<std::size_t, ConversionError> convert_gsm_fr(std::span<const std::byte> payload,
                                                          GsmFrCodec codec, GsmFrFormat target,
                                                          std::span<std::byte> out) noexcept {
  if (is_bare(payload, codec)) {
    if (target == GsmFrFormat::bare) {
      return copy(payload, out);
    }
    return payload.size() == gsm_fr_frame_bytes(codec)
               ? extend(payload, out)
               : tl::unexpected(ConversionError::no_equivalent);
  }
  if (!is_extended(payload, codec)) {
    return tl::unexpected(fault_of(payload, codec));
  }
  if (target == GsmFrFormat::extended) {
    return copy(payload, out);
  }
  const bool has_good_frame =
      payload.size() > 1 && (payload[0] & (kBadFrameBit | kNoDataBit)) == std::byte{0};
  return has_good_frame ? copy(payload.subspan(1), out)
                        : tl::unexpected(ConversionError::no_equivalent);
}

}  // namespace rtp
