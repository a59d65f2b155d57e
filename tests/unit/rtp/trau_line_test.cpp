// RTP to the bits of a sub-slot and back over a line in memory: order, time, fillers, time
// alignment, losses of alignment.
#include "rtp/trau_downlink.h"
#include "rtp/trau_silence.h"
#include "rtp/trau_uplink.h"
#include "tests/unit/rtp/trau_test_frames.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <numeric>

namespace {

using rtp::TrauCodec;
using rtp::TrauDownlink;
using rtp::TrauFrame;
using rtp::TrauFrameType;
using rtp::TrauFraming;
using rtp::TrauMapping;
using rtp::TrauUplink;
using test::Bytes;

/// A codec on a sub-slot.
struct Leg {
  TrauMapping mapping;
  unsigned rate_kbps;
};

Leg make_leg(TrauCodec codec, unsigned rate_kbps) {
  TrauMapping mapping;
  mapping.codec = codec;
  mapping.framing = *rtp::trau_framing_of(codec, rate_kbps);
  return {mapping, rate_kbps};
}

const std::vector<Leg> kLegs{make_leg(TrauCodec::full_rate, 16),
                             make_leg(TrauCodec::enhanced_full_rate, 16),
                             make_leg(TrauCodec::half_rate, 16),
                             make_leg(TrauCodec::half_rate, 8),
                             make_leg(TrauCodec::adaptive_multi_rate, 16),
                             make_leg(TrauCodec::adaptive_multi_rate, 8),
                             make_leg(TrauCodec::clear_data, 16),
                             make_leg(TrauCodec::pcma, 64),
                             make_leg(TrauCodec::pcmu, 64)};

std::size_t block_bytes(const Leg& leg) {
  return rtp::kTimeslotBlockBytes * leg.rate_kbps / 64;
}

/// Random speech as a payload that the codec has.
Bytes random_payload(test::Random& random, const Leg& leg, std::uint8_t amr_mode) {
  if (leg.rate_kbps == 64) {
    return random.bytes(160);
  }
  TrauFrame frame;
  if (leg.mapping.codec == TrauCodec::adaptive_multi_rate) {
    frame = test::random_amr_frame(random, amr_mode);
  } else {
    frame.type = rtp::trau_frame_type_of(leg.mapping.codec);
    test::set_random_content(random, test::content_bits_of(frame.type), frame);
    frame.time_alignment = 0x3f;
  }
  Bytes out(rtp::kTrauPayloadBytesMax);
  const auto size = rtp::trau_to_rtp(frame, leg.mapping, 2, out);
  REQUIRE(size.has_value());
  out.resize(*size);
  return out;
}

/// A sender of RTP.
struct Sender {
  rtp::RtpHeader header{};
  Sender() {
    header.sequence = 65533;
    header.timestamp = 0xfffffe00U;
    header.ssrc = 42;
  }
  void send(TrauDownlink& downlink, const Bytes& payload, std::uint32_t ticks = 160) {
    downlink.put(header, payload);
    ++header.sequence;
    header.timestamp += ticks;
  }
  void skip(std::uint32_t frames) {
    header.sequence = static_cast<std::uint16_t>(header.sequence + frames);
    header.timestamp += frames * 160;
  }
};

/// The next block of a downlink.
Bytes pulled(TrauDownlink& downlink, std::size_t octets) {
  Bytes block(octets, std::byte{0x55});
  downlink.pull(block);
  return block;
}

/// What an uplink makes of a block.
std::vector<Bytes> pushed(TrauUplink& uplink, const Bytes& block) {
  std::vector<Bytes> payloads;
  for (const auto& payload : uplink.push(block, block.size() * 8)) {
    const auto octets = std::span(payload.octets).first(payload.size);
    payloads.emplace_back(octets.begin(), octets.end());
  }
  return payloads;
}

std::uint64_t sum(const std::array<std::uint64_t, rtp::kTrauErrorCount>& errors) {
  return std::accumulate(errors.begin(), errors.end(), std::uint64_t{0});
}

Bytes full_rate_payload(test::Random& random) {
  return random_payload(random, kLegs[0], 0);
}

/// A frame of the base station.
TrauFrame uplink_speech(test::Random& random) {
  TrauFrame frame;
  frame.type = TrauFrameType::full_rate;
  test::set_random_content(random, 260, frame);
  return frame;
}

}  // namespace

TEST_CASE("speech of every codec goes over a looped line bit by bit the same, in order") {
  test::Random random{1};
  for (const Leg& leg : kLegs) {
    TrauDownlink downlink(leg.mapping, {});
    TrauUplink uplink(leg.mapping, 1, 1);
    Sender sender;
    std::vector<Bytes> sent;
    std::vector<Bytes> received;
    std::uint8_t mode = 1;
    for (int tick = 0; tick < 300; ++tick) {
      if (random.below(5) == 0) {
        mode = static_cast<std::uint8_t>(random.below(leg.rate_kbps == 8 ? 5 : 8));
      }
      sent.push_back(random_payload(random, leg, mode));
      sender.send(downlink, sent.back());
      for (Bytes& payload : pushed(uplink, pulled(downlink, block_bytes(leg)))) {
        received.push_back(std::move(payload));
      }
    }
    CAPTURE(static_cast<int>(leg.mapping.codec));
    CAPTURE(leg.rate_kbps);
    if (leg.mapping.codec == TrauCodec::adaptive_multi_rate) {
      // The first mode request comes with the second frame.
      for (auto* payloads : {&sent, &received}) {
        for (Bytes& payload : *payloads) {
          payload.at(0) = std::byte{0xf0};
        }
      }
    }
    const auto first =
        std::search(received.begin(), received.end(), sent.begin() + 4, sent.begin() + 14);
    REQUIRE(first != received.end());
    CHECK(std::equal(first, received.end(), sent.begin() + 4));
    CHECK(received.end() - first >= 290);
    CHECK(downlink.counters().fillers == 2);
    CHECK(downlink.counters().frames == 298);
    CHECK(uplink.counters().sync_lost == 0);
  }
}

TEST_CASE("an AMR mode request arrives, and stays until there is another one") {
  test::Random random{2};
  for (const unsigned rate_kbps : {16U, 8U}) {
    const Leg leg = make_leg(TrauCodec::adaptive_multi_rate, rate_kbps);
    TrauDownlink downlink(leg.mapping, {});
    TrauUplink uplink(leg.mapping, 1, 1);
    Sender sender;
    for (int tick = 0; tick < 40; ++tick) {
      Bytes payload = random_payload(random, leg, 3);
      payload[0] = tick < 20 ? std::byte{0x10} : std::byte{0x40};
      sender.send(downlink, payload);
      const auto received = pushed(uplink, pulled(downlink, block_bytes(leg)));
      if (tick >= 10) {
        REQUIRE(received.size() == 1);
        const auto request = received[0].at(0);
        CHECK((request == std::byte{0x10} || tick >= 22));
        CHECK((request == std::byte{0x40} || tick < 24));
      }
    }
  }
}

TEST_CASE("the filler of each codec goes down an idle line, and PCM is silence") {
  for (const Leg& leg : kLegs) {
    TrauDownlink downlink(leg.mapping, {});
    for (int tick = 0; tick < 3; ++tick) {
      const Bytes block = pulled(downlink, block_bytes(leg));
      if (leg.rate_kbps == 64) {
        const auto silence =
            leg.mapping.codec == TrauCodec::pcma ? std::byte{0xd5} : std::byte{0xff};
        CHECK(block == Bytes(160, silence));
        continue;
      }
      const auto frame = rtp::parse_trau_frame(block, leg.mapping.framing, 7);
      REQUIRE(frame.has_value());
      const TrauFrame filler = rtp::make_filler(rtp::trau_frame_type_of(leg.mapping.codec));
      CHECK(frame->type == filler.type);
      CHECK(frame->content_bits == filler.content_bits);
      for (std::size_t bit = 0; bit < filler.content_bits; ++bit) {
        REQUIRE(rtp::get_bit(frame->content, bit) == rtp::get_bit(filler.content, bit));
      }
    }
    CHECK(downlink.counters().fillers == 3);
  }
}

TEST_CASE("packets out of order are put in order, duplicates and late ones are dropped") {
  test::Random random{3};
  const Leg leg = kLegs[0];
  TrauDownlink downlink(leg.mapping, {});
  TrauUplink uplink(leg.mapping, 1, 1);
  std::vector<Bytes> sent;
  std::vector<Bytes> received;
  rtp::RtpHeader header{};
  const auto put = [&](std::size_t index) {
    header.sequence = static_cast<std::uint16_t>(100 + index);
    header.timestamp = static_cast<std::uint32_t>(1000 + index * 160);
    downlink.put(header, sent[index]);
  };
  for (int count = 0; count < 100; ++count) {
    sent.push_back(full_rate_payload(random));
  }
  for (std::size_t index = 0; index < sent.size(); index += 2) {
    put(index + 1 < sent.size() && index != 0 ? index + 1 : index);
    for (const auto& payload : pushed(uplink, pulled(downlink, 40))) {
      received.push_back(payload);
    }
    put(index == 0 ? 1 : index);
    put(index);  // once more
    if (index >= 10) {
      put(index - 8);  // far too late
    }
    for (const auto& payload : pushed(uplink, pulled(downlink, 40))) {
      received.push_back(payload);
    }
  }
  const auto first = std::find(received.begin(), received.end(), sent[0]);
  REQUIRE(first != received.end());
  CHECK(std::equal(first, received.end(), sent.begin()));
  CHECK(received.end() - first >= 95);
  const auto& counters = downlink.counters();
  CHECK(counters.late >= 45);
  CHECK(counters.duplicate + counters.late >= 90);
  CHECK(counters.packets ==
        counters.accepted + counters.late + counters.duplicate + sum(counters.errors));
}

TEST_CASE("a lost packet is one filler, and the delay is as before") {
  test::Random random{4};
  TrauDownlink downlink(kLegs[0].mapping, {});
  Sender sender;
  for (int tick = 0; tick < 50; ++tick) {
    if (tick == 20) {
      sender.skip(1);
    } else {
      sender.send(downlink, full_rate_payload(random));
    }
    static_cast<void>(pulled(downlink, 40));
  }
  CHECK(downlink.counters().fillers == 2 + 1);
  CHECK(downlink.counters().frames == 47);
  CHECK(downlink.buffered_frames() == 2);
}

TEST_CASE("a late burst does not add delay: the oldest frames are given up") {
  test::Random random{5};
  TrauDownlink downlink(kLegs[0].mapping, {});
  Sender sender;
  for (int tick = 0; tick < 100; ++tick) {
    const int packets = tick >= 40 && tick < 48 ? 0 : tick == 48 ? 9 : 1;
    for (int count = 0; count < packets; ++count) {
      sender.send(downlink, full_rate_payload(random));
    }
    static_cast<void>(pulled(downlink, 40));
  }
  const auto& counters = downlink.counters();
  CHECK(downlink.buffered_frames() <= 4);
  CHECK(counters.overflowed >= 4);
  CHECK(counters.frames + counters.overflowed + downlink.buffered_frames() == 100);
  CHECK(counters.frames + counters.fillers == 100);
}

TEST_CASE("the buffer never holds more than its places, whatever comes") {
  test::Random random{6};
  for (const Leg& leg : kLegs) {
    TrauDownlink downlink(leg.mapping, {3, 5});
    rtp::RtpHeader header{};
    for (int round = 0; round < 3000; ++round) {
      header.sequence = static_cast<std::uint16_t>(random.below(65536));
      header.timestamp = random.below(4) == 0 ? random.below(0xffffffffU) : random.below(2000);
      header.ssrc = random.below(30) == 0 ? 1 : 2;
      const Bytes payload =
          random.below(2) == 0 ? random.bytes(random.below(400)) : random_payload(random, leg, 2);
      downlink.put(header, payload);
      CHECK(downlink.buffered_frames() <= 5);
      if (random.below(3) == 0) {
        downlink.align_time(static_cast<int>(random.below(200)) - 100);
        static_cast<void>(pulled(downlink, random.below(200)));
      }
    }
    const auto& counters = downlink.counters();
    CHECK(counters.packets ==
          counters.accepted + counters.late + counters.duplicate + sum(counters.errors));
  }
}

TEST_CASE("PCM packets of any length become the same samples") {
  test::Random random{7};
  for (const std::size_t packet :
       {std::size_t{80}, std::size_t{160}, std::size_t{240}, std::size_t{320}}) {
    const Leg leg = make_leg(TrauCodec::pcma, 64);
    TrauDownlink downlink(leg.mapping, {3, 8});
    Sender sender;
    const Bytes samples = random.bytes(80 * 600);
    Bytes received;
    std::size_t sent = 0;
    for (int tick = 0; tick < 290; ++tick) {
      while (sent < static_cast<std::size_t>(tick + 1) * 160) {
        const auto begin = samples.begin() + static_cast<std::ptrdiff_t>(sent);
        sender.send(downlink, Bytes(begin, begin + static_cast<std::ptrdiff_t>(packet)),
                    static_cast<std::uint32_t>(packet));
        sent += packet;
      }
      const Bytes block = pulled(downlink, 160);
      received.insert(received.end(), block.begin(), block.end());
    }
    const auto first =
        std::search(received.begin(), received.end(), samples.begin(), samples.begin() + 80);
    CAPTURE(packet);
    REQUIRE(first != received.end());
    CHECK(received.end() - first > 280 * 160);
    CHECK(std::equal(first, received.end(), samples.begin()));
  }
}

TEST_CASE("timestamps grow by 160 per frame interval, over frames not sent; numbers by one") {
  test::Random random{8};
  TrauMapping mapping = kLegs[0].mapping;
  TrauUplink uplink(mapping, 65530, 0xfffffff0U);
  std::uint16_t sequence = 65530;
  std::uint32_t timestamp = 0xfffffff0U;
  for (int tick = 0; tick < 100; ++tick) {
    TrauFrame frame = uplink_speech(random);
    const bool is_sent = tick % 3 != 1;
    if (tick % 6 == 1) {
      frame.bad_frame = true;
    } else if (!is_sent) {
      frame.type = TrauFrameType::idle;
    }
    const Bytes block = test::built(frame, TrauFraming::trau_16k);
    const auto payloads = uplink.push(block, 320);
    REQUIRE(payloads.size() == (is_sent ? 1U : 0U));
    if (is_sent) {
      CHECK(payloads[0].sequence == sequence++);
      CHECK(payloads[0].timestamp == timestamp);
    }
    timestamp += 160;
  }
  const auto& counters = uplink.counters();
  CHECK(counters.frames == 100);
  CHECK(counters.frames == counters.payloads + sum(counters.errors));
  CHECK(counters.errors[static_cast<std::size_t>(rtp::TrauError::bad_frame)] == 17);
  CHECK(counters.errors[static_cast<std::size_t>(rtp::TrauError::nothing)] == 16);
}

TEST_CASE("after a gap without alignment the timestamp has grown by the time that passed") {
  test::Random random{9};
  TrauUplink uplink(kLegs[0].mapping, 0, 0);
  const auto push_speech = [&] {
    const Bytes block = test::built(uplink_speech(random), TrauFraming::trau_16k);
    const auto payloads = uplink.push(block, 320);
    return payloads.empty() ? 0U : payloads[0].timestamp;
  };
  for (int tick = 0; tick < 10; ++tick) {
    CHECK(push_speech() == static_cast<std::uint32_t>(tick) * 160);
  }
  for (int tick = 0; tick < 50; ++tick) {
    const Bytes idle(40, std::byte{0xff});
    CHECK(uplink.push(idle, 320).empty());
  }
  CHECK_FALSE(uplink.aligned());
  CHECK(push_speech() == 60 * 160);
  CHECK(uplink.aligned());
  CHECK(uplink.counters().sync_lost == 1);
  CHECK(uplink.counters().aligned == 2);
}

TEST_CASE("a gap that is no whole number of intervals is rounded to the nearest one") {
  for (const auto& [bits, intervals] :
       {std::pair{960U + 100U, 4U}, std::pair{960U + 200U, 5U}, std::pair{960U + 319U, 5U}}) {
    test::Random random{20};
    TrauUplink uplink(kLegs[0].mapping, 0, 0);
    for (int tick = 0; tick < 3; ++tick) {
      const Bytes block = test::built(uplink_speech(random), TrauFraming::trau_16k);
      CHECK(uplink.push(block, 320).size() == 1);
    }
    for (unsigned bit = 0; bit < bits; ++bit) {
      const Bytes idle(1, std::byte{0xff});
      CHECK(uplink.push(idle, 1).empty());
    }
    const Bytes block = test::built(uplink_speech(random), TrauFraming::trau_16k);
    const auto payloads = uplink.push(block, 320);
    REQUIRE(payloads.size() == 1);
    CHECK(payloads[0].timestamp == (2 + intervals) * 160);
    CHECK(payloads[0].sequence == 3);
  }
}

TEST_CASE("AMR says its mode in every second frame, and a new mode at once") {
  test::Random random{21};
  const Leg leg = make_leg(TrauCodec::adaptive_multi_rate, 16);
  TrauDownlink downlink(leg.mapping, {1, 5});
  Sender sender;
  bool says_request = true;
  static_cast<void>(pulled(downlink, 40));
  sender.send(downlink, random_payload(random, leg, 5));
  static_cast<void>(pulled(downlink, 40));
  for (int tick = 0; tick < 40; ++tick) {
    const std::uint8_t mode = tick < 21 ? 5 : 7;
    sender.send(downlink, random_payload(random, leg, mode));
    const auto frame = rtp::parse_trau_frame(pulled(downlink, 40), TrauFraming::trau_16k, mode);
    REQUIRE(frame.has_value());
    REQUIRE(frame->amr_class == rtp::AmrFrameClass::speech_good);
    if (tick == 22) {  // the first of the new mode, one frame behind
      CHECK_FALSE(frame->amr_says_request);
      CHECK(frame->amr_mode == 7);
    } else if (tick != 0) {
      CHECK(frame->amr_says_request == !says_request);
    }
    says_request = frame->amr_says_request;
  }
}

TEST_CASE("blocks may have any size") {
  test::Random random{10};
  TrauUplink whole(kLegs[0].mapping, 0, 0);
  TrauUplink cut(kLegs[0].mapping, 0, 0);
  std::vector<Bytes> expected;
  std::vector<Bytes> received;
  std::deque<bool> waiting;
  for (int tick = 0; tick < 60; ++tick) {
    const Bytes block = test::built(uplink_speech(random), TrauFraming::trau_16k);
    for (const Bytes& payload : pushed(whole, block)) {
      expected.push_back(payload);
    }
    for (const bool bit : test::to_bits(block)) {
      waiting.push_back(bit);
    }
    while (waiting.size() > 400) {
      const std::size_t count = 1 + random.below(390);
      Bytes part((count + 7) / 8);
      for (std::size_t bit = 0; bit < count; ++bit) {
        rtp::set_bit(part, bit, waiting.front());
        waiting.pop_front();
      }
      for (const auto& payload : cut.push(part, count)) {
        received.emplace_back(payload.octets.begin(),
                              payload.octets.begin() + static_cast<std::ptrdiff_t>(payload.size));
      }
    }
  }
  REQUIRE(received.size() >= 57);
  CHECK(std::equal(received.begin(), received.end(), expected.begin()));
}

TEST_CASE("a frame with a broken pattern is not played") {
  test::Random random{11};
  TrauUplink uplink(kLegs[0].mapping, 0, 0);
  for (int tick = 0; tick < 5; ++tick) {
    Bytes block = test::built(uplink_speech(random), TrauFraming::trau_16k);
    if (tick == 3) {
      block[1] = std::byte{0x55};
    }
    CHECK(uplink.push(block, 320).size() == (tick == 3 ? 0U : 1U));
  }
  CHECK(uplink.counters().errors[static_cast<std::size_t>(rtp::TrauError::bad_frame)] == 1);
}

TEST_CASE("what the base station asks for is what the next downlink frame is lengthened by") {
  test::Random random{12};
  for (const Leg& leg : {kLegs[0], kLegs[3]}) {
    const bool is_8k = leg.rate_kbps == 8;
    TrauDownlink downlink(leg.mapping, {});
    TrauUplink base_station(leg.mapping, 0, 0);
    TrauUplink uplink(leg.mapping, 0, 0);
    TrauFrame frame;
    frame.type = rtp::trau_frame_type_of(leg.mapping.codec);
    test::set_random_content(random, test::content_bits_of(frame.type), frame);
    frame.time_alignment = is_8k ? 2 : 4;  // 2 ms
    const Bytes block = test::built(frame, leg.mapping.framing);
    CHECK(uplink.push(block, block.size() * 8).size() == 1);
    const auto steps = uplink.take_time_alignment();
    REQUIRE(steps == 8);
    CHECK_FALSE(uplink.take_time_alignment().has_value());
    downlink.align_time(*steps);
    Sender sender;
    for (int tick = 0; tick < 50; ++tick) {
      downlink.align_time(tick == 2 ? 20 : 0);  // in the pause: taken for a repetition
      sender.send(downlink, random_payload(random, leg, 0));
      const Bytes part = pulled(downlink, block_bytes(leg));
      static_cast<void>(pushed(base_station, part));
      if (tick == 0) {
        downlink.align_time(8);
      }
    }
    CHECK(downlink.counters().alignments == 1);
    CHECK(base_station.counters().sync_lost == 0);
    CHECK(base_station.counters().aligned == 1);
    CHECK(base_station.counters().payloads >= 48);
  }
}

TEST_CASE("lengthened and shortened downlink frames have the length that was asked for") {
  for (const Leg& leg : {kLegs[1], kLegs[3]}) {
    const std::size_t length = rtp::trau_frame_bits(leg.mapping.framing);
    const std::size_t step = rtp::time_alignment_step_bits(leg.mapping.framing);
    for (const int steps : {-1, 1, 4, 36}) {
      TrauDownlink downlink(leg.mapping, {});
      downlink.align_time(steps);
      Bytes stream(block_bytes(leg) * 6);
      downlink.pull(stream);
      const test::Bits bits = test::to_bits(stream);
      const test::Bits frame = test::to_bits(test::built(
          rtp::make_filler(rtp::trau_frame_type_of(leg.mapping.codec)), leg.mapping.framing));
      const auto first_length = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(length) +
                                                         steps * static_cast<std::ptrdiff_t>(step));
      CAPTURE(steps);
      for (std::size_t at = 0; at < bits.size(); ++at) {
        const bool expected = at < std::min(first_length, length) ? frame[at]
                              : at < first_length                 ? true
                                                  : frame[(at - first_length) % length];
        REQUIRE(bits[at] == expected);
      }
    }
  }
}

TEST_CASE("no frame is lengthened by more than a base station can ask for") {
  for (const Leg& leg : {kLegs[0], kLegs[3]}) {
    TrauDownlink downlink(leg.mapping, {});
    TrauUplink base_station(leg.mapping, 0, 0);
    for (int tick = 0; tick < 60; ++tick) {
      downlink.align_time(tick % 20 == 10 ? 1000 : tick % 20 == 0 ? -1000 : 0);
      static_cast<void>(pushed(base_station, pulled(downlink, block_bytes(leg))));
    }
    CHECK(downlink.counters().alignments == 6);
    CHECK(base_station.counters().sync_lost == 0);
    CHECK(base_station.counters().aligned == 1);
  }
}

TEST_CASE("AMR at 8 kbit/s and PCM are never realigned, as nothing could follow it") {
  for (const Leg& leg : {kLegs[5], kLegs[7]}) {
    TrauDownlink downlink(leg.mapping, {});
    downlink.align_time(8);
    static_cast<void>(pulled(downlink, block_bytes(leg)));
    CHECK(downlink.counters().alignments == 0);
  }
}

TEST_CASE("speech with the flags of TW-TS goes through RTP and down another line") {
  test::Random random{13};
  for (const Leg& plain : {kLegs[0], kLegs[1], kLegs[2], kLegs[3]}) {
    Leg leg = plain;
    leg.mapping.extension = rtp::TrauExtension::tw_ts;
    TrauUplink uplink(leg.mapping, 0, 0);
    TrauDownlink downlink(leg.mapping, {1, 5});
    rtp::RtpHeader header{};
    for (int tick = 0; tick < 20; ++tick) {
      TrauFrame frame;
      frame.type = rtp::trau_frame_type_of(leg.mapping.codec);
      frame.dtx_downlink = tick % 2 == 1;
      test::set_random_content(random, test::content_bits_of(frame.type), frame);
      const Bytes block = test::built(frame, leg.mapping.framing);
      const auto payloads = uplink.push(block, block.size() * 8);
      REQUIRE(payloads.size() == 1);
      header.sequence = payloads[0].sequence;
      header.timestamp = payloads[0].timestamp;
      downlink.put(header, std::span(payloads[0].octets).first(payloads[0].size));
      if (tick == 0) {
        static_cast<void>(pulled(downlink, block.size()));
      }
      const auto down =
          rtp::parse_trau_frame(pulled(downlink, block.size()), leg.mapping.framing, 7);
      REQUIRE(down.has_value());
      CHECK(down->content == frame.content);
      CHECK(down->direction == rtp::TrauDirection::downlink);
    }
  }
}
