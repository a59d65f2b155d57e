#include "tests/sim/kernel/ethernet_frame.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>

namespace sim {

namespace {

constexpr std::size_t kEthernetBytes = 14;
constexpr std::size_t kIpv4Bytes = 20;
constexpr std::size_t kIpv6Bytes = 40;
constexpr std::size_t kUdpBytes = 8;
constexpr std::uint8_t kHopLimit = 61;
constexpr unsigned kDscpShift = 2;

void put16(std::uint8_t* at, std::size_t value) noexcept {
  at[0] = static_cast<std::uint8_t>(value >> 8U);
  at[1] = static_cast<std::uint8_t>(value);
}

std::uint16_t get16(const std::uint8_t* at) noexcept {
  return static_cast<std::uint16_t>(at[0] << 8U | at[1]);
}

std::uint32_t sum_of(std::span<const std::uint8_t> bytes) noexcept {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    sum += static_cast<std::uint32_t>(bytes[i]) << (i % 2 == 0 ? 8U : 0U);
    sum = (sum & 0xffffU) + (sum >> 16U);
  }
  return sum;
}

/// RFC 1071.
std::uint16_t fold(std::uint32_t sum) noexcept {
  while (sum > 0xffff) {
    sum = (sum & 0xffffU) + (sum >> 16U);
  }
  return static_cast<std::uint16_t>(sum);
}

/// The sum over UDP and its pseudo header; 0xffff if the checksum in it is right.
std::uint16_t udp_sum(std::span<const std::uint8_t> addresses,
                      std::span<const std::uint8_t> udp) noexcept {
  return fold(sum_of(addresses) + sum_of(udp) + IPPROTO_UDP +
              static_cast<std::uint32_t>(udp.size()));
}

io::SocketAddress address_of(std::span<const std::uint8_t> host, std::uint16_t port) {
  if (host.size() == sizeof(in_addr)) {
    sockaddr_in kernel{};
    kernel.sin_family = AF_INET;
    kernel.sin_port = htons(port);
    std::memcpy(&kernel.sin_addr, host.data(), host.size());
    return io::SocketAddress::from_kernel(&kernel, sizeof(kernel));
  }
  sockaddr_in6 kernel{};
  kernel.sin6_family = AF_INET6;
  kernel.sin6_port = htons(port);
  std::memcpy(&kernel.sin6_addr, host.data(), host.size());
  return io::SocketAddress::from_kernel(&kernel, sizeof(kernel));
}

/// The IP header; returns where its addresses begin. The packet has `ip_payload` bytes behind it.
std::uint8_t* write_ip(std::uint8_t* ip, const io::SimDatagram& datagram, std::size_t ip_payload) {
  const auto source = datagram.source.host_bytes();
  const auto target = datagram.target.host_bytes();
  std::uint8_t* addresses = nullptr;
  if (source.size() == sizeof(in_addr)) {
    ip[0] = 0x45;
    ip[1] = static_cast<std::uint8_t>(datagram.dscp << kDscpShift);
    put16(ip + 2, kIpv4Bytes + ip_payload);
    ip[8] = kHopLimit;
    ip[9] = IPPROTO_UDP;
    addresses = ip + 12;
  } else {
    put16(ip, 6U << 12U | static_cast<unsigned>(datagram.dscp) << (4U + kDscpShift));
    put16(ip + 4, ip_payload);
    ip[6] = IPPROTO_UDP;
    ip[7] = kHopLimit;
    addresses = ip + 8;
  }
  std::copy(source.begin(), source.end(), addresses);
  std::copy(target.begin(), target.end(), addresses + source.size());
  if (source.size() == sizeof(in_addr)) {
    put16(ip + 10, static_cast<std::uint16_t>(~fold(sum_of({ip, kIpv4Bytes}))));
  }
  return addresses;
}

}  // namespace

EthernetFrame::EthernetFrame(const io::SimDatagram& datagram, const MacAddress& from,
                             const MacAddress& to) {
  const std::size_t host_bytes = datagram.source.host_bytes().size();
  const bool is_ipv4 = host_bytes == sizeof(in_addr);
  const std::size_t ip_bytes = is_ipv4 ? kIpv4Bytes : kIpv6Bytes;
  const std::size_t udp_bytes = kUdpBytes + datagram.bytes.size();
  memory_.resize(kShift + kEthernetBytes + ip_bytes + udp_bytes);
  std::uint8_t* const ethernet = memory_.data() + kShift;
  std::copy(to.begin(), to.end(), ethernet);
  std::copy(from.begin(), from.end(), ethernet + 6);
  put16(ethernet + 12, is_ipv4 ? 0x0800 : 0x86dd);
  std::uint8_t* const ip = ethernet + kEthernetBytes;
  const std::uint8_t* const addresses = write_ip(ip, datagram, udp_bytes);
  std::uint8_t* const udp = ip + ip_bytes;
  put16(udp, datagram.source.port());
  put16(udp + 2, datagram.target.port());
  put16(udp + 4, udp_bytes);
  std::transform(datagram.bytes.begin(), datagram.bytes.end(), udp + kUdpBytes,
                 [](std::byte byte) { return static_cast<std::uint8_t>(byte); });
  const auto sum =
      static_cast<std::uint16_t>(~udp_sum({addresses, 2 * host_bytes}, {udp, udp_bytes}));
  put16(udp + 6, sum == 0 ? 0xffff : sum);
}

std::optional<io::SimDatagram> EthernetFrame::datagram() const {
  const std::span<const std::uint8_t> frame = std::span(memory_).subspan(kShift);
  const bool is_ipv4 = get16(&frame[12]) == 0x0800;
  const std::size_t ip_bytes = is_ipv4 ? kIpv4Bytes : kIpv6Bytes;
  const std::size_t host_bytes = is_ipv4 ? sizeof(in_addr) : sizeof(in6_addr);
  const auto ip = frame.subspan(kEthernetBytes, ip_bytes);
  const auto addresses = ip.last(2 * host_bytes);
  const auto udp = frame.subspan(kEthernetBytes + ip_bytes);
  const std::size_t length = is_ipv4 ? get16(&ip[2]) - kIpv4Bytes : get16(&ip[4]);
  if (length != udp.size() || get16(&udp[4]) != udp.size() ||
      (is_ipv4 && fold(sum_of(ip)) != 0xffff) || udp_sum(addresses, udp) != 0xffff) {
    return std::nullopt;
  }
  io::SimDatagram datagram;
  datagram.source = address_of(addresses.first(host_bytes), get16(&udp[0]));
  datagram.target = address_of(addresses.last(host_bytes), get16(&udp[2]));
  datagram.dscp = static_cast<std::uint8_t>(is_ipv4 ? ip[1] >> kDscpShift
                                                    : get16(&ip[0]) >> (4U + kDscpShift) & 0x3fU);
  std::transform(udp.begin() + kUdpBytes, udp.end(), std::back_inserter(datagram.bytes),
                 [](std::uint8_t byte) { return std::byte{byte}; });
  return datagram;
}

MacAddress EthernetFrame::to() const noexcept {
  MacAddress mac{};
  std::copy_n(memory_.begin() + kShift, mac.size(), mac.begin());
  return mac;
}

MacAddress EthernetFrame::from() const noexcept {
  MacAddress mac{};
  std::copy_n(memory_.begin() + kShift + mac.size(), mac.size(), mac.begin());
  return mac;
}

}  // namespace sim
