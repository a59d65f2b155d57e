#pragma once
// The far end of Osmux circuits: a socket from which chunks are sent, and what came to it, taken
// apart into frames.

#include "io/sim_network.h"
#include "rtp/osmux_chunk.h"
#include "tests/scenario/scene.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace scenario {

/// The octets of frame number `number` of AMR 5.90: 118 bits and two of padding.
inline sim::Bytes speech_590(std::uint32_t number) {
  sim::Bytes octets(15);
  for (std::size_t i = 0; i < 14; ++i) {
    octets[i] = static_cast<std::byte>(number >> (i % 4 * 8));
  }
  return octets;
}

/// The same as a payload of RTP, octet-aligned, without a mode request.
inline sim::Bytes aligned_590(std::uint32_t number, std::uint8_t mode_request = 15) {
  sim::Bytes payload{static_cast<std::byte>(mode_request << 4U), std::byte{0x14}};
  const sim::Bytes octets = speech_590(number);
  payload.insert(payload.end(), octets.begin(), octets.end());
  return payload;
}

/// One speech frame that arrived.
struct ArrivedSpeech {
  std::uint8_t circuit = 0;
  sim::Bytes octets;
  io::TimePoint at{};
};

/// Must end before its scene does.
class OsmuxPeer {
 public:
  OsmuxPeer(Scene& scene, std::string_view host, std::uint16_t port = 1984)
      : socket_(scene.world.network(), sim::address(host, port)) {}

  /// Where its chunks go.
  void set_target(const io::SocketAddress& gateway) { target_ = gateway; }
  /// A description of it.
  [[nodiscard]] std::string sdp(std::string_view formats = "112",
                                std::string_view attributes = "a=rtpmap:112 AMR/8000\r\n") const {
    const std::string_view family =
        socket_.local().family() == io::AddressFamily::ipv6 ? "IP6" : "IP4";
    return fmt::format("\r\nv=0\r\nc=IN {} {}\r\nm=audio {} RTP/AVP {}\r\n{}", family,
                       socket_.local().host_text(), socket_.local().port(), formats, attributes);
  }
  /// The chunk of `count` frames from number `first` on that the gateway knows by `circuit`.
  [[nodiscard]] static sim::Bytes chunk(std::uint8_t circuit, std::uint8_t sequence,
                                        std::uint32_t first, std::uint8_t count = 4) {
    rtp::OsmuxHeader header;
    header.circuit = circuit;
    header.sequence = sequence;
    header.frame_count = count;
    header.frame_type = 2;
    sim::Bytes bytes(rtp::kOsmuxHeaderBytes);
    rtp::write_osmux_header(bytes, header);
    for (std::uint32_t i = 0; i < count; ++i) {
      const sim::Bytes octets = speech_590(first + i);
      bytes.insert(bytes.end(), octets.begin(), octets.end());
    }
    return bytes;
  }
  void send(const sim::Bytes& datagram) { socket_.send(target_, datagram); }
  void send_chunk(std::uint8_t circuit, std::uint8_t sequence, std::uint32_t first,
                  std::uint8_t count = 4) {
    send(chunk(circuit, sequence, first, count));
  }
  /// Takes what has arrived.
  void collect() {
    while (const auto datagram = socket_.receive()) {
      ++datagrams;
      sources.push_back(datagram->source);
      rtp::OsmuxReader reader(datagram->bytes);
      while (const auto chunk = reader.next()) {
        if (chunk->header.kind != rtp::OsmuxKind::voice) {
          dummies.push_back(chunk->header.circuit);
          continue;
        }
        ++chunks;
        const std::size_t bytes = chunk->frames.size() / chunk->header.frame_count;
        for (std::size_t i = 0; i < chunk->header.frame_count; ++i) {
          const auto frame = chunk->frames.subspan(i * bytes, bytes);
          speech.push_back({chunk->header.circuit, sim::Bytes(frame.begin(), frame.end()),
                            datagram->deliver_at});
        }
      }
      malformed += reader.malformed() ? 1U : 0U;
    }
  }
  /// Whether exactly frames `first`, `first` + 1, … came on `circuit`, `count` of them, in order.
  [[nodiscard]] bool heard(std::uint8_t circuit, std::uint32_t first, std::size_t count) {
    collect();
    std::size_t seen = 0;
    for (const ArrivedSpeech& frame : speech) {
      if (frame.circuit == circuit) {
        if (frame.octets != speech_590(first + static_cast<std::uint32_t>(seen))) {
          return false;
        }
        ++seen;
      }
    }
    return seen == count;
  }

  std::vector<ArrivedSpeech> speech;
  std::vector<std::uint8_t> dummies;  ///< their circuits
  std::vector<io::SocketAddress> sources;
  std::size_t datagrams = 0;
  std::size_t chunks = 0;
  std::size_t malformed = 0;

 private:
  io::SimPeer socket_;
  io::SocketAddress target_;
};

/// A leg of plain RTP that takes AMR by payload type 110.
inline LegOptions amr_leg(const std::string& attributes, const std::string& mode = "sendrecv") {
  LegOptions options;
  options.formats = "110";
  options.attributes = "a=rtpmap:110 AMR/8000\r\n" + attributes;
  options.mode = mode;
  return options;
}

/// A gateway with Osmux.
inline conf::Config osmux_config(conf::OsmuxMode mode = conf::OsmuxMode::on) {
  conf::Config config = sim::small_config();
  config.osmux.mode = mode;
  return config;
}

/// An Osmux leg as the agent knows it.
struct OsmuxLegAnswer {
  Leg leg;
  std::uint8_t circuit = 0;  ///< the gateway's number for it
};

/// A circuit towards `peer`; checks that it was answered with 200. `number`: what X-Osmux says.
inline OsmuxLegAnswer add_circuit(Scene& scene, OsmuxPeer& peer, std::string_view number,
                                  std::string_view endpoint = "rtpbridge/1@mgw",
                                  std::string_view mode = "sendrecv") {
  OsmuxLegAnswer added;
  added.leg.answer = scene.crcx(
      endpoint, fmt::format("C: 1\r\nM: {}\r\nX-Osmux: {}\r\n{}", mode, number, peer.sdp()));
  REQUIRE(added.leg.answer.code == 200);
  const std::string named = added.leg.answer.parameter("Z");
  added.leg.endpoint = named.empty() ? std::string(endpoint) : named;
  added.leg.connection = added.leg.answer.parameter("I");
  added.circuit = static_cast<std::uint8_t>(std::stoul(added.leg.answer.parameter("X-Osmux")));
  peer.set_target(added.leg.answer.media());
  return added;
}

}  // namespace scenario
