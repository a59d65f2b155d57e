#pragma once
// An IPv4 or IPv6 address with a port, in the shape in which the kernel takes it.

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace io {

/// Which kind of address a SocketAddress holds.
enum class AddressFamily : std::uint8_t { none, ipv4, ipv6 };

/// A value: 28 bytes, freely copied, comparable, hashable. Ports are in host order at this
/// interface.
class SocketAddress {
 public:
  /// No address at all: family none, port 0.
  SocketAddress() noexcept;

  /// From numeric text ("127.0.0.1", "::1", "fe80::1%2"; no host names, no brackets). Empty if it
  /// is neither.
  [[nodiscard]] static std::optional<SocketAddress> parse(std::string_view address,
                                                          std::uint16_t port) noexcept;
  /// From text with a port: "127.0.0.1:2427" or "[::1]:2427".
  [[nodiscard]] static std::optional<SocketAddress> parse_with_port(std::string_view text) noexcept;
  /// From what the kernel wrote; family none for other families or a short `size`.
  [[nodiscard]] static SocketAddress from_kernel(const void* address, std::size_t size) noexcept;
  /// The unspecified address (0.0.0.0 or ::) of `family`.
  [[nodiscard]] static SocketAddress any(AddressFamily family, std::uint16_t port) noexcept;

  /// The parts of the address; port 0 without one.
  [[nodiscard]] AddressFamily family() const noexcept;
  [[nodiscard]] std::uint16_t port() const noexcept;
  /// The same address with another port.
  [[nodiscard]] SocketAddress with_port(std::uint16_t port) const noexcept;
  /// True for family none, 0.0.0.0 and ::.
  [[nodiscard]] bool is_unspecified() const noexcept;
  [[nodiscard]] bool is_loopback() const noexcept;
  /// True if the IP addresses are the same, whatever the ports.
  [[nodiscard]] bool same_host(const SocketAddress& other) const noexcept;

  /// The IP address in network order: 4 or 16 bytes, none for family none. Valid as long as this.
  [[nodiscard]] std::span<const std::uint8_t> host_bytes() const noexcept;

  /// For system calls: the address and its size for the family (16 or 28 bytes; 0 for none).
  [[nodiscard]] const sockaddr* kernel_address() const noexcept;
  [[nodiscard]] socklen_t kernel_size() const noexcept;

  /// "127.0.0.1" or "::1"; empty for family none.
  [[nodiscard]] std::string host_text() const;
  /// "127.0.0.1:2427" or "[::1]:2427".
  [[nodiscard]] std::string text() const;
  /// For hash tables. The same on every run.
  [[nodiscard]] std::size_t hash() const noexcept;

  /// Same family, same IP address, same port (scope ids of link-local addresses count, flow labels
  /// don't).
  friend bool operator==(const SocketAddress& left, const SocketAddress& right) noexcept;

 private:
  union Storage {
    sockaddr_in ipv4;
    sockaddr_in6 ipv6;
  };
  Storage storage_;
};

static_assert(sizeof(SocketAddress) == sizeof(sockaddr_in6));

// Several of these run for every packet.

inline AddressFamily SocketAddress::family() const noexcept {
  switch (storage_.ipv4.sin_family) {
    case AF_INET:
      return AddressFamily::ipv4;
    case AF_INET6:
      return AddressFamily::ipv6;
    default:
      return AddressFamily::none;
  }
}

// Both kinds of address have their port at the same place.
static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));

inline std::uint16_t SocketAddress::port() const noexcept {
  return ntohs(storage_.ipv4.sin_port);
}

inline bool SocketAddress::same_host(const SocketAddress& other) const noexcept {
  if (family() != other.family()) {
    return false;
  }
  switch (family()) {
    case AddressFamily::ipv4:
      return storage_.ipv4.sin_addr.s_addr == other.storage_.ipv4.sin_addr.s_addr;
    case AddressFamily::ipv6:
      return storage_.ipv6.sin6_scope_id == other.storage_.ipv6.sin6_scope_id &&
             std::memcmp(&storage_.ipv6.sin6_addr, &other.storage_.ipv6.sin6_addr,
                         sizeof(in6_addr)) == 0;
    default:
      return true;
  }
}

inline bool operator==(const SocketAddress& left, const SocketAddress& right) noexcept {
  return left.port() == right.port() && left.same_host(right);
}

inline const sockaddr* SocketAddress::kernel_address() const noexcept {
  return reinterpret_cast<const sockaddr*>(&storage_);
}

inline socklen_t SocketAddress::kernel_size() const noexcept {
  switch (family()) {
    case AddressFamily::ipv4:
      return sizeof(sockaddr_in);
    case AddressFamily::ipv6:
      return sizeof(sockaddr_in6);
    default:
      return 0;
  }
}

}  // namespace io

template <>
struct std::hash<io::SocketAddress> {
  std::size_t operator()(const io::SocketAddress& address) const noexcept { return address.hash(); }
};
