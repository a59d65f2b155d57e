#pragma once
// What makes a leg other than plain RTP: an ingress step that turns what its peer sends into RTP
// that every leg can take, an egress step that turns such RTP into what its peer wants, and perhaps
// a timer. Between the two lies the same way of a packet as for plain RTP (mgw/media_path.h), so
// any kind can be paired with any other.

#include "io/datagram.h"
#include "io/time.h"
#include "mgw/drop_cause.h"
#include "mgw/forwarding_entry.h"
#include "rtp/iuup_pdu.h"
#include "rtp/rtp_header.h"
#include "rtp/timeline.h"

#include <tl/expected.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace mgw {

class MediaPath;
class StateReader;
class StateWriter;
struct ConnectionCounters;
struct MediaConnection;

/// The kinds of legs.
enum class LegKind : std::uint8_t {
  rtp,    ///< plain RTP: no steps at all
  iuup,   ///< Iu user plane in RTP (3GPP TS 25.414, 25.415)
  osmux,  ///< a circuit in the multiplex between two gateways
  e1,     ///< a sub-slot of an E1 line
};

/// The kind as operators see it, "rtp".
[[nodiscard]] constexpr std::string_view to_string(LegKind kind) noexcept {
  constexpr std::array<std::string_view, 4> kNames = {"rtp", "iuup", "osmux", "e1"};
  return kNames[static_cast<std::size_t>(kind)];
}

/// What an Iu UP frame says besides its bits, for a target that speaks Iu UP too.
struct IuupFrameDetails {
  std::uint8_t frame_number = 0;
  rtp::IuupFrameQuality quality = rtp::IuupFrameQuality::good;
  std::uint8_t rfci = 0;
  const rtp::IuupConfiguration* configuration = nullptr;  ///< the source's, within the pass
};

/// An RTP packet between the ingress step of its source and the egress step of a target.
struct MediaPacket {
  io::Datagram datagram;
  rtp::RtpHeader header;                      ///< of `datagram`, but for patched numbers
  std::optional<IuupFrameDetails> iuup = {};  ///< set by a source that speaks Iu UP
};

/// Where a step takes place.
struct LegContext {
  MediaPath& path;
  MediaConnection& connection;  ///< the one that the leg belongs to
  std::uint32_t slot;
  io::TimePoint now;
};

/// What the ingress step made of a packet.
enum class IngressAction : std::uint8_t {
  forward,   ///< it is now RTP with a payload type that the source's table knows
  consumed,  ///< it was for the leg itself, which has answered it as needed
};

/// One leg's steps and state. Made by the control thread, used by the worker while the connection
/// is installed. Nothing here allocates, locks or throws once made.
class Leg {
 public:
  Leg() = default;
  Leg(const Leg&) = delete;
  Leg& operator=(const Leg&) = delete;
  Leg(Leg&&) = delete;
  Leg& operator=(Leg&&) = delete;
  virtual ~Leg() = default;

  /// Which kind it is.
  [[nodiscard]] virtual LegKind kind() const noexcept = 0;
  /// Whether it can work at all; asked when its worker is about to take it over.
  [[nodiscard]] virtual bool is_usable() const noexcept { return true; }
  /// Whether a packet whose sender the call agent has not named is taken all the same.
  [[nodiscard]] virtual bool accepts_stranger(const LegContext& context,
                                              const MediaPacket& packet) const noexcept;
  /// Takes a packet of the connection's RTP socket, changes it in place.
  [[nodiscard]] virtual tl::expected<IngressAction, DropCause> ingress(
      const LegContext& context, MediaPacket& packet) noexcept = 0;
  /// Takes a packet for the peer, with the payload type that the target's table gave it. Sends,
  /// keeps or drops it and counts which.
  virtual void egress(const LegContext& context, MediaPacket&& packet) noexcept = 0;
  /// The timing of what ingress() hands on, for the timeline.
  [[nodiscard]] virtual rtp::TimelineTiming media_timing(
      const ForwardingEntry& entry) const noexcept;
  /// Whether RTCP is relayed to the peer.
  [[nodiscard]] virtual bool relays_rtcp() const noexcept { return false; }
  /// Whether the stream to the peer has numbers of the gateway's own, and what the peer sends goes
  /// on under others than it came with. Then no report about the one says anything about the other.
  [[nodiscard]] virtual bool numbers_anew() const noexcept { return false; }
  /// Sends what keeps the way to the peer open.
  virtual void send_keep_alive(const LegContext& context) noexcept;
  /// The connection is installed, or its forwarding entry has changed.
  virtual void entry_applied(const LegContext& context) noexcept;
  /// The connection is being removed, or the leg taken from it.
  virtual void detached(const LegContext& context) noexcept;
  /// When on_due() is to be called; io::kNever if it is not. Asked after each of the steps.
  [[nodiscard]] virtual io::TimePoint next_due() const noexcept { return io::kNever; }
  /// The time next_due() named has come.
  virtual void on_due(const LegContext& context) noexcept;
  /// Adds what the leg alone knows to an account of its connection.
  virtual void add_counters(ConnectionCounters& counters) const noexcept;
  /// Saves what a leg in another process needs to go on where this one is.
  virtual void save(StateWriter& writer) const;
  /// Goes on where the leg was that saved this; as before if it can't be read. Before the leg is
  /// installed. `is_exact` false: more was received and sent since.
  virtual void load(StateReader& reader, bool is_exact);
};

/// Something of a worker that carries the media of many connections: a socket for many Osmux
/// circuits, a line with many sub-slots. Made by the control thread, then owned by the worker to
/// its end.
class MediaDevice {
 public:
  MediaDevice() = default;
  MediaDevice(const MediaDevice&) = delete;
  MediaDevice& operator=(const MediaDevice&) = delete;
  MediaDevice(MediaDevice&&) = delete;
  MediaDevice& operator=(MediaDevice&&) = delete;
  virtual ~MediaDevice() = default;

  /// Its sockets are open, in the order in which the command named them.
  virtual void opened(const std::vector<io::SocketId>& sockets) = 0;
  /// A datagram of one of its sockets. Consumes or drops it and counts which.
  virtual void receive(MediaPath& path, io::Datagram& datagram, io::TimePoint now) noexcept = 0;
  /// When run() is to be called; io::kNever if it is not.
  [[nodiscard]] virtual io::TimePoint next_due() const noexcept = 0;
  /// The time next_due() named has come.
  virtual void run(MediaPath& path, io::TimePoint now) noexcept = 0;
};

}  // namespace mgw
