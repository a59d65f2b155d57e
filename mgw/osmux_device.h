#pragma once
// The Osmux sockets of a worker: takes the datagrams of all peers apart into chunks for the legs
// they are of, and gathers what the legs send into batches, a link per peer.

#include "io/socket_address.h"
#include "mgw/leg.h"
#include "mgw/media_path.h"
#include "rtp/osmux_chunk.h"
#include "rtp/osmux_encoder.h"

#include <tl/expected.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace mgw {

class OsmuxLeg;

/// One peer, an address and port, with the circuits towards it.
struct OsmuxPeer {
  OsmuxPeer(const io::SocketAddress& peer_address, const io::SocketId& from,
            const rtp::OsmuxOptions& options)
      : address(peer_address), socket(from), link(options) {}

  io::SocketAddress address;
  io::SocketId socket;
  rtp::OsmuxLink link;
  rtp::OsmuxSendStatistics counted;  ///< what of the link's is in the worker's counters already
};

/// See above. At most rtp::kOsmuxCircuits circuits and as many peers. Worker thread, once
/// installed.
class OsmuxDevice final : public MediaDevice {
 public:
  /// `families` are those of its sockets, in the order in which they will be opened.
  explicit OsmuxDevice(std::vector<io::AddressFamily> families);

  void opened(const std::vector<io::SocketId>& sockets) override;
  void receive(MediaPath& path, io::Datagram& datagram, io::TimePoint now) noexcept override;
  [[nodiscard]] io::TimePoint next_due() const noexcept override { return next_due_; }
  void run(MediaPath& path, io::TimePoint now) noexcept override;

  /// Whether it has its sockets.
  [[nodiscard]] bool is_open() const noexcept { return !sockets_.empty(); }
  /// Chunks of circuit `local` are the leg's from now on.
  void attach(MediaPath& path, std::uint8_t local, OsmuxLeg& leg, std::uint32_t slot) noexcept;
  /// The circuit exists no more.
  void detach(MediaPath& path, std::uint8_t local) noexcept;
  /// Adds a circuit towards `address`, by the peer's number for it; the first one decides by its
  /// `options` how the peer's batches are made. Null if the peer has a circuit
  /// of that number already, or there is no socket of its family. May allocate, as a call's set-up
  /// does.
  [[nodiscard]] OsmuxPeer* join(MediaPath& path, const io::SocketAddress& address,
                                std::uint8_t remote, const rtp::OsmuxOptions& options,
                                io::TimePoint now) noexcept;
  /// Takes a circuit from its peer; what it has queued is lost, what others have queued is not. The
  /// peer is gone with its last circuit.
  void leave(MediaPath& path, OsmuxPeer& peer, std::uint8_t remote) noexcept;
  /// Queues one octet-aligned AMR frame; batches that leave because of it are sent.
  [[nodiscard]] tl::expected<void, rtp::OsmuxRefusal> push(MediaPath& path, OsmuxPeer& peer,
                                                           std::uint8_t remote,
                                                           const rtp::RtpHeader& header,
                                                           std::span<const std::byte> payload,
                                                           io::TimePoint now) noexcept;
  /// Sends the dummy that tells `address` where the circuit comes from.
  void send_dummy(MediaPath& path, const io::SocketAddress& address, std::uint8_t remote) noexcept;

 private:
  struct Circuit {
    OsmuxLeg* leg = nullptr;
    std::uint32_t slot = 0;
  };

  [[nodiscard]] io::SocketId socket_towards(const io::SocketAddress& address) const noexcept;
  /// Brings what the peer's link did into the worker's counters.
  static void count_sent(MediaPath& path, OsmuxPeer& peer) noexcept;
  void count_peers(MediaPath& path) noexcept;

  std::vector<io::AddressFamily> families_;
  std::vector<io::SocketId> sockets_;
  std::array<Circuit, rtp::kOsmuxCircuits> circuits_{};  // by our number
  std::vector<std::unique_ptr<OsmuxPeer>> peers_;        // in the order in which they came
  io::TimePoint next_due_ = io::kNever;
};

}  // namespace mgw
