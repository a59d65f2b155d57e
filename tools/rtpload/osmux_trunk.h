#pragma once
// The far gateway of an Osmux trunk, as far as its media go: all second legs of a run in one
// multiplex on one socket. It batches what they send and takes apart what comes. One thread.

#include "io/time.h"
#include "rtp/osmux_encoder.h"
#include "tools/rtpload/media_checker.h"
#include "tools/rtpload/media_sockets.h"

#include <tl/expected.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rtpload {

/// See above.
class OsmuxTrunk final : private rtp::OsmuxSink {
 public:
  /// A socket of its own on `host`; an error text if there can be none.
  [[nodiscard]] static tl::expected<std::unique_ptr<OsmuxTrunk>, std::string> open(
      const io::SocketAddress& host);
  OsmuxTrunk(const OsmuxTrunk&) = delete;
  OsmuxTrunk& operator=(const OsmuxTrunk&) = delete;
  OsmuxTrunk(OsmuxTrunk&&) = delete;
  OsmuxTrunk& operator=(OsmuxTrunk&&) = delete;
  ~OsmuxTrunk();

  /// Where the gateway is to send the multiplex.
  [[nodiscard]] const io::SocketAddress& local() const noexcept { return local_; }
  /// Leg `leg` of the checker has the circuit `own`, to which the gateway sends, and `far` at the
  /// gateway, whose multiplex is at `gateway`. False if `far` is taken.
  [[nodiscard]] bool add_leg(std::uint32_t leg, std::uint8_t own, std::uint8_t far,
                             const io::SocketAddress& gateway, io::TimePoint now);

  /// Puts a whole RTP packet with an octet-aligned AMR payload into the batch.
  void push(std::uint32_t leg, std::span<const std::uint8_t> packet, io::TimePoint now) noexcept;
  /// Lets the batch go if it is due.
  void flush_due(io::TimePoint now) noexcept;
  /// Hands the frames that have come to the checker, as the packets they were.
  void receive(MediaChecker& checker) noexcept;

 private:
  explicit OsmuxTrunk(int socket, const io::SocketAddress& local);
  void on_osmux_datagram(std::span<const std::byte> datagram) noexcept override;
  void take_apart(std::span<const std::byte> datagram, std::uint64_t received_ns,
                  MediaChecker& checker) const noexcept;

  static constexpr std::uint32_t kNoLeg = 0xffffffff;

  int socket_;
  io::SocketAddress local_;
  io::SocketAddress gateway_;
  rtp::OsmuxLink link_;
  std::array<std::uint32_t, rtp::kOsmuxCircuits> legs_;  // by our circuit
  std::vector<std::uint8_t> far_circuits_;               // by leg
};

}  // namespace rtpload
