#include "rtp/rtcp_schedule.h"

#include <algorithm>

namespace rtp {
namespace {

constexpr std::uint64_t kNanosecondsPerSecond = 1'000'000'000;
/// e - 3/2 in units of 2^-32 (RFC 3550 section 6.3.1).
constexpr std::uint64_t kCompensation = 5'232'480'611;
constexpr std::uint64_t kOne = std::uint64_t{1} << 32U;
/// Longer intervals help nobody and would overflow: a day.
constexpr std::uint64_t kIntervalSecondsMax = 86'400;

}  // namespace

io::Duration rtcp_interval(const RtcpIntervalInput& input) noexcept {
  std::uint64_t bandwidth_x4 = std::uint64_t{input.bandwidth_bytes_per_s} * 4;
  std::uint64_t sharers = std::max<std::uint32_t>(input.members, 1);
  // A quarter of the bandwidth is for the senders while they are few (section 6.3.1, step 1).
  if (std::uint64_t{input.senders} * 4 <= sharers) {
    bandwidth_x4 = bandwidth_x4 / 4 * (input.we_sent ? 1 : 3);
    sharers = input.we_sent ? std::max<std::uint32_t>(input.senders, 1) : sharers - input.senders;
  }
  bandwidth_x4 = std::max<std::uint64_t>(bandwidth_x4, 1);
  const std::uint64_t bytes_x4 = sharers * input.average_bytes * 4;
  const std::uint64_t seconds = std::min(bytes_x4 / bandwidth_x4, kIntervalSecondsMax);
  const std::uint64_t rest = bytes_x4 % bandwidth_x4;
  const std::uint64_t nanoseconds =
      seconds * kNanosecondsPerSecond +
      rest * 1'000'000 / bandwidth_x4 * (kNanosecondsPerSecond / 1'000'000);
  const io::Duration minimum = input.initial ? input.minimum / 2 : input.minimum;
  return std::max(minimum, io::Duration(static_cast<std::int64_t>(nanoseconds)));
}

io::Duration randomised_rtcp_interval(io::Duration interval, std::uint32_t random) noexcept {
  // Microseconds leave room for the factors: a day has 2^37 of them.
  const auto length =
      static_cast<std::uint64_t>(std::max<std::int64_t>(interval.count(), 0)) / 1000;
  const std::uint64_t factor = kOne / 2 + random;  // 0.5 to 1.5 in units of 2^-32
  // length * factor / kCompensation with both factors cut to 24 fractional bits.
  const std::uint64_t spread = length * (factor >> 8U) / (kCompensation >> 8U);
  return io::Duration(static_cast<std::int64_t>(spread) * 1000);
}

io::Duration RtcpSchedule::interval(std::uint32_t random) const noexcept {
  RtcpIntervalInput input;
  input.members = members_;
  input.senders = senders_;
  input.we_sent = we_sent_;
  input.initial = initial_;
  input.average_bytes = average_bytes_x16_ / 16;
  input.bandwidth_bytes_per_s = bandwidth_bytes_per_s_;
  input.minimum = minimum_;
  return randomised_rtcp_interval(rtcp_interval(input), random);
}

void RtcpSchedule::start(io::TimePoint now, std::size_t expected_bytes,
                         std::uint32_t random) noexcept {
  average_bytes_x16_ = static_cast<std::uint32_t>(expected_bytes) * 16;
  previous_ = now;
  initial_ = true;
  next_ = now + interval(random);
}

void RtcpSchedule::set_members(std::uint32_t members, std::uint32_t senders,
                               bool we_sent) noexcept {
  members_ = std::max<std::uint32_t>(members, 1);
  senders_ = senders;
  we_sent_ = we_sent;
}

bool RtcpSchedule::is_due(io::TimePoint now, std::uint32_t random) noexcept {
  next_ = previous_ + interval(random);
  return next_ <= now;
}

void RtcpSchedule::sent(io::TimePoint now, std::size_t bytes, std::uint32_t random) noexcept {
  average(bytes);
  initial_ = false;
  previous_ = now;
  next_ = now + interval(random);
}

void RtcpSchedule::skipped(io::TimePoint now, std::uint32_t random) noexcept {
  previous_ = now;
  next_ = now + interval(random);
}

void RtcpSchedule::received(std::size_t bytes) noexcept {
  average(bytes);
}

void RtcpSchedule::average(std::size_t bytes) noexcept {
  const auto counted = static_cast<std::uint32_t>(std::min<std::size_t>(bytes, 0xffff));
  average_bytes_x16_ += counted - average_bytes_x16_ / 16;
}

}  // namespace rtp
