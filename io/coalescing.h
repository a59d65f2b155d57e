#pragma once
// When it pays to wait for company: waking up costs more than a packet itself, so packets that come
// close together are better taken together.

#include "io/time.h"

#include <cstddef>
#include <cstdint>

namespace io {

/// How the passes of a backend coalesce.
struct CoalescingOptions {
  /// The longest time between two wake-ups that is waited out, which adds at most this much
  /// latency; 0 = never wait for more.
  std::uint32_t limit_us = 0;
  /// True: as long as pays at the present rate of packets, never above the limit. False: the limit,
  /// while passes bring more than one datagram.
  bool adaptive = false;
};

/// Says after each pass how soon the next one should come. Pure: the time is an argument. One
/// thread.
class CoalescingPolicy {
 public:
  /// So many datagrams in one pass are enough: the wake-up is then a small part of what they cost.
  static constexpr double kEnough = 20;
  /// Fewer than this many within the limit are not waited for: at such a rate the wake-ups cost
  /// little altogether, and the latency is better kept.
  static constexpr double kWorthwhile = 4;
  /// The rate is taken over at least this time: a period of voice packets, so that senders whose
  /// packets come all at once every 20 ms count as what they are on average.
  static constexpr Duration kMeasuredOver = std::chrono::milliseconds(20);

  explicit CoalescingPolicy(const CoalescingOptions& options) noexcept;

  /// False if no pass ever waits; then on_pass() need not be called.
  [[nodiscard]] bool enabled() const noexcept { return limit_ > Duration::zero(); }
  /// A pass has brought `received` datagrams, and it is `now`.
  void on_pass(std::size_t received, TimePoint now) noexcept;
  /// How long after the last pass the next wake-up should be; 0 = as soon as something comes.
  [[nodiscard]] Duration window() const noexcept { return window_; }
  /// The instant until which the next pass should wait for more; in the past if it should not.
  [[nodiscard]] TimePoint earliest_wake_up() const noexcept { return last_pass_ + window_; }

 private:
  Duration limit_;
  bool adaptive_;
  Duration window_{};
  TimePoint last_pass_{};
  TimePoint measured_from_{};
  std::uint64_t measured_ = 0;     // datagrams since then
  double packets_per_second_ = 0;  // smoothed
};

}  // namespace io
