#include "ttcn-compat/line_editor.h"

#include <algorithm>

namespace ttcn_compat {

namespace {

constexpr char kBackspace = '\b';

}  // namespace

void LineEditor::insert(char character, std::string& echo) {
  insert_text({&character, 1}, echo);
}

void LineEditor::insert_text(std::string_view text, std::string& echo) {
  if (text.size() > kLineBytesMax - text_.size()) {
    overflowed_ = true;
    return;
  }
  text_.insert(cursor_, text);
  echo += std::string_view(text_).substr(cursor_);
  cursor_ += text.size();
  echo.append(text_.size() - cursor_, kBackspace);
}

void LineEditor::move_to(std::size_t cursor, std::string& echo) {
  if (cursor < cursor_) {
    echo.append(cursor_ - cursor, kBackspace);
  } else {
    echo += std::string_view(text_).substr(cursor_, cursor - cursor_);
  }
  cursor_ = cursor;
}

void LineEditor::erase(std::size_t from, std::size_t to, std::string& echo) {
  move_to(from, echo);
  text_.erase(from, to - from);
  echo += std::string_view(text_).substr(from);
  echo.append(to - from, ' ');
  echo.append(text_.size() - from + (to - from), kBackspace);
}

void LineEditor::erase_backward(std::string& echo) {
  if (cursor_ > 0) {
    erase(cursor_ - 1, cursor_, echo);
  }
}

void LineEditor::erase_forward(std::string& echo) {
  if (cursor_ < text_.size()) {
    erase(cursor_, cursor_ + 1, echo);
  }
}

void LineEditor::erase_to_end(std::string& echo) {
  if (cursor_ < text_.size()) {
    erase(cursor_, text_.size(), echo);
  }
}

void LineEditor::erase_line(std::string& echo) {
  if (!text_.empty()) {
    erase(0, text_.size(), echo);
  }
  overflowed_ = false;
}

void LineEditor::erase_word(std::string& echo) {
  std::size_t from = cursor_;
  while (from > 0 && text_[from - 1] == ' ') {
    --from;
  }
  while (from > 0 && text_[from - 1] != ' ') {
    --from;
  }
  if (from < cursor_) {
    erase(from, cursor_, echo);
  }
}

void LineEditor::move_left(std::string& echo) {
  move_to(cursor_ - std::min<std::size_t>(cursor_, 1), echo);
}

void LineEditor::move_right(std::string& echo) {
  move_to(std::min(cursor_ + 1, text_.size()), echo);
}

void LineEditor::move_to_start(std::string& echo) {
  move_to(0, echo);
}

void LineEditor::move_to_end(std::string& echo) {
  move_to(text_.size(), echo);
}

void LineEditor::replace(std::string_view text, std::string& echo) {
  erase_line(echo);
  insert_text(text, echo);
}

void LineEditor::recall_older(std::string& echo) {
  if (recalled_ < history_.size()) {
    ++recalled_;
    replace(history_[history_.size() - recalled_], echo);
  }
}

void LineEditor::recall_newer(std::string& echo) {
  if (recalled_ > 0) {
    --recalled_;
    replace(recalled_ == 0 ? std::string_view{} : history_[history_.size() - recalled_], echo);
  }
}

void LineEditor::redraw(std::string& echo) const {
  echo += text_;
  echo.append(text_.size() - cursor_, kBackspace);
}

void LineEditor::clear() noexcept {
  text_.clear();
  cursor_ = 0;
  overflowed_ = false;
  recalled_ = 0;
}

void LineEditor::remember(std::string_view line) {
  if (line.find_first_not_of(' ') == std::string_view::npos ||
      (!history_.empty() && history_.back() == line)) {
    return;
  }
  history_.emplace_back(line);
  if (history_.size() > kHistoryLinesMax) {
    history_.pop_front();
  }
}

}  // namespace ttcn_compat
