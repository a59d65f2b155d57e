// Session descriptions as phones, agents and other gateways write them, and which are refused with
// which code.
#include "mgcp/sdp.h"

#include <doctest/doctest.h>

#include <string>

using namespace std::string_view_literals;
using mgcp::MediaDirection;
using mgcp::parse_sdp;
using mgcp::ResponseCode;
using mgcp::SessionDescription;

namespace {

constexpr std::string_view kHead =
    "v=0\r\no=- 23 42 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n";

/// A description with the usual session lines before `media`.
tl::expected<SessionDescription, mgcp::ProtocolError> parse(std::string_view media) {
  return parse_sdp(std::string(kHead) + std::string(media));
}

ResponseCode code_of(const tl::expected<SessionDescription, mgcp::ProtocolError>& result) {
  return result ? ResponseCode::ok : result.error().code;
}

/// The payload types, for short comparisons.
std::vector<int> types_of(const SessionDescription& description) {
  std::vector<int> types;
  for (const mgcp::Codec& codec : description.codecs) {
    types.push_back(codec.payload_type);
  }
  return types;
}

using Types = std::vector<int>;

}  // namespace

TEST_CASE("a usual offer gives address, port, codecs, fmtp and ptime") {
  const auto sdp = parse(
      "m=audio 2344 RTP/AVP 112 0\r\na=rtpmap:112 AMR/8000/1\r\na=ptime:20\r\n"
      "a=fmtp:112 octet-align=1;mode-set=0,2\r\n");
  REQUIRE(sdp);
  CHECK(sdp->address == io::SocketAddress::parse("127.0.0.1", 0));
  CHECK(sdp->port == 2344);
  CHECK(sdp->ptime_ms == 20U);
  CHECK(types_of(*sdp) == Types{112, 0});
  CHECK(sdp->codecs[0].name == "AMR");
  CHECK(sdp->codecs[0].form == mgcp::RtpmapForm::with_channels);
  CHECK(sdp->codecs[0].fmtp == "octet-align=1;mode-set=0,2");
  CHECK(sdp->codecs[1] == mgcp::static_codec(0));
  CHECK_FALSE(sdp->is_hold());
  CHECK(sdp->other_media.empty());
}

TEST_CASE("lines may end with CR, LF or CRLF and have trailing blanks and NULs") {
  constexpr auto text =
      "c=IN IP4 127.0.0.2 \rm=audio 4000 RTP/AVP 98 \na=rtpmap:98 AMR/8000 \r\na=ptime:20\0\0"sv;
  const auto sdp = parse_sdp(text);
  REQUIRE(sdp);
  CHECK(sdp->address->host_text() == "127.0.0.2");
  CHECK(sdp->port == 4000);
  CHECK(sdp->codecs.at(0).name == "AMR");
  CHECK(sdp->ptime_ms == 20U);
}

TEST_CASE("fields that are not there stay absent") {
  const auto sdp = parse_sdp("v=0\r\n");
  REQUIRE(sdp);
  CHECK(*sdp == SessionDescription{});
  const auto address_only = parse_sdp("c=IN IP6 ::1\r\n");
  REQUIRE(address_only);
  CHECK(address_only->address == io::SocketAddress::parse("::1", 0));
  CHECK_FALSE(address_only->port);
}

TEST_CASE("port 0 and the unspecified address mean hold") {
  const auto port_zero = parse("m=audio 0 RTP/AVP 96\r\na=rtpmap:96 VND.3GPP.IUFP/16000\r\n");
  REQUIRE(port_zero);
  CHECK(port_zero->port == 0);
  CHECK(port_zero->is_hold());
  CHECK(port_zero->codecs.at(0).name == "VND.3GPP.IUFP");
  CHECK(port_zero->codecs.at(0).clock_rate_hz == 16000);
  CHECK(parse_sdp("c=IN IP4 0.0.0.0\nm=audio 4000 RTP/AVP 0\n")->is_hold());
  CHECK(parse_sdp("c=IN IP6 ::\nm=audio 4000 RTP/AVP 0\n")->is_hold());
  CHECK_FALSE(parse_sdp("m=audio 4000 RTP/AVP 0\n")->is_hold());
}

TEST_CASE("addresses that are malformed are refused with 510, unusable ones with 505") {
  for (const char* value :
       {"IN IP4 host.example", "IN IP4 127.0.0.1/127", "IN IP4 ::1", "IN IP6 127.0.0.1", "IN IP4",
        "IN IP4 1.2.3", "IN IP4 1.2.3.256", "IN IP4 127.0.0.1 x", "ATM NSAP 1", "IN IP5 1.2.3.4",
        "IN IP6 fe80::1%eth0", "", "IN", "IN IP6 1:2:3", "IN IP4 127.0.0.1:4000"}) {
    CAPTURE(value);
    const std::string line = std::string("c=") + value + "\r\n";
    CHECK(code_of(parse_sdp(line + "m=audio 1 RTP/AVP 0\r\n")) == ResponseCode::protocol_error);
    CHECK(code_of(parse_sdp("m=audio 1 RTP/AVP 0\r\n" + line)) == ResponseCode::protocol_error);
  }
  for (const char* value : {"IN IP4 224.0.0.1", "IN IP4 239.1.2.3", "IN IP4 255.255.255.255",
                            "IN IP6 ff02::1", "IN IP6 FF15::9"}) {
    CAPTURE(value);
    CHECK(code_of(parse_sdp(std::string("c=") + value)) == ResponseCode::unsupported_description);
  }
  for (const char* value : {"IN IP4 10.0.0.1", "in ip4  10.0.0.1 ", "IN IP6 2001:DB8::1",
                            "IN IP4 240.0.0.1", "IN IP6 fd00::1"}) {
    CAPTURE(value);
    CHECK(parse_sdp(std::string("c=") + value));
  }
}

TEST_CASE("ports that are no port are refused with 510") {
  for (const char* port : {"65536", "99999999999", "-1", "x", "0x10", "/2"}) {
    CAPTURE(port);
    CHECK(code_of(parse(std::string("m=audio ") + port + " RTP/AVP 0\r\n")) ==
          ResponseCode::protocol_error);
  }
  CHECK(parse("m=audio 65535 RTP/AVP 0\r\n")->port == 65535);
  CHECK(parse("m=audio 4000/2 RTP/AVP 0\r\n")->port == 4000);
  CHECK(code_of(parse("m=audio 4000\r\n")) == ResponseCode::protocol_error);
  CHECK(code_of(parse("m=\r\n")) == ResponseCode::protocol_error);
}

TEST_CASE(
    "an audio stream of a profile that can't be served is refused with 505, never taken in clear") {
  for (const char* transport :
       {"RTP/SAVP", "RTP/SAVPF", "rtp/savp", "UDP/TLS/RTP/SAVP", "UDP/TLS/RTP/SAVPF", "UDPTL",
        "udptl", "udp", "TCP", "TCP/RTP/AVP", "TCP/TLS/RTP/SAVP", "TCP/MRCPv2", "DCCP/RTP/AVP",
        "RTP", "RTP/AVPX", "RTP/AVP/TCP", "AVP"}) {
    CAPTURE(transport);
    CHECK(code_of(parse(std::string("m=audio 4000 ") + transport + " 0\r\n")) ==
          ResponseCode::unsupported_description);
  }
  CHECK(code_of(parse("m=image 4000 udptl t38\r\n")) == ResponseCode::unsupported_description);
  CHECK(code_of(parse("m=video 4000 RTP/AVP 96\r\n")) == ResponseCode::unsupported_description);
  CHECK(parse("m=AUDIO 4000 rtp/avp 0\r\n")->profile == mgcp::MediaProfile::rtp_avp);
  CHECK(parse("m=audio 4000 RTP/AVPF 0\r\n")->profile == mgcp::MediaProfile::rtp_avpf);
}

TEST_CASE(
    "of several media lines the first usable audio line is taken, the others are remembered") {
  const auto sdp = parse(
      "m=video 5000 RTP/AVP 96 97\r\na=rtpmap:96 H264/90000\r\na=ptime:60\r\nc=IN IP4 9.9.9.9\r\n"
      "m=audio 5002 RTP/SAVP 98\r\na=rtpmap:98 AMR/8000\r\n"
      "m=audio 0 RTP/AVP 0\r\n"
      "m=audio 5004 RTP/AVP 98\r\na=rtpmap:98 GSM-EFR/8000\r\na=sendonly\r\n"
      "m=image 5006 udptl t38\r\na=inactive\r\n");
  REQUIRE(sdp);
  CHECK(sdp->port == 5004);
  CHECK(types_of(*sdp) == Types{98});
  CHECK(sdp->codecs.at(0).name == "GSM-EFR");
  CHECK(sdp->direction == MediaDirection::sendonly);
  CHECK_FALSE(sdp->ptime_ms);
  CHECK(sdp->address->host_text() == "127.0.0.1");
  CHECK(sdp->other_media_before == 3);
  CHECK(sdp->other_media == std::vector<mgcp::OtherMedia>{{"video", "RTP/AVP", "96"},
                                                          {"audio", "RTP/SAVP", "98"},
                                                          {"audio", "RTP/AVP", "0"},
                                                          {"image", "udptl", "t38"}});
}

TEST_CASE("if all audio lines have port 0 the first of a served profile is taken") {
  const auto sdp = parse("m=audio 0 RTP/SAVP 0\r\nm=audio 0 RTP/AVP 8\r\nm=audio 0 RTP/AVP 0\r\n");
  REQUIRE(sdp);
  CHECK(types_of(*sdp) == Types{8});
  CHECK(sdp->other_media_before == 1);
}

TEST_CASE("media level wins over session level") {
  const auto sdp = parse_sdp(
      "c=IN IP4 10.0.0.1\na=sendonly\na=ptime:40\na=maxptime:80\nm=audio 4000 RTP/AVP 0\n"
      "c=IN IP4 10.0.0.2\na=recvonly\na=ptime:20\n");
  REQUIRE(sdp);
  CHECK(sdp->address->host_text() == "10.0.0.2");
  CHECK(sdp->direction == MediaDirection::recvonly);
  CHECK(sdp->ptime_ms == 20U);
  CHECK(sdp->maxptime_ms == 80U);
}

TEST_CASE("direction attributes are read in any case, the last of a level counts") {
  CHECK(parse("m=audio 1 RTP/AVP 0\na=SendRecv\n")->direction == MediaDirection::sendrecv);
  CHECK(parse("m=audio 1 RTP/AVP 0\na=inactive\na=sendonly\n")->direction ==
        MediaDirection::sendonly);
  CHECK_FALSE(parse("m=audio 1 RTP/AVP 0\na=sendrecvx\n")->direction);
}

TEST_CASE("a=rtcp and a=rtcp-mux are read") {
  const auto sdp = parse("m=audio 4000 RTP/AVP 0\na=rtcp:53020 IN IP6 ::1\na=rtcp-mux\n");
  REQUIRE(sdp);
  CHECK(sdp->rtcp_port == 53020);
  CHECK(sdp->rtcp_address == io::SocketAddress::parse("::1", 0));
  CHECK(sdp->rtcp_mux);
  CHECK_FALSE(parse("m=audio 4000 RTP/AVP 0\na=rtcp:1\n")->rtcp_address);
  CHECK_FALSE(parse("m=audio 4000 RTP/AVP 0\na=rtcp:1\n")->rtcp_mux);
  for (const char* line : {"a=rtcp:65536", "a=rtcp:x", "a=rtcp:", "a=rtcp:1 IN IP4 host"}) {
    CHECK(code_of(parse(std::string("m=audio 4000 RTP/AVP 0\n") + line)) ==
          ResponseCode::protocol_error);
  }
}

TEST_CASE("ptime is a number of milliseconds, a range means any, nonsense is ignored") {
  const auto ptime_of = [](const char* value) {
    return parse(std::string("m=audio 1 RTP/AVP 0\na=ptime:") + value + "\n")->ptime_ms;
  };
  CHECK(ptime_of("20") == 20U);
  CHECK(ptime_of(" 30 ") == 30U);
  CHECK(ptime_of("20.0") == 20U);
  CHECK(ptime_of("20-40") == 0U);
  CHECK(ptime_of("20-20") == 20U);
  CHECK(ptime_of("20-") == 20U);
  CHECK(ptime_of("0") == 0U);
  CHECK_FALSE(ptime_of("x"));
  CHECK_FALSE(ptime_of(""));
  CHECK_FALSE(ptime_of("99999999999"));
}

TEST_CASE("static payload types need no rtpmap, dynamic ones without are left out") {
  const auto sdp = parse(
      "m=audio 1 RTP/AVP 0 3 4 8 9 13 18 96 101 1 2 19 95 127\n"
      "a=rtpmap:101 telephone-event/8000\na=fmtp:101 0-15\na=rtpmap:127 X/8000\n");
  REQUIRE(sdp);
  CHECK(types_of(*sdp) == Types{0, 3, 4, 8, 9, 13, 18, 101, 127});
  CHECK(is_comfort_noise(sdp->codecs[5]));
  CHECK(is_telephone_event(sdp->codecs[7]));
  CHECK(sdp->codecs[7].fmtp == "0-15");
}

TEST_CASE("payload types that read as RTCP, are no number or above 127 are left out") {
  CHECK(types_of(parse("m=audio 1 RTP/AVP 72 73 74 75 76 128 999 x -1 0x60 8\n"
                       "a=rtpmap:72 X/8000\na=rtpmap:76 X/8000\na=rtpmap:60 X/8000\n")
                     .value()) == Types{8});
  CHECK(types_of(parse("m=audio 1 RTP/AVP 010 8\na=rtpmap:10 GSM/8000\n").value()) == Types{10, 8});
}

TEST_CASE("more than ten payload types are fine") {
  std::string media = "m=audio 1 RTP/AVP";
  std::string maps;
  for (int type = 100; type < 123; ++type) {
    media += ' ' + std::to_string(type);
    maps += "a=rtpmap:" + std::to_string(type) + " C" + std::to_string(type) + "/8000\r\n";
  }
  const auto sdp = parse(media + "\r\n" + maps);
  REQUIRE(sdp);
  REQUIRE(sdp->codecs.size() == 23);
  CHECK(sdp->codecs[19].name == "C119");
}

TEST_CASE("of all 128 payload types the first up to the limit are kept") {
  std::string media = "m=audio 1 RTP/AVP";
  std::string maps;
  for (int type = 127; type >= 0; --type) {
    media += ' ' + std::to_string(type);
    maps += "a=rtpmap:" + std::to_string(type) + " C/8000\r\n";
  }
  const auto sdp = parse(media + "\r\n" + maps);
  REQUIRE(sdp);
  CHECK(sdp->codecs.size() == mgcp::kCodecsMax);
  CHECK(sdp->codecs[0].payload_type == 127);
}

TEST_CASE("of a payload type listed twice or mapped twice the first counts") {
  const auto sdp = parse(
      "m=audio 1 RTP/AVP 96 97 96\na=rtpmap:96 AMR/8000\na=rtpmap:96 GSM/8000\n"
      "a=rtpmap:97 GSM-EFR\n");
  REQUIRE(sdp);
  CHECK(types_of(*sdp) == Types{96, 97});
  CHECK(sdp->codecs[0].name == "AMR");
  CHECK(sdp->codecs[1].form == mgcp::RtpmapForm::name_only);
}

TEST_CASE("an rtpmap that is malformed or names a type that is not listed changes nothing") {
  const auto sdp = parse(
      "m=audio 1 RTP/AVP 96 0\na=rtpmap:96 AMR/0\na=rtpmap:98 GSM/8000\n"
      "a=rtpmap:x GSM/8000\na=rtpmap:999 GSM/8000\na=rtpmap:\na=rtpmap:96\n");
  REQUIRE(sdp);
  CHECK(types_of(*sdp) == Types{0});
}

TEST_CASE("a static payload type may be given another meaning") {
  const auto sdp = parse("m=audio 1 RTP/AVP 3\na=rtpmap:3 GSM-EFR/8000\n");
  CHECK(sdp->codecs.at(0).name == "GSM-EFR");
}

TEST_CASE("fmtp may stand before its rtpmap, in several lines, and keeps unknown parameters") {
  const auto sdp = parse(
      "m=audio 1 RTP/AVP 96\na=fmtp:96  mode-set=0,2 \na=fmtp:97 x=1\n"
      "a=rtpmap:96 AMR/8000\na=fmtp:96 tw-ts-006=1\na=fmtp:96\n");
  REQUIRE(sdp);
  CHECK(sdp->codecs.at(0).fmtp == "mode-set=0,2;tw-ts-006=1");
  CHECK(sdp->codecs.at(0).parameter("tw-ts-006") == std::string_view("1"));
}

TEST_CASE("an fmtp is kept as the phone wrote it, of whatever codec") {
  const char* const kTexts[] = {
      "octet-align=1; mode-set=0,2,4,7; mode-change-period=2; mode-change-neighbor=1; max-red=0",
      "OCTET-ALIGN = 1;MODE-SET=\"0,2\"",
      "gsm-hr-format=rfc5993",
      "tw-ts-001=1",
      "tw-ts-002=0 ; tw-ts-006=1",
      "annexb=no",
      "0-15",
      "0-16",
      "0-15,32,36",
      "x",
      "=",
      ";",
      "useinbandfec=1;maxplaybackrate=16000"};
  for (const char* text : kTexts) {
    for (const char* before : {"a=fmtp:96 ", "a=FMTP:96  ", "a=fmtp: 96 "}) {
      CAPTURE(text);
      const std::string line = before + std::string(text) + "\r\n";
      for (const bool first : {false, true}) {
        const std::string map = "a=rtpmap:96 AMR/8000\r\n";
        const auto sdp = parse("m=audio 1 RTP/AVP 96\r\n" + (first ? line + map : map + line));
        REQUIRE(sdp);
        CHECK(sdp->codecs.at(0).fmtp == text);
        std::string written;
        write_sdp(written, *sdp, "1");
        CHECK(written.find("a=fmtp:96 " + std::string(text) + "\r\n") != std::string::npos);
      }
    }
  }
}

TEST_CASE("fmtp lines beyond the limit of a codec are left out") {
  const std::string longest(mgcp::kFmtpBytesMax, 'x');
  const auto sdp = parse("m=audio 1 RTP/AVP 96\na=rtpmap:96 AMR/8000\na=fmtp:96 " + longest +
                         "x\na=fmtp:96 " + longest + "\na=fmtp:96 y\n");
  REQUIRE(sdp);
  CHECK(sdp->codecs.at(0).fmtp == longest);
}

TEST_CASE("unknown lines and attributes do not stop a call") {
  const auto sdp = parse(
      "b=AS:64\nk=clear:x\ni=x\nu=x\nhello\n=\nm\na\nM=audio 9 RTP/SAVP 9\n"
      "m=audio 1 RTP/AVP 0\na=crypto:1 x\na=ice-ufrag:x\na=\na=:\na=candidate:1\n");
  REQUIRE(sdp);
  CHECK(types_of(*sdp) == Types{0});
}

TEST_CASE("channels and rates of opaque codecs are kept") {
  const auto sdp = parse("m=audio 1 RTP/AVP 111\na=rtpmap:111 opus/48000/2\n");
  CHECK(sdp->codecs.at(0).channels == 2);
  CHECK(sdp->codecs.at(0).clock_rate_hz == 48000);
}

TEST_CASE("descriptions up to the limits are read, beyond them refused with 505") {
  std::string lines = "m=audio 1 RTP/AVP 0\n";
  for (std::size_t i = 1; i < mgcp::kSdpLinesMax; ++i) {
    lines += "a=x\n";
  }
  CHECK(parse_sdp(lines));
  CHECK(code_of(parse_sdp(lines + "a=x\n")) == ResponseCode::unsupported_description);
  const std::string longest = "a=" + std::string(mgcp::kSdpLineBytesMax - 2, 'x');
  CHECK(parse_sdp(longest));
  CHECK(code_of(parse_sdp(longest + "x")) == ResponseCode::unsupported_description);
  std::string media;
  for (std::size_t i = 0; i < mgcp::kMediaLinesMax; ++i) {
    media += "m=audio 1 RTP/AVP 0\n";
  }
  REQUIRE(parse_sdp(media));
  CHECK(parse_sdp(media)->other_media.size() == mgcp::kMediaLinesMax - 1);
  CHECK(code_of(parse_sdp(media + "m=audio 1 RTP/AVP 0\n")) ==
        ResponseCode::unsupported_description);
}

TEST_CASE("what would be written back of an unused media line is bounded") {
  const std::string word(64, 'w');
  CHECK(parse("m=" + word + " 1 " + word + " 0\nm=audio 1 RTP/AVP 0\n"));
  CHECK(code_of(parse("m=w" + word + " 1 x 0\nm=audio 1 RTP/AVP 0\n")) ==
        ResponseCode::protocol_error);
  CHECK(parse("m=video 1 x " + word + "w\nm=audio 1 RTP/AVP 0\n")->other_media.at(0).formats ==
        "0");
  CHECK(parse("m=video 1 x\nm=audio 1 RTP/AVP 0\n")->other_media.at(0).formats == "0");
}
