#pragma once
// Several datagrams to one peer in one send, and several of one peer in one receive: UDP
// segmentation and its counterpart (udp(7): UDP_SEGMENT, UDP_GRO). Used by the backends only.

#include "io/backend.h"
#include "io/datagram.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace io {

/// Datagrams in one joined send: what Linux up to 6.8 takes (UDP_MAX_SEGMENTS).
inline constexpr std::size_t kJoinedMax = 64;
/// Bytes in one joined send: the longest UDP payload over IPv4 (65,535 less both headers).
inline constexpr std::uint16_t kJoinedBytesMax = 65'507;

/// The longest datagrams that a new socket joins when sending: kJoinedBytesMax, or 0 where the
/// kernel does not know UDP_SEGMENT (before Linux 4.18): it would ignore the control message and
/// send one long datagram instead of several.
[[nodiscard]] std::uint16_t join_limit_of(int descriptor) noexcept;

/// True if a joined send may have been refused with `error` because the device or the path can't do
/// it: a segment that is longer than the MTU, no checksum offload, IPsec.
[[nodiscard]] bool is_joining_refusal(int error) noexcept;

/// The size of the longest datagrams that a socket still joins after it was refused `segment_bytes`
/// with `error`; 0 = never again.
[[nodiscard]] std::uint16_t join_limit_after(int error, std::uint32_t segment_bytes) noexcept;

/// See joinable(); for two or more datagrams.
[[nodiscard]] std::size_t count_joinable(std::span<const Datagram> queued,
                                         std::uint16_t limit) noexcept;

/// How many of `queued`, from the first on, may leave in one send: same socket, same peer, the
/// first one's size, at most `limit` bytes each; the last may be shorter but not empty. At least 1.
[[nodiscard]] inline std::size_t joinable(std::span<const Datagram> queued,
                                          std::uint16_t limit) noexcept {
  // Packets of many calls go from one socket each: nearly always the first comparison decides.
  if (queued.size() < 2 || queued[1].socket != queued[0].socket) {
    return 1;
  }
  return count_joinable(queued, limit);
}

/// Room for the control message of one joined send.
struct JoinedControl {
  /// Header and segment size (cmsg(3)).
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(std::uint16_t))> bytes;
};

/// Makes `header` send `run`, from one datagram to kJoinedMax, straight from its buffers. `vectors`
/// has an entry for each. All of them must live until the kernel has taken the message; `control`
/// is used for two and more.
void fill_message(msghdr& header, std::span<iovec> vectors, JoinedControl& control,
                  std::span<const Datagram> run, bool connected) noexcept;

/// Which joined sends went well before: from which socket to which peer, with segments of which
/// size. It forgets when it runs out of places.
class JoiningProofs {
 public:
  /// True if a run that begins with `first` can be expected to leave joined.
  [[nodiscard]] bool holds(const Datagram& first) const noexcept;
  /// A run that began with `first` has left joined.
  void add(const Datagram& first) noexcept;

 private:
  struct Entry {
    std::uint64_t key = 0;
    std::uint32_t segment_bytes = 0;
  };
  /// 16 KiB. A power of two.
  static constexpr std::size_t kEntries = 1024;
  std::array<Entry, kEntries> entries_{};
};

/// Receives datagrams of any length, joined or not, and keeps what was not split yet.
class JoinedReceiver {
 public:
  /// Allocates 64 KiB at the first call. Throws std::bad_alloc.
  void prepare();
  /// One receive call; nothing may be pending. 0 or an errno (EAGAIN: nothing there).
  [[nodiscard]] int receive(int descriptor, SocketId socket, std::uint64_t tag) noexcept;
  /// True if datagrams wait to be taken, and on which socket they came.
  [[nodiscard]] bool pending() const noexcept { return pending_; }
  [[nodiscard]] SocketId socket() const noexcept { return socket_; }
  void discard() noexcept { pending_ = false; }

  /// Appends what is pending to `received` and counts it, until that holds
  /// Backend::kReceivedPerPassMax or `take_buffer` gives none; the rest stays pending. Those longer
  /// than a buffer are dropped and counted.
  template <typename TakeBuffer>
  void split(DatagramVector& received, std::size_t slot_bytes, BackendCounters& counters,
             TakeBuffer take_buffer) noexcept {
    while (pending_ && received.size() < Backend::kReceivedPerPassMax) {
      if (next_bytes() > slot_bytes - kHeadroomBytes) {
        counters.received_oversize.add();
        advance();
        continue;
      }
      Buffer buffer = take_buffer();
      if (!buffer) {
        return;
      }
      counters.received.add();
      counters.received_joined.add(segment_bytes_ < size_ ? 1 : 0);
      move_next_to(received.emplace_back(), std::move(buffer));
    }
  }

 private:
  [[nodiscard]] std::uint32_t next_bytes() const noexcept;
  void move_next_to(Datagram& datagram, Buffer&& buffer) noexcept;
  void advance() noexcept;

  std::unique_ptr<std::byte[]> scratch_;
  bool pending_ = false;
  std::uint32_t size_ = 0;           // of all that came
  std::uint32_t position_ = 0;       // what is before it was taken
  std::uint32_t segment_bytes_ = 0;  // of each datagram but the last
  SocketId socket_;
  std::uint64_t tag_ = 0;
  SocketAddress peer_;
};

}  // namespace io
