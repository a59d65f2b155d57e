// The `L:` line: what is taken from it, and which errors are 524 and 535.
#include "mgcp/local_options.h"

#include <doctest/doctest.h>

#include <string>

using mgcp::parse_local_options;
using mgcp::ResponseCode;

namespace {

/// The code with which an `L:` line is refused, 200 if it is not.
ResponseCode code_of(std::string_view text) {
  const auto options = parse_local_options(text);
  return options ? ResponseCode::ok : options.error().code;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("packetisation and codec are read, keys in any case, blanks tolerated") {
  for (const char* text : {"p:20, a:AMR", "p:20,a:AMR", " P : 20 ,  A : amr ", "a:AMR,p:20,"}) {
    CAPTURE(text);
    const auto options = parse_local_options(text);
    REQUIRE(options);
    CHECK(options->packetisation == mgcp::PacketisationPeriod{20, 20});
    CHECK(options->codecs == Names{"AMR"});
  }
}

TEST_CASE("several codecs of `a:` are kept apart and in order") {
  CHECK(parse_local_options("a:GSM-EFR;GSM")->codecs == Names{"GSM-EFR", "GSM"});
  CHECK(parse_local_options("a: amr ; pcmu;")->codecs == Names{"AMR", "PCMU"});
}

TEST_CASE("the codecs of `a:` get payload types that differ") {
  const auto codecs = codecs_from_options(parse_local_options("a:GSM;X;Y;AMR;amr;GSM").value());
  REQUIRE(codecs.size() == 6);
  CHECK(codecs[0].payload_type == 3);
  CHECK(codecs[1].payload_type == 96);
  CHECK(codecs[2].payload_type == 97);
  CHECK(codecs[3].payload_type == 112);
  CHECK(codecs[4].payload_type == 113);
  CHECK(codecs[5].payload_type == 98);
  std::string many = "a:GSM-EFR";
  for (int i = 0; i < 40; ++i) {
    many += ";GSM-EFR";
  }
  const auto all = codecs_from_options(parse_local_options(many).value());
  REQUIRE(all.size() == mgcp::kLocalOptionCodecsMax);
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(all[i].payload_type <= mgcp::kPayloadTypeMax);
    for (std::size_t j = 0; j < i; ++j) {
      CHECK(all[i].payload_type != all[j].payload_type);
    }
  }
}

TEST_CASE("an empty line and keys that are not acted on are accepted") {
  for (const char* text :
       {"", " ", "nt:IN", "p:20, a:GSM-EFR, nt:IN", "e:on, s:off, t:b8, b:64, r:g, gc:-10, k:clear",
        "fmtp:\"telephone-event 0-15,16\", a:PCMU", "x-unknown:1", "p:0"}) {
    CAPTURE(text);
    CHECK(code_of(text) == ResponseCode::ok);
  }
}

TEST_CASE("a packetisation of which no end is a multiple of 20 is refused with 535") {
  for (const char* text : {"p:111", "p:30", "p:30-50", "p:111, a:AMR"}) {
    CAPTURE(text);
    CHECK(code_of(text) == ResponseCode::unsupported_packetisation);
  }
  CHECK(parse_local_options("p:20-30")->packetisation == mgcp::PacketisationPeriod{20, 30});
  CHECK(code_of("p:10-40") == ResponseCode::ok);
}

TEST_CASE("inconsistent options are refused with 524") {
  for (const char* text : {"p:20, a:AMR, p:20", "P:20, p:20", "a:AMR, A:GSM", "p", "20",
                           "p:", "a:", "a:;", ":20", "p:20,,a:AMR", ", p:20", "p:x", "p:-20",
                           "p:20-", "p:20-x", "p:99999999999", "nt:", "nt:IN, nt:IN", "a:GSM/0"}) {
    CAPTURE(text);
    CHECK(code_of(text) == ResponseCode::inconsistent_options);
  }
}

TEST_CASE("the first error of the line decides") {
  CHECK(code_of("p:111, p:20") == ResponseCode::unsupported_packetisation);
  CHECK(code_of("p:20, p:111") == ResponseCode::inconsistent_options);
}

TEST_CASE("more options than the limit are refused") {
  std::string text = "k0:1";
  for (std::size_t i = 1; i < mgcp::kLocalOptionsMax; ++i) {
    text += ",k" + std::to_string(i) + ":1";
  }
  CHECK(code_of(text) == ResponseCode::ok);
  CHECK(code_of(text + ",more:1") == ResponseCode::inconsistent_options);
}

TEST_CASE("options are written as they are read") {
  for (const char* text : {"p:20, a:AMR;PCMU", "p:20-40", "a:GSM", ""}) {
    const auto options = parse_local_options(text).value();
    std::string written;
    append_local_options(written, options);
    CHECK(written == text);
  }
}
