#pragma once
// LocalConnectionOptions, the `L:` line of CRCX and MDCX (RFC 3435 section 2.3.5, A).

#include "mgcp/codec.h"
#include "mgcp/response_code.h"

#include <tl/expected.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mgcp {

inline constexpr std::size_t kLocalOptionsMax = 64;  ///< key:value pairs; more are refused with 524
inline constexpr std::size_t kLocalOptionCodecsMax = 32;  ///< codecs of `a:`; more are left out

/// `p:20` or `p:10-40`, in ms. 0 = not restricted.
struct PacketisationPeriod {
  std::uint32_t minimum_ms = 0;
  std::uint32_t maximum_ms = 0;  ///< equal to the minimum if one number was given
  friend bool operator==(const PacketisationPeriod&, const PacketisationPeriod&) = default;
};

/// What the gateway uses of an `L:` line.
struct LocalConnectionOptions {
  std::optional<PacketisationPeriod> packetisation;
  std::vector<std::string>
      codecs;  ///< of `a:`, upper-cased, in order, one name each; see codec_from_option
  friend bool operator==(const LocalConnectionOptions&, const LocalConnectionOptions&) = default;
};

/// Reads the value of an `L:` line. Keys that are not acted on are accepted. 524: repeated or empty
/// key, key without value, no colon, bad number or codec name. 535: no end of `p:` is a multiple of
/// 20 ms.
[[nodiscard]] tl::expected<LocalConnectionOptions, ProtocolError> parse_local_options(
    std::string_view text);

/// The codecs of `a:` with the payload types of codec_from_option; one that is taken by an earlier
/// codec of the list is replaced by the next free one from 96 on.
[[nodiscard]] std::vector<Codec> codecs_from_options(const LocalConnectionOptions& options);

/// Appends `p:20, a:AMR;PCMU`; parse_local_options gives it back.
void append_local_options(std::string& out, const LocalConnectionOptions& options);

}  // namespace mgcp
