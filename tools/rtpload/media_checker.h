#pragma once
// Judges every packet that comes back from the gateway: whose it is, whether it is whole, in order
// and only there once, how long it took. No socket, no clock. One thread.

#include "io/socket_address.h"
#include "tools/rtpload/codec.h"
#include "tools/rtpload/histogram.h"
#include "tools/rtpload/leg_directory.h"
#include "tools/rtpload/packet.h"
#include "tools/rtpload/stream_checker.h"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace rtpload {

/// One side of a call. Leg 2k and leg 2k + 1 are the two sides of call k; the stream that leg n
/// sends has number n and is to be heard by leg n ^ 1.
struct MediaLeg {
  std::uint32_t socket = 0;   ///< index of the local socket
  io::SocketAddress gateway;  ///< where to send to; where packets of this leg come from
};

/// How packets find their leg.
enum class LegLookup : std::uint8_t {
  by_source,   ///< by the gateway's address, for real calls
  by_payload,  ///< by what the payload says, for runs without a gateway, where many legs share one
               ///< source
};

/// A datagram as it came.
struct ReceivedDatagram {
  std::span<const std::uint8_t> bytes;
  io::SocketAddress source;
  std::uint64_t received_ns = 0;  ///< wall clock of the kernel
  std::uint32_t socket = 0;       ///< local socket on which it came
};

/// Sums over all streams.
struct MediaCounters {
  std::uint64_t received = 0;   ///< different whole packets at the right leg
  std::uint64_t reordered = 0;  ///< of these: after a later one of the same stream
  std::uint64_t duplicated = 0;
  std::uint64_t corrupted = 0;     ///< content, size or header are not what was sent
  std::uint64_t wrong_stream = 0;  ///< whole packets at a leg that they were not sent to
  std::uint64_t unknown_source =
      0;                          ///< corrupted ones among these: from an address that is no leg's
  std::uint64_t keep_alives = 0;  ///< a gateway's dummies; not errors
};

/// Checks all streams of a run.
class MediaChecker {
 public:
  /// `legs` and the checker's own tables are read for every packet; no allocation after
  /// construction.
  /// `codecs` are those of the first and the second leg of each call.
  MediaChecker(const std::array<Codec, 2>& codecs, std::uint32_t run_seed, LegLookup lookup,
               std::vector<MediaLeg> legs);

  /// Takes one datagram.
  void on_datagram(const ReceivedDatagram& datagram) noexcept;
  /// Takes a packet that came for `leg` in a multiplex, where it had no RTP header.
  void on_frame(std::uint32_t leg, std::span<const std::uint8_t> packet,
                std::uint64_t received_ns) noexcept;
  /// What the leg sends and hears.
  [[nodiscard]] const Codec& codec_of(std::uint32_t leg) const noexcept {
    return codecs_[leg & 1U];
  }

  [[nodiscard]] const MediaCounters& counters() const noexcept { return counters_; }
  [[nodiscard]] const std::vector<MediaLeg>& legs() const noexcept { return legs_; }
  /// What arrived of one stream.
  [[nodiscard]] const StreamChecker& stream(std::uint32_t stream) const noexcept {
    return streams_[stream];
  }
  /// Nanoseconds from the send stamp to the kernel's receive stamp.
  [[nodiscard]] const Histogram& latency_ns() const noexcept { return latency_ns_; }

 private:
  void judge(std::uint32_t leg, const ReceivedPacket& packet, std::uint64_t received_ns) noexcept;

  std::array<Codec, 2> codecs_;
  std::uint32_t run_seed_;
  LegLookup lookup_;
  std::vector<MediaLeg> legs_;
  std::vector<StreamChecker> streams_;
  LegDirectory directory_;
  Histogram latency_ns_;
  MediaCounters counters_;
};

}  // namespace rtpload
