#pragma once
// The workers of a simulated gateway, and the way between them and its control thread, which takes
// a seeded time in both directions, so that commands, events and packets meet in many orders.

#include "io/buffer_pool.h"
#include "io/sim_backend.h"
#include "io/sim_network.h"
#include "mgw/worker.h"

#include <deque>
#include <functional>
#include <memory>
#include <vector>

namespace sim {

/// N workers, stepped by hand.
class SimPlane final : public mgw::MediaPlane {
 public:
  struct Options {
    std::uint32_t workers = 1;
    std::uint32_t buffers = 1024;        ///< of each worker
    std::uint32_t buffer_bytes = 2048;   ///< of each buffer
    std::uint32_t sockets_max = 0;       ///< of each worker; 0 = any number
    io::Duration delay_max{};            ///< of a command or event on its way
    std::uint32_t commands_max = 1'000;  ///< has_room() is false while so many are under way
  };
  using EventHandler = std::function<void(std::uint32_t worker, mgw::MediaEvent&& event)>;

  SimPlane(io::SimNetwork& network, std::uint64_t seed, const Options& options);

  [[nodiscard]] std::uint32_t workers() const noexcept override {
    return static_cast<std::uint32_t>(lines_.size());
  }
  [[nodiscard]] bool has_room(std::uint32_t worker) const noexcept override {
    return lines_[worker]->under_way < options_.commands_max;
  }
  void submit(std::uint32_t worker, std::unique_ptr<mgw::MediaCommand> command) override;
  /// Commands set out for their worker only now.
  void flush() override;

  /// One step of worker `number`, if it has anything to do; true if it had.
  bool step(std::uint32_t number);
  /// Hands over the events that have arrived; true if there were any.
  bool take_events(const EventHandler& handler);
  /// When something is due next.
  [[nodiscard]] io::TimePoint next() const;

  [[nodiscard]] const mgw::MediaCounters& counters(std::uint32_t worker) const {
    return lines_[worker]->worker.counters();
  }
  /// For what is set up before the first connection.
  [[nodiscard]] mgw::Worker& worker(std::uint32_t number) { return lines_[number]->worker; }
  [[nodiscard]] io::SimBackend& backend(std::uint32_t worker) { return lines_[worker]->backend; }
  [[nodiscard]] io::BufferPool& pool(std::uint32_t worker) { return lines_[worker]->pool; }
  /// Commands on their way or in work, not yet reported done.
  [[nodiscard]] std::size_t under_way() const;
  /// Passes after which the counters of a worker did not balance: there may never be any.
  [[nodiscard]] std::size_t imbalances() const noexcept { return imbalances_; }
  /// Commands handed to workers so far.
  [[nodiscard]] std::uint64_t submitted() const noexcept { return submitted_; }
  /// Forwarding entries in them.
  [[nodiscard]] std::uint64_t entries() const noexcept { return entries_; }
  /// The worker does nothing before `until`, as if it were not given the processor.
  void stall(std::uint32_t worker, io::TimePoint until) { lines_[worker]->stalled_until = until; }
  /// Commands and events sent from now on arrive at once.
  void no_delay() noexcept { options_.delay_max = io::Duration::zero(); }

 private:
  class Silent final : public mgw::EventSignal {
    void signal() noexcept override {}
  };
  struct Line {
    Line(io::SimNetwork& network, const Options& options);
    io::BufferPool pool;
    io::SimBackend backend;
    mgw::WorkerQueues queues;
    Silent signal;
    mgw::Worker worker;
    std::vector<std::unique_ptr<mgw::MediaCommand>> unflushed;
    std::deque<std::pair<io::TimePoint, std::unique_ptr<mgw::MediaCommand>>> commands;
    std::deque<std::pair<io::TimePoint, mgw::MediaEvent>> events;
    std::size_t under_way = 0;
    io::TimePoint stalled_until{};
  };

  [[nodiscard]] io::TimePoint arrival(io::TimePoint last);

  io::SimNetwork& network_;
  io::SimRandom random_;
  Options options_;
  std::vector<std::unique_ptr<Line>> lines_;
  std::size_t imbalances_ = 0;
  std::uint64_t submitted_ = 0;
  std::uint64_t entries_ = 0;
};

/// True if the counters balance: received + copied + generated = sent + consumed + Σ dropped.
[[nodiscard]] bool balances(const mgw::MediaCounters& counters) noexcept;

}  // namespace sim
