#pragma once
// One end of an RTP session as its RTCP shows it (RFC 3550 section 6): remembers what was sent,
// writes SR, RR, SDES and BYE about it, and reads what the other end reports. Pure state: time and
// random values are arguments. Owned by one leg, used on its worker's thread; constant time and
// memory.

#include "io/time.h"
#include "rtp/rtcp_packet.h"
#include "rtp/stream_statistics.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace rtp {

/// Wall clock time (since 1970) as an NTP timestamp: 32.32 fixed point seconds since 1900, modulo
/// 2^64 (RFC 3550 section 4).
[[nodiscard]] std::uint64_t to_ntp(io::Duration since_1970) noexcept;

/// The round trip time out of a report block: `now` and `last_sender_report` are middle 32 bits of
/// NTP timestamps of one clock, `delay` is the peer's DLSR, all in 1/65536 s and modulo 2^32 (RFC
/// 3550 section 6.4.1). A delay that was reported a little too long gives 0; none if the values
/// can't be true (more than a minute, or more than a second less than 0).
[[nodiscard]] std::optional<io::Duration> round_trip_time(std::uint32_t now,
                                                          std::uint32_t last_sender_report,
                                                          std::uint32_t delay) noexcept;

/// Takes the packets that a gateway which reports by itself has to keep from the next leg out of a
/// compound: SR, RR and SDES. What is left moves together; what can't be read goes too. Returns the
/// new size, 0 if nothing is left.
[[nodiscard]] std::size_t remove_reports(std::span<std::byte> compound) noexcept;

/// Octets of the longest compound that RtcpSession writes, for who provides the memory.
inline constexpr std::size_t kRtcpReportBytesMax = 512;

/// What the other end reports of the streams it gets.
struct RemoteReception {
  std::uint64_t reports = 0;         ///< Report blocks about streams that were sent here.
  std::int32_t cumulative_lost = 0;  ///< As the latest one said; negative with duplicates.
  std::uint32_t jitter_ticks = 0;    ///< The same.
  std::uint8_t fraction_lost = 0;    ///< The same: in 1/256, in the interval before it.
  std::uint64_t round_trips = 0;     ///< How many times the round trip could be measured.
  io::Duration round_trip{};         ///< The latest.
  io::Duration round_trip_sum{};     ///< Over all of them.

  /// The mean of all round trips; none before the first.
  [[nodiscard]] std::optional<io::Duration> mean_round_trip() const noexcept {
    return round_trips == 0
               ? std::nullopt
               : std::optional(round_trip_sum / static_cast<std::int64_t>(round_trips));
  }
  /// Names all members to `archive`, which saves or restores them (mgw/state_codec.h).
  template <typename Self, typename Archive>
  static void visit_state(Self& self, Archive& archive) {
    archive(self.reports, self.cumulative_lost, self.jitter_ticks, self.fraction_lost,
            self.round_trips, self.round_trip, self.round_trip_sum);
  }
};

/// One RTP packet as it was sent, or a run of packets in order, of which these are the newest's
/// numbers.
struct SentPacket {
  std::uint32_t ssrc = 0;
  std::uint32_t timestamp = 0;
  std::uint16_t sequence = 0;
  std::size_t payload_bytes = 0;  ///< Of all of them, without header and padding.
  std::uint32_t clock_rate_hz = 8000;
  std::uint32_t packets = 1;
};

/// See above. The streams that are sent are those that were forwarded, under the numbers that the
/// peer sees; an end that sends none reports under an SSRC of its own.
class RtcpSession {
 public:
  /// Streams that are kept apart, so that each has its SR: those of a conference of five legs. With
  /// more that talk at once only the first of them are reported.
  static constexpr std::size_t kStreamsMax = 4;
  static constexpr std::size_t kNameBytes = 16;
  /// A canonical name: printable characters (RFC 7022 section 4.2: 96 random bits in base 64).
  using Name = std::array<char, kNameBytes>;

  /// `own_ssrc` is random. `wall_clock_offset` is what the time since 1970 is ahead of the
  /// TimePoints that come in; it stays the same for the session, for the NTP timestamps of one
  /// stream must not jump.
  RtcpSession(std::uint32_t own_ssrc, const Name& name, io::Duration wall_clock_offset) noexcept
      : own_ssrc_(own_ssrc), wall_clock_offset_(wall_clock_offset), name_(name) {}

  /// Counts a packet that goes to the peer, or a run of them whose newest left at `now`.
  void on_sent(const SentPacket& packet, io::TimePoint now) noexcept;
  /// Forgets a stream whose BYE went to the peer.
  void on_stream_ended(std::uint32_t ssrc) noexcept;
  /// Reads a compound of the peer: report blocks about what was sent, BYE. Returns how many SR and
  /// RR were in it.
  std::size_t on_received(std::span<const std::byte> compound, io::TimePoint now) noexcept;
  /// The peer sent RTP: it is there again, should it have said BYE.
  void on_rtp_received() noexcept { peer_present_ = true; }

  /// Writes a report: an SR for each stream that was sent since the report before the last one, or
  /// an RR, with blocks on what `received` has had since the last report, and the SDES. `random` is
  /// for a new SSRC of our own, should the peer use the same. Returns its octets; 0 if `out` has
  /// less than kRtcpReportBytesMax.
  [[nodiscard]] std::size_t write_report(std::span<std::byte> out, ConnectionStatistics& received,
                                         io::TimePoint now, std::uint32_t random) noexcept;
  /// Writes a last report with a BYE for all that was reported of. Returns its octets; 0 if nothing
  /// was ever sent, as then nobody is to hear of it (section 6.3.7), or if `out` is too short.
  [[nodiscard]] std::size_t write_goodbye(std::span<std::byte> out, ConnectionStatistics& received,
                                          io::TimePoint now, std::uint32_t random) noexcept;
  /// Writes the beginning that every compound needs (section 6.1): an RR without blocks and the
  /// SDES, for relayed packets to follow. Returns its octets; 0 if `out` is too short.
  [[nodiscard]] std::size_t write_opening(std::span<std::byte> out) const noexcept;

  /// The SSRC under which the next report goes out.
  [[nodiscard]] std::uint32_t ssrc() const noexcept;
  /// Whether RTP was sent since the report before the last one.
  [[nodiscard]] bool is_sender() const noexcept;
  /// Whether the peer was heard of and has not said BYE.
  [[nodiscard]] bool peer_present() const noexcept { return peer_present_; }
  [[nodiscard]] const RemoteReception& remote() const noexcept { return remote_; }
  /// Names all members to `archive`, which saves or restores them (mgw/state_codec.h).
  template <typename Self, typename Archive>
  static void visit_state(Self& self, Archive& archive) {
    archive(self.streams_, self.sender_reports_, self.next_sender_report_, self.remote_,
            self.last_report_, self.before_last_report_, self.own_ssrc_, self.peer_ssrc_,
            self.wall_clock_offset_, self.name_, self.peer_present_, self.sent_anything_);
    self.make_consistent();
  }

 private:
  struct SentStream {
    template <typename Self, typename Archive>
    static void visit_state(Self& self, Archive& archive) {
      archive(self.newest_at, self.last_at, self.ssrc, self.timestamp, self.packets, self.octets,
              self.clock_rate_hz, self.sequence, self.used);
    }
    io::TimePoint newest_at{};  // when the newest timestamp was first sent
    io::TimePoint last_at{};
    std::uint32_t ssrc = 0;
    std::uint32_t timestamp = 0;
    std::uint32_t packets = 0;
    std::uint32_t octets = 0;
    std::uint32_t clock_rate_hz = 8000;
    std::uint16_t sequence = 0;
    bool used = false;
  };

  /// What was restored may be anything: indices stay in their arrays.
  void make_consistent() noexcept { next_sender_report_ %= sender_reports_.size(); }
  void make_consistent() const noexcept {}
  [[nodiscard]] SentStream* find(std::uint32_t ssrc) noexcept;
  [[nodiscard]] SentStream* place_for(std::uint32_t ssrc, io::TimePoint now) noexcept;
  [[nodiscard]] bool is_reported(const SentStream& stream) const noexcept {
    return stream.used && stream.last_at >= before_last_report_;
  }
  [[nodiscard]] const SentStream* newest() const noexcept;
  void on_report_block(const ReportBlock& block, io::TimePoint now) noexcept;
  [[nodiscard]] std::uint64_t ntp(io::TimePoint now) const noexcept {
    return to_ntp(now.time_since_epoch() + wall_clock_offset_);
  }
  void avoid_collision(const ConnectionStatistics& received, std::uint32_t random) noexcept;
  [[nodiscard]] bool collides(const ConnectionStatistics& received) const noexcept;
  [[nodiscard]] bool add_reports(RtcpWriter& writer, ConnectionStatistics& received,
                                 io::TimePoint now) noexcept;
  [[nodiscard]] std::string_view name() const noexcept { return {name_.data(), name_.size()}; }

  std::array<SentStream, kStreamsMax> streams_{};
  // What the latest sender reports said as NTP time, for only an echo of one of them is a round
  // trip to here.
  std::array<std::uint32_t, 4> sender_reports_{};
  std::size_t next_sender_report_ = 0;
  RemoteReception remote_;
  io::TimePoint last_report_{};
  io::TimePoint before_last_report_{};
  std::uint32_t own_ssrc_;
  std::uint32_t peer_ssrc_ = 0;  // under which it sends RTCP
  io::Duration wall_clock_offset_;
  Name name_;
  bool peer_present_ = false;
  bool sent_anything_ = false;
};

}  // namespace rtp
