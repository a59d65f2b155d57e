#include "mgw/worker_pool.h"

#include "io/kernel_path.h"
#include "mgw/worker_placement.h"

#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>

namespace mgw {

namespace {

/// As many as `workers.count` accepts.
constexpr std::uint32_t kWorkersMax = 64;

/// Tells the control thread's loop that events wait.
class FunctionSignal final : public EventSignal {
 public:
  explicit FunctionSignal(const std::function<void()>& function) : function_(function) {}
  void signal() noexcept override { function_(); }

 private:
  const std::function<void()>& function_;
};

}  // namespace

/// What a worker thread owns lives on its own stack (see run); this is what both sides see.
struct WorkerPool::Thread {
  std::uint32_t number = 0;
  WorkerQueues queues;
  io::MonotonicClock clock;
  std::thread thread;
  std::atomic<bool> stopping{false};
  std::atomic<bool> woken{false};  // the control thread does not touch the backend any more

  std::mutex start_mutex;  // start-up only
  std::condition_variable started;
  bool ready = false;
  std::string error;
  io::Backend* backend = nullptr;  // valid between start-up and stop
  WorkerView view;
  alignas(io::kCacheLineBytes) io::Counter buffers_free;  // written after each pass

  // Control thread only:
  alignas(io::kCacheLineBytes)
      std::deque<std::unique_ptr<MediaCommand>> backlog;  // commands that the inbox had no room for
  std::size_t under_way = 0;
  bool needs_wake = false;
};

WorkerPool::WorkerPool(const conf::Config& config, io::BackendChoice choice,
                       std::function<void()> on_events, io::KernelPath* kernel_path)
    : on_events_(std::move(on_events)), kernel_path_(kernel_path) {
  const std::uint32_t count = worker_count(config);
  count_ = count;
  try {
    for (std::uint32_t number = 0; number < count; ++number) {
      start(number, config, choice);
    }
  } catch (...) {
    stop();
    throw;
  }
}

void WorkerPool::start(std::uint32_t number, const conf::Config& config, io::BackendChoice choice) {
  Thread& thread = *threads_.emplace_back(std::make_unique<Thread>());
  thread.number = number;
  thread.thread = std::thread([this, &thread, &config, choice] { run(thread, config, choice); });
  std::unique_lock lock(thread.start_mutex);
  thread.started.wait(lock, [&thread] { return thread.ready; });
  if (!thread.error.empty()) {
    throw std::runtime_error(thread.error);
  }
}

WorkerPool::~WorkerPool() {
  stop();
}

void WorkerPool::run(Thread& thread, const conf::Config& config, io::BackendChoice choice) {
  place_worker(config.workers, thread.number);
  std::optional<io::BufferPool> pool;
  io::BackendOptions options;
  options.connect_peers = config.io.connect_peers;
  options.coalescing = {
      static_cast<std::uint32_t>(config.io.coalescing.value_or(conf::kCoalescingMax).count()),
      !config.io.coalescing};
  std::string error;
  std::unique_ptr<io::Backend> backend;
  try {
    // A datagram of buffer_bytes fits whole, behind the room for a header to grow.
    pool.emplace(buffers_per_worker(config), config.io.buffer_bytes + io::kHeadroomBytes);
    backend = io::make_backend(choice, *pool, options, error);
  } catch (const std::bad_alloc&) {
    error = "no memory for io.buffers packet buffers of io.buffer-bytes";
  }
  FunctionSignal signal(on_events_);
  std::unique_ptr<Worker> worker;
  if (backend != nullptr) {
    worker = std::make_unique<Worker>(*backend, *pool, thread.clock, thread.queues, signal);
    if (kernel_path_ != nullptr) {
      worker->use_kernel_path(kernel_path_->make_table(thread.number, count_),
                              {config.rtp.dscp, config.rtp.socket_priority});
    }
    thread.view = {&worker->counters(), &backend->counters(), pool->slots(), &thread.buffers_free};
    ::pthread_getcpuclockid(::pthread_self(), &thread.view.cpu_clock);
  }
  thread.buffers_free.set(pool ? pool->available() : 0);
  {
    const std::lock_guard lock(thread.start_mutex);
    thread.backend = backend.get();
    thread.error = error;
    thread.ready = true;
    thread.started.notify_one();
  }
  if (backend == nullptr) {
    return;
  }
  while (!thread.stopping.load(std::memory_order_acquire)) {
    worker->run_pass(io::kNever);
    thread.buffers_free.set(pool->available());
  }
  worker->close_all(quiet_.load(std::memory_order_acquire));
  thread.woken.wait(false, std::memory_order_acquire);  // the backend ends with this function
}

void WorkerPool::stop() noexcept {
  for (const auto& thread : threads_) {
    thread->stopping.store(true, std::memory_order_release);
    if (thread->backend != nullptr && thread->thread.joinable()) {
      thread->backend->wake();
      thread->woken.store(true, std::memory_order_release);
      thread->woken.notify_one();
    }
  }
  for (const auto& thread : threads_) {
    if (thread->thread.joinable()) {
      thread->thread.join();
    }
  }
}

bool WorkerPool::has_room(std::uint32_t worker) const noexcept {
  return threads_[worker]->under_way < WorkerQueues::kCommandsMax / 2;
}

void WorkerPool::submit(std::uint32_t worker, std::unique_ptr<MediaCommand> command) {
  Thread& thread = *threads_[worker];
  thread.needs_wake = true;
  if (thread.under_way >= WorkerQueues::kCommandsMax) {
    thread.backlog.push_back(std::move(command));
    return;
  }
  const bool pushed = thread.queues.commands.push(std::move(command));
  MGW_ASSERT(pushed);
  ++thread.under_way;
}

void WorkerPool::flush() {
  for (const auto& thread : threads_) {
    if (std::exchange(thread->needs_wake, false)) {
      thread->backend->wake();
    }
  }
}

void WorkerPool::wake_all() noexcept {
  for (const auto& thread : threads_) {
    thread->backend->wake();
  }
}

void WorkerPool::take_events(
    const std::function<void(std::uint32_t worker, MediaEvent&& event)>& take) {
  for (const auto& thread : threads_) {
    MediaEvent event;
    while (thread->queues.events.pop(event)) {
      if (event.kind == MediaEvent::Kind::command_done) {
        MGW_ASSERT(thread->under_way > 0);
        --thread->under_way;
        if (!thread->backlog.empty()) {
          std::unique_ptr<MediaCommand> next = std::move(thread->backlog.front());
          thread->backlog.pop_front();
          submit(thread->number, std::move(next));
        }
      }
      take(thread->number, std::move(event));
    }
  }
}

std::vector<io::Duration> WorkerPool::cpu_times() const {
  std::vector<io::Duration> times;
  times.reserve(threads_.size());
  for (const auto& thread : threads_) {
    clockid_t clock{};
    timespec used{};
    if (::pthread_getcpuclockid(thread->thread.native_handle(), &clock) != 0 ||
        ::clock_gettime(clock, &used) != 0) {
      used = {};
    }
    times.push_back(std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec));
  }
  return times;
}

std::vector<WorkerView> WorkerPool::views() const {
  std::vector<WorkerView> views;
  views.reserve(threads_.size());
  for (const auto& thread : threads_) {
    views.push_back(thread->view);
  }
  return views;
}

io::Duration cpu_time(const WorkerView& worker) noexcept {
  timespec time{};
  if (::clock_gettime(worker.cpu_clock, &time) != 0) {
    return {};
  }
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

std::uint32_t worker_count(const conf::Config& config) {
  if (config.workers.count != 0) {
    return config.workers.count;
  }
  return std::min(usable_cpus(config.workers), kWorkersMax);
}

std::uint32_t buffers_per_worker(const conf::Config& config) noexcept {
  if (config.io.buffers != 0) {
    return config.io.buffers;
  }
  // Eight packets for each of two legs of an endpoint, should all arrive at once after a stall; at
  // least enough for a full pass, at most 64 Mi of memory with the usual buffer size. Memory that
  // is never needed is never touched.
  constexpr std::uint32_t kBuffersMin = 4096;
  constexpr std::uint32_t kBuffersMax = 32768;
  return std::clamp(std::bit_ceil(config.endpoints.count * 16), kBuffersMin, kBuffersMax);
}

}  // namespace mgw
