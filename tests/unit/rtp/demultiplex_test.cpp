// Sorting of datagrams by their first octets: the whole range of both octets.
#include "rtp/demultiplex.h"

#include <doctest/doctest.h>

#include <array>

namespace {

using rtp::PacketKind;

PacketKind kind_of(unsigned first, unsigned second) {
  const std::array<std::byte, 12> datagram{static_cast<std::byte>(first),
                                           static_cast<std::byte>(second)};
  return rtp::classify(datagram);
}

}  // namespace

TEST_CASE("the first octet sorts RTP, STUN, ZRTP, DTLS and TURN as RFC 7983 says") {
  for (unsigned first = 0; first < 256; ++first) {
    PacketKind expected = PacketKind::other;
    if (first <= 3) {
      expected = PacketKind::stun;
    } else if (first >= 16 && first <= 19) {
      expected = PacketKind::zrtp;
    } else if (first >= 20 && first <= 63) {
      expected = PacketKind::dtls;
    } else if (first >= 64 && first <= 79) {
      expected = PacketKind::turn_channel;
    } else if (first >= 128 && first <= 191) {
      expected = PacketKind::rtp;
    }
    CHECK(kind_of(first, 0) == expected);
  }
}

TEST_CASE("the second octet parts RTCP from RTP as RFC 5761 says") {
  for (unsigned second = 0; second < 256; ++second) {
    const bool is_rtcp = second >= 192 && second <= 223;
    CHECK(kind_of(0x80, second) == (is_rtcp ? PacketKind::rtcp : PacketKind::rtp));
    CHECK(kind_of(0xbf, second) == (is_rtcp ? PacketKind::rtcp : PacketKind::rtp));
    CHECK(kind_of(20, second) == PacketKind::dtls);
  }
}

TEST_CASE("one octet 0x23 is a keep-alive, in a longer datagram it is not") {
  CHECK(rtp::classify(std::array{std::byte{0x23}}) == PacketKind::keep_alive);
  CHECK(rtp::classify(std::array{std::byte{0x23}, std::byte{0}}) == PacketKind::dtls);
  CHECK(rtp::classify(std::array{std::byte{0x22}}) == PacketKind::dtls);
  CHECK(rtp::classify(std::array{std::byte{0x80}}) == PacketKind::rtp);
  CHECK(rtp::classify({}) == PacketKind::other);
}
