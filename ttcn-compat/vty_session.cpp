#include "ttcn-compat/vty_session.h"

#include "io/assert.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace ttcn_compat {

namespace {

constexpr std::string_view kMore = " --More-- ";
constexpr std::string_view kMoreGone = "\r          \r";
constexpr char kInterrupt = '\x03';
/// IAC "interrupt process" (RFC 854).
constexpr std::string_view kTelnetInterrupt = "\xff\xf4";
/// Columns of the list of completions, as wide as a terminal of 80 columns bears.
constexpr std::size_t kCompletionColumns = 72;

std::string_view error_text(MatchKind kind) noexcept {
  switch (kind) {
    case MatchKind::incomplete:
      return "% Command incomplete.\n";
    case MatchKind::ambiguous:
      return "% Ambiguous command.\n";
    default:
      return "% Unknown command.\n";
  }
}

/// What follows a wish to interrupt, if there is one. In a negotiation the byte of control-C means
/// something else.
std::optional<std::string_view> behind_interrupt(std::string_view bytes) noexcept {
  if (const std::size_t at = bytes.find(kTelnetInterrupt); at != std::string_view::npos) {
    return bytes.substr(at + kTelnetInterrupt.size());
  }
  const std::size_t at = bytes.find(kInterrupt);
  if (at == std::string_view::npos || bytes.find(kTelnetInterrupt[0]) != std::string_view::npos) {
    return std::nullopt;
  }
  return bytes.substr(at + 1);
}

std::string_view common_beginning(const std::vector<std::string_view>& words) {
  std::string_view common = words.front();
  for (const std::string_view word : words) {
    const auto end = std::ranges::mismatch(common, word).in1;
    common = common.substr(0, static_cast<std::size_t>(end - common.begin()));
  }
  return common;
}

std::string_view last_word(std::string_view line) {
  return line.substr(line.find_last_of(' ') + 1);
}

/// Compares all of both texts, whatever they are, so that the time tells nothing.
bool same_secret(std::string_view given, std::string_view wanted) noexcept {
  unsigned difference = given.size() == wanted.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const char other = wanted.empty() ? '\0' : wanted[i % wanted.size()];
    difference |= static_cast<unsigned>(given[i] ^ other);
  }
  return difference == 0;
}

}  // namespace

VtySession::VtySession(const CommandTree& tree, GatewayAccess& gateway, OperatorServices& services,
                       const VtySessionOptions& options, std::string peer)
    : tree_(tree),
      gateway_(gateway),
      services_(services),
      options_(options),
      peer_(std::move(peer)) {
  const conf::VtyOptions& vty = gateway.config().vty;
  append(options.banner);
  output_ += kTelnetGreeting;
  if (vty.login && vty.password.empty()) {
    append("% No password is set: nobody gets in.\n");
    closing_ = true;
    return;
  }
  asks_password_ = vty.login;
  terminal_.set_mode(asks_password_ ? TerminalMode::secret : TerminalMode::command);
  show_prompt();
}

bool VtySession::wants_input() const noexcept {
  return !closing_ && input_.empty() && output_.size() < kSessionOutputBytesMax;
}

void VtySession::receive(std::string_view bytes) {
  MGW_ASSERT(bytes.size() <= kSessionInputBytesMax);
  if (closing_) {
    return;
  }
  if (const auto rest = running_ ? behind_interrupt(bytes) : std::nullopt) {
    bytes = *rest;
    give_up_output();
  }
  input_ += bytes;
  advance();
}

std::string VtySession::take_output() {
  return std::exchange(output_, {});
}

void VtySession::on_sent() {
  advance();
}

bool VtySession::is_over() const noexcept {
  return closing_ && !running_ && output_.empty();
}

void VtySession::write_log(std::string_view line) {
  if (closing_ || output_.size() > kLogBacklogBytesMax) {
    ++log_lines_dropped_;
    return;
  }
  if (log_lines_dropped_ > 0) {
    append(fmt::format("% {} log lines were not shown\n", std::exchange(log_lines_dropped_, 0)));
  }
  append(line);
  output_ += "\r\n";
}

std::vector<std::string> VtySession::history() const {
  const auto& lines = terminal_.editor().history();
  return {lines.begin(), lines.end()};
}

std::vector<std::string> VtySession::peers() const {
  std::vector<std::string> all{peer_};
  if (options_.other_peers) {
    for (std::string& other : options_.other_peers()) {
      if (other != peer_) {
        all.push_back(std::move(other));
      }
    }
  }
  return all;
}

void VtySession::advance() {
  std::size_t used = 0;
  // One command at a time, the next when the answer to this one is sent: in between, the gateway's
  // other work has its turn, however many commands came at once.
  bool finished = false;
  while (output_.size() < kSessionOutputBytesMax && (!finished || output_.empty())) {
    if (running_ && !paused_) {
      deliver();
      finished = !running_;
    } else if (!closing_ && used < input_.size()) {
      const auto byte = static_cast<std::uint8_t>(input_[used++]);
      on_event(terminal_.feed(byte, output_));
    } else {
      break;
    }
  }
  input_.erase(0, used);
}

void VtySession::on_event(TerminalEvent event) {
  switch (event) {
    case TerminalEvent::none:
      break;
    case TerminalEvent::line: {
      on_line(terminal_.take_line());
      break;
    }
    case TerminalEvent::too_long:
      append(fmt::format("% Line too long (at most {} characters): it was not executed.\n",
                         kLineBytesMax));
      show_prompt();
      break;
    case TerminalEvent::help:
      show_help();
      break;
    case TerminalEvent::complete:
      complete();
      break;
    case TerminalEvent::interrupt:
      show_prompt();
      break;
    case TerminalEvent::leave:
      leave_node();
      break;
    case TerminalEvent::leave_all:
      if (is_configuration(path_.current())) {
        path_.leave_to_node(Node::enable);
      }
      show_prompt();
      break;
    case TerminalEvent::key:
      on_page_key(terminal_.key());
      break;
  }
}

void VtySession::on_line(const std::string& line) {
  if (asks_password_) {
    check_password(line);
  } else {
    execute(line);
  }
}

void VtySession::check_password(const std::string& password) {
  if (same_secret(password, gateway_.config().vty.password)) {
    asks_password_ = false;
    terminal_.set_mode(TerminalMode::command);
  } else if (++password_tries_ >= kPasswordTriesMax) {
    append("% Wrong password, too often.\n");
    closing_ = true;
    return;
  }
  show_prompt();
}

void VtySession::execute(std::string_view line) {
  const CommandMatch match = tree_.match(path_.current(), line, Spelling::abbreviated);
  if (match.kind == MatchKind::complete) {
    CommandContext context(tree_, path_, text_, SessionWork{gateway_, *this, services_});
    // What failed has said why in its output, which is all that a person needs.
    static_cast<void>(context.run(match));
    generator_ = context.take_generator();
  } else if (match.kind != MatchKind::empty) {
    text_ += error_text(match.kind);
  }
  begin_output();
}

void VtySession::leave_node() {
  if (is_configuration(path_.current())) {
    path_.leave();
    show_prompt();
  } else {
    closing_ = true;
  }
}

void VtySession::show_help() {
  if (asks_password_) {
    return;
  }
  const Suggestions suggestions =
      tree_.suggest(path_.current(), terminal_.editor().before_cursor(), visibility_);
  append("\n");
  if (suggestions.kind != MatchKind::complete) {
    append(suggestions.kind == MatchKind::ambiguous ? "% Ambiguous command.\n"
                                                    : "% There is no matching command.\n");
  }
  std::size_t width = 0;
  for (const HelpLine& line : suggestions.lines) {
    width = std::max(width, line.word.size());
  }
  for (const HelpLine& line : suggestions.lines) {
    append(line.help.empty() ? fmt::format("  {}\n", line.word)
                             : fmt::format("  {:<{}}  {}\n", line.word, width, line.help));
  }
  show_prompt();
}

void VtySession::complete() {
  const std::string_view line = terminal_.editor().before_cursor();
  const Suggestions suggestions = tree_.suggest(path_.current(), line, visibility_);
  const auto& words = suggestions.words;
  if (words.empty()) {
    return;
  }
  const std::string_view begun = last_word(line);
  const std::string_view common = common_beginning(words);
  if (words.size() == 1 && suggestions.lines.size() == 1) {
    const std::string rest = std::string(common.substr(begun.size())) + ' ';
    terminal_.editor().insert_text(rest, output_);
    return;
  }
  if (common.size() > begun.size()) {
    terminal_.editor().insert_text(std::string(common.substr(begun.size())), output_);
    return;
  }
  append("\n");
  const std::size_t width = std::ranges::max(words, {}, &std::string_view::size).size() + 2;
  std::size_t column = 0;
  for (const std::string_view word : words) {
    if (column > 0 && column + width > kCompletionColumns) {
      append("\n");
      column = 0;
    }
    append(fmt::format("{:<{}}", word, width));
    column += width;
  }
  append("\n");
  show_prompt();
}

void VtySession::begin_output() {
  running_ = true;
  lines_shown_ = 0;
}

void VtySession::give_up_output() {
  generator_ = nullptr;
  text_.clear();
  if (paused_) {
    on_page_key('q');
  }
}

void VtySession::deliver() {
  if (generator_ && text_.size() < kOutputPortionBytes) {
    Output output(text_);
    if (!generator_(output)) {
      generator_ = nullptr;
    }
  }
  move_lines();
  if (text_.empty() && !generator_) {
    running_ = false;
    if (!closing_) {
      show_prompt();
    }
  }
}

void VtySession::move_lines() {
  if (page_lines_ == 0) {
    append(text_);
    text_.clear();
    return;
  }
  std::size_t moved = 0;
  while (moved < text_.size()) {
    if (lines_shown_ + 1 >= std::max<std::uint32_t>(page_lines_, 2)) {
      pause();
      break;
    }
    const std::size_t end = text_.find('\n', moved);
    const std::size_t size = std::min(end, text_.size() - 1) + 1 - moved;
    append(std::string_view(text_).substr(moved, size));
    moved += size;
    ++lines_shown_;
  }
  text_.erase(0, moved);
}

void VtySession::pause() {
  paused_ = true;
  append(kMore);
  terminal_.set_mode(TerminalMode::key);
}

void VtySession::on_page_key(char key) {
  paused_ = false;
  terminal_.set_mode(TerminalMode::command);
  output_ += kMoreGone;
  if (key == 'q' || key == 'Q' || key == kInterrupt) {
    generator_ = nullptr;
    text_.clear();
  }
  const bool one_line = key == '\r' || key == '\n';
  lines_shown_ = one_line ? std::max<std::uint32_t>(page_lines_, 2) - 2 : 0;
}

void VtySession::show_prompt() {
  if (asks_password_) {
    append("Password: ");
    return;
  }
  append(options_.name);
  append(node_info(path_.current()).prompt);
  append(" ");
  terminal_.editor().redraw(output_);
}

void VtySession::append(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    output_ += text.substr(0, end);
    if (end < text.size()) {
      output_ += "\r\n";
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace ttcn_compat
