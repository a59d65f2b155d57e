#pragma once
// Capture files in the classic pcap format with nanoseconds (draft-ietf-opsawg-pcap), link type
// RAW: each packet begins with its IPv4 (RFC 791) or IPv6 (RFC 8200) and UDP (RFC 768) header, so a
// file may hold both. Pure functions.

#include "io/socket_address.h"
#include "io/time.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mgw {

/// Bytes that begin a file, and those that a packet takes besides its payload at most.
inline constexpr std::size_t kPcapHeaderBytes = 24;
inline constexpr std::size_t kPcapPacketOverheadBytes = 16 + 40 + 8;

/// A datagram as it was on the wire.
struct PcapPacket {
  io::Duration unix_time{};          ///< since 1970, UTC
  io::SocketAddress source;          ///< family none is written as the unspecified address
  io::SocketAddress destination;     ///< of the same family
  std::span<const std::byte> bytes;  ///< the payload, perhaps cut
  std::size_t size = 0;              ///< of the whole payload
};

/// Appends what a file begins with.
void append_pcap_header(std::vector<std::byte>& out);

/// Appends one packet. Checksums are those of the packet (a cut one has no UDP checksum).
void append_pcap_packet(std::vector<std::byte>& out, const PcapPacket& packet);

}  // namespace mgw
