#pragma once
// The packets that the load generator sends: an RTP header (RFC 3550 section 5.1) and a payload of
// the codec's size that says which packet of which stream it is and when it left, filled up with a
// pattern that follows from these. A receiver can tell every packet from every other, and a changed
// bit from an unchanged one. Pure functions.

#include "rtp/osmux_chunk.h"
#include "rtp/rtp_header.h"
#include "tools/rtpload/codec.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace rtpload {

using rtp::kRtpHeaderBytes;
/// Longest packet that is ever sent: header and 160 samples of PCMA. Other forms of a frame are not
/// longer.
inline constexpr std::size_t kPacketBytesMax = kRtpHeaderBytes + 160;
/// Streams that the 24 bits of the payload can name.
inline constexpr std::uint32_t kStreamsMax = 1U << 24U;

/// What a payload says about itself.
struct PacketIdentity {
  std::uint32_t stream = 0;    ///< 0 to kStreamsMax - 1
  std::uint32_t sequence = 0;  ///< counts from 0 in each stream, never wraps within a run
  std::uint32_t stamp = 0;     ///< when it was sent, see make_stamp()
};

/// The lower 32 bits of a time in units of 64 ns; it wraps every 274 s.
[[nodiscard]] constexpr std::uint32_t make_stamp(std::uint64_t time_ns) noexcept {
  return static_cast<std::uint32_t>(time_ns >> 6U);
}
/// Nanoseconds from `stamp` to `time_ns` of the same clock, right within +-137 s; 0 if the stamp is
/// later.
[[nodiscard]] std::uint64_t nanoseconds_since(std::uint32_t stamp, std::uint64_t time_ns) noexcept;

/// First RTP sequence number, first timestamp and SSRC of a stream, spread over their whole ranges
/// so that wrap-around happens in every larger run.
struct RtpOrigin {
  std::uint16_t sequence = 0;
  std::uint32_t timestamp = 0;
  std::uint32_t ssrc = 0;
};
/// Where a stream of this run starts; the same for the same seed.
[[nodiscard]] RtpOrigin rtp_origin(std::uint32_t run_seed, std::uint32_t stream) noexcept;

/// Writes one packet and returns its size in bytes. `buffer` holds at least kPacketBytesMax.
/// `run_seed` tells this run's packets from those of another.
std::size_t write_packet(std::span<std::uint8_t> buffer, const Codec& codec, std::uint32_t run_seed,
                         const PacketIdentity& identity) noexcept;

/// Writes the packet by which an Iu UP leg asks the gateway to work with the one RFCI for speech
/// that write_packet() uses, and those for SID and no data. As write_packet().
std::size_t write_initialisation(std::span<std::uint8_t> buffer, const Codec& codec,
                                 std::uint32_t run_seed, std::uint32_t stream) noexcept;

/// Writes the packet that a frame of an Osmux chunk was, as far as that can be told: `speech`
/// behind the mode request and frame type of `chunk`. As write_packet().
std::size_t write_rebuilt_packet(std::span<std::uint8_t> buffer, const Codec& codec,
                                 const rtp::OsmuxHeader& chunk,
                                 std::span<const std::byte> speech) noexcept;

/// What a received datagram is.
enum class PacketVerdict : std::uint8_t {
  valid,  ///< exactly what write_packet() of this run made, but for header fields that a gateway
          ///< may patch
  keep_alive,  ///< too short for RTP: a gateway's dummy; or a control PDU of Iu UP
  corrupted,   ///< anything else
};

/// A received packet, taken apart. All fields but `verdict` only mean something if it is valid.
struct ReceivedPacket {
  PacketVerdict verdict = PacketVerdict::corrupted;
  PacketIdentity identity;
  bool has_timeline = true;  ///< false: the gateway makes these numbers itself
  std::uint16_t rtp_sequence = 0;
  std::uint32_t rtp_timestamp = 0;
};

/// Checks version, marker, payload type, form, size, signature and every payload bit.
[[nodiscard]] ReceivedPacket read_packet(std::span<const std::uint8_t> datagram, const Codec& codec,
                                         std::uint32_t run_seed) noexcept;

}  // namespace rtpload
