// Parameter lines of commands: what is taken, tolerated, and refused with which code.
#include "mgcp/parser.h"

#include <doctest/doctest.h>

#include <string>

using mgcp::ConnectionMode;
using mgcp::ModeParameter;
using mgcp::OsmuxParameter;
using mgcp::Request;
using mgcp::ResponseCode;

namespace {

constexpr std::string_view kSdp =
    "v=0\r\no=- 23 42 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n"
    "m=audio 10000 RTP/AVP 98\r\na=rtpmap:98 AMR/8000\r\n";

/// The parameters of `message`, which must have a good first line and outlive the result.
tl::expected<Request, mgcp::ProtocolError> parse(std::string_view message) {
  return mgcp::parse_parameters(std::get<mgcp::CommandLine>(mgcp::parse_first_line(message)));
}

/// The code with which a command with these parameter lines is refused, 200 if it is not.
ResponseCode code_of(std::string_view verb, std::string_view parameters) {
  const std::string message =
      std::string(verb) + " 1 rtpbridge/1@mgw MGCP 1.0\r\n" + std::string(parameters);
  const auto request = parse(message);
  return request ? ResponseCode::ok : request.error().code;
}

}  // namespace

TEST_CASE("a usual CRCX gives all its values") {
  const std::string message =
      "CRCX 17 rtpbridge/*@mgw MGCP 1.0\r\nC: 2a\r\nL: p:20, a:AMR, nt:IN\r\nM: sendrecv\r\n"
      "X-Osmo-IGN: C\r\nX-Osmux: 7\r\nX: 99\r\nK: 3, 10-12\r\n\r\n" +
      std::string(kSdp);
  const auto request = parse(message);
  REQUIRE(request);
  CHECK(request->verb == mgcp::Verb::crcx);
  CHECK(request->transaction_id == 17);
  CHECK(request->endpoint == "rtpbridge/*@mgw");
  CHECK(request->call_id == std::string_view("2a"));
  CHECK_FALSE(request->connection_id.has_value());
  CHECK(request->mode == ModeParameter{ModeParameter::State::known, ConnectionMode::sendrecv});
  REQUIRE(request->local_options);
  CHECK(request->local_options->codecs == std::vector<std::string>{"AMR"});
  CHECK(request->ignore_call_id);
  CHECK(request->osmux == OsmuxParameter{OsmuxParameter::State::number, 7});
  CHECK(request->request_id == std::string_view("99"));
  CHECK(request->acknowledged == std::vector<mgcp::TransactionRange>{{3, 3}, {10, 12}});
  CHECK(request->sdp_text == kSdp);
  REQUIRE(request->sdp);
  CHECK(request->sdp->port == 10000);
}

TEST_CASE("header names, keywords and blanks may be written in any way") {
  const std::string message =
      "crcx 1 RTPBRIDGE/1@MGW mgcp 1.0\rc:2a  \nl:p:20,a:amr\r\n m :  SendRecv \r\n"
      "x-osmo-ign: x c\r\nX-OSMUX:*\0\r\n";
  const auto request = parse(message);
  REQUIRE(request);
  CHECK(request->call_id == std::string_view("2a"));
  CHECK(request->mode.mode == ConnectionMode::sendrecv);
  CHECK(request->local_options->packetisation->minimum_ms == 20);
  CHECK(request->ignore_call_id);
  CHECK(request->osmux.state == OsmuxParameter::State::any);
}

TEST_CASE("call ids keep their letter case") {
  CHECK(parse("CRCX 1 a@b MGCP 1.0\nC: AbC")->call_id == std::string_view("AbC"));
}

TEST_CASE("every mode that is served is known, the others are told apart from none") {
  for (const auto mode :
       {ConnectionMode::recvonly, ConnectionMode::sendonly, ConnectionMode::sendrecv,
        ConnectionMode::inactive, ConnectionMode::loopback, ConnectionMode::confecho}) {
    const std::string message = "MDCX 1 a@b MGCP 1.0\nM: " + std::string(to_text(mode)) + "\n";
    CHECK(parse(message)->mode == ModeParameter{ModeParameter::State::known, mode});
  }
  for (const char* text :
       {"netwtest", "confrnce", "conttest", "netwloop", "data", "", "sendrecvx"}) {
    const std::string message = std::string("MDCX 1 a@b MGCP 1.0\nM: ") + text + "\n";
    CHECK(parse(message)->mode.state == ModeParameter::State::unknown);
  }
  CHECK(parse("MDCX 1 a@b MGCP 1.0\n")->mode.state == ModeParameter::State::absent);
}

TEST_CASE("an Osmux circuit is a number up to 255 or `*`, anything else is kept as invalid") {
  const auto osmux_of = [](const std::string& value) {
    const std::string message = "CRCX 1 a@b MGCP 1.0\nX-Osmux: " + value + "\n";
    return parse(message)->osmux;
  };
  CHECK(osmux_of("0") == OsmuxParameter{OsmuxParameter::State::number, 0});
  CHECK(osmux_of("255") == OsmuxParameter{OsmuxParameter::State::number, 255});
  CHECK(osmux_of(" * ").state == OsmuxParameter::State::any);
  for (const char* text : {"256", "-1", "x", "", "1 2", "**"}) {
    CHECK(osmux_of(text).state == OsmuxParameter::State::invalid);
  }
}

TEST_CASE("of repeated parameters the last counts") {
  const std::string message = "CRCX 1 a@b MGCP 1.0\nC: 1\nM: recvonly\nC: 2\nM: inactive\n";
  CHECK(parse(message)->call_id == std::string_view("2"));
  CHECK(parse(message)->mode.mode == ConnectionMode::inactive);
}

TEST_CASE("parameters of the RFC that are not acted on are tolerated in connection commands") {
  for (const char* verb : {"CRCX", "MDCX", "DLCX"}) {
    for (const char* line :
         {"B: e:mu",     "R: D/[0-9]", "Q: loop",  "D: xx",     "T: G/ft", "K: 1",  "F: A",
          "E: 900",      "O: D/1",     "P: PS=1",  "ES: x",     "RC: x",   "LC: x", "RD: 1",
          "RM: restart", "PL: x",      "MD: 4000", "A: a:PCMU", "X: 1",    "S:",    "r: "}) {
      CAPTURE(verb);
      CAPTURE(line);
      CHECK(code_of(verb, line) == ResponseCode::ok);
    }
  }
}

TEST_CASE("what a connection command can't have is refused with 539") {
  for (const char* verb : {"CRCX", "MDCX", "DLCX"}) {
    for (const char* line : {"N: foobar", "n: foobar", "S: L/rg", "Z: noanswer", "G: 1", "U: 1",
                             "W:", "I2: 1", "Z2: x@y", "FOO: 1", "1: 2"}) {
      CAPTURE(verb);
      CAPTURE(line);
      CHECK(code_of(verb, line) == ResponseCode::unsupported_parameter);
    }
  }
}

TEST_CASE("unknown optional extensions are ignored, unknown mandatory ones refused with 511") {
  for (const char* verb : {"CRCX", "MDCX", "DLCX", "AUEP", "RQNT"}) {
    for (const char* line : {"X-Foo: 1", "x-foo: 1", "X-: 1", "X-Foo", "Xfoo: 1", "X"}) {
      CAPTURE(line);
      CHECK(code_of(verb, line) == ResponseCode::ok);
    }
    CHECK(code_of(verb, "X+Foo: 1") == ResponseCode::unrecognized_extension);
    CHECK(code_of(verb, "x+foo: 1") == ResponseCode::unrecognized_extension);
  }
}

TEST_CASE("lines that are no parameter are refused with 510, a lone letter is skipped") {
  CHECK(code_of("CRCX", "garbage") == ResponseCode::protocol_error);
  CHECK(code_of("CRCX", ": value") == ResponseCode::protocol_error);
  CHECK(code_of("CRCX", "C") == ResponseCode::ok);
  CHECK(code_of("DLCX", "?") == ResponseCode::ok);
}

TEST_CASE("commands about endpoints ignore what they do not know") {
  for (const char* verb : {"AUEP", "AUCX", "RQNT", "RSIP", "EPCF", "NTFY"}) {
    for (const char* line :
         {"N: ca@agent", "S: D/1", "G: 1", "garbage", ": x", "L: p:111", "Z: x"}) {
      CAPTURE(verb);
      CAPTURE(line);
      CHECK(code_of(verb, line) == ResponseCode::ok);
    }
  }
}

TEST_CASE("errors of local options are those of the line, and the first line in error decides") {
  CHECK(code_of("CRCX", "L: p:20, a:AMR, p:20") == ResponseCode::inconsistent_options);
  CHECK(code_of("MDCX", "L: p:30") == ResponseCode::unsupported_packetisation);
  CHECK(code_of("DLCX", "L: p:111") == ResponseCode::unsupported_packetisation);
  CHECK(code_of("CRCX", "L: p:30\nN: x") == ResponseCode::unsupported_packetisation);
  CHECK(code_of("CRCX", "N: x\nL: p:30") == ResponseCode::unsupported_parameter);
  CHECK(code_of("CRCX", "X+Y: x\nL: p:30") == ResponseCode::unrecognized_extension);
}

TEST_CASE("errors of the description come after those of all parameters") {
  const std::string_view bad = "\r\nv=0\r\nc=IN IP4 host.example\r\nm=audio 1 RTP/AVP 0\r\n";
  const auto with = [bad](std::string_view line) { return std::string(line) + std::string(bad); };
  CHECK(code_of("CRCX", bad) == ResponseCode::protocol_error);
  CHECK(code_of("MDCX", bad) == ResponseCode::protocol_error);
  CHECK(code_of("CRCX", with("N: x\r\n")) == ResponseCode::unsupported_parameter);
  CHECK(code_of("CRCX", "\r\nv=0\r\nm=audio 4000 RTP/SAVP 0\r\n") ==
        ResponseCode::unsupported_description);
}

TEST_CASE("only CRCX and MDCX look at a description") {
  const std::string_view bad = "\r\nm=audio 99999 RTP/AVP 0\r\n";
  for (const char* verb : {"DLCX", "AUEP", "RQNT", "RSIP", "AUCX"}) {
    CHECK(code_of(verb, bad) == ResponseCode::ok);
  }
}

TEST_CASE("without an empty line, or with nothing after it, there is no description") {
  for (const char* text : {"MDCX 1 a@b MGCP 1.0\nI: 1\n", "MDCX 1 a@b MGCP 1.0\nI: 1\n\n",
                           "MDCX 1 a@b MGCP 1.0\r\nI: 1\r\n\r\n \r\n\r\n", "MDCX 1 a@b MGCP 1.0"}) {
    const auto request = parse(text);
    REQUIRE(request);
    CHECK(request->sdp_text.empty());
    CHECK_FALSE(request->sdp.has_value());
  }
}

TEST_CASE("acknowledged transactions are read as ranges, and nonsense among them is left out") {
  const auto ranges_of = [](const std::string& value) {
    const std::string message = "MDCX 1 a@b MGCP 1.0\nK: " + value + "\n";
    return parse(message)->acknowledged;
  };
  using Ranges = std::vector<mgcp::TransactionRange>;
  CHECK(ranges_of("7") == Ranges{{7, 7}});
  CHECK(ranges_of("1-3 , 9 - 11,5") == Ranges{{1, 3}, {9, 11}, {5, 5}});
  CHECK(ranges_of("") == Ranges{});
  CHECK(ranges_of("0,x,5-3,1000000000,-2,8") == Ranges{{8, 8}});
  std::string many = "1";
  for (std::size_t i = 0; i < mgcp::kAcknowledgedRangesMax + 5; ++i) {
    many += ",1";
  }
  CHECK(ranges_of(many).size() == mgcp::kAcknowledgedRangesMax);
}

TEST_CASE("requested items of AUEP are read as a set") {
  const auto request = parse("AUEP 1 a@b MGCP 1.0\nF: A, i,RC,Es ,bogus,x-mgw-streams\n");
  REQUIRE(request);
  CHECK(request->requested_info.has(mgcp::RequestedItem::capabilities));
  CHECK(request->requested_info.has(mgcp::RequestedItem::connection_id));
  CHECK(request->requested_info.has(mgcp::RequestedItem::remote_description));
  CHECK(request->requested_info.has(mgcp::RequestedItem::event_states));
  CHECK(request->requested_info.has(mgcp::RequestedItem::streams));
  CHECK_FALSE(request->requested_info.has(mgcp::RequestedItem::call_id));
  CHECK(parse("AUEP 1 a@b MGCP 1.0\nF: bogus\n")->requested_info.empty());
}

TEST_CASE("restart method and delay of RSIP are read") {
  const auto request = parse("RSIP 1 *@b MGCP 1.0\nRM: Cancel-Graceful\nRD: 12\nE: 900 x\n");
  REQUIRE(request);
  CHECK(request->restart_method == mgcp::RestartMethod::cancel_graceful);
  CHECK(request->restart_delay_s == 12U);
  CHECK(request->reason_code == std::string_view("900 x"));
  CHECK(parse("RSIP 1 *@b MGCP 1.0\nRM: foo\nRD: x\n")->restart_method ==
        mgcp::RestartMethod::unknown);
  CHECK_FALSE(parse("RSIP 1 *@b MGCP 1.0\nRM: foo\nRD: x\n")->restart_delay_s);
  CHECK(parse("RSIP 1 *@b MGCP 1.0\n")->restart_method == mgcp::RestartMethod::absent);
}

TEST_CASE("events and signals of notification commands are read") {
  const auto request = parse("RQNT 1 a@b MGCP 1.0\nX: 12\nN: ca@x:2727\nS: D/1\nO: L/hd\n");
  REQUIRE(request);
  CHECK(request->notified_entity == std::string_view("ca@x:2727"));
  CHECK(request->signals == std::string_view("D/1"));
  CHECK(request->observed_events == std::string_view("L/hd"));
}

TEST_CASE("parameter lines up to the limits are read, beyond them refused with 510") {
  const std::string longest = "X-A: " + std::string(mgcp::kLineBytesMax - 5, 'x');
  CHECK(code_of("CRCX", longest) == ResponseCode::ok);
  CHECK(code_of("CRCX", longest + "x") == ResponseCode::protocol_error);
  std::string lines;
  for (std::size_t i = 0; i < mgcp::kParameterLinesMax; ++i) {
    lines += "X-A: 1\n";
  }
  CHECK(code_of("CRCX", lines) == ResponseCode::ok);
  CHECK(code_of("AUEP", lines + "X-A: 1\n") == ResponseCode::protocol_error);
}
