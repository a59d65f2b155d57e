#pragma once
// The sending half of Osmux: gathers the AMR packets of all circuits towards one peer for some
// frames and lets them go together. One OsmuxLink per remote address and port, on one thread; time
// comes in as an argument, datagrams go out through an OsmuxSink.
//
// Departures from what Osmocom's library sends, all of them readable by it:
// - A batch that is too long for one datagram leaves as several at the same time instead of early
//   and in small pieces (OsmuxOptions::datagrams_max).
// - A chunk ends where AMR's quality bit changes, as at a change of frame type: its header has one
//   bit for all its frames, and a damaged frame must not be played as a good one.
// - A packet that is older than what its circuit sent last, or sent twice, is refused.

#include "io/time.h"
#include "rtp/osmux_chunk.h"
#include "rtp/rtp_header.h"

#include <tl/expected.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace rtp {

/// Most datagrams of one batch: what one send with UDP segmentation offload takes on all kernels.
inline constexpr std::size_t kOsmuxDatagramsMax = 64;
/// Datagrams of one batch if nothing else is configured: of 1472 octets, as many as one such send
/// (65,507 octets) takes. Enough for eight frames of AMR 12.2 of all circuits.
inline constexpr std::size_t kOsmuxDatagramsDefault = 44;
/// Most octets of one UDP datagram.
inline constexpr std::size_t kOsmuxBatchBytesMax = 65507;

/// How one link sends. Values outside of their limits are taken as the nearest that is inside.
struct OsmuxOptions {
  /// Frames of each circuit that are gathered, 1..kOsmuxFramesMax; 20 ms of delay each.
  std::size_t batch_factor = kOsmuxBatchFactorDefault;
  /// Most octets of a datagram, 1..kOsmuxBatchBytesMax. A frame that doesn't fit alone is refused.
  std::size_t batch_bytes = kOsmuxBatchBytesDefault;
  /// A packet that would make the batch larger than so many full datagrams lets it go first;
  /// 1..kOsmuxDatagramsMax, 1 is Osmocom's rule. Above 1, as chunks seldom fill datagrams to the
  /// last octet, a batch may take some more of them. Dummies come on top.
  std::size_t datagrams_max = kOsmuxDatagramsDefault;
  /// Circuits without a packet so far are filled up with dummies.
  bool dummy_padding = false;
  /// Of IP and UDP, for the statistics: kIpv4UdpBytes or kIpv6UdpBytes.
  std::size_t packet_overhead_bytes = kIpv4UdpBytes;
};

/// Where finished datagrams go.
class OsmuxSink {
 public:
  /// Takes one datagram of at most OsmuxOptions::batch_bytes octets, valid only during the call.
  /// Those of one batch come one after the other, in rows of equal size whose last may be shorter,
  /// as UDP segmentation offload wants them: where the size grows, or after a shorter one, the next
  /// row begins. Must not call the link.
  virtual void on_osmux_datagram(std::span<const std::byte> datagram) noexcept = 0;

 protected:
  OsmuxSink() = default;
  OsmuxSink(const OsmuxSink&) = default;
  OsmuxSink& operator=(const OsmuxSink&) = default;
  OsmuxSink(OsmuxSink&&) = default;
  OsmuxSink& operator=(OsmuxSink&&) = default;
  ~OsmuxSink() = default;
};

/// Why a packet was not queued; it is dropped and counted.
enum class OsmuxRefusal : std::uint8_t {
  unknown_circuit,  ///< No such circuit on this link.
  rtcp,             ///< RTCP that was taken for RTP: payload type 72..76.
  not_amr,          ///< The payload is no octet-aligned AMR with exactly one frame.
  too_large,        ///< The frame is longer than a datagram may be.
  late,             ///< Sent already, or older than what was sent.
  conflict,         ///< Sequence number of a queued packet, but another size.
};

/// Number of enumerators of OsmuxRefusal, for counters by cause.
inline constexpr std::size_t kOsmuxRefusalCount = 6;

/// The cause as in metrics and logs, for example "not_amr".
[[nodiscard]] std::string_view to_string(OsmuxRefusal cause) noexcept;

/// What a link did since it exists; plain numbers of its thread.
struct OsmuxSendStatistics {
  std::uint64_t packets_in = 0;  ///< Queued, replacements included.
  std::uint64_t replaced = 0;    ///< Packets that took the place of a queued one or of a clone.
  std::uint64_t frames_out = 0;  ///< Clones included.
  std::uint64_t clones = 0;      ///< Frames that stood in for lost packets.
  std::uint64_t gaps = 0;        ///< Breaks in a source's sequence that were not filled.
  std::uint64_t discarded = 0;   ///< Frames queued when their circuit was removed.
  std::uint64_t chunks_out = 0;  ///< Voice chunks.
  std::uint64_t dummies_out = 0;
  std::uint64_t datagrams_out = 0;
  std::uint64_t octets_out = 0;        ///< With IP and UDP headers.
  std::uint64_t plain_rtp_octets = 0;  ///< What the frames, clones apart, had cost as RTP.
  std::array<std::uint64_t, kOsmuxRefusalCount> refused{};

  /// Octets saved on the line against plain RTP; negative if dummies cost more than that.
  [[nodiscard]] std::int64_t saved_octets() const noexcept {
    return static_cast<std::int64_t>(plain_rtp_octets - octets_out);
  }
};

/// Batches the circuits towards one peer.
///
/// The first packet that is queued starts the batch; batch_factor x 20 ms later it is due
/// (deadline()), and the caller flushes it. A packet lets the batch go before it is queued itself
/// if it has the marker and its circuit has packets queued, if its circuit has batch_factor packets
/// queued, if it doesn't fit, if the batch is due, or if it is of another source than those queued.
///
/// Lost packets are filled with clones, so that the peer's rebuilt timeline keeps its pace: of the
/// packet before the gap as far as the batch has room, then of the one behind it if the rest fits
/// into a batch; else the circuit's next chunk has the marker. A packet that comes late but before
/// the batch leaves takes the place of its clone.
///
/// Memory: batch_bytes, and about 400 octets per circuit, allocated by the constructor and by
/// add_circuit(). The work of a push is constant, of a flush linear in the circuits.
class OsmuxLink {
 public:
  explicit OsmuxLink(const OsmuxOptions& options);

  /// Adds a circuit under the id that the peer chose for it; its chunks are numbered from 0. False,
  /// and nothing done, if the link has it already. May allocate.
  [[nodiscard]] bool add_circuit(std::uint8_t circuit, io::TimePoint now);
  /// Removes a circuit; its queued packets are discarded. False if there is none. The order of the
  /// others stays.
  bool remove_circuit(std::uint8_t circuit) noexcept;
  /// Whether the link has the circuit.
  [[nodiscard]] bool has_circuit(std::uint8_t circuit) const noexcept;
  /// Number of circuits, 0..kOsmuxCircuits.
  [[nodiscard]] std::size_t circuit_count() const noexcept { return circuits_.size(); }

  /// Queues one RTP packet of a circuit: its header and its payload, octet-aligned AMR with one
  /// frame. Batches that leave because of it go to `sink` before push returns.
  [[nodiscard]] tl::expected<void, OsmuxRefusal> push(std::uint8_t circuit, const RtpHeader& header,
                                                      std::span<const std::byte> payload,
                                                      io::TimePoint now, OsmuxSink& sink) noexcept;
  /// When the batch is due; kNever if there is nothing to send. While circuits are padded with
  /// dummies, batches follow one another without a pause.
  [[nodiscard]] io::TimePoint deadline() const noexcept { return deadline_; }
  /// Lets the batch go, due or not.
  void flush(io::TimePoint now, OsmuxSink& sink) noexcept;

  /// What the link did so far.
  [[nodiscard]] const OsmuxSendStatistics& statistics() const noexcept { return statistics_; }

 private:
  struct Frame {
    std::array<std::byte, kOsmuxFrameBytesMax> octets;
    std::uint8_t bytes;
    std::uint8_t type;
    std::uint8_t mode_request;
    bool followed;
    bool good;
    bool clone;
  };
  // A circuit's queue holds consecutive sequence numbers only, from head_sequence on.
  struct Circuit {
    std::array<Frame, kOsmuxFramesMax> frames;
    std::uint32_t ssrc = 0;  // of the source, once has_ssrc
    std::uint16_t head_sequence = 0;
    std::uint16_t last_sequence = 0;  // transmitted, once has_last
    std::uint16_t late_sequence = 0;  // refused last
    std::uint16_t bytes = 0;          // of the chunks that the queue makes
    std::int16_t next = -1;           // in the bucket of its size while a batch is packed
    std::uint8_t id = 0;
    std::uint8_t count = 0;
    std::uint8_t late_run = 0;  // consecutive sequence numbers refused as late
    std::uint8_t chunk_sequence = 0;
    bool has_ssrc = false;
    bool has_last = false;
    bool head_marker = false;
    bool padding = false;
  };
  enum class Order : std::uint8_t { first, duplicate, late, follows, restart };

  // All frames of a circuit in chunks of their own.
  static constexpr std::size_t kUnitBytesMax =
      kOsmuxFramesMax * (kOsmuxHeaderBytes + kOsmuxFrameBytesMax);

  [[nodiscard]] static tl::expected<Frame, OsmuxRefusal> read_frame(
      std::span<const std::byte> payload) noexcept;
  [[nodiscard]] static bool same_chunk(const Frame& first, const Frame& second) noexcept;
  [[nodiscard]] static std::size_t chunks_bytes(const Circuit& circuit) noexcept;
  [[nodiscard]] static Order order_of(Circuit& circuit, const RtpHeader& header) noexcept;
  [[nodiscard]] static std::uint16_t newest_sequence(const Circuit& circuit) noexcept;

  [[nodiscard]] Circuit* find(std::uint8_t circuit) noexcept;
  [[nodiscard]] std::size_t batch_budget_bytes() const noexcept;
  [[nodiscard]] bool has_room(const Circuit& circuit, const Frame& frame) const noexcept;
  [[nodiscard]] tl::expected<void, OsmuxRefusal> refuse(OsmuxRefusal cause) noexcept;
  [[nodiscard]] tl::expected<void, OsmuxRefusal> replace(Circuit& circuit, const RtpHeader& header,
                                                         const Frame& frame) noexcept;
  void fill_gap(Circuit& circuit, std::uint16_t sequence, Frame clone, io::TimePoint now,
                OsmuxSink& sink) noexcept;
  void make_room(const Circuit& circuit, const Frame& frame, io::TimePoint now,
                 OsmuxSink& sink) noexcept;
  void append(Circuit& circuit, std::uint16_t sequence, const Frame& frame,
              io::TimePoint now) noexcept;
  void stop_padding(Circuit& circuit) noexcept;
  void restart_timer(io::TimePoint now) noexcept;

  [[nodiscard]] std::size_t dummy_bytes() const noexcept;
  void sort_by_size() noexcept;
  [[nodiscard]] std::size_t largest_size(std::size_t limit) const noexcept;
  [[nodiscard]] Circuit& take(std::size_t size) noexcept;
  [[nodiscard]] std::size_t fill_datagram(std::size_t limit) noexcept;
  [[nodiscard]] std::size_t write_chunks(Circuit& circuit, std::span<std::byte> out) noexcept;
  [[nodiscard]] std::size_t write_padding(const Circuit& circuit,
                                          std::span<std::byte> out) noexcept;

  OsmuxOptions options_;
  io::Duration period_;
  io::TimePoint deadline_ = io::kNever;
  std::vector<Circuit> circuits_;
  std::vector<std::byte> datagram_;
  std::array<std::int16_t, kOsmuxCircuits> index_;             // into circuits_, -1 = none
  std::array<std::int16_t, kUnitBytesMax + 1> bucket_;         // circuits by size; -1 = none
  std::array<std::uint64_t, kUnitBytesMax / 64 + 1> sizes_{};  // a bit per bucket that has circuits
  std::size_t pending_bytes_ = 0;                              // of all queues, as chunks
  std::size_t padding_count_ = 0;                              // circuits padded with dummies
  OsmuxSendStatistics statistics_;
};

}  // namespace rtp
