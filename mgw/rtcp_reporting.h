#pragma once
// The RTCP of one leg whose trunk has `rtcp.generate` on: the gateway ends the RTCP of each leg
// instead of passing it through. It sends SR and RR of its own about what it forwards to the peer
// and gets from it, and keeps the peer's SR, RR and SDES to itself, for two reports about one SSRC
// would contradict each other. Everything else (BYE, APP, feedback, XR) is still relayed, behind an
// RR and SDES of ours, as no compound may begin without them.

#include "io/datagram.h"
#include "io/time.h"
#include "rtp/rtcp_schedule.h"
#include "rtp/rtcp_session.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace mgw {

/// Made by the control thread, used on the worker's thread. Does not allocate.
class RtcpReporting {
 public:
  /// Random numbers that a leg begins with: its SSRC, three for its name, two for its own sequence
  /// of random numbers.
  static constexpr std::size_t kRandomNumbers = 6;

  /// `wall_clock_offset` is what the time since 1970 is ahead of the TimePoints that come in.
  RtcpReporting(const std::array<std::uint32_t, kRandomNumbers>& random,
                io::Duration wall_clock_offset) noexcept;

  /// The leg begins to exist; a second call does nothing.
  void start(io::TimePoint now) noexcept;
  /// When a report is due, or to be reconsidered; kNever before start().
  [[nodiscard]] io::TimePoint next() const noexcept { return schedule_.next(); }

  /// Counts an RTP packet as it leaves for the peer; its timestamps run at `clock_rate_hz`. One
  /// that has the SSRC of what `received` came from the peer is not counted: it is the peer's own
  /// stream coming back (loopback), or at least under that number the peer hears nobody but itself.
  void on_rtp_sent(std::span<const std::byte> packet, std::uint32_t clock_rate_hz,
                   const rtp::ConnectionStatistics& received, io::TimePoint now) noexcept;
  /// Counts a run of packets that left elsewhere, the newest of them at `now`.
  void on_rtp_run_sent(const rtp::SentPacket& run, const rtp::ConnectionStatistics& received,
                       io::TimePoint now) noexcept;
  /// The peer sent RTP.
  void on_rtp_received() noexcept { session_.on_rtp_received(); }

  /// What consume() found.
  struct Consumed {
    std::size_t reports = 0;     ///< SR and RR
    std::size_t left_bytes = 0;  ///< of what is to be relayed; 0 = nothing
  };
  /// Reads a compound of the peer and takes out of it what is not to be relayed. `header_bytes` are
  /// those of IP and UDP.
  [[nodiscard]] Consumed consume(std::span<std::byte> compound, std::size_t header_bytes,
                                 io::TimePoint now) noexcept;
  /// Puts the opening in front of packets that are relayed to the peer; false if the datagram has
  /// not the usual headroom (io::kHeadroomBytes).
  [[nodiscard]] bool open_compound(io::Datagram& datagram) noexcept;

  /// To be asked at next(): writes the report if one is due and returns its octets; 0 if it is too
  /// early. `can_send` false: nobody knows where the peer is; then only the next one is planned.
  [[nodiscard]] std::size_t write_due_report(std::span<std::byte> out,
                                             rtp::ConnectionStatistics& received,
                                             std::size_t header_bytes, bool can_send,
                                             io::TimePoint now) noexcept;
  /// Writes a last report with BYE; 0 if there is none to be sent.
  [[nodiscard]] std::size_t write_goodbye(std::span<std::byte> out,
                                          rtp::ConnectionStatistics& received,
                                          io::TimePoint now) noexcept {
    return session_.write_goodbye(out, received, now, random());
  }
  /// What the peer reports.
  [[nodiscard]] const rtp::RemoteReception& remote() const noexcept { return session_.remote(); }
  /// Names what makes the session go on to `archive` (mgw/state_codec.h); its next report is
  /// planned anew.
  template <typename Self, typename Archive>
  static void visit_state(Self& self, Archive& archive) {
    archive(self.session_, self.random_state_);
  }

 private:
  [[nodiscard]] std::uint32_t random() noexcept;

  rtp::RtcpSession session_;
  rtp::RtcpSchedule schedule_;
  std::uint64_t random_state_;
};

}  // namespace mgw
