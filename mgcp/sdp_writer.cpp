#include "mgcp/sdp.h"
#include "mgcp/text.h"

#include <algorithm>

namespace mgcp {

namespace {

constexpr std::string_view kLineEnd = "\r\n";
/// osmo-mgw's constant version number of `o=`.
constexpr std::string_view kOriginVersion = "23";

void append_line(std::string& out, std::string_view type, std::string_view value) {
  out += type;
  out += value;
  out += kLineEnd;
}

/// ` IN IP4 192.0.2.1` without the leading blank.
void append_network_address(std::string& out, const io::SocketAddress& address) {
  out += address.family() == io::AddressFamily::ipv6 ? "IN IP6 " : "IN IP4 ";
  out += address.host_text();
}

void append_session_lines(std::string& out, std::string_view session_id,
                          const io::SocketAddress& address) {
  out += "v=0\r\no=- ";
  out += session_id;
  out += ' ';
  out += kOriginVersion;
  out += ' ';
  const std::size_t begin = out.size();
  append_network_address(out, address);
  const std::string written = out.substr(begin);
  out += "\r\ns=-\r\nc=";
  out += written;
  out += "\r\nt=0 0\r\n";
}

void append_audio_line(std::string& out, std::uint16_t port, MediaProfile profile,
                       std::span<const Codec> codecs) {
  out += "m=audio ";
  text::append_decimal(out, port);
  out += profile == MediaProfile::rtp_avpf ? " RTP/AVPF" : " RTP/AVP";
  for (const Codec& codec : codecs) {
    out += ' ';
    text::append_decimal(out, codec.payload_type);
  }
  out += kLineEnd;
}

/// True if the payload type alone says everything that the rtpmap would.
bool is_static(const Codec& codec) {
  auto known = static_codec(codec.payload_type);
  return known && is_codec(codec, known->name) && known->clock_rate_hz == codec.clock_rate_hz &&
         known->channels == codec.channels;
}

void append_rtpmap_line(std::string& out, const Codec& codec) {
  out += "a=rtpmap:";
  text::append_decimal(out, codec.payload_type);
  out += ' ';
  append_rtpmap(out, codec);
  out += kLineEnd;
}

void append_fmtp_line(std::string& out, const Codec& codec) {
  if (codec.fmtp.empty()) {
    return;
  }
  out += "a=fmtp:";
  text::append_decimal(out, codec.payload_type);
  out += ' ';
  append_line(out, codec.fmtp, {});
}

void append_number_line(std::string& out, std::string_view type, std::uint32_t value) {
  out += type;
  text::append_decimal(out, value);
  out += kLineEnd;
}

void append_rtcp_line(std::string& out, std::uint16_t port,
                      const std::optional<io::SocketAddress>& address) {
  out += "a=rtcp:";
  text::append_decimal(out, port);
  if (address) {
    out += ' ';
    append_network_address(out, *address);
  }
  out += kLineEnd;
}

/// Unused streams, refused (port 0) or, in an offer, given back as they were read: with port 0 too.
void append_other_media(std::string& out, std::span<const OtherMedia> media) {
  for (const OtherMedia& other : media) {
    out += "m=";
    out += other.media;
    out += " 0 ";
    out += other.transport;
    out += ' ';
    append_line(out, other.formats, {});
  }
}

}  // namespace

void write_sdp(std::string& out, const SessionAnswer& answer) {
  const std::size_t before = std::min(answer.other_media_before, answer.other_media.size());
  append_session_lines(out, answer.connection_id, answer.address);
  append_other_media(out, answer.other_media.first(before));
  append_audio_line(out, answer.port, answer.profile, answer.codecs);
  for (const Codec& codec : answer.codecs) {
    if (answer.send_name && !is_static(codec)) {
      append_rtpmap_line(out, codec);
    }
    append_fmtp_line(out, codec);
  }
  if (answer.send_ptime && answer.ptime_ms > 0) {
    append_number_line(out, "a=ptime:", answer.ptime_ms);
  }
  if (answer.direction) {
    append_line(out, "a=", to_text(*answer.direction));
  }
  if (answer.rtcp_port) {
    append_rtcp_line(out, *answer.rtcp_port, std::nullopt);
  }
  if (answer.rtcp_mux) {
    append_line(out, "a=rtcp-mux", {});
  }
  append_other_media(out, answer.other_media.subspan(before));
}

void write_sdp(std::string& out, const SessionDescription& description,
               std::string_view session_id) {
  const auto any_ipv4 = io::SocketAddress::any(io::AddressFamily::ipv4, 0);
  const std::span<const OtherMedia> others(description.other_media);
  const std::size_t before = std::min(description.other_media_before, others.size());
  append_session_lines(out, session_id, description.address.value_or(any_ipv4));
  append_other_media(out, others.first(before));
  append_audio_line(out, description.port.value_or(0), description.profile, description.codecs);
  for (const Codec& codec : description.codecs) {
    auto known = static_codec(codec.payload_type);
    if (known) {
      known->fmtp = codec.fmtp;
    }
    if (!known || *known != codec) {
      append_rtpmap_line(out, codec);
    }
    append_fmtp_line(out, codec);
  }
  if (description.ptime_ms) {
    append_number_line(out, "a=ptime:", *description.ptime_ms);
  }
  if (description.maxptime_ms) {
    append_number_line(out, "a=maxptime:", *description.maxptime_ms);
  }
  if (description.direction) {
    append_line(out, "a=", to_text(*description.direction));
  }
  if (description.rtcp_port) {
    append_rtcp_line(out, *description.rtcp_port, description.rtcp_address);
  }
  if (description.rtcp_mux) {
    append_line(out, "a=rtcp-mux", {});
  }
  append_other_media(out, others.subspan(before));
}

}  // namespace mgcp
