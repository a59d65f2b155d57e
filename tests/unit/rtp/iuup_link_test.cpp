// One Iu UP leg: each rule of initialisation, rate control, time alignment and error events, and
// two legs wired back to back over a lossy wire on virtual time.
#include "rtp/iuup_link.h"

#include "tests/unit/rtp/iuup_test_link.h"
#include "tests/unit/rtp/iuup_test_sets.h"
#include "tests/unit/rtp/test_packets.h"

#include <doctest/doctest.h>

#include <array>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

namespace {

using namespace std::chrono_literals;
using rtp::IuupAcknowledgement;
using rtp::IuupCause;
using rtp::IuupConfiguration;
using rtp::IuupControl;
using rtp::IuupData;
using rtp::IuupEvent;
using rtp::IuupFrameQuality;
using rtp::IuupLink;
using rtp::IuupMalformed;
using rtp::IuupPosition;
using rtp::IuupProcedure;
using rtp::IuupRates;
using rtp::IuupReceived;
using rtp::IuupSendError;
using rtp::IuupState;
using test::ack;
using test::Bytes;
using test::control;
using test::data;
using test::due;
using test::from_hex;
using test::kStart;
using test::nack;
using test::reply_of;
using test::request;
using test::with_versions;

static_assert(sizeof(IuupLink) <= 1280);
static_assert(std::is_trivially_copyable_v<IuupLink>);

/// A link that a peer has initialised.
IuupLink ready_link(const IuupConfiguration& set = test::amr_122_set()) {
  IuupLink link;
  REQUIRE(link.on_pdu(test::written_initialisation(set), kStart).event == IuupEvent::initialised);
  return link;
}

Bytes written(IuupLink& link, const IuupData& frame, const IuupPosition& position,
              io::TimePoint now = kStart) {
  Bytes out(200);
  const auto size = link.write_data(frame, position, now, out);
  REQUIRE(size.has_value());
  out.resize(*size);
  return out;
}

void check_refused(const IuupReceived& received, IuupEvent event, IuupCause cause) {
  CHECK(received.event == event);
  CHECK(received.cause == cause);
  const auto parsed = rtp::parse_iuup(received.reply.bytes());
  REQUIRE(parsed.has_value());
  const auto& answer = std::get<IuupControl>(*parsed);
  CHECK(answer.acknowledgement == IuupAcknowledgement::nack);
  CHECK(rtp::parse_iuup_nack(answer.payload) == cause);
}

}  // namespace

TEST_CASE("a peer's initialisation is acknowledged in every state and makes the link ready") {
  const Bytes pdu = from_hex("e000de6e060051673c0127000082000000000100");
  std::vector<IuupLink> links(4);
  links[1] = ready_link(test::unordered_set());
  links[2].start_initialisation(test::unordered_set(), kStart);
  links[3].start_initialisation(test::unordered_set(), kStart);
  for (io::TimePoint now = kStart; links[3].state() != IuupState::failed; now += 1s) {
    due(links[3], now);
  }
  for (IuupLink& link : links) {
    const auto received = link.on_pdu(pdu, kStart);
    CHECK(received.event == IuupEvent::initialised);
    CHECK(reply_of(received) == from_hex("e4002400"));
    CHECK(link.state() == IuupState::ready);
    CHECK(link.configuration() == test::amr_122_set());
    CHECK(link.next_due() == io::kNever);
    CHECK(due(link, kStart + 1h).empty());
  }
}

TEST_CASE("the acknowledgement repeats the frame number and names the highest common version") {
  for (std::uint8_t number = 0; number < 4; ++number) {
    for (const std::uint16_t versions : std::array<std::uint16_t, 5>{1, 2, 3, 0x8001, 0xffff}) {
      IuupLink link;
      const Bytes pdu =
          test::written_initialisation(with_versions(test::amr_122_set(), versions), number);
      const Bytes answer = reply_of(link.on_pdu(pdu, kStart));
      const std::uint8_t version = (versions & 2U) != 0 ? 1 : 0;
      CHECK(answer == ack(IuupProcedure::initialisation, number, version));
      CHECK(link.mode_version() == version);
    }
  }
}

TEST_CASE("a repeated initialisation is acknowledged again and resets nothing") {
  IuupLink link = ready_link();
  CHECK(link.on_pdu(request(IuupProcedure::rate_control, "03 80"), kStart).event ==
        IuupEvent::rates_changed);
  const auto received = link.on_pdu(test::written_initialisation(test::amr_122_set(), 3), kStart);
  CHECK(received.event == IuupEvent::initialisation_repeated);
  CHECK(reply_of(received) == ack(IuupProcedure::initialisation, 3));
  CHECK(link.peer_rates() == IuupRates{1, 3});
}

TEST_CASE("another initialisation of a ready link takes its place and lifts all limits") {
  IuupLink link = ready_link();
  CHECK(link.on_pdu(request(IuupProcedure::rate_control, "03 80"), kStart).event ==
        IuupEvent::rates_changed);
  const auto received = link.on_pdu(test::written_initialisation(test::unordered_set()), kStart);
  CHECK(received.event == IuupEvent::initialised);
  CHECK(link.configuration() == test::unordered_set());
  CHECK_FALSE(link.peer_rates().has_value());
}

TEST_CASE("an unusable initialisation is refused with its cause and changes nothing") {
  for (const bool ready : {false, true}) {
    IuupLink link = ready ? ready_link() : IuupLink{};
    const auto offer = [&](const char* payload) {
      return link.on_pdu(request(IuupProcedure::initialisation, payload, 1), kStart);
    };
    const auto cut = offer("06 0051673c");
    check_refused(cut, IuupEvent::initialisation_refused, IuupCause::frame_too_short);
    CHECK(reply_of(cut) == from_hex("e900700020"));
    check_refused(offer("00 80 0001 00"), IuupEvent::initialisation_refused,
                  IuupCause::unexpected_value);
    check_refused(offer("06 8051673c 0001 20"), IuupEvent::initialisation_refused,
                  IuupCause::unexpected_value);
    check_refused(offer("06 8051673c 0004 00"), IuupEvent::initialisation_refused,
                  IuupCause::unexpected_value);
    CHECK(link.state() == (ready ? IuupState::ready : IuupState::idle));
    CHECK(link.configuration() == (ready ? test::amr_122_set() : IuupConfiguration{}));
  }
}

TEST_CASE("data before the initialisation is refused, after it delivered") {
  IuupLink link;
  Bytes out(100);
  CHECK(link.on_pdu(data(), kStart).event == IuupEvent::data_not_ready);
  CHECK(link.write_data({}, {}, kStart, out).error() == IuupSendError::not_ready);
  link.start_initialisation(test::amr_122_set(), kStart);
  CHECK(link.on_pdu(data(), kStart).event == IuupEvent::data_not_ready);
  CHECK(link.write_data({}, {}, kStart, out).error() == IuupSendError::not_ready);
  CHECK(due(link, kStart) == from_hex("e000de7d060051673c0127000082000000000300"));
  CHECK(link.on_pdu(from_hex("e4002400"), kStart).event == IuupEvent::initialisation_acknowledged);
  const Bytes pdu = data(9, 2);
  const auto received = link.on_pdu(pdu, kStart);
  CHECK(received.event == IuupEvent::data);
  CHECK(received.data.frame_number == 9);
  CHECK(received.data.rfci == 2);
  CHECK(received.data.quality == IuupFrameQuality::good);
  CHECK(received.data.payload.size() == 31);
  CHECK(received.reply.bytes().empty());
  CHECK(link.write_data({}, {}, kStart, out).has_value());
}

TEST_CASE("an initialisation without an answer is sent four times, a second apart, and fails") {
  IuupLink link;
  link.start_initialisation(test::amr_122_set(), kStart);
  CHECK(link.next_due() == kStart);
  for (int turn = 0; turn < 4; ++turn) {
    const io::TimePoint now = kStart + turn * 1s;
    CHECK(due(link, now - 1ns).empty());
    CHECK(due(link, now) == from_hex("e000de7d060051673c0127000082000000000300"));
    CHECK(due(link, now).empty());
    CHECK(link.next_due() == now + 1s);
    CHECK(link.state() == IuupState::initialising);
  }
  CHECK(due(link, kStart + 4s).empty());
  CHECK(link.state() == IuupState::failed);
  CHECK(link.initialisation_failures() == 1);
  CHECK(link.repeats() == 3);
  CHECK(link.next_due() == io::kNever);
  CHECK(link.on_pdu(from_hex("e4002400"), kStart + 5s).event == IuupEvent::unexpected_answer);
  CHECK(link.on_pdu(data(), kStart + 5s).event == IuupEvent::data_not_ready);
  link.start_initialisation(test::amr_122_set(), kStart + 6s);
  CHECK(link.state() == IuupState::initialising);
  // A new request has a new number.
  CHECK(due(link, kStart + 6s) ==
        test::written_initialisation(with_versions(test::amr_122_set(), 3), 1));
}

TEST_CASE("a refused initialisation is repeated at once within the same budget") {
  IuupLink link;
  link.start_initialisation(test::amr_122_set(), kStart);
  const Bytes refusal = nack(IuupProcedure::initialisation, IuupCause::unexpected_value);
  CHECK(link.on_pdu(refusal, kStart).event == IuupEvent::unexpected_answer);
  for (int turn = 0; turn < 4; ++turn) {
    CHECK_FALSE(due(link, kStart).empty());
    const auto received = link.on_pdu(refusal, kStart);
    CHECK(received.event ==
          (turn < 3 ? IuupEvent::initialisation_nacked : IuupEvent::initialisation_failed));
    CHECK(received.cause == IuupCause::unexpected_value);
  }
  CHECK(due(link, kStart).empty());
  CHECK(link.state() == IuupState::failed);
  CHECK(link.initialisation_failures() == 1);
}

TEST_CASE("only the answer to what was asked counts") {
  IuupLink link;
  link.start_initialisation(test::amr_122_set(), kStart);
  CHECK_FALSE(due(link, kStart).empty());
  for (const Bytes& answer : {ack(IuupProcedure::initialisation, 1),
                              ack(IuupProcedure::rate_control), ack(IuupProcedure::time_alignment),
                              nack(IuupProcedure::rate_control, IuupCause::unexpected_value)}) {
    CHECK(link.on_pdu(answer, kStart).event == IuupEvent::unexpected_answer);
    CHECK(link.state() == IuupState::initialising);
  }
  CHECK(link.on_pdu(ack(IuupProcedure::initialisation, 0, 1), kStart).event ==
        IuupEvent::initialisation_acknowledged);
  CHECK(link.mode_version() == 1);
  CHECK(link.on_pdu(ack(IuupProcedure::initialisation), kStart).event ==
        IuupEvent::unexpected_answer);
}

TEST_CASE("an acknowledgement with a version that was not offered falls back to one that was") {
  IuupLink link;
  link.start_initialisation(test::amr_122_set(), kStart, 1);
  CHECK_FALSE(due(link, kStart).empty());
  CHECK(link.on_pdu(ack(IuupProcedure::initialisation, 0, 7), kStart).event ==
        IuupEvent::initialisation_acknowledged);
  CHECK(link.mode_version() == 0);
}

TEST_CASE("asking for the set that is in use or under way does nothing") {
  IuupLink link = ready_link();
  link.start_initialisation(test::amr_122_set(), kStart);
  CHECK(link.state() == IuupState::ready);
  CHECK(link.next_due() == io::kNever);
  link.start_initialisation({}, kStart);
  CHECK(link.state() == IuupState::ready);
  link.start_initialisation(test::unordered_set(), kStart);
  CHECK_FALSE(due(link, kStart).empty());
  link.start_initialisation(test::unordered_set(), kStart + 10ms);
  CHECK(link.next_due() == kStart + 1s);
}

TEST_CASE("what is no PDU gets no answer") {
  IuupLink link = ready_link();
  const Bytes pdu = from_hex("e000de6f060051673c0127000082000000000100");
  const auto received = link.on_pdu(pdu, kStart);
  CHECK(received.event == IuupEvent::malformed);
  CHECK(received.malformed == IuupMalformed::bad_payload_crc);
  CHECK(received.reply.bytes().empty());
  CHECK(link.on_pdu({}, kStart).malformed == IuupMalformed::too_short);
}

TEST_CASE("the peer's rate control is acknowledged with its indicators and kept") {
  IuupLink link = ready_link();
  CHECK_FALSE(link.peer_rates().has_value());
  const auto received = link.on_pdu(request(IuupProcedure::rate_control, "03 a0", 2), kStart);
  CHECK(received.event == IuupEvent::rates_changed);
  CHECK(link.peer_rates() == IuupRates{0b101, 3});
  CHECK(reply_of(received) ==
        control(IuupAcknowledgement::ack, IuupProcedure::rate_control, from_hex("03 a0"), 2));
  CHECK(link.on_pdu(request(IuupProcedure::rate_control, "03 00"), kStart).event ==
        IuupEvent::rates_changed);
  CHECK(link.peer_rates() == IuupRates{0, 3});
}

TEST_CASE("a rate control that can't be used is refused and limits nothing") {
  IuupLink link;
  check_refused(link.on_pdu(request(IuupProcedure::rate_control, "03 a0"), kStart),
                IuupEvent::rates_refused, IuupCause::unexpected_procedure);
  link = ready_link();
  check_refused(link.on_pdu(request(IuupProcedure::rate_control, ""), kStart),
                IuupEvent::rates_refused, IuupCause::frame_too_short);
  check_refused(link.on_pdu(request(IuupProcedure::rate_control, "05 a0"), kStart),
                IuupEvent::rates_refused, IuupCause::unexpected_value);
  CHECK_FALSE(link.peer_rates().has_value());
}

TEST_CASE("our rate control is sent, repeated once after half a second, and then given up") {
  IuupLink link = ready_link(with_versions(test::amr_122_set(), 3));
  link.request_rates(0b001, kStart);
  const Bytes expected =
      control(IuupAcknowledgement::procedure, IuupProcedure::rate_control, from_hex("03 80"), 0, 1);
  CHECK(due(link, kStart) == expected);
  CHECK(link.next_due() == kStart + 500ms);
  CHECK(due(link, kStart + 500ms) == expected);
  CHECK(due(link, kStart + 1s).empty());
  CHECK(link.rate_control_failures() == 1);
  CHECK(link.repeats() == 1);
  CHECK(link.state() == IuupState::ready);
  // The same wish is not taken up again, another one is.
  link.request_rates(0b001, kStart + 2s);
  CHECK(due(link, kStart + 2s).empty());
  link.request_rates(0b000, kStart + 3s);
  CHECK(due(link, kStart + 3s) == control(IuupAcknowledgement::procedure,
                                          IuupProcedure::rate_control, from_hex("03 00"), 1, 1));
}

TEST_CASE("one rate control is under way at a time and the last wish follows it") {
  IuupLink link = ready_link();
  link.request_rates(0, kStart);
  CHECK(link.next_due() == io::kNever);
  link.request_rates(0b001, kStart);
  CHECK_FALSE(due(link, kStart).empty());
  link.request_rates(0b010, kStart);
  link.request_rates(0b011, kStart);
  CHECK(due(link, kStart).empty());
  CHECK(link.on_pdu(ack(IuupProcedure::rate_control), kStart + 20ms).event ==
        IuupEvent::rates_acknowledged);
  CHECK(due(link, kStart + 20ms) == request(IuupProcedure::rate_control, "03 c0", 1));
  CHECK(link.on_pdu(ack(IuupProcedure::rate_control, 1), kStart + 40ms).event ==
        IuupEvent::rates_acknowledged);
  CHECK(link.next_due() == io::kNever);
  CHECK(link.rate_control_failures() == 0);
}

TEST_CASE("a refused rate control is repeated once at once") {
  IuupLink link = ready_link();
  link.request_rates(0b001, kStart);
  const Bytes refusal = nack(IuupProcedure::rate_control, IuupCause::rate_control_failure);
  for (int turn = 0; turn < 2; ++turn) {
    CHECK(due(link, kStart) == request(IuupProcedure::rate_control, "03 80"));
    const auto received = link.on_pdu(refusal, kStart);
    CHECK(received.event == IuupEvent::rates_nacked);
    CHECK(received.cause == IuupCause::rate_control_failure);
  }
  CHECK(due(link, kStart).empty());
  CHECK(link.rate_control_failures() == 1);
}

TEST_CASE("no rate control is asked for before the initialisation or survives the next") {
  IuupLink link;
  link.request_rates(0b001, kStart);
  CHECK(link.next_due() == io::kNever);
  link = ready_link();
  link.request_rates(0b001, kStart);
  CHECK(link.on_pdu(test::written_initialisation(test::unordered_set()), kStart).event ==
        IuupEvent::initialised);
  CHECK(due(link, kStart).empty());
}

TEST_CASE("time alignment is refused as not supported, a senseless one as such") {
  IuupLink link = ready_link();
  check_refused(link.on_pdu(request(IuupProcedure::time_alignment, "02", 3), kStart),
                IuupEvent::time_alignment, IuupCause::time_alignment_not_supported);
  check_refused(link.on_pdu(request(IuupProcedure::time_alignment, "82"), kStart),
                IuupEvent::time_alignment, IuupCause::time_alignment_not_supported);
  check_refused(link.on_pdu(request(IuupProcedure::time_alignment, "00"), kStart),
                IuupEvent::time_alignment, IuupCause::unexpected_value);
  check_refused(link.on_pdu(request(IuupProcedure::time_alignment, ""), kStart),
                IuupEvent::time_alignment, IuupCause::frame_too_short);
}

TEST_CASE("an error event is reported and never answered") {
  IuupLink link = ready_link();
  const auto received = link.on_pdu(request(IuupProcedure::error_event, "43"), kStart);
  CHECK(received.event == IuupEvent::error_event);
  CHECK(received.cause == IuupCause::frame_loss);
  CHECK(received.reply.bytes().empty());
  const auto empty = link.on_pdu(request(IuupProcedure::error_event, ""), kStart);
  CHECK(empty.event == IuupEvent::error_event);
  CHECK(empty.cause == IuupCause::frame_too_short);
  CHECK(empty.reply.bytes().empty());
  CHECK(link.state() == IuupState::ready);
}

TEST_CASE("a procedure that nobody knows is refused, an answer to it is not") {
  IuupLink link = ready_link();
  for (unsigned value = 4; value < 16; ++value) {
    const auto procedure = static_cast<IuupProcedure>(value);
    check_refused(link.on_pdu(request(procedure, "00"), kStart), IuupEvent::unknown_control,
                  IuupCause::unknown_procedure);
    const auto answer = link.on_pdu(ack(procedure), kStart);
    CHECK(answer.event == IuupEvent::unexpected_answer);
    CHECK(answer.reply.bytes().empty());
  }
}

TEST_CASE("data goes out in the agreed PDU type with numbers of the agreed kind") {
  const Bytes speech(31, std::byte{0xa5});
  const IuupData frame{0, IuupFrameQuality::bad, 7, speech};
  IuupConfiguration set = test::amr_122_set();
  IuupLink by_pdu = ready_link(set);
  set.data_type = rtp::IuupPduType::data_without_crc;
  set.has_intervals = true;
  IuupLink by_time = ready_link(set);
  const IuupPosition first{IuupPosition::Kind::rtp, 3, 0, 160};
  const IuupPosition second{IuupPosition::Kind::rtp, 4, 8 * 160, 160};
  CHECK(written(by_pdu, frame, first)[0] == std::byte{0x03});
  CHECK(written(by_pdu, frame, second)[0] == std::byte{0x04});
  CHECK(written(by_time, frame, first)[0] == std::byte{0x13});
  const Bytes pdu = written(by_time, frame, second);
  CHECK(pdu[0] == std::byte{0x1b});
  CHECK(pdu[1] == std::byte{0x47});
  CHECK(pdu.size() == 3 + speech.size());
  by_time.source_changed();
  CHECK(written(by_time, frame, first)[0] == std::byte{0x1c});

  Bytes small(4 + 30);
  CHECK(by_pdu.write_data(frame, first, kStart, small).error() == IuupSendError::no_room);
  const Bytes huge(rtp::kIuupPayloadBytesMax + 1);
  Bytes room(4 + huge.size());
  CHECK(by_pdu.write_data({0, {}, 0, huge}, first, kStart, room).error() == IuupSendError::no_room);
  // What was not sent takes no number.
  CHECK(written(by_pdu, frame, {IuupPosition::Kind::rtp, 5, 0, 160})[0] == std::byte{0x05});
}

TEST_CASE("a reset link is as new") {
  IuupLink link = ready_link();
  link.request_rates(1, kStart);
  link.reset();
  CHECK(link.state() == IuupState::idle);
  CHECK(link.next_due() == io::kNever);
  CHECK(link.configuration() == IuupConfiguration{});
  CHECK(link.on_pdu(data(), kStart).event == IuupEvent::data_not_ready);
}

TEST_CASE("each state and event has a name of its own") {
  std::set<std::string> names;
  for (std::size_t value = 0; value < rtp::kIuupEventCount; ++value) {
    names.emplace(rtp::to_string(static_cast<IuupEvent>(value)));
  }
  CHECK(names.size() == rtp::kIuupEventCount);
  for (unsigned value = 0; value < 4; ++value) {
    names.emplace(rtp::to_string(static_cast<IuupState>(value)));
  }
  CHECK(names.size() == rtp::kIuupEventCount + 4);
  CHECK_FALSE(names.contains("unknown"));
}

TEST_CASE("random PDUs with right CRCs leave the link in a sound state") {
  test::Random random(11);
  IuupLink link;
  io::TimePoint now = kStart;
  for (int round = 0; round < 50000; ++round) {
    const Bytes payload = random.bytes(random.below(24));
    const Bytes pdu = random.below(4) == 0
                          ? data(static_cast<std::uint8_t>(random.below(16)))
                          : control(static_cast<IuupAcknowledgement>(random.below(3)),
                                    static_cast<IuupProcedure>(random.below(5)), payload,
                                    static_cast<std::uint8_t>(random.below(4)),
                                    static_cast<std::uint8_t>(random.below(16)));
    const auto received = link.on_pdu(pdu, now);
    CHECK(received.event != IuupEvent::malformed);
    CHECK((received.event == IuupEvent::data) <= (link.state() == IuupState::ready));
    if (random.below(20) == 0) {
      link.start_initialisation(test::amr_122_set(), now);
    }
    link.request_rates(random.below(8), now);
    now += std::chrono::milliseconds(random.below(300));
    due(link, now);
    CHECK(link.configuration().rfci_count <= rtp::kIuupRfcisMax);
    CHECK((link.state() != IuupState::ready || link.configuration().rfci_count > 0));
  }
}
