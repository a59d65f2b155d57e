#pragma once
// Looks at all calls, a few at a time, and makes snapshots of the gateway out of what it sees:
// every five seconds the sums alone, which metrics and history need, every second with all calls
// while somebody looks. Counters of connections come from the workers by way of their commands, as
// an audit's do. One step concerns at most kLegsPerStep legs, and the next one begins when the
// workers have answered, so that neither they nor the agents' commands wait for long, however many
// calls there are.

#include "io/counter.h"
#include "io/time.h"
#include "mgw/call_control.h"
#include "mgw/gateway_snapshot.h"
#include "mgw/media_command.h"
#include "mgw/snapshot_board.h"
#include "mgw/worker_pool.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace mgw {

/// What a sampler works with. All must outlive it.
struct CallSamplerParts {
  const CallControl& control;
  MediaPlane& media;
  const io::Clock& clock;
  SnapshotBoard& board;
  std::vector<WorkerView> workers;
  GatewayFacts facts;
  /// What else there is to be told, asked for with each snapshot.
  std::function<std::vector<StateLine>()> states;
};

/// What the samples add up to. Any thread may read them.
struct SampleCounters {
  io::Counter packets_expected;  ///< by the legs' sequence numbers, as of samples and legs' ends
  io::Counter packets_lost;      ///< of those, never came
  std::array<io::Counter, kQualityClasses> legs;  ///< gauges from here on
  io::Counter jitter_mean_us;
  io::Counter jitter_max_us;
  LiveInstant finished_at;  ///< when all workers had answered last
};

/// See above. Control thread only, but for counters().
class CallSampler {
 public:
  /// Legs that one step looks at: some 100 us of a worker and of the control thread.
  static constexpr std::size_t kLegsPerStep = 256;
  /// The ticket of the sampler's commands. Those of call control begin with 1.
  static constexpr std::uint64_t kTicket = 0;

  explicit CallSampler(CallSamplerParts parts);

  /// To be called about once a second, and when the board has been asked: begins a sample that is
  /// due.
  void on_tick();
  void on_asked();
  /// Begins a sample with all calls, unless one is under way.
  void begin_whole();
  /// Whether workers are yet to answer.
  [[nodiscard]] bool is_under_way() const noexcept { return under_way_; }
  /// A leg has ended: what it lost since the last sample counts too.
  void leg_ended(std::uint32_t worker, std::uint32_t slot, const ConnectionCounters& counters);
  /// Takes what a worker answers to the sampler; false: it is not the sampler's.
  [[nodiscard]] bool take(std::uint32_t worker, MediaEvent& event);
  [[nodiscard]] const SampleCounters& counters() const noexcept { return counters_; }

 private:
  /// Sums over the workers, and over all samples.
  struct Totals {
    io::TimePoint at{};
    std::uint64_t packets_in = 0;
    std::uint64_t packets_out = 0;
    std::uint64_t octets_in = 0;
    std::uint64_t octets_out = 0;
    std::uint64_t drops = 0;
    std::uint64_t commands = 0;
    std::uint64_t datagrams = 0;  ///< received and forwarded, RTCP too
    std::uint64_t expected = 0;
    std::uint64_t lost = 0;
    io::Duration cpu{};
  };
  /// What the sample under way has found so far.
  struct Findings {
    bool keeps_calls = false;
    std::vector<CallSnapshot> calls;
    std::array<std::uint64_t, kQualityClasses> qualities{};
    io::Duration jitter_sum{};
    io::Duration jitter_max{};
    std::uint64_t receiving = 0;  ///< legs that have received
    double mos_sum = 0;
    std::uint64_t rated = 0;
  };
  /// What a slot's leg had lost when it was seen last.
  struct Seen {
    std::uint32_t id = 0;
    std::uint64_t expected = 0;
    std::uint64_t lost = 0;
  };
  /// A leg of the present step, at the place of its slot in its worker's command.
  struct Place {
    std::size_t call = 0;
    std::size_t leg = 0;
    std::uint32_t slot = 0;
  };

  [[nodiscard]] bool is_due(io::TimePoint now) const noexcept;
  void begin(bool keeps_calls);
  /// Asks for the next legs' counters, or ends the sample.
  void step();
  void add_endpoint(std::uint32_t number, std::vector<std::unique_ptr<MediaCommand>>& commands);
  void evaluate(std::uint32_t worker, const Place& place);
  [[nodiscard]] Seen& seen(std::uint32_t worker, std::uint32_t slot);
  /// Adds what is new in the counters of the leg in that slot.
  void count_losses(Seen& seen, const ConnectionCounters& counters);
  void finish();
  [[nodiscard]] Totals totals() const;
  [[nodiscard]] HistoryPoint point_since(const Totals& before, const Totals& now) const;
  void set_counters();
  [[nodiscard]] std::shared_ptr<const GatewaySnapshot> make_snapshot(io::TimePoint now);

  CallSamplerParts parts_;
  io::TimePoint started_;
  io::TimePoint begun_{};  // the last sample
  bool had_calls_ = false;
  bool under_way_ = false;
  std::uint32_t next_endpoint_ = 1;
  std::uint32_t outstanding_ = 0;           // workers that have not answered this step
  std::vector<CallSnapshot> step_calls_;    // of the present step
  std::vector<std::vector<Place>> places_;  // by worker
  std::vector<std::vector<Seen>> seen_;     // by worker and slot
  std::uint64_t expected_ = 0;
  std::uint64_t lost_ = 0;
  Findings findings_;
  Totals last_;          // at the sample before
  Totals last_history_;  // at the last point of history
  HistoryPoint now_;
  std::vector<HistoryPoint> history_;
  SampleCounters counters_;
};

}  // namespace mgw
