#pragma once
// The UDP socket that a tool talks to a gateway through.

#include "io/socket_address.h"
#include "io/time.h"

#include <tl/expected.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace agent {

/// A datagram from the gateway.
struct ReceivedText {
  std::string_view text;      ///< valid until the next receive()
  io::TimePoint received_at;  ///< when the kernel got it, so the receiver's own delays don't count
};

/// Connected, non-blocking. Move-only. One thread.
class MgcpSocket {
 public:
  /// Text of the error if the kernel refuses.
  [[nodiscard]] static tl::expected<MgcpSocket, std::string> open(const io::SocketAddress& gateway);

  MgcpSocket(MgcpSocket&& other) noexcept;
  MgcpSocket& operator=(MgcpSocket&& other) noexcept;
  MgcpSocket(const MgcpSocket&) = delete;
  MgcpSocket& operator=(const MgcpSocket&) = delete;
  ~MgcpSocket();

  /// Sends one datagram; what the kernel refuses is lost, and repeated by the transaction layer.
  void send(std::string_view datagram) noexcept;
  /// The next datagram that has come; false if there is none.
  [[nodiscard]] bool receive(ReceivedText& received);
  /// Waits until a datagram comes, `deadline` is reached or a signal is handled.
  void wait(io::TimePoint deadline) const noexcept;

 private:
  explicit MgcpSocket(int descriptor);

  int descriptor_;
  std::vector<char> buffer_;
};

}  // namespace agent
