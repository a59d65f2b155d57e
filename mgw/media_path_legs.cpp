// The part of the media path that legs other than plain RTP, and devices, work with.

#include "io/assert.h"
#include "mgw/media_path.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace mgw {

namespace {

/// Legs and devices served in one pass; more are served in the next, which does not wait.
constexpr int kDuePerPassMax = 1024;

}  // namespace

bool MediaPath::run_ingress(const LegContext& source, MediaPacket& packet) noexcept {
  const auto action = source.connection.leg->ingress(source, packet);
  reschedule(source.slot, source.connection);
  if (!action) {
    drop(source, action.error());
    return false;
  }
  if (*action == IngressAction::consumed) {
    count_consumed();
    return false;
  }
  return true;
}

void MediaPath::inject(const LegContext& source, MediaPacket&& packet) noexcept {
  counters_.generated.add();
  count_received(source.connection, packet, source.now);
  if (source.connection.tap != nullptr && source.connection.rtp_socket == io::SocketId()) {
    taps_.from_device(source.connection, packet.datagram);
  }
  deliver(source, packet);
}

void MediaPath::count_taken(const LegContext& target, std::size_t octets) noexcept {
  target.connection.live.rtp_sent.count(octets);
  counters_.rtp_packets_sent.add();
  counters_.rtp_octets_sent.add(octets);
  counters_.consumed.add();
}

io::Datagram MediaPath::new_datagram() noexcept {
  io::Datagram datagram;
  datagram.buffer = pool_.take();
  datagram.offset = io::kHeadroomBytes;
  return datagram;
}

void MediaPath::send_generated(const io::SocketId& socket, const io::SocketAddress& peer,
                               std::span<const std::byte> bytes,
                               const MediaConnection* connection) noexcept {
  io::Datagram datagram = new_datagram();
  if (!datagram.buffer || peer.port() == 0 || peer.is_unspecified()) {
    return;
  }
  if (bytes.size() > datagram.buffer.capacity() - datagram.offset) {
    counters_.generated.add();
    drop(DropCause::conversion_no_room);
    return;
  }
  datagram.size = static_cast<std::uint32_t>(bytes.size());
  std::memcpy(datagram.bytes().data(), bytes.data(), bytes.size());
  send_generated(socket, peer, std::move(datagram), connection);
}

void MediaPath::send_leg_rtp(const LegContext& context, const io::SocketAddress& peer,
                             std::span<const std::byte> bytes) noexcept {
  if (peer.port() == 0 || peer.is_unspecified()) {
    return;
  }
  if (context.connection.rtcp) {
    context.connection.rtcp->on_rtp_sent(bytes, context.connection.entry.timing.clock_rate_hz,
                                         context.connection.statistics, context.now);
  }
  context.connection.live.rtp_sent.count(bytes.size());
  counters_.rtp_packets_sent.add();
  counters_.rtp_octets_sent.add(bytes.size());
  send_generated(context.connection.rtp_socket, peer, bytes, &context.connection);
}

void MediaPath::send_generated(const io::SocketId& socket, const io::SocketAddress& peer,
                               io::Datagram&& datagram,
                               const MediaConnection* connection) noexcept {
  counters_.generated.add();
  send(connection, socket, peer, std::move(datagram));
}

std::uint32_t MediaPath::add_device(std::unique_ptr<MediaDevice> device) {
  devices_.push_back(std::move(device));
  return static_cast<std::uint32_t>(devices_.size() - 1);
}

void MediaPath::reschedule(std::uint32_t slot, MediaConnection& connection) noexcept {
  const io::TimePoint due = connection.leg->next_due();
  if (due < connection.leg_due) {
    connection.leg_due = due;
    leg_timers_.arm(due, slot, 0);
  }
}

void MediaPath::note_failure(std::uint32_t slot) noexcept {
  counters_.leg_failures.add();
  if (failures_.size() < kNotableMax) {
    failures_.push_back(slot);
  }
}

void MediaPath::take_failures(std::vector<std::uint32_t>& report) noexcept {
  report.assign(failures_.begin(), failures_.end());
  failures_.clear();
}

io::TimePoint MediaPath::next_due() const noexcept {
  io::TimePoint next = leg_timers_.next_expiry();
  for (const auto& device : devices_) {
    next = std::min(next, device->next_due());
  }
  return next;
}

void MediaPath::run_due(io::TimePoint now) noexcept {
  for (const auto& device : devices_) {
    if (device->next_due() <= now) {
      device->run(*this, now);
    }
  }
  io::TimerQueue::Timer timer;
  for (int i = 0; i < kDuePerPassMax && leg_timers_.take_due(now, timer); ++i) {
    const auto slot = static_cast<std::uint32_t>(timer.key);
    MediaConnection* connection = find(slot);
    if (connection == nullptr || !connection->leg || connection->leg_due != timer.at) {
      continue;
    }
    connection->leg_due = io::kNever;
    if (connection->leg->next_due() <= now) {
      connection->leg->on_due({*this, *connection, slot, now});
    }
    reschedule(slot, *connection);
  }
}

void MediaPath::entry_applied(std::uint32_t slot, MediaConnection& connection,
                              io::TimePoint now) noexcept {
  if (connection.leg) {
    connection.leg->entry_applied({*this, connection, slot, now});
    reschedule(slot, connection);
  }
}

std::unique_ptr<Leg> MediaPath::exchange_leg(std::uint32_t slot, std::unique_ptr<Leg> leg,
                                             io::TimePoint now) noexcept {
  MediaConnection* connection = find(slot);
  MGW_ASSERT(connection != nullptr);
  if (connection->leg) {
    connection->leg->detached({*this, *connection, slot, now});
  }
  connection->leg_due = io::kNever;
  return std::exchange(connection->leg, std::move(leg));
}

std::unique_ptr<MediaConnection> MediaPath::remove(std::uint32_t slot, io::TimePoint now) noexcept {
  MediaConnection* connection = find(slot);
  MGW_ASSERT(connection != nullptr);
  if (connection->leg) {
    connection->leg->detached({*this, *connection, slot, now});
  }
  counters_.connections.set(counters_.connections.value() - 1);
  return std::move(connections_[slot]);
}

}  // namespace mgw
