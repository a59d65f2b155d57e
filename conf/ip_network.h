#pragma once
// A range of IP addresses, as access lists name them: "10.0.0.0/8", "2001:db8::/32", or one
// address. A plain value without sockets or threads.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace conf {

/// All addresses of one family that share their first `prefix_bits` bits. An IPv4 address written
/// as
/// ::ffff:a.b.c.d (RFC 4291 section 2.5.5.2) is the IPv4 address.
class IpNetwork {
 public:
  /// Reads "ADDRESS" or "ADDRESS/PREFIX"; nothing if it is neither. Host names are not looked up.
  /// Bits after the prefix must be zero: a list entry that means something else than it says is
  /// refused.
  [[nodiscard]] static std::optional<IpNetwork> parse(std::string_view text);

  /// Whether the address lies in this network. `address` holds 4 bytes (IPv4) or 16 bytes (IPv6) in
  /// network order; any other size is never contained.
  [[nodiscard]] bool contains(std::span<const std::uint8_t> address) const noexcept;

  /// The text form, with the prefix unless it covers one address only.
  [[nodiscard]] std::string to_string() const;

  friend bool operator==(const IpNetwork&, const IpNetwork&) = default;

 private:
  std::array<std::uint8_t, 16> bytes_{};
  std::uint8_t address_bytes_ = 4;
  std::uint8_t prefix_bits_ = 32;
};

/// 127.0.0.0/8 and ::1.
[[nodiscard]] std::vector<IpNetwork> loopback_networks();

/// The family of a numeric address.
enum class AddressFamily : std::uint8_t { ipv4, ipv6 };

/// The family of a numeric address such as "127.0.0.1" or "::1"; nothing if `text` is not one. Zone
/// names ("fe80::1%eth0") and host names are not addresses here.
[[nodiscard]] std::optional<AddressFamily> address_family(std::string_view text);

}  // namespace conf
