#pragma once
// Statistics of received RTP (RFC 3550 appendix A.1, A.3, A.8), per SSRC and summed over a
// connection. Owned by the connection that receives the stream, used on its worker's thread;
// constant time and memory, time is an argument. Feed it only packets that passed parse_rtp and the
// source check, RTP and not RTCP.

#include "io/time.h"
#include "rtp/rtcp_packet.h"
#include "rtp/rtp_header.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace rtp {

/// A gap of this many numbers or more is a restart, not loss (MAX_DROPOUT, RFC 3550 A.1).
inline constexpr int kMaxDropout = 3000;
/// A packet is late (reordered) if it is fewer than this many numbers behind the newest
/// (MAX_MISORDER, RFC 3550 A.1).
inline constexpr int kMaxMisorder = 100;

/// `time` in units of `clock_rate_hz`, modulo 2^32; exact to the nanosecond over the whole range of
/// the clock.
[[nodiscard]] std::uint32_t to_rtp_ticks(io::TimePoint time, std::uint32_t clock_rate_hz) noexcept;

/// What a run of packets in order, counted elsewhere, does to the state of their stream. What moves
/// on is told as differences, the rest as it is after the last of them.
struct StreamProgress {
  std::uint64_t packets = 0;
  std::uint64_t octets = 0;  ///< of payload
  std::int64_t steps = 0;    ///< of the sequence number; more than packets where some are missing
  std::uint32_t timestamp_errors = 0;
  std::uint32_t timestamp = 0;    ///< of the newest packet
  io::TimePoint arrival{};        ///< of the newest packet
  std::int64_t highest = 0;       ///< extended sequence number of the newest packet
  std::uint64_t window_low = 0;   ///< bit n: number highest - n has come
  std::uint64_t window_high = 0;  ///< bit n: number highest - 64 - n has come
  std::uint32_t transit = 0;
  std::uint32_t jitter_scaled = 0;  ///< times 16
  bool transit_known = false;
};

/// Counts timestamps that don't fit their packets: the same sequence number with another timestamp,
/// or a step since the last packet that is no multiple of the packet duration. Not checked: packets
/// with the marker bit, the first packet of an SSRC, steps smaller than one tick per packet.
class TimestampCheck {
 public:
  /// Looks at one packet. `packet_duration_ticks` 0 = unknown: only equal sequence numbers are
  /// checked.
  void on_packet(std::uint32_t ssrc, std::uint16_t sequence, std::uint32_t timestamp, bool marker,
                 std::uint32_t packet_duration_ticks) noexcept;
  /// Packets of the same SSRC were looked at elsewhere, the last one with these numbers.
  void advance(std::uint16_t sequence, std::uint32_t timestamp, std::uint32_t errors) noexcept {
    sequence_ = sequence;
    timestamp_ = timestamp;
    errors_ += errors;
  }
  /// Packets found wrong so far.
  [[nodiscard]] std::uint32_t errors() const noexcept { return errors_; }
  /// Whether the last packet looked at was that one.
  [[nodiscard]] bool is_last(std::uint32_t ssrc, std::uint16_t sequence) const noexcept {
    return started_ && ssrc_ == ssrc && sequence_ == sequence;
  }
  /// Of the last packet.
  [[nodiscard]] std::uint32_t timestamp() const noexcept { return timestamp_; }
  /// Names all members to `archive`, which saves or restores them (mgw/state_codec.h).
  template <typename Self, typename Archive>
  static void visit_state(Self& self, Archive& archive) {
    archive(self.ssrc_, self.timestamp_, self.errors_, self.sequence_, self.started_);
  }

 private:
  std::uint32_t ssrc_ = 0;
  std::uint32_t timestamp_ = 0;
  std::uint32_t errors_ = 0;
  std::uint16_t sequence_ = 0;
  bool started_ = false;
};

/// Sums over packets of one or several SSRCs. lost = expected - (received - duplicates), never
/// negative.
struct StatisticsTotals {
  std::uint64_t received = 0;  ///< Packets, duplicates included.
  std::uint64_t octets =
      0;  ///< Payload octets, without header and padding (RFC 3550 section 6.4.1).
  std::uint64_t expected = 0;  ///< Packets that the sequence numbers tell of.
  std::uint64_t duplicates =
      0;  ///< Packets whose number had come already (seen over the last 128 numbers).
  std::uint64_t reordered = 0;  ///< Packets that came after a newer one, duplicates apart.
  std::uint64_t restarts =
      0;  ///< Jumps of the sequence within an SSRC that its next packet confirmed.

  /// Packets that never came.
  [[nodiscard]] std::uint64_t lost() const noexcept {
    const std::uint64_t unique = received - duplicates;
    return expected > unique ? expected - unique : 0;
  }
  StatisticsTotals& operator+=(const StatisticsTotals& other) noexcept;
  /// Names all members to `archive`, which saves or restores them (mgw/state_codec.h).
  template <typename Self, typename Archive>
  static void visit_state(Self& self, Archive& archive) {
    archive(self.received, self.octets, self.expected, self.duplicates, self.reordered,
            self.restarts);
  }
};

/// Statistics of one received SSRC.
///
/// Unlike RFC 3550 A.1 there is no probation: the gateway relays the first packet, so it counts the
/// first packet. A jump counts its packet by itself and is a restart once the next number follows;
/// the gap of a jump is not loss.
class StreamStatistics {
 public:
  /// Starts over for `ssrc`, whose timestamps run at `clock_rate_hz` (0 is taken as 8000).
  void start(std::uint32_t ssrc, std::uint32_t clock_rate_hz) noexcept;
  /// Another clock rate from the next packet on (the codec changed): jitter starts over, counts
  /// stay.
  void set_clock_rate(std::uint32_t clock_rate_hz) noexcept;
  /// Counts one packet of this SSRC that arrived at `now`.
  void on_packet(std::uint16_t sequence, std::uint32_t timestamp, std::size_t payload_bytes,
                 io::TimePoint now) noexcept;
  /// The state that further packets in order change, without any of them.
  [[nodiscard]] StreamProgress progress() const noexcept;
  /// Packets of this SSRC were counted elsewhere, starting from progress().
  void advance(const StreamProgress& progress) noexcept;
  /// Remembers a sender report of this SSRC for the next report block (LSR, DLSR).
  void on_sender_report(std::uint64_t ntp_timestamp, io::TimePoint now) noexcept;

  [[nodiscard]] bool started() const noexcept { return received_ != 0; }
  /// Whether packets came since the last report block was made.
  [[nodiscard]] bool heard_since_report() const noexcept { return received_ != received_prior_; }
  [[nodiscard]] std::uint32_t ssrc() const noexcept { return ssrc_; }
  [[nodiscard]] StatisticsTotals totals() const noexcept;
  /// Interarrival jitter in timestamp units (RFC 3550 A.8).
  [[nodiscard]] std::uint32_t jitter() const noexcept { return jitter_scaled_ >> 4U; }
  /// Extended highest sequence number: cycles in the upper 16 bits.
  [[nodiscard]] std::uint32_t highest_sequence() const noexcept {
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(highest_) & 0xffffffffU);
  }
  /// The report block for this SSRC (RFC 3550 A.3). As the RFC wants it, duplicates count as
  /// received here, so cumulative_lost may be negative. The fraction is that since the last call.
  [[nodiscard]] ReportBlock make_report_block(io::TimePoint now) noexcept;
  /// Packets of an unknown number came uncounted since the last one: what is missing before the
  /// next one is not loss.
  void resume() noexcept { resumed_ = received_ != 0; }
  /// Names all members to `archive`, which saves or restores them (mgw/state_codec.h).
  template <typename Self, typename Archive>
  static void visit_state(Self& self, Archive& archive) {
    archive(self.received_, self.octets_, self.expected_in_past_runs_, self.expected_prior_,
            self.received_prior_, self.base_, self.highest_, self.window_low_, self.window_high_,
            self.sender_report_at_, self.ssrc_, self.clock_rate_hz_, self.transit_,
            self.jitter_scaled_, self.duplicates_, self.reordered_, self.restarts_,
            self.after_jump_, self.last_sender_report_, self.transit_known_, self.resumed_);
    self.make_consistent();
  }

 private:
  /// What was restored may be anything: no sum may overflow.
  void make_consistent() noexcept;
  void make_consistent() const noexcept {}
  void begin_run(std::uint16_t sequence) noexcept;
  [[nodiscard]] bool count_sequence(std::uint16_t sequence) noexcept;
  void count_late(int behind) noexcept;
  [[nodiscard]] bool count_jump(std::uint16_t sequence) noexcept;
  void advance_window(int steps) noexcept;
  void update_jitter(std::uint32_t timestamp, io::TimePoint now) noexcept;
  [[nodiscard]] std::uint64_t expected() const noexcept;

  static constexpr std::uint32_t kNoJump = 0x10000;

  std::uint64_t received_ = 0;
  std::uint64_t octets_ = 0;
  std::uint64_t expected_in_past_runs_ = 0;
  std::uint64_t expected_prior_ = 0;  // as of the last report block
  std::uint64_t received_prior_ = 0;
  std::int64_t base_ = 0;          // extended number of the oldest packet of the current run
  std::int64_t highest_ = 0;       // extended number of the newest
  std::uint64_t window_low_ = 0;   // bit n: number highest_ - n has come
  std::uint64_t window_high_ = 0;  // bit n: number highest_ - 64 - n has come
  io::TimePoint sender_report_at_{};
  std::uint32_t ssrc_ = 0;
  std::uint32_t clock_rate_hz_ = 8000;
  std::uint32_t transit_ = 0;
  std::uint32_t jitter_scaled_ = 0;  // times 16
  std::uint32_t duplicates_ = 0;
  std::uint32_t reordered_ = 0;
  std::uint32_t restarts_ = 0;
  std::uint32_t after_jump_ = kNoJump;  // the number that would confirm a restart
  std::uint32_t last_sender_report_ = 0;
  bool transit_known_ = false;
  bool resumed_ = false;
};

static_assert(sizeof(StreamStatistics) <= 128, "two of these are kept per connection");

/// Finished SSRCs of a connection that are remembered one by one: a call with more hand-overs than
/// that is rare, and its older ones are still in the sum.
inline constexpr std::size_t kFinishedStreamsMax = 8;

/// What is told of one SSRC. Counts stop at their largest value.
struct StreamSummary {
  std::uint32_t ssrc = 0;
  std::uint32_t received = 0;  ///< Packets, duplicates included.
  std::uint64_t octets = 0;    ///< Payload octets, as in StatisticsTotals.
  std::uint32_t lost = 0;
  std::uint32_t duplicates = 0;
  std::uint32_t reordered = 0;
  std::uint32_t jitter = 0;  ///< In timestamp units, as of its last packet.
  /// Adds what the same SSRC did at another time, before this.
  void add_earlier(const StreamSummary& earlier) noexcept;
  /// Names all members to `archive`, which saves or restores them (mgw/state_codec.h).
  template <typename Self, typename Archive>
  static void visit_state(Self& self, Archive& archive) {
    archive(self.ssrc, self.received, self.octets, self.lost, self.duplicates, self.reordered,
            self.jitter);
  }
};

static_assert(sizeof(StreamSummary) == 32, "kFinishedStreamsMax of these are kept per connection");

/// The SSRCs of a connection, the one that sends now first, then from newest to oldest.
struct StreamList {
  std::array<StreamSummary, kFinishedStreamsMax + 2> streams{};
  std::size_t count = 0;    ///< Entries in use.
  std::uint32_t older = 0;  ///< SSRCs (or turns of one) that are not listed any more.
};

/// Statistics of all that a connection received: the sum over its SSRCs, of which the current and
/// the one before it are kept apart, so that a late packet of the old SSRC, or two that alternate,
/// are counted right. Of the last kFinishedStreamsMax before these a summary is kept.
class ConnectionStatistics {
 public:
  explicit ConnectionStatistics(std::uint32_t clock_rate_hz = 8000) noexcept
      : clock_rate_hz_(clock_rate_hz) {}
  /// The clock rate of the codec that comes from now on.
  void set_clock_rate(std::uint32_t clock_rate_hz) noexcept;
  /// Counts one packet as it arrived (before any patch). `packet_duration_ticks` is for the
  /// timestamp check, 0 = unknown.
  void on_packet(const RtpHeader& header, io::TimePoint now,
                 std::uint32_t packet_duration_ticks) noexcept;
  /// What counting elsewhere has to start from; none while the stream is out of step: before the
  /// first packet, or when the last one was late or jumped.
  [[nodiscard]] std::optional<StreamProgress> progress() const noexcept;
  /// Packets of the current SSRC were counted elsewhere, starting from progress().
  void advance(const StreamProgress& progress) noexcept;
  /// Takes note of a received sender report (as it arrived); reports of SSRCs without media are
  /// ignored.
  void on_sender_report(const SenderInfo& sender, io::TimePoint now) noexcept;

  /// Sum over all SSRCs.
  [[nodiscard]] StatisticsTotals totals() const noexcept;
  /// The SSRCs one by one.
  [[nodiscard]] StreamList streams() const noexcept;
  /// Jitter of the current SSRC in timestamp units; 0 before the first packet.
  [[nodiscard]] std::uint32_t jitter() const noexcept { return current_.jitter(); }
  /// Timestamp errors of what came in ("TI").
  [[nodiscard]] std::uint32_t timestamp_errors() const noexcept { return check_.errors(); }
  /// How many times another SSRC took over.
  [[nodiscard]] std::uint32_t ssrc_changes() const noexcept { return ssrc_changes_; }
  [[nodiscard]] bool started() const noexcept { return current_.started(); }
  /// The SSRC that sends now; to make report blocks of. Meaningless unless started().
  [[nodiscard]] StreamStatistics& current() noexcept { return current_; }
  [[nodiscard]] const StreamStatistics& current() const noexcept { return current_; }
  /// The SSRC that sent before the current one, or sends too. Meaningless unless its started().
  [[nodiscard]] StreamStatistics& previous() noexcept { return previous_; }
  [[nodiscard]] const StreamStatistics& previous() const noexcept { return previous_; }
  /// As StreamStatistics::resume(), for all SSRCs.
  void resume() noexcept {
    current_.resume();
    previous_.resume();
  }
  /// Names all members to `archive`, which saves or restores them (mgw/state_codec.h).
  template <typename Self, typename Archive>
  static void visit_state(Self& self, Archive& archive) {
    archive(self.current_, self.previous_, self.finished_, self.finished_streams_, self.check_,
            self.clock_rate_hz_, self.ssrc_changes_, self.finished_count_);
  }

 private:
  void change_ssrc(std::uint32_t ssrc) noexcept;
  void remember_finished(const StreamSummary& summary) noexcept;

  StreamStatistics current_;
  StreamStatistics previous_;
  StatisticsTotals finished_;
  std::array<StreamSummary, kFinishedStreamsMax> finished_streams_{};  // a ring
  TimestampCheck check_;
  std::uint32_t clock_rate_hz_;
  std::uint32_t ssrc_changes_ = 0;
  std::uint32_t finished_count_ = 0;  // summaries ever put into the ring
};

}  // namespace rtp
