// What a codec is, when two are the same, and how format parameters are read.
#include "mgcp/codec.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

using mgcp::Codec;

namespace {

Codec make_codec(std::string_view rtpmap, std::string_view fmtp = {}) {
  Codec codec = mgcp::parse_rtpmap(96, rtpmap).value();
  codec.fmtp = fmtp;
  return codec;
}

}  // namespace

TEST_CASE("format parameters are found however phones write them") {
  for (const char* fmtp :
       {"octet-align=1", "mode-set=0,2,4,7;octet-align=1", "mode-set=0,2,4,7; octet-align=1",
        "mode-set=0,2 octet-align=1", "OCTET-ALIGN=1", "octet-align = 1", ";; octet-align =1 ;",
        "mode-set=0, 2, 4; octet-align=1", "crc;octet-align=1", "octet-align=1;octet-align=0"}) {
    CAPTURE(fmtp);
    CHECK(make_codec("AMR/8000", fmtp).octet_align() == true);
  }
}

TEST_CASE("values in quotes are read without them, separators inside included") {
  for (const char* fmtp :
       {"octet-align=\"1\"", "mode-set=\"0,2; 4\";octet-align=1", "octet-align = \" 1 \" ; x",
        "x=\"\" octet-align=1", "mode-set=\"0 2\" octet-align=\"1"}) {
    CAPTURE(fmtp);
    CHECK(make_codec("AMR/8000", fmtp).octet_align() == true);
  }
  CHECK(make_codec("AMR", "mode-set=\"0,2; octet-align=1\"").parameter("mode-set") ==
        std::string_view("0,2; octet-align=1"));
  CHECK_FALSE(make_codec("AMR", "mode-set=\"0,2; octet-align=1\"").octet_align());
  CHECK(make_codec("AMR", "x=\"").parameter("x") == std::string_view());
}

TEST_CASE("parameters are found in every order, separator, spacing and letter case") {
  const std::vector<std::pair<std::string, std::string>> parameters = {{"octet-align", "1"},
                                                                       {"mode-set", "0,2,4,7"},
                                                                       {"mode-change-period", "2"},
                                                                       {"tw-ts-006", "1"},
                                                                       {"max-red", "0"}};
  for (const char* separator : {";", "; ", " ;", " ; ", " ", "  ", "\t", ";;"}) {
    for (const char* equals : {"=", " =", "= ", " = "}) {
      for (std::size_t first = 0; first < parameters.size(); ++first) {
        for (const bool upper : {false, true}) {
          std::string fmtp;
          for (std::size_t i = 0; i < parameters.size(); ++i) {
            const auto& [name, value] = parameters[(first + i) % parameters.size()];
            fmtp += (i == 0 ? "" : separator) + name + equals + value;
          }
          if (upper) {
            std::transform(fmtp.begin(), fmtp.end(), fmtp.begin(), [](char c) {
              return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
            });
          }
          CAPTURE(fmtp);
          const Codec codec = make_codec("AMR/8000", fmtp);
          for (const auto& [name, value] : parameters) {
            CHECK(codec.parameter(name) == std::string_view(value));
          }
          CHECK(mgcp::format_parameters(fmtp).size() == parameters.size());
        }
      }
    }
  }
}

TEST_CASE("octet-align is unknown if absent or not 0 or 1") {
  CHECK(make_codec("AMR", "octet-align=0").octet_align() == false);
  for (const char* fmtp : {"", "octet-align", "octet-align=2", "octet-align=", "octet-alignx=1",
                           "xoctet-align=1", "mode-set=octet-align=1"}) {
    CAPTURE(fmtp);
    CHECK_FALSE(make_codec("AMR", fmtp).octet_align().has_value());
  }
}

TEST_CASE("all parameters of an fmtp are kept in order, unknown ones and lists with blanks too") {
  const auto parameters =
      mgcp::format_parameters("mode-set=0, 2 ,4; tw-ts-006=1;crc gsm-hr-format = rfc5993;x=");
  REQUIRE(parameters.size() == 6);
  CHECK(parameters[0] == mgcp::FormatParameter{"mode-set", "0, 2"});
  CHECK(parameters[1] == mgcp::FormatParameter{",4", ""});
  CHECK(parameters[2] == mgcp::FormatParameter{"tw-ts-006", "1"});
  CHECK(parameters[3] == mgcp::FormatParameter{"crc", ""});
  CHECK(parameters[4] == mgcp::FormatParameter{"gsm-hr-format", "rfc5993"});
  CHECK(parameters[5] == mgcp::FormatParameter{"x", ""});
  CHECK(make_codec("GSM-HR-08", "gsm-hr-format=ts101318").parameter("GSM-HR-Format") ==
        std::string_view("ts101318"));
  CHECK_FALSE(make_codec("GSM-HR-08").parameter("gsm-hr-format"));
}

TEST_CASE("the same codec: names without case, rate and channels however written") {
  CHECK(same_codec(make_codec("AMR/8000"), make_codec("amr/8000/1")));
  CHECK(same_codec(make_codec("GSM"), make_codec("gsm/8000")));
  CHECK(same_codec(mgcp::static_codec(3).value(), make_codec("GSM/8000/1")));
  CHECK_FALSE(same_codec(make_codec("AMR/8000"), make_codec("AMR/16000")));
  CHECK_FALSE(same_codec(make_codec("L16/8000"), make_codec("L16/8000/2")));
  CHECK_FALSE(same_codec(make_codec("GSM"), make_codec("GSM-EFR")));
}

TEST_CASE("octet-align tells AMR codecs apart, absent counts as bandwidth-efficient") {
  const Codec aligned = make_codec("AMR", "octet-align=1");
  const Codec efficient = make_codec("AMR", "octet-align=0");
  const Codec silent = make_codec("AMR");
  CHECK(same_codec(efficient, silent));
  CHECK_FALSE(same_codec(aligned, silent));
  CHECK_FALSE(same_codec(aligned, efficient));
  CHECK(convertible_codec(aligned, efficient));
  CHECK(same_codec(make_codec("GSM", "octet-align=1"), make_codec("GSM")));
  CHECK_FALSE(same_codec(make_codec("AMR-WB/16000", "octet-align=1"), make_codec("AMR-WB/16000")));
}

TEST_CASE("CRC, robust sorting and interleaving imply octets, and nothing converts them") {
  const char* const kPlain[] = {
      "",          "octet-align=0",    "octet-align=1",
      "crc=0",     "robust-sorting=0", "crc=0; robust-sorting=0; octet-align=1",
      "mode-set=7"};
  const char* const kOthers[] = {"crc=1",
                                 "octet-align=1; crc=1",
                                 "robust-sorting=1",
                                 "interleaving=4",
                                 "octet-align=1;interleaving=30; crc=1",
                                 "crc=1; robust-sorting=1"};
  for (const char* rtpmap : {"AMR/8000", "AMR/8000/2", "AMR-WB/16000"}) {
    for (const char* fmtp : kPlain) {
      CAPTURE(fmtp);
      CHECK(amr_packing(make_codec(rtpmap, fmtp)).is_plain());
      CHECK(convertible_codec(make_codec(rtpmap, fmtp), make_codec(rtpmap, "octet-align=1")));
      for (const char* other : kOthers) {
        CAPTURE(other);
        CHECK_FALSE(same_codec(make_codec(rtpmap, fmtp), make_codec(rtpmap, other)));
        CHECK_FALSE(convertible_codec(make_codec(rtpmap, fmtp), make_codec(rtpmap, other)));
        CHECK_FALSE(convertible_codec(make_codec(rtpmap, other), make_codec(rtpmap, fmtp)));
      }
    }
    for (const char* other : kOthers) {
      CAPTURE(other);
      const Codec codec = make_codec(rtpmap, other);
      CHECK(amr_packing(codec).octet_aligned);
      CHECK_FALSE(amr_packing(codec).is_plain());
      CHECK(same_codec(codec, codec));
      CHECK(convertible_codec(codec, codec));
    }
  }
  CHECK(same_codec(make_codec("AMR", "crc=1"), make_codec("AMR", "octet-align=1;crc=1")));
  CHECK(same_codec(make_codec("AMR", "interleaving=4"), make_codec("AMR", "interleaving=30")));
  CHECK(same_codec(make_codec("GSM", "crc=1"), make_codec("GSM")));
  CHECK_FALSE(convertible_codec(make_codec("AMR", "crc=1"), make_codec("VND.3GPP.IUFP/16000")));
}

TEST_CASE("other modes in mode-set make no other codec") {
  CHECK(same_codec(make_codec("AMR", "mode-set=7"), make_codec("AMR", "mode-set=0,2")));
  CHECK(same_codec(make_codec("AMR", "mode-set=7"), make_codec("AMR")));
}

TEST_CASE("AMR or AMR-WB and IuUP convert into each other whatever the rates, others do not") {
  CHECK(convertible_codec(make_codec("AMR/8000"), make_codec("VND.3GPP.IUFP/16000")));
  CHECK(convertible_codec(make_codec("vnd.3gpp.iufp/16000"), make_codec("AMR/8000")));
  CHECK(convertible_codec(make_codec("AMR-WB/16000"), make_codec("VND.3GPP.IUFP/16000")));
  CHECK(convertible_codec(make_codec("VND.3GPP.IUFP/16000"),
                          make_codec("amr-wb/16000", "octet-align=1")));
  CHECK_FALSE(convertible_codec(make_codec("AMR-WB/16000"), make_codec("AMR/8000")));
  CHECK_FALSE(convertible_codec(make_codec("AMR-WB+/16000"), make_codec("VND.3GPP.IUFP/16000")));
  CHECK_FALSE(convertible_codec(make_codec("GSM"), make_codec("VND.3GPP.IUFP/16000")));
  CHECK_FALSE(convertible_codec(make_codec("GSM"), make_codec("PCMU")));
}

TEST_CASE("an rtpmap has a name, and a rate and channels that make sense, or is refused") {
  CHECK(make_codec("AMR").clock_rate_hz == 8000);
  CHECK(make_codec("AMR").channels == 1);
  CHECK(make_codec("opus/48000/2").channels == 2);
  CHECK(make_codec("GSM/8000 trailing words").name == "GSM");
  for (const char* text : {"", " ", "/8000", "GSM/0", "GSM/x", "GSM/8000/0", "GSM/8000/x",
                           "GSM/-8000", "GSM/99999999999", "GSM/8000/1/1", "GSM/8000/300"}) {
    CAPTURE(text);
    CHECK_FALSE(mgcp::parse_rtpmap(96, text));
  }
  CHECK(mgcp::parse_rtpmap(96, std::string(mgcp::kCodecNameBytesMax, 'x')));
  CHECK_FALSE(mgcp::parse_rtpmap(96, std::string(mgcp::kCodecNameBytesMax + 1, 'x')));
}

TEST_CASE("an rtpmap is written as it was read") {
  for (const char* text : {"AMR", "AMR/8000", "amr/8000/1", "VND.3GPP.IUFP/16000", "L16/44100/2"}) {
    std::string written;
    append_rtpmap(written, make_codec(text));
    CHECK(written == text);
  }
}

TEST_CASE("the static payload types of RFC 3551 are known without an rtpmap, others are not") {
  const char* const kTable[] = {"PCMU/8000",   "",           "",           "GSM/8000",  "G723/8000",
                                "DVI4/8000",   "DVI4/16000", "LPC/8000",   "PCMA/8000", "G722/8000",
                                "L16/44100/2", "L16/44100",  "QCELP/8000", "CN/8000",   "MPA/90000",
                                "G728/8000",   "DVI4/11025", "DVI4/22050", "G729/8000"};
  for (unsigned payload_type = 0; payload_type < 128; ++payload_type) {
    CAPTURE(payload_type);
    const auto codec = mgcp::static_codec(static_cast<std::uint8_t>(payload_type));
    const std::string expected = payload_type < std::size(kTable) ? kTable[payload_type] : "";
    std::string written;
    if (codec) {
      append_rtpmap(written, *codec);
      CHECK(codec->payload_type == payload_type);
    }
    CHECK(written == expected);
  }
}

TEST_CASE("a codec of the local options gets osmo-mgw's payload type") {
  const auto type_of = [](const char* name) { return mgcp::codec_from_option(name)->payload_type; };
  CHECK(type_of("PCMU") == 0);
  CHECK(type_of("GSM") == 3);
  CHECK(type_of("PCMA") == 8);
  CHECK(type_of("G729") == 18);
  CHECK(type_of("gsm-efr") == 110);
  CHECK(type_of("GSM-HR-08") == 111);
  CHECK(type_of("AMR") == 112);
  CHECK(type_of("AMR-WB") == 113);
  CHECK(type_of("AMR/16000") == 96);
  CHECK(type_of("CLEARMODE") == 96);
  CHECK(mgcp::codec_from_option("AMR-WB")->clock_rate_hz == 16000);
  CHECK(mgcp::codec_from_option("AMR/8000/2")->channels == 2);
  CHECK_FALSE(mgcp::codec_from_option(""));
}

TEST_CASE("speech, events and noise are told apart, and frames have their length") {
  CHECK(is_telephone_event(make_codec("Telephone-Event/8000")));
  CHECK(is_comfort_noise(make_codec("CN/8000")));
  CHECK(is_iuup(make_codec("VND.3GPP.IUFP/16000")));
  CHECK_FALSE(is_comfort_noise(make_codec("CNX")));
  CHECK(frame_duration_ms(make_codec("g729")) == 10);
  CHECK(frame_duration_ms(make_codec("G723")) == 30);
  CHECK(frame_duration_ms(make_codec("AMR")) == 20);
  CHECK(mgcp::default_codec() == mgcp::static_codec(0));
}
