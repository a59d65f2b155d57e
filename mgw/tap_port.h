#pragma once
// Where a worker's packets leave the ordinary way to be tapped. Called for tapped connections only;
// neither allocates nor locks nor touches a file.

#include "io/backend.h"
#include "io/buffer_pool.h"
#include "io/datagram.h"
#include "io/time.h"
#include "mgw/drop_cause.h"
#include "mgw/tap.h"

namespace mgw {

struct MediaConnection;
struct MediaCounters;

/// Worker thread only.
class TapPort {
 public:
  /// All must outlive it.
  TapPort(io::Backend& backend, io::BufferPool& pool, MediaCounters& counters) noexcept
      : backend_(backend), pool_(pool), counters_(counters) {}

  /// Tells the time of the pass that begins.
  void begin(io::TimePoint now) noexcept { now_ = now; }
  /// `datagram` has been accepted from the connection's peer and is as it came. The connection has
  /// a tap.
  void received(const MediaConnection& connection, const io::Datagram& datagram) noexcept;
  /// `datagram` is about to be sent, its socket and peer are set. The connection has a tap.
  void sent(const MediaConnection& connection, const io::Datagram& datagram) noexcept;
  /// The same for a leg without sockets of its own: what a device has received for it, and what it
  /// is about to send, as the RTP packets that they are inside the gateway. Into files only, as
  /// there is no socket to send a copy from.
  void from_device(const MediaConnection& connection, const io::Datagram& datagram) noexcept;
  void to_device(const MediaConnection& connection, const io::Datagram& datagram) noexcept;

 private:
  void copy(const TapTarget& target, TapQueue* queue, const io::Datagram& datagram,
            const io::SocketAddress& source, const io::SocketAddress& destination) noexcept;
  [[nodiscard]] bool send_copy(const io::SocketAddress& address,
                               const io::Datagram& datagram) noexcept;

  io::Backend& backend_;
  io::BufferPool& pool_;
  MediaCounters& counters_;
  io::TimePoint now_{};
};

}  // namespace mgw
