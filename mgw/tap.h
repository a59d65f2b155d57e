#pragma once
// Taps: copies of what one connection receives and sends, to a UDP address or into a capture file.
// What is tapped is decided by the control thread (mgw/tap_registry.h); the worker makes the copies
// (mgw/tap_port.h); a thread of its own writes the files (mgw/capture_writer.h).

#include "io/socket_address.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mgw {

class CaptureWriter;
class TapQueue;

/// A capture file in use. When the last one who holds it lets go, the writer writes what is queued
/// and closes the file.
class Capture {
 public:
  /// Made by CaptureWriter::open().
  Capture(CaptureWriter& writer, std::uint32_t number) noexcept
      : writer_(writer), number_(number) {}
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  Capture(Capture&&) = delete;
  Capture& operator=(Capture&&) = delete;
  ~Capture();

  [[nodiscard]] std::uint32_t number() const noexcept { return number_; }
  /// True once nothing more is written: the file has reached its limit, or the disk has. Any
  /// thread.
  [[nodiscard]] bool ended() const noexcept { return ended_->load(std::memory_order_relaxed); }
  /// What the writer sets when that happens; it may outlive the capture.
  [[nodiscard]] const std::shared_ptr<std::atomic<bool>>& end_mark() const noexcept {
    return ended_;
  }

 private:
  CaptureWriter& writer_;
  std::uint32_t number_;
  std::shared_ptr<std::atomic<bool>> ended_ = std::make_shared<std::atomic<bool>>(false);
};

/// Where copies go. Shared by all who use it and never changed; when the last one lets go, the tap
/// has ended.
struct TapTarget {
  io::SocketAddress address;         ///< family none if it is a file
  std::shared_ptr<Capture> capture;  ///< null if it is an address
  std::shared_ptr<void> place;       ///< one of the places that `taps.max` allows
  std::string text;                  ///< "udp 127.0.0.1:5000" or "pcap FILE"
};

/// The taps of one connection: each direction has its own, or both share one. A value.
struct TapSet {
  std::shared_ptr<const TapTarget> in;   ///< packets that were accepted from the peer, as they came
  std::shared_ptr<const TapTarget> out;  ///< packets to the peer, as they leave
  [[nodiscard]] bool empty() const noexcept { return in == nullptr && out == nullptr; }
  friend bool operator==(const TapSet&, const TapSet&) noexcept = default;
};

/// What X-Mgw-Tap lines say of it: "both pcap FILE", or one text for each direction, or "off".
[[nodiscard]] std::vector<std::string> tap_texts(const TapSet& taps);

/// The taps of a connection at its worker. Made and destroyed by the control thread.
struct Tap {
  TapSet taps;
  TapQueue* queue = nullptr;  ///< of the worker; null if no files are written
  io::SocketAddress local;    ///< of the RTP socket; RTCP is one port higher
};

}  // namespace mgw
