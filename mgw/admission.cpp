#include "mgw/admission.h"

#include "mgw/endpoint.h"

#include <algorithm>
#include <utility>

namespace mgw {

namespace {

using io::LogCategory;
using io::LogLevel;
using mgcp::ProtocolError;
using mgcp::ResponseCode;

struct CodecRate {
  std::string_view name;
  std::uint32_t bps;
};

/// Payload bit rates of the codecs that a gateway meets, the highest mode where there are several.
constexpr CodecRate kCodecRates[] = {
    {"GSM", 13200},    {"GSM-EFR", 12400},        {"GSM-HR-08", 5600}, {"AMR", 12800},
    {"AMR-WB", 24400}, {"VND.3GPP.IUFP", 14000},  {"G729", 8000},      {"G723", 6400},
    {"iLBC", 15200},   {"telephone-event", 1600}, {"CN", 400},
};
constexpr std::uint32_t kDefaultBps = 64000;
/// Headers of a packet: IPv4, UDP, RTP.
constexpr std::uint64_t kHeaderBits = (20 + 8 + 12) * 8;
constexpr std::uint32_t kDefaultPacketMs = 20;

ProtocolError error_of(LimitCause cause) {
  switch (cause) {
    case LimitCause::connections:
      return {ResponseCode::no_free_endpoint, "all permitted connections are in use"};
    case LimitCause::bandwidth:
      return {ResponseCode::insufficient_bandwidth, "not enough bandwidth left"};
    case LimitCause::cpu:
      return {ResponseCode::overload, "overload: CPU"};
    case LimitCause::backlog:
    case LimitCause::worker_queue:
      return {ResponseCode::overload, "overload: too many commands under way"};
    case LimitCause::agent_rate:
    case LimitCause::agent_flood:
      break;
  }
  return {ResponseCode::overload, "too many commands of this agent"};
}

}  // namespace

std::uint64_t bandwidth_bps(const Connection& connection) {
  const mgcp::Codec& codec = connection.codecs[connection.selected_codec];
  const auto* const known = std::ranges::find_if(
      kCodecRates, [&codec](const CodecRate& rate) { return mgcp::is_codec(codec, rate.name); });
  const std::uint32_t payload = known == std::end(kCodecRates) ? kDefaultBps : known->bps;
  const std::uint32_t packet_ms = connection.ptime_ms != 0 ? connection.ptime_ms : kDefaultPacketMs;
  return payload + kHeaderBits * 1000 / packet_ms;
}

std::optional<LimitCause> Admission::reached(const Candidate& candidate,
                                             io::TimePoint now) const noexcept {
  const conf::LimitOptions& limits = config_.limits;
  if (candidate.new_call && backlog_since_ && now - *backlog_since_ >= kBacklogMax) {
    return LimitCause::backlog;
  }
  if (!candidate.worker_has_room) {
    return LimitCause::worker_queue;
  }
  if (limits.connections != 0 && candidate.connections >= limits.connections) {
    return LimitCause::connections;
  }
  if (limits.bandwidth_kbps != 0 && counters_.bandwidth_bps.value() + candidate.bandwidth_bps >
                                        std::uint64_t{limits.bandwidth_kbps} * 1000) {
    return LimitCause::bandwidth;
  }
  if (candidate.new_call && limits.cpu_percent != 0 && candidate.worker < workers_.size() &&
      workers_[candidate.worker].percent >= limits.cpu_percent) {
    return LimitCause::cpu;
  }
  return std::nullopt;
}

std::optional<ProtocolError> Admission::check(const Candidate& candidate, io::TimePoint now) {
  const auto cause = reached(candidate, now);
  if (!cause) {
    return std::nullopt;
  }
  note(*cause, now);
  return error_of(*cause);
}

void Admission::note(LimitCause cause, io::TimePoint now) {
  const auto index = static_cast<std::size_t>(cause);
  counters_.refused[index].add();
  io::LogLimiter& limiter = log_limiters_[index];
  if (limiter.allow(now)) {
    io::log(LogLevel::notice, LogCategory::lmgcp,
            {{"cause", to_string(cause)}, {"more", limiter.suppressed()}}, "limit reached: {}",
            error_of(cause).reason);
  }
}

void Admission::update(Connection& connection) noexcept {
  const std::uint64_t share = mgw::bandwidth_bps(connection);
  counters_.bandwidth_bps.set(counters_.bandwidth_bps.value() - connection.bandwidth_bps + share);
  connection.bandwidth_bps = share;
}

void Admission::remove(const Connection& connection) noexcept {
  counters_.bandwidth_bps.set(counters_.bandwidth_bps.value() - connection.bandwidth_bps);
}

void Admission::on_cpu_times(std::span<const io::Duration> used, io::TimePoint now) {
  workers_.resize(used.size());
  const bool first = !measured_at_;
  const io::Duration passed = first ? io::Duration::zero() : now - *measured_at_;
  if (!first && passed <= io::Duration::zero()) {
    return;
  }
  measured_at_ = now;
  for (std::size_t i = 0; i < used.size(); ++i) {
    WorkerLoad& load = workers_[i];
    const io::Duration spent = used[i] - std::exchange(load.used, used[i]);
    if (!first) {
      // Half of what was and half of what is: a peak of a second refuses nobody, one of three does.
      const auto percent = static_cast<std::uint32_t>(spent * 100 / passed);
      load.percent = (load.percent + std::min(percent, 100U) + 1) / 2;
    }
  }
}

void Admission::on_burst_end(bool emptied, io::TimePoint now) noexcept {
  if (emptied) {
    backlog_since_.reset();
  } else if (!backlog_since_) {
    backlog_since_ = now;
  }
}

}  // namespace mgw
