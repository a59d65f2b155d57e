#include "tools/mgwctl/top_terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <utility>

namespace mgwctl {
namespace {

constexpr std::array<int, 5> kSignals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH};
/// The second screen, without cursor; and back.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[2J";
constexpr std::string_view kLeave = "\x1b[0m\x1b[?25h\x1b[?1049l";

sigset_t signal_set() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kSignals) {
    sigaddset(&set, signal);
  }
  return set;
}

}  // namespace

TopEvent take_key(std::string& bytes) {
  constexpr std::array<std::pair<std::string_view, TopKey>, 13> kSequences{
      {{"\x1b[A", TopKey::up},
       {"\x1b[B", TopKey::down},
       {"\x1b[C", TopKey::right},
       {"\x1b[D", TopKey::left},
       {"\x1bOA", TopKey::up},
       {"\x1bOB", TopKey::down},
       {"\x1bOC", TopKey::right},
       {"\x1bOD", TopKey::left},
       {"\x1b[5~", TopKey::page_up},
       {"\x1b[6~", TopKey::page_down},
       {"\x1b[H", TopKey::home},
       {"\x1bOH", TopKey::home},
       {"\x1b[1~", TopKey::home}}};
  for (const auto& [sequence, key] : kSequences) {
    if (bytes.starts_with(sequence)) {
      bytes.erase(0, sequence.size());
      return {key};
    }
  }
  if (bytes.starts_with("\x1b[")) {
    // Another key: a sequence ends with a letter or "~" (ECMA-48 section 5.4).
    const auto end = std::find_if(bytes.begin() + 2, bytes.end(),
                                  [](char byte) { return byte >= '@' && byte <= '~'; });
    bytes.erase(bytes.begin(), end == bytes.end() ? end : end + 1);
    return bytes.empty() ? TopEvent() : take_key(bytes);
  }
  while (!bytes.empty()) {
    const char byte = bytes.front();
    bytes.erase(0, 1);
    switch (byte) {
      case '\x03':
        return {TopKey::ended};
      case '\x1b':
        return {TopKey::escape};
      case '\r':
      case '\n':
        return {TopKey::enter};
      case '\x08':
      case '\x7f':
        return {TopKey::backspace};
      default:
        if (byte >= ' ' && byte <= '~') {
          return {TopKey::text, byte};
        }
    }
  }
  return {};
}

TopTerminal::TopTerminal() {
  const char* type = std::getenv("TERM");
  if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0 || type == nullptr ||
      std::string_view(type) == "dumb" || ::tcgetattr(STDIN_FILENO, &former_) != 0) {
    return;
  }
  const sigset_t set = signal_set();
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  signals_ = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  termios raw = former_;
  ::cfmakeraw(&raw);
  ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  usable_ = true;
  write(kEnter);
}

TopTerminal::~TopTerminal() {
  if (usable_) {
    write(kLeave);
    ::tcsetattr(STDIN_FILENO, TCSANOW, &former_);
  }
  if (signals_ >= 0) {
    ::close(signals_);
  }
}

TopSize TopTerminal::size() const noexcept {
  constexpr std::size_t kColumnsMin = 40;
  constexpr std::size_t kRowsMin = 10;
  winsize window{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_col == 0) {
    return {};
  }
  return {std::max<std::size_t>(window.ws_col, kColumnsMin),
          std::max<std::size_t>(window.ws_row, kRowsMin)};
}

void TopTerminal::write(std::string_view text) const noexcept {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno != EINTR && errno != EAGAIN) {
      return;
    }
    text.remove_prefix(written > 0 ? static_cast<std::size_t>(written) : 0);
  }
}

TopEvent TopTerminal::wait(io::TimePoint deadline) {
  const io::MonotonicClock clock;
  while (true) {
    if (const TopEvent event = take_key(bytes_); event.key != TopKey::none) {
      return event;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock.now()).count();
    std::array<pollfd, 2> polled{{{STDIN_FILENO, POLLIN, 0}, {signals_, POLLIN, 0}}};
    const int ready =
        ::poll(polled.data(), polled.size(), static_cast<int>(std::max<std::int64_t>(left, 0)));
    if (ready <= 0) {
      return {};
    }
    signalfd_siginfo signal{};
    if (polled[1].revents != 0 && ::read(signals_, &signal, sizeof signal) == sizeof signal) {
      return {signal.ssi_signo == SIGWINCH ? TopKey::resized : TopKey::ended};
    }
    std::array<char, 256> part{};
    const ssize_t size =
        polled[0].revents != 0 ? ::read(STDIN_FILENO, part.data(), part.size()) : 0;
    if (polled[0].revents != 0 && size <= 0) {
      return {TopKey::ended};
    }
    bytes_.append(part.data(), static_cast<std::size_t>(size));
  }
}

Signs signs_of_environment() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') {
      const std::string_view locale(value);
      const bool is_utf8 = locale.find("UTF-8") != std::string_view::npos ||
                           locale.find("utf8") != std::string_view::npos;
      return is_utf8 ? Signs::unicode : Signs::ascii;
    }
  }
  return Signs::ascii;
}

}  // namespace mgwctl
