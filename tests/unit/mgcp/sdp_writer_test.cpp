// Answers have osmo-mgw's layout to the byte, and offers read back as they were written.
#include "mgcp/sdp.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using mgcp::Codec;
using mgcp::SessionAnswer;

namespace {

Codec make_codec(int payload_type, std::string_view rtpmap, std::string_view fmtp = {}) {
  Codec codec = mgcp::parse_rtpmap(static_cast<std::uint8_t>(payload_type), rtpmap).value();
  codec.fmtp = fmtp;
  return codec;
}

std::string written(const SessionAnswer& answer) {
  std::string text;
  write_sdp(text, answer);
  return text;
}

/// An answer with one AMR codec; `codecs` must outlive it.
SessionAnswer make_answer(const std::vector<Codec>& codecs) {
  SessionAnswer answer;
  answer.connection_id = "58752493";
  answer.address = io::SocketAddress::parse("127.0.0.1", 9).value();
  answer.port = 4002;
  answer.codecs = codecs;
  answer.ptime_ms = 20;
  return answer;
}

}  // namespace

TEST_CASE("an answer has the layout of osmo-mgw") {
  const std::vector<Codec> codecs{make_codec(112, "AMR/8000/1", "octet-align=1")};
  CHECK(written(make_answer(codecs)) ==
        "v=0\r\no=- 58752493 23 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n"
        "m=audio 4002 RTP/AVP 112\r\na=rtpmap:112 AMR/8000/1\r\na=fmtp:112 octet-align=1\r\n"
        "a=ptime:20\r\n");
}

TEST_CASE("an IPv6 answer says IP6 in both lines") {
  const std::vector<Codec> codecs{make_codec(0, "PCMU/8000")};
  SessionAnswer answer = make_answer(codecs);
  answer.address = io::SocketAddress::parse("::1", 0).value();
  CHECK(written(answer) ==
        "v=0\r\no=- 58752493 23 IN IP6 ::1\r\ns=-\r\nc=IN IP6 ::1\r\nt=0 0\r\n"
        "m=audio 4002 RTP/AVP 0\r\na=ptime:20\r\n");
}

TEST_CASE("names and ptime are left out if they are not to be sent") {
  const std::vector<Codec> codecs{make_codec(112, "AMR/8000", "octet-align=0")};
  SessionAnswer answer = make_answer(codecs);
  answer.send_name = false;
  answer.send_ptime = false;
  CHECK(written(answer).ends_with("m=audio 4002 RTP/AVP 112\r\na=fmtp:112 octet-align=0\r\n"));
  answer.send_ptime = true;
  answer.ptime_ms = 0;
  CHECK(written(answer).find("ptime") == std::string::npos);
}

TEST_CASE("a static payload type gets an rtpmap only if it means something else") {
  const std::vector<Codec> codecs{make_codec(3, "GSM/8000/1"), make_codec(8, "X/8000")};
  CHECK(written(make_answer(codecs))
            .ends_with("m=audio 4002 RTP/AVP 3 8\r\na=rtpmap:8 X/8000\r\na=ptime:20\r\n"));
}

TEST_CASE("several codecs stand in order, each with its rtpmap and fmtp") {
  const std::vector<Codec> codecs{make_codec(98, "AMR/8000"),
                                  make_codec(101, "telephone-event/8000", "0-15")};
  CHECK(written(make_answer(codecs))
            .ends_with("m=audio 4002 RTP/AVP 98 101\r\na=rtpmap:98 AMR/8000\r\n"
                       "a=rtpmap:101 telephone-event/8000\r\na=fmtp:101 0-15\r\na=ptime:20\r\n"));
}

TEST_CASE("unused media lines are answered with port 0 at their places") {
  const std::vector<Codec> codecs{make_codec(0, "PCMU")};
  const std::vector<mgcp::OtherMedia> others{{"video", "RTP/AVP", "96"}, {"image", "udptl", "t38"}};
  SessionAnswer answer = make_answer(codecs);
  answer.other_media = others;
  answer.other_media_before = 1;
  CHECK(
      written(answer).ends_with("m=video 0 RTP/AVP 96\r\nm=audio 4002 RTP/AVP 0\r\na=ptime:20\r\n"
                                "m=image 0 udptl t38\r\n"));
}

TEST_CASE("profile, direction and RTCP are written if they are said") {
  const std::vector<Codec> codecs{make_codec(0, "PCMU")};
  SessionAnswer answer = make_answer(codecs);
  answer.profile = mgcp::MediaProfile::rtp_avpf;
  answer.direction = mgcp::MediaDirection::recvonly;
  answer.rtcp_port = 4003;
  answer.rtcp_mux = true;
  CHECK(
      written(answer).ends_with("m=audio 4002 RTP/AVPF 0\r\na=ptime:20\r\na=recvonly\r\n"
                                "a=rtcp:4003\r\na=rtcp-mux\r\n"));
}

TEST_CASE("an answer can be read by our own parser") {
  const std::vector<Codec> codecs{make_codec(112, "AMR/8000", "octet-align=1")};
  const auto parsed = mgcp::parse_sdp(written(make_answer(codecs)));
  REQUIRE(parsed);
  CHECK(parsed->port == 4002);
  CHECK(parsed->codecs == codecs);
}

TEST_CASE("descriptions read back as they were written") {
  mgcp::SessionDescription full;
  full.address = io::SocketAddress::parse("2001:db8::1", 0);
  full.port = 65535;
  full.profile = mgcp::MediaProfile::rtp_avpf;
  full.rtcp_port = 4001;
  full.rtcp_address = io::SocketAddress::parse("10.0.0.1", 0);
  full.rtcp_mux = true;
  full.direction = mgcp::MediaDirection::inactive;
  full.ptime_ms = 0;
  full.maxptime_ms = 60;
  full.codecs = {make_codec(112, "amr/8000/1", "mode-set=0,2; octet-align=1"),
                 make_codec(0, "PCMU/8000"), make_codec(3, "GSM", "x"), make_codec(96, "X")};
  full.other_media = {
      {"video", "RTP/SAVP", "96"}, {"audio", "RTP/AVP", "8"}, {"image", "udptl", "0"}};
  full.other_media_before = 1;
  mgcp::SessionDescription hold;
  hold.address = io::SocketAddress::parse("0.0.0.0", 0);
  hold.port = 0;
  for (const auto& description : {full, hold}) {
    std::string text;
    write_sdp(text, description, "7");
    CAPTURE(text);
    CHECK(mgcp::parse_sdp(text) == description);
  }
}
