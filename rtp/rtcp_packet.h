#pragma once
// RTCP compound packets (RFC 3550 section 6): check, walk through, read and write. Pure functions
// over bytes, any thread. Lengths come from the network, so every reader says by an empty optional
// that a field is not there.

#include <tl/expected.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace rtp {

/// RTCP packet types that are read or written here (RFC 3550 section 12.1, RFC 4585, RFC 3611).
enum class RtcpType : std::uint8_t {
  sender_report = 200,
  receiver_report = 201,
  source_description = 202,
  goodbye = 203,
  application = 204,
  transport_feedback = 205,
  payload_feedback = 206,
  extended_report = 207,
};

/// Octets of an RTCP header with the SSRC behind it: the smallest RR.
inline constexpr std::size_t kRtcpHeaderBytes = 4;
/// Octets of one report block.
inline constexpr std::size_t kReportBlockBytes = 24;
/// Most report blocks (or SSRCs of a BYE, or chunks) that the 5-bit count of a packet can name.
inline constexpr std::size_t kRtcpCountMax = 31;

/// Why a datagram is no RTCP.
enum class RtcpMalformed : std::uint8_t {
  too_short,       ///< Less than 4 octets.
  bad_version,     ///< The version is not 2.
  length_overrun,  ///< The first packet's length points behind the datagram.
  unknown_type,    ///< The first packet's type is outside 192..195 and 200..213.
};

/// Number of enumerators of RtcpMalformed, for counters by cause.
inline constexpr std::size_t kRtcpMalformedCount = 4;

/// The cause as in metrics and logs, for example "length_overrun".
[[nodiscard]] std::string_view to_string(RtcpMalformed cause) noexcept;

/// Whether `datagram` may be relayed as RTCP. Only the first packet of a compound decides: later
/// packets may be of types that came after us, and a receiver can skip what it can't read.
/// Reduced-size RTCP (RFC 5506) passes.
[[nodiscard]] tl::expected<void, RtcpMalformed> validate_rtcp(
    std::span<const std::byte> datagram) noexcept;

/// One packet of a compound: a view into the datagram.
struct RtcpPacket {
  std::uint8_t type = 0;   ///< See RtcpType; other values are passed on.
  std::uint8_t count = 0;  ///< Report count, source count or feedback message type (5 bits).
  std::span<const std::byte>
      bytes;  ///< The packet with its header; at least 4 octets, a multiple of 4.
  std::span<const std::byte> body;  ///< The packet behind the header, without padding.
};

/// Walks through the packets of a compound; ends at the first one that is not whole. The datagram
/// must outlive it.
class RtcpReader {
 public:
  explicit RtcpReader(std::span<const std::byte> compound) noexcept : rest_(compound) {}
  /// The next packet, or none at the end or where the rest is no RTCP packet.
  [[nodiscard]] std::optional<RtcpPacket> next() noexcept;
  /// What has not been read: empty after the last packet of a well-formed compound.
  [[nodiscard]] std::span<const std::byte> rest() const noexcept { return rest_; }

 private:
  std::span<const std::byte> rest_;
};

/// What a sender report says of its sender (RFC 3550 section 6.4.1).
struct SenderInfo {
  std::uint32_t ssrc = 0;
  std::uint64_t ntp_timestamp = 0;  ///< Wall clock, 32.32 fixed point seconds since 1900.
  std::uint32_t rtp_timestamp = 0;
  std::uint32_t packet_count = 0;
  std::uint32_t octet_count = 0;
};

/// One report block of an SR or RR (RFC 3550 section 6.4.1).
struct ReportBlock {
  std::uint32_t ssrc = 0;          ///< The source that is reported on.
  std::uint8_t fraction_lost = 0;  ///< In 1/256, since the last report.
  std::int32_t cumulative_lost =
      0;  ///< -8388608..8388607; negative when duplicates outnumber losses.
  std::uint32_t highest_sequence = 0;    ///< Extended: cycles in the upper 16 bits.
  std::uint32_t jitter = 0;              ///< In timestamp units.
  std::uint32_t last_sender_report = 0;  ///< Middle 32 bits of its NTP timestamp; 0 = none came.
  std::uint32_t delay_since_last_report = 0;  ///< In 1/65536 s.
};

/// The sender of an SR or RR, BYE's first source, or any other packet's first SSRC field; none if
/// it has no room.
[[nodiscard]] std::optional<std::uint32_t> rtcp_ssrc(const RtcpPacket& packet) noexcept;
/// The sender info of an SR; none if it is not one or too short.
[[nodiscard]] std::optional<SenderInfo> read_sender_info(const RtcpPacket& packet) noexcept;
/// How many report blocks the SR or RR really holds; 0 for other types.
[[nodiscard]] std::size_t report_block_count(const RtcpPacket& packet) noexcept;
/// Report block `index` of an SR or RR; none behind the last.
[[nodiscard]] std::optional<ReportBlock> read_report_block(const RtcpPacket& packet,
                                                           std::size_t index) noexcept;
/// One chunk of an SDES packet (RFC 3550 section 6.5).
struct SdesChunk {
  std::uint32_t ssrc = 0;
  std::string_view cname;  ///< A view into the packet, bytes as they came; empty if it has none.
  std::size_t size = 0;    ///< Octets of the chunk, with the zero octets that end it.
};
/// The chunk at the front of `chunks` (the body of an SDES packet, or what is left of it); none if
/// it is not whole.
[[nodiscard]] std::optional<SdesChunk> read_sdes_chunk(std::span<const std::byte> chunks) noexcept;
/// Source `index` of a BYE; none behind the last.
[[nodiscard]] std::optional<std::uint32_t> read_bye_source(const RtcpPacket& packet,
                                                           std::size_t index) noexcept;

/// Middle 32 bits of an NTP timestamp, as report blocks carry them.
[[nodiscard]] constexpr std::uint32_t middle_of_ntp(std::uint64_t ntp_timestamp) noexcept {
  return static_cast<std::uint32_t>(ntp_timestamp >> 16U & 0xffffffffU);
}

/// Writes a compound into the caller's memory, packet by packet. Each add_ returns false and leaves
/// the compound as it was if there is no room or a limit is passed (31 report blocks, 255 octets of
/// text).
class RtcpWriter {
 public:
  explicit RtcpWriter(std::span<std::byte> out) noexcept : out_(out) {}
  /// An SR with its report blocks (RFC 3550 section 6.4.1).
  [[nodiscard]] bool add_sender_report(const SenderInfo& sender,
                                       std::span<const ReportBlock> blocks) noexcept;
  /// An RR with its report blocks (RFC 3550 section 6.4.2).
  [[nodiscard]] bool add_receiver_report(std::uint32_t ssrc,
                                         std::span<const ReportBlock> blocks) noexcept;
  /// An SDES packet of one chunk with a CNAME (RFC 3550 section 6.5.1).
  [[nodiscard]] bool add_cname(std::uint32_t ssrc, std::string_view cname) noexcept;
  /// A BYE of one source (RFC 3550 section 6.6); no reason field if `reason` is empty.
  [[nodiscard]] bool add_bye(std::uint32_t ssrc, std::string_view reason) noexcept;
  /// Octets written so far.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  [[nodiscard]] std::byte* begin_packet(RtcpType type, std::size_t count,
                                        std::size_t packet_bytes) noexcept;

  std::span<std::byte> out_;
  std::size_t size_ = 0;
};

}  // namespace rtp
