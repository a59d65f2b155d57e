#pragma once
// The far end of a leg: sends a stream of RTP packets and keeps what arrives.

#include "io/sim_network.h"
#include "rtp/rtp_header.h"
#include "tests/sim/actor.h"
#include "tests/sim/trace.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

using Bytes = std::vector<std::byte>;

/// The octets that a string of hexadecimal digits names.
[[nodiscard]] Bytes from_hex(std::string_view digits);
/// An RTP packet: the plain header with `header`'s fields, then `payload`.
[[nodiscard]] Bytes rtp_packet(const rtp::RtpHeader& header, const Bytes& payload);
/// A sender report without report blocks.
[[nodiscard]] Bytes sender_report(std::uint32_t ssrc, std::uint32_t rtp_timestamp,
                                  std::uint32_t packets, std::uint32_t octets);

/// An RTP packet that arrived.
struct ArrivedRtp {
  rtp::RtpHeader header;
  Bytes payload;
  io::SocketAddress source;
  io::TimePoint at{};
};

/// An RTP port and the RTCP port after it. The payloads that stream() sends name the peer and count
/// up, so whoever gets them can tell where they are from and whether one is missing, double or
/// late.
class RtpPeer final : public Actor {
 public:
  /// `number` names the peer in its payloads. `local` has an even port.
  RtpPeer(io::SimNetwork& network, Trace& trace, const io::SocketAddress& local,
          std::uint32_t number);

  /// Where to send to: the RTP port; RTCP goes to the port after it.
  void set_target(const io::SocketAddress& gateway) { target_ = gateway; }
  /// Sends `packets` packets of `payload_type`, one each 20 ms, the first one now.
  void stream(std::uint32_t packets, std::uint8_t payload_type);
  /// Stops the stream.
  void stop() { left_ = 0; }
  [[nodiscard]] bool streaming() const noexcept { return left_ > 0; }
  /// Sends the next packet of the stream now, with this payload if one is given.
  void send_packet(std::uint8_t payload_type, const Bytes& payload = {}, bool marker = false);
  /// Sends a datagram from the RTP or the RTCP socket to the gateway's port of that kind.
  void send_rtp(const Bytes& datagram) { rtp_.send(target_, datagram); }
  void send_rtcp(const Bytes& datagram);

  /// The next packet's numbers.
  std::uint32_t ssrc;
  std::uint16_t sequence = 100;
  std::uint32_t timestamp = 8000;

  /// What arrived, oldest first.
  [[nodiscard]] const std::vector<ArrivedRtp>& received() const noexcept { return received_; }
  [[nodiscard]] const std::vector<Bytes>& received_rtcp() const noexcept { return received_rtcp_; }
  [[nodiscard]] std::size_t keep_alives() const noexcept { return keep_alives_; }
  [[nodiscard]] std::size_t rtcp_keep_alives() const noexcept { return rtcp_keep_alives_; }
  /// Datagrams that were neither.
  [[nodiscard]] std::size_t garbage() const noexcept { return garbage_; }
  /// Stream packets from peer `number` that arrived.
  [[nodiscard]] std::size_t count_from(std::uint32_t number) const;
  /// Stream packets that came after a later one of the same peer, or twice.
  [[nodiscard]] std::size_t disorder() const noexcept { return disorder_; }
  /// Packets sent.
  [[nodiscard]] std::uint32_t sent() const noexcept { return sent_; }
  void forget();

  [[nodiscard]] const io::SocketAddress& local() const noexcept { return rtp_.local(); }
  [[nodiscard]] std::uint32_t number() const noexcept { return number_; }
  /// A description of it: `formats` is the list of the m= line, `attributes` whole lines.
  [[nodiscard]] std::string sdp(std::string_view formats, std::string_view attributes = {}) const;

  bool act() override;
  [[nodiscard]] io::TimePoint next() const override { return left_ > 0 ? next_ : io::kNever; }

 private:
  void on_rtp(const io::SimDatagram& datagram);

  io::SimNetwork& network_;
  Trace& trace_;
  io::SimPeer rtp_;
  io::SimPeer rtcp_;
  std::uint32_t number_;
  io::SocketAddress target_;
  std::uint32_t left_ = 0;
  std::uint8_t payload_type_ = 0;
  io::TimePoint next_{};
  std::uint32_t sent_ = 0;
  std::vector<ArrivedRtp> received_;
  std::vector<Bytes> received_rtcp_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> newest_;  // by peer: newest count
  std::size_t keep_alives_ = 0;
  std::size_t rtcp_keep_alives_ = 0;
  std::size_t garbage_ = 0;
  std::size_t disorder_ = 0;
};

}  // namespace sim
