#pragma once
// The way from the bits of a sub-slot to RTP payloads. One object per sub-slot in use, on one
// thread; no allocation, about 2 KiB.

#include "rtp/trau_frame.h"
#include "rtp/trau_rtp.h"
#include "rtp/trau_sync.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace rtp {

/// What happened so far. frames = payloads + errors of all causes.
struct TrauUplinkCounters {
  std::uint64_t frames = 0;                             ///< Frames that came, or 20 ms of PCM.
  std::uint64_t payloads = 0;                           ///< Of them to be sent.
  std::array<std::uint64_t, kTrauErrorCount> errors{};  ///< Nothing sent, by cause.
  std::uint64_t aligned = 0;                            ///< Alignments found.
  std::uint64_t sync_lost = 0;                          ///< Alignments lost.
};

/// The payload of one packet with the numbers of its header. No marker.
struct TrauUplinkPayload {
  std::uint32_t timestamp = 0;
  std::uint16_t sequence = 0;
  std::size_t size = 0;  ///< Of octets
  std::array<std::byte, kTrauPayloadBytesMax> octets;
};

/// A sub-slot to RTP. The timestamps grow by 160 with each frame interval, also over those of which
/// nothing is sent and over the time without alignment (by the number of bits that came);
/// the sequence numbers by one with each payload.
class TrauUplink {
 public:
  /// Payloads of one push() at most; further ones are counted as no_room. Two frames' bits give
  /// at most three frames.
  static constexpr std::size_t kPayloadsMax = 4;
  /// More wrong bits than this in a frame's pattern make it a bad frame: it is noise, or the line
  /// slipped, and its speech would be a crack.
  static constexpr unsigned kPatternErrorsMax = 3;

  /// `first_sequence` and `first_timestamp` are those of the first payload; make them random.
  TrauUplink(TrauMapping mapping, std::uint16_t first_sequence,
             std::uint32_t first_timestamp) noexcept;

  /// The next bits of the sub-slot: the first `bit_count` of `bits`, usually 20 ms. Returns what is
  /// to be sent, valid until the next push().
  [[nodiscard]] std::span<const TrauUplinkPayload> push(std::span<const std::byte> bits,
                                                        std::size_t bit_count) noexcept;
  /// What the newest frame asked of the downlink since the last call, in steps of 250 us, for
  /// TrauDownlink::align_time.
  [[nodiscard]] std::optional<int> take_time_alignment() noexcept;

  /// Whether frames are found; true with PCM.
  [[nodiscard]] bool aligned() const noexcept;
  /// What happened so far.
  [[nodiscard]] const TrauUplinkCounters& counters() const noexcept { return counters_; }

 private:
  [[nodiscard]] bool is_pcm() const noexcept;
  void push_bit(bool bit) noexcept;
  void push_sample(std::byte octet) noexcept;
  void take_frame() noexcept;
  [[nodiscard]] tl::expected<std::size_t, TrauError> convert(std::span<std::byte> out) noexcept;
  void follow_modes(const TrauFrame& frame) noexcept;
  void advance_time() noexcept;
  [[nodiscard]] TrauUplinkPayload* next_payload() noexcept;
  void commit(TrauUplinkPayload& payload, std::size_t size) noexcept;
  void fail(TrauError error) noexcept;

  TrauMapping mapping_;
  TrauSync sync_;
  std::array<TrauUplinkPayload, kPayloadsMax> payloads_{};
  std::size_t payload_count_ = 0;
  std::array<std::byte, kTrauPayloadBytesMax> samples_{};  // of PCM
  std::size_t sample_count_ = 0;
  TrauUplinkCounters counters_;
  std::optional<int> time_alignment_;
  std::uint64_t bits_since_frame_ = 0;
  std::uint32_t timestamp_;
  std::uint16_t sequence_;
  std::uint8_t amr_mode_ = 7;
  std::uint8_t amr_mode_request_ = kNoModeRequest;
  bool started_ = false;
};

}  // namespace rtp
