#include "rtp/osmux_encoder.h"

#include "rtp/sequence.h"

#include <algorithm>
#include <bit>

namespace rtp {
namespace {

// RTCP packets SR to APP (RFC 3550 section 6) read as RTP with the marker bit.
constexpr std::uint8_t kRtcpPayloadTypeFirst = 72;
constexpr std::uint8_t kRtcpPayloadTypeLast = 76;
// A packet is late if it is at most that much older than the newest one: 320 ms, more than a
// network reorders. Anything older is a source that starts anew.
constexpr int kLateSequencesMax = 16;
// So many consecutive sequence numbers refused as late are a source that starts anew.
constexpr std::uint8_t kLateRunMax = 4;
// Padding: AMR 6.70, octets 0xff.
constexpr std::uint8_t kPaddingFrameType = 3;
constexpr std::size_t kPaddingFrameBytes = 17;
constexpr std::byte kPaddingOctet{0xff};

OsmuxOptions within_limits(OsmuxOptions options) noexcept {
  options.batch_factor = std::clamp<std::size_t>(options.batch_factor, 1, kOsmuxFramesMax);
  options.batch_bytes = std::clamp<std::size_t>(options.batch_bytes, 1, kOsmuxBatchBytesMax);
  options.datagrams_max = std::clamp<std::size_t>(options.datagrams_max, 1, kOsmuxDatagramsMax);
  return options;
}

}  // namespace

std::string_view to_string(OsmuxRefusal cause) noexcept {
  switch (cause) {
    case OsmuxRefusal::unknown_circuit:
      return "unknown_circuit";
    case OsmuxRefusal::rtcp:
      return "rtcp";
    case OsmuxRefusal::not_amr:
      return "not_amr";
    case OsmuxRefusal::too_large:
      return "too_large";
    case OsmuxRefusal::late:
      return "late";
    case OsmuxRefusal::conflict:
      return "conflict";
  }
  return "unknown";
}

OsmuxLink::OsmuxLink(const OsmuxOptions& options)
    : options_(within_limits(options)),
      period_(kOsmuxFrameDuration * static_cast<int>(options_.batch_factor)),
      datagram_(options_.batch_bytes) {
  index_.fill(-1);
  bucket_.fill(-1);
}

bool OsmuxLink::add_circuit(std::uint8_t circuit, io::TimePoint now) {
  if (has_circuit(circuit)) {
    return false;
  }
  Circuit& added = circuits_.emplace_back();
  index_[circuit] = static_cast<std::int16_t>(circuits_.size() - 1);
  added.id = circuit;
  added.padding = options_.dummy_padding && dummy_bytes() <= options_.batch_bytes;
  if (added.padding) {
    ++padding_count_;
    restart_timer(now);
  }
  return true;
}

bool OsmuxLink::remove_circuit(std::uint8_t circuit) noexcept {
  Circuit* const found = find(circuit);
  if (found == nullptr) {
    return false;
  }
  statistics_.discarded += found->count;
  pending_bytes_ -= found->bytes;
  stop_padding(*found);
  circuits_.erase(circuits_.begin() + index_[circuit]);
  index_.fill(-1);
  for (std::size_t index = 0; index < circuits_.size(); ++index) {
    index_[circuits_[index].id] = static_cast<std::int16_t>(index);
  }
  if (pending_bytes_ == 0 && padding_count_ == 0) {
    deadline_ = io::kNever;
  }
  return true;
}

bool OsmuxLink::has_circuit(std::uint8_t circuit) const noexcept {
  return index_[circuit] >= 0;
}

tl::expected<void, OsmuxRefusal> OsmuxLink::push(std::uint8_t circuit, const RtpHeader& header,
                                                 std::span<const std::byte> payload,
                                                 io::TimePoint now, OsmuxSink& sink) noexcept {
  Circuit* const found = find(circuit);
  if (found == nullptr) {
    return refuse(OsmuxRefusal::unknown_circuit);
  }
  if (header.payload_type >= kRtcpPayloadTypeFirst && header.payload_type <= kRtcpPayloadTypeLast) {
    return refuse(OsmuxRefusal::rtcp);
  }
  const auto frame = read_frame(payload);
  if (!frame) {
    return refuse(frame.error());
  }
  if (kOsmuxHeaderBytes + frame->bytes > options_.batch_bytes) {
    return refuse(OsmuxRefusal::too_large);
  }
  if (deadline_ <= now) {
    flush(now, sink);
  }
  const Order order = order_of(*found, header);
  if (order == Order::duplicate) {
    return replace(*found, header, *frame);
  }
  if (order == Order::late) {
    return refuse(OsmuxRefusal::late);
  }
  if (found->count > 0 && (header.marker || order == Order::restart)) {
    flush(now, sink);
  }
  if (order == Order::follows && !header.marker) {
    fill_gap(*found, header.sequence, *frame, now, sink);
  }
  make_room(*found, *frame, now, sink);
  stop_padding(*found);
  append(*found, header.sequence, *frame, now);
  // Only the first packet of a queue can have the marker or come after a break.
  if (found->count == 1) {
    found->head_marker = header.marker || order == Order::restart;
  }
  found->ssrc = header.ssrc;
  found->has_ssrc = true;
  ++statistics_.packets_in;
  return {};
}

void OsmuxLink::flush(io::TimePoint now, OsmuxSink& sink) noexcept {
  sort_by_size();
  std::size_t row_bytes = 0;  // of the datagrams that should be equal; 0 = a row begins
  for (;;) {
    const std::size_t bytes = fill_datagram(row_bytes == 0 ? options_.batch_bytes : row_bytes);
    if (bytes == 0) {
      break;
    }
    ++statistics_.datagrams_out;
    statistics_.octets_out += bytes + options_.packet_overhead_bytes;
    sink.on_osmux_datagram(std::span(datagram_).first(bytes));
    row_bytes = row_bytes == 0 || bytes == row_bytes ? bytes : 0;
  }
  pending_bytes_ = 0;
  if (padding_count_ > 0 && deadline_ <= now && now - deadline_ < period_) {
    deadline_ += period_;
  } else {
    deadline_ = io::kNever;
    if (padding_count_ > 0) {
      restart_timer(now);
    }
  }
}

tl::expected<OsmuxLink::Frame, OsmuxRefusal> OsmuxLink::read_frame(
    std::span<const std::byte> payload) noexcept {
  if (payload.size() < 2) {
    return tl::unexpected(OsmuxRefusal::not_amr);
  }
  const auto contents = std::to_integer<unsigned>(payload[1]);
  Frame frame;
  frame.type = static_cast<std::uint8_t>(contents >> 3U & 0x0fU);
  const auto bytes = osmux_frame_bytes(frame.type);
  if (!bytes || payload.size() != 2 + *bytes) {
    return tl::unexpected(OsmuxRefusal::not_amr);
  }
  frame.bytes = static_cast<std::uint8_t>(*bytes);
  frame.mode_request = static_cast<std::uint8_t>(std::to_integer<unsigned>(payload[0]) >> 4U);
  frame.followed = (contents & 0x80U) != 0;
  frame.good = (contents & 0x04U) != 0;
  frame.clone = false;
  std::ranges::copy(payload.subspan(2), frame.octets.begin());
  return frame;
}

bool OsmuxLink::same_chunk(const Frame& first, const Frame& second) noexcept {
  return first.type == second.type && first.good == second.good;
}

std::size_t OsmuxLink::chunks_bytes(const Circuit& circuit) noexcept {
  std::size_t bytes = 0;
  for (std::size_t index = 0; index < circuit.count; ++index) {
    const Frame& frame = circuit.frames[index];
    const bool starts = index == 0 || !same_chunk(circuit.frames[index - 1], frame);
    bytes += (starts ? kOsmuxHeaderBytes : 0) + frame.bytes;
  }
  return bytes;
}

std::uint16_t OsmuxLink::newest_sequence(const Circuit& circuit) noexcept {
  if (circuit.count == 0) {
    return circuit.last_sequence;
  }
  return static_cast<std::uint16_t>(circuit.head_sequence + circuit.count - 1);
}

OsmuxLink::Order OsmuxLink::order_of(Circuit& circuit, const RtpHeader& header) noexcept {
  if (!circuit.has_last && circuit.count == 0) {
    return Order::first;
  }
  if (circuit.has_ssrc && circuit.ssrc != header.ssrc) {
    return Order::restart;
  }
  const int distance = sequence_distance(newest_sequence(circuit), header.sequence);
  if (distance > 0) {
    circuit.late_run = 0;
    return Order::follows;
  }
  if (-distance < circuit.count) {
    return Order::duplicate;
  }
  if (-distance > kLateSequencesMax) {
    circuit.late_run = 0;
    return Order::restart;
  }
  const bool consecutive = header.sequence == static_cast<std::uint16_t>(circuit.late_sequence + 1);
  circuit.late_run = consecutive ? static_cast<std::uint8_t>(circuit.late_run + 1) : 1;
  circuit.late_sequence = header.sequence;
  if (circuit.late_run <= kLateRunMax) {
    return Order::late;
  }
  circuit.late_run = 0;
  return Order::restart;
}

OsmuxLink::Circuit* OsmuxLink::find(std::uint8_t circuit) noexcept {
  return has_circuit(circuit) ? &circuits_[static_cast<std::size_t>(index_[circuit])] : nullptr;
}

std::size_t OsmuxLink::batch_budget_bytes() const noexcept {
  return options_.batch_bytes * options_.datagrams_max;
}

bool OsmuxLink::has_room(const Circuit& circuit, const Frame& frame) const noexcept {
  if (circuit.count == options_.batch_factor) {
    return false;
  }
  const bool starts = circuit.count == 0 || !same_chunk(circuit.frames[circuit.count - 1U], frame);
  const std::size_t bytes = (starts ? kOsmuxHeaderBytes : 0) + frame.bytes;
  // A circuit's chunks stay together in one datagram: a receiver plays what it has at once when
  // another chunk of the circuit comes.
  return circuit.bytes + bytes <= options_.batch_bytes &&
         pending_bytes_ + bytes <= batch_budget_bytes();
}

tl::expected<void, OsmuxRefusal> OsmuxLink::refuse(OsmuxRefusal cause) noexcept {
  ++statistics_.refused[static_cast<std::size_t>(cause)];
  return tl::unexpected(cause);
}

tl::expected<void, OsmuxRefusal> OsmuxLink::replace(Circuit& circuit, const RtpHeader& header,
                                                    const Frame& frame) noexcept {
  const auto place = static_cast<std::uint16_t>(header.sequence - circuit.head_sequence);
  Frame& queued = circuit.frames[place];
  if (queued.bytes != frame.bytes) {
    return refuse(OsmuxRefusal::conflict);
  }
  const Frame before = queued;
  queued = frame;
  const std::size_t bytes = chunks_bytes(circuit);
  if (bytes > options_.batch_bytes) {
    queued = before;
    return refuse(OsmuxRefusal::conflict);
  }
  pending_bytes_ = pending_bytes_ - circuit.bytes + bytes;
  circuit.bytes = static_cast<std::uint16_t>(bytes);
  if (place == 0) {
    circuit.head_marker = circuit.head_marker || header.marker;
  }
  ++statistics_.packets_in;
  ++statistics_.replaced;
  return {};
}

void OsmuxLink::fill_gap(Circuit& circuit, std::uint16_t sequence, Frame clone, io::TimePoint now,
                         OsmuxSink& sink) noexcept {
  auto missing =
      static_cast<std::size_t>(sequence_distance(newest_sequence(circuit), sequence) - 1);
  while (missing > 0 && circuit.count > 0) {
    Frame repeated = circuit.frames[circuit.count - 1U];
    repeated.clone = true;
    if (!has_room(circuit, repeated)) {
      flush(now, sink);
      break;
    }
    append(circuit, static_cast<std::uint16_t>(newest_sequence(circuit) + 1), repeated, now);
    --missing;
  }
  if (missing > options_.batch_factor) {
    ++statistics_.gaps;
    return;
  }
  clone.clone = true;
  for (; missing > 0; --missing) {
    make_room(circuit, clone, now, sink);
    append(circuit, static_cast<std::uint16_t>(sequence - missing), clone, now);
  }
}

void OsmuxLink::make_room(const Circuit& circuit, const Frame& frame, io::TimePoint now,
                          OsmuxSink& sink) noexcept {
  if (!has_room(circuit, frame)) {
    flush(now, sink);
  }
}

void OsmuxLink::append(Circuit& circuit, std::uint16_t sequence, const Frame& frame,
                       io::TimePoint now) noexcept {
  const bool starts = circuit.count == 0 || !same_chunk(circuit.frames[circuit.count - 1U], frame);
  const std::size_t bytes = (starts ? kOsmuxHeaderBytes : 0) + frame.bytes;
  if (circuit.count == 0) {
    circuit.head_sequence = sequence;
    circuit.head_marker = false;
  }
  circuit.frames[circuit.count] = frame;
  ++circuit.count;
  circuit.bytes = static_cast<std::uint16_t>(circuit.bytes + bytes);
  pending_bytes_ += bytes;
  restart_timer(now);
}

void OsmuxLink::stop_padding(Circuit& circuit) noexcept {
  if (circuit.padding) {
    circuit.padding = false;
    --padding_count_;
  }
}

void OsmuxLink::restart_timer(io::TimePoint now) noexcept {
  if (deadline_ == io::kNever) {
    deadline_ = now + period_;
  }
}

std::size_t OsmuxLink::dummy_bytes() const noexcept {
  return kOsmuxHeaderBytes + options_.batch_factor * kPaddingFrameBytes;
}

void OsmuxLink::sort_by_size() noexcept {
  // Backwards, so that circuits of equal size leave in the order in which they were added.
  for (std::size_t index = circuits_.size(); index-- > 0;) {
    Circuit& circuit = circuits_[index];
    const std::size_t size = circuit.count == 0 && circuit.padding ? dummy_bytes() : circuit.bytes;
    if (size > 0) {
      circuit.next = bucket_[size];
      bucket_[size] = static_cast<std::int16_t>(index);
      sizes_[size / 64] |= std::uint64_t{1} << size % 64;
    }
  }
}

std::size_t OsmuxLink::largest_size(std::size_t limit) const noexcept {
  limit = std::min(limit, kUnitBytesMax);
  std::uint64_t mask = ~std::uint64_t{0} >> (63 - limit % 64);
  for (std::size_t word = limit / 64 + 1; word-- > 0;) {
    const std::uint64_t sizes = sizes_[word] & mask;
    if (sizes != 0) {
      return word * 64 + static_cast<std::size_t>(std::bit_width(sizes)) - 1;
    }
    mask = ~std::uint64_t{0};
  }
  return 0;
}

OsmuxLink::Circuit& OsmuxLink::take(std::size_t size) noexcept {
  Circuit& circuit = circuits_[static_cast<std::size_t>(bucket_[size])];
  bucket_[size] = circuit.next;
  if (circuit.next < 0) {
    sizes_[size / 64] &= ~(std::uint64_t{1} << size % 64);
  }
  return circuit;
}

std::size_t OsmuxLink::fill_datagram(std::size_t limit) noexcept {
  // Largest first: equal loads make equal datagrams, and the small ones fill what is left.
  std::size_t bytes = 0;
  for (;;) {
    const std::size_t size = largest_size(limit - bytes);
    if (size == 0) {
      return bytes;
    }
    Circuit& circuit = take(size);
    const auto out = std::span(datagram_).subspan(bytes);
    bytes += circuit.count > 0 ? write_chunks(circuit, out) : write_padding(circuit, out);
  }
}

std::size_t OsmuxLink::write_chunks(Circuit& circuit, std::span<std::byte> out) noexcept {
  const auto frames = std::span(circuit.frames).first(circuit.count);
  const bool broken = circuit.has_last && circuit.head_sequence !=
                                              static_cast<std::uint16_t>(circuit.last_sequence + 1);
  std::size_t bytes = 0;
  for (std::size_t first = 0, end = 0; first < frames.size(); first = end) {
    const std::size_t header_at = bytes;
    bytes += kOsmuxHeaderBytes;
    for (end = first; end < frames.size() && same_chunk(frames[first], frames[end]); ++end) {
      const Frame& frame = frames[end];
      std::ranges::copy(std::span(frame.octets).first(frame.bytes),
                        out.begin() + static_cast<std::ptrdiff_t>(bytes));
      bytes += frame.bytes;
      statistics_.clones += frame.clone ? 1U : 0U;
      statistics_.plain_rtp_octets +=
          frame.clone ? 0 : plain_rtp_bytes(frame.bytes, options_.packet_overhead_bytes);
    }
    const Frame& last = frames[end - 1];
    write_osmux_header(out.subspan(header_at),
                       {.kind = OsmuxKind::voice,
                        .marker = first == 0 && (circuit.head_marker || broken),
                        .frame_count = static_cast<std::uint8_t>(end - first),
                        .followed = last.followed,
                        .good = last.good,
                        .sequence = circuit.chunk_sequence++,
                        .circuit = circuit.id,
                        .frame_type = last.type,
                        .mode_request = last.mode_request});
    ++statistics_.chunks_out;
  }
  statistics_.frames_out += frames.size();
  circuit.last_sequence = newest_sequence(circuit);
  circuit.has_last = true;
  circuit.count = 0;
  circuit.bytes = 0;
  return bytes;
}

std::size_t OsmuxLink::write_padding(const Circuit& circuit, std::span<std::byte> out) noexcept {
  write_osmux_header(out, {.kind = OsmuxKind::dummy,
                           .marker = false,
                           .frame_count = static_cast<std::uint8_t>(options_.batch_factor),
                           .followed = false,
                           .good = false,
                           .sequence = 0,
                           .circuit = circuit.id,
                           .frame_type = kPaddingFrameType,
                           .mode_request = 0});
  const std::size_t bytes = dummy_bytes();
  std::ranges::fill(out.subspan(kOsmuxHeaderBytes, bytes - kOsmuxHeaderBytes), kPaddingOctet);
  ++statistics_.dummies_out;
  return bytes;
}

}  // namespace rtp
