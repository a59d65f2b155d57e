#include "tests/sim/sim_plane.h"

#include <algorithm>
#include <utility>

namespace sim {

bool balances(const mgw::MediaCounters& counters) noexcept {
  std::uint64_t out = counters.sent.value() + counters.consumed.value();
  for (const io::Counter& dropped : counters.dropped) {
    out += dropped.value();
  }
  return counters.received.value() + counters.copied.value() + counters.generated.value() == out;
}

SimPlane::Line::Line(io::SimNetwork& network, const Options& options)
    : pool(options.buffers, options.buffer_bytes),
      backend(pool, network, io::BackendOptions{options.sockets_max, 0}),
      worker(backend, pool, network.clock(), queues, signal) {}

SimPlane::SimPlane(io::SimNetwork& network, std::uint64_t seed, const Options& options)
    : network_(network), random_(seed), options_(options) {
  for (std::uint32_t i = 0; i < options.workers; ++i) {
    lines_.push_back(std::make_unique<Line>(network, options));
  }
}

void SimPlane::submit(std::uint32_t worker, std::unique_ptr<mgw::MediaCommand> command) {
  Line& line = *lines_[worker];
  entries_ += command->updates.size() + command->installs.size();
  line.unflushed.push_back(std::move(command));
  ++line.under_way;
  ++submitted_;
}

io::TimePoint SimPlane::arrival(io::TimePoint last) {
  const auto spread = static_cast<std::uint64_t>(options_.delay_max.count());
  const io::Duration delay(static_cast<std::int64_t>(random_.below(spread)));
  return std::max(last, network_.clock().now() + delay);
}

void SimPlane::flush() {
  for (const auto& line : lines_) {
    for (auto& command : line->unflushed) {
      const io::TimePoint last =
          line->commands.empty() ? io::TimePoint() : line->commands.back().first;
      line->commands.emplace_back(arrival(last), std::move(command));
    }
    line->unflushed.clear();
  }
}

bool SimPlane::step(std::uint32_t number) {
  Line& line = *lines_[number];
  const io::TimePoint now = network_.clock().now();
  if (now < line.stalled_until) {
    return false;
  }
  while (!line.commands.empty() && line.commands.front().first <= now &&
         line.queues.commands.push(std::move(line.commands.front().second))) {
    line.commands.pop_front();
  }
  if (line.queues.commands.empty() && !line.backend.ready() && line.worker.next_timer() > now) {
    return false;
  }
  line.worker.run_pass(now);
  imbalances_ += balances(line.worker.counters()) ? 0U : 1U;
  mgw::MediaEvent event;
  while (line.queues.events.pop(event)) {
    const io::TimePoint last = line.events.empty() ? io::TimePoint() : line.events.back().first;
    line.events.emplace_back(arrival(last), std::move(event));
  }
  return true;
}

bool SimPlane::take_events(const EventHandler& handler) {
  bool busy = false;
  for (std::uint32_t number = 0; number < lines_.size(); ++number) {
    Line& line = *lines_[number];
    while (!line.events.empty() && line.events.front().first <= network_.clock().now()) {
      busy = true;
      mgw::MediaEvent event = std::move(line.events.front().second);
      line.events.pop_front();
      line.under_way -= event.kind == mgw::MediaEvent::Kind::command_done ? 1U : 0U;
      handler(number, std::move(event));
    }
  }
  return busy;
}

io::TimePoint SimPlane::next() const {
  io::TimePoint earliest = io::kNever;
  for (const auto& line : lines_) {
    io::TimePoint pass = line->worker.next_timer();
    if (!line->commands.empty()) {
      pass = std::min(pass, line->commands.front().first);
    }
    const bool stalled = network_.clock().now() < line->stalled_until;
    earliest = std::min(earliest, stalled ? line->stalled_until : pass);
    if (!line->events.empty()) {
      earliest = std::min(earliest, line->events.front().first);
    }
  }
  return earliest;
}

std::size_t SimPlane::under_way() const {
  std::size_t sum = 0;
  for (const auto& line : lines_) {
    sum += line->under_way;
  }
  return sum;
}

}  // namespace sim
