#include "mgw/gateway_snapshot.h"

#include <algorithm>
#include <chrono>

namespace mgw {

double LegSnapshot::loss() const noexcept {
  const rtp::StatisticsTotals& totals = counters.totals;
  return totals.expected == 0
             ? 0
             : static_cast<double>(totals.lost()) / static_cast<double>(totals.expected);
}

io::Duration LegSnapshot::jitter() const noexcept {
  constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;
  const std::uint32_t rate_hz = counters.clock_rate_hz == 0 ? 8000 : counters.clock_rate_hz;
  return io::Duration(counters.jitter_ticks * kNanosecondsPerSecond / rate_hz);
}

std::optional<io::Duration> LegSnapshot::round_trip_time() const noexcept {
  return counters.remote.round_trips == 0 ? std::nullopt
                                          : std::optional(counters.remote.round_trip);
}

std::optional<double> LegSnapshot::mos() const noexcept {
  if (!impairment || counters.totals.received == 0) {
    return std::nullopt;
  }
  return rtp::estimated_mos(*impairment, {loss(), jitter(), packet_duration, round_trip_time()});
}

double CallSnapshot::worst_loss() const noexcept {
  double worst = 0;
  for (const LegSnapshot& leg : legs) {
    worst = std::max(worst, leg.loss());
  }
  return worst;
}

io::Duration CallSnapshot::worst_jitter() const noexcept {
  io::Duration worst{};
  for (const LegSnapshot& leg : legs) {
    worst = std::max(worst, leg.jitter());
  }
  return worst;
}

std::optional<io::Duration> CallSnapshot::worst_round_trip_time() const noexcept {
  std::optional<io::Duration> worst;
  for (const LegSnapshot& leg : legs) {
    worst = std::max(worst, leg.round_trip_time());
  }
  return worst;
}

std::optional<double> CallSnapshot::worst_mos() const noexcept {
  std::optional<double> worst;
  for (const LegSnapshot& leg : legs) {
    if (const auto mos = leg.mos(); mos && (!worst || *mos < *worst)) {
      worst = mos;
    }
  }
  return worst;
}

std::uint64_t CallSnapshot::packets() const noexcept {
  std::uint64_t sum = 0;
  for (const LegSnapshot& leg : legs) {
    sum += leg.counters.rtp_received.packets;
  }
  return sum;
}

std::uint64_t CallSnapshot::drops() const noexcept {
  std::uint64_t sum = 0;
  for (const LegSnapshot& leg : legs) {
    sum += leg.counters.dropped;
  }
  return sum;
}

io::TimePoint CallSnapshot::created() const noexcept {
  io::TimePoint oldest{};
  for (const LegSnapshot& leg : legs) {
    if (leg.created != io::TimePoint{} && (oldest == io::TimePoint{} || leg.created < oldest)) {
      oldest = leg.created;
    }
  }
  return oldest;
}

std::string_view to_string(QualityClass quality) noexcept {
  constexpr std::array<std::string_view, kQualityClasses> kNames = {"good", "fair", "poor", "bad",
                                                                    "unknown"};
  return kNames[static_cast<std::size_t>(quality)];
}

QualityClass quality_class(std::optional<double> mos) noexcept {
  if (!mos) {
    return QualityClass::unknown;
  }
  return *mos >= 4.0   ? QualityClass::good
         : *mos >= 3.6 ? QualityClass::fair
         : *mos >= 3.1 ? QualityClass::poor
                       : QualityClass::bad;
}

LegSnapshot leg_snapshot(const Connection& connection, const ConnectionCounters& counters) {
  LegSnapshot leg;
  leg.id = connection.id;
  leg.kind = connection.kind;
  leg.mode = mgcp::to_text(connection.mode);
  leg.packet_duration = std::chrono::milliseconds(connection.ptime_ms);
  leg.local = connection.local;
  leg.remote = connection.remote_rtp();
  leg.created = connection.created;
  leg.counters = counters;
  if (connection.selected_codec < connection.codecs.size()) {
    const mgcp::Codec& codec = connection.codecs[connection.selected_codec];
    leg.codec = codec.name + "/" + std::to_string(codec.clock_rate_hz);
    leg.impairment = rtp::codec_impairment(
        codec.name, rtp::highest_amr_mode(codec.parameter("mode-set").value_or("")));
  }
  return leg;
}

}  // namespace mgw
