// Iu UP PDUs: known vectors, CRCs against a bit by bit reference, every field there and back, every
// refusal.
#include "rtp/iuup_pdu.h"

#include "tests/unit/rtp/iuup_test_sets.h"
#include "tests/unit/rtp/test_packets.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

namespace {

using rtp::IuupAcknowledgement;
using rtp::IuupCause;
using rtp::IuupConfiguration;
using rtp::IuupControl;
using rtp::IuupData;
using rtp::IuupFrameQuality;
using rtp::IuupMalformed;
using rtp::IuupPduType;
using rtp::IuupProcedure;
using rtp::IuupRates;
using test::Bytes;
using test::from_hex;

const char* const kInitialisation = "e000de6e 06 0051673c 01270000 82000000 0001 00";

/// A CRC as the standard draws it: a shift register, one bit at a time.
unsigned reference_crc(const Bytes& bytes, unsigned polynomial, unsigned width) {
  unsigned crc = 0;
  for (const std::byte octet : bytes) {
    for (int bit = 7; bit >= 0; --bit) {
      const unsigned in = std::to_integer<unsigned>(octet) >> bit & 1U;
      const unsigned top = crc >> (width - 1U) & 1U;
      crc = crc << 1U & ((1U << width) - 1U);
      crc ^= (in ^ top) != 0 ? polynomial : 0U;
    }
  }
  return crc;
}

/// Gives the header its CRCs, whatever its fields say.
Bytes with_crcs(Bytes pdu) {
  const Bytes header(pdu.begin(), pdu.begin() + 2);
  const Bytes payload(pdu.begin() + 4, pdu.end());
  const unsigned header_crc = reference_crc(header, 0x2f, 6);
  const unsigned payload_crc = reference_crc(payload, 0x233, 10);
  pdu[2] = static_cast<std::byte>(header_crc << 2U | payload_crc >> 8U);
  pdu[3] = static_cast<std::byte>(payload_crc & 0xffU);
  return pdu;
}

IuupControl control_of(const Bytes& pdu) {
  const auto parsed = rtp::parse_iuup(pdu);
  REQUIRE(parsed.has_value());
  REQUIRE(std::holds_alternative<IuupControl>(*parsed));
  return std::get<IuupControl>(*parsed);
}

IuupData data_of(const Bytes& pdu) {
  const auto parsed = rtp::parse_iuup(pdu);
  REQUIRE(parsed.has_value());
  REQUIRE(std::holds_alternative<IuupData>(*parsed));
  return std::get<IuupData>(*parsed);
}

void check_malformed(const Bytes& pdu, IuupMalformed cause) {
  const auto parsed = rtp::parse_iuup(pdu);
  REQUIRE_FALSE(parsed.has_value());
  CHECK(parsed.error() == cause);
}

Bytes initialisation_payload(const char* digits) {
  return from_hex(digits);
}

void check_refused(const Bytes& payload, IuupCause cause) {
  const auto parsed = rtp::parse_iuup_initialisation(payload);
  REQUIRE_FALSE(parsed.has_value());
  CHECK(parsed.error() == cause);
}

bool same_bytes(std::span<const std::byte> left, const Bytes& right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end());
}

}  // namespace

TEST_CASE("the CRCs of Iu UP are those of a bit by bit register") {
  test::Random random(1);
  for (int round = 0; round < 2000; ++round) {
    const Bytes bytes = random.bytes(2 + random.below(60));
    CHECK(rtp::iuup_header_crc(bytes[0], bytes[1]) == reference_crc({bytes[0], bytes[1]}, 0x2f, 6));
    CHECK(rtp::iuup_payload_crc(bytes) == reference_crc(bytes, 0x233, 10));
  }
  CHECK(rtp::iuup_payload_crc({}) == 0);
}

TEST_CASE("an initialisation of a femtocell is read and written bit by bit") {
  const Bytes pdu = from_hex(kInitialisation);
  const IuupControl control = control_of(pdu);
  CHECK(control.acknowledgement == IuupAcknowledgement::procedure);
  CHECK(control.procedure == IuupProcedure::initialisation);
  CHECK(control.frame_number == 0);
  const auto set = rtp::parse_iuup_initialisation(control.payload);
  REQUIRE(set.has_value());
  CHECK(*set == test::amr_122_set());
  CHECK(test::written_initialisation(*set) == pdu);

  IuupConfiguration onward = *set;
  onward.versions = 3;
  CHECK(test::written_initialisation(onward) ==
        from_hex("e000de7d060051673c0127000082000000000300"));
}

TEST_CASE("acknowledgement, refusal and data have the known headers") {
  IuupControl ack;
  ack.acknowledgement = IuupAcknowledgement::ack;
  CHECK(test::written_control(ack) == from_hex("e4002400"));

  IuupControl nack;
  nack.acknowledgement = IuupAcknowledgement::nack;
  nack.frame_number = 1;
  const Bytes cause = from_hex("20");
  nack.payload = cause;
  CHECK(test::written_control(nack) == from_hex("e900700020"));
  CHECK(rtp::parse_iuup_nack(control_of(from_hex("e900700020")).payload) ==
        IuupCause::frame_too_short);

  IuupData no_data;
  no_data.rfci = 2;
  CHECK(test::written_data(IuupPduType::data_with_crc, no_data) == from_hex("0002c400"));

  const Bytes speech = from_hex("4f28959ffeb80181f5c4e83d176c897b4a4e333298333419a493ca63ded6e0");
  const IuupData frame{3, IuupFrameQuality::good, 0, speech};
  const Bytes pdu = test::written_data(IuupPduType::data_with_crc, frame);
  CHECK(Bytes(pdu.begin(), pdu.begin() + 4) == from_hex("03009c1e"));
}

TEST_CASE("data PDUs of both types keep every field and every octet") {
  test::Random random(2);
  for (const auto type : {IuupPduType::data_with_crc, IuupPduType::data_without_crc}) {
    for (int round = 0; round < 1000; ++round) {
      const Bytes payload = random.bytes(random.below(3) == 0 ? 0 : random.below(100));
      const IuupData data{static_cast<std::uint8_t>(random.below(16)),
                          static_cast<IuupFrameQuality>(random.below(4)),
                          static_cast<std::uint8_t>(random.below(64)), payload};
      const Bytes pdu = test::written_data(type, data);
      CHECK(pdu.size() == payload.size() + (type == IuupPduType::data_with_crc ? 4 : 3));
      const IuupData read = data_of(pdu);
      CHECK(read.frame_number == data.frame_number);
      CHECK(read.quality == data.quality);
      CHECK(read.rfci == data.rfci);
      CHECK(same_bytes(read.payload, payload));
    }
  }
}

TEST_CASE("control PDUs keep every field") {
  const Bytes payload = from_hex("0123456789");
  for (const auto acknowledgement :
       {IuupAcknowledgement::procedure, IuupAcknowledgement::ack, IuupAcknowledgement::nack}) {
    for (std::uint8_t value = 0; value < 16; ++value) {
      const IuupControl control{acknowledgement, static_cast<std::uint8_t>(value % 4), value,
                                static_cast<IuupProcedure>(15 - value), payload};
      const Bytes pdu = test::written_control(control);
      const IuupControl read = control_of(pdu);
      CHECK(read.acknowledgement == acknowledgement);
      CHECK(read.frame_number == control.frame_number);
      CHECK(read.mode_version == value);
      CHECK(read.procedure == control.procedure);
      CHECK(same_bytes(read.payload, payload));
    }
  }
}

TEST_CASE("a payload that lies in the buffer is moved behind the header") {
  test::Random random(3);
  for (const std::size_t offset : {std::size_t{0}, std::size_t{2}, std::size_t{12}}) {
    Bytes buffer = random.bytes(64);
    const Bytes payload(buffer.begin() + static_cast<std::ptrdiff_t>(offset),
                        buffer.begin() + static_cast<std::ptrdiff_t>(offset) + 31);
    const IuupData data{0, IuupFrameQuality::good, 0, std::span(buffer).subspan(offset, 31)};
    const std::size_t size = rtp::write_iuup_data(IuupPduType::data_with_crc, data, buffer);
    REQUIRE(size == 35);
    buffer.resize(size);
    CHECK(same_bytes(data_of(buffer).payload, payload));
  }
}

TEST_CASE("every single flipped bit of a PDU with CRCs is noticed") {
  test::Random random(4);
  const Bytes speech = random.bytes(31);
  const IuupData data{5, IuupFrameQuality::good, 1, speech};
  for (const Bytes& pdu :
       {test::written_data(IuupPduType::data_with_crc, data), from_hex(kInitialisation)}) {
    for (std::size_t bit = 0; bit < pdu.size() * 8; ++bit) {
      Bytes damaged = pdu;
      damaged[bit / 8] ^= static_cast<std::byte>(0x80U >> bit % 8);
      CHECK_FALSE(rtp::parse_iuup(damaged).has_value());
    }
  }
}

TEST_CASE("what is no PDU is refused with its cause") {
  check_malformed({}, IuupMalformed::too_short);
  check_malformed(from_hex("1000"), IuupMalformed::too_short);
  check_malformed(from_hex("0002c4"), IuupMalformed::too_short);
  check_malformed(from_hex("e40024"), IuupMalformed::too_short);
  check_malformed(from_hex("0002c800"), IuupMalformed::bad_header_crc);
  check_malformed(from_hex("0002c401"), IuupMalformed::bad_payload_crc);
  check_malformed(from_hex("e000de6f060051673c0127000082000000000100"),
                  IuupMalformed::bad_payload_crc);
  for (unsigned type = 2; type < 16; ++type) {
    if (type != 14) {
      check_malformed(
          with_crcs({static_cast<std::byte>(type << 4U), std::byte{0}, std::byte{0}, std::byte{0}}),
          IuupMalformed::unknown_pdu_type);
    }
  }
  check_malformed(with_crcs(from_hex("ec000000")), IuupMalformed::reserved_acknowledgement);
  Bytes longest(4 + rtp::kIuupPayloadBytesMax);
  CHECK(rtp::parse_iuup(with_crcs(longest)).has_value());
  longest.push_back(std::byte{0});
  check_malformed(with_crcs(longest), IuupMalformed::too_long);
}

TEST_CASE("answers are read whatever payload CRC they carry") {
  Bytes ack = from_hex("e4002400");
  ack[3] = std::byte{0x55};
  CHECK(control_of(ack).acknowledgement == IuupAcknowledgement::ack);
  Bytes nack = from_hex("e900700020");
  nack[3] = std::byte{0x55};
  CHECK(control_of(nack).acknowledgement == IuupAcknowledgement::nack);
}

TEST_CASE("nothing is written that does not fit") {
  const Bytes payload(20);
  const IuupData data{0, IuupFrameQuality::good, 0, payload};
  Bytes out(23);
  CHECK(rtp::write_iuup_data(IuupPduType::data_with_crc, data, out) == 0);
  CHECK(rtp::write_iuup_data(IuupPduType::data_without_crc, data, out) == 23);
  CHECK(rtp::write_iuup_control({}, std::span(out).first(3)) == 0);
  const Bytes huge(rtp::kIuupPayloadBytesMax + 1);
  Bytes room(huge.size() + 4);
  CHECK(rtp::write_iuup_data(IuupPduType::data_with_crc, {0, {}, 0, huge}, room) == 0);
  const Bytes pdu = from_hex(kInitialisation);
  for (std::size_t size = 0; size < pdu.size(); ++size) {
    Bytes small(size);
    CHECK(rtp::write_iuup_initialisation(test::amr_122_set(), 0, small) == 0);
  }
  Bytes none;
  CHECK(rtp::write_iuup_rates({0, 3}, none) == 0);
}

TEST_CASE("initialisations of every shape come back equal") {
  test::Random random(5);
  for (int round = 0; round < 500; ++round) {
    IuupConfiguration set;
    set.rfci_count = static_cast<std::uint8_t>(1 + random.below(64));
    set.subflow_count = static_cast<std::uint8_t>(1 + random.below(7));
    set.has_intervals = random.below(2) == 0;
    set.versions = static_cast<std::uint16_t>(random.below(65536));
    set.data_type = static_cast<IuupPduType>(random.below(2));
    for (std::uint8_t index = 0; index < set.rfci_count; ++index) {
      rtp::IuupRfci& rfci = set.rfcis[index];
      rfci.id = static_cast<std::uint8_t>((index * 37U + 5U) % 64U);
      rfci.interval = static_cast<std::uint8_t>(set.has_intervals ? random.below(16) : 0);
      const unsigned limit = random.below(2) == 0 ? 256 : 65536;
      for (std::size_t flow = 0; flow < set.subflow_count; ++flow) {
        rfci.subflow_bits[flow] = static_cast<std::uint16_t>(random.below(limit));
      }
    }
    const Bytes pdu = test::written_initialisation(set, 2);
    const IuupControl control = control_of(pdu);
    CHECK(control.frame_number == 2);
    const auto read = rtp::parse_iuup_initialisation(control.payload);
    REQUIRE(read.has_value());
    CHECK(*read == set);
  }
}

TEST_CASE("the largest initialisation fits the room that is promised for it") {
  IuupConfiguration set;
  set.rfci_count = 64;
  set.subflow_count = 7;
  set.has_intervals = true;
  for (rtp::IuupRfci& rfci : set.rfcis) {
    rfci.subflow_bits.fill(256);
  }
  CHECK(test::written_initialisation(set).size() == rtp::kIuupInitialisationBytesMax);
}

TEST_CASE("intervals stand two in an octet, the first in its upper half") {
  IuupConfiguration set = test::amr_122_set();
  set.has_intervals = true;
  set.rfcis[0].interval = 1;
  set.rfcis[1].interval = 7;
  set.rfcis[2].interval = 1;
  const Bytes pdu = test::written_initialisation(set);
  CHECK(Bytes(pdu.begin() + 4, pdu.end()) ==
        from_hex("16 0051673c 01270000 82000000 1710 0001 00"));
}

TEST_CASE("an initialisation cut anywhere is too short, one with spare octets is read") {
  const Bytes payload = initialisation_payload("16 0051673c 01270000 82000000 1710 0001 00");
  for (std::size_t size = 0; size < payload.size(); ++size) {
    check_refused(Bytes(payload.begin(), payload.begin() + static_cast<std::ptrdiff_t>(size)),
                  IuupCause::frame_too_short);
  }
  Bytes extended = payload;
  extended.resize(payload.size() + 32, std::byte{0xff});
  CHECK(rtp::parse_iuup_initialisation(extended).has_value());
}

TEST_CASE("an initialisation that can't be used is refused with the cause for the peer") {
  check_refused(initialisation_payload("00 80 0001 00"), IuupCause::unexpected_value);
  check_refused(initialisation_payload("07 8051673c 0001 00"), IuupCause::unexpected_value);
  for (unsigned type = 2; type < 16; ++type) {
    Bytes payload = initialisation_payload("06 8051673c 0001 00");
    payload.back() = static_cast<std::byte>(type << 4U);
    check_refused(payload, IuupCause::unexpected_value);
  }
  Bytes endless = from_hex("02");
  for (unsigned index = 0; index < 64; ++index) {
    endless.push_back(static_cast<std::byte>(index));
    endless.push_back(std::byte{8});
  }
  Bytes too_many = endless;
  for (const Bytes& more : {from_hex("8008"), from_hex("000100")}) {
    too_many.insert(too_many.end(), more.begin(), more.end());
  }
  check_refused(too_many, IuupCause::unexpected_rfci);
  Bytes just_enough = endless;
  just_enough[just_enough.size() - 2] |= std::byte{0x80};
  just_enough.insert(just_enough.end(), 3, std::byte{0});
  CHECK(rtp::parse_iuup_initialisation(just_enough)->rfci_count == 64);
}

TEST_CASE("an RFCI is found by its number wherever it was declared") {
  const IuupConfiguration set = test::unordered_set();
  REQUIRE(set.find(0) != nullptr);
  CHECK(set.find(0)->bits() == 0);
  CHECK(set.find(1)->bits() == 244);
  CHECK(set.find(2)->bits() == 39);
  CHECK(set.find(3) == nullptr);
  CHECK(IuupConfiguration{}.find(0) == nullptr);
}

TEST_CASE("sets differ by any RFCI, interval, size, data type, and by nothing behind the last") {
  const IuupConfiguration set = test::amr_122_set();
  IuupConfiguration other = set;
  other.rfcis[5].id = 9;
  CHECK(other == set);
  other.versions = 2;
  CHECK(other.same_set(set));
  CHECK_FALSE(other == set);
  const auto differs = [&](auto change) {
    IuupConfiguration changed = set;
    change(changed);
    return !changed.same_set(set);
  };
  CHECK(differs([](IuupConfiguration& changed) { changed.rfcis[2].id = 3; }));
  CHECK(differs([](IuupConfiguration& changed) { changed.rfcis[1].subflow_bits[0] = 40; }));
  CHECK(differs([](IuupConfiguration& changed) { changed.rfcis[1].interval = 7; }));
  CHECK(differs([](IuupConfiguration& changed) { changed.has_intervals = true; }));
  CHECK(differs([](IuupConfiguration& changed) { changed.rfci_count = 2; }));
  CHECK(differs([](IuupConfiguration& changed) { changed.subflow_count = 4; }));
  CHECK(differs(
      [](IuupConfiguration& changed) { changed.data_type = IuupPduType::data_without_crc; }));
}

TEST_CASE("rate indicators of every count come back equal") {
  test::Random random(6);
  for (unsigned count = 1; count <= 64; ++count) {
    const std::uint64_t bits = std::uint64_t{random.below(0xffffffff)} << 32U | random.below(~0U);
    const std::uint64_t mask = count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
    const IuupRates rates{bits & mask, static_cast<std::uint8_t>(count)};
    Bytes payload(16);
    payload.resize(rtp::write_iuup_rates(rates, payload));
    CHECK(payload.size() == 1 + (count + 7) / 8);
    const auto read = rtp::parse_iuup_rates(payload, static_cast<std::uint8_t>(count));
    REQUIRE(read.has_value());
    CHECK(*read == rates);
    payload.pop_back();
    CHECK(rtp::parse_iuup_rates(payload, static_cast<std::uint8_t>(count)).error() ==
          IuupCause::frame_too_short);
  }
  Bytes payload(2);
  CHECK(rtp::write_iuup_rates({0b101, 3}, payload) == 2);
  CHECK(payload == from_hex("03 a0"));
}

TEST_CASE("rate indicators for other RFCIs than were declared are unexpected") {
  CHECK(rtp::parse_iuup_rates(from_hex("00 00"), 3).error() == IuupCause::unexpected_value);
  CHECK(rtp::parse_iuup_rates(from_hex("04 f0"), 3).error() == IuupCause::unexpected_value);
  CHECK(rtp::parse_iuup_rates({}, 3).error() == IuupCause::frame_too_short);
  const auto fewer = rtp::parse_iuup_rates(from_hex("c2 ff"), 3);
  REQUIRE(fewer.has_value());
  CHECK(*fewer == IuupRates{0b11, 2});
}

TEST_CASE("an RFCI and a limit keep their meaning between legs with different numbers") {
  const IuupConfiguration one = test::amr_122_set();
  const IuupConfiguration other = test::unordered_set();
  for (std::uint8_t rfci = 0; rfci < 64; ++rfci) {
    CHECK(rtp::iuup_rfci_between(one, rfci, one) == rfci);
    CHECK(rtp::iuup_rfci_between(other, rfci, other) == rfci);
    CHECK(rtp::iuup_rfci_between(one, rfci, other) == (rfci < 3 ? (rfci + 1) % 3 : rfci));
    CHECK(rtp::iuup_rfci_between(other, rfci, one) == (rfci < 3 ? (rfci + 2) % 3 : rfci));
    CHECK(rtp::iuup_rfci_between(one, rfci, IuupConfiguration{}) == rfci);
  }
  const IuupConfiguration reversed =
      test::iuup_set({{7, {0, 0, 0}}, {8, {39, 0, 0}}, {9, {81, 103, 60}}, {5, {81, 103, 60}}});
  CHECK(rtp::iuup_rfci_between(one, 0, reversed) == 9);
  CHECK(rtp::iuup_barred_between(one, {0b001, 3}, reversed) == 0b1100);
  CHECK(rtp::iuup_barred_between(one, {0b110, 3}, reversed) == 0b0011);
  CHECK(rtp::iuup_barred_between(one, {0b111, 3}, one) == 0b111);
  CHECK(rtp::iuup_barred_between(one, {0, 3}, reversed) == 0);
}

TEST_CASE("refusals, error events and time alignments say what they mean") {
  CHECK(rtp::parse_iuup_nack({}) == IuupCause::missing_fields);
  CHECK(rtp::parse_iuup_nack(from_hex("bc")) == IuupCause::time_alignment_not_supported);
  CHECK(rtp::parse_iuup_nack(from_hex("ff")) == static_cast<IuupCause>(63));
  const auto event = rtp::parse_iuup_error_event(from_hex("6a"));
  REQUIRE(event.has_value());
  CHECK(event->distance == 1);
  CHECK(event->cause == IuupCause::initialisation_failure);
  CHECK(rtp::parse_iuup_error_event({}).error() == IuupCause::frame_too_short);
  for (int value = 0; value < 256; ++value) {
    const Bytes payload{static_cast<std::byte>(value)};
    const auto steps = rtp::parse_iuup_time_alignment(payload);
    const bool delay = value >= 1 && value <= 80;
    const bool advance = value >= 129 && value <= 208;
    REQUIRE(steps.has_value() == (delay || advance));
    if (steps) {
      CHECK(*steps == (delay ? value : 128 - value));
    } else {
      CHECK(steps.error() == IuupCause::unexpected_value);
    }
  }
  CHECK(rtp::parse_iuup_time_alignment({}).error() == IuupCause::frame_too_short);
}

TEST_CASE("each cause has a name of its own") {
  std::set<std::string> names;
  for (unsigned value = 0; value < 64; ++value) {
    names.emplace(rtp::to_string(static_cast<IuupCause>(value)));
  }
  CHECK(names.size() == 22 + 1);
  names.clear();
  for (std::size_t value = 0; value < rtp::kIuupMalformedCount; ++value) {
    names.emplace(rtp::to_string(static_cast<IuupMalformed>(value)));
  }
  CHECK(names.size() == rtp::kIuupMalformedCount);
  CHECK_FALSE(names.contains("unknown"));
}

TEST_CASE("random octets never harm the parsers") {
  test::Random random(7);
  for (int round = 0; round < 20000; ++round) {
    const Bytes bytes = random.bytes(random.below(40));
    (void)rtp::parse_iuup(bytes);
    (void)rtp::parse_iuup_initialisation(bytes);
    (void)rtp::parse_iuup_rates(bytes, static_cast<std::uint8_t>(random.below(65)));
  }
  CHECK(rtp::parse_iuup_initialisation(Bytes(2000)).error() == IuupCause::unexpected_value);
}
