#pragma once
// One worker without a control thread: connections are installed by hand.

#include "tests/sim/sim_plane.h"
#include "tests/sim/sim_world.h"

#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace test {

/// Slot n is bound to 192.0.2.1, ports 4000 + 2n and the one after.
class WorkerBench {
 public:
  explicit WorkerBench(const sim::SimPlane::Options& options = {})
      : network(clock, 1), sockets(network), plane(network, 1, options) {}

  sim::RtpPeer& add_peer(std::uint32_t slot) {
    const auto number = static_cast<std::uint32_t>(peers_.size() + 1);
    const auto local = sim::address("203.0.113.1", static_cast<std::uint16_t>(6000 + 10 * number));
    peers_.push_back(std::make_unique<sim::RtpPeer>(network, trace_, local, number));
    peers_.back()->set_target(local_of(slot));
    return *peers_.back();
  }
  static io::SocketAddress local_of(std::uint32_t slot) {
    return sim::address("192.0.2.1", static_cast<std::uint16_t>(4000 + 2 * slot));
  }
  /// An entry whose peer is `peer`, in sendrecv, which takes payload type 8 and leads to `targets`.
  static mgw::ForwardingEntry entry_for(const sim::RtpPeer& peer,
                                        const std::vector<std::uint32_t>& targets) {
    mgw::ForwardingEntry entry;
    entry.remote_rtp = peer.local();
    entry.remote_rtcp = peer.local().with_port(static_cast<std::uint16_t>(peer.local().port() + 1));
    entry.receives = true;
    entry.commanded = true;
    entry.source_types.set(8, 0);
    entry.target_types.set_target(0, {8, rtp::Conversion::none});
    for (const std::uint32_t target : targets) {
      entry.routes.push_back({target, false});
    }
    return entry;
  }
  mgw::SocketPair bind_pair(std::uint32_t slot) {
    io::SocketOptions rtp;
    rtp.local = local_of(slot);
    io::SocketOptions rtcp;
    rtcp.local = rtp.local.with_port(static_cast<std::uint16_t>(rtp.local.port() + 1));
    return {std::move(sockets.bind_udp(rtp).value()), std::move(sockets.bind_udp(rtcp).value())};
  }
  static void add_install(mgw::MediaCommand& command, std::uint32_t slot, mgw::SocketPair pair,
                          const mgw::ForwardingEntry& entry) {
    auto connection = std::make_unique<mgw::MediaConnection>();
    connection->entry = entry;
    command.installs.push_back({slot, std::move(connection), std::move(pair)});
  }
  void install(std::uint32_t slot, const mgw::ForwardingEntry& entry) {
    auto command = std::make_unique<mgw::MediaCommand>();
    add_install(*command, slot, bind_pair(slot), entry);
    submit(std::move(command));
  }
  void update(std::uint32_t slot, const mgw::ForwardingEntry& entry) {
    auto command = std::make_unique<mgw::MediaCommand>();
    command->updates.push_back({slot, entry});
    submit(std::move(command));
  }
  std::unique_ptr<mgw::MediaCommand> remove(const std::vector<std::uint32_t>& slots) {
    auto command = std::make_unique<mgw::MediaCommand>();
    command->removals = slots;
    return submit(std::move(command));
  }
  mgw::ConnectionCounters audit(std::uint32_t slot) {
    auto command = std::make_unique<mgw::MediaCommand>();
    command->audits.push_back(slot);
    return submit(std::move(command))->audited.at(0);
  }
  /// Hands a command over and runs until it is done.
  std::unique_ptr<mgw::MediaCommand> submit(std::unique_ptr<mgw::MediaCommand> command) {
    command->ticket = ++ticket_;
    plane.submit(0, std::move(command));
    plane.flush();
    run_for(io::Duration::zero());
    return std::exchange(done_[ticket_], nullptr);
  }
  /// Lets everything happen that is due within `duration`.
  void run_for(io::Duration duration) {
    const io::TimePoint end = clock.now() + duration;
    for (;;) {
      while (step()) {}
      if (clock.now() >= end) {
        return;
      }
      io::TimePoint next = std::min({end, network.next_delivery(), plane.next()});
      for (const auto& peer : peers_) {
        next = std::min(next, peer->next());
      }
      clock.advance_to(next);
    }
  }
  [[nodiscard]] std::uint64_t dropped(mgw::DropCause cause) const {
    return plane.counters(0).dropped[static_cast<std::size_t>(cause)].value();
  }
  [[nodiscard]] const mgw::MediaCounters& counters() const { return plane.counters(0); }

  io::SimClock clock;
  io::SimNetwork network;
  io::SimSocketFactory sockets;
  sim::SimPlane plane;
  std::vector<mgw::MediaEvent> events;  ///< all but those of commands done

 private:
  bool step() {
    bool busy = plane.step(0);
    busy = plane.take_events([this](std::uint32_t, mgw::MediaEvent&& event) {
      if (event.kind == mgw::MediaEvent::Kind::command_done) {
        done_[event.command->ticket] = std::move(event.command);
      } else {
        events.push_back(std::move(event));
      }
    }) || busy;
    for (const auto& peer : peers_) {
      busy = peer->act() || busy;
    }
    return busy;
  }

  sim::Trace trace_;
  std::vector<std::unique_ptr<sim::RtpPeer>> peers_;
  std::map<std::uint64_t, std::unique_ptr<mgw::MediaCommand>> done_;
  std::uint64_t ticket_ = 0;
};

/// Two legs that lead to each other.
struct Bridge {
  explicit Bridge(WorkerBench& bench) : left(bench.add_peer(0)), right(bench.add_peer(1)) {
    bench.install(0, WorkerBench::entry_for(left, {1}));
    bench.install(1, WorkerBench::entry_for(right, {0}));
  }
  sim::RtpPeer& left;
  sim::RtpPeer& right;
};

}  // namespace test
