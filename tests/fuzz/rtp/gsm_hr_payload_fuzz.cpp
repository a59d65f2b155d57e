// GSM half rate payloads: what converts is well formed in the target's format and comes back the
// same.
#include "rtp/gsm_hr.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

namespace {

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto payload = std::as_bytes(std::span(data, size));
  std::vector<std::byte> there(rtp::kGsmHrPayloadBytesMax);
  std::vector<std::byte> back(rtp::kGsmHrPayloadBytesMax);
  for (const auto target : {rtp::GsmHrFormat::rfc5993, rtp::GsmHrFormat::ts101318}) {
    const auto converted = rtp::convert_gsm_hr(payload, target, there);
    if (!converted) {
      continue;
    }
    const auto result = std::span(there).first(*converted);
    const auto again = rtp::convert_gsm_hr(result, target, back);
    require(again.has_value() && *again == *converted);
    if (rtp::convert_gsm_hr(payload, rtp::GsmHrFormat::ts101318, back) == size) {
      const auto returned = rtp::convert_gsm_hr(result, rtp::GsmHrFormat::ts101318, back);
      require(returned.has_value() && *returned == size);
      require(std::equal(payload.begin(), payload.end(), back.begin()));
    }
  }
  if (const auto toggled = rtp::toggle_gsm_hr(payload, there)) {
    const auto returned = rtp::toggle_gsm_hr(std::span(there).first(*toggled), back);
    require(returned.has_value() && *returned == size);
    const std::size_t contents = size - rtp::kGsmHrFrameBytes;
    require(std::equal(payload.begin() + static_cast<std::ptrdiff_t>(contents), payload.end(),
                       back.begin() + static_cast<std::ptrdiff_t>(contents)));
  }
  return 0;
}
