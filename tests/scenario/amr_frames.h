#pragma once
// AMR and AMR-WB frames for tests, put together bit by bit, and the sets of RFCIs to carry them.

#include "rtp/iuup_pdu.h"
#include "tests/sim/rtp_peer.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace scenario {

/// A frame type and its speech bits, by class (3GPP TS 26.101 and 26.201, table 2).
struct AmrMode {
  std::uint8_t type = 0;
  std::array<std::uint16_t, 3> class_bits{};
  [[nodiscard]] unsigned bits() const noexcept {
    return static_cast<unsigned>(class_bits[0]) + class_bits[1] + class_bits[2];
  }
};

inline constexpr std::array<AmrMode, 10> kAmrModes = {{{0, {42, 53, 0}},
                                                       {1, {49, 54, 0}},
                                                       {2, {55, 63, 0}},
                                                       {3, {58, 76, 0}},
                                                       {4, {61, 87, 0}},
                                                       {5, {75, 84, 0}},
                                                       {6, {65, 99, 40}},
                                                       {7, {81, 103, 60}},
                                                       {8, {39, 0, 0}},
                                                       {15, {0, 0, 0}}}};
inline constexpr std::array<AmrMode, 11> kAmrWbModes = {{{0, {54, 78, 0}},
                                                         {1, {64, 113, 0}},
                                                         {2, {72, 181, 0}},
                                                         {3, {72, 213, 0}},
                                                         {4, {72, 245, 0}},
                                                         {5, {72, 293, 0}},
                                                         {6, {72, 325, 0}},
                                                         {7, {72, 389, 0}},
                                                         {8, {72, 405, 0}},
                                                         {9, {40, 0, 0}},
                                                         {15, {0, 0, 0}}}};

/// The RFCIs of all these modes, numbered on from `first`.
template <std::size_t Count>
rtp::IuupConfiguration rfcis_of(const std::array<AmrMode, Count>& modes, std::uint8_t first,
                                bool by_time = true) {
  rtp::IuupConfiguration set;
  for (std::size_t i = 0; i < Count; ++i) {
    rtp::IuupRfci& rfci = set.rfcis[i];
    rfci.id = static_cast<std::uint8_t>(first + i);
    rfci.interval = by_time ? 1 : 0;
    for (std::size_t flow = 0; flow < 3; ++flow) {
      rfci.subflow_bits[flow] = modes[i].class_bits[flow];
    }
  }
  set.rfci_count = static_cast<std::uint8_t>(Count);
  set.subflow_count = 3;
  set.has_intervals = by_time;
  set.versions = 1;
  return set;
}

/// So many speech bits that depend on `seed`; the bits behind them are 0.
inline sim::Bytes speech_bits(unsigned bits, std::uint32_t seed) {
  sim::Bytes speech((bits + 7) / 8);
  std::uint32_t state = 0x2545f491U * (seed + 1) + bits;
  for (unsigned bit = 0; bit < bits; ++bit) {
    state = state * 1103515245U + 12345U;
    speech[bit / 8] |= static_cast<std::byte>((state >> 16U & 1U) << (7 - bit % 8));
  }
  return speech;
}

/// An RTP payload of one frame (RFC 4867 section 4.3 or 4.4).
inline sim::Bytes amr_payload(bool octet_aligned, unsigned mode_request, unsigned type, bool good,
                              const sim::Bytes& speech, unsigned bits) {
  std::vector<bool> out;
  const auto put = [&out](unsigned value, int width) {
    for (int bit = width - 1; bit >= 0; --bit) {
      out.push_back((value >> static_cast<unsigned>(bit) & 1U) != 0);
    }
  };
  put(mode_request, 4);
  put(0, octet_aligned ? 4 : 0);
  put(type << 1U | (good ? 1U : 0U), 6);  // F is 0
  put(0, octet_aligned ? 2 : 0);
  for (unsigned bit = 0; bit < bits; ++bit) {
    out.push_back((static_cast<unsigned>(speech[bit / 8]) >> (7 - bit % 8) & 1U) != 0);
  }
  sim::Bytes bytes((out.size() + 7) / 8);
  for (std::size_t bit = 0; bit < out.size(); ++bit) {
    if (out[bit]) {
      bytes[bit / 8] |= static_cast<std::byte>(0x80U >> bit % 8);
    }
  }
  return bytes;
}

}  // namespace scenario
