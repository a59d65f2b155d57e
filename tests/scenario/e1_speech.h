#pragma once
// Speech of every codec that goes over E1 lines, as frames that tell who spoke and when.

#include "tests/scenario/scene.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace scenario {

/// A codec as it is described, and how its frames look.
struct Speech {
  const char* name;
  const char* rate;
  const char* formats;
  const char* attributes;
  std::uint8_t payload_type;
  std::vector<unsigned> head;
  std::size_t size;
  unsigned head_mask = 0xff;  ///< bits of the last octet of the head that are its own
  unsigned tail_mask = 0xff;  ///< bits of the last octet that count
};

inline const std::vector<Speech> kSpeech = {
    {"FR", "16-0", "3", "", 3, {0xd0}, 33, 0xf0},
    {"EFR", "16-2", "110", "a=rtpmap:110 GSM-EFR/8000\r\n", 110, {0xc0}, 31, 0xf0},
    {"HR at 16", "16-4", "111", "a=rtpmap:111 GSM-HR-08/8000\r\n", 111, {0x00}, 15},
    {"HR at 8", "8-3", "111", "a=rtpmap:111 GSM-HR-08/8000\r\n", 111, {0x00}, 15},
    {"FR, tw-ts-001",
     "16-0",
     "3",
     "a=rtpmap:3 GSM/8000\r\na=fmtp:3 tw-ts-001=1\r\n",
     3,
     {0xe0, 0xd0},
     34,
     0xf0},
    {"AMR at 16",
     "16-6",
     "112",
     "a=rtpmap:112 AMR/8000\r\na=fmtp:112 octet-align=1\r\n",
     112,
     {0xf0, 0x3c},
     33,
     0xff,
     0xf0},
    {"AMR at 8",
     "8-0",
     "112",
     "a=rtpmap:112 AMR/8000\r\na=fmtp:112 octet-align=1\r\n",
     112,
     {0xf0, 0x14},
     17,
     0xff,
     0xfc},
    {"PCMA", "64-0", "8", "", 8, {}, 160},
    {"clear channel", "64-0", "120", "a=rtpmap:120 CLEARMODE/8000\r\n", 120, {}, 160},
};

/// Frame number `number` of one speaker.
inline sim::Bytes frame_of(const Speech& speech, unsigned speaker, unsigned number) {
  std::uint32_t state = speaker * 7919 + number * 104729 + 1;
  sim::Bytes payload(speech.size);
  for (std::byte& octet : payload) {
    state = state * 1664525U + 1013904223U;
    octet = std::byte(state >> 24U);
  }
  for (std::size_t i = 0; i < speech.head.size(); ++i) {
    const bool last = i + 1 == speech.head.size();
    const std::byte own = std::byte(last ? speech.head_mask : 0xffU);
    payload[i] = (payload[i] & ~own) | (std::byte(speech.head[i]) & own);
  }
  payload.back() &= std::byte(speech.tail_mask);
  return payload;
}

/// A leg on this endpoint that speaks the codec.
inline LegOptions on(std::string endpoint, const Speech& speech, std::string mode = "sendrecv") {
  LegOptions options;
  options.endpoint = std::move(endpoint);
  options.formats = speech.formats;
  options.attributes = speech.attributes;
  options.mode = std::move(mode);
  return options;
}

/// The endpoint of a sub-slot.
inline std::string endpoint_on(int timeslot, const char* sub_slot, int trunk = 1) {
  return fmt::format("ds/e1-{}/s-{}/su{}@mgw", trunk, timeslot, sub_slot);
}

/// Both peers speak for so many frames.
inline void talk_both(Scene& scene, const Speech& speech, const Leg& a, const Leg& b,
                      unsigned frames) {
  for (unsigned i = 0; i < frames; ++i) {
    a.peer->send_packet(speech.payload_type, frame_of(speech, 1, i));
    b.peer->send_packet(speech.payload_type, frame_of(speech, 2, i));
    scene.run_for(std::chrono::milliseconds(20));
  }
  scene.run_for(std::chrono::milliseconds(200));
}

/// Whether the peer got all frames of the speaker, bit by bit, one after the other and 160 ticks
/// apart, as one stream.
inline void check_heard(const Leg& leg, const Speech& speech, unsigned speaker, unsigned frames) {
  const auto& received = leg.peer->received();
  const auto first = std::find_if(received.begin(), received.end(), [&](const auto& packet) {
    return packet.payload == frame_of(speech, speaker, 0);
  });
  REQUIRE(received.end() - first >= static_cast<std::ptrdiff_t>(frames));
  for (unsigned i = 0; i < frames; ++i) {
    CAPTURE(i);
    CHECK(first[i].payload == frame_of(speech, speaker, i));
    CHECK(first[i].header.payload_type == speech.payload_type);
    CHECK(first[i].header.timestamp == first->header.timestamp + 160 * i);
    CHECK(first[i].header.sequence == static_cast<std::uint16_t>(first->header.sequence + i));
    CHECK(first[i].header.ssrc == received.front().header.ssrc);
    CHECK_FALSE(first[i].header.marker);
  }
}

}  // namespace scenario
