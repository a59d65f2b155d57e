#pragma once
// The call agent that the gateway reports to, as RFC 3435 section 3.2.2.7 writes a NotifiedEntity.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace conf {

/// An entity with a numeric address; host names are not looked up.
struct NotifiedEntity {
  std::string name;           ///< what stands before the @; may be empty
  std::string address;        ///< numeric IPv4 or IPv6 address, without brackets
  std::uint16_t port = 2727;  ///< UDP port, the call agent's default if not given
};

/// Reads "name@192.0.2.1:2727", "192.0.2.1" or "ca@[2001:db8::1]:2427"; nothing if it is none of
/// these.
[[nodiscard]] std::optional<NotifiedEntity> parse_notified_entity(std::string_view text);

}  // namespace conf
