#pragma once
// The way of a packet through one worker: find its connection, check it, check its source, count
// it, patch it, route it. Runs on the worker's thread; allocates nothing, locks nothing, logs
// nothing.

#include "io/backend.h"
#include "io/buffer_pool.h"
#include "io/counter.h"
#include "io/timer_queue.h"
#include "mgw/drop_cause.h"
#include "mgw/e1_leg.h"
#include "mgw/kernel_counters.h"
#include "mgw/leg.h"
#include "mgw/media_connection.h"
#include "mgw/osmux_counters.h"
#include "mgw/tap_port.h"
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
  io::Counter copied;     ///< additional targets of fan-outs, and copies for taps
  io::Counter generated;  ///< keep-alives, RTCP of our own, what legs and devices make themselves
  io::Counter sent;       ///< handed to the backend
  /// Keep-alives, RTCP that ends here, what was for a leg or device itself, copies in files.
  io::Counter consumed;
  std::array<io::Counter, kDropCauseCount> dropped;
  io::Counter rtp_packets_received;  ///< accepted ones
  io::Counter rtp_octets_received;
  io::Counter rtp_packets_sent;
  io::Counter rtp_octets_sent;
  io::Counter rtcp_packets_received;
  io::Counter rtcp_packets_sent;
  io::Counter rtcp_reports_received;  ///< SR and RR that ended here
  io::Counter rtcp_reports_sent;      ///< of our own, those with BYE too
  io::Counter tapped;                 ///< copies that were sent to taps or queued for their files
  io::Counter connections;            ///< gauge
  io::Counter connection_timeouts;
  io::Counter leg_failures;  ///< peers that did not answer their leg's initialisation
  OsmuxCounters osmux;
  E1Counters e1;
  KernelPathCounters kernel;
};

class KernelFlows;

/// The connections of one worker and the packets between them.
class MediaPath {
 public:
  /// Both must outlive it.
  MediaPath(io::Backend& backend, io::BufferPool& pool) noexcept;

  /// Forwards a pass's datagrams, in order. `now` is the pass's only clock reading.
  void forward(std::span<io::Datagram> received, io::TimePoint now) noexcept;
  /// Sends the one-octet keep-alive to the connection's peer, from both sockets.
  void send_keep_alive(std::uint32_t slot, MediaConnection& connection, io::TimePoint now) noexcept;

  /// From now on the kernel may forward by itself; `flows` must outlive this.
  void use_kernel_flows(KernelFlows& flows) noexcept { kernel_flows_ = &flows; }

  // --- for legs and devices

  /// A packet that a leg or device made of its peer's media: counted as generated and as received,
  /// then forwarded like any other. `packet` has a payload type that the connection's source table
  /// knows.
  void inject(const LegContext& source, MediaPacket&& packet) noexcept;
  /// Sends a packet to the connection's peer, if that is known, and counts it.
  void send_rtp(const LegContext& target, io::Datagram&& datagram) noexcept;
  /// Sends a packet that the gateway made itself to `peer` from `socket`. `bytes` is copied. A
  /// packet of `connection` alone is tapped as its tap wants.
  void send_generated(const io::SocketId& socket, const io::SocketAddress& peer,
                      std::span<const std::byte> bytes,
                      const MediaConnection* connection = nullptr) noexcept;
  /// The same for RTP of the leg's own stream: counted as sent to the connection's peer.
  void send_leg_rtp(const LegContext& context, const io::SocketAddress& peer,
                    std::span<const std::byte> bytes) noexcept;
  /// A datagram made by a leg or device leaves from one of its own sockets.
  void send_generated(const io::SocketId& socket, const io::SocketAddress& peer,
                      io::Datagram&& datagram,
                      const MediaConnection* connection = nullptr) noexcept;
  /// A free buffer as a datagram of no bytes yet behind kHeadroomBytes; without a buffer if there
  /// is none.
  [[nodiscard]] io::Datagram new_datagram() noexcept;
  /// Counts a datagram that was for a leg or device itself.
  void count_consumed() noexcept { counters_.consumed.add(); }
  /// Counts a packet that a leg has taken to send it later and in another form.
  void count_taken(const LegContext& target, std::size_t octets) noexcept;
  /// Counts a packet of a connection that could not even be made.
  void drop_generated(const LegContext& context, DropCause cause) noexcept {
    counters_.generated.add();
    drop(context, cause);
  }
  /// Counts a dropped datagram that belongs to no connection.
  void drop(DropCause cause) noexcept;
  /// Counts a dropped packet of a connection; it may be worth a log line.
  void drop(const LegContext& context, DropCause cause) noexcept {
    drop_notable(context.slot, context.connection, cause);
  }
  /// Where the connection's RTP goes; port 0 or no host: nowhere.
  [[nodiscard]] static const io::SocketAddress& rtp_peer(
      const MediaConnection& connection) noexcept;
  /// A leg could not get its peer to work; worth a log line.
  void note_failure(std::uint32_t slot) noexcept;
  /// Notes when the leg is due next; to be called when that may have changed outside of its steps.
  void reschedule(std::uint32_t slot, MediaConnection& connection) noexcept;
  /// A device from now on; its sockets have kDeviceTag + the returned number as their tag.
  std::uint32_t add_device(std::unique_ptr<MediaDevice> device);
  [[nodiscard]] MediaDevice& device(std::uint32_t number) noexcept { return *devices_[number]; }
  /// Tags from here on are those of devices; smaller ones are slots.
  static constexpr std::uint64_t kDeviceTag = std::uint64_t{1} << 32U;

  // --- for the worker

  /// When a leg or device is due next.
  [[nodiscard]] io::TimePoint next_due() const noexcept;
  /// Runs the legs and devices that are due.
  void run_due(io::TimePoint now) noexcept;
  /// Tells the leg, if there is one, that the entry is in force.
  void entry_applied(std::uint32_t slot, MediaConnection& connection, io::TimePoint now) noexcept;
  /// Moves the slots of the legs that failed to `report` and clears the list.
  void take_failures(std::vector<std::uint32_t>& report) noexcept;
  /// Gives the connection another leg and returns the old one.
  [[nodiscard]] std::unique_ptr<Leg> exchange_leg(std::uint32_t slot, std::unique_ptr<Leg> leg,
                                                  io::TimePoint now) noexcept;
  /// Sends the connection's RTCP report if one is due. Only for one with `rtcp`.
  void send_report(MediaConnection& connection, io::TimePoint now) noexcept;
  /// Tells the connection's peer that it ends, if its RTCP is ours.
  void send_goodbye(MediaConnection& connection, io::TimePoint now) noexcept;
  /// Takes the connection out of its slot, detached.
  [[nodiscard]] std::unique_ptr<MediaConnection> remove(std::uint32_t slot,
                                                        io::TimePoint now) noexcept;

  /// The connection in `slot`, null if there is none.
  [[nodiscard]] MediaConnection* find(std::uint32_t slot) noexcept {
    return slot < connections_.size() ? connections_[slot].get() : nullptr;
  }
  /// Puts a connection into a free slot.
  void install(std::uint32_t slot, std::unique_ptr<MediaConnection> connection);
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
  /// The ingress step of a leg that is not plain RTP; false if the packet goes no further.
  [[nodiscard]] bool run_ingress(const LegContext& source, MediaPacket& packet) noexcept;
  void count_received(MediaConnection& source, const MediaPacket& packet,
                      io::TimePoint now) noexcept;
  /// From the source's mode on: timeline and routes.
  void deliver(const LegContext& source, MediaPacket& packet) noexcept;
  [[nodiscard]] bool accept_source(std::uint32_t slot, MediaConnection& source,
                                   const io::Datagram& datagram, bool rtcp,
                                   io::TimePoint now) noexcept;
  void emit_rtp(const LegContext& source, const Route& route, MediaPacket&& packet) noexcept;
  /// Puts the packet into the form in which the target negotiated its codec; false if it goes no
  /// further.
  [[nodiscard]] bool map_payload(const MediaConnection& source, const LegContext& target,
                                 MediaPacket& packet) noexcept;
  void emit_rtcp(const MediaConnection& source, const Route& route,
                 io::Datagram&& datagram) noexcept;
  /// Takes the peer's reports out of a datagram; whether something is left to be relayed.
  [[nodiscard]] bool consume_reports(MediaConnection& source, io::Datagram& datagram,
                                     io::TimePoint now) noexcept;
  /// Sends a compound of our own to the connection's peer.
  void send_own_rtcp(MediaConnection& connection, std::span<const std::byte> compound) noexcept;
  /// Whether the mode takes what `source` received and another leg (or itself) is to have it; else
  /// it is dropped.
  [[nodiscard]] bool leads_somewhere(MediaConnection& source) noexcept;
  /// Emits copies towards all routes but the last (there is at least one), which gets the datagram
  /// itself.
  template <typename Emit>
  void fan_out(std::span<const Route> routes, io::Datagram& datagram, Emit emit) noexcept;
  [[nodiscard]] bool copy(const io::Datagram& from, io::Datagram& to) noexcept;
  /// The only way out: to `peer`, from a socket of `connection`, or of a device (null).
  void send(const MediaConnection* connection, const io::SocketId& socket,
            const io::SocketAddress& peer, io::Datagram&& datagram) noexcept;
  void drop(MediaConnection& connection, DropCause cause) noexcept;
  void drop_notable(std::uint32_t slot, MediaConnection& connection, DropCause cause) noexcept;

  io::Backend& backend_;
  io::BufferPool& pool_;
  std::vector<std::unique_ptr<MediaConnection>> connections_;
  std::vector<std::uint32_t> notable_;   // slots; capacity reserved, at most kNotableMax
  std::vector<std::uint32_t> failures_;  // slots; capacity reserved, at most kNotableMax
  std::vector<std::unique_ptr<MediaDevice>> devices_;
  io::TimerQueue leg_timers_;            // by slot; a connection knows which of its timers counts
  KernelFlows* kernel_flows_ = nullptr;  ///< null: there is no kernel fast path
  MediaCounters counters_;
  TapPort taps_;

  /// Connections that are reported at once because of dropped packets or failed legs; more are
  /// counted, not named.
  static constexpr std::size_t kNotableMax = 64;
};

}  // namespace mgw
