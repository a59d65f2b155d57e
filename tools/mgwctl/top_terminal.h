#pragma once
// The terminal that `mgwctl top` draws on: single keys, the second screen, signals as events. It is
// as it was when this ends, whatever ended it.

#include "io/time.h"
#include "tools/mgwctl/top_screen.h"

#include <termios.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace mgwctl {

/// What the viewer did.
enum class TopKey : std::uint8_t {
  none,
  text,  ///< a character, see TopEvent
  enter,
  escape,
  backspace,
  up,
  down,
  left,
  right,
  page_up,
  page_down,
  home,
  resized,
  ended,  ///< a signal, Ctrl-C, or the terminal is gone
};

/// One thing that the viewer did.
struct TopEvent {
  TopKey key = TopKey::none;
  char character = 0;  ///< TopKey::text
};

/// The first key in `bytes`, which it is taken out of; TopKey::none if there is none. What is no
/// key is left out.
[[nodiscard]] TopEvent take_key(std::string& bytes);

/// Standard input and output. One at a time; main thread.
class TopTerminal {
 public:
  TopTerminal();
  TopTerminal(const TopTerminal&) = delete;
  TopTerminal& operator=(const TopTerminal&) = delete;
  TopTerminal(TopTerminal&&) = delete;
  TopTerminal& operator=(TopTerminal&&) = delete;
  ~TopTerminal();

  /// False: standard input or output is no terminal that can be drawn on.
  [[nodiscard]] bool is_usable() const noexcept { return usable_; }
  [[nodiscard]] TopSize size() const noexcept;
  /// Writes all of it.
  void write(std::string_view text) const noexcept;
  /// The next event; TopKey::none at `deadline`.
  [[nodiscard]] TopEvent wait(io::TimePoint deadline);

 private:
  bool usable_ = false;
  termios former_{};
  int signals_ = -1;
  std::string bytes_;
};

/// Whether the locale of the environment is one of UTF-8.
[[nodiscard]] Signs signs_of_environment();

}  // namespace mgwctl
