#pragma once
// The terminal at the other end of a session: telnet, keys, line ends. Bytes in; echo and events
// out.

#include "ttcn-compat/line_editor.h"
#include "ttcn-compat/telnet_decoder.h"

#include <cstdint>
#include <string>

namespace ttcn_compat {

/// What a byte brought about.
enum class TerminalEvent : std::uint8_t {
  none,
  line,       ///< a line was ended: VtyTerminal::take_line()
  too_long,   ///< a line was ended that has more than kLineBytesMax characters
  help,       ///< '?'
  complete,   ///< TAB
  interrupt,  ///< control-C: the line was given up
  leave,      ///< control-D on an empty line: as `exit`
  leave_all,  ///< control-Z: the line was given up; as `end`
  key,        ///< a key in mode `key`: VtyTerminal::key()
};

/// What typing means just now.
enum class TerminalMode : std::uint8_t {
  command,
  secret,  ///< a line that is neither shown nor remembered
  key,     ///< one key
};

/// Owned by a session.
class VtyTerminal {
 public:
  /// Takes one byte of the peer; what the terminal must show is appended to `echo`.
  [[nodiscard]] TerminalEvent feed(std::uint8_t byte, std::string& echo);

  /// What typing means from the next byte on.
  void set_mode(TerminalMode mode) noexcept { mode_ = mode; }
  /// The line that was ended; it goes into the history in mode command.
  [[nodiscard]] std::string take_line();
  [[nodiscard]] char key() const noexcept { return key_; }
  [[nodiscard]] LineEditor& editor() noexcept { return editor_; }
  [[nodiscard]] const LineEditor& editor() const noexcept { return editor_; }
  [[nodiscard]] std::uint16_t window_lines() const noexcept { return telnet_.window_lines(); }

 private:
  /// How far an escape sequence of a key has come (ECMA-48: ESC [ parameters final byte).
  enum class Escape : std::uint8_t { none, begun, sequence };

  [[nodiscard]] TerminalEvent on_character(char character, std::string& echo);
  [[nodiscard]] TerminalEvent on_control(char character, std::string& echo);
  void edit(char character, std::string& echo);
  [[nodiscard]] TerminalEvent end_line(std::string& echo);
  void on_escape(char character, std::string& echo);
  void on_sequence_end(char final, std::string& echo);

  TelnetDecoder telnet_;
  LineEditor editor_;
  TerminalMode mode_ = TerminalMode::command;
  Escape escape_ = Escape::none;
  char parameter_ = 0;  ///< first digit of the sequence
  bool after_carriage_return_ = false;
  char key_ = 0;
};

}  // namespace ttcn_compat
