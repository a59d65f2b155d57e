#pragma once
// The text of a command taken apart, and single words compared with its elements. Bytes in, values
// out; any thread.

#include "ttcn-compat/command.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ttcn_compat {

/// What one alternative of an element accepts.
struct Alternative {
  /// The kinds, the weakest last.
  enum class Kind : std::uint8_t { keyword, number, ipv4, ipv6, hexadecimal, name, rest };
  Kind kind = Kind::keyword;
  std::string_view text;  ///< the keyword, or the parameter as it is shown: "<1-10>", "NAME"
  std::uint64_t min = 0;  ///< of a number
  std::uint64_t max = 0;
  std::string_view help;
};

/// One position of a command.
struct Element {
  std::vector<Alternative> alternatives;
  bool optional = false;
  /// Gives the handler an argument: everything but a keyword that must be there.
  bool is_argument = false;
};

/// How well a word agrees with an alternative; the best of all commands wins.
enum class WordMatch : std::uint8_t {
  none,
  rest,
  name,     ///< any word
  value,    ///< number or address
  partial,  ///< the beginning of a keyword
  exact,
};

/// The elements of a command. `help` as Command::help; lines that are missing are left empty.
/// Empty, with the reason in `error`, if the text is not well-formed.
[[nodiscard]] std::vector<Element> parse_command_text(std::string_view text, std::string_view help,
                                                      std::string* error = nullptr);

/// Compares one word.
[[nodiscard]] WordMatch match_word(const Alternative& alternative, std::string_view word) noexcept;

/// The words of a line; views into it. Blanks and tabs part them.
[[nodiscard]] std::vector<std::string_view> split_words(std::string_view line);

/// A decimal number of at most 20 digits without sign; nothing for other text or above `max`.
[[nodiscard]] std::optional<std::uint64_t> parse_number(std::string_view text,
                                                        std::uint64_t max) noexcept;

}  // namespace ttcn_compat
