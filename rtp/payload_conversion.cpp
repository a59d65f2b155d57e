#include "rtp/payload_conversion.h"

#include "rtp/amr.h"
#include "rtp/gsm_fr.h"
#include "rtp/gsm_hr.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace rtp {
namespace {

constexpr std::size_t kPayloadBytesMax =
    std::max({kAmrPayloadBytesMax, kGsmHrPayloadBytesMax, kGsmFrPayloadBytesMax});

tl::expected<std::size_t, ConversionError> convert(Conversion conversion,
                                                   std::span<const std::byte> payload,
                                                   std::span<std::byte> out) noexcept {
  switch (conversion) {
    case Conversion::amr_to_octet_aligned:
      return convert_amr(payload, AmrCodec::narrowband, AmrFormat::octet_aligned, out);
    case Conversion::amr_to_bandwidth_efficient:
      return convert_amr(payload, AmrCodec::narrowband, AmrFormat::bandwidth_efficient, out);
    case Conversion::amr_wb_to_octet_aligned:
      return convert_amr(payload, AmrCodec::wideband, AmrFormat::octet_aligned, out);
    case Conversion::amr_wb_to_bandwidth_efficient:
      return convert_amr(payload, AmrCodec::wideband, AmrFormat::bandwidth_efficient, out);
    case Conversion::gsm_hr_toggle:
      return toggle_gsm_hr(payload, out);
    case Conversion::gsm_hr_to_rfc5993:
      return convert_gsm_hr(payload, GsmHrFormat::rfc5993, out);
    case Conversion::gsm_hr_to_ts101318:
      return convert_gsm_hr(payload, GsmHrFormat::ts101318, out);
    case Conversion::gsm_to_extended:
      return convert_gsm_fr(payload, GsmFrCodec::full_rate, GsmFrFormat::extended, out);
    case Conversion::gsm_to_bare:
      return convert_gsm_fr(payload, GsmFrCodec::full_rate, GsmFrFormat::bare, out);
    case Conversion::gsm_efr_to_extended:
      return convert_gsm_fr(payload, GsmFrCodec::enhanced_full_rate, GsmFrFormat::extended, out);
    case Conversion::gsm_efr_to_bare:
      return convert_gsm_fr(payload, GsmFrCodec::enhanced_full_rate, GsmFrFormat::bare, out);
    case Conversion::none:
      break;
  }
  return tl::unexpected(ConversionError::no_equivalent);
}

}  // namespace

std::string_view to_string(ConversionError error) noexcept {
  switch (error) {
    case ConversionError::wrong_length:
      return "wrong_length";
    case ConversionError::invalid_frame_type:
      return "invalid_frame_type";
    case ConversionError::too_many_frames:
      return "too_many_frames";
    case ConversionError::no_equivalent:
      return "no_equivalent";
    case ConversionError::no_room:
      return "no_room";
  }
  return "unknown";
}

tl::expected<std::size_t, ConversionError> convert_payload(Conversion conversion,
                                                           std::span<std::byte> buffer,
                                                           RtpHeader& header) noexcept {
  const std::size_t offset = header.payload_offset;
  if (conversion == Conversion::none) {
    return offset + header.payload_size + header.padding_size;
  }
  std::array<std::byte, kPayloadBytesMax> converted;
  const auto size =
      convert(conversion, buffer.subspan(offset, header.payload_size), std::span(converted));
  if (!size) {
    return tl::unexpected(size.error());
  }
  if (*size > buffer.size() - offset) {
    return tl::unexpected(ConversionError::no_room);
  }
  std::memcpy(buffer.data() + offset, converted.data(), *size);
  header.payload_size = static_cast<std::uint16_t>(*size);
  return remove_padding(buffer, header);
}

}  // namespace rtp
