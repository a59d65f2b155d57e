#include "rtp/voice_quality.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cmath>

namespace rtp {

namespace {

/// R of a path without any fault, all parameters of G.107 at their defaults (clause 7.7).
constexpr double kRatingDefault = 93.2;

struct KnownCodec {
  std::string_view name;
  CodecImpairment impairment;
};

/// G.113 has no Bpl for GSM FR and HR. Their receivers replace and mute lost frames as one of EFR
/// does, so they have its value.
constexpr CodecImpairment kEfr{5, 10.0};
constexpr CodecImpairment kIs641{10, 10.0};
constexpr std::array<KnownCodec, 6> kCodecs{{{"PCMU", {0, 25.1}},
                                             {"PCMA", {0, 25.1}},
                                             {"GSM", {20, 10.0}},
                                             {"GSM-HR-08", {23, 10.0}},
                                             {"GSM-EFR", kEfr},
                                             {"G729", {11, 19.0}}}};

bool equal_ignoring_case(std::string_view left, std::string_view right) noexcept {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(), [](char a, char b) {
    return std::toupper(static_cast<unsigned char>(a)) ==
           std::toupper(static_cast<unsigned char>(b));
  });
}

}  // namespace

std::optional<CodecImpairment> codec_impairment(std::string_view codec_name,
                                                std::uint8_t amr_mode_max) noexcept {
  constexpr std::uint8_t kMode74 = 4;
  constexpr std::uint8_t kMode122 = 7;
  if (equal_ignoring_case(codec_name, "AMR")) {
    return amr_mode_max == kMode122  ? std::optional(kEfr)
           : amr_mode_max == kMode74 ? std::optional(kIs641)
                                     : std::nullopt;
  }
  for (const KnownCodec& codec : kCodecs) {
    if (equal_ignoring_case(codec.name, codec_name)) {
      return codec.impairment;
    }
  }
  return std::nullopt;
}

std::uint8_t highest_amr_mode(std::string_view mode_set) noexcept {
  std::uint8_t highest = 0;
  bool found = false;
  for (const char character : mode_set) {
    if (character >= '0' && character <= '7') {  // modes are single digits with commas between
      highest = std::max(highest, static_cast<std::uint8_t>(character - '0'));
      found = true;
    }
  }
  return found ? highest : std::uint8_t{7};
}

double delay_impairment(io::Duration one_way) noexcept {
  const double delay_ms = std::chrono::duration<double, std::milli>(one_way).count();
  if (delay_ms <= 100) {
    return 0;
  }
  const double x = std::log2(delay_ms / 100);
  const auto term = [](double value) { return std::pow(1 + std::pow(value, 6), 1.0 / 6); };
  return 25 * (term(x) - 3 * term(x / 3) + 2);
}

double loss_impairment(const CodecImpairment& codec, double loss) noexcept {
  const double percent = std::clamp(loss, 0.0, 1.0) * 100;
  return codec.equipment_impairment +
         (95 - codec.equipment_impairment) * percent / (percent + codec.packet_loss_robustness);
}

double transmission_rating(const CodecImpairment& codec, double loss,
                           io::Duration one_way) noexcept {
  return kRatingDefault - delay_impairment(one_way) - loss_impairment(codec, loss);
}

double mos_of_rating(double rating) noexcept {
  if (rating <= 0) {
    return 1;
  }
  if (rating >= 100) {
    return 4.5;
  }
  // Below R = 6.5 the polynomial falls under the scale's lowest value.
  return std::max(1.0, 1 + 0.035 * rating + rating * (rating - 60) * (100 - rating) * 7e-6);
}

io::Duration estimated_delay(const PathMeasurement& path) noexcept {
  return path.round_trip_time.value_or(io::Duration::zero()) / 2 + path.packet_duration +
         2 * path.jitter;
}

double estimated_mos(const CodecImpairment& codec, const PathMeasurement& path) noexcept {
  return mos_of_rating(transmission_rating(codec, path.loss, estimated_delay(path)));
}

}  // namespace rtp
