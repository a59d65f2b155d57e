#pragma once
// The line that a person is typing: editing keys, history, and what the terminal has to show for
// it. Characters in, echo out; no more than plain backspaces is asked of the terminal.

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

namespace ttcn_compat {

/// Characters of one command line at most: far more than any command has.
inline constexpr std::size_t kLineBytesMax = 1024;
/// Lines that a session remembers.
inline constexpr std::size_t kHistoryLinesMax = 100;

/// One line and the lines before it. Every operation appends to `echo` what the terminal must be
/// sent.
class LineEditor {
 public:
  /// Inserts a printable character at the cursor. A line that is full takes none, and is refused
  /// when it ends.
  void insert(char character, std::string& echo);
  void erase_backward(std::string& echo);
  void erase_forward(std::string& echo);
  void erase_to_end(std::string& echo);
  void erase_line(std::string& echo);
  void erase_word(std::string& echo);
  void move_left(std::string& echo);
  void move_right(std::string& echo);
  void move_to_start(std::string& echo);
  void move_to_end(std::string& echo);
  /// Replaces the line by an older or newer one of the history.
  void recall_older(std::string& echo);
  void recall_newer(std::string& echo);
  /// Inserts text at the cursor.
  void insert_text(std::string_view text, std::string& echo);

  /// The line, and the part of it before the cursor.
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  [[nodiscard]] std::string_view before_cursor() const noexcept {
    return std::string_view(text_).substr(0, cursor_);
  }
  /// True if characters were refused.
  [[nodiscard]] bool overflowed() const noexcept { return overflowed_; }
  /// The line as it must be shown after a prompt.
  void redraw(std::string& echo) const;
  /// Empties the line for the next one.
  void clear() noexcept;
  /// Puts a line into the history, unless it is blank or the same as the last.
  void remember(std::string_view line);
  [[nodiscard]] const std::deque<std::string>& history() const noexcept { return history_; }

 private:
  void move_to(std::size_t cursor, std::string& echo);
  void erase(std::size_t from, std::size_t to, std::string& echo);
  void replace(std::string_view text, std::string& echo);

  std::string text_;
  std::size_t cursor_ = 0;
  bool overflowed_ = false;
  std::deque<std::string> history_;
  std::size_t recalled_ = 0;  ///< how many lines back; 0: the new line
};

}  // namespace ttcn_compat
