#pragma once
// What the control thread asks of a worker and what it hears back. A command concerns one endpoint,
// or many connections that are removed together; it is applied whole within one pass.

#include "io/socket_factory.h"
#include "mgw/media_connection.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mgw {

/// The two bound sockets of a connection; empty ones for a leg that has none.
struct SocketPair {
  io::BoundSocket rtp;
  io::BoundSocket rtcp;
};

/// A new connection in slot `slot`, or new sockets for one that exists (`connection` null): the old
/// ones are closed.
struct MediaInstall {
  std::uint32_t slot = 0;
  std::unique_ptr<MediaConnection> connection;
  SocketPair sockets;
};

/// A new forwarding entry for an existing connection; its counters and streams go on.
struct MediaUpdate {
  std::uint32_t slot = 0;
  ForwardingEntry entry;
  bool exchanges_leg = false;  ///< `leg` takes the place of the connection's leg, and travels back
  std::unique_ptr<Leg> leg = nullptr;
};

/// A device for the worker, with the sockets that it is to have. It has the next free number of the
/// worker's devices.
struct MediaDeviceInstall {
  std::unique_ptr<MediaDevice> device;
  std::vector<io::BoundSocket> sockets;
};

/// Another tap, or none, for an existing connection.
struct MediaTap {
  std::uint32_t slot = 0;
  std::unique_ptr<Tap> tap;  ///< comes back as the one before
};

/// Travels to the worker and back. The worker takes the installs, fills `removed` and `audited`, or
/// sets `error` (an errno), in which case nothing was changed.
struct MediaCommand {
  std::uint64_t ticket = 0;
  std::vector<MediaDeviceInstall> devices;
  std::vector<MediaInstall> installs;
  std::vector<MediaUpdate> updates;
  std::vector<MediaTap> taps;
  std::vector<std::uint32_t> removals;  ///< slots; done when the kernel has let go of their ports
  std::vector<std::uint32_t> audits;    ///< slots whose counters are wanted
  bool audits_streams = true;           ///< and those of their streams
  std::vector<std::uint32_t> saves;     ///< slots whose media are to be saved
  bool is_quiet = false;                ///< peers of `removals` are not told that they are

  int error = 0;
  std::uint32_t sockets_closing = 0;                      ///< the command is done when this is 0
  std::vector<std::unique_ptr<MediaConnection>> removed;  ///< those of `removals` that existed
  std::vector<ConnectionCounters> audited;                ///< in the order of `audits`
  std::vector<rtp::StreamList> audited_streams;           ///< likewise, if wanted
  std::vector<std::string> saved;                         ///< likewise, for `saves`: append_media()
};

/// What a worker tells.
struct MediaEvent {
  /// What happened.
  enum class Kind : std::uint8_t {
    command_done,
    connection_timeout,  ///< no media and no command for the connection's time limit
    drops_noted,         ///< packets of the connection were dropped in the last second
    leg_failed,          ///< the peer did not answer the leg's initialisation
  };
  Kind kind = Kind::command_done;
  std::uint32_t slot = 0;
  DropCause cause = DropCause::unknown_source;  ///< drops_noted: the latest cause
  std::uint32_t count = 0;                      ///< drops_noted: how many
  std::unique_ptr<MediaCommand> command;        ///< command_done
};

/// Where the control thread's commands go: N workers, or a simulation. Control thread only.
class MediaPlane {
 public:
  MediaPlane() = default;
  MediaPlane(const MediaPlane&) = delete;
  MediaPlane& operator=(const MediaPlane&) = delete;
  MediaPlane(MediaPlane&&) = delete;
  MediaPlane& operator=(MediaPlane&&) = delete;
  virtual ~MediaPlane() = default;

  /// How many workers there are; at least 1.
  [[nodiscard]] virtual std::uint32_t workers() const noexcept = 0;
  /// Whether the worker takes further work: false while too many of its commands are under way. Ask
  /// before a command that may be refused.
  [[nodiscard]] virtual bool has_room(std::uint32_t worker) const noexcept = 0;
  /// Hands a command over, in order. Never refused: removals must always be possible.
  virtual void submit(std::uint32_t worker, std::unique_ptr<MediaCommand> command) = 0;
  /// Ends a burst of submits: wakes the workers that got something.
  virtual void flush() = 0;
};

}  // namespace mgw
