// Capture files byte by byte.

#include "mgw/pcap_format.h"

#include "tests/sim/sim_world.h"

#include <doctest/doctest.h>

#include <chrono>

using namespace std::chrono_literals;
using sim::from_hex;

namespace {

constexpr io::Duration kTime = 1'600'000'000s + 123'456'789ns;

std::vector<std::byte> packet_of(const char* source, const char* destination,
                                 const std::vector<std::byte>& payload, std::size_t size) {
  std::vector<std::byte> out;
  mgw::append_pcap_packet(
      out, {kTime, sim::address(source, 5000), sim::address(destination, 6000), payload, size});
  return out;
}

}  // namespace

TEST_CASE("a file begins as pcap with nanoseconds and raw IP packets") {
  std::vector<std::byte> out;
  mgw::append_pcap_header(out);
  CHECK(out == from_hex("a1b23c4d000200040000000000000000"
                        "0000ffff00000065"));
  CHECK(out.size() == mgw::kPcapHeaderBytes);
}

TEST_CASE("an IPv4 packet has its headers, lengths and checksums") {
  CHECK(packet_of("192.0.2.1", "203.0.113.9", from_hex("80000001ff"), 5) ==
        from_hex("5f5e1000075bcd15"
                 "0000002100000021"
                 "450000210000400040113cc1"
                 "c0000201cb007109"
                 "13881770000d57ce"
                 "80000001ff"));
}

TEST_CASE("an IPv6 packet has its headers, lengths and checksum") {
  CHECK(packet_of("2001:db8::1", "2001:db8::2", from_hex("0102"), 2) ==
        from_hex("5f5e1000075bcd15"
                 "0000003200000032"
                 "60000000000a1140"
                 "20010db8000000000000000000000001"
                 "20010db8000000000000000000000002"
                 "13881770000a786b"
                 "0102"));
}

TEST_CASE("a cut packet tells its whole length and has no UDP checksum") {
  const auto out = packet_of("192.0.2.1", "203.0.113.9", from_hex("0102"), 500);
  const std::vector<std::byte> lengths(out.begin() + 8, out.begin() + 16);
  CHECK(lengths == from_hex("0000001e00000210"));
  const std::vector<std::byte> udp(out.begin() + 36, out.end());
  CHECK(udp == from_hex("1388177001fc00000102"));
}

TEST_CASE("an unknown side is the unspecified address of the other side's family") {
  std::vector<std::byte> out;
  mgw::append_pcap_packet(out, {kTime, {}, sim::address("::1", 9), {}, 0});
  CHECK(out.size() == mgw::kPcapPacketOverheadBytes);
  CHECK(out[16] == std::byte{0x60});
  CHECK(out[16 + 39] == std::byte{1});
}
