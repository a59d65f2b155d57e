#pragma once
// What the tests of Osmux share: payloads, a sink that keeps what it gets, and instants.

#include "io/time.h"
#include "rtp/osmux_chunk.h"
#include "rtp/osmux_encoder.h"
#include "rtp/rtp_header.h"
#include "tests/unit/rtp/test_packets.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace test {

using std::chrono::microseconds;
using std::chrono::milliseconds;

/// The instant `time` after the start of the test.
inline io::TimePoint at(io::Duration time) {
  return io::TimePoint(std::chrono::hours(1)) + time;
}

/// Keeps every datagram.
class KeepingSink final : public rtp::OsmuxSink {
 public:
  void on_osmux_datagram(std::span<const std::byte> datagram) noexcept override {
    datagrams.emplace_back(datagram.begin(), datagram.end());
  }
  /// What came since the last call.
  std::vector<Bytes> take() {
    std::vector<Bytes> taken;
    taken.swap(datagrams);
    return taken;
  }

  std::vector<Bytes> datagrams;
};

/// What an AMR frame says.
struct Speech {
  std::uint8_t type = 2;
  std::uint8_t fill = 0;  ///< Value of all its octets.
  bool good = true;
  std::uint8_t mode_request = 2;

  bool operator==(const Speech&) const = default;
};

/// The octet-aligned payload of one frame.
inline Bytes amr_payload(const Speech& speech) {
  Bytes payload{std::byte(speech.mode_request * 16U),
                std::byte(speech.type * 8U | (speech.good ? 4U : 0U))};
  payload.resize(2 + *rtp::osmux_frame_bytes(speech.type), std::byte{speech.fill});
  return payload;
}

/// An RTP header as the encoder looks at it.
inline rtp::RtpHeader rtp_header(std::uint16_t sequence, bool marker = false) {
  rtp::RtpHeader header;
  header.payload_type = 112;
  header.ssrc = 0x5eed;
  header.sequence = sequence;
  header.marker = marker;
  return header;
}

/// Octets that a datagram is made of, chunk by chunk; the datagram must be well-formed.
inline std::vector<rtp::OsmuxChunk> chunks_of(std::span<const std::byte> datagram) {
  std::vector<rtp::OsmuxChunk> chunks;
  rtp::OsmuxReader reader(datagram);
  while (const auto chunk = reader.next()) {
    chunks.push_back(*chunk);
  }
  if (reader.malformed()) {
    chunks.clear();
  }
  return chunks;
}

/// The first octet of every frame of a chunk.
inline std::vector<unsigned> fills_of(const rtp::OsmuxChunk& chunk) {
  std::vector<unsigned> fills;
  const std::size_t bytes = chunk.frames.size() / chunk.header.frame_count;
  for (std::size_t frame = 0; frame < chunk.header.frame_count; ++frame) {
    fills.push_back(std::to_integer<unsigned>(chunk.frames[frame * bytes]));
  }
  return fills;
}

/// A link with its sink; pushes give the payload's octets the value of the sequence number.
struct LinkBench {
  explicit LinkBench(const rtp::OsmuxOptions& options = {}) : link(options) {}

  void add(std::uint8_t circuit, io::Duration now = {}) {
    REQUIRE(link.add_circuit(circuit, at(now)));
  }
  tl::expected<void, rtp::OsmuxRefusal> push(std::uint8_t circuit, std::uint16_t sequence,
                                             io::Duration now, bool marker = false,
                                             std::uint8_t type = 2) {
    return push(circuit, rtp_header(sequence, marker),
                {.type = type, .fill = static_cast<std::uint8_t>(sequence)}, now);
  }
  tl::expected<void, rtp::OsmuxRefusal> push(std::uint8_t circuit, const rtp::RtpHeader& header,
                                             const Speech& speech, io::Duration now) {
    return link.push(circuit, header, amr_payload(speech), at(now), sink);
  }
  std::vector<Bytes> flush(io::Duration now) {
    link.flush(at(now), sink);
    return sink.take();
  }
  std::uint64_t refused(rtp::OsmuxRefusal cause) const {
    return link.statistics().refused[static_cast<std::size_t>(cause)];
  }

  rtp::OsmuxLink link;
  KeepingSink sink;
};

}  // namespace test
