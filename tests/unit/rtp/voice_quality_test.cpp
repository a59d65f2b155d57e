#include "rtp/voice_quality.h"

#include <doctest/doctest.h>

#include <array>
#include <utility>

using rtp::CodecImpairment;
using std::chrono::milliseconds;

namespace {

/// A value that is no further away than that.
doctest::Approx about(double value, double margin) {
  return doctest::Approx(value).epsilon(margin / (1 + value));
}

}  // namespace

TEST_CASE("Ratings have the scores of table B.1 of G.107") {
  constexpr std::array<std::pair<double, double>, 6> kRows{
      {{90, 4.34}, {80, 4.03}, {70, 3.60}, {60, 3.10}, {50, 2.58}, {93.2, 4.41}}};
  for (const auto& [rating, mos] : kRows) {
    CHECK(rtp::mos_of_rating(rating) == about(mos, 0.007));
  }
  CHECK(rtp::mos_of_rating(-10) == 1);
  CHECK(rtp::mos_of_rating(0) == 1);
  CHECK(rtp::mos_of_rating(3) == 1);
  CHECK(rtp::mos_of_rating(100) == 4.5);
  CHECK(rtp::mos_of_rating(120) == 4.5);
}

TEST_CASE("Loss impairs G.729A and G.711 with concealment as G.113 tabulates it") {
  const CodecImpairment g729 = rtp::codec_impairment("G729").value();
  constexpr std::array<std::pair<double, double>, 7> kG729{
      {{0, 11}, {1, 15}, {2, 19}, {3, 23}, {4, 26}, {8, 36}, {16, 49}}};
  for (const auto& [percent, impairment] : kG729) {
    CHECK(rtp::loss_impairment(g729, percent / 100) == about(impairment, 0.6));
  }
  const CodecImpairment g711 = rtp::codec_impairment("PCMA").value();
  constexpr std::array<std::pair<double, double>, 4> kG711{{{0, 0}, {2, 7}, {3, 10}, {5, 15}}};
  for (const auto& [percent, impairment] : kG711) {
    CHECK(rtp::loss_impairment(g711, percent / 100) == about(impairment, 0.9));
  }
  CHECK(rtp::loss_impairment(g711, 1.0) < 95);
  CHECK(rtp::loss_impairment(g711, 7.0) == rtp::loss_impairment(g711, 1.0));
}

TEST_CASE("Delay costs nothing up to 100 ms, next to nothing at 150, much at 400") {
  CHECK(rtp::delay_impairment(milliseconds(0)) == 0);
  CHECK(rtp::delay_impairment(milliseconds(100)) == 0);
  CHECK(rtp::delay_impairment(milliseconds(150)) == about(0.16, 0.01));
  CHECK(rtp::delay_impairment(milliseconds(400)) == about(24.1, 0.1));
}

TEST_CASE("Codecs without a value of G.113 have no estimate") {
  CHECK(rtp::codec_impairment("pcmu").has_value());
  CHECK(rtp::codec_impairment("GSM")->equipment_impairment == 20);
  CHECK(rtp::codec_impairment("GSM-HR-08")->equipment_impairment == 23);
  CHECK(rtp::codec_impairment("GSM-EFR")->equipment_impairment == 5);
  CHECK_FALSE(rtp::codec_impairment("AMR-WB").has_value());
  CHECK_FALSE(rtp::codec_impairment("opus").has_value());
  CHECK_FALSE(rtp::codec_impairment("").has_value());
}

TEST_CASE("AMR is rated by the highest mode that it may use") {
  CHECK(rtp::highest_amr_mode("") == 7);
  CHECK(rtp::highest_amr_mode("0,2,4") == 4);
  CHECK(rtp::highest_amr_mode("0") == 0);
  CHECK(rtp::highest_amr_mode("x") == 7);
  CHECK(rtp::codec_impairment("AMR", 7)->equipment_impairment == 5);
  CHECK(rtp::codec_impairment("amr", 4)->equipment_impairment == 10);
  CHECK_FALSE(rtp::codec_impairment("AMR", 2).has_value());
}

TEST_CASE("A clean path of G.711 has 4.41, and loss, jitter and distance lower it") {
  const CodecImpairment g711 = rtp::codec_impairment("PCMU").value();
  rtp::PathMeasurement path;
  path.packet_duration = milliseconds(20);
  CHECK(rtp::estimated_mos(g711, path) == about(4.41, 0.01));
  path.loss = 0.05;
  const double lossy = rtp::estimated_mos(g711, path);
  CHECK(lossy == about(3.94, 0.02));
  path.round_trip_time = milliseconds(400);
  path.jitter = milliseconds(30);
  CHECK(rtp::estimated_delay(path) == milliseconds(280));
  CHECK(rtp::estimated_mos(g711, path) < lossy - 0.3);
}
