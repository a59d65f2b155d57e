#pragma once
// One VTY session, without its socket: what the peer sends goes in, what it must be sent comes out.
// Control thread. Bounded: output stops at kSessionOutputBytesMax until the peer has read, input is
// not taken while output waits, log lines are dropped then; so a peer that never reads costs this
// much memory and nobody's time.

#include "ttcn-compat/command_context.h"
#include "ttcn-compat/vty_terminal.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace ttcn_compat {

/// Bytes of output that wait for the peer before the session pauses. What one command, or one
/// portion of a generator, prints comes on top.
inline constexpr std::size_t kSessionOutputBytesMax = 65536;
/// A generator is asked again when less than this waits.
inline constexpr std::size_t kOutputPortionBytes = 16384;
/// Log lines are dropped when more than this waits.
inline constexpr std::size_t kLogBacklogBytesMax = 32768;
/// Bytes that receive() may be given in one call: what a server reads at a time.
inline constexpr std::size_t kSessionInputBytesMax = 4096;
/// Wrong passwords before the session ends.
inline constexpr int kPasswordTriesMax = 3;

/// What scripts and people see first; any text will do for both.
inline constexpr std::string_view kVtyBanner =
    "Welcome to the OsmoMGW VTY interface\n"
    "\n"
    "This is mgw, a media gateway that takes osmo-mgw's place. Type '?' for help.\n";

/// What is the same for all sessions of a server.
struct VtySessionOptions {
  std::string name = "OsmoMGW";                  ///< before each prompt
  std::string banner = std::string(kVtyBanner);  ///< lines end with '\n'
  std::string version;                           ///< for `show version`; lines end with '\n'
  /// The peers of the other sessions, for `who`; may be empty. The session's own counts once.
  std::function<std::vector<std::string>()> other_peers;
};

/// The state of one connection.
class VtySession final : private SessionControl {
 public:
  /// Everything given must outlive the session. Banner and first prompt, or the question for the
  /// password, are ready at once.
  VtySession(const CommandTree& tree, GatewayAccess& gateway, OperatorServices& services,
             const VtySessionOptions& options, std::string peer);

  /// What the peer sent, at most kSessionInputBytesMax bytes. Only while wants_input().
  void receive(std::string_view bytes);
  /// False while the peer must read first: the server does not read from it then.
  [[nodiscard]] bool wants_input() const noexcept;
  /// What is to be sent now, in one send; empty: nothing. When it has been sent, call on_sent().
  [[nodiscard]] std::string take_output();
  /// The peer has taken what take_output() gave: waiting output and input go on.
  void on_sent();
  /// True when everything is sent and the connection is to be closed.
  [[nodiscard]] bool is_over() const noexcept;

  /// The log lines that this session wants to see; the caller formats them.
  [[nodiscard]] SessionLog& log() override { return log_; }
  /// Shows a log line, without line end, between everything else.
  void write_log(std::string_view line);

  [[nodiscard]] const std::string& peer() const noexcept { return peer_; }
  /// Wrong passwords so far.
  [[nodiscard]] int wrong_passwords() const noexcept { return password_tries_; }

 private:
  [[nodiscard]] std::string_view version() const override { return options_.version; }
  void close() override { closing_ = true; }
  void set_terminal_length(std::uint32_t lines) override { page_lines_ = lines; }
  void set_visibility(Visibility visibility) override { visibility_ = visibility; }
  [[nodiscard]] Visibility visibility() const override { return visibility_; }
  [[nodiscard]] std::vector<std::string> history() const override;
  [[nodiscard]] std::vector<std::string> peers() const override;
  [[nodiscard]] std::uint32_t window_lines() const override { return terminal_.window_lines(); }

  void advance();
  void on_event(TerminalEvent event);
  void on_line(const std::string& line);
  void execute(std::string_view line);
  void check_password(const std::string& password);
  void show_help();
  void complete();
  void leave_node();
  void on_page_key(char key);

  void deliver();
  void begin_output();
  void give_up_output();
  void move_lines();
  void pause();
  void show_prompt();
  void append(std::string_view text);

  const CommandTree& tree_;
  GatewayAccess& gateway_;
  OperatorServices& services_;
  const VtySessionOptions& options_;
  std::string peer_;
  VtyTerminal terminal_;
  NodePath path_{Node::view};
  Visibility visibility_ = Visibility::offered;
  SessionLog log_;
  std::uint64_t log_lines_dropped_ = 0;

  std::string input_;   ///< received, not yet looked at
  std::string output_;  ///< ready to be sent
  std::string text_;    ///< output of the command that runs, on its way to output_
  OutputGenerator generator_;
  bool running_ = false;  ///< a command's output is on its way
  bool paused_ = false;   ///< at the end of a page
  std::uint32_t page_lines_ = 0;
  std::uint32_t lines_shown_ = 0;
  bool closing_ = false;
  bool asks_password_ = false;
  int password_tries_ = 0;
};

}  // namespace ttcn_compat
