#include "tests/sim/rtp_peer.h"

#include "rtp/demultiplex.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace sim {

namespace {

constexpr io::Duration kPacketInterval = std::chrono::milliseconds(20);
constexpr std::uint32_t kPacketTicks = 160;
/// Length of a stream payload: that of a full rate speech frame.
constexpr std::size_t kStreamPayloadBytes = 33;
/// First octets of a stream payload, so that other payloads are not taken for one.
constexpr std::uint32_t kStreamMark = 0xd0575eed;

void put_u32(Bytes& bytes, std::uint32_t value) {
  for (const unsigned shift : {24U, 16U, 8U, 0U}) {
    bytes.push_back(static_cast<std::byte>(value >> shift & 0xffU));
  }
}

std::uint32_t read_u32(const Bytes& bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    value = value << 8U | std::to_integer<std::uint32_t>(bytes[at + i]);
  }
  return value;
}

bool is_stream_payload(const Bytes& payload) {
  return payload.size() == kStreamPayloadBytes && read_u32(payload, 0) == kStreamMark;
}

}  // namespace

Bytes from_hex(std::string_view digits) {
  Bytes bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    const auto nibble = [](char digit) {
      return static_cast<unsigned>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
    };
    bytes.push_back(static_cast<std::byte>(nibble(digits[i]) << 4U | nibble(digits[i + 1])));
  }
  return bytes;
}

Bytes rtp_packet(const rtp::RtpHeader& header, const Bytes& payload) {
  Bytes packet(rtp::kRtpHeaderBytes);
  rtp::write_rtp_header(packet, header);
  packet.insert(packet.end(), payload.begin(), payload.end());
  return packet;
}

Bytes sender_report(std::uint32_t ssrc, std::uint32_t rtp_timestamp, std::uint32_t packets,
                    std::uint32_t octets) {
  Bytes packet;
  put_u32(packet, 0x80c80006);
  put_u32(packet, ssrc);
  put_u32(packet, 0xe0000000);
  put_u32(packet, 0);
  put_u32(packet, rtp_timestamp);
  put_u32(packet, packets);
  put_u32(packet, octets);
  return packet;
}

RtpPeer::RtpPeer(io::SimNetwork& network, Trace& trace, const io::SocketAddress& local,
                 std::uint32_t number)
    : ssrc(0x5000'0000U + number),
      network_(network),
      trace_(trace),
      rtp_(network, local),
      rtcp_(network, local.with_port(static_cast<std::uint16_t>(local.port() + 1))),
      number_(number) {}

void RtpPeer::stream(std::uint32_t packets, std::uint8_t payload_type) {
  left_ = packets;
  payload_type_ = payload_type;
  next_ = network_.clock().now();
}

void RtpPeer::send_packet(std::uint8_t payload_type, const Bytes& payload, bool marker) {
  rtp::RtpHeader header;
  header.ssrc = ssrc;
  header.sequence = sequence++;
  header.timestamp = timestamp;
  header.payload_type = payload_type;
  header.marker = marker;
  timestamp += kPacketTicks;
  ++sent_;
  if (!payload.empty()) {
    send_rtp(rtp_packet(header, payload));
    return;
  }
  Bytes own;
  put_u32(own, kStreamMark);
  put_u32(own, number_);
  put_u32(own, sent_);
  own.resize(kStreamPayloadBytes, static_cast<std::byte>(number_));
  send_rtp(rtp_packet(header, own));
}

void RtpPeer::send_rtcp(const Bytes& datagram) {
  rtcp_.send(target_.with_port(static_cast<std::uint16_t>(target_.port() + 1)), datagram);
}

std::size_t RtpPeer::count_from(std::uint32_t number) const {
  return static_cast<std::size_t>(
      std::count_if(received_.begin(), received_.end(), [number](const ArrivedRtp& packet) {
        return is_stream_payload(packet.payload) && read_u32(packet.payload, 4) == number;
      }));
}

void RtpPeer::forget() {
  received_.clear();
  received_rtcp_.clear();
  keep_alives_ = 0;
  rtcp_keep_alives_ = 0;
  garbage_ = 0;
}

std::string RtpPeer::sdp(std::string_view formats, std::string_view attributes) const {
  const io::SocketAddress& own = rtp_.local();
  const std::string_view family = own.family() == io::AddressFamily::ipv6 ? "IP6" : "IP4";
  return fmt::format(
      "\r\nv=0\r\no=- 23 42 IN {0} {1}\r\ns=-\r\nc=IN {0} {1}\r\nt=0 0\r\n"
      "m=audio {2} RTP/AVP {3}\r\n{4}",
      family, own.host_text(), own.port(), formats, attributes);
}

bool RtpPeer::act() {
  bool busy = false;
  const io::TimePoint now = network_.clock().now();
  while (const auto datagram = rtp_.receive()) {
    busy = true;
    trace_.add(*datagram, now);
    on_rtp(*datagram);
  }
  while (const auto datagram = rtcp_.receive()) {
    busy = true;
    trace_.add(*datagram, now);
    if (rtp::classify(datagram->bytes) == rtp::PacketKind::keep_alive) {
      ++rtcp_keep_alives_;
    } else {
      received_rtcp_.push_back(datagram->bytes);
    }
  }
  while (left_ > 0 && next_ <= now) {
    busy = true;
    --left_;
    next_ += kPacketInterval;
    send_packet(payload_type_);
  }
  return busy;
}

void RtpPeer::on_rtp(const io::SimDatagram& datagram) {
  const auto kind = rtp::classify(datagram.bytes);
  if (kind == rtp::PacketKind::keep_alive) {
    ++keep_alives_;
    return;
  }
  if (kind == rtp::PacketKind::rtcp) {
    received_rtcp_.push_back(datagram.bytes);
    return;
  }
  const auto header = rtp::parse_rtp(datagram.bytes);
  if (!header) {
    ++garbage_;
    return;
  }
  const auto begin = datagram.bytes.begin() + header->payload_offset;
  received_.push_back(
      {*header, Bytes(begin, begin + header->payload_size), datagram.source, datagram.deliver_at});
  const Bytes& payload = received_.back().payload;
  if (!is_stream_payload(payload)) {
    return;
  }
  const std::uint32_t from = read_u32(payload, 4);
  const std::uint32_t count = read_u32(payload, 8);
  auto newest = std::find_if(newest_.begin(), newest_.end(),
                             [from](const auto& entry) { return entry.first == from; });
  if (newest == newest_.end()) {
    newest_.emplace_back(from, count);
    return;
  }
  disorder_ += count <= newest->second ? 1U : 0U;
  newest->second = std::max(newest->second, count);
}

}  // namespace sim
