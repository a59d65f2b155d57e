#pragma once
// The far end of an IuUP leg: an RtpPeer whose payloads are Iu UP, with a link of its own that
// answers the gateway.

#include "rtp/iuup_link.h"
#include "tests/scenario/scene.h"

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace scenario {

/// The attribute of a description that makes a leg of payload type 96 speak Iu UP.
inline constexpr const char* kIuup = "a=rtpmap:96 VND.3GPP.IUFP/16000\r\n";

/// A leg of this description and mode, the rest as in every call.
inline LegOptions with(std::string formats, std::string attributes, std::string mode = "sendrecv") {
  LegOptions options;
  options.formats = std::move(formats);
  options.attributes = std::move(attributes);
  options.mode = std::move(mode);
  return options;
}

/// One data PDU that arrived.
struct ArrivedFrame {
  std::uint8_t frame_number = 0;
  rtp::IuupFrameQuality quality = rtp::IuupFrameQuality::good;
  std::uint8_t rfci = 0;
  sim::Bytes payload;
};

/// The RFCIs of AMR 12.2 with SID and no data, as radio network controllers declare them; `first`
/// is the RFCI of speech, `second` of SID, `third` of no data.
inline rtp::IuupConfiguration amr_122_rfcis(std::uint8_t first = 0, std::uint8_t second = 1,
                                            std::uint8_t third = 2) {
  rtp::IuupConfiguration set;
  set.rfcis[0] = {first, 1, {81, 103, 60}};
  set.rfcis[1] = {second, 7, {39, 0, 0}};
  set.rfcis[2] = {third, 1, {0, 0, 0}};
  set.rfci_count = 3;
  set.subflow_count = 3;
  set.has_intervals = true;
  set.versions = 1;
  return set;
}

/// See above. pump() has to be called while time passes; run() does both.
class IuupPeer {
 public:
  explicit IuupPeer(sim::RtpPeer& peer, std::uint8_t payload_type = 96)
      : peer_(peer), payload_type_(payload_type) {}

  /// Asks the gateway to work with `set`.
  void initialise(Scene& scene, const rtp::IuupConfiguration& set) {
    link_.start_initialisation(set, scene.world.clock().now(), set.versions);
    send_due(scene.world.clock().now());
  }
  /// Sends one frame.
  void send(Scene& scene, std::uint8_t rfci, const sim::Bytes& payload,
            rtp::IuupFrameQuality quality = rtp::IuupFrameQuality::good) {
    std::array<std::byte, 256> pdu;
    const auto size =
        link_.write_data({0, quality, rfci, payload}, {}, scene.world.clock().now(), pdu);
    REQUIRE(size);
    peer_.send_packet(payload_type_,
                      sim::Bytes(pdu.begin(), pdu.begin() + static_cast<long>(*size)));
  }
  /// Takes what has arrived and answers it.
  void pump(io::TimePoint now) {
    for (; seen_ < peer_.received().size(); ++seen_) {
      const rtp::IuupReceived received = link_.on_pdu(peer_.received()[seen_].payload, now);
      events_.push_back(received.event);
      if (received.event == rtp::IuupEvent::data) {
        frames_.push_back({received.data.frame_number, received.data.quality, received.data.rfci,
                           sim::Bytes(received.data.payload.begin(), received.data.payload.end())});
      }
      const auto reply = received.reply.bytes();
      if (!reply.empty() && answers_) {
        peer_.send_packet(payload_type_, sim::Bytes(reply.begin(), reply.end()));
      }
    }
    send_due(now);
  }
  /// Whether it answers at all.
  void set_answers(bool answers) { answers_ = answers; }

  [[nodiscard]] rtp::IuupLink& link() noexcept { return link_; }
  [[nodiscard]] const std::vector<ArrivedFrame>& frames() const noexcept { return frames_; }
  [[nodiscard]] const std::vector<rtp::IuupEvent>& events() const noexcept { return events_; }
  [[nodiscard]] sim::RtpPeer& peer() noexcept { return peer_; }

 private:
  void send_due(io::TimePoint now) {
    std::array<std::byte, rtp::kIuupInitialisationBytesMax> pdu;
    while (const std::size_t size = link_.on_timer(now, pdu)) {
      peer_.send_packet(payload_type_,
                        sim::Bytes(pdu.begin(), pdu.begin() + static_cast<long>(size)));
    }
  }

  sim::RtpPeer& peer_;
  std::uint8_t payload_type_;
  rtp::IuupLink link_;
  std::size_t seen_ = 0;
  std::vector<ArrivedFrame> frames_;
  std::vector<rtp::IuupEvent> events_;
  bool answers_ = true;
};

/// Lets time pass for the gateway and these peers.
inline void run(Scene& scene, const std::vector<IuupPeer*>& peers, io::Duration duration) {
  const io::TimePoint end = scene.world.clock().now() + duration;
  while (scene.world.clock().now() < end) {
    scene.run_for(std::chrono::milliseconds(1));
    for (IuupPeer* peer : peers) {
      peer->pump(scene.world.clock().now());
    }
  }
}

}  // namespace scenario
