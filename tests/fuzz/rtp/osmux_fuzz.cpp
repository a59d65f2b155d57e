// A datagram through the Osmux reader and a playout, and what comes out through a link again: every
// chunk lies inside of the datagram, headers are written as they were read, memory stays bounded
// and the frames that went in come out.

#include "rtp/osmux_chunk.h"
#include "rtp/osmux_decoder.h"
#include "rtp/osmux_encoder.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <span>

namespace {

/// Stops the fuzzer where a promise is broken.
void require(bool promise) {
  if (!promise) {
    std::abort();
  }
}

/// Checks every datagram of the link.
class CheckingSink final : public rtp::OsmuxSink {
 public:
  explicit CheckingSink(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  void on_osmux_datagram(std::span<const std::byte> datagram) noexcept override {
    require(!datagram.empty() && datagram.size() <= bytes_max_);
    rtp::OsmuxReader reader(datagram);
    while (const auto chunk = reader.next()) {
      frames += chunk->header.kind == rtp::OsmuxKind::voice ? chunk->header.frame_count : 0U;
    }
    require(!reader.malformed());
  }

  std::size_t frames = 0;

 private:
  std::size_t bytes_max_;
};

void check_chunk(std::span<const std::byte> datagram, const rtp::OsmuxChunk& chunk) {
  if (chunk.header.kind == rtp::OsmuxKind::legacy_dummy) {
    require(datagram.size() == 2 && chunk.frames.empty());
    return;
  }
  const auto frame_bytes = rtp::osmux_frame_bytes(chunk.header.frame_type);
  require(frame_bytes && chunk.frames.size() == chunk.header.frame_count * *frame_bytes);
  require(chunk.frames.data() >= datagram.data() + rtp::kOsmuxHeaderBytes &&
          chunk.frames.data() + chunk.frames.size() <= datagram.data() + datagram.size());
  std::array<std::byte, rtp::kOsmuxHeaderBytes> header;
  rtp::write_osmux_header(header, chunk.header);
  require(
      std::ranges::equal(header, std::span(chunk.frames.data() - header.size(), header.size())));
}

/// Sends on what is due, as circuit 0.
void forward(rtp::OsmuxPlayout& playout, rtp::OsmuxLink& link, io::TimePoint now,
             CheckingSink& sink) {
  std::array<std::byte, rtp::kOsmuxRtpBytesMax> out;
  while (const std::size_t size = playout.take_due(now, out)) {
    const auto packet = std::span(out).first(size);
    const auto header = rtp::parse_rtp(packet);
    require(header.has_value());
    const auto payload = packet.subspan(header->payload_offset, header->payload_size);
    const auto result = link.push(0, *header, payload, now, sink);
    require(result.has_value() || result.error() == rtp::OsmuxRefusal::too_large);
  }
}

/// Pushes the input as packets of its own: an octet of sequence, one of circuit, SSRC and marker,
/// one of size, the payload.
void push_all(std::span<const std::byte> data, rtp::OsmuxLink& link, CheckingSink& sink) {
  io::TimePoint now{};
  while (data.size() > 3) {
    const auto control = std::to_integer<unsigned>(data[1]);
    rtp::RtpHeader header;
    header.payload_type = 96;
    header.sequence = std::to_integer<std::uint8_t>(data[0]);
    header.marker = control > 0xf0;
    header.ssrc = control == 0xf0 ? 1 : 0;
    const auto size =
        std::min<std::size_t>(std::to_integer<unsigned>(data[2]) % 36, data.size() - 3);
    const auto result =
        link.push(static_cast<std::uint8_t>(control % 4), header, data.subspan(3, size), now, sink);
    require(control % 4 != 3 || result.error() == rtp::OsmuxRefusal::unknown_circuit);
    data = data.subspan(3 + size);
    now += std::chrono::milliseconds(control % 32);
  }
  link.flush(now, sink);
  require(link.statistics().frames_out == sink.frames);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto datagram = std::as_bytes(std::span(data, size));
  const unsigned choice = size > 1 ? data[1] : 0;
  const rtp::OsmuxOptions options{.batch_factor = 1 + choice % 8,
                                  .batch_bytes = 20 + choice,
                                  .datagrams_max = 1 + choice % 3,
                                  .dummy_padding = choice % 2 == 1};
  CheckingSink sink(options.batch_bytes);
  rtp::OsmuxLink link(options);
  io::TimePoint now{};
  require(link.add_circuit(0, now) && !link.add_circuit(0, now));
  rtp::OsmuxPlayout playout({.payload_type = 96});
  rtp::OsmuxReader reader(datagram);
  while (const auto chunk = reader.next()) {
    check_chunk(datagram, *chunk);
    playout.on_chunk(*chunk, now);
    forward(playout, link, now, sink);
    require(playout.pending() <= rtp::kOsmuxPendingMax);
    now += std::chrono::milliseconds(chunk->header.circuit % 128);
  }
  require(size > 0 || reader.malformed() == rtp::OsmuxMalformed::too_short);
  forward(playout, link, now + std::chrono::seconds(10), sink);
  require(playout.pending() == 0 && playout.next_due() == io::kNever);
  require(playout.statistics().frames_in == playout.statistics().packets_out);
  link.flush(now, sink);
  require(link.statistics().frames_out == sink.frames);

  CheckingSink second_sink(options.batch_bytes);
  rtp::OsmuxLink second(options);
  require(second.add_circuit(0, {}) && second.add_circuit(1, {}) && second.add_circuit(2, {}));
  push_all(datagram, second, second_sink);
  return 0;
}
