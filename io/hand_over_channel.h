#pragma once
// Messages with descriptors between two processes of one user on one machine (unix(7),
// SOCK_SEQPACKET, SCM_RIGHTS). What can't be done at once waits, but not longer than a limit.

#include "io/result.h"
#include "io/time.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace io {

/// One message. Descriptors that nobody takes out are closed with it.
struct HandOverMessage {
  HandOverMessage() = default;
  HandOverMessage(HandOverMessage&& other) noexcept = default;
  HandOverMessage& operator=(HandOverMessage&& other) noexcept = delete;
  HandOverMessage(const HandOverMessage&) = delete;
  HandOverMessage& operator=(const HandOverMessage&) = delete;
  ~HandOverMessage();

  char kind = 0;
  std::string bytes;
  std::vector<int> descriptors;
};

/// One end of a connection. Any thread, one at a time.
class HandOverChannel {
 public:
  /// Octets of a message, and descriptors that go with one (SCM_MAX_FD of Linux is 253).
  static constexpr std::size_t kBytesMax = 32'768;
  static constexpr std::size_t kDescriptorsMax = 253;

  HandOverChannel() noexcept = default;
  explicit HandOverChannel(int descriptor) noexcept : descriptor_(descriptor) {}
  HandOverChannel(HandOverChannel&& other) noexcept;
  HandOverChannel& operator=(HandOverChannel&& other) noexcept;
  HandOverChannel(const HandOverChannel&) = delete;
  HandOverChannel& operator=(const HandOverChannel&) = delete;
  ~HandOverChannel();

  /// Connects to a server; ENOENT, ECONNREFUSED, EACCES, ENAMETOOLONG …
  [[nodiscard]] static Result<HandOverChannel> connect(const std::string& path) noexcept;

  /// How long send() and receive() may wait; EAGAIN then.
  void limit_waiting(Duration limit) noexcept;
  /// The user that the other end belongs to, and its process.
  [[nodiscard]] Result<unsigned> peer_user() const noexcept;
  [[nodiscard]] Result<int> peer_process() const noexcept;
  /// Sends a message; EMSGSIZE if it is too large, EPIPE if nobody is there.
  [[nodiscard]] Result<void> send(char kind, std::string_view bytes = {},
                                  std::span<const int> descriptors = {}) noexcept;
  /// Waits for a message; ECONNRESET if the other end is closed.
  [[nodiscard]] Result<HandOverMessage> receive();

 private:
  int descriptor_ = -1;
};

/// Waits for connections at a path.
class HandOverServer {
 public:
  HandOverServer() noexcept = default;
  HandOverServer(const HandOverServer&) = delete;
  HandOverServer& operator=(const HandOverServer&) = delete;
  HandOverServer(HandOverServer&&) = delete;
  HandOverServer& operator=(HandOverServer&&) = delete;
  ~HandOverServer();

  /// Listens, for the own user only (mode 0600). What is at the path is replaced.
  [[nodiscard]] Result<void> open(const std::string& path) noexcept;
  /// For an event loop: readable when somebody waits.
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// Takes the next connection; EAGAIN: there is none.
  [[nodiscard]] Result<HandOverChannel> accept() noexcept;
  /// Stops listening and removes the file.
  void close() noexcept;

 private:
  int descriptor_ = -1;
  std::string path_;
};

}  // namespace io
