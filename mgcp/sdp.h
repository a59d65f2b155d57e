#pragma once
// Session descriptions (RFC 4566, offer/answer of RFC 3264) as far as one audio stream needs them.
// Everything is a value of its own: nothing refers to the parsed text afterwards. Work is linear in
// the text.

#include "io/socket_address.h"
#include "mgcp/codec.h"
#include "mgcp/response_code.h"

#include <tl/expected.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mgcp {

/// Limits; beyond them the description is refused with 505 (sizes) or the surplus is left out
/// (codecs).
inline constexpr std::size_t kSdpBytesMax =
    16'384;  ///< browsers' offers have up to 10 KB; a connection keeps its peer's description
inline constexpr std::size_t kSdpLinesMax = 1024;  ///< a large WebRTC offer has about 200
inline constexpr std::size_t kSdpLineBytesMax =
    4096;  ///< the longest sensible line is an fmtp or a key
inline constexpr std::size_t kMediaLinesMax = 32;  ///< `m=` lines; each unused one is answered
inline constexpr std::size_t kCodecsMax = 64;      ///< kept of the 128 possible payload types
inline constexpr std::size_t kFmtpBytesMax =
    1024;  ///< per codec, several lines together; the surplus is left out

/// Direction attribute (RFC 4566 section 6), as seen by whoever wrote the description.
enum class MediaDirection : std::uint8_t { sendrecv, sendonly, recvonly, inactive };

/// Media profiles that can be served. Any other is refused with 505.
enum class MediaProfile : std::uint8_t { rtp_avp, rtp_avpf };

/// An `m=` line that is not used; the answer repeats it with port 0 (RFC 3264 section 6).
struct OtherMedia {
  std::string media;      ///< `video`
  std::string transport;  ///< `RTP/SAVP`
  std::string formats;    ///< `96`: the first of the line, `0` if it has none
  friend bool operator==(const OtherMedia&, const OtherMedia&) = default;
};

/// What a description says about its first usable audio stream. Fields that the text does not
/// mention are absent; the codec list of a description always replaces an earlier one.
struct SessionDescription {
  std::optional<io::SocketAddress> address;  ///< port 0; may be 0.0.0.0 or `::`: hold
  std::optional<std::uint16_t> port;         ///< may be 0: hold
  MediaProfile profile = MediaProfile::rtp_avp;
  std::optional<std::uint16_t> rtcp_port;         ///< `a=rtcp:` (RFC 3605)
  std::optional<io::SocketAddress> rtcp_address;  ///< address in `a=rtcp:`, if any; port 0
  bool rtcp_mux = false;                          ///< `a=rtcp-mux` (RFC 5761)
  std::optional<MediaDirection> direction;        ///< media level over session level
  std::optional<std::uint32_t> ptime_ms;          ///< 0 = any (a range was given)
  std::optional<std::uint32_t> maxptime_ms;
  std::vector<Codec> codecs;            ///< in the order of the `m=` line, without duplicates
  std::vector<OtherMedia> other_media;  ///< all other `m=` lines in order
  std::size_t other_media_before = 0;   ///< how many of them stand before the audio line

  friend bool operator==(const SessionDescription&, const SessionDescription&) = default;

  /// True if media must not be sent: port 0, or an unspecified address.
  [[nodiscard]] bool is_hold() const noexcept;
};

/// Reads a description. 510: malformed line or number, host name, `/ttl`, port over 65535. 505: no
/// audio stream of a profile that can be served, a multicast address, or a limit exceeded.
[[nodiscard]] tl::expected<SessionDescription, ProtocolError> parse_sdp(std::string_view text);

/// What the gateway says in an answer. The views must outlive the call of write_sdp only.
struct SessionAnswer {
  std::string_view connection_id;  ///< session id of `o=`
  io::SocketAddress address;       ///< its port is not used
  std::uint16_t port = 0;
  MediaProfile profile = MediaProfile::rtp_avp;
  std::span<const Codec> codecs;  ///< selected one first; each with the fmtp to show
  std::uint32_t ptime_ms = 0;     ///< 0 = no `a=ptime`
  bool send_name = true;          ///< `a=rtpmap` for payload types 96 and up
  bool send_ptime = true;
  std::optional<MediaDirection> direction;  ///< absent = no line
  std::optional<std::uint16_t> rtcp_port;   ///< absent = no `a=rtcp:` line
  bool rtcp_mux = false;
  std::span<const OtherMedia> other_media;  ///< answered with port 0
  std::size_t other_media_before = 0;       ///< how many of them go before the audio line
};

/// Appends the answer with osmo-mgw's layout: v, o, s, c, t, m, then for each codec rtpmap and
/// fmtp, then ptime.
void write_sdp(std::string& out, const SessionAnswer& answer);

/// Appends a description as an offer (session id `session_id`): parse_sdp gives it back unchanged,
/// provided address and port are present and the names and fmtp texts are ones that parse_sdp can
/// give.
void write_sdp(std::string& out, const SessionDescription& description,
               std::string_view session_id);

/// `sendrecv`, `sendonly`, ...
[[nodiscard]] std::string_view to_text(MediaDirection direction) noexcept;

}  // namespace mgcp
