#pragma once
// RTP sequence numbers made to go on counting after 65535 (RFC 3550 appendix A.1 and
// section 6.4.1).

#include <cstdint>

namespace rtp {

/// The way from sequence number `from` to `to`, the short way round: -32768..32767; negative = `to`
/// is older.
[[nodiscard]] constexpr int sequence_distance(std::uint16_t from, std::uint16_t to) noexcept {
  return static_cast<std::int16_t>(static_cast<std::uint16_t>(to - from));
}

/// The number that ends in the 16 bits `sequence` and lies nearest to `reference`. Numbers of
/// packets that are older than the first one of a stream may come out negative.
[[nodiscard]] constexpr std::int64_t extend_sequence(std::int64_t reference,
                                                     std::uint16_t sequence) noexcept {
  const auto low = static_cast<std::uint16_t>(static_cast<std::uint64_t>(reference) & 0xffffU);
  return reference + sequence_distance(low, sequence);
}

/// Counts wraps: every 16-bit number that comes becomes one that goes on growing. The first number
/// of a stream is itself (no cycles).
class ExtendedSequence {
 public:
  /// The extended form of `sequence`; the highest so far moves on if it is newer.
  [[nodiscard]] constexpr std::int64_t update(std::uint16_t sequence) noexcept {
    if (!started_) {
      started_ = true;
      highest_ = sequence;
      return highest_;
    }
    const std::int64_t extended = extend_sequence(highest_, sequence);
    if (extended > highest_) {
      highest_ = extended;
    }
    return extended;
  }
  /// The highest moves on by `steps`, counted elsewhere.
  constexpr void advance(std::int64_t steps) noexcept { highest_ += steps; }
  /// The highest extended number so far; 0 before the first.
  [[nodiscard]] constexpr std::int64_t highest() const noexcept { return highest_; }
  /// Whether a number has come.
  [[nodiscard]] constexpr bool started() const noexcept { return started_; }
  /// Names all members to `archive`, which saves or restores them (mgw/state_codec.h).
  template <typename Self, typename Archive>
  static void visit_state(Self& self, Archive& archive) {
    archive(self.highest_, self.started_);
  }

 private:
  std::int64_t highest_ = 0;
  bool started_ = false;
};

}  // namespace rtp
