#pragma once
// Everything by which calls outlive the process that serves them: the journal, the sockets that the
// service manager keeps, and the take-over by a successor. The gateway makes one first and lets it
// go last. Control thread only.

#include "conf/config.h"
#include "io/files.h"
#include "io/hand_over_channel.h"
#include "io/service_manager.h"
#include "io/socket_keeper.h"
#include "io/time.h"
#include "mgw/call_control.h"
#include "mgw/journal.h"
#include "mgw/state_recorder.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace mgw {

/// What it works with. All must outlive it.
struct CallKeeperParts {
  const conf::Config& config;
  const io::Clock& clock;
  io::KernelSocketFactory& sockets;
  AgentSender& agents;
  io::ServiceManager* manager = nullptr;  ///< null: there is none
  std::string version;
  /// Lets the workers' events be handled until call control has nothing pending; false: it takes
  /// too long.
  std::function<bool()> settle;
};

/// See above.
class CallKeeper {
 public:
  explicit CallKeeper(CallKeeperParts parts);
  CallKeeper(const CallKeeper&) = delete;
  CallKeeper& operator=(const CallKeeper&) = delete;
  CallKeeper(CallKeeper&&) = delete;
  CallKeeper& operator=(CallKeeper&&) = delete;
  ~CallKeeper();

  /// Who makes call control's sockets, and through whom it answers.
  [[nodiscard]] io::SocketFactory& sockets() noexcept { return sockets_; }
  [[nodiscard]] AgentSender& agents() noexcept { return recorder_ ? *recorder_ : parts_.agents; }

  /// Before the first command: brings back the calls of the journal.
  void restore(CallControl& control);
  /// Instead: gets the calls of the gateway that runs. Throws std::runtime_error with words for the
  /// operator; that one serves on then.
  void take_over(CallControl& control);
  /// The MGCP socket that came with a take-over; the caller has to close it.
  [[nodiscard]] std::optional<int> take_mgcp_socket() noexcept {
    return std::exchange(mgcp_socket_, std::nullopt);
  }
  /// Writes down what happens from now on, and waits for a successor.
  void start(CallControl& control);
  /// Readable when a successor waits; -1: there won't be one.
  [[nodiscard]] int successor_descriptor() const noexcept { return server_.descriptor(); }
  /// Gives everything to the successor that waits. `on_success` is called before it hears that.
  /// True: the gateway is to end without a word.
  [[nodiscard]] bool hand_over(CallControl& control, int mgcp_socket,
                               const std::function<void()>& on_success);
  /// The gateway ends. True: its calls go on when it starts again, nobody is to be told.
  [[nodiscard]] bool suspend(CallControl& control);
  /// The gateway has ended: unless suspend() or hand_over() was true before, so have its calls.
  void end();
  /// About once a second.
  void on_tick();

  /// Of the journal; null: there is none.
  [[nodiscard]] const JournalCounters* counters() const noexcept {
    return recorder_ ? &recorder_->counters() : nullptr;
  }

 private:
  class ManagedSockets;

  void inherit_sockets();
  void drop_unused();
  /// Takes the journal for this process, if one is configured and nobody else has it.
  void occupy_journal();

  CallKeeperParts parts_;
  BootId boot_;
  io::SocketKeeper sockets_;
  std::unique_ptr<ManagedSockets> store_;
  io::KernelFiles files_;
  std::optional<Journal> journal_;
  std::optional<StateRecorder> recorder_;
  bool has_journal_ = false;  ///< the directory is ours
  SavedState before_;         ///< what was brought back, until start()
  std::optional<int> mgcp_socket_;
  io::HandOverServer server_;
};

}  // namespace mgw
