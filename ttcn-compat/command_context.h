#pragma once
// What a command has to work with: its arguments, where its output goes, the configuration, the
// gateway and the session that it was typed in. Control thread.

#include "conf/config.h"
#include "ttcn-compat/command_tree.h"
#include "ttcn-compat/gateway_access.h"
#include "ttcn-compat/node_path.h"
#include "ttcn-compat/operator_services.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ttcn_compat {

/// Appends text to a string that somebody else owns; lines end with '\n'.
class Output {
 public:
  /// Appends to `target`, which must outlive this.
  explicit Output(std::string& target) noexcept : target_(target) {}

  /// Appends formatted text (fmt syntax), without a line end of its own.
  template <typename... Arguments>
  void print(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(target_), format, std::forward<Arguments>(arguments)...);
  }
  /// Appends text as it is.
  void write(std::string_view text) { target_ += text; }

 private:
  std::string& target_;
};

/// Produces a long output in portions of a few KiB; called again when the reader has room, until it
/// returns false. The gateway may have changed in between.
using OutputGenerator = std::function<bool(Output&)>;

/// The log lines that a session wants to see.
struct SessionLog {
  bool enabled = false;
  conf::LogTarget target;  ///< its kind and destination mean nothing here
};

/// A session, as commands see it.
class SessionControl {
 public:
  SessionControl() = default;
  SessionControl(const SessionControl&) = delete;
  SessionControl& operator=(const SessionControl&) = delete;
  SessionControl(SessionControl&&) = delete;
  SessionControl& operator=(SessionControl&&) = delete;

  /// The name and version of the program, for `show version`.
  [[nodiscard]] virtual std::string_view version() const = 0;
  /// Ends the session when its output is out.
  virtual void close() = 0;
  /// Lines of the terminal before output pauses; 0: it never does.
  virtual void set_terminal_length(std::uint32_t lines) = 0;
  /// Lines of its window, as the client told them; 0: it did not.
  [[nodiscard]] virtual std::uint32_t window_lines() const = 0;
  /// Whether hidden commands are shown.
  virtual void set_visibility(Visibility visibility) = 0;
  [[nodiscard]] virtual Visibility visibility() const = 0;
  /// The commands typed lately, the oldest first.
  [[nodiscard]] virtual std::vector<std::string> history() const = 0;
  /// "127.0.0.1:40000" of all sessions, this one first.
  [[nodiscard]] virtual std::vector<std::string> peers() const = 0;
  /// Its own target of log lines.
  [[nodiscard]] virtual SessionLog& log() = 0;

 protected:
  ~SessionControl() = default;
};

/// A command of a file works on this.
struct FileReading {
  conf::Config& config;  ///< edited in place
};
/// A command that was typed works on this.
struct SessionWork {
  GatewayAccess& gateway;  ///< a copy of its configuration is edited and handed over
  SessionControl& session;
  OperatorServices& services;
};

/// One execution of one command.
class CommandContext {
 public:
  /// While a file is read, or in a session. All references must outlive this.
  CommandContext(const CommandTree& tree, NodePath& path, std::string& output, FileReading reading)
      : tree_(tree), path_(path), output_(output), file_config_(&reading.config) {}
  CommandContext(const CommandTree& tree, NodePath& path, std::string& output, SessionWork work)
      : tree_(tree),
        path_(path),
        output_(output),
        gateway_(&work.gateway),
        session_(&work.session),
        services_(&work.services) {}

  /// Runs what `match` (complete) means; a configuration that it edited is handed to the gateway.
  [[nodiscard]] CommandResult run(const CommandMatch& match);

  [[nodiscard]] bool in_file() const noexcept { return session_ == nullptr; }
  /// Argument `index` of the command; empty if an optional one was left out.
  [[nodiscard]] std::string_view argument(std::size_t index) const;
  /// Whether an optional argument was given.
  [[nodiscard]] bool has(std::size_t index) const { return !argument(index).empty(); }
  /// Argument `index`, which is a number of the command's text.
  [[nodiscard]] std::uint64_t number(std::size_t index) const;
  /// The keywords at the beginning of the command, "sdp audio-payload number".
  [[nodiscard]] std::string keywords() const;
  /// Whether it is the form with `no`.
  [[nodiscard]] bool negated() const noexcept { return negated_; }

  [[nodiscard]] const CommandTree& tree() const noexcept { return tree_; }
  [[nodiscard]] NodePath& path() noexcept { return path_; }
  [[nodiscard]] Output& output() noexcept { return output_; }
  /// Prints a line, "% " and the reason, and makes the command fail.
  CommandResult fail(std::string_view reason);
  /// Goes on with the output when the reader has room. In a session only.
  void continue_with(OutputGenerator generator) { generator_ = std::move(generator); }
  [[nodiscard]] OutputGenerator take_generator() { return std::move(generator_); }

  /// The configuration, for reading and for changing.
  [[nodiscard]] const conf::Config& config() const;
  [[nodiscard]] conf::Config& edit();
  /// The gateway, the session and what is around them; null while a file is read.
  [[nodiscard]] GatewayAccess* gateway() noexcept { return gateway_; }
  [[nodiscard]] SessionControl* session() noexcept { return session_; }
  [[nodiscard]] OperatorServices* services() noexcept { return services_; }

 private:
  [[nodiscard]] CommandResult hand_over();

  const CommandTree& tree_;
  NodePath& path_;
  Output output_;
  conf::Config* file_config_ = nullptr;
  GatewayAccess* gateway_ = nullptr;
  SessionControl* session_ = nullptr;
  OperatorServices* services_ = nullptr;
  std::optional<conf::Config> edited_;
  const Command* command_ = nullptr;
  std::vector<std::string_view> arguments_;
  bool negated_ = false;
  OutputGenerator generator_;
};

}  // namespace ttcn_compat
