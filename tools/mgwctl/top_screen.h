#pragma once
// What `mgwctl top` shows: the gateway's JSON as lines of text of a given size. Pure functions;
// what comes from the network is made printable, whatever it is.

#include <tl/expected.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mgwctl {

/// How a piece of text looks: in the terminal's own colours, so that it is legible on light and
/// dark ground.
enum class Look : std::uint8_t { plain, strong, quiet, header, selected, good, fair, poor, bad };

/// Text of one look.
struct Span {
  std::string text;
  Look look = Look::plain;
};

/// One line, without line end.
using Line = std::vector<Span>;

/// What the calls can be sorted by, in the order of the columns.
enum class TopSort : std::uint8_t {
  endpoint,
  call_id,
  age,
  packets,
  loss,
  jitter,
  round_trip,
  mos,
  drops,
};
inline constexpr std::size_t kTopSorts = 9;

/// The word of the gateway's API.
[[nodiscard]] std::string_view to_string(TopSort sort) noexcept;
/// The sort of that word, if it is one.
[[nodiscard]] std::optional<TopSort> parse_top_sort(std::string_view word) noexcept;
/// Whether the lowest come first when this is chosen: names, and MOS, of which the worst matter.
[[nodiscard]] bool is_ascending_first(TopSort sort) noexcept;

/// What the viewer has chosen.
struct TopChoice {
  TopSort sort = TopSort::endpoint;
  bool descending = false;
  std::string filter;
  bool edits_filter = false;
  std::size_t offset = 0;    ///< of the first call on the screen
  std::size_t selected = 0;  ///< line of the cursor among the calls on the screen
  std::string opened;        ///< endpoint of the call that is open; empty: the list
  bool shows_help = false;
};

/// What the gateway said; texts are its JSON.
struct TopAnswers {
  std::string gateway;   ///< where it was asked
  std::string overview;  ///< empty: no answer
  std::string calls;
  std::string call;   ///< of TopChoice::opened; empty: it has no call
  std::string error;  ///< why there is no answer; the last answers stay
};

/// The size of a screen.
struct TopSize {
  std::size_t columns = 80;
  std::size_t rows = 24;
};

/// Signs that not every terminal has.
enum class Signs : std::uint8_t { ascii, unicode };

/// How many calls a screen of that size lists.
[[nodiscard]] std::size_t call_lines(TopSize size) noexcept;

/// A whole screen: at most size.rows lines of at most size.columns columns.
[[nodiscard]] std::vector<Line> top_screen(const TopAnswers& answers, const TopChoice& choice,
                                           TopSize size, Signs signs);

/// What a list of calls holds, for the cursor.
struct ListedCalls {
  std::vector<std::string> endpoints;
  std::size_t matching = 0;  ///< calls that match at all
};
/// Reads the gateway's JSON.
[[nodiscard]] ListedCalls listed_calls(const std::string& calls_json);

/// The lines without looks, each with a line end and without blanks before it.
[[nodiscard]] std::string plain_text(const std::vector<Line>& lines);
/// The lines as one update of a terminal (ECMA-48), which draws over what is there: nothing is
/// cleared before, so nothing flickers.
[[nodiscard]] std::string painted(const std::vector<Line>& lines, bool with_colours);

}  // namespace mgwctl
