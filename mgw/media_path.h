#pragma once
// The way of a packet through one worker: find its connection, check it, check its source, count
// it, patch it, route it. Runs on the worker's thread; allocates nothing, locks nothing, logs
// nothing.

#include "io/backend.h"
#include "io/buffer_pool.h"
#include "io/counter.h"
#include "mgw/drop_cause.h"
#include "mgw/media_connection.h"
#include "rtp/rtcp_rewrite.h"

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace mgw {

/// Written by the worker, read by any thread. They balance:
/// received + copied + generated = sent + consumed + Σ dropped, between passes.
struct MediaCounters {
  io::Counter received;   ///< datagrams from the backend
  io::Counter copied;     ///< additional targets of fan-outs
  io::Counter generated;  ///< keep-alives
  io::Counter sent;       ///< handed to the backend
  io::Counter consumed;   ///< received keep-alives
  std::array<io::Counter, kDropCauseCount> dropped;
  io::Counter rtp_packets_received;  ///< accepted ones
  io::Counter rtp_octets_received;
  io::Counter rtp_packets_sent;
  io::Counter rtp_octets_sent;
  io::Counter rtcp_packets_received;
  io::Counter rtcp_packets_sent;
  io::Counter connections;  ///< gauge
  io::Counter connection_timeouts;
};

/// The connections of one worker and the packets between them.
class MediaPath {
 public:
  /// Both must outlive it.
  MediaPath(io::Backend& backend, io::BufferPool& pool) noexcept;

  /// Forwards a pass's datagrams, in order. `now` is the pass's only clock reading.
  void forward(std::span<io::Datagram> received, io::TimePoint now) noexcept;
  /// Sends the one-octet keep-alive to the connection's peer, from both sockets.
  void send_keep_alive(MediaConnection& connection) noexcept;

  /// The connection in `slot`, null if there is none.
  [[nodiscard]] MediaConnection* find(std::uint32_t slot) noexcept {
    return slot < connections_.size() ? connections_[slot].get() : nullptr;
  }
  /// Puts a connection into a free slot.
  void install(std::uint32_t slot, std::unique_ptr<MediaConnection> connection);
  /// Takes the connection out of its slot.
  [[nodiscard]] std::unique_ptr<MediaConnection> take(std::uint32_t slot) noexcept;

  /// Slot numbers below this may be in use.
  [[nodiscard]] std::uint32_t slots() const noexcept {
    return static_cast<std::uint32_t>(connections_.size());
  }
  /// True if some connection's drops deserve a log line.
  [[nodiscard]] bool has_notable() const noexcept { return !notable_.empty(); }
  /// Moves the connections whose drops deserve a log line to `report` (slot numbers) and clears the
  /// list.
  void take_notable(std::vector<std::uint32_t>& report) noexcept;

  [[nodiscard]] MediaCounters& counters() noexcept { return counters_; }
  [[nodiscard]] const MediaCounters& counters() const noexcept { return counters_; }

 private:
  void forward_one(io::Datagram& datagram, io::TimePoint now) noexcept;
  void forward_rtp(std::uint32_t slot, MediaConnection& source, io::Datagram& datagram,
                   io::TimePoint now) noexcept;
  void forward_rtcp(std::uint32_t slot, MediaConnection& source, io::Datagram& datagram,
                    io::TimePoint now) noexcept;
  [[nodiscard]] bool accept_source(std::uint32_t slot, MediaConnection& source,
                                   const io::Datagram& datagram, bool rtcp,
                                   io::TimePoint now) noexcept;
  void emit_rtp(const MediaConnection& source, const Route& route, rtp::RtpHeader header,
                io::Datagram&& datagram) noexcept;
  void emit_rtcp(const MediaConnection& source, const Route& route,
                 io::Datagram&& datagram) noexcept;
  /// Whether the mode takes what `source` received and another leg (or itself) is to have it; else
  /// it is dropped.
  [[nodiscard]] bool leads_somewhere(MediaConnection& source) noexcept;
  /// Emits copies towards all routes but the last (there is at least one), which gets the datagram
  /// itself.
  template <typename Emit>
  void fan_out(std::span<const Route> routes, io::Datagram& datagram, Emit emit) noexcept;
  [[nodiscard]] bool copy(const io::Datagram& from, io::Datagram& to) noexcept;
  void send(const io::SocketId& socket, const io::SocketAddress& peer,
            io::Datagram&& datagram) noexcept;
  void drop(DropCause cause) noexcept;
  void drop(MediaConnection& connection, DropCause cause) noexcept;
  void drop_notable(std::uint32_t slot, MediaConnection& connection, DropCause cause) noexcept;

  io::Backend& backend_;
  io::BufferPool& pool_;
  std::vector<std::unique_ptr<MediaConnection>> connections_;
  std::vector<std::uint32_t> notable_;  // slots; capacity reserved, at most kNotableMax
  MediaCounters counters_;
};

}  // namespace mgw
