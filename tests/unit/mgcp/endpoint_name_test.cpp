// Names of endpoints: what each form means, and that nothing else means anything.
#include "mgcp/endpoint_name.h"

#include <doctest/doctest.h>

#include <string>

using mgcp::EndpointKind;
using mgcp::parse_endpoint_name;

TEST_CASE("a virtual endpoint is a hexadecimal number from 1 on, with or without its prefix") {
  for (const char* text : {"rtpbridge/12c@mgw", "RTPBRIDGE/12C@mgw", "12c@mgw", "12C@mgw"}) {
    CAPTURE(text);
    const auto name = parse_endpoint_name(text);
    REQUIRE(name);
    CHECK(name->kind == EndpointKind::virtual_one);
    CHECK(name->number == 0x12c);
    CHECK(name->domain == "mgw");
  }
  CHECK(parse_endpoint_name("rtpbridge/fffe@mgw")->number == 65534);
  CHECK(parse_endpoint_name("a@mgw")->number == 10);
}

TEST_CASE("what names no endpoint is refused with 500") {
  for (const char* text : {"",
                           "@",
                           "rtpbridge/1",
                           "rtpbridge/@mgw",
                           "rtpbridge/0@mgw",
                           "rtpbridge/01@mgw",
                           "01@mgw",
                           "0@mgw",
                           "rtpbridge/g@mgw",
                           "rtpbridge/1g@mgw",
                           "rtpbridge/-1@mgw",
                           "rtpbridge/123456789@mgw",
                           "foo/1@mgw",
                           "foo/*@mgw",
                           "*@mgw",
                           "$@mgw",
                           "rtpbridge/1*@mgw",
                           "rtpbridge/**@mgw",
                           "rtpbridge@mgw",
                           "rtpbridge/1/2@mgw",
                           "nul@mgw",
                           "null",
                           "aaln/1@mgw"}) {
    CAPTURE(text);
    const auto name = parse_endpoint_name(text);
    REQUIRE_FALSE(name);
    CHECK(name.error().code == mgcp::ResponseCode::endpoint_unknown);
  }
}

TEST_CASE("`*` and `$` are wildcards of the trunk that the prefix names") {
  CHECK(parse_endpoint_name("rtpbridge/*@mgw")->kind == EndpointKind::virtual_wildcard_all);
  CHECK(parse_endpoint_name("RtpBridge/$@mgw")->kind == EndpointKind::virtual_wildcard_any);
  const auto e1 = parse_endpoint_name("ds/e1-7/*@mgw");
  REQUIRE(e1);
  CHECK(e1->kind == EndpointKind::e1_wildcard_all);
  CHECK(e1->e1_trunk == 7);
  CHECK(parse_endpoint_name("DS/E1-0/$@mgw")->kind == EndpointKind::e1_wildcard_any);
}

TEST_CASE("an E1 sub-slot has a trunk, a timeslot, a rate and an offset that fits the rate") {
  const auto name = parse_endpoint_name("ds/e1-64/s-31/su16-6@mgw");
  REQUIRE(name);
  CHECK(name->kind == EndpointKind::e1_one);
  CHECK(name->e1_trunk == 64);
  CHECK(name->subslot == mgcp::E1Subslot{31, 16, 6});
  for (const char* good : {"su64-0", "su32-0", "su32-4", "su16-2", "su8-7", "SU8-0"}) {
    CAPTURE(good);
    CHECK(parse_endpoint_name(std::string("ds/e1-1/s-1/") + good + "@mgw"));
  }
  for (const char* bad :
       {"s-1/su64-1", "s-1/su32-2", "s-1/su16-1", "s-1/su8-8", "s-1/su24-0", "s-1/su0-0",
        "s-0/su8-0", "s-32/su8-0", "s-01/su8-0", "s-1/su8", "s-1/su08-0", "s-1/su8-00", "s-1",
        "s-1/", "s-1/*", "su8-0", "1/su8-0", "s-1/su8-0/1", ""}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_endpoint_name(std::string("ds/e1-1/") + bad + "@mgw"));
  }
  CHECK_FALSE(parse_endpoint_name("ds/e1-65/s-1/su8-0@mgw"));
  CHECK_FALSE(parse_endpoint_name("ds/e1-01/s-1/su8-0@mgw"));
  CHECK_FALSE(parse_endpoint_name("ds/e1-/s-1/su8-0@mgw"));
}

TEST_CASE("`null` is known in any domain") {
  CHECK(parse_endpoint_name("null@mgw")->kind == EndpointKind::null);
  CHECK(parse_endpoint_name("NULL@anything.example")->kind == EndpointKind::null);
}

TEST_CASE("domains compare without case, and a configured `*` takes all") {
  CHECK(mgcp::domain_matches("MGW.example", "mgw.Example"));
  CHECK_FALSE(mgcp::domain_matches("mgw", "other"));
  CHECK_FALSE(mgcp::domain_matches("mgw", ""));
  CHECK(mgcp::domain_matches("*", "other"));
  CHECK_FALSE(mgcp::domain_matches("mgw", "*"));
}

TEST_CASE("a name is written in its canonical form and reads back the same") {
  for (const char* text :
       {"rtpbridge/1@mgw", "rtpbridge/fffe@mgw", "rtpbridge/*@mgw", "rtpbridge/$@mgw", "null@x",
        "ds/e1-0/*@mgw", "ds/e1-3/$@mgw", "ds/e1-1/s-4/su16-6@mgw", "ds/e1-64/s-31/su64-0@mgw"}) {
    CAPTURE(text);
    std::string written;
    append_endpoint_name(written, parse_endpoint_name(text).value());
    CHECK(written == text);
    CHECK(parse_endpoint_name(written) == parse_endpoint_name(text));
  }
  std::string written;
  append_endpoint_name(written, parse_endpoint_name("1F@mgw").value());
  CHECK(written == "rtpbridge/1f@mgw");
}

TEST_CASE("a name longer than the limit is unknown") {
  const std::string prefix = "rtpbridge/1@";
  std::string name = prefix + std::string(mgcp::kEndpointNameBytesMax - prefix.size(), 'd');
  CHECK(parse_endpoint_name(name));
  name += 'd';
  CHECK_FALSE(parse_endpoint_name(name));
}

TEST_CASE("the kinds belong to their trunks") {
  CHECK(is_wildcard(EndpointKind::virtual_wildcard_any));
  CHECK(is_wildcard(EndpointKind::e1_wildcard_all));
  CHECK_FALSE(is_wildcard(EndpointKind::virtual_one));
  CHECK_FALSE(is_wildcard(EndpointKind::null));
  CHECK(is_virtual(EndpointKind::virtual_one));
  CHECK_FALSE(is_virtual(EndpointKind::null));
  CHECK(is_e1(EndpointKind::e1_one));
  CHECK_FALSE(is_e1(EndpointKind::virtual_wildcard_all));
}
