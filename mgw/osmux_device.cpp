#include "mgw/osmux_device.h"

#include "mgw/osmux_leg.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace mgw {

namespace {

std::size_t packet_overhead_bytes(const io::SocketAddress& peer) noexcept {
  return peer.family() == io::AddressFamily::ipv6 ? rtp::kIpv6UdpBytes : rtp::kIpv4UdpBytes;
}

/// Sends a link's datagrams to its peer.
class Sender final : public rtp::OsmuxSink {
 public:
  Sender(MediaPath& path, const OsmuxPeer& peer) noexcept : path_(path), peer_(peer) {}
  void on_osmux_datagram(std::span<const std::byte> datagram) noexcept override {
    path_.send_generated(peer_.socket, peer_.address, datagram);
  }

 private:
  MediaPath& path_;
  const OsmuxPeer& peer_;
};

/// What became of a datagram as a whole.
struct Verdict {
  bool accepted = false;             ///< at least one chunk was taken
  std::optional<DropCause> refused;  ///< why the first chunk of a circuit that exists was not
  std::uint32_t refused_slot = 0;
};

}  // namespace

OsmuxDevice::OsmuxDevice(std::vector<io::AddressFamily> families) : families_(std::move(families)) {
  peers_.reserve(rtp::kOsmuxCircuits);
}

void OsmuxDevice::opened(const std::vector<io::SocketId>& sockets) {
  sockets_ = sockets;
}

void OsmuxDevice::receive(MediaPath& path, io::Datagram& datagram, io::TimePoint now) noexcept {
  OsmuxCounters& counters = path.counters().osmux;
  const std::size_t overhead = packet_overhead_bytes(datagram.peer);
  counters.received.datagrams.add();
  counters.received.octets.add(datagram.size + overhead);
  Verdict verdict;
  rtp::OsmuxReader reader(datagram.bytes());
  while (const auto chunk = reader.next()) {
    const Circuit& circuit = circuits_[chunk->header.circuit];
    MediaConnection* const connection = path.find(circuit.slot);
    if (circuit.leg == nullptr || connection == nullptr) {
      counters.unknown_circuit.add();
      continue;
    }
    const auto taken =
        circuit.leg->on_chunk({path, *connection, circuit.slot, now}, *chunk, datagram.peer);
    if (!taken) {
      counters.refused_chunks.add();
      if (!verdict.refused) {
        verdict.refused = taken.error();
        verdict.refused_slot = circuit.slot;
      }
      continue;
    }
    verdict.accepted = true;
    if (chunk->header.kind != rtp::OsmuxKind::voice) {
      counters.received.dummies.add();
      continue;
    }
    counters.received.chunks.add();
    counters.received.frames.add(chunk->header.frame_count);
    counters.received.plain_rtp_octets.add(
        chunk->header.frame_count *
        rtp::plain_rtp_bytes(chunk->frames.size() / chunk->header.frame_count, overhead));
  }
  if (const auto malformed = reader.malformed()) {
    path.drop(drop_cause(*malformed));
  } else if (verdict.accepted) {
    path.count_consumed();
  } else if (verdict.refused) {
    path.drop({path, *path.find(verdict.refused_slot), verdict.refused_slot, now},
              *verdict.refused);
  } else {
    path.drop(DropCause::osmux_unknown_circuit);
  }
}

void OsmuxDevice::run(MediaPath& path, io::TimePoint now) noexcept {
  next_due_ = io::kNever;
  for (const auto& peer : peers_) {
    if (peer->link.deadline() <= now) {
      Sender sender(path, *peer);
      peer->link.flush(now, sender);
      count_sent(path, *peer);
    }
    next_due_ = std::min(next_due_, peer->link.deadline());
  }
}

void OsmuxDevice::attach(MediaPath& path, std::uint8_t local, OsmuxLeg& leg,
                         std::uint32_t slot) noexcept {
  if (std::exchange(circuits_[local], {&leg, slot}).leg == nullptr) {
    io::Counter& circuits = path.counters().osmux.circuits;
    circuits.set(circuits.value() + 1);
  }
}

void OsmuxDevice::detach(MediaPath& path, std::uint8_t local) noexcept {
  if (std::exchange(circuits_[local], {}).leg != nullptr) {
    io::Counter& circuits = path.counters().osmux.circuits;
    circuits.set(circuits.value() - 1);
  }
}

io::SocketId OsmuxDevice::socket_towards(const io::SocketAddress& address) const noexcept {
  for (std::size_t i = 0; i < sockets_.size(); ++i) {
    if (families_[i] == address.family()) {
      return sockets_[i];
    }
  }
  return {};
}

OsmuxPeer* OsmuxDevice::join(MediaPath& path, const io::SocketAddress& address, std::uint8_t remote,
                             const rtp::OsmuxOptions& options, io::TimePoint now) noexcept {
  const io::SocketId socket = socket_towards(address);
  if (socket == io::SocketId()) {
    return nullptr;
  }
  auto found = std::find_if(peers_.begin(), peers_.end(),
                            [&](const auto& peer) { return peer->address == address; });
  if (found == peers_.end()) {
    rtp::OsmuxOptions towards = options;
    towards.packet_overhead_bytes = packet_overhead_bytes(address);
    found = peers_.insert(peers_.end(), std::make_unique<OsmuxPeer>(address, socket, towards));
    count_peers(path);
  }
  OsmuxPeer& peer = **found;
  if (!peer.link.add_circuit(remote, now)) {
    return nullptr;
  }
  next_due_ = std::min(next_due_, peer.link.deadline());
  return &peer;
}

void OsmuxDevice::leave(MediaPath& path, OsmuxPeer& peer, std::uint8_t remote) noexcept {
  peer.link.remove_circuit(remote);
  count_sent(path, peer);
  if (peer.link.circuit_count() == 0) {
    std::erase_if(peers_, [&peer](const auto& candidate) { return candidate.get() == &peer; });
    count_peers(path);
  }
}

tl::expected<void, rtp::OsmuxRefusal> OsmuxDevice::push(MediaPath& path, OsmuxPeer& peer,
                                                        std::uint8_t remote,
                                                        const rtp::RtpHeader& header,
                                                        std::span<const std::byte> payload,
                                                        io::TimePoint now) noexcept {
  Sender sender(path, peer);
  const auto pushed = peer.link.push(remote, header, payload, now, sender);
  next_due_ = std::min(next_due_, peer.link.deadline());
  return pushed;
}

void OsmuxDevice::send_dummy(MediaPath& path, const io::SocketAddress& address,
                             std::uint8_t remote) noexcept {
  const io::SocketId socket = socket_towards(address);
  if (socket == io::SocketId()) {
    return;
  }
  std::array<std::byte, rtp::kOsmuxDummyBytes> dummy;
  const std::size_t size = rtp::write_osmux_dummy(dummy, remote);
  path.send_generated(socket, address, std::span(dummy).first(size));
  OsmuxDirection& sent = path.counters().osmux.sent;
  sent.datagrams.add();
  sent.octets.add(size + packet_overhead_bytes(address));
  sent.dummies.add();
}

void OsmuxDevice::count_sent(MediaPath& path, OsmuxPeer& peer) noexcept {
  OsmuxCounters& counters = path.counters().osmux;
  const rtp::OsmuxSendStatistics& now = peer.link.statistics();
  const rtp::OsmuxSendStatistics& before = peer.counted;
  counters.sent.datagrams.add(now.datagrams_out - before.datagrams_out);
  counters.sent.octets.add(now.octets_out - before.octets_out);
  counters.sent.chunks.add(now.chunks_out - before.chunks_out);
  counters.sent.frames.add(now.frames_out - before.frames_out);
  counters.sent.dummies.add(now.dummies_out - before.dummies_out);
  counters.sent.plain_rtp_octets.add(now.plain_rtp_octets - before.plain_rtp_octets);
  counters.clones.add(now.clones - before.clones);
  peer.counted = now;
}

void OsmuxDevice::count_peers(MediaPath& path) noexcept {
  path.counters().osmux.links.set(peers_.size());
}

}  // namespace mgw
