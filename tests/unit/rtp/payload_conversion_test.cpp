// Conversions of whole packets: CSRCs, extension and padding are honoured.
#include "rtp/payload_conversion.h"

#include "tests/unit/rtp/test_packets.h"

#include <doctest/doctest.h>

#include <array>

namespace {

using rtp::Conversion;
using rtp::ConversionError;
using test::Bytes;
using test::from_hex;

struct Headers {
  const char* plain;
  const char* padded;
};

/// Without anything, with 2 CSRCs, with an extension, and with both; the second form has the P bit
/// set.
constexpr Headers kHeaders[] = {
    {"80 70 0001 00000002 00000003", "a0 70 0001 00000002 00000003"},
    {"82 f0 0001 00000002 00000003 11111111 22222222",
     "a2 f0 0001 00000002 00000003 11111111 22222222"},
    {"90 70 0001 00000002 00000003 bede0001 44444444",
     "b0 70 0001 00000002 00000003 bede0001 44444444"},
    {"91 70 0001 00000002 00000003 11111111 bede0000",
     "b1 70 0001 00000002 00000003 11111111 bede0000"},
};

struct Pair {
  Conversion conversion;
  const char* from;
  const char* to;
};

constexpr Pair kPairs[] = {
    {Conversion::amr_to_bandwidth_efficient, "2014e959f35fdfe5e9667ffbc088818088",
     "217a567cd7f7f97a599ffef022206022"},
    {Conversion::amr_to_octet_aligned, "217a567cd7f7f97a599ffef022206022",
     "2014e959f35fdfe5e9667ffbc088818088"},
    {Conversion::amr_wb_to_bandwidth_efficient, "f04c ffffffffff", "f4ffffffffffc0"},
    {Conversion::amr_wb_to_octet_aligned, "f4ffffffffffc0", "f04c ffffffffff"},
    {Conversion::gsm_hr_toggle, "0b11b3eede60be4e3ec68838c7b5", "000b11b3eede60be4e3ec68838c7b5"},
    {Conversion::gsm_hr_toggle, "000b11b3eede60be4e3ec68838c7b5", "0b11b3eede60be4e3ec68838c7b5"},
    {Conversion::gsm_hr_to_rfc5993, "0b11b3eede60be4e3ec68838c7b5",
     "000b11b3eede60be4e3ec68838c7b5"},
    {Conversion::gsm_hr_to_ts101318, "000b11b3eede60be4e3ec68838c7b5",
     "0b11b3eede60be4e3ec68838c7b5"},
    {Conversion::gsm_to_extended,
     "d760a2e177503e681bd129615ab83e5c9cb52bb6b706f9ca56d4f037f7837a86bc",
     "e0d760a2e177503e681bd129615ab83e5c9cb52bb6b706f9ca56d4f037f7837a86bc"},
    {Conversion::gsm_to_bare,
     "e9d760a2e177503e681bd129615ab83e5c9cb52bb6b706f9ca56d4f037f7837a86bc",
     "d760a2e177503e681bd129615ab83e5c9cb52bb6b706f9ca56d4f037f7837a86bc"},
    {Conversion::gsm_efr_to_extended,
     "c760a2e177503e681bd129615ab83e5c9cb52bb6b706f9ca56d4f037f7837a",
     "e0c760a2e177503e681bd129615ab83e5c9cb52bb6b706f9ca56d4f037f7837a"},
    {Conversion::gsm_efr_to_bare,
     "e1c760a2e177503e681bd129615ab83e5c9cb52bb6b706f9ca56d4f037f7837a",
     "c760a2e177503e681bd129615ab83e5c9cb52bb6b706f9ca56d4f037f7837a"},
};

Bytes joined(const Bytes& front, const Bytes& back) {
  Bytes all = front;
  all.insert(all.end(), back.begin(), back.end());
  return all;
}

}  // namespace

TEST_CASE("every conversion keeps CSRCs, extension and header and takes padding off") {
  for (const Pair& pair : kPairs) {
    for (const Headers& headers : kHeaders) {
      for (const std::size_t padding : {0U, 1U, 4U, 100U}) {
        Bytes packet =
            joined(from_hex(padding == 0 ? headers.plain : headers.padded), from_hex(pair.from));
        packet.resize(packet.size() + padding);
        if (padding > 0) {
          packet.back() = static_cast<std::byte>(padding);
        }
        auto header = rtp::parse_rtp(packet);
        REQUIRE(header.has_value());
        packet.resize(packet.size() + 8, std::byte{0x5a});  // room to grow
        const auto size = rtp::convert_payload(pair.conversion, packet, *header);
        REQUIRE(size.has_value());
        packet.resize(*size);
        CHECK(packet == joined(from_hex(headers.plain), from_hex(pair.to)));
        const auto again = rtp::parse_rtp(packet);
        REQUIRE(again.has_value());
        CHECK(header->payload_size == again->payload_size);
        CHECK(header->payload_offset == again->payload_offset);
        CHECK(header->padding_size == 0);
      }
    }
  }
}

TEST_CASE("every conversion is among those tested here") {
  std::array<bool, rtp::kConversionCount> seen{};
  seen[static_cast<std::size_t>(Conversion::none)] = true;
  for (const Pair& pair : kPairs) {
    seen[static_cast<std::size_t>(pair.conversion)] = true;
  }
  for (const bool one : seen) {
    CHECK(one);
  }
}

TEST_CASE("without a conversion a packet stays whole, padding included") {
  Bytes packet = from_hex("a0 08 0001 00000002 00000003 aabb 0003");
  packet.back() = std::byte{3};
  const Bytes before = packet;
  auto header = rtp::parse_rtp(packet);
  REQUIRE(header.has_value());
  CHECK(rtp::convert_payload(Conversion::none, packet, *header) == before.size());
  CHECK(packet == before);
  CHECK(header->padding_size == 3);
}

TEST_CASE("a packet that can't be converted, or has no room to grow, is not touched") {
  for (const Pair& pair : kPairs) {
    Bytes packet = joined(from_hex("a0 70 0001 00000002 00000003"), from_hex(pair.from));
    packet.resize(packet.size() + 2, std::byte{0xdd});
    packet.push_back(std::byte{1});
    const Bytes before = packet;
    auto header = rtp::parse_rtp(packet);
    REQUIRE(header.has_value());
    const auto size = rtp::convert_payload(pair.conversion, packet, *header);
    REQUIRE_FALSE(size.has_value());
    CHECK(packet == before);
    CHECK(header->padding_size == 1);
    CHECK(header->payload_size == from_hex(pair.from).size() + 2);
  }
  Bytes packet = from_hex("80 70 0001 00000002 00000003 217a567cd7f7f97a599ffef022206022");
  const Bytes before = packet;
  auto header = rtp::parse_rtp(packet);
  REQUIRE(header.has_value());
  const auto size = rtp::convert_payload(Conversion::amr_to_octet_aligned, packet, *header);
  REQUIRE_FALSE(size.has_value());
  CHECK(size.error() == ConversionError::no_room);
  CHECK(packet == before);
}

TEST_CASE("an empty payload can't be converted") {
  for (const Pair& pair : kPairs) {
    Bytes packet = from_hex("80 70 0001 00000002 00000003");
    auto header = rtp::parse_rtp(packet);
    REQUIRE(header.has_value());
    CHECK_FALSE(rtp::convert_payload(pair.conversion, packet, *header).has_value());
  }
}

TEST_CASE("each conversion error has a name of its own") {
  CHECK(rtp::to_string(ConversionError::wrong_length) == "wrong_length");
  CHECK(rtp::to_string(ConversionError::invalid_frame_type) == "invalid_frame_type");
  CHECK(rtp::to_string(ConversionError::too_many_frames) == "too_many_frames");
  CHECK(rtp::to_string(ConversionError::no_equivalent) == "no_equivalent");
  CHECK(rtp::to_string(ConversionError::no_room) == "no_room");
}
