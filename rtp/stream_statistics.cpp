#include "rtp/stream_statistics.h"

#include "rtp/sequence.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace rtp {
namespace {

constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;
constexpr std::uint32_t kDefaultClockRateHz = 8000;
constexpr std::uint32_t kDelayUnitsPerSecond = 65536;
/// A transit time that changes by more than this is a source that set its timestamps anew (music on
/// hold, a moved call), not a network that jitters: it becomes the new base and does not count.
constexpr std::uint32_t kTransitStepSecondsMax = 10;

std::uint32_t saturated(std::uint64_t value) noexcept {
  constexpr std::uint64_t kMax = 0xffffffffU;
  return static_cast<std::uint32_t>(std::min(value, kMax));
}

StreamSummary summary_of(const StreamStatistics& stream) noexcept {
  const StatisticsTotals totals = stream.totals();
  return {stream.ssrc(),
          saturated(totals.received),
          totals.octets,
          saturated(totals.lost()),
          saturated(totals.duplicates),
          saturated(totals.reordered),
          stream.jitter()};
}

}  // namespace

void StreamSummary::add_earlier(const StreamSummary& earlier) noexcept {
  received = saturated(std::uint64_t{received} + earlier.received);
  octets += earlier.octets;
  lost = saturated(std::uint64_t{lost} + earlier.lost);
  duplicates = saturated(std::uint64_t{duplicates} + earlier.duplicates);
  reordered = saturated(std::uint64_t{reordered} + earlier.reordered);
}

std::uint32_t to_rtp_ticks(io::TimePoint time, std::uint32_t clock_rate_hz) noexcept {
  const std::int64_t total = time.time_since_epoch().count();
  std::int64_t seconds = total / kNanosecondsPerSecond;
  std::int64_t rest = total % kNanosecondsPerSecond;
  if (rest < 0) {
    rest += kNanosecondsPerSecond;
    --seconds;
  }
  const std::uint64_t whole = static_cast<std::uint64_t>(seconds) * clock_rate_hz;
  const std::uint64_t part =
      static_cast<std::uint64_t>(rest) * clock_rate_hz / std::uint64_t{kNanosecondsPerSecond};
  return static_cast<std::uint32_t>((whole + part) & 0xffffffffU);
}

void TimestampCheck::on_packet(std::uint32_t ssrc, std::uint16_t sequence, std::uint32_t timestamp,
                               bool marker, std::uint32_t packet_duration_ticks) noexcept {
  if (started_ && ssrc == ssrc_ && !marker) {
    const int steps = sequence_distance(sequence_, sequence);
    const std::int64_t ticks = static_cast<std::int32_t>(timestamp - timestamp_);
    if (steps == 0) {
      errors_ += ticks != 0 ? 1U : 0U;
    } else if (packet_duration_ticks != 0 && std::abs(ticks) >= std::abs(steps) &&
               ticks % std::int64_t{packet_duration_ticks} != 0) {
      ++errors_;
    }
  }
  ssrc_ = ssrc;
  sequence_ = sequence;
  timestamp_ = timestamp;
  started_ = true;
}

StatisticsTotals& StatisticsTotals::operator+=(const StatisticsTotals& other) noexcept {
  received += other.received;
  octets += other.octets;
  expected += other.expected;
  duplicates += other.duplicates;
  reordered += other.reordered;
  restarts += other.restarts;
  return *this;
}

void StreamStatistics::start(std::uint32_t ssrc, std::uint32_t clock_rate_hz) noexcept {
  *this = StreamStatistics{};
  ssrc_ = ssrc;
  set_clock_rate(clock_rate_hz);
}

void StreamStatistics::set_clock_rate(std::uint32_t clock_rate_hz) noexcept {
  const std::uint32_t rate = clock_rate_hz == 0 ? kDefaultClockRateHz : clock_rate_hz;
  if (rate != clock_rate_hz_) {
    clock_rate_hz_ = rate;
    jitter_scaled_ = 0;
    transit_known_ = false;
  }
}

void StreamStatistics::begin_run(std::uint16_t sequence) noexcept {
  base_ = sequence;
  highest_ = sequence;
  window_low_ = 1;
  window_high_ = 0;
  after_jump_ = kNoJump;
  transit_known_ = false;
}

void StreamStatistics::advance_window(int steps) noexcept {
  const auto shift = static_cast<unsigned>(steps);
  if (shift < 64) {
    window_high_ = window_high_ << shift | window_low_ >> (64U - shift);
    window_low_ <<= shift;
  } else {
    window_high_ = shift < 128 ? window_low_ << (shift - 64U) : 0;
    window_low_ = 0;
  }
  window_low_ |= 1U;
}

void StreamStatistics::count_late(int behind) noexcept {
  const auto position = static_cast<unsigned>(behind);
  std::uint64_t& word = position < 64 ? window_low_ : window_high_;
  const std::uint64_t bit = std::uint64_t{1} << (position % 64U);
  if ((word & bit) != 0) {
    ++duplicates_;
    return;
  }
  word |= bit;
  ++reordered_;
  if (highest_ - behind < base_) {
    // Older than the first packet that came: nothing is known of the numbers between, so only this
    // one is expected.
    ++expected_in_past_runs_;
  }
}

bool StreamStatistics::count_jump(std::uint16_t sequence) noexcept {
  if (sequence == after_jump_) {
    expected_in_past_runs_ += static_cast<std::uint64_t>(highest_ - base_ + 1);
    ++restarts_;
    begin_run(sequence);
    return true;
  }
  ++expected_in_past_runs_;
  after_jump_ = static_cast<std::uint16_t>(sequence + 1U);
  return false;
}

void StreamStatistics::make_consistent() noexcept {
  constexpr std::int64_t kNumbersMax = std::int64_t{1} << 48U;
  for (std::uint64_t* count :
       {&received_, &expected_in_past_runs_, &expected_prior_, &received_prior_}) {
    *count = std::min<std::uint64_t>(*count, kNumbersMax);
  }
  highest_ = std::clamp<std::int64_t>(highest_, 0, kNumbersMax);
  base_ = std::clamp<std::int64_t>(base_, 0, highest_);
  clock_rate_hz_ = std::max<std::uint32_t>(clock_rate_hz_, 1);
}

bool StreamStatistics::count_sequence(std::uint16_t sequence) noexcept {
  if (received_ == 0) {
    begin_run(sequence);
    return true;
  }
  if (resumed_) {
    resumed_ = false;
    expected_in_past_runs_ += static_cast<std::uint64_t>(highest_ - base_ + 1);
    begin_run(sequence);
    return true;
  }
  const auto steps = static_cast<int>(extend_sequence(highest_, sequence) - highest_);
  if (steps > 0 && steps < kMaxDropout) {
    highest_ += steps;
    advance_window(steps);
    after_jump_ = kNoJump;
    return true;
  }
  if (steps <= 0 && steps > -kMaxMisorder) {
    count_late(-steps);
    return true;
  }
  return count_jump(sequence);
}

void StreamStatistics::update_jitter(std::uint32_t timestamp, io::TimePoint now) noexcept {
  const std::uint32_t transit = to_rtp_ticks(now, clock_rate_hz_) - timestamp;
  const std::uint32_t forward = transit - transit_;
  const std::uint32_t change = std::min(forward, 0U - forward);
  transit_ = transit;
  if (transit_known_ && change <= std::uint64_t{kTransitStepSecondsMax} * clock_rate_hz_) {
    jitter_scaled_ += change - ((jitter_scaled_ + 8U) >> 4U);
  }
  transit_known_ = true;
}

void StreamStatistics::on_packet(std::uint16_t sequence, std::uint32_t timestamp,
                                 std::size_t payload_bytes, io::TimePoint now) noexcept {
  const bool belongs_to_run = count_sequence(sequence);
  ++received_;
  octets_ += payload_bytes;
  if (belongs_to_run) {
    update_jitter(timestamp, now);
  }
}

StreamProgress StreamStatistics::progress() const noexcept {
  StreamProgress progress;
  progress.highest = highest_;
  progress.window_low = window_low_;
  progress.window_high = window_high_;
  progress.transit = transit_;
  progress.jitter_scaled = jitter_scaled_;
  progress.transit_known = transit_known_;
  return progress;
}

void StreamStatistics::advance(const StreamProgress& progress) noexcept {
  received_ += progress.packets;
  octets_ += progress.octets;
  highest_ = progress.highest;
  window_low_ = progress.window_low;
  window_high_ = progress.window_high;
  transit_ = progress.transit;
  jitter_scaled_ = progress.jitter_scaled;
  transit_known_ = progress.transit_known;
  after_jump_ = kNoJump;
}

void StreamStatistics::on_sender_report(std::uint64_t ntp_timestamp, io::TimePoint now) noexcept {
  last_sender_report_ = middle_of_ntp(ntp_timestamp);
  sender_report_at_ = now;
}

std::uint64_t StreamStatistics::expected() const noexcept {
  if (received_ == 0) {
    return 0;
  }
  return expected_in_past_runs_ + static_cast<std::uint64_t>(highest_ - base_ + 1);
}

StatisticsTotals StreamStatistics::totals() const noexcept {
  StatisticsTotals totals;
  totals.received = received_;
  totals.octets = octets_;
  totals.expected = expected();
  totals.duplicates = duplicates_;
  totals.reordered = reordered_;
  totals.restarts = restarts_;
  return totals;
}

ReportBlock StreamStatistics::make_report_block(io::TimePoint now) noexcept {
  constexpr std::int64_t kLostMax = 0x7fffff;
  constexpr std::int64_t kLostMin = -0x800000;
  const auto expected_now = static_cast<std::int64_t>(expected());
  const auto received_now = static_cast<std::int64_t>(received_);
  const std::int64_t expected_since = expected_now - static_cast<std::int64_t>(expected_prior_);
  const std::int64_t lost_since =
      expected_since - (received_now - static_cast<std::int64_t>(received_prior_));
  expected_prior_ = static_cast<std::uint64_t>(expected_now);
  received_prior_ = received_;

  ReportBlock block;
  block.ssrc = ssrc_;
  if (expected_since > 0 && lost_since > 0) {
    block.fraction_lost =
        static_cast<std::uint8_t>(std::min<std::int64_t>(lost_since * 256 / expected_since, 0xff));
  }
  block.cumulative_lost =
      static_cast<std::int32_t>(std::clamp(expected_now - received_now, kLostMin, kLostMax));
  block.highest_sequence = highest_sequence();
  block.jitter = jitter();
  block.last_sender_report = last_sender_report_;
  if (last_sender_report_ != 0 && now > sender_report_at_) {
    const io::TimePoint age{now - sender_report_at_};
    block.delay_since_last_report = to_rtp_ticks(age, kDelayUnitsPerSecond);
  }
  return block;
}

void ConnectionStatistics::set_clock_rate(std::uint32_t clock_rate_hz) noexcept {
  clock_rate_hz_ = clock_rate_hz;
  current_.set_clock_rate(clock_rate_hz);
}

void ConnectionStatistics::change_ssrc(std::uint32_t ssrc) noexcept {
  ++ssrc_changes_;
  std::swap(current_, previous_);
  if (current_.started() && current_.ssrc() == ssrc) {
    current_.set_clock_rate(clock_rate_hz_);
    return;
  }
  if (current_.started()) {
    finished_ += current_.totals();
    remember_finished(summary_of(current_));
  }
  current_.start(ssrc, clock_rate_hz_);
}

void ConnectionStatistics::remember_finished(const StreamSummary& summary) noexcept {
  // One that came back is one stream, in the place that it has.
  const std::uint32_t kept = std::min<std::uint32_t>(finished_count_, kFinishedStreamsMax);
  for (std::uint32_t i = 0; i < kept; ++i) {
    if (finished_streams_[i].ssrc == summary.ssrc) {
      const StreamSummary earlier = std::exchange(finished_streams_[i], summary);
      finished_streams_[i].add_earlier(earlier);
      return;
    }
  }
  finished_streams_[finished_count_ % kFinishedStreamsMax] = summary;
  ++finished_count_;
}

StreamList ConnectionStatistics::streams() const noexcept {
  StreamList list;
  for (const StreamStatistics* stream : {&current_, &previous_}) {
    if (stream->started()) {
      list.streams[list.count++] = summary_of(*stream);
    }
  }
  const std::size_t kept_apart = list.count;
  const std::uint32_t kept = std::min<std::uint32_t>(finished_count_, kFinishedStreamsMax);
  list.older = finished_count_ - kept;
  for (std::uint32_t age = 1; age <= kept; ++age) {
    const StreamSummary& finished =
        finished_streams_[(finished_count_ - age) % kFinishedStreamsMax];
    auto* const end = list.streams.begin() + kept_apart;
    auto* const same = std::find_if(list.streams.begin(), end, [&](const StreamSummary& listed) {
      return listed.ssrc == finished.ssrc;
    });
    if (same != end) {
      same->add_earlier(finished);
    } else {
      list.streams[list.count++] = finished;
    }
  }
  return list;
}

void ConnectionStatistics::on_packet(const RtpHeader& header, io::TimePoint now,
                                     std::uint32_t packet_duration_ticks) noexcept {
  if (!current_.started()) {
    current_.start(header.ssrc, clock_rate_hz_);
  } else if (current_.ssrc() != header.ssrc) {
    change_ssrc(header.ssrc);
  }
  current_.on_packet(header.sequence, header.timestamp, header.payload_size, now);
  check_.on_packet(header.ssrc, header.sequence, header.timestamp, header.marker,
                   packet_duration_ticks);
}

std::optional<StreamProgress> ConnectionStatistics::progress() const noexcept {
  if (!current_.started()) {
    return std::nullopt;
  }
  StreamProgress progress = current_.progress();
  const auto newest = static_cast<std::uint16_t>(current_.highest_sequence() & 0xffffU);
  if (!check_.is_last(current_.ssrc(), newest)) {
    return std::nullopt;
  }
  progress.timestamp = check_.timestamp();
  return progress;
}

void ConnectionStatistics::advance(const StreamProgress& progress) noexcept {
  current_.advance(progress);
  check_.advance(static_cast<std::uint16_t>(current_.highest_sequence() & 0xffffU),
                 progress.timestamp, progress.timestamp_errors);
}

void ConnectionStatistics::on_sender_report(const SenderInfo& sender, io::TimePoint now) noexcept {
  if (current_.started() && current_.ssrc() == sender.ssrc) {
    current_.on_sender_report(sender.ntp_timestamp, now);
  } else if (previous_.started() && previous_.ssrc() == sender.ssrc) {
    previous_.on_sender_report(sender.ntp_timestamp, now);
  }
}

StatisticsTotals ConnectionStatistics::totals() const noexcept {
  StatisticsTotals totals = finished_;
  totals += previous_.totals();
  totals += current_.totals();
  return totals;
}

}  // namespace rtp
