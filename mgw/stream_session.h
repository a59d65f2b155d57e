#pragma once
// A TCP connection's protocol without its socket (VTY, CTRL).

#include "io/socket_address.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace mgw {

/// Bytes that a session is given at once.
inline constexpr std::size_t kStreamReadBytesMax = 4096;

/// One connection. Control thread only.
class StreamSession {
 public:
  StreamSession() = default;
  StreamSession(const StreamSession&) = delete;
  StreamSession& operator=(const StreamSession&) = delete;
  StreamSession(StreamSession&&) = delete;
  StreamSession& operator=(StreamSession&&) = delete;
  virtual ~StreamSession() = default;

  /// What the peer sent, at most kStreamReadBytesMax bytes. Only while wants_input().
  virtual void receive(std::string_view bytes) = 0;
  /// False while the peer must read first.
  [[nodiscard]] virtual bool wants_input() const = 0;
  /// What is to be sent now, in one send; empty: nothing.
  [[nodiscard]] virtual std::string take_output() = 0;
  /// The peer's system has taken what take_output() gave.
  virtual void on_sent() = 0;
  /// True when all is sent and the connection is to be closed.
  [[nodiscard]] virtual bool is_over() const = 0;
};

/// What listens.
struct StreamService {
  std::string name;  ///< for the log, "vty"
  /// Sessions at once; with one more, that which was silent for longest is closed.
  std::size_t sessions_max = 0;
  /// Makes the session of a new connection.
  std::function<std::unique_ptr<StreamSession>(const io::SocketAddress& peer)> make;
};

}  // namespace mgw
