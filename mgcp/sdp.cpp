#include "mgcp/sdp.h"

#include "mgcp/text.h"

#include <algorithm>
#include <array>
#include <bitset>

namespace mgcp {

namespace {

/// Longest media type, transport or format kept of an unused `m=` line, since it is written back.
constexpr std::size_t kMediaTokenBytesMax = 64;
constexpr std::uint32_t kPtimeMaxMs = 65'535;
constexpr std::size_t kPayloadTypes = kPayloadTypeMax + 1;

using Failure = std::optional<ProtocolError>;

ProtocolError malformed(std::string_view reason) noexcept {
  return {ResponseCode::protocol_error, reason};
}

ProtocolError unsupported(std::string_view reason) noexcept {
  return {ResponseCode::unsupported_description, reason};
}

/// RTCP of the payload types 72 to 76 with the marker bit reads as SR..APP (RFC 5761 section 4).
bool collides_with_rtcp(std::size_t payload_type) noexcept {
  return payload_type >= 72 && payload_type <= 76;
}

/// The parts of an `m=` line, views into the text.
struct MediaLine {
  std::string_view media;
  std::string_view port;
  std::string_view transport;
  std::string_view formats;
};

std::optional<MediaProfile> served_profile(std::string_view transport) noexcept {
  if (text::equal_ignoring_case(transport, "RTP/AVP")) {
    return MediaProfile::rtp_avp;
  }
  if (text::equal_ignoring_case(transport, "RTP/AVPF")) {
    return MediaProfile::rtp_avpf;
  }
  return std::nullopt;
}

bool is_usable(const MediaLine& line) noexcept {
  return text::equal_ignoring_case(line.media, "audio") && served_profile(line.transport);
}

/// The number before `/` (a count of ports may follow) is zero.
bool has_port_zero(const MediaLine& line) noexcept {
  return !line.port.empty() && line.port.find_first_not_of('0') >= line.port.find('/');
}

/// All `m=` lines of a text, and the one that is used.
struct MediaLines {
  std::array<MediaLine, kMediaLinesMax> lines;
  std::size_t count = 0;
  std::size_t chosen = 0;  ///< meaningful if count is not 0
};

Failure read_media_line(std::string_view value, MediaLines& media) noexcept {
  if (media.count == media.lines.size()) {
    return unsupported("too many media lines");
  }
  MediaLine& line = media.lines[media.count++];
  line.media = text::take_token(value);
  line.port = text::take_token(value);
  line.transport = text::take_token(value);
  line.formats = value;
  if (line.transport.empty()) {
    return malformed("bad media line");
  }
  if (std::max(line.media.size(), line.transport.size()) > kMediaTokenBytesMax) {
    return malformed("bad media line");
  }
  return std::nullopt;
}

/// The first audio line of a served profile with a port, else the first without one.
Failure choose_media(MediaLines& media) noexcept {
  const auto* const begin = media.lines.begin();
  const auto* const end = begin + media.count;
  const auto* chosen = std::find_if(
      begin, end, [](const MediaLine& line) { return is_usable(line) && !has_port_zero(line); });
  if (chosen == end) {
    chosen = std::find_if(begin, end, is_usable);
  }
  if (chosen == end && media.count > 0) {
    return unsupported("no audio stream of a supported profile");
  }
  media.chosen = static_cast<std::size_t>(chosen - begin);
  return std::nullopt;
}

Failure find_media_lines(std::string_view sdp, MediaLines& media) noexcept {
  text::LineReader reader(sdp);
  std::size_t lines = 0;
  while (const auto line = reader.next()) {
    if (line->size() > kSdpLineBytesMax || ++lines > kSdpLinesMax) {
      return unsupported("session description too large");
    }
    if (line->starts_with("m=")) {
      if (auto failure = read_media_line(line->substr(2), media)) {
        return failure;
      }
    }
  }
  return choose_media(media);
}

bool is_multicast_or_broadcast(std::string_view host, io::AddressFamily family) noexcept {
  if (family == io::AddressFamily::ipv6) {
    return text::starts_with_ignoring_case(host, "ff") && host.find(':') == 4;
  }
  const auto first = text::parse_decimal(host.substr(0, host.find('.')), 255);
  return first && ((*first >= 224 && *first <= 239) || host == "255.255.255.255");
}

/// `IN IP4 192.0.2.1`.
Failure read_address(std::string_view value, std::optional<io::SocketAddress>& address) noexcept {
  const std::string_view network = text::take_token(value);
  const std::string_view type = text::take_token(value);
  const std::string_view host = text::take_token(value);
  const bool ipv4 = text::equal_ignoring_case(type, "IP4");
  if (!text::equal_ignoring_case(network, "IN") ||
      (!ipv4 && !text::equal_ignoring_case(type, "IP6"))) {
    return malformed("bad address type");
  }
  const io::AddressFamily family = ipv4 ? io::AddressFamily::ipv4 : io::AddressFamily::ipv6;
  const auto parsed =
      host.find('%') == std::string_view::npos ? io::SocketAddress::parse(host, 0) : std::nullopt;
  if (!parsed || parsed->family() != family || !text::trim(value).empty()) {
    return malformed("bad address");
  }
  if (is_multicast_or_broadcast(host, family)) {
    return unsupported("unusable address");
  }
  address = *parsed;
  return std::nullopt;
}

/// What may stand at session or at media level.
struct Level {
  std::optional<io::SocketAddress> address;
  std::optional<std::uint16_t> rtcp_port;
  std::optional<io::SocketAddress> rtcp_address;
  bool rtcp_mux = false;
  std::optional<MediaDirection> direction;
  std::optional<std::uint32_t> ptime_ms;
  std::optional<std::uint32_t> maxptime_ms;
};

/// Takes the digits off the front of `value`; nothing if there are none or they say too much.
std::optional<std::uint32_t> take_milliseconds(std::string_view& value) noexcept {
  const auto* const end = std::find_if_not(value.begin(), value.end(), text::is_digit);
  const auto digits = static_cast<std::size_t>(end - value.begin());
  const auto number = text::parse_decimal(value.substr(0, digits), kPtimeMaxMs);
  value.remove_prefix(digits);
  return number ? std::optional(static_cast<std::uint32_t>(*number)) : std::nullopt;
}

/// A range such as `20-40` means that any duration will do.
std::optional<std::uint32_t> read_ptime(std::string_view value) noexcept {
  const auto first = take_milliseconds(value);
  if (!first || value.empty() || value.front() != '-') {
    return first;
  }
  value.remove_prefix(1);
  const auto second = take_milliseconds(value);
  return *first > 0 && second && *second != *first ? 0 : first;
}

std::optional<MediaDirection> read_direction(std::string_view name) noexcept {
  for (const auto direction : {MediaDirection::sendrecv, MediaDirection::sendonly,
                               MediaDirection::recvonly, MediaDirection::inactive}) {
    if (text::equal_ignoring_case(name, to_text(direction))) {
      return direction;
    }
  }
  return std::nullopt;
}

/// `53020` or `53020 IN IP4 192.0.2.1` (RFC 3605).
Failure read_rtcp(std::string_view value, Level& level) noexcept {
  const auto port = text::parse_decimal(text::take_token(value), 65'535);
  if (!port) {
    return malformed("bad RTCP port");
  }
  level.rtcp_port = static_cast<std::uint16_t>(*port);
  level.rtcp_address.reset();
  return text::trim(value).empty() ? std::nullopt : read_address(value, level.rtcp_address);
}

/// Reads a description line by line, after the media lines are known.
class DescriptionReader {
 public:
  explicit DescriptionReader(const MediaLines& media) : media_(media) {}

  Failure read(std::string_view sdp);
  SessionDescription take() &&;

 private:
  Failure read_port_and_formats();
  Failure read_line(std::string_view line);
  Failure read_attribute(std::string_view attribute);
  void read_rtpmap(std::string_view value);
  void read_fmtp(std::string_view value);
  [[nodiscard]] Codec* find_codec(std::string_view payload_type) noexcept;
  void finish_codecs();
  void finish_media();

  /// The part of the text that the present line is in.
  enum class Section : std::uint8_t { session, chosen, other };

  const MediaLines& media_;
  SessionDescription description_;
  Level session_;
  Level chosen_;
  Section section_ = Section::session;
  std::size_t media_index_ = 0;
  std::array<std::uint8_t, kPayloadTypes> codec_index_{};  ///< by payload type, 1 + index; 0 = none
  std::bitset<kPayloadTypes> mapped_;                      ///< by payload type: an rtpmap was read
};

Failure DescriptionReader::read(std::string_view sdp) {
  if (media_.count > 0) {
    if (auto failure = read_port_and_formats()) {
      return failure;
    }
  }
  text::LineReader reader(sdp);
  while (const auto line = reader.next()) {
    if (auto failure = read_line(*line)) {
      return failure;
    }
  }
  return std::nullopt;
}

Failure DescriptionReader::read_port_and_formats() {
  const MediaLine& line = media_.lines[media_.chosen];
  const auto port = text::parse_decimal(line.port.substr(0, line.port.find('/')), 65'535);
  if (!port) {
    return malformed("bad media port");
  }
  description_.port = static_cast<std::uint16_t>(*port);
  description_.profile = served_profile(line.transport).value_or(MediaProfile::rtp_avp);
  std::string_view formats = line.formats;
  for (auto token = text::take_token(formats); !token.empty(); token = text::take_token(formats)) {
    const auto payload_type = text::parse_decimal(token, kPayloadTypeMax);
    if (!payload_type || codec_index_[*payload_type] != 0 || collides_with_rtcp(*payload_type)) {
      continue;
    }
    Codec& codec = description_.codecs.emplace_back();
    codec.payload_type = static_cast<std::uint8_t>(*payload_type);
    codec_index_[*payload_type] = static_cast<std::uint8_t>(description_.codecs.size());
  }
  return std::nullopt;
}

Failure DescriptionReader::read_line(std::string_view line) {
  if (line.size() < 2 || line[1] != '=') {
    return std::nullopt;
  }
  const std::string_view value = line.substr(2);
  if (line[0] == 'm') {
    section_ = media_index_ == media_.chosen ? Section::chosen : Section::other;
    ++media_index_;
  } else if (section_ == Section::other) {
    return std::nullopt;
  } else if (line[0] == 'c') {
    return read_address(value, section_ == Section::session ? session_.address : chosen_.address);
  } else if (line[0] == 'a') {
    return read_attribute(text::trim(value));
  }
  return std::nullopt;
}

Failure DescriptionReader::read_attribute(std::string_view attribute) {
  Level& level = section_ == Section::session ? session_ : chosen_;
  std::string_view value = attribute;
  const std::string_view name = text::trim(text::take_until(value, ':'));
  value = text::trim(value);
  if (text::equal_ignoring_case(name, "rtpmap")) {
    read_rtpmap(value);
  } else if (text::equal_ignoring_case(name, "fmtp")) {
    read_fmtp(value);
  } else if (text::equal_ignoring_case(name, "ptime")) {
    const auto ptime = read_ptime(value);
    level.ptime_ms = ptime ? ptime : level.ptime_ms;
  } else if (text::equal_ignoring_case(name, "maxptime")) {
    const auto maxptime = take_milliseconds(value);
    level.maxptime_ms = maxptime ? maxptime : level.maxptime_ms;
  } else if (text::equal_ignoring_case(name, "rtcp")) {
    return read_rtcp(value, level);
  } else if (text::equal_ignoring_case(name, "rtcp-mux")) {
    level.rtcp_mux = true;
  } else if (const auto direction = read_direction(name)) {
    level.direction = direction;
  }
  return std::nullopt;
}

Codec* DescriptionReader::find_codec(std::string_view payload_type) noexcept {
  const auto number = text::parse_decimal(payload_type, kPayloadTypeMax);
  if (section_ != Section::chosen || !number || codec_index_[*number] == 0) {
    return nullptr;
  }
  return &description_.codecs[codec_index_[*number] - 1U];
}

void DescriptionReader::read_rtpmap(std::string_view value) {
  Codec* const codec = find_codec(text::take_token(value));
  if (codec == nullptr || mapped_[codec->payload_type]) {
    return;
  }
  if (auto parsed = parse_rtpmap(codec->payload_type, value)) {
    parsed->fmtp = std::move(codec->fmtp);
    *codec = *std::move(parsed);
    mapped_.set(codec->payload_type);
  }
}

void DescriptionReader::read_fmtp(std::string_view value) {
  Codec* const codec = find_codec(text::take_token(value));
  value = text::trim(value);
  if (codec == nullptr || value.empty()) {
    return;
  }
  const std::string_view separator = codec->fmtp.empty() ? "" : ";";
  if (codec->fmtp.size() + separator.size() + value.size() > kFmtpBytesMax) {
    return;
  }
  codec->fmtp += separator;
  codec->fmtp += value;
}

/// Names static payload types that had no rtpmap, and leaves out those that nobody named.
void DescriptionReader::finish_codecs() {
  auto& codecs = description_.codecs;
  for (Codec& codec : codecs) {
    if (mapped_[codec.payload_type]) {
      continue;
    }
    if (auto known = static_codec(codec.payload_type)) {
      known->fmtp = std::move(codec.fmtp);
      codec = *std::move(known);
    }
  }
  std::erase_if(codecs, [](const Codec& codec) { return codec.name.empty(); });
  if (codecs.size() > kCodecsMax) {
    codecs.erase(codecs.begin() + kCodecsMax, codecs.end());
  }
}

void DescriptionReader::finish_media() {
  if (media_.count < 2) {
    return;
  }
  description_.other_media_before = media_.chosen;
  description_.other_media.reserve(media_.count - 1);
  for (std::size_t i = 0; i < media_.count; ++i) {
    if (i == media_.chosen) {
      continue;
    }
    const MediaLine& line = media_.lines[i];
    std::string_view formats = line.formats;
    const std::string_view format = text::take_token(formats);
    const bool keep = !format.empty() && format.size() <= kMediaTokenBytesMax;
    description_.other_media.push_back({std::string(line.media), std::string(line.transport),
                                        std::string(keep ? format : std::string_view("0"))});
  }
}

SessionDescription DescriptionReader::take() && {
  finish_codecs();
  finish_media();
  const auto prefer = [](auto& media_level, auto& session_level) {
    return media_level ? media_level : session_level;
  };
  description_.address = prefer(chosen_.address, session_.address);
  const Level& rtcp = chosen_.rtcp_port ? chosen_ : session_;
  description_.rtcp_port = rtcp.rtcp_port;
  description_.rtcp_address = rtcp.rtcp_address;
  description_.rtcp_mux = chosen_.rtcp_mux || session_.rtcp_mux;
  description_.direction = prefer(chosen_.direction, session_.direction);
  description_.ptime_ms = prefer(chosen_.ptime_ms, session_.ptime_ms);
  description_.maxptime_ms = prefer(chosen_.maxptime_ms, session_.maxptime_ms);
  return std::move(description_);
}

}  // namespace

bool SessionDescription::is_hold() const noexcept {
  return port == std::uint16_t{0} || (address && address->is_unspecified());
}

tl::expected<SessionDescription, ProtocolError> parse_sdp(std::string_view text) {
  if (text.size() > kSdpBytesMax) {
    return tl::unexpected(
        ProtocolError{ResponseCode::unsupported_description, "description too long"});
  }
  MediaLines media;
  if (const auto failure = find_media_lines(text, media)) {
    return tl::unexpected(*failure);
  }
  DescriptionReader reader(media);
  if (const auto failure = reader.read(text)) {
    return tl::unexpected(*failure);
  }
  return std::move(reader).take();
}

std::string_view to_text(MediaDirection direction) noexcept {
  switch (direction) {
    case MediaDirection::sendonly:
      return "sendonly";
    case MediaDirection::recvonly:
      return "recvonly";
    case MediaDirection::inactive:
      return "inactive";
    case MediaDirection::sendrecv:
      break;
  }
  return "sendrecv";
}

}  // namespace mgcp
