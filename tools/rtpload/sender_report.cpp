#include "tools/rtpload/sender_report.h"

#include <algorithm>
#include <array>

namespace rtpload {
namespace {

constexpr std::uint64_t kSecondsFrom1900To1970 = 2'208'988'800U;
constexpr std::array<std::uint8_t, 10> kCanonicalName{'r', 't', 'p', 'l', 'o',
                                                      'a', 'd', '.', 'o', 'k'};

std::uint8_t* put(std::uint8_t* out, std::uint32_t value) noexcept {
  for (unsigned shift = 32; shift > 0; shift -= 8) {
    *out++ = static_cast<std::uint8_t>(value >> (shift - 8));
  }
  return out;
}

}  // namespace

std::size_t write_sender_report(std::span<std::uint8_t> buffer,
                                const SenderReport& report) noexcept {
  const std::uint64_t seconds = report.wall_ns / 1'000'000'000U + kSecondsFrom1900To1970;
  const std::uint64_t fraction = ((report.wall_ns % 1'000'000'000U) << 32U) / 1'000'000'000U;
  std::uint8_t* out =
      put(buffer.data(), 0x80c80006U);  // version 2, SR without report blocks, 7 words
  for (const std::uint32_t word :
       {report.ssrc, static_cast<std::uint32_t>(seconds), static_cast<std::uint32_t>(fraction),
        report.rtp_timestamp, report.packets, report.octets}) {
    out = put(out, word);
  }
  out = put(out, 0x81ca0004U);  // version 2, SDES with one source, 5 words
  out = put(out, report.ssrc);
  *out++ = 1;  // CNAME
  *out++ = kCanonicalName.size();
  out = std::copy(kCanonicalName.begin(), kCanonicalName.end(), out);
  return kSenderReportBytes;
}

bool is_rtcp(std::span<const std::uint8_t> datagram) noexcept {
  return datagram.size() >= 8 && (datagram[0] >> 6U) == 2 && datagram[1] >= 200 &&
         datagram[1] <= 204;
}

}  // namespace rtpload
