#pragma once
// Makes RTCP agree with media whose SSRC, sequence numbers or timestamps were patched on the way
// (Timeline): what a source says of its own stream is put forward to the output's numbers, what a
// receiver says of the output is put back to the source's numbers. Rewrites in place; never makes a
// packet longer.

#include <cstddef>
#include <cstdint>
#include <span>

namespace rtp {

/// How one patched stream is mapped: output = source + offset, modulo the field's width.
struct StreamMapping {
  std::uint32_t source_ssrc = 0;
  std::uint32_t output_ssrc = 0;
  std::uint32_t timestamp_offset = 0;
  std::uint16_t sequence_offset = 0;
  std::uint32_t source_highest_sequence =
      0;                             ///< Extended highest sequence of the source's own count.
  std::uint32_t packets_before = 0;  ///< Packets of earlier SSRCs that went out under output_ssrc.
  std::uint32_t octets_before = 0;   ///< Payload octets of those.
  bool active = false;               ///< False: media passes unchanged, and RTCP shall too.
};

/// The two streams that RTCP of one connection speaks of.
struct RtcpRewrite {
  StreamMapping sender;    ///< The stream of the connection that the RTCP came from (its Timeline).
  StreamMapping reported;  ///< The stream of the connection that the RTCP goes to (its Timeline).
  /// SR, RR, feedback and XR are left out, as media went on under other numbers than those that
  /// they speak of and no offset leads from one to the other. What else there is (BYE, APP) follows
  /// an empty RR; SDES alone is not worth a packet.
  bool without_reports = false;
};

/// Rewrites SR, RR, SDES, BYE, APP, feedback and XR packets of a compound that validate_rtcp
/// accepted. Returns the new size of the datagram; it is smaller where something was removed, and 0
/// if nothing is left to send.
///
/// Removed is what an SSRC that the source has given up says under a number that the output still
/// uses: its late SR, SDES chunk or BYE would restart or end a stream that goes on. SSRCs that
/// neither mapping knows stay as they are.
[[nodiscard]] std::size_t rewrite_rtcp(std::span<std::byte> compound,
                                       const RtcpRewrite& rewrite) noexcept;

}  // namespace rtp
