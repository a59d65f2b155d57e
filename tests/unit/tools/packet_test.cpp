// The load generator's packets and codecs: what is written is read back, and every change of a bit
// shows.
#include "tools/rtpload/packet.h"

#include "tools/rtpload/sender_report.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

namespace {

using namespace rtpload;

constexpr std::uint32_t kSeed = 0x12345678;

std::vector<std::uint8_t> make_packet(const Codec& codec, const PacketIdentity& identity,
                                      std::uint32_t seed = kSeed) {
  std::array<std::uint8_t, kPacketBytesMax> buffer{};
  const std::size_t size = write_packet(buffer, codec, seed, identity);
  return {buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(size)};
}

}  // namespace

TEST_CASE("every codec's packet is read back as it was written, at its codec's size") {
  for (const std::string& name : codec_names()) {
    CAPTURE(name);
    const Codec codec = find_codec(name).value();
    for (const PacketIdentity identity :
         {PacketIdentity{0, 0, 0}, PacketIdentity{kStreamsMax - 1, 0xffffffff, 77},
          PacketIdentity{4711, 70000, 0xffffffff}}) {
      const auto packet = make_packet(codec, identity);
      // 14 bits of the octet-aligned form's 16 and its padding are saved.
      // An Iu UP header is two octets longer than what it takes the place of.
      const std::size_t saved = codec.form == rtpload::PayloadForm::bandwidth_efficient ? 1 : 0;
      const std::size_t added = codec.form == rtpload::PayloadForm::iuup ? 2 : 0;
      CHECK(packet.size() == kRtpHeaderBytes + codec.payload_bytes - saved + added);
      const ReceivedPacket read = read_packet(packet, codec, kSeed);
      CHECK(read.verdict == PacketVerdict::valid);
      CHECK(read.identity.stream == identity.stream);
      CHECK(read.identity.sequence == identity.sequence);
      CHECK(read.identity.stamp == identity.stamp);
    }
  }
}

TEST_CASE("a bandwidth-efficient packet is no octet-aligned one, and each of its bits counts") {
  const Codec efficient = find_codec("AMR-12.2-BE").value();
  const Codec aligned = find_codec("AMR-12.2").value();
  CHECK(rtpload::same_frames(efficient, aligned));
  CHECK_FALSE(rtpload::same_frames(efficient, find_codec("AMR-5.90").value()));
  const auto packet = make_packet(efficient, {3, 1, 99});
  CHECK(read_packet(packet, aligned, kSeed).verdict == PacketVerdict::corrupted);
  CHECK(read_packet(make_packet(aligned, {3, 1, 99}), efficient, kSeed).verdict ==
        PacketVerdict::corrupted);
  constexpr std::size_t kBits = 10 + 244;
  for (std::size_t bit = 0; bit < kBits; ++bit) {
    auto changed = packet;
    changed[kRtpHeaderBytes + bit / 8] ^= static_cast<std::uint8_t>(0x80U >> (bit % 8));
    CHECK(read_packet(changed, efficient, kSeed).verdict == PacketVerdict::corrupted);
  }
}

TEST_CASE("payload sizes and signatures are those of the codecs") {
  struct Expectation {
    const char* name;
    std::size_t bytes;
    std::vector<std::uint8_t> begin;
  };
  const std::array<Expectation, 8> expectations{{{"GSM-EFR", 31, {0xc0}},
                                                 {"gsm-fr", 33, {0xd0}},
                                                 {"AMR", 33, {0xf0, 0x3c}},
                                                 {"AMR-12.2", 33, {0xf0, 0x3c}},
                                                 {"AMR-5.90", 17, {0xf0, 0x14}},
                                                 {"AMR-4.75", 14, {0xf0, 0x04}},
                                                 {"PCMA", 160, {}},
                                                 {"PCMU", 160, {}}}};
  for (const Expectation& expected : expectations) {
    CAPTURE(expected.name);
    const Codec codec = find_codec(expected.name).value();
    CHECK(codec.payload_bytes == expected.bytes);
    const auto packet = make_packet(codec, {5, 6, 7});
    CHECK(
        std::equal(expected.begin.begin(), expected.begin.end(), packet.begin() + kRtpHeaderBytes));
  }
  CHECK_FALSE(find_codec("Opus").has_value());
  CHECK_FALSE(find_codec("").has_value());
}

TEST_CASE("padding bits after the speech bits of an AMR frame are zero") {
  const Codec codec = find_codec("AMR-5.90").value();  // 118 bits: two are left over in 15 octets
  for (std::uint32_t sequence = 0; sequence < 200; ++sequence) {
    CHECK((make_packet(codec, {1, sequence, 9}).back() & 0x03) == 0);
  }
}

TEST_CASE("no changed bit of the payload or of the header's first two octets goes unnoticed") {
  const Codec codec = find_codec("GSM-EFR").value();
  const auto packet = make_packet(codec, {3, 1, 99});
  for (std::size_t bit = 0; bit < packet.size() * 8; ++bit) {
    const std::size_t octet = bit / 8;
    const bool may_be_patched = octet >= 2 && octet < kRtpHeaderBytes;  // sequence, timestamp, SSRC
    if (may_be_patched) {
      continue;
    }
    CAPTURE(bit);
    auto changed = packet;
    changed[octet] = static_cast<std::uint8_t>(changed[octet] ^ (0x80U >> (bit % 8)));
    CHECK(read_packet(changed, codec, kSeed).verdict == PacketVerdict::corrupted);
  }
}

TEST_CASE(
    "a packet of another size, codec or run is corrupted, a gateway's dummy is a keep-alive") {
  const Codec codec = find_codec("GSM-EFR").value();
  auto packet = make_packet(codec, {3, 1, 99});
  CHECK(read_packet(packet, codec, kSeed + 1).verdict == PacketVerdict::corrupted);
  CHECK(read_packet(packet, find_codec("PCMA").value(), kSeed).verdict == PacketVerdict::corrupted);
  packet.push_back(0);
  CHECK(read_packet(packet, codec, kSeed).verdict == PacketVerdict::corrupted);
  packet.resize(packet.size() - 2);
  CHECK(read_packet(packet, codec, kSeed).verdict == PacketVerdict::corrupted);
  packet.resize(1);
  CHECK(read_packet(packet, codec, kSeed).verdict == PacketVerdict::keep_alive);
  CHECK(read_packet({}, codec, kSeed).verdict == PacketVerdict::keep_alive);
}

TEST_CASE("the RTP header counts sequence and timestamp up and marks the first packet only") {
  const Codec codec = find_codec("PCMA").value();
  const RtpOrigin origin = rtp_origin(kSeed, 8);
  for (const std::uint32_t sequence : {0U, 1U, 65535U, 65536U, 200000U}) {
    const auto packet = make_packet(codec, {8, sequence, 0});
    const ReceivedPacket read = read_packet(packet, codec, kSeed);
    CHECK(packet[0] == 0x80);
    CHECK(packet[1] == (sequence == 0 ? 0x88 : 0x08));
    CHECK(read.rtp_sequence == static_cast<std::uint16_t>(origin.sequence + sequence));
    CHECK(read.rtp_timestamp == origin.timestamp + sequence * 160);
  }
}

TEST_CASE("streams have different SSRCs") {
  std::set<std::uint32_t> ssrcs;
  for (std::uint32_t stream = 0; stream < 10000; ++stream) {
    ssrcs.insert(rtp_origin(kSeed, stream).ssrc);
  }
  CHECK(ssrcs.size() == 10000);
}

TEST_CASE("a stamp tells the time passed, also when it wraps, and never a negative one") {
  constexpr std::uint64_t kWrap = std::uint64_t{1} << 38U;  // 32 bits of 64 ns
  for (const std::uint64_t sent :
       {std::uint64_t{0}, std::uint64_t{1'000'000'000}, kWrap - 640, 5 * kWrap - 64}) {
    CHECK(nanoseconds_since(make_stamp(sent), sent) == 0);
    CHECK(nanoseconds_since(make_stamp(sent), sent + 64'000) == 64'000);
    CHECK(nanoseconds_since(make_stamp(sent), sent + 100'000'000'032) / 64 == 100'000'000'032 / 64);
    CHECK(nanoseconds_since(make_stamp(sent + 64'000), sent) == 0);
  }
}

TEST_CASE("a sender report is a compound of SR and SDES whose lengths add up") {
  std::array<std::uint8_t, 64> buffer{};
  const std::size_t size = write_sender_report(buffer, {0x01020304, 1'500'000'000, 160, 2, 62});
  CHECK(size == kSenderReportBytes);
  CHECK(is_rtcp(std::span(buffer).first(size)));
  const std::size_t first = (std::size_t{buffer[3]} + 1) * 4;
  CHECK(buffer[1] == 200);
  CHECK(buffer[first + 1] == 202);
  CHECK(first + (std::size_t{buffer[first + 3]} + 1) * 4 == size);
  // NTP time: 2208988800 + 1 s, and a half.
  CHECK(std::vector<std::uint8_t>(buffer.begin() + 8, buffer.begin() + 16) ==
        std::vector<std::uint8_t>{0x83, 0xaa, 0x7e, 0x81, 0x80, 0, 0, 0});
  CHECK_FALSE(is_rtcp(std::span(buffer).first(7)));
  buffer[1] = 96;
  CHECK_FALSE(is_rtcp(std::span(buffer).first(size)));
}
