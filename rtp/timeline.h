#pragma once
// One continuous output stream out of a source that may change its SSRC or stray from its timestamp
// grid: the `rtp-patch ssrc` and `rtp-patch timestamp` options. The state belongs to the source
// connection, on its worker's thread; the options are those of the destination.

#include "io/time.h"
#include "rtp/rtcp_rewrite.h"
#include "rtp/rtp_header.h"
#include "rtp/sequence.h"
#include "rtp/stream_statistics.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace rtp {

/// What shall be patched.
struct TimelineOptions {
  bool patch_ssrc =
      false;  ///< The first SSRC stays the output's SSRC; a change continues its timeline.
  bool align_timestamp =
      false;  ///< Timestamps off the packet grid are rounded up to it (not with the marker bit).
};

/// The timing of the source's packets.
struct TimelineTiming {
  std::uint32_t clock_rate_hz = 8000;         ///< 0 is taken as 8000.
  std::uint32_t packet_duration_ticks = 160;  ///< 0 is taken as 20 ms.
};

/// The numbers under which one packet goes out.
struct TimelinePatch {
  std::uint32_t ssrc = 0;
  std::uint32_t timestamp = 0;
  std::uint16_t sequence = 0;
};

/// Maps a source's packets onto one output stream.
///
/// With patch_ssrc a new SSRC goes on at the last output sequence + 1 and the last output timestamp
/// + n packet durations, n = elapsed time / packet duration, rounded, at least 1. A packet of the
/// old SSRC that comes late keeps the old mapping if its output number is one of the last 100
/// before the change: it fills its gap and the output is as ordered as the input was. One that the
/// old SSRC sends with a number at or past the change can't be told from a source that switched
/// back and is treated as such: the output goes on counting, no packet is lost and no number is
/// used twice; the price is one packet duration of timestamp. Nothing is ever dropped here.
class Timeline {
 public:
  /// The output numbers of the packet that `header` describes (as received). Call it exactly once
  /// per received packet, also when it goes to several destinations, with the same options for all
  /// of them.
  [[nodiscard]] TimelinePatch next(const RtpHeader& header, io::TimePoint now,
                                   TimelineOptions options, TimelineTiming timing) noexcept;
  /// next() and write_patch() for the usual case of one destination; `header` is updated with the
  /// packet.
  void apply(std::span<std::byte> packet, RtpHeader& header, io::TimePoint now,
             TimelineOptions options, TimelineTiming timing) noexcept;

  /// What is added to the numbers of packets in order as long as nothing unusual comes; none if
  /// `ssrc` is not the source or `sequence` and `timestamp` are not those of its newest packet.
  [[nodiscard]] std::optional<StreamMapping> steady_mapping(std::uint32_t ssrc,
                                                            std::uint16_t sequence,
                                                            std::uint32_t timestamp) const noexcept;
  /// Packets of the source were mapped elsewhere by steady_mapping().
  void advance(const StreamProgress& progress) noexcept;
  /// The current mapping, for RTCP. Not active as long as media passed unchanged.
  [[nodiscard]] StreamMapping mapping() const noexcept;
  /// Timestamp errors of what goes out ("TO").
  [[nodiscard]] std::uint32_t timestamp_errors() const noexcept { return check_.errors(); }
  /// Packets of an unknown number went out since the last one: should the source change its SSRC
  /// now, the output leaves room for them, one number for each packet duration.
  void resume() noexcept { resumed_ = started_; }
  /// Names all members to `archive`, which saves or restores them (mgw/state_codec.h).
  template <typename Self, typename Archive>
  static void visit_state(Self& self, Archive& archive) {
    archive(self.current_, self.previous_, self.newest_at_, self.source_sequence_, self.check_,
            self.output_ssrc_, self.newest_timestamp_, self.packets_, self.octets_,
            self.packets_before_, self.octets_before_, self.newest_sequence_, self.started_,
            self.has_previous_, self.resumed_);
  }

 private:
  struct Mapping {
    std::uint32_t source_ssrc = 0;
    std::uint32_t timestamp_offset = 0;
    std::uint16_t sequence_offset = 0;
    std::uint16_t first_output = 0;  // the output number at which this mapping began
    template <typename Self, typename Archive>
    static void visit_state(Self& self, Archive& archive) {
      archive(self.source_ssrc, self.timestamp_offset, self.sequence_offset, self.first_output);
    }
  };

  void start(const RtpHeader& header) noexcept;
  void select_mapping(const RtpHeader& header, io::TimePoint now, TimelineOptions options,
                      TimelineTiming timing) noexcept;
  [[nodiscard]] bool is_late(const RtpHeader& header) const noexcept;
  [[nodiscard]] bool is_newest(std::uint16_t output_sequence) const noexcept;
  [[nodiscard]] TimelinePatch map(const RtpHeader& header, const Mapping& mapping) const noexcept;
  void continue_with(const RtpHeader& header, io::TimePoint now, TimelineTiming timing) noexcept;
  void align(const RtpHeader& header, std::uint32_t packet_duration_ticks) noexcept;
  void advance(const RtpHeader& header, const TimelinePatch& patch, io::TimePoint now) noexcept;
  void note_newest(std::uint16_t sequence, std::uint32_t timestamp, io::TimePoint now) noexcept;

  Mapping current_;
  Mapping previous_;
  io::TimePoint newest_at_{};  // when the newest output packet arrived
  ExtendedSequence source_sequence_;
  TimestampCheck check_;
  std::uint32_t output_ssrc_ = 0;
  std::uint32_t newest_timestamp_ = 0;  // of the newest output packet
  std::uint32_t packets_ = 0;           // of the current source SSRC
  std::uint32_t octets_ = 0;
  std::uint32_t packets_before_ = 0;
  std::uint32_t octets_before_ = 0;
  std::uint16_t newest_sequence_ = 0;
  bool started_ = false;
  bool has_previous_ = false;  // only while late packets of before the change may come
  bool resumed_ = false;       // until the first packet after resume()
};

/// Writes the numbers of `patch` into a packet that parse_rtp accepted.
void write_patch(std::span<std::byte> packet, const TimelinePatch& patch) noexcept;

}  // namespace rtp
