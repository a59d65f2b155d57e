#pragma once
// A client of the gateway's control interface (docs/ctrl.md).

#include "io/socket_address.h"
#include "io/time.h"
#include "tools/mgwctl/tcp_stream.h"

#include <tl/expected.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mgwctl {

/// The text of the first whole CTRL message in `received`, which is taken out of it; empty if there
/// is none yet. Other streams of the IPA framing are skipped.
[[nodiscard]] std::optional<std::string> take_ctrl_message(std::string& received);

/// One connection; each call waits for its answer until `timeout` is over. Texts of errors.
class CtrlClient {
 public:
  /// Connects to the control interface at `server`.
  [[nodiscard]] static tl::expected<CtrlClient, std::string> connect(
      const io::SocketAddress& server, io::Duration timeout);

  /// The variable's value.
  [[nodiscard]] tl::expected<std::string, std::string> get(std::string_view variable);
  /// The value that the variable has then.
  [[nodiscard]] tl::expected<std::string, std::string> set(std::string_view variable,
                                                           std::string_view value);
  /// The server has closed the connection: why the last call failed.
  [[nodiscard]] bool closed() const noexcept { return closed_; }

 private:
  CtrlClient(TcpStream stream, io::Duration timeout)
      : stream_(std::move(stream)), timeout_(timeout) {}

  [[nodiscard]] tl::expected<std::string, std::string> ask(std::string_view kind,
                                                           std::string_view variable,
                                                           std::string_view value);

  TcpStream stream_;
  io::Duration timeout_;
  std::uint32_t next_id_ = 1;
  std::string received_;
  bool closed_ = false;
};

}  // namespace mgwctl
