#pragma once
// `X-Mgw-Tap:` of CRCX and MDCX, an extension (RFC 3435 section 3.2.2): copies of a connection's
// packets go to a UDP address or into a capture file.
//
//   X-Mgw-Tap: in | out | in,out | both  udp ADDRESS:PORT
//   X-Mgw-Tap: in | out | in,out | both  pcap FILE
//   X-Mgw-Tap: [in | out | in,out | both] off

#include "io/socket_address.h"
#include "mgcp/response_code.h"

#include <tl/expected.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mgcp {

/// Longest name of a capture file, bytes: with a number added it is still a name on every file
/// system.
inline constexpr std::size_t kTapFileNameBytesMax = 100;

/// One such line. Directions that it does not name stay as they are.
struct TapParameter {
  /// Whether there was a line, and what it asked for.
  enum class State : std::uint8_t { absent, off, udp, pcap };
  State state = State::absent;
  bool in = false;           ///< what the peer sends
  bool out = false;          ///< what the peer is sent
  io::SocketAddress target;  ///< udp: numeric, with a port, not the unspecified address
  std::string_view file;     ///< pcap: a plain name, see is_plain_file_name
  friend bool operator==(const TapParameter&, const TapParameter&) = default;
};

/// Letters, digits, `.`, `_` and `-`, neither `.` nor `-` in front, 1 to kTapFileNameBytesMax
/// bytes: a name that leads nowhere but into its directory.
[[nodiscard]] bool is_plain_file_name(std::string_view name) noexcept;

/// Reads the value of the line. 510 with a reason if it is malformed.
[[nodiscard]] tl::expected<TapParameter, ProtocolError> parse_tap(std::string_view value) noexcept;

}  // namespace mgcp
