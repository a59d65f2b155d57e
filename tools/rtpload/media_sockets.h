#pragma once
// All system calls of the media side: sockets in pairs (RTP on an even port, RTCP on the next),
// vectors of datagrams in both directions, clocks and sleep.

#include "io/socket_address.h"
#include "io/time.h"
#include "tools/rtpload/media_checker.h"

#include <tl/expected.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rtpload {

/// Both clocks at one instant.
struct ClockReading {
  io::TimePoint monotonic;    ///< for pacing
  std::uint64_t wall_ns = 0;  ///< for stamps: the kernel's receive stamps are on the wall clock
};
/// Both clocks, read one right after the other.
[[nodiscard]] ClockReading read_clocks() noexcept;

/// Sleeps until an absolute instant, with the precision of the kernel's high-resolution timers;
/// returns early when a signal was handled.
void sleep_until(io::TimePoint deadline) noexcept;
/// Makes sleep_until() precise for this thread.
void prepare_precise_sleep() noexcept;

/// Which socket of a pair.
enum class MediaKind : std::uint8_t { rtp, rtcp };

/// A number of socket pairs on one local address. Not movable once made: the kernel's vectors point
/// into it. One thread.
class MediaSockets {
 public:
  static constexpr std::size_t kSendVectorMax =
      32;  ///< bounds how old the last packet's stamp gets in one call
  static constexpr std::size_t kReceiveVectorMax = 64;
  static constexpr std::size_t kDatagramBytesMax =
      512;  ///< longer ones arrive cut off, and so as corrupted

  /// Binds `pairs` pairs on `host` (its port is not used). Text of the error if the kernel refuses.
  [[nodiscard]] static tl::expected<std::unique_ptr<MediaSockets>, std::string> open(
      const io::SocketAddress& host, std::size_t pairs);
  MediaSockets(const MediaSockets&) = delete;
  MediaSockets& operator=(const MediaSockets&) = delete;
  MediaSockets(MediaSockets&&) = delete;
  MediaSockets& operator=(MediaSockets&&) = delete;
  ~MediaSockets();

  [[nodiscard]] std::size_t size() const noexcept { return pairs_.size(); }
  /// The RTP address of pair `index`.
  [[nodiscard]] const io::SocketAddress& local(std::size_t index) const noexcept {
    return pairs_[index].local;
  }

  /// Room for the next datagram of the send vector.
  [[nodiscard]] std::span<std::uint8_t> send_room() noexcept;
  /// Puts what was written to send_room() into the vector.
  void queue(MediaKind kind, std::uint32_t socket, const io::SocketAddress& target,
             std::size_t bytes) noexcept;
  [[nodiscard]] bool send_vector_full() const noexcept { return queued_ == kSendVectorMax; }
  /// Sends the vector, in order, one system call for each run of datagrams of one socket. The
  /// result says for each datagram whether the kernel took it; it is valid until the next queue().
  std::span<const bool> flush() noexcept;

  /// Sockets that have something to receive, at most kReadyMax at a time; does not wait.
  struct Ready {
    std::uint32_t socket = 0;
    MediaKind kind = MediaKind::rtp;
  };
  static constexpr std::size_t kReadyMax = 256;
  /// The sockets that have datagrams now; valid until the next call.
  [[nodiscard]] std::span<const Ready> ready() noexcept;
  /// Takes up to kReceiveVectorMax datagrams of one socket; valid until the next call.
  [[nodiscard]] std::span<const ReceivedDatagram> receive(const Ready& from) noexcept;

 private:
  struct Pair {
    int rtp = -1;
    int rtcp = -1;
    io::SocketAddress local;
  };
  struct Vectors;

  MediaSockets();
  [[nodiscard]] std::string bind_pair(const io::SocketAddress& host);
  [[nodiscard]] bool watch(int descriptor, std::uint32_t socket, MediaKind kind) const noexcept;

  std::vector<Pair> pairs_;
  int epoll_ = -1;
  std::size_t queued_ = 0;
  std::unique_ptr<Vectors> vectors_;
};

}  // namespace rtpload
