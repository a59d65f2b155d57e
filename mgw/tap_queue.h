#pragma once
// The way of packets from one worker to the writer of capture files: bounded, without locks, and
// without allocation once it is set up.

#include "io/inbox.h"
#include "io/socket_address.h"
#include "io/time.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace mgw {

/// Bytes of a packet that are kept; what is longer is cut. Media packets are not: this is the usual
/// size of a packet buffer.
inline constexpr std::size_t kTapPacketBytesMax = 2048;

/// One packet for a file.
struct TapRecord {
  std::uint32_t capture = 0;  ///< Capture::number()
  io::TimePoint at{};
  io::SocketAddress source;
  io::SocketAddress destination;
  std::uint32_t size = 0;      ///< of the packet
  std::uint32_t captured = 0;  ///< bytes of it in `bytes`
  std::array<std::byte, kTapPacketBytesMax> bytes;
};

/// Records go round: from the worker to the writer full, and back empty.
class TapQueue {
 public:
  /// Records of a worker: two legs tapped both ways are 200 packets a second, so the disk may stand
  /// still for seconds, and sixteen for more than half a second. 2 MiB, touched when first used.
  static constexpr std::size_t kRecords = 1024;

  explicit TapQueue(std::size_t records = kRecords) : full_(records), empty_(records) {
    for (std::size_t i = 0; i < records; ++i) {
      give_back(std::make_unique_for_overwrite<TapRecord>());
    }
  }

  /// Worker: a record to fill, or null while the writer has not kept up.
  [[nodiscard]] std::unique_ptr<TapRecord> take() noexcept {
    std::unique_ptr<TapRecord> record;
    return empty_.pop(record) ? std::move(record) : nullptr;
  }
  /// Worker: hands a record from take() over.
  void push(std::unique_ptr<TapRecord> record) noexcept {
    const bool pushed = full_.push(std::move(record));
    MGW_ASSERT(pushed);  // there are no more records than places
  }
  /// Writer: the oldest record that waits, or null.
  [[nodiscard]] std::unique_ptr<TapRecord> pop() noexcept {
    std::unique_ptr<TapRecord> record;
    return full_.pop(record) ? std::move(record) : nullptr;
  }
  /// Writer: returns a record from pop().
  void give_back(std::unique_ptr<TapRecord> record) noexcept {
    const bool pushed = empty_.push(std::move(record));
    MGW_ASSERT(pushed);
  }

 private:
  io::Inbox<std::unique_ptr<TapRecord>> full_;
  io::Inbox<std::unique_ptr<TapRecord>> empty_;
};

}  // namespace mgw
