#pragma once
// The worker threads, and the queues between them and the control thread.

#include "conf/config.h"
#include "io/backend.h"
#include "io/backend_factory.h"
#include "io/buffer_pool.h"
#include "mgw/media_command.h"
#include "mgw/worker.h"

#include <time.h>

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace io {
class KernelPath;
}

namespace mgw {

/// The counters of one worker, for the metrics exporter.
struct WorkerView {
  const MediaCounters* media = nullptr;
  const io::BackendCounters* backend = nullptr;
  std::uint32_t buffers = 0;
  const io::Counter* buffers_free = nullptr;
  clockid_t cpu_clock = 0;  ///< the CPU time of the thread, as long as it lives
};

/// The CPU time that the thread has used, as long as it lives. Any thread.
[[nodiscard]] io::Duration cpu_time(const WorkerView& worker) noexcept;

/// N worker threads. Made, used and destroyed by the control thread.
class WorkerPool final : public MediaPlane {
 public:
  /// Starts the threads; returns when each has its backend. Throws std::runtime_error if one can't
  /// have it. `on_events` is called on a worker's thread when events wait to be taken by
  /// take_events(): it has to get the control thread to do that.
  /// `kernel_path` is null without a kernel fast path, else it must outlive this.
  WorkerPool(const conf::Config& config, io::BackendChoice choice, std::function<void()> on_events,
             io::KernelPath* kernel_path = nullptr);
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  WorkerPool(WorkerPool&&) = delete;
  WorkerPool& operator=(WorkerPool&&) = delete;
  /// Closes all connections and joins the threads.
  ~WorkerPool() override;

  [[nodiscard]] std::uint32_t workers() const noexcept override {
    return static_cast<std::uint32_t>(threads_.size());
  }
  [[nodiscard]] bool has_room(std::uint32_t worker) const noexcept override;
  void submit(std::uint32_t worker, std::unique_ptr<MediaCommand> command) override;
  void flush() override;

  /// Makes every worker do a pass soon, also those that have nothing to do.
  void wake_all() noexcept;

  /// Closes all connections, waits until the kernel has let go of their sockets, and joins the
  /// threads. Nothing may be submitted afterwards.
  void stop() noexcept;
  /// Whether stop() closes connections without telling their peers, as the calls go on in another
  /// process.
  void close_quietly(bool on) noexcept { quiet_.store(on, std::memory_order_release); }
  /// Hands all waiting events of all workers to `take`.
  void take_events(const std::function<void(std::uint32_t worker, MediaEvent&& event)>& take);
  /// CPU time that each worker has used so far.
  [[nodiscard]] std::vector<io::Duration> cpu_times() const;
  /// What the exporter reads, one per worker.
  [[nodiscard]] std::vector<WorkerView> views() const;

 private:
  struct Thread;

  void start(std::uint32_t number, const conf::Config& config, io::BackendChoice choice);
  void run(Thread& thread, const conf::Config& config, io::BackendChoice choice);

  std::function<void()> on_events_;
  io::KernelPath* const kernel_path_;
  std::uint32_t count_ = 0;  ///< of workers, those included that are yet to start
  std::atomic<bool> quiet_{false};
  std::vector<std::unique_ptr<Thread>> threads_;
};

/// How many workers and buffers a configuration means on this machine.
[[nodiscard]] std::uint32_t worker_count(const conf::Config& config);
[[nodiscard]] std::uint32_t buffers_per_worker(const conf::Config& config) noexcept;

}  // namespace mgw
