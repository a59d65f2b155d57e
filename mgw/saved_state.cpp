#include "mgw/saved_state.h"

#include "mgw/state_codec.h"

#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

namespace mgw {

// --- members, named once for both ways

template <typename Self, typename Archive>
requires std::is_same_v<std::remove_const_t<Self>, Traffic>
void visit_state(Self& self, Archive& archive) {
  archive(self.packets, self.octets);
}

template <typename Self, typename Archive>
requires std::is_same_v<std::remove_const_t<Self>, mgcp::Codec>
void visit_state(Self& self, Archive& archive) {
  archive(self.payload_type, self.name, self.clock_rate_hz, self.channels);
  archive.enumerator(self.form, mgcp::RtpmapForm::with_channels);
  archive(self.fmtp);
}

template <typename Self, typename Archive>
requires std::is_same_v<std::remove_const_t<Self>, mgcp::OtherMedia>
void visit_state(Self& self, Archive& archive) {
  archive(self.media, self.transport, self.formats);
}

template <typename Self, typename Archive>
requires std::is_same_v<std::remove_const_t<Self>, OsmuxCircuit>
void visit_state(Self& self, Archive& archive) {
  archive(self.local, self.remote, self.peer_behind_nat);
  archive(self.link.batch_factor, self.link.batch_bytes, self.link.datagrams_max,
          self.link.dummy_padding);
}

namespace {

template <typename Enum, typename Archive, typename Optional>
void visit_optional(Optional& value, Enum last, Archive& archive) {
  bool present = value.has_value();
  Enum known = value.value_or(last);
  archive(present);
  archive.enumerator(known, last);
  if constexpr (!std::is_const_v<Optional>) {
    value = present ? std::optional(known) : std::nullopt;
  }
}

}  // namespace

template <typename Self, typename Archive>
requires std::is_same_v<std::remove_const_t<Self>, Connection>
void visit_state(Self& self, Archive& archive) {
  archive(self.id);
  archive.enumerator(self.mode, mgcp::ConnectionMode::confecho);
  visit_optional(self.mode_before_loop, mgcp::ConnectionMode::confecho, archive);
  archive(self.codecs, self.selected_codec, self.ptime_ms);
  archive(self.remote_host, self.remote_port, self.remote_rtcp_host, self.remote_rtcp_port);
  archive.enumerator(self.profile, mgcp::MediaProfile::rtp_avpf);
  archive(self.rtcp_mux);
  visit_optional(self.direction, mgcp::MediaDirection::inactive, archive);
  archive(self.other_media, self.other_media_before, self.remote_description, self.noted_faults);
  archive(self.local, self.announced, self.osmux);
}

// --- media

namespace {

/// What of a MediaConnection goes on in another process.
struct SavedMedia {
  Traffic rtp_received;
  Traffic rtp_sent;
  Traffic rtcp_received;
  Traffic rtcp_sent;
  std::uint64_t dropped = 0;
  std::uint64_t timestamp_errors_in = 0;
  std::uint64_t timestamp_errors_out = 0;
  io::TimePoint last_activity{};
  io::SocketAddress learned_source;
  io::SocketAddress refused_source;
  io::TimePoint refused_until{};
  io::SocketAddress learned_rtcp;
  rtp::ConnectionStatistics statistics;
  rtp::Timeline timeline;
  LegKind leg_kind = LegKind::rtp;
  std::string leg;
  std::string rtcp;
};

template <typename Self, typename Archive>
requires std::is_same_v<std::remove_const_t<Self>, SavedMedia>
void visit_state(Self& self, Archive& archive) {
  archive(self.rtp_received, self.rtp_sent, self.rtcp_received, self.rtcp_sent, self.dropped,
          self.timestamp_errors_in, self.timestamp_errors_out, self.last_activity,
          self.learned_source, self.refused_source, self.refused_until, self.learned_rtcp,
          self.statistics, self.timeline);
  archive.enumerator(self.leg_kind, LegKind::e1);
  archive(self.leg, self.rtcp);
}

bool restore_parts(const SavedMedia& saved, bool is_exact, MediaConnection& media) {
  if (media.leg && media.leg->kind() == saved.leg_kind) {
    StateReader reader(saved.leg);
    media.leg->load(reader, is_exact);  // one that can't be read begins anew
  }
  if (media.rtcp && !saved.rtcp.empty()) {
    StateReader reader(saved.rtcp);
    RtcpReporting restored = *media.rtcp;
    reader(restored);
    if (!reader.ok()) {
      return false;
    }
    *media.rtcp = restored;
  }
  return true;
}

}  // namespace

std::string save_media(const MediaConnection& media) {
  std::string out;
  append_media(out, media);
  return out;
}

void append_media(std::string& out, const MediaConnection& media) {
  SavedMedia saved;
  saved.rtp_received = media.live.rtp_received.value();
  saved.rtp_sent = media.live.rtp_sent.value();
  saved.rtcp_received = media.rtcp_received;
  saved.rtcp_sent = media.rtcp_sent;
  saved.dropped = media.live.dropped.value();
  saved.timestamp_errors_in = media.live.timestamp_errors_in.value();
  saved.timestamp_errors_out = media.live.timestamp_errors_out.value();
  saved.last_activity = media.live.last_activity.value();
  saved.learned_source = media.learned_source;
  saved.refused_source = media.refused_source;
  saved.refused_until = media.refused_until;
  saved.learned_rtcp = media.learned_rtcp;
  saved.statistics = media.statistics;
  saved.timeline = media.timeline;
  if (media.leg) {
    saved.leg_kind = media.leg->kind();
    StateWriter leg(saved.leg);
    media.leg->save(leg);
  }
  if (media.rtcp) {
    StateWriter rtcp(saved.rtcp);
    rtcp(*media.rtcp);
  }
  StateWriter(out).block(saved);
}

bool load_media(std::string_view saved, bool is_exact, MediaConnection& media) {
  SavedMedia parts;
  StateReader reader(saved);
  reader.block(parts);
  if (!reader.ok() || !restore_parts(parts, is_exact, media)) {
    return false;
  }
  media.live.rtp_received.restore(parts.rtp_received);
  media.live.rtp_sent.restore(parts.rtp_sent);
  media.rtcp_received = parts.rtcp_received;
  media.rtcp_sent = parts.rtcp_sent;
  media.live.dropped.set(parts.dropped);
  media.live.timestamp_errors_in.set(parts.timestamp_errors_in);
  media.live.timestamp_errors_out.set(parts.timestamp_errors_out);
  media.live.last_activity.set(parts.last_activity);
  media.learned_source = parts.learned_source;
  media.refused_source = parts.refused_source;
  media.refused_until = parts.refused_until;
  media.learned_rtcp = parts.learned_rtcp;
  media.statistics = parts.statistics;
  media.timeline = parts.timeline;
  if (!is_exact) {
    media.statistics.resume();
    media.timeline.resume();
  }
  return true;
}

std::size_t SavedState::connections() const noexcept {
  std::size_t sum = 0;
  for (const auto& [key, endpoint] : endpoints) {
    sum += endpoint.connections.size();
  }
  return sum;
}

// --- records

namespace {

/// What a part of a record says. Parts of other kinds are skipped.
enum class Part : std::uint8_t { endpoint = 1, free = 2, answer = 3, media = 4, exact = 5 };

/// Length and checksum.
constexpr std::size_t kFrameBytes = 8;
constexpr std::string_view kMagic = "mgwstate";

struct EndpointPart {
  EndpointKey key;
  SavedEndpoint endpoint;
};
struct FreePart {
  EndpointKey key;
};
struct MediaPart {
  EndpointKey key;
  std::uint32_t connection = 0;
  std::string media;
};
struct ExactPart {};
using AnyPart = std::variant<EndpointPart, FreePart, SavedAnswer, MediaPart, ExactPart>;

template <typename Self, typename Archive>
requires std::is_same_v<std::remove_const_t<Self>, EndpointKey>
void visit_key(Self& self, Archive& archive) {
  archive(self.trunk, self.position);
}

void put_u32(std::string& out, std::size_t at, std::uint32_t value) {
  for (std::size_t i = 0; i < sizeof(value); ++i) {
    out[at + i] = static_cast<char>(value >> (8 * i) & 0xffU);
  }
}

std::uint32_t get_u32(std::string_view bytes, std::size_t at) noexcept {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < sizeof(value); ++i) {
    value |= std::uint32_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  }
  return value;
}

constexpr std::array<std::uint32_t, 256> make_crc_table() {
  constexpr std::uint32_t kPolynomial = 0x82f63b78;  // reflected
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) {
      value = (value >> 1U) ^ ((value & 1U) != 0 ? kPolynomial : 0);
    }
    table[i] = value;
  }
  return table;
}

constexpr std::array<std::uint32_t, 256> kCrcTable = make_crc_table();

bool is_sound(const Connection& connection) noexcept {
  return connection.id != 0 && !connection.codecs.empty() &&
         connection.selected_codec < connection.codecs.size();
}

std::optional<AnyPart> read_endpoint(StateReader& reader) {
  EndpointPart part;
  visit_key(part.key, reader);
  reader(part.endpoint.call_id, part.endpoint.ignore_call_id);
  const std::uint64_t count = reader.number();
  if (count > kConnectionsPerEndpointMax || part.endpoint.call_id.empty()) {
    return std::nullopt;
  }
  for (std::uint64_t i = 0; i < count && reader.ok(); ++i) {
    Connection& connection = part.endpoint.connections.emplace_back().connection;
    reader.block(connection);
    if (!is_sound(connection)) {
      return std::nullopt;
    }
  }
  return part;
}

/// One part out of its bytes; none if it is of an unknown kind. `ok` becomes false for one that
/// can't be read.
std::optional<AnyPart> read_part(std::uint64_t kind, std::string_view bytes, bool& ok) {
  StateReader reader(bytes);
  std::optional<AnyPart> part;
  switch (static_cast<Part>(kind)) {
    case Part::endpoint:
      part = read_endpoint(reader);
      break;
    case Part::free: {
      FreePart freed;
      visit_key(freed.key, reader);
      part = freed;
      break;
    }
    case Part::answer: {
      SavedAnswer answer;
      reader(answer.key.agent, answer.key.transaction_id, answer.at, answer.text);
      part = std::move(answer);
      break;
    }
    case Part::media: {
      MediaPart media;
      visit_key(media.key, reader);
      reader(media.connection);
      media.media = reader.bytes();
      part = std::move(media);
      break;
    }
    case Part::exact:
      part = ExactPart();
      break;
    default:
      return std::nullopt;
  }
  ok = ok && part && reader.ok();
  return part;
}

void apply(EndpointPart&& part, SavedState& state) {
  SavedEndpoint& endpoint = state.endpoints[part.key];
  for (SavedConnection& connection : part.endpoint.connections) {
    const auto before =
        std::ranges::find_if(endpoint.connections, [&](const SavedConnection& candidate) {
          return candidate.connection.id == connection.connection.id;
        });
    if (before != endpoint.connections.end()) {
      connection.media = std::move(before->media);
    }
  }
  endpoint = std::move(part.endpoint);
}

void apply(FreePart&& part, SavedState& state) {
  state.endpoints.erase(part.key);
}

void apply(SavedAnswer&& answer, SavedState& state) {
  state.answers.push_back(std::move(answer));
}

void apply(MediaPart&& part, SavedState& state) {
  const auto endpoint = state.endpoints.find(part.key);
  if (endpoint == state.endpoints.end()) {
    return;
  }
  for (SavedConnection& connection : endpoint->second.connections) {
    if (connection.connection.id == part.connection) {
      connection.media = std::move(part.media);
    }
  }
}

void apply(ExactPart&& /*part*/, SavedState& state) {
  state.is_exact = true;
}

/// Applies a record that came whole; false if there is no sense in it, and then nothing is changed.
bool apply_record(std::string_view content, SavedState& state) {
  StateReader reader(content);
  io::TimePoint at;
  reader(at);
  std::vector<AnyPart> parts;
  bool ok = reader.ok();
  while (ok && !reader.at_end()) {
    const std::uint64_t kind = reader.number();
    const std::string_view bytes = reader.bytes();
    ok = reader.ok();
    if (auto part = ok ? read_part(kind, bytes, ok) : std::nullopt) {
      parts.push_back(std::move(*part));
    }
  }
  if (!ok) {
    return false;
  }
  state.is_exact = false;
  for (AnyPart& part : parts) {
    std::visit([&state](auto& known) { apply(std::move(known), state); }, part);
  }
  state.at = at;
  return true;
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) noexcept {
  std::uint32_t crc = 0xffffffff;
  for (const char byte : bytes) {
    crc = (crc >> 8U) ^ kCrcTable[(crc ^ static_cast<unsigned char>(byte)) & 0xffU];
  }
  return ~crc;
}

StateRecordWriter::StateRecordWriter(std::string& out, io::TimePoint at)
    : out_(out), start_(out.size()) {
  out_.append(kFrameBytes, '\0');
  StateWriter writer(out_);
  writer(at);
  content_ = out_.size();
}

void StateRecordWriter::add_endpoint(const EndpointKey& key, const Endpoint& endpoint) {
  std::string part;
  StateWriter writer(part);
  visit_key(key, writer);
  writer(endpoint.call_id, endpoint.ignore_call_id);
  writer.number(static_cast<std::uint64_t>(std::ranges::count_if(
      endpoint.connections, [](const auto& connection) { return connection->answered; })));
  for (const auto& connection : endpoint.connections) {
    if (connection->answered) {
      writer.block(*connection);
    }
  }
  StateWriter record(out_);
  record.number(static_cast<std::uint64_t>(Part::endpoint));
  record.bytes(part);
}

void StateRecordWriter::add_free(const EndpointKey& key) {
  std::string part;
  StateWriter writer(part);
  visit_key(key, writer);
  StateWriter record(out_);
  record.number(static_cast<std::uint64_t>(Part::free));
  record.bytes(part);
}

void StateRecordWriter::add_answer(const mgcp::TransactionKey& key, io::TimePoint at,
                                   std::string_view text) {
  std::string part;
  StateWriter writer(part);
  writer(key.agent, key.transaction_id, at);
  writer.bytes(text);
  StateWriter record(out_);
  record.number(static_cast<std::uint64_t>(Part::answer));
  record.bytes(part);
}

void StateRecordWriter::add_media(const EndpointKey& key, std::uint32_t connection_id,
                                  std::string_view media) {
  std::string part;
  StateWriter writer(part);
  visit_key(key, writer);
  writer(connection_id);
  writer.bytes(media);
  StateWriter record(out_);
  record.number(static_cast<std::uint64_t>(Part::media));
  record.bytes(part);
}

void StateRecordWriter::mark_exact() {
  StateWriter record(out_);
  record.number(static_cast<std::uint64_t>(Part::exact));
  record.bytes({});
}

std::size_t StateRecordWriter::size() const noexcept {
  return out_.size() - start_;
}

bool StateRecordWriter::empty() const noexcept {
  return out_.size() == content_;
}

void StateRecordWriter::finish() {
  const std::string_view content = std::string_view(out_).substr(start_ + kFrameBytes);
  const std::uint32_t crc = crc32c(content);
  put_u32(out_, start_, static_cast<std::uint32_t>(content.size()));
  put_u32(out_, start_ + sizeof(std::uint32_t), crc);
}

std::string state_header(const BootId& boot, std::uint32_t format) {
  std::string header(kMagic);
  header.resize(kMagic.size() + sizeof(format));
  put_u32(header, kMagic.size(), format);
  header.append(boot.data(), boot.size());
  const std::uint32_t crc = crc32c(header);
  header.resize(kStateHeaderBytes);
  put_u32(header, kStateHeaderBytes - sizeof(crc), crc);
  return header;
}

std::string_view to_string(ReplayOutcome outcome) noexcept {
  switch (outcome) {
    case ReplayOutcome::whole:
      return "whole";
    case ReplayOutcome::cut:
      return "its last record is cut";
    case ReplayOutcome::damaged:
      return "a record is damaged";
    case ReplayOutcome::newer:
      return "its format is newer than this program";
    case ReplayOutcome::other_boot:
      return "it is of another boot of the machine";
    case ReplayOutcome::foreign:
      return "it is no journal";
  }
  return "unknown";
}

ReplayOutcome apply_records(std::string_view records, Replay& replay) {
  while (!records.empty()) {
    if (records.size() < kFrameBytes) {
      return ReplayOutcome::cut;
    }
    const std::size_t length = get_u32(records, 0);
    if (length > StateRecordWriter::kRecordBytesMax) {
      return ReplayOutcome::damaged;
    }
    if (length > records.size() - kFrameBytes) {
      return ReplayOutcome::cut;
    }
    const std::string_view content = records.substr(kFrameBytes, length);
    if (crc32c(content) != get_u32(records, sizeof(std::uint32_t)) ||
        !apply_record(content, replay.state)) {
      return ReplayOutcome::damaged;
    }
    records.remove_prefix(kFrameBytes + length);
    replay.good_bytes += kFrameBytes + length;
    ++replay.records;
  }
  return ReplayOutcome::whole;
}

Replay replay_state(std::string_view file, const BootId& boot) {
  Replay replay;
  if (file.empty()) {
    return replay;
  }
  const std::string_view header = file.substr(0, kStateHeaderBytes);
  if (header.size() < kStateHeaderBytes || !header.starts_with(kMagic) ||
      crc32c(header.substr(0, kStateHeaderBytes - sizeof(std::uint32_t))) !=
          get_u32(header, kStateHeaderBytes - sizeof(std::uint32_t))) {
    replay.outcome = ReplayOutcome::foreign;
    return replay;
  }
  if (get_u32(header, kMagic.size()) > kStateFormat) {
    replay.outcome = ReplayOutcome::newer;
    return replay;
  }
  const std::string_view written_in =
      header.substr(kMagic.size() + sizeof(std::uint32_t), boot.size());
  if (written_in != std::string_view(boot.data(), boot.size())) {
    replay.outcome = ReplayOutcome::other_boot;
    return replay;
  }
  replay.good_bytes = kStateHeaderBytes;
  replay.outcome = apply_records(file.substr(kStateHeaderBytes), replay);
  return replay;
}

}  // namespace mgw
