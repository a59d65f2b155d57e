#include "conf/ip_network.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <cstddef>

namespace conf {

namespace {

constexpr std::size_t kIpv4Bytes = 4;
constexpr std::size_t kIpv6Bytes = 16;
constexpr std::size_t kMappedPrefixBytes = 12;
constexpr std::array<std::uint8_t, kMappedPrefixBytes> kMappedPrefix = {0, 0, 0, 0, 0,    0,
                                                                        0, 0, 0, 0, 0xff, 0xff};

struct ParsedAddress {
  std::array<std::uint8_t, kIpv6Bytes> bytes{};
  std::size_t size = 0;
};

std::optional<ParsedAddress> parse_address(std::string_view text) {
  // inet_pton stops at a NUL, so text behind one would go unnoticed.
  if (text.find('\0') != std::string_view::npos) {
    return std::nullopt;
  }
  const std::string terminated(text);
  ParsedAddress address;
  if (inet_pton(AF_INET, terminated.c_str(), address.bytes.data()) == 1) {
    address.size = kIpv4Bytes;
    return address;
  }
  if (inet_pton(AF_INET6, terminated.c_str(), address.bytes.data()) == 1) {
    address.size = kIpv6Bytes;
    return address;
  }
  return std::nullopt;
}

bool is_mapped_ipv4(std::span<const std::uint8_t> address) noexcept {
  return address.size() == kIpv6Bytes &&
         std::ranges::equal(address.first(kMappedPrefixBytes), kMappedPrefix);
}

/// Whether the first `bits` bits of both are the same.
bool same_prefix(std::span<const std::uint8_t> left, std::span<const std::uint8_t> right,
                 std::size_t bits) noexcept {
  const std::size_t whole = bits / 8;
  if (!std::ranges::equal(left.first(whole), right.first(whole))) {
    return false;
  }
  const auto rest = static_cast<unsigned>(bits % 8);
  return rest == 0 || ((left[whole] ^ right[whole]) >> (8U - rest)) == 0;
}

/// Whether no bit behind the first `bits` bits is set.
bool zero_after(std::span<const std::uint8_t> bytes, std::size_t bits) noexcept {
  const std::size_t whole = bits / 8;
  const auto rest = static_cast<unsigned>(bits % 8);
  if (rest != 0 && (bytes[whole] & (0xffU >> rest)) != 0) {
    return false;
  }
  return std::ranges::all_of(bytes.subspan(whole + (rest != 0 ? 1U : 0U)),
                             [](std::uint8_t byte) { return byte == 0; });
}

}  // namespace

std::optional<IpNetwork> IpNetwork::parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto address = parse_address(text.substr(0, slash));
  if (!address) {
    return std::nullopt;
  }
  IpNetwork network;
  network.bytes_ = address->bytes;
  network.address_bytes_ = static_cast<std::uint8_t>(address->size);
  std::size_t prefix_bits = address->size * 8;
  if (slash != std::string_view::npos) {
    const std::string_view digits = text.substr(slash + 1);
    std::size_t wanted = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), wanted);
    if (error != std::errc{} || end != digits.data() + digits.size() || wanted > prefix_bits) {
      return std::nullopt;
    }
    prefix_bits = wanted;
  }
  const std::span all(network.bytes_);
  if (!zero_after(all.first(address->size), prefix_bits)) {
    return std::nullopt;
  }
  if (is_mapped_ipv4(all.first(address->size)) && prefix_bits >= kMappedPrefixBytes * 8) {
    std::ranges::copy(address->bytes.begin() + kMappedPrefixBytes, address->bytes.end(),
                      network.bytes_.begin());
    std::fill(network.bytes_.begin() + kIpv4Bytes, network.bytes_.end(), std::uint8_t{0});
    network.address_bytes_ = kIpv4Bytes;
    prefix_bits -= kMappedPrefixBytes * 8;
  }
  network.prefix_bits_ = static_cast<std::uint8_t>(prefix_bits);
  return network;
}

bool IpNetwork::contains(std::span<const std::uint8_t> address) const noexcept {
  const auto plain = is_mapped_ipv4(address) ? address.subspan(kMappedPrefixBytes) : address;
  return plain.size() == address_bytes_ && same_prefix(plain, bytes_, prefix_bits_);
}

std::string IpNetwork::to_string() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int family = address_bytes_ == kIpv4Bytes ? AF_INET : AF_INET6;
  inet_ntop(family, bytes_.data(), text.data(), static_cast<socklen_t>(text.size()));
  std::string result(text.data());
  if (prefix_bits_ != address_bytes_ * 8) {
    result += '/' + std::to_string(prefix_bits_);
  }
  return result;
}

std::vector<IpNetwork> loopback_networks() {
  return {IpNetwork::parse("127.0.0.0/8").value(), IpNetwork::parse("::1").value()};
}

std::optional<AddressFamily> address_family(std::string_view text) {
  const auto address = parse_address(text);
  if (!address) {
    return std::nullopt;
  }
  return address->size == kIpv4Bytes ? AddressFamily::ipv4 : AddressFamily::ipv6;
}

}  // namespace conf
