#include "tools/mgwctl/top.h"

#include "tools/mgwctl/http_client.h"
#include "tools/mgwctl/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <optional>

namespace mgwctl {
namespace {

/// A gateway that does not answer must not keep the keys waiting for long.
constexpr std::chrono::seconds kAnswerTimeMax{4};
constexpr std::size_t kFilterBytesMax = 100;
/// Lines of the plain text, which has no screen that bounds them.
constexpr std::size_t kRowsOnce = 200;

std::string percent_encoded(std::string_view text) {
  std::string out;
  for (const char character : text) {
    const bool is_plain = (character >= '0' && character <= '9') ||
                          (character >= 'A' && character <= 'Z') ||
                          (character >= 'a' && character <= 'z');
    out += is_plain ? std::string(1, character)
                    : fmt::format("%{:02X}", static_cast<unsigned char>(character));
  }
  return out;
}

class Source {
 public:
  Source(MetricsAddress address, io::Duration timeout)
      : address_(std::move(address)), timeout_(std::min<io::Duration>(timeout, kAnswerTimeMax)) {}

  [[nodiscard]] tl::expected<std::string, std::string> get(std::string path) const {
    MetricsAddress address = address_;
    address.path = std::move(path);
    return http_get(address, timeout_);
  }

  void ask(const TopChoice& choice, std::size_t limit, TopAnswers& answers) const {
    const auto overview = get("/api/overview");
    const auto calls = get(fmt::format("/api/calls?sort={}&order={}&filter={}&limit={}&offset={}",
                                       to_string(choice.sort), choice.descending ? "desc" : "asc",
                                       percent_encoded(choice.filter), limit, choice.offset));
    answers.error = !overview ? overview.error() : !calls ? calls.error() : std::string();
    answers.overview = overview.value_or(answers.overview);
    answers.calls = calls.value_or(answers.calls);
    answers.call = choice.opened.empty()
                       ? std::string()
                       : get("/api/call/" + percent_encoded(choice.opened)).value_or("");
  }

 private:
  MetricsAddress address_;
  io::Duration timeout_;
};

void sort_by(TopSort sort, TopChoice& choice) {
  choice.sort = sort;
  choice.descending = !is_ascending_first(sort);
  choice.offset = 0;
  choice.selected = 0;
}

void next_sort(std::size_t steps, TopChoice& choice) {
  sort_by(static_cast<TopSort>((static_cast<std::size_t>(choice.sort) + steps) % kTopSorts),
          choice);
}

/// Moves the cursor; the list moves with it at its ends.
void move(std::ptrdiff_t lines, const ListedCalls& listed, TopSize size, TopChoice& choice) {
  const auto last = static_cast<std::ptrdiff_t>(listed.matching) - 1;
  const auto height = static_cast<std::ptrdiff_t>(call_lines(size));
  const auto offset = static_cast<std::ptrdiff_t>(choice.offset);
  const std::ptrdiff_t at =
      std::clamp<std::ptrdiff_t>(offset + static_cast<std::ptrdiff_t>(choice.selected) + lines, 0,
                                 std::max<std::ptrdiff_t>(last, 0));
  const std::ptrdiff_t top = std::clamp(offset, std::max<std::ptrdiff_t>(at - height + 1, 0), at);
  choice.offset = static_cast<std::size_t>(top);
  choice.selected = static_cast<std::size_t>(at - top);
}

void edit_filter(const TopEvent& event, TopChoice& choice) {
  if (event.key == TopKey::text && choice.filter.size() < kFilterBytesMax) {
    choice.filter += event.character;
  } else if (event.key == TopKey::backspace && !choice.filter.empty()) {
    choice.filter.pop_back();
  } else if (event.key == TopKey::escape) {
    choice.filter.clear();
    choice.edits_filter = false;
  } else if (event.key == TopKey::enter) {
    choice.edits_filter = false;
  }
  choice.offset = 0;
  choice.selected = 0;
}

/// True: end.
bool apply_character(char character, TopChoice& choice) {
  switch (character) {
    case 'q':
    case 'Q':
      return true;
    case 's':
      next_sort(1, choice);
      break;
    case 'S':
      next_sort(kTopSorts - 1, choice);
      break;
    case 'r':
      choice.descending = !choice.descending;
      break;
    case '/':
      choice.edits_filter = choice.opened.empty();
      break;
    case '?':
    case 'h':
      choice.shows_help = true;
      break;
    default:
      break;
  }
  return false;
}

void go_back(TopChoice& choice) {
  if (!choice.opened.empty()) {
    choice.opened.clear();
  } else {
    choice.filter.clear();
  }
}

int run_once(const TopOptions& options, const Source& source) {
  TopAnswers answers;
  answers.gateway = options.metrics;
  source.ask(options.choice, kRowsOnce, answers);
  if (!answers.error.empty()) {
    std::cerr << "mgwctl: " << answers.error << '\n';
    return kExitNoAnswer;
  }
  if (options.json) {
    std::cout << "{\"overview\":" << answers.overview << ",\"calls\":" << answers.calls << "}\n";
    return kExitGood;
  }
  const char* columns = std::getenv("COLUMNS");
  const auto width = columns != nullptr ? std::strtoul(columns, nullptr, 10) : 0;
  TopSize size{width >= 40 && width <= 1000 ? width : 80, 0};
  const ListedCalls listed = listed_calls(answers.calls);
  size.rows = listed.endpoints.size() + 8;
  TopChoice choice = options.choice;
  choice.selected = listed.endpoints.size();  // no cursor
  std::vector<Line> lines = top_screen(answers, choice, size, signs_of_environment());
  lines.pop_back();  // the keys
  std::cout << plain_text(lines);
  return kExitGood;
}

int run_live(const TopOptions& options, const Source& source) {
  TopTerminal terminal;
  if (!terminal.is_usable()) {
    std::cerr << "mgwctl: top needs a terminal; --once prints the same as text\n";
    return kExitNoAnswer;
  }
  const io::MonotonicClock clock;
  const Signs signs = signs_of_environment();
  const bool with_colours = std::getenv("NO_COLOR") == nullptr;
  TopChoice choice = options.choice;
  TopAnswers answers;
  answers.gateway = options.metrics;
  while (true) {
    source.ask(choice, call_lines(terminal.size()), answers);
    const io::TimePoint next = clock.now() + options.interval;
    bool asks_again = false;
    while (!asks_again) {
      const ListedCalls listed = listed_calls(answers.calls);
      const TopSize size = terminal.size();
      if (!listed.endpoints.empty()) {
        choice.selected = std::min(choice.selected, listed.endpoints.size() - 1);
      }
      terminal.write(painted(top_screen(answers, choice, size, signs), with_colours));
      const TopEvent event = terminal.wait(next);
      if (apply_key(event, listed, size, choice)) {
        return kExitGood;
      }
      asks_again = event.key != TopKey::none || clock.now() >= next;
    }
  }
}

}  // namespace

bool apply_key(const TopEvent& event, const ListedCalls& listed, TopSize size, TopChoice& choice) {
  if (event.key == TopKey::ended) {
    return true;
  }
  if (event.key == TopKey::none || event.key == TopKey::resized) {
    return false;
  }
  if (choice.edits_filter) {
    edit_filter(event, choice);
    return false;
  }
  if (choice.shows_help) {
    choice.shows_help = false;
    return event.key == TopKey::text && event.character == 'q';
  }
  const auto page = static_cast<std::ptrdiff_t>(call_lines(size));
  switch (event.key) {
    case TopKey::text:
      return apply_character(event.character, choice);
    case TopKey::enter:
      if (choice.opened.empty() && choice.selected < listed.endpoints.size()) {
        choice.opened = listed.endpoints[choice.selected];
      }
      break;
    case TopKey::escape:
    case TopKey::backspace:
      go_back(choice);
      break;
    case TopKey::up:
      move(-1, listed, size, choice);
      break;
    case TopKey::down:
      move(1, listed, size, choice);
      break;
    case TopKey::page_up:
      move(-page, listed, size, choice);
      break;
    case TopKey::page_down:
      move(page, listed, size, choice);
      break;
    case TopKey::home:
      choice.offset = 0;
      choice.selected = 0;
      break;
    case TopKey::right:
      next_sort(1, choice);
      break;
    case TopKey::left:
      next_sort(kTopSorts - 1, choice);
      break;
    default:
      break;
  }
  return false;
}

int run_top(const TopOptions& options) {
  const auto address = parse_metrics_address(options.metrics);
  if (!address) {
    std::cerr << "mgwctl: " << address.error() << '\n';
    return kExitNoAnswer;
  }
  const Source source(*address, options.timeout);
  return options.once || options.json ? run_once(options, source) : run_live(options, source);
}

}  // namespace mgwctl
