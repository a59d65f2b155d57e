#pragma once
// Control and data PDUs for the tests of Iu UP links.

#include "rtp/iuup_link.h"
#include "tests/unit/rtp/iuup_test_sets.h"
#include "tests/unit/rtp/test_packets.h"

#include <chrono>
#include <cstdint>
#include <utility>

namespace test {

/// When the tests begin.
inline constexpr io::TimePoint kStart{std::chrono::hours(1)};

inline Bytes reply_of(const rtp::IuupReceived& received) {
  return {received.reply.bytes().begin(), received.reply.bytes().end()};
}

/// What is due, empty if nothing.
inline Bytes due(rtp::IuupLink& link, io::TimePoint now) {
  Bytes out(rtp::kIuupInitialisationBytesMax);
  out.resize(link.on_timer(now, out));
  return out;
}

inline Bytes control(rtp::IuupAcknowledgement acknowledgement, rtp::IuupProcedure procedure,
                     const Bytes& payload, std::uint8_t number = 0, std::uint8_t version = 0) {
  return written_control({acknowledgement, number, version, procedure, payload});
}

inline Bytes request(rtp::IuupProcedure procedure, const char* payload, std::uint8_t number = 0) {
  return control(rtp::IuupAcknowledgement::procedure, procedure, from_hex(payload), number);
}

inline Bytes ack(rtp::IuupProcedure procedure, std::uint8_t number = 0, std::uint8_t version = 0) {
  return control(rtp::IuupAcknowledgement::ack, procedure, {}, number, version);
}

inline Bytes nack(rtp::IuupProcedure procedure, rtp::IuupCause cause, std::uint8_t number = 0) {
  return control(rtp::IuupAcknowledgement::nack, procedure,
                 {static_cast<std::byte>(static_cast<unsigned>(cause) << 2U)}, number);
}

inline Bytes data(std::uint8_t number = 0, std::uint8_t rfci = 0) {
  static const Bytes speech(31);
  return written_data(rtp::IuupPduType::data_with_crc,
                      {number, rtp::IuupFrameQuality::good, rfci, speech});
}

inline rtp::IuupConfiguration with_versions(rtp::IuupConfiguration set, std::uint16_t versions) {
  set.versions = versions;
  return set;
}

}  // namespace test
