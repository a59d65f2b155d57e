#include "tools/rtpload/packet.h"

#include "rtp/amr.h"
#include "rtp/iuup_amr.h"
#include "rtp/iuup_frame_number.h"

#include <algorithm>
#include <array>
#include <variant>

namespace rtpload {
namespace {

// Stream (3 bytes), sequence (4) and stamp (4): short enough for the smallest payload, AMR 4.75
// with 11 whole octets.
constexpr std::size_t kIdentityBytes = 11;
constexpr std::uint8_t kVersion2 = 0x80;
constexpr std::uint8_t kMarker = 0x80;

void store16(std::uint8_t* bytes, std::uint16_t value) noexcept {
  bytes[0] = static_cast<std::uint8_t>(value >> 8U);
  bytes[1] = static_cast<std::uint8_t>(value);
}

void store32(std::uint8_t* bytes, std::uint32_t value) noexcept {
  store16(bytes, static_cast<std::uint16_t>(value >> 16U));
  store16(bytes + 2, static_cast<std::uint16_t>(value));
}

std::uint16_t load16(const std::uint8_t* bytes) noexcept {
  return static_cast<std::uint16_t>((bytes[0] << 8U) | bytes[1]);
}

std::uint32_t load32(const std::uint8_t* bytes) noexcept {
  return (static_cast<std::uint32_t>(load16(bytes)) << 16U) | load16(bytes + 2);
}

// The finaliser of a 64-bit hash: every input bit changes about half of the output bits.
constexpr std::uint64_t mix(std::uint64_t value) noexcept {
  value ^= value >> 30U;
  value *= 0xbf58476d1ce4e5b9ULL;
  value ^= value >> 27U;
  value *= 0x94d049bb133111ebULL;
  return value ^ (value >> 31U);
}

// Eight bytes of pattern at a time, a different sequence of them for every packet of every run.
class Pattern {
 public:
  Pattern(std::uint32_t run_seed, const PacketIdentity& identity) noexcept
      : state_(mix((std::uint64_t{identity.stream} << 32U) | identity.sequence) ^
               mix((std::uint64_t{run_seed} << 32U) | identity.stamp)) {}

  std::uint64_t next() noexcept {
    state_ += 0x9e3779b97f4a7c15ULL;
    return mix(state_);
  }

 private:
  std::uint64_t state_;
};

// Calls `visit(index, byte)` for each pattern byte of a payload; stops when it returns false.
template <typename Visit>
bool for_each_pattern_byte(const Codec& codec, std::uint32_t run_seed,
                           const PacketIdentity& identity, Visit visit) noexcept {
  Pattern pattern(run_seed, identity);
  std::size_t index = codec.signature_bytes + kIdentityBytes;
  const std::size_t end = codec.payload_bytes;
  while (index < end) {
    std::uint64_t word = pattern.next();
    for (std::size_t stop = std::min(end, index + 8); index < stop; ++index, word >>= 8U) {
      const auto mask = index + 1 == end ? codec.last_byte_mask : std::uint8_t{0xff};
      if (!visit(index, static_cast<std::uint8_t>(word & mask))) {
        return false;
      }
    }
  }
  return true;
}

// Puts an AMR payload into another form where it stands; returns its size.
std::size_t repack(std::span<std::uint8_t> payload, rtp::AmrFormat form) noexcept {
  std::array<std::byte, kPacketBytesMax> repacked;
  const auto size =
      rtp::convert_amr(std::as_bytes(payload), rtp::AmrCodec::narrowband, form, repacked);
  if (!size) {
    return 0;
  }
  std::transform(repacked.begin(), repacked.begin() + static_cast<std::ptrdiff_t>(*size),
                 payload.begin(),
                 [](std::byte byte) { return std::to_integer<std::uint8_t>(byte); });
  return *size;
}

// The packet with its bandwidth-efficient payload octet-aligned; false if that is not its form.
bool to_plain(std::span<const std::uint8_t> datagram,
              std::span<std::uint8_t, kPacketBytesMax> plain, const Codec& codec) noexcept {
  const std::span<const std::byte> payload = std::as_bytes(datagram.subspan(kRtpHeaderBytes));
  if (!rtp::has_amr_format(payload, rtp::AmrCodec::narrowband,
                           rtp::AmrFormat::bandwidth_efficient)) {
    return false;
  }
  std::copy_n(datagram.begin(), kRtpHeaderBytes, plain.begin());
  const auto size =
      rtp::convert_amr(payload, rtp::AmrCodec::narrowband, rtp::AmrFormat::octet_aligned,
                       std::as_writable_bytes(plain.subspan(kRtpHeaderBytes)));
  return size && *size == codec.payload_bytes;
}

// Speech of 12.2 kbit/s, SID and no data, as radio network controllers declare them.
rtp::IuupConfiguration iuup_configuration() noexcept {
  rtp::IuupConfiguration configuration;
  configuration.rfcis[0] = {0, 0, {81, 103, 60}};
  configuration.rfcis[1] = {1, 0, {39, 0, 0}};
  configuration.rfcis[2] = {2, 0, {0, 0, 0}};
  configuration.rfci_count = 3;
  configuration.subflow_count = 3;
  configuration.versions = 1;
  return configuration;
}

// Puts an octet-aligned AMR payload of `bytes` into a data PDU where it stands; returns its size.
std::size_t pack_iuup(std::span<std::uint8_t> room, std::size_t bytes,
                      std::uint32_t sequence) noexcept {
  const std::span<std::byte> octets = std::as_writable_bytes(room);
  rtp::IuupData data;
  data.frame_number = static_cast<std::uint8_t>(sequence % rtp::kIuupFrameNumbers);
  data.payload = octets.first(bytes).subspan(rtp::kAmrSingleFrameHeaderBytes);
  return rtp::write_iuup_data(rtp::IuupPduType::data_with_crc, data, octets);
}

// The packet with the frame of its data PDU as an octet-aligned AMR payload; false if it has none.
bool unpack_iuup(std::span<const std::uint8_t> datagram,
                 std::span<std::uint8_t, kPacketBytesMax> plain, const Codec& codec) noexcept {
  const auto pdu = rtp::parse_iuup(std::as_bytes(datagram.subspan(kRtpHeaderBytes)));
  const auto* data = pdu ? std::get_if<rtp::IuupData>(&*pdu) : nullptr;
  if (data == nullptr) {
    return false;
  }
  std::copy_n(datagram.begin(), kRtpHeaderBytes, plain.begin());
  const auto size = rtp::iuup_to_amr(iuup_configuration(), rtp::AmrCodec::narrowband, *data,
                                     rtp::kAmrNoModeRequest,
                                     std::as_writable_bytes(plain.subspan(kRtpHeaderBytes)));
  return size && *size == codec.payload_bytes;
}

// A gateway that numbers packets itself sets no marker, or one of its own: it is put where it was
// sent.
void restore_marker(std::span<std::uint8_t> packet, const Codec& codec) noexcept {
  const bool is_first = load32(packet.data() + kRtpHeaderBytes + codec.signature_bytes + 3) == 0;
  packet[1] = static_cast<std::uint8_t>((packet[1] & 0x7fU) | (is_first ? unsigned{kMarker} : 0U));
}

bool is_iuup_control(std::span<const std::uint8_t> datagram) noexcept {
  const auto pdu = rtp::parse_iuup(std::as_bytes(datagram.subspan(kRtpHeaderBytes)));
  return pdu && std::holds_alternative<rtp::IuupControl>(*pdu);
}

// Reads a packet whose payload has another form than the plain one.
ReceivedPacket read_repacked(std::span<const std::uint8_t> datagram, const Codec& codec,
                             std::uint32_t run_seed) noexcept {
  std::array<std::uint8_t, kPacketBytesMax> plain;
  Codec shape = codec;
  shape.form = PayloadForm::plain;
  const auto packet = std::span(plain).first(kRtpHeaderBytes + codec.payload_bytes);
  if (codec.form == PayloadForm::bandwidth_efficient) {
    return to_plain(datagram, plain, codec) ? read_packet(packet, shape, run_seed)
                                            : ReceivedPacket{};
  }
  ReceivedPacket read;
  if (unpack_iuup(datagram, plain, codec)) {
    restore_marker(plain, shape);
    read = read_packet(packet, shape, run_seed);
    read.has_timeline = false;
  } else if (is_iuup_control(datagram)) {
    read.verdict = PacketVerdict::keep_alive;
  }
  return read;
}

}  // namespace

std::size_t write_initialisation(std::span<std::uint8_t> buffer, const Codec& codec,
                                 std::uint32_t run_seed, std::uint32_t stream) noexcept {
  const RtpOrigin origin = rtp_origin(run_seed, stream);
  rtp::RtpHeader header;
  header.payload_type = codec.payload_type;
  header.sequence = static_cast<std::uint16_t>(origin.sequence - 1);
  header.timestamp = origin.timestamp - kSamplesPerPacket;
  header.ssrc = origin.ssrc;
  const std::span<std::byte> packet = std::as_writable_bytes(buffer);
  return rtp::write_rtp_header(packet, header) +
         rtp::write_iuup_initialisation(iuup_configuration(), 0, packet.subspan(kRtpHeaderBytes));
}

std::size_t write_rebuilt_packet(std::span<std::uint8_t> buffer, const Codec& codec,
                                 const rtp::OsmuxHeader& chunk,
                                 std::span<const std::byte> speech) noexcept {
  const std::size_t bytes = kRtpHeaderBytes + rtp::kAmrSingleFrameHeaderBytes + speech.size();
  if (bytes > buffer.size()) {
    return 0;
  }
  buffer[0] = kVersion2;
  buffer[1] = codec.payload_type;
  std::uint8_t* payload = buffer.data() + kRtpHeaderBytes;
  payload[0] = static_cast<std::uint8_t>(chunk.mode_request << 4U);
  payload[1] =
      static_cast<std::uint8_t>((unsigned{chunk.frame_type} << 3U) | (chunk.good ? 0x04U : 0U));
  std::transform(speech.begin(), speech.end(), payload + rtp::kAmrSingleFrameHeaderBytes,
                 [](std::byte byte) { return std::to_integer<std::uint8_t>(byte); });
  if (bytes == kRtpHeaderBytes + codec.payload_bytes) {
    restore_marker(buffer, codec);
  }
  return bytes;
}

std::uint64_t nanoseconds_since(std::uint32_t stamp, std::uint64_t time_ns) noexcept {
  const auto units = static_cast<std::int32_t>(make_stamp(time_ns) - stamp);
  return units < 0 ? 0 : static_cast<std::uint64_t>(units) << 6U;
}

RtpOrigin rtp_origin(std::uint32_t run_seed, std::uint32_t stream) noexcept {
  const std::uint64_t first = mix((std::uint64_t{run_seed} << 32U) | stream);
  const std::uint64_t second = mix(first + 0x9e3779b97f4a7c15ULL);
  return {static_cast<std::uint16_t>(first), static_cast<std::uint32_t>(first >> 32U),
          static_cast<std::uint32_t>(second)};
}

std::size_t write_packet(std::span<std::uint8_t> buffer, const Codec& codec, std::uint32_t run_seed,
                         const PacketIdentity& identity) noexcept {
  const RtpOrigin origin = rtp_origin(run_seed, identity.stream);
  std::uint8_t* header = buffer.data();
  header[0] = kVersion2;
  header[1] = static_cast<std::uint8_t>(unsigned{codec.payload_type} |
                                        (identity.sequence == 0 ? unsigned{kMarker} : 0U));
  store16(header + 2, static_cast<std::uint16_t>(origin.sequence + identity.sequence));
  store32(header + 4, origin.timestamp + identity.sequence * kSamplesPerPacket);
  store32(header + 8, origin.ssrc);

  std::uint8_t* payload = header + kRtpHeaderBytes;
  std::copy_n(codec.signature.begin(), codec.signature_bytes, payload);
  std::uint8_t* name = payload + codec.signature_bytes;
  name[0] = static_cast<std::uint8_t>(identity.stream >> 16U);
  store16(name + 1, static_cast<std::uint16_t>(identity.stream));
  store32(name + 3, identity.sequence);
  store32(name + 7, identity.stamp);
  for_each_pattern_byte(codec, run_seed, identity, [payload](std::size_t index, std::uint8_t byte) {
    payload[index] = byte;
    return true;
  });
  std::size_t bytes = codec.payload_bytes;
  if (codec.form == PayloadForm::bandwidth_efficient) {
    bytes = repack({payload, bytes}, rtp::AmrFormat::bandwidth_efficient);
  } else if (codec.form == PayloadForm::iuup) {
    bytes = pack_iuup({payload, kPacketBytesMax - kRtpHeaderBytes}, bytes, identity.sequence);
  }
  return kRtpHeaderBytes + bytes;
}

ReceivedPacket read_packet(std::span<const std::uint8_t> datagram, const Codec& codec,
                           std::uint32_t run_seed) noexcept {
  ReceivedPacket packet;
  if (datagram.size() < kRtpHeaderBytes) {
    packet.verdict = PacketVerdict::keep_alive;
    return packet;
  }
  if (codec.form == PayloadForm::bandwidth_efficient || codec.form == PayloadForm::iuup) {
    return read_repacked(datagram, codec, run_seed);
  }
  const std::uint8_t* header = datagram.data();
  const std::uint8_t* payload = header + kRtpHeaderBytes;
  if (datagram.size() != kRtpHeaderBytes + codec.payload_bytes || header[0] != kVersion2 ||
      (header[1] & 0x7fU) != codec.payload_type ||
      !std::equal(payload, payload + codec.signature_bytes, codec.signature.begin())) {
    return packet;
  }
  packet.rtp_sequence = load16(header + 2);
  packet.rtp_timestamp = load32(header + 4);
  const std::uint8_t* name = payload + codec.signature_bytes;
  packet.identity.stream = (static_cast<std::uint32_t>(name[0]) << 16U) | load16(name + 1);
  packet.identity.sequence = load32(name + 3);
  packet.identity.stamp = load32(name + 7);
  const bool is_marked = (header[1] & kMarker) != 0;
  const bool intact = is_marked == (packet.identity.sequence == 0) &&
                      for_each_pattern_byte(codec, run_seed, packet.identity,
                                            [payload](std::size_t index, std::uint8_t byte) {
                                              return payload[index] == byte;
                                            });
  packet.verdict = intact ? PacketVerdict::valid : PacketVerdict::corrupted;
  return packet;
}

}  // namespace rtpload
