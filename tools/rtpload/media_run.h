#pragma once
// The media phase: sends every packet at its instant, takes in what comes back, waits at the end
// for what is still on its way. One thread, one clock reading per vector.

#include "io/time.h"
#include "tools/rtpload/histogram.h"
#include "tools/rtpload/media_checker.h"
#include "tools/rtpload/media_sockets.h"
#include "tools/rtpload/osmux_trunk.h"
#include "tools/rtpload/pacing.h"

#include <array>
#include <cstdint>
#include <vector>

namespace rtpload {

/// What is to be sent.
struct MediaOptions {
  std::array<Codec, 2> codecs;  ///< of the first and the second leg of each call
  std::uint32_t run_seed = 0;
  std::uint32_t packets_per_stream = 0;
  io::Duration interval = std::chrono::milliseconds(20);  ///< between two packets of a stream
  PhasePlan phases = PhasePlan::even;
  bool rtcp = false;  ///< also send sender reports
  /// Shortest sleep: packets that come due meanwhile leave together, which costs less than with
  /// real phones.
  io::Duration tick{};
  /// At the end: for how long nothing must arrive until what is missing counts as lost.
  io::Duration drain = std::chrono::milliseconds(500);
};

/// What the media phase itself counts.
struct MediaTotals {
  std::uint64_t sent = 0;          ///< packets that the kernel took
  std::uint64_t send_refused = 0;  ///< packets that it did not take
  std::uint64_t missed = 0;        ///< instants that were over before the generator could send
  std::uint64_t rtcp_sent = 0;
  std::uint64_t rtcp_received = 0;
  std::uint64_t lost = 0;  ///< sent, but not arrived whole at the right leg; known after the drain
  std::uint32_t silent_streams = 0;  ///< streams of whose last second nothing arrived
  std::uint32_t streams = 0;
  io::Duration sending_time{};
};

/// Is told what happens during the run.
class MediaObserver {
 public:
  /// All streams have been running for a moment.
  virtual void on_steady_begin() = 0;
  /// The last packet was sent, or the run was stopped.
  virtual void on_steady_end() = 0;
  /// Once a second.
  virtual void on_second() = 0;
  /// True if the run shall end now.
  [[nodiscard]] virtual bool stop_requested() const noexcept = 0;

 protected:
  ~MediaObserver() = default;
};

/// One media phase.
class MediaRun {
 public:
  /// All references must outlive the run. The checker's legs say who sends where.
  /// `trunk` is where the legs of form osmux are; null if there are none.
  MediaRun(const MediaOptions& options, MediaSockets& sockets, OsmuxTrunk* trunk,
           MediaChecker& checker, MediaObserver& observer);

  /// Throws away what has come to the sockets, so that only this run's packets are judged.
  void discard_pending() noexcept;
  /// Sends everything and waits for the rest.
  void run();

  [[nodiscard]] const MediaTotals& totals() const noexcept { return totals_; }
  /// How long after its instant each packet was handed to the kernel, ns: the generator's own
  /// lateness.
  [[nodiscard]] const Histogram& lateness_ns() const noexcept { return lateness_ns_; }
  /// By how much the time between two packets of a stream differed from the time between their
  /// instants, ns, either way.
  [[nodiscard]] const Histogram& pacing_ns() const noexcept { return pacing_ns_; }

 private:
  /// Has the gateway work with the Iu UP legs, if there are any.
  void initialise_legs();
  /// Sees what the timers are like before it matters.
  void try_timers() noexcept;
  void send_all();
  void drain();
  [[nodiscard]] bool send_due(const ClockReading& now) noexcept;
  void send_one(const DuePacket& due, const ClockReading& now) noexcept;
  void send_due_reports(const ClockReading& now) noexcept;
  void note_pacing(const DuePacket& due, io::TimePoint now) noexcept;
  void rest(io::TimePoint wanted, io::TimePoint now) noexcept;
  void count_sent() noexcept;
  void receive_all() noexcept;
  void call_observer(io::TimePoint now);
  void count_lost() noexcept;

  MediaOptions options_;
  MediaSockets& sockets_;
  OsmuxTrunk* trunk_;
  MediaChecker& checker_;
  MediaObserver& observer_;
  PacingSchedule schedule_;
  PacingSchedule reports_;
  std::vector<std::uint32_t> sent_;            // by stream
  std::vector<io::Duration> last_lateness_;    // by stream
  std::vector<std::uint32_t> queued_streams_;  // of the send vector
  std::vector<DuePacket> due_packets_;         // of one turn
  MediaTotals totals_;
  WakePlan wake_plan_;
  Histogram lateness_ns_;
  Histogram pacing_ns_;
  io::TimePoint next_receive_{};
  io::TimePoint next_second_{};
  io::TimePoint steady_begin_{};
  bool steady_begun_ = false;
};

}  // namespace rtpload
