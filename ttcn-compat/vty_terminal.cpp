#include "ttcn-compat/vty_terminal.h"

#include <optional>

namespace ttcn_compat {

namespace {

constexpr char control(char letter) noexcept {
  return static_cast<char>(letter - 'A' + 1);
}

constexpr char kEscape = '\x1b';
constexpr char kDelete = '\x7f';

constexpr bool is_printable(char c) noexcept {
  return c >= ' ' && c < kDelete;
}

}  // namespace

TerminalEvent VtyTerminal::feed(std::uint8_t byte, std::string& echo) {
  const std::optional<char> character = telnet_.feed(byte);
  if (!character) {
    return TerminalEvent::none;
  }
  // A carriage return ends a line by itself, or as CR NUL or CR LF (RFC 854).
  const bool belongs_to_return = after_carriage_return_ && (*character == '\n' || *character == 0);
  after_carriage_return_ = *character == '\r';
  if (belongs_to_return) {
    return TerminalEvent::none;
  }
  if (escape_ != Escape::none) {
    on_escape(*character, echo);
    return TerminalEvent::none;
  }
  if (mode_ == TerminalMode::key && *character != 0) {
    key_ = *character;
    return TerminalEvent::key;
  }
  return on_character(*character, echo);
}

TerminalEvent VtyTerminal::on_character(char character, std::string& echo) {
  if (!is_printable(character)) {
    return on_control(character, echo);
  }
  if (mode_ == TerminalMode::secret) {
    std::string unseen;
    editor_.insert(character, unseen);
    return TerminalEvent::none;
  }
  if (character == '?') {
    return TerminalEvent::help;
  }
  editor_.insert(character, echo);
  return TerminalEvent::none;
}

TerminalEvent VtyTerminal::end_line(std::string& echo) {
  echo += "\r\n";
  if (editor_.overflowed()) {
    editor_.clear();
    return TerminalEvent::too_long;
  }
  return TerminalEvent::line;
}

std::string VtyTerminal::take_line() {
  std::string line = editor_.text();
  if (mode_ == TerminalMode::command) {
    editor_.remember(line);
  }
  editor_.clear();
  return line;
}

TerminalEvent VtyTerminal::on_control(char character, std::string& echo) {
  switch (character) {
    case '\r':
    case '\n':
      return end_line(echo);
    case '\t':
      return mode_ == TerminalMode::secret ? TerminalEvent::none : TerminalEvent::complete;
    case control('C'):
    case control('Z'):
      editor_.clear();
      echo += "\r\n";
      return character == control('C') ? TerminalEvent::interrupt : TerminalEvent::leave_all;
    case control('D'):
      if (editor_.text().empty()) {
        echo += "\r\n";
        return TerminalEvent::leave;
      }
      break;
    case kEscape:
      escape_ = Escape::begun;
      parameter_ = 0;
      return TerminalEvent::none;
    default:
      break;
  }
  std::string unseen;
  edit(character, mode_ == TerminalMode::secret ? unseen : echo);
  return TerminalEvent::none;
}

void VtyTerminal::edit(char character, std::string& echo) {
  switch (character) {
    case kDelete:
    case control('H'):
      return editor_.erase_backward(echo);
    case control('A'):
      return editor_.move_to_start(echo);
    case control('B'):
      return editor_.move_left(echo);
    case control('D'):
      return editor_.erase_forward(echo);
    case control('E'):
      return editor_.move_to_end(echo);
    case control('F'):
      return editor_.move_right(echo);
    case control('K'):
      return editor_.erase_to_end(echo);
    case control('N'):
      return editor_.recall_newer(echo);
    case control('P'):
      return editor_.recall_older(echo);
    case control('U'):
      return editor_.erase_line(echo);
    case control('W'):
      return editor_.erase_word(echo);
    default:
      return;
  }
}

void VtyTerminal::on_escape(char character, std::string& echo) {
  if (escape_ == Escape::begun) {
    escape_ = character == '[' || character == 'O' ? Escape::sequence : Escape::none;
    return;
  }
  if (character >= '0' && character <= '?') {
    parameter_ = parameter_ == 0 ? character : parameter_;
    return;
  }
  escape_ = Escape::none;
  if (mode_ == TerminalMode::command) {
    on_sequence_end(character, echo);
  }
}

void VtyTerminal::on_sequence_end(char final, std::string& echo) {
  switch (final) {
    case 'A':
      editor_.recall_older(echo);
      break;
    case 'B':
      editor_.recall_newer(echo);
      break;
    case 'C':
      editor_.move_right(echo);
      break;
    case 'D':
      editor_.move_left(echo);
      break;
    case 'H':
      editor_.move_to_start(echo);
      break;
    case 'F':
      editor_.move_to_end(echo);
      break;
    case '~':  // the editing keypad: 1 home, 3 delete, 4 end, 7 home, 8 end
      if (parameter_ == '1' || parameter_ == '7') {
        editor_.move_to_start(echo);
      } else if (parameter_ == '3') {
        editor_.erase_forward(echo);
      } else if (parameter_ == '4' || parameter_ == '8') {
        editor_.move_to_end(echo);
      }
      break;
    default:
      break;
  }
}

}  // namespace ttcn_compat
