#include "mgw/pcap_format.h"

#include "rtp/byte_order.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace mgw {

namespace {

using rtp::store_u16;
using rtp::store_u32;

constexpr std::uint32_t kMagicNanoseconds = 0xa1b23c4d;
constexpr std::uint32_t kSnapLength = 65535;
constexpr std::uint32_t kLinkTypeRaw = 101;
constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;
constexpr std::size_t kRecordHeaderBytes = 16;
constexpr std::size_t kIpv4HeaderBytes = 20;
constexpr std::size_t kIpv6HeaderBytes = 40;
constexpr std::size_t kUdpHeaderBytes = 8;
constexpr std::byte kProtocolUdp{17};
constexpr std::byte kTimeToLive{64};

/// The sum of RFC 1071 over 16-bit words, not yet folded.
std::uint64_t sum_words(std::span<const std::byte> bytes) noexcept {
  std::uint64_t sum = 0;
  std::size_t i = 0;
  for (; i + 1 < bytes.size(); i += 2) {
    sum += rtp::load_u16(&bytes[i]);
  }
  return i < bytes.size() ? sum + (std::to_integer<std::uint64_t>(bytes[i]) << 8U) : sum;
}

std::uint16_t checksum(std::uint64_t sum) noexcept {
  while (sum > 0xffffU) {
    sum = (sum & 0xffffU) + (sum >> 16U);
  }
  return static_cast<std::uint16_t>(~sum & 0xffffU);
}

/// The 4 or 16 bytes of the IP address; zeros if it is of the other family.
void copy_address(const io::SocketAddress& address, io::AddressFamily family, std::byte* out) {
  if (address.family() == family) {
    std::memcpy(out, address.host_bytes().data(), address.host_bytes().size());
  }
}

/// Writes the IP header and returns the sum over what the UDP checksum takes of it: the addresses.
std::uint64_t write_ip(const PcapPacket& packet, bool ipv6, std::size_t udp_size,
                       std::span<std::byte> out) {
  if (ipv6) {
    out[0] = std::byte{0x60};
    store_u16(&out[4], static_cast<std::uint16_t>(udp_size));
    out[6] = kProtocolUdp;
    out[7] = kTimeToLive;
    copy_address(packet.source, io::AddressFamily::ipv6, &out[8]);
    copy_address(packet.destination, io::AddressFamily::ipv6, &out[24]);
    return sum_words(out.subspan(8, 32));
  }
  constexpr std::uint16_t kDontFragment = 0x4000;
  out[0] = std::byte{0x45};
  store_u16(&out[2], static_cast<std::uint16_t>(kIpv4HeaderBytes + udp_size));
  store_u16(&out[6], kDontFragment);
  out[8] = kTimeToLive;
  out[9] = kProtocolUdp;
  copy_address(packet.source, io::AddressFamily::ipv4, &out[12]);
  copy_address(packet.destination, io::AddressFamily::ipv4, &out[16]);
  store_u16(&out[10], checksum(sum_words(out.first(kIpv4HeaderBytes))));
  return sum_words(out.subspan(12, 8));
}

}  // namespace

void append_pcap_header(std::vector<std::byte>& out) {
  std::array<std::byte, kPcapHeaderBytes> header{};
  store_u32(&header[0], kMagicNanoseconds);
  store_u16(&header[4], 2);  // version 2.4
  store_u16(&header[6], 4);
  store_u32(&header[16], kSnapLength);
  store_u32(&header[20], kLinkTypeRaw);
  out.insert(out.end(), header.begin(), header.end());
}

void append_pcap_packet(std::vector<std::byte>& out, const PcapPacket& packet) {
  const bool ipv6 = packet.source.family() == io::AddressFamily::ipv6 ||
                    packet.destination.family() == io::AddressFamily::ipv6;
  const std::size_t ip_bytes = ipv6 ? kIpv6HeaderBytes : kIpv4HeaderBytes;
  const std::size_t headers = ip_bytes + kUdpHeaderBytes;
  const std::size_t udp_size = kUdpHeaderBytes + packet.size;

  std::array<std::byte, kPcapPacketOverheadBytes> buffer{};
  const std::span<std::byte> record(buffer.data(), kRecordHeaderBytes);
  const std::span<std::byte> ip(record.data() + kRecordHeaderBytes, ip_bytes);
  const std::span<std::byte> udp(ip.data() + ip_bytes, kUdpHeaderBytes);

  const std::int64_t time = std::max<std::int64_t>(packet.unix_time.count(), 0);
  store_u32(&record[0], static_cast<std::uint32_t>(time / kNanosecondsPerSecond));
  store_u32(&record[4], static_cast<std::uint32_t>(time % kNanosecondsPerSecond));
  store_u32(&record[8], static_cast<std::uint32_t>(headers + packet.bytes.size()));
  store_u32(&record[12], static_cast<std::uint32_t>(headers + packet.size));

  const std::uint64_t addresses = write_ip(packet, ipv6, udp_size, ip);
  store_u16(&udp[0], packet.source.port());
  store_u16(&udp[2], packet.destination.port());
  store_u16(&udp[4], static_cast<std::uint16_t>(udp_size));
  if (packet.bytes.size() == packet.size) {
    const std::uint16_t sum = checksum(addresses + std::to_integer<unsigned>(kProtocolUdp) +
                                       udp_size + sum_words(udp) + sum_words(packet.bytes));
    store_u16(&udp[6], sum == 0 ? std::uint16_t{0xffff} : sum);  // 0 means "no checksum"
  }
  out.insert(out.end(), buffer.begin(),
             buffer.begin() + static_cast<std::ptrdiff_t>(kRecordHeaderBytes + headers));
  out.insert(out.end(), packet.bytes.begin(), packet.bytes.end());
}

}  // namespace mgw
