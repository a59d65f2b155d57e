// The checks of CRCX, MDCX and DLCX that need the text alone, and their order.
#include "mgcp/parser.h"

#include <doctest/doctest.h>

#include <string>

using mgcp::ResponseCode;

namespace {

using Check = std::optional<mgcp::ProtocolError> (*)(const mgcp::Request&) noexcept;

/// The code that `check` gives for a command with these parameter lines, 200 if none.
ResponseCode code_of(Check check, const std::string& verb, const std::string& parameters) {
  const std::string message = verb + " 1 rtpbridge/1@mgw MGCP 1.0\r\n" + parameters;
  const auto request =
      mgcp::parse_parameters(std::get<mgcp::CommandLine>(mgcp::parse_first_line(message)));
  REQUIRE(request);
  const auto error = check(*request);
  return error ? error->code : ResponseCode::ok;
}

ResponseCode crcx(const std::string& parameters) {
  return code_of(mgcp::check_crcx, "CRCX", parameters);
}
ResponseCode mdcx(const std::string& parameters) {
  return code_of(mgcp::check_mdcx, "MDCX", parameters);
}
ResponseCode dlcx(const std::string& parameters) {
  return code_of(mgcp::check_dlcx, "DLCX", parameters);
}

}  // namespace

TEST_CASE("a CRCX needs a call id and a served mode and must not name a connection") {
  CHECK(crcx("C: 1\nM: sendrecv\n") == ResponseCode::ok);
  CHECK(crcx("M: sendrecv\n") == ResponseCode::incorrect_call_id);
  CHECK(crcx("C:\nM: sendrecv\n") == ResponseCode::incorrect_call_id);
  CHECK(crcx("C: 1\n") == ResponseCode::unsupported_mode);
  CHECK(crcx("C: 1\nM: netwtest\n") == ResponseCode::unsupported_mode);
  CHECK(crcx("C: 1\nM:\n") == ResponseCode::unsupported_mode);
  CHECK(crcx("C: 1\nM: sendrecv\nI: 1\n") == ResponseCode::illegal_combination);
  CHECK(crcx("C: 1\nM: sendrecv\nI:\n") == ResponseCode::illegal_combination);
  CHECK(crcx("C: 1\nM: sendrecv\nX-Osmux: 300\n") == ResponseCode::protocol_error);
  CHECK(crcx("C: 1\nM: sendrecv\nX-Osmux: *\n") == ResponseCode::ok);
}

TEST_CASE("of several faults of a CRCX the call id comes first, then mode, connection id, Osmux") {
  CHECK(crcx("I: 1\nX-Osmux: x\n") == ResponseCode::incorrect_call_id);
  CHECK(crcx("C: 1\nI: 1\nX-Osmux: x\n") == ResponseCode::unsupported_mode);
  CHECK(crcx("C: 1\nI: 1\nM: recvonly\nX-Osmux: x\n") == ResponseCode::illegal_combination);
}

TEST_CASE("a call id is any text up to its limit") {
  const std::string longest(mgcp::kCallIdBytesMax, 'c');
  CHECK(crcx("C: " + longest + "\nM: recvonly\n") == ResponseCode::ok);
  CHECK(crcx("C: " + longest + "c\nM: recvonly\n") == ResponseCode::protocol_error);
  CHECK(crcx("C: not hex!\nM: recvonly\n") == ResponseCode::ok);
}

TEST_CASE("an MDCX needs a connection id of 1 to 32 characters, and a mode only if one is said") {
  const std::string longest(mgcp::kConnectionIdDigitsMax, 'A');
  CHECK(mdcx("I: 1\n") == ResponseCode::ok);
  CHECK(mdcx("I: " + longest + "\n") == ResponseCode::ok);
  CHECK(mdcx("") == ResponseCode::incorrect_connection_id);
  CHECK(mdcx("I:\n") == ResponseCode::protocol_error);
  CHECK(mdcx("I: " + longest + "A\n") == ResponseCode::protocol_error);
  CHECK(mdcx("I: 1\nM: netwtest\n") == ResponseCode::unsupported_mode);
  CHECK(mdcx("M: netwtest\n") == ResponseCode::incorrect_connection_id);
}

TEST_CASE("a DLCX may leave out the connection id, but not write a bad one") {
  CHECK(dlcx("") == ResponseCode::ok);
  CHECK(dlcx("C: 1\nI: 1\n") == ResponseCode::ok);
  CHECK(dlcx("I:\n") == ResponseCode::protocol_error);
  CHECK(dlcx("I: " + std::string(mgcp::kConnectionIdDigitsMax + 1, '1') + "\n") ==
        ResponseCode::protocol_error);
}

TEST_CASE("connection ids compare without case and leading zeros, and zero equals nothing") {
  using mgcp::same_connection_id;
  CHECK(same_connection_id("00aB12", "Ab12"));
  CHECK(same_connection_id("58752493", "58752493"));
  CHECK_FALSE(same_connection_id("1", "10"));
  CHECK_FALSE(same_connection_id("0", "0"));
  CHECK_FALSE(same_connection_id("", ""));
  CHECK_FALSE(same_connection_id("xyz", "xyz"));
  CHECK_FALSE(same_connection_id("1 ", "1"));
}

TEST_CASE("every code has a reason, and success reads OK") {
  CHECK(default_reason(ResponseCode::ok) == "OK");
  CHECK(default_reason(ResponseCode::connection_deleted) == "OK");
  CHECK(default_reason(ResponseCode::no_free_endpoint) == "no free endpoint");
  for (const int code : {0,   100, 400, 500, 501, 502, 503, 504, 505, 507, 509, 510, 511, 515,
                         516, 517, 523, 524, 527, 528, 529, 534, 535, 536, 539, 540, 599, 299}) {
    CAPTURE(code);
    const std::string_view reason = default_reason(static_cast<ResponseCode>(code));
    CHECK_FALSE(reason.empty());
    CHECK((code < 300 && code != 100) == (reason == "OK"));
  }
}
