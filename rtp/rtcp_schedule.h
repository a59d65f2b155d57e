#pragma once
// When a participant of an RTP session sends its next RTCP report (RFC 3550 sections 6.2, 6.3 and
// appendix A.7). Pure state: time and random values are arguments. Owned by one leg, used on its
// worker's thread.

#include "io/time.h"

#include <cstddef>
#include <cstdint>

namespace rtp {

/// What an interval depends on.
struct RtcpIntervalInput {
  std::uint32_t members = 1;                ///< participants, ourselves included
  std::uint32_t senders = 0;                ///< those of them that send RTP
  bool we_sent = false;                     ///< whether we are one of these
  bool initial = false;                     ///< nothing has been sent yet: half the minimum
  std::uint32_t average_bytes = 0;          ///< of an RTCP datagram, with IP and UDP headers
  std::uint32_t bandwidth_bytes_per_s = 0;  ///< for the RTCP of all participants; 0 is taken as 1
  io::Duration minimum = std::chrono::seconds(5);
};

/// The interval before it is randomised: as the bandwidth allows, not less than the minimum (RFC
/// 3550 section 6.3.1, steps 1 to 4).
[[nodiscard]] io::Duration rtcp_interval(const RtcpIntervalInput& input) noexcept;

/// Spreads an interval evenly over 0.5 to 1.5 times its length by `random` (any 32 bits) and
/// divides by e - 3/2, which makes up for timer reconsideration (RFC 3550 section 6.3.1, steps 5
/// and 6).
[[nodiscard]] io::Duration randomised_rtcp_interval(io::Duration interval,
                                                    std::uint32_t random) noexcept;

/// The transmission timer of one participant.
///
/// Reverse reconsideration (section 6.3.4) is left out: it keeps groups from falling silent when
/// most of their members leave, and a leg of a call has two.
class RtcpSchedule {
 public:
  /// `bandwidth_bytes_per_s` is what all participants together may use for RTCP.
  explicit RtcpSchedule(std::uint32_t bandwidth_bytes_per_s,
                        io::Duration minimum = std::chrono::seconds(5)) noexcept
      : bandwidth_bytes_per_s_(bandwidth_bytes_per_s), minimum_(minimum) {}

  /// Joins the session at `now`; a first report will probably have `expected_bytes` (with IP and
  /// UDP headers).
  void start(io::TimePoint now, std::size_t expected_bytes, std::uint32_t random) noexcept;
  /// How many there are and who of them sends; at least one member.
  void set_members(std::uint32_t members, std::uint32_t senders, bool we_sent) noexcept;
  /// When to look again; kNever before start().
  [[nodiscard]] io::TimePoint next() const noexcept { return next_; }
  /// To be asked at next() or later: true if a report is due now. Otherwise timer reconsideration
  /// found that it is too early, and next() has moved (section 6.3.6). After a true one call sent()
  /// or skipped().
  [[nodiscard]] bool is_due(io::TimePoint now, std::uint32_t random) noexcept;
  /// A report of so many octets (with IP and UDP headers) was sent: plans the next one.
  void sent(io::TimePoint now, std::size_t bytes, std::uint32_t random) noexcept;
  /// A due report could not be sent, as nobody knows whereto: plans the next one.
  void skipped(io::TimePoint now, std::uint32_t random) noexcept;
  /// A compound of so many octets (with IP and UDP headers) came (section 6.3.3).
  void received(std::size_t bytes) noexcept;

 private:
  [[nodiscard]] io::Duration interval(std::uint32_t random) const noexcept;
  void average(std::size_t bytes) noexcept;

  io::TimePoint next_ = io::kNever;
  io::TimePoint previous_{};  // when the last report was sent, or the session joined
  std::uint32_t members_ = 1;
  std::uint32_t senders_ = 0;
  std::uint32_t average_bytes_x16_ = 0;
  std::uint32_t bandwidth_bytes_per_s_;
  io::Duration minimum_;
  bool we_sent_ = false;
  bool initial_ = true;
};

}  // namespace rtp
