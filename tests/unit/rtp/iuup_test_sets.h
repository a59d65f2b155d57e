#pragma once
// RFCI sets for the Iu UP tests of this folder.

#include "rtp/iuup_pdu.h"
#include "tests/unit/rtp/test_packets.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace test {

struct Rfci {
  std::uint8_t id;
  std::vector<std::uint16_t> bits;
};

/// An RFCI set for mode version 1, data with CRC and no intervals.
inline rtp::IuupConfiguration iuup_set(std::initializer_list<Rfci> rfcis) {
  rtp::IuupConfiguration set;
  set.versions = 1;
  for (const Rfci& rfci : rfcis) {
    rtp::IuupRfci& added = set.rfcis[set.rfci_count++];
    added.id = rfci.id;
    set.subflow_count = static_cast<std::uint8_t>(rfci.bits.size());
    for (std::size_t flow = 0; flow < rfci.bits.size(); ++flow) {
      added.subflow_bits[flow] = rfci.bits[flow];
    }
  }
  return set;
}

/// AMR 12.2, SID and NO_DATA, as a femtocell asks for them.
inline rtp::IuupConfiguration amr_122_set() {
  return iuup_set({{0, {81, 103, 60}}, {1, {39, 0, 0}}, {2, {0, 0, 0}}});
}

/// The same with the numbers 1, 2, 0.
inline rtp::IuupConfiguration unordered_set() {
  return iuup_set({{1, {81, 103, 60}}, {2, {39, 0, 0}}, {0, {0, 0, 0}}});
}

/// All modes of AMR (3GPP TS 26.101 table 2), SID and NO_DATA; the numbers go down.
inline rtp::IuupConfiguration amr_all_modes_set() {
  return iuup_set({{19, {42, 53, 0}},
                   {18, {49, 54, 0}},
                   {17, {55, 63, 0}},
                   {16, {58, 76, 0}},
                   {15, {61, 87, 0}},
                   {14, {75, 84, 0}},
                   {13, {65, 99, 40}},
                   {12, {81, 103, 60}},
                   {11, {39, 0, 0}},
                   {10, {0, 0, 0}}});
}

/// All modes of AMR-WB (3GPP TS 26.201 table 2), SID and NO_DATA.
inline rtp::IuupConfiguration amr_wb_all_modes_set() {
  return iuup_set({{0, {54, 78}},
                   {1, {64, 113}},
                   {2, {72, 181}},
                   {3, {72, 213}},
                   {4, {72, 245}},
                   {5, {72, 293}},
                   {6, {72, 325}},
                   {7, {72, 389}},
                   {8, {72, 405}},
                   {62, {40, 0}},
                   {63, {0, 0}}});
}

/// PDUs, each in a buffer of its own.
inline Bytes written_control(const rtp::IuupControl& control) {
  Bytes out(rtp::kIuupInitialisationBytesMax);
  out.resize(rtp::write_iuup_control(control, out));
  return out;
}

inline Bytes written_initialisation(const rtp::IuupConfiguration& set, std::uint8_t number = 0) {
  Bytes out(rtp::kIuupInitialisationBytesMax);
  out.resize(rtp::write_iuup_initialisation(set, number, out));
  return out;
}

inline Bytes written_data(rtp::IuupPduType type, const rtp::IuupData& data) {
  Bytes out(rtp::kIuupHeaderBytesMax + data.payload.size());
  out.resize(rtp::write_iuup_data(type, data, out));
  return out;
}

}  // namespace test
