#pragma once
// The RTCP packets that the load generator sends (RFC 3550 section 6): a sender report with a
// CNAME. Pure functions.

#include <cstddef>
#include <cstdint>
#include <span>

namespace rtpload {

/// How often each leg sends one (RFC 3550 section 6.2: the fixed minimum), seconds.
inline constexpr std::uint32_t kReportIntervalS = 5;
/// Size of what write_sender_report() writes.
inline constexpr std::size_t kSenderReportBytes = 28 + 20;

/// What a sender reports.
struct SenderReport {
  std::uint32_t ssrc = 0;
  std::uint64_t wall_ns = 0;        ///< since 1970
  std::uint32_t rtp_timestamp = 0;  ///< of the same instant
  std::uint32_t packets = 0;
  std::uint32_t octets = 0;  ///< of payload
};

/// Writes a compound packet of SR and SDES; `buffer` holds at least kSenderReportBytes.
std::size_t write_sender_report(std::span<std::uint8_t> buffer,
                                const SenderReport& report) noexcept;

/// True if a datagram begins as RTCP does: version 2 and one of RFC 3550's packet types.
[[nodiscard]] bool is_rtcp(std::span<const std::uint8_t> datagram) noexcept;

}  // namespace rtpload
