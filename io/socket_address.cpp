#include "io/socket_address.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstring>

namespace io {

namespace {

/// The longest numeric IPv6 address without scope: 45 characters and the final NUL.
using AddressText = std::array<char, INET6_ADDRSTRLEN>;

/// For inet_pton, which wants a NUL at the end. False if `text` is too long or has a NUL inside.
bool copy_text(std::string_view text, AddressText& copy) noexcept {
  if (text.empty() || text.size() >= copy.size() || text.find('\0') != std::string_view::npos) {
    return false;
  }
  std::memcpy(copy.data(), text.data(), text.size());
  copy[text.size()] = '\0';
  return true;
}

/// All of `text` as a decimal number without sign.
template <typename Number>
std::optional<Number> parse_number(std::string_view text) noexcept {
  Number number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (text.empty() || error != std::errc() || stop != end) {
    return std::nullopt;
  }
  return number;
}

/// One round of splitmix64: spreads every input bit over the result.
std::uint64_t mix(std::uint64_t value) noexcept {
  value += 0x9e3779b97f4a7c15U;
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31U);
}

}  // namespace

SocketAddress::SocketAddress() noexcept : storage_{} {
  std::memset(&storage_, 0, sizeof(storage_));
  static_assert(AF_UNSPEC == 0);
}

std::optional<SocketAddress> SocketAddress::parse(std::string_view address,
                                                  std::uint16_t port) noexcept {
  SocketAddress result;
  AddressText text;
  if (copy_text(address, text) &&
      ::inet_pton(AF_INET, text.data(), &result.storage_.ipv4.sin_addr) == 1) {
    result.storage_.ipv4.sin_family = AF_INET;
    result.storage_.ipv4.sin_port = htons(port);
    return result;
  }
  const std::size_t percent = address.find('%');
  if (percent != std::string_view::npos) {
    const auto scope = parse_number<std::uint32_t>(address.substr(percent + 1));
    if (!scope) {
      return std::nullopt;
    }
    result.storage_.ipv6.sin6_scope_id = *scope;
    address = address.substr(0, percent);
  }
  if (!copy_text(address, text) ||
      ::inet_pton(AF_INET6, text.data(), &result.storage_.ipv6.sin6_addr) != 1) {
    return std::nullopt;
  }
  result.storage_.ipv6.sin6_family = AF_INET6;
  result.storage_.ipv6.sin6_port = htons(port);
  return result;
}

std::optional<SocketAddress> SocketAddress::parse_with_port(std::string_view text) noexcept {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    return std::nullopt;
  }
  const auto port = parse_number<std::uint16_t>(text.substr(colon + 1));
  std::string_view host = text.substr(0, colon);
  if (!port || host.empty()) {
    return std::nullopt;
  }
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) {
    host = host.substr(1, host.size() - 2);
  }
  const auto address = parse(host, *port);
  // Brackets belong to IPv6 and IPv6 needs them: "::1:80" is an address without a port.
  if (!address || bracketed != (address->family() == AddressFamily::ipv6)) {
    return std::nullopt;
  }
  return address;
}

SocketAddress SocketAddress::from_kernel(const void* address, std::size_t size) noexcept {
  SocketAddress result;
  sa_family_t family = AF_UNSPEC;
  if (size < sizeof(sockaddr_in)) {
    return result;
  }
  std::memcpy(&family, static_cast<const std::byte*>(address) + offsetof(sockaddr, sa_family),
              sizeof(family));
  if (family == AF_INET) {
    std::memcpy(&result.storage_.ipv4, address, offsetof(sockaddr_in, sin_zero));
  } else if (family == AF_INET6 && size >= sizeof(sockaddr_in6)) {
    std::memcpy(&result.storage_.ipv6, address, sizeof(sockaddr_in6));
    result.storage_.ipv6.sin6_flowinfo = 0;
  }
  return result;
}

SocketAddress SocketAddress::any(AddressFamily family, std::uint16_t port) noexcept {
  SocketAddress result;
  if (family == AddressFamily::ipv4) {
    result.storage_.ipv4.sin_family = AF_INET;
    result.storage_.ipv4.sin_port = htons(port);
  } else if (family == AddressFamily::ipv6) {
    result.storage_.ipv6.sin6_family = AF_INET6;
    result.storage_.ipv6.sin6_port = htons(port);
  }
  return result;
}

SocketAddress SocketAddress::with_port(std::uint16_t port) const noexcept {
  SocketAddress result = *this;
  if (family() != AddressFamily::none) {
    result.storage_.ipv4.sin_port = htons(port);
  }
  return result;
}

bool SocketAddress::is_unspecified() const noexcept {
  switch (family()) {
    case AddressFamily::ipv4:
      return storage_.ipv4.sin_addr.s_addr == htonl(INADDR_ANY);
    case AddressFamily::ipv6:
      return std::memcmp(&storage_.ipv6.sin6_addr, &in6addr_any, sizeof(in6_addr)) == 0;
    default:
      return true;
  }
}

bool SocketAddress::is_loopback() const noexcept {
  switch (family()) {
    case AddressFamily::ipv4:
      return (ntohl(storage_.ipv4.sin_addr.s_addr) >> 24U) == 127;
    case AddressFamily::ipv6:
      return std::memcmp(&storage_.ipv6.sin6_addr, &in6addr_loopback, sizeof(in6_addr)) == 0;
    default:
      return false;
  }
}

std::span<const std::uint8_t> SocketAddress::host_bytes() const noexcept {
  switch (family()) {
    case AddressFamily::ipv4:
      return {reinterpret_cast<const std::uint8_t*>(&storage_.ipv4.sin_addr), sizeof(in_addr)};
    case AddressFamily::ipv6:
      return {reinterpret_cast<const std::uint8_t*>(&storage_.ipv6.sin6_addr), sizeof(in6_addr)};
    default:
      return {};
  }
}

std::string SocketAddress::host_text() const {
  AddressText text{};
  if (family() == AddressFamily::ipv4) {
    ::inet_ntop(AF_INET, &storage_.ipv4.sin_addr, text.data(), text.size());
    return text.data();
  }
  if (family() == AddressFamily::none) {
    return {};
  }
  ::inet_ntop(AF_INET6, &storage_.ipv6.sin6_addr, text.data(), text.size());
  std::string result = text.data();
  if (storage_.ipv6.sin6_scope_id != 0) {
    result += fmt::format("%{}", storage_.ipv6.sin6_scope_id);
  }
  return result;
}

std::string SocketAddress::text() const {
  switch (family()) {
    case AddressFamily::ipv4:
      return fmt::format("{}:{}", host_text(), port());
    case AddressFamily::ipv6:
      return fmt::format("[{}]:{}", host_text(), port());
    default:
      return {};
  }
}

std::size_t SocketAddress::hash() const noexcept {
  if (family() == AddressFamily::ipv4) {
    return mix((std::uint64_t{storage_.ipv4.sin_addr.s_addr} << 16U) | storage_.ipv4.sin_port);
  }
  std::array<std::uint64_t, 2> halves{};
  std::memcpy(halves.data(), &storage_.ipv6.sin6_addr, sizeof(halves));
  const std::uint64_t rest =
      (std::uint64_t{storage_.ipv6.sin6_scope_id} << 16U) | storage_.ipv6.sin6_port;
  return mix(mix(mix(halves[0]) ^ halves[1]) ^ rest);
}

}  // namespace io
