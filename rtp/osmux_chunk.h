#pragma once
// The wire format of Osmux: AMR frames of many calls (circuits) between two gateways, several per
// datagram and without RTP headers. A datagram is a row of chunks, each of one circuit: a header of
// 4 octets, then 1..8 speech frames of one AMR frame type, each filled up to whole octets. Pure
// functions over bytes, any thread. Osmux is defined by its implementation in the Osmocom project.
//
//   octet 0   marker(1) type(2) frames - 1(3) F(1) Q(1)
//   octet 1   sequence number of the chunk within its circuit
//   octet 2   circuit id
//   octet 3   AMR frame type(4) AMR mode request(4)

#include <array>
#include <bitset>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace rtp {

/// A circuit id is an octet, so that many calls share one pair of addresses.
inline constexpr std::size_t kOsmuxCircuits = 256;
/// Most frames of one chunk: the count has 3 bits.
inline constexpr std::size_t kOsmuxFramesMax = 8;
/// Octets before a chunk's frames.
inline constexpr std::size_t kOsmuxHeaderBytes = 4;
/// Octets of the largest frame, AMR 12.2.
inline constexpr std::size_t kOsmuxFrameBytesMax = 31;
/// Frames that a sender gathers per circuit if nothing else is configured: 80 ms.
inline constexpr std::size_t kOsmuxBatchFactorDefault = 4;
/// Octets of a datagram if nothing else is configured: fits Ethernet's 1500 with IPv4 and UDP.
inline constexpr std::size_t kOsmuxBatchBytesDefault = 1472;
/// An AMR frame is 20 ms, and as many ticks of RTP's 8 kHz.
inline constexpr std::chrono::nanoseconds kOsmuxFrameDuration = std::chrono::milliseconds(20);
inline constexpr std::uint32_t kOsmuxFrameTicks = 160;
/// Octets of IP and UDP header around each datagram.
inline constexpr std::size_t kIpv4UdpBytes = 28;
inline constexpr std::size_t kIpv6UdpBytes = 48;
/// Octets of the dummy that write_osmux_dummy makes.
inline constexpr std::size_t kOsmuxDummyBytes = kOsmuxHeaderBytes + 12;

/// What a chunk is.
enum class OsmuxKind : std::uint8_t {
  voice,
  dummy,         ///< Opens a path through NAT and holds bandwidth; its frames mean nothing.
  legacy_dummy,  ///< The two octets `23 CID` of old peers, alone in their datagram.
};

/// Why the rest of a datagram can't be read: without its length a chunk has no successor.
enum class OsmuxMalformed : std::uint8_t {
  too_short,            ///< No room for a header, at the start or behind a chunk.
  signalling,           ///< Type 0, which nobody has defined further.
  bad_type,             ///< Type 3.
  reserved_frame_type,  ///< AMR frame type 12..14.
  frames_overrun,       ///< The frames end behind the datagram.
};

/// Number of enumerators of OsmuxMalformed, for counters by cause.
inline constexpr std::size_t kOsmuxMalformedCount = 5;

/// The cause as in metrics and logs, for example "bad_type".
[[nodiscard]] std::string_view to_string(OsmuxMalformed cause) noexcept;

/// Octets of one frame of an AMR frame type (0..15) in Osmux, none for the reserved 12..14. A frame
/// of type 15, No_Data, has 0 octets.
[[nodiscard]] std::optional<std::size_t> osmux_frame_bytes(std::uint8_t frame_type) noexcept;

/// The header of a chunk.
struct OsmuxHeader {
  OsmuxKind kind = OsmuxKind::voice;
  bool marker = false;           ///< RTP's marker of the first frame, or a break before it.
  std::uint8_t frame_count = 1;  ///< 1..kOsmuxFramesMax
  bool followed = false;         ///< AMR's F bit; 0 in any sane stream.
  bool good = true;              ///< AMR's Q bit; false = the frames are damaged.
  std::uint8_t sequence = 0;
  std::uint8_t circuit = 0;
  std::uint8_t frame_type = 0;     ///< AMR frame type: 0..11 or 15.
  std::uint8_t mode_request = 15;  ///< AMR's CMR, 0..15; 15 = no request.
};

/// One chunk of a datagram.
struct OsmuxChunk {
  OsmuxHeader header;
  /// The datagram has an earlier voice chunk of the same circuit: this one goes on where that ends.
  bool continues = false;
  /// header.frame_count frames of equal size, part of the datagram; empty for a legacy dummy.
  std::span<const std::byte> frames;
};

/// Writes `header` to the first kOsmuxHeaderBytes of `out`, which must be that long; a legacy dummy
/// is written as a dummy.
void write_osmux_header(std::span<std::byte> out, const OsmuxHeader& header) noexcept;

/// Writes the dummy that tells a peer (and the NATs before it) where a circuit comes from: one
/// frame of type 0 whose octets are 0. Returns kOsmuxDummyBytes, or 0 and nothing written if `out`
/// is shorter.
std::size_t write_osmux_dummy(std::span<std::byte> out, std::uint8_t circuit) noexcept;

/// The chunks of one received datagram in their order. The datagram must outlive the reader and its
/// chunks. What to do with a chunk of an unknown circuit is up to the caller; those behind it can
/// be read all the same. Linear in the size of the datagram.
class OsmuxReader {
 public:
  explicit OsmuxReader(std::span<const std::byte> datagram) noexcept;

  /// The next chunk; none at the end, and none where the rest is malformed.
  [[nodiscard]] std::optional<OsmuxChunk> next() noexcept;
  /// Set once next() gave up before the end of the datagram, or for an empty datagram.
  [[nodiscard]] std::optional<OsmuxMalformed> malformed() const noexcept { return malformed_; }

 private:
  std::optional<OsmuxChunk> give_up(OsmuxMalformed cause) noexcept;

  std::span<const std::byte> rest_;
  std::optional<OsmuxMalformed> malformed_;
  std::bitset<kOsmuxCircuits> seen_;  // circuits with a voice chunk so far
  bool legacy_ = false;               // the whole datagram is a legacy dummy
  bool done_ = false;
};

/// Octets on the line of one AMR frame as an RTP packet of its own, octet-aligned, with
/// `packet_overhead_bytes` of IP and UDP header.
[[nodiscard]] std::size_t plain_rtp_bytes(std::size_t frame_bytes,
                                          std::size_t packet_overhead_bytes) noexcept;

/// The SSRC of the RTP stream rebuilt from a circuit: each of the 256 circuits has a window of
/// SSRCs of its own, so streams of one peer never collide; `random` picks the place in it.
[[nodiscard]] std::uint32_t osmux_ssrc(std::uint8_t remote_circuit, std::uint32_t random) noexcept;

}  // namespace rtp
