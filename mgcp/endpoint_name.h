#pragma once
// Names of endpoints (RFC 3435 section 2.1.2 and appendix E): the virtual trunk `rtpbridge/`, E1
// sub-slots `ds/e1-`, and `null`. Whether such an endpoint exists is the gateway's business.

#include "mgcp/response_code.h"

#include <tl/expected.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace mgcp {

/// Longest name accepted (osmo-mgw accepts 511 characters too); longer ones are unknown endpoints.
inline constexpr std::size_t kEndpointNameBytesMax = 511;

/// Highest number of an E1 trunk.
inline constexpr std::uint8_t kE1TrunkMax = 64;

/// What a name denotes. `all` is the wildcard `*`, `any` the wildcard `$`; both touch only the
/// trunk they name.
enum class EndpointKind : std::uint8_t {
  null,         ///< `null@...`: answers AUEP, has no connections; its domain is not checked
  virtual_one,  ///< `rtpbridge/1f@...`, or the legacy form `1f@...`
  virtual_wildcard_all,  ///< `rtpbridge/*@...`
  virtual_wildcard_any,  ///< `rtpbridge/$@...`
  e1_one,                ///< `ds/e1-1/s-2/su16-4@...`
  e1_wildcard_all,       ///< `ds/e1-1/*@...`
  e1_wildcard_any,       ///< `ds/e1-1/$@...`
};

/// A sub-slot of an E1 line (I.460): `rate_kbps` of 64, 32, 16 or 8 takes rate/8 bits from
/// `bit_offset` on.
struct E1Subslot {
  std::uint8_t timeslot = 0;    ///< 1..31
  std::uint8_t rate_kbps = 0;   ///< 64, 32, 16, 8
  std::uint8_t bit_offset = 0;  ///< 0..7, a multiple of rate/8
  friend bool operator==(const E1Subslot&, const E1Subslot&) = default;
};

/// A parsed name.
struct EndpointName {
  EndpointKind kind = EndpointKind::null;
  std::uint32_t number = 0;   ///< virtual_one: from 1 on, not checked against any trunk's size
  std::uint8_t e1_trunk = 0;  ///< e1_*: 0..64
  E1Subslot subslot;          ///< e1_one
  std::string_view domain;    ///< text after `@`, a view into the parsed name, in its letter case
  friend bool operator==(const EndpointName&, const EndpointName&) = default;
};

/// True for the kinds that name several endpoints.
[[nodiscard]] bool is_wildcard(EndpointKind kind) noexcept;
/// True for the kinds of the virtual trunk.
[[nodiscard]] bool is_virtual(EndpointKind kind) noexcept;
/// True for the kinds of an E1 trunk.
[[nodiscard]] bool is_e1(EndpointKind kind) noexcept;

/// Reads a name without regard to case. Leading zeros are significant: `rtpbridge/01` names
/// nothing. Partial wildcards (`rtpbridge/1*`) are refused (RFC 3435 section 2.1.2 knows whole
/// terms only). The error is always 500.
[[nodiscard]] tl::expected<EndpointName, ProtocolError> parse_endpoint_name(
    std::string_view text) noexcept;

/// Appends the canonical lower-case name; parse_endpoint_name gives it back.
void append_endpoint_name(std::string& out, const EndpointName& name);

/// Without regard to case; a configured `*` accepts every domain.
[[nodiscard]] bool domain_matches(std::string_view configured, std::string_view given) noexcept;

}  // namespace mgcp
