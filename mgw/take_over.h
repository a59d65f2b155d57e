#pragma once
// How a running gateway gives its calls to a successor (mgw --take-over). Both are processes of one
// user on one machine; the state is that of the journal, and the sockets themselves go over, so
// what arrives meanwhile waits in them.
//
//   successor                              running gateway
//   hello (format, version)          →
//                                    ←     state, sockets; no commands are read from here on
//   ready: all is prepared           →
//                                    ←     media: the workers have let go of the sockets
//   working: its workers have them   →
//                                    ←     yours: the running gateway ends
//
// Until "yours" the running one can go on as if nothing had happened, and does so when the
// successor fails, refuses or says nothing. A successor that does not hear "yours" ends. Control
// threads only.

#include "io/hand_over_channel.h"
#include "io/socket_keeper.h"
#include "io/time.h"
#include "mgw/call_control.h"
#include "mgw/saved_state.h"

#include <tl/expected.hpp>

#include <functional>
#include <optional>
#include <string>

namespace mgw {

/// What the running gateway's side works with. All must outlive it.
struct HandOverParts {
  CallControl& control;
  io::SocketKeeper& sockets;
  const io::Clock& clock;
  BootId boot{};
  int mgcp_socket = -1;
  /// Lets the workers' events be handled until nothing is pending; false: it takes too long.
  std::function<bool()> settle;
  /// The successor works: nothing of the calls is the own process's any more.
  std::function<void(int successor)> on_success;
};

/// Gives everything away over the channel. True: the gateway is to end now. False: it serves on.
[[nodiscard]] bool hand_over(io::HandOverChannel& channel, const HandOverParts& parts);

/// The successor's side, step by step; each may fail with words for the operator.
class TakeOver {
 public:
  /// What a step comes to.
  using Outcome = tl::expected<void, std::string>;

  /// Connects to the running gateway, and gets its state and sockets.
  [[nodiscard]] Outcome receive(const std::string& path, std::string_view version,
                                const BootId& boot, io::SocketKeeper& sockets);
  /// The MGCP socket; the caller has to close it.
  [[nodiscard]] std::optional<int> take_mgcp_socket() noexcept;
  [[nodiscard]] const SavedState& state() const noexcept { return replay_.state; }
  /// Says that all is prepared, and gets where the media stand.
  [[nodiscard]] Outcome receive_media();
  /// Says that the media go on, and hears that the other gateway has gone.
  [[nodiscard]] Outcome confirm();
  /// Tells the running gateway to go on by itself.
  void refuse(std::string_view reason) noexcept;

 private:
  [[nodiscard]] Outcome receive_section(io::SocketKeeper* sockets);

  io::HandOverChannel channel_;
  std::string bytes_;
  Replay replay_;
  std::optional<int> mgcp_socket_;
};

}  // namespace mgw
