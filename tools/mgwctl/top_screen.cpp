#include "tools/mgwctl/top_screen.h"

#include "tools/mgwctl/top_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace mgwctl {
namespace {

using nlohmann::json;

constexpr std::size_t kFigureLines = 4;
constexpr std::size_t kHistoryLines = 5;
/// From so many lines on the history is shown.
constexpr std::size_t kRowsForHistory = 32;
constexpr std::array<std::string_view, kTopSorts> kSortWords = {
    "endpoint", "call_id", "age", "packets", "loss", "jitter", "round_trip", "mos", "drops"};

struct Column {
  std::string_view title;
  std::size_t width;
  std::optional<TopSort> sort;
  bool is_number;
  std::size_t columns_min;  ///< of the screen, for this one to be shown
  std::string (*text)(const json& call);
};

std::string endpoint_of(const json& call) {
  const std::string name = text_of(call, "endpoint");
  return name.substr(0, name.find('@'));
}

std::string codecs_of(const json& call) {
  std::string codecs;
  for (const json& leg : list_of(call, "legs")) {
    const std::string codec = text_of(leg, "codec");
    codecs += (codecs.empty() ? "" : " ") + codec.substr(0, codec.find('/'));
  }
  return codecs;
}

std::string peers_of(const json& call) {
  std::string peers;
  for (const json& leg : list_of(call, "legs")) {
    const std::string peer = text_of(leg, "remote");
    peers += (peers.empty() ? "" : "  ") + (peer.empty() ? "-" : peer);
  }
  return peers;
}

/// In the order of the screen; the peers' addresses take what is left.
const std::array<Column, 11> kColumns{{
    {"ENDPOINT", 15, TopSort::endpoint, false, 0, endpoint_of},
    {"CALL", 13, TopSort::call_id, false, 0,
     [](const json& call) { return text_of(call, "call_id"); }},
    {"CODECS", 10, std::nullopt, false, 0, codecs_of},
    {"AGE", 8, TopSort::age, true, 0,
     [](const json& call) { return duration_text(number_of(call, "age_s")); }},
    {"PACKETS", 10, TopSort::packets, true, 96,
     [](const json& call) { return count_text(number_of(call, "packets")); }},
    {"LOSS %", 6, TopSort::loss, true, 0,
     [](const json& call) { return fixed_text(scaled(number_of(call, "loss"), 100), 2); }},
    {"JITTER", 6, TopSort::jitter, true, 0,
     [](const json& call) { return fixed_text(number_of(call, "jitter_ms"), 1); }},
    {"RTT", 6, TopSort::round_trip, true, 104,
     [](const json& call) { return fixed_text(number_of(call, "round_trip_ms"), 1); }},
    {"MOS", 4, TopSort::mos, true, 0,
     [](const json& call) { return fixed_text(number_of(call, "mos"), 2); }},
    {"DROPS", 7, TopSort::drops, true, 0,
     [](const json& call) { return count_text(number_of(call, "drops")); }},
    {"PEERS", 44, std::nullopt, false, 150, peers_of},
}};

Look look_of_mos(std::optional<double> mos) {
  return !mos          ? Look::quiet
         : *mos >= 4.0 ? Look::good
         : *mos >= 3.6 ? Look::fair
         : *mos >= 3.1 ? Look::poor
                       : Look::bad;
}

Look look_of_loss(std::optional<double> loss) {
  return !loss || *loss < 0.01 ? Look::plain : *loss < 0.05 ? Look::poor : Look::bad;
}

void add(Line& line, std::string text, Look look = Look::plain) {
  line.push_back({std::move(text), look});
}

/// "name value unit" with space behind it.
void add_figure(Line& line, std::string_view name, std::string value, std::string_view rest,
                Look look = Look::strong) {
  add(line, fmt::format("{} ", name), Look::quiet);
  add(line, std::move(value), look);
  add(line, fmt::format("{}   ", rest));
}

Line title_line(const TopAnswers& answers, const json& overview, TopSize size) {
  Line line;
  add(line, " mgw ", Look::strong);
  if (!overview.is_object()) {
    add(line, answers.gateway);
    return line;
  }
  const double workers = number_of(overview, "workers").value_or(0);
  std::string facts = fmt::format("{}  {}  {:.0f} worker{}  up {}", text_of(overview, "version"),
                                  text_of(overview, "backend"), workers, workers == 1 ? "" : "s",
                                  duration_text(number_of(overview, "uptime_s")));
  for (const json& state : list_of(overview, "states")) {
    facts += fmt::format("  {} {}", text_of(state, "name"), text_of(state, "value"));
  }
  const bool draining = overview.value("draining", false);
  const std::string state = !answers.error.empty() ? "no answer"
                            : draining             ? "draining"
                                                   : "serving";
  add(line, fitted(facts, size.columns - std::min(size.columns, state.size() + 7), false));
  add(line, " " + state, !answers.error.empty() ? Look::bad : draining ? Look::poor : Look::good);
  return line;
}

std::vector<Line> figure_lines(const json& overview) {
  static const json kEmpty = json::object();
  const json& now = overview.contains("now") ? overview["now"] : kEmpty;
  const auto share = [&overview](const char* name) {
    const json part = overview.value(name, json::object());
    return std::pair(count_text(number_of(part, "used")),
                     "/" + count_text(number_of(part, "total")));
  };
  std::vector<Line> lines(3);
  const auto [calls, endpoints] = share("endpoints");
  const auto [ports, all_ports] = share("port_pairs");
  add_figure(lines[0], " calls", calls, endpoints);
  add_figure(lines[0], "packets", count_text(number_of(now, "packets_in_per_s")), "/s in");
  add_figure(lines[0], "", count_text(number_of(now, "packets_out_per_s")), "/s out");
  add_figure(lines[0], "ports", ports, all_ports);
  const auto loss = number_of(now, "loss");
  const auto mos = number_of(now, "mos");
  add_figure(lines[1], " loss", fixed_text(scaled(loss, 100), 2), " %",
             look_of_loss(loss) == Look::plain ? Look::strong : look_of_loss(loss));
  add_figure(lines[1], "jitter", fixed_text(number_of(now, "jitter_ms"), 1), " ms");
  add_figure(lines[1], "MOS", fixed_text(mos, 2), "", look_of_mos(mos));
  add_figure(lines[1], "CPU", fixed_text(scaled(number_of(now, "cpu_ns_per_packet"), 1e-3), 1),
             " us/packet");
  add_figure(lines[1], "", fixed_text(number_of(now, "cpu_cores"), 2), " cores");
  add_figure(lines[2], " dropped", count_text(number_of(now, "drops_per_s")), "/s");
  for (const json& drop : list_of(overview, "drops_by_cause")) {
    std::string cause = text_of(drop, "cause");
    std::ranges::replace(cause, '_', ' ');
    add_figure(lines[2], cause, count_text(number_of(drop, "count")), "", Look::plain);
  }
  return lines;
}

std::vector<Line> history_lines(const json& overview, TopSize size, Signs signs) {
  struct Curve {
    std::string_view title;
    const char* member;
    double scale;
    int digits;
    std::string_view unit;
  };
  constexpr std::array<Curve, 4> kCurves{{{"packets", "packets_in_per_s", 1, 0, "/s"},
                                          {"loss", "loss", 100, 2, "%"},
                                          {"jitter", "jitter_ms", 1, 1, "ms"},
                                          {"CPU", "cpu_ns_per_packet", 1e-3, 1, "us"}}};
  const json& points = list_of(overview, "history");
  const std::size_t width = std::min<std::size_t>(120, size.columns - 34);
  std::vector<Line> lines;
  for (const Curve& curve : kCurves) {
    std::vector<double> values;
    for (const json& point : points) {
      values.push_back(number_of(point, curve.member).value_or(0) * curve.scale);
    }
    if (values.size() > width) {
      values.erase(values.begin(), values.end() - static_cast<std::ptrdiff_t>(width));
    }
    const double top = values.empty() ? 0 : *std::ranges::max_element(values);
    Line& line = lines.emplace_back();
    add(line, fmt::format(" {:<8}", curve.title), Look::quiet);
    add(line, fitted(sparkline(values, top, signs == Signs::unicode), width, true));
    add(line, fmt::format("  up to {} {}", fixed_text(top, curve.digits), curve.unit), Look::quiet);
  }
  lines.emplace_back();
  return lines;
}

bool is_shown(const Column& column, TopSize size) {
  return size.columns >= column.columns_min;
}

Line list_header(const TopChoice& choice, TopSize size, Signs signs) {
  Line line;
  add(line, " ", Look::header);
  std::size_t width = 1;
  for (const Column& column : kColumns) {
    if (is_shown(column, size)) {
      std::string mark = " ";
      if (column.sort == choice.sort) {
        mark = signs == Signs::unicode ? (choice.descending ? "\u2193" : "\u2191")
                                       : (choice.descending ? "v" : "^");
      }
      // Right behind the title, which may fill its column.
      add(line,
          column.is_number ? fitted(column.title, column.width, true) + mark
                           : fitted(std::string(column.title) + mark, column.width + 1, false),
          Look::header);
      width += column.width + 1;
    }
  }
  add(line, std::string(size.columns - std::min(width, size.columns), ' '), Look::header);
  return line;
}

Line call_line(const json& call, TopSize size, bool is_selected) {
  Line line;
  add(line, is_selected ? ">" : " ", is_selected ? Look::selected : Look::plain);
  for (const Column& column : kColumns) {
    if (!is_shown(column, size)) {
      continue;
    }
    Look look = Look::plain;
    if (is_selected) {
      look = Look::selected;
    } else if (column.sort == TopSort::mos) {
      look = look_of_mos(number_of(call, "mos"));
    } else if (column.sort == TopSort::loss) {
      look = look_of_loss(number_of(call, "loss"));
    }
    add(line, fitted(column.text(call), column.width, column.is_number) + " ", look);
  }
  return line;
}

Line list_footer(const json& calls, const TopChoice& choice, TopSize size) {
  Line line;
  if (choice.edits_filter) {
    add(line, " filter: ", Look::strong);
    add(line, choice.filter + "_");
    return line;
  }
  const double matching = number_of(calls, "matching").value_or(0);
  const double total = number_of(calls, "total").value_or(0);
  std::string found = fmt::format(" {:.0f} of {:.0f} calls", matching, total);
  if (!choice.filter.empty()) {
    found += fmt::format(" with \"{}\"", printable(choice.filter));
  }
  add(line, found + "   ", Look::strong);
  add(line,
      size.columns < 100 ? "s sort  r reverse  / filter  Enter open  ? help  q quit"
                         : "s S sort by   r reverse   / filter   arrows PgUp PgDn move   "
                           "Enter open   ? help   q quit",
      Look::quiet);
  return line;
}

std::vector<Line> help_lines() {
  constexpr std::array<std::string_view, 12> kRows = {
      "",
      " up, down, PgUp, PgDn, Home   move through the calls",
      " Enter                        open the call under the cursor",
      " Esc                          back, or forget the filter",
      " s, S, right, left            sort by the next or previous column",
      " r                            reverse the order",
      " /                            show calls with this in their endpoint, call id, codec,",
      "                              mode or addresses; Enter when done",
      " q                            quit",
      "",
      " Loss, jitter and MOS are those of the worse leg, of what its peer sends. MOS is an",
      " estimate (ITU-T G.107); it is missing for codecs that are not rated.",
  };
  std::vector<Line> lines;
  for (const std::string_view row : kRows) {
    lines.push_back({{std::string(row), Look::plain}});
  }
  return lines;
}

}  // namespace

std::string_view to_string(TopSort sort) noexcept {
  return kSortWords[static_cast<std::size_t>(sort)];
}

std::optional<TopSort> parse_top_sort(std::string_view word) noexcept {
  const auto found = std::ranges::find(kSortWords, word);
  return found == kSortWords.end()
             ? std::nullopt
             : std::optional(static_cast<TopSort>(found - kSortWords.begin()));
}

bool is_ascending_first(TopSort sort) noexcept {
  return sort == TopSort::endpoint || sort == TopSort::call_id || sort == TopSort::mos;
}

std::size_t call_lines(TopSize size) noexcept {
  const std::size_t taken = kFigureLines + 3 + (size.rows >= kRowsForHistory ? kHistoryLines : 0);
  return size.rows > taken ? size.rows - taken : 1;
}

std::vector<Line> top_screen(const TopAnswers& answers, const TopChoice& choice, TopSize size,
                             Signs signs) {
  const json overview = json::parse(answers.overview, nullptr, false);
  const json calls = json::parse(answers.calls, nullptr, false);
  std::vector<Line> lines;
  lines.push_back(title_line(answers, overview, size));
  if (overview.is_object()) {
    std::ranges::move(figure_lines(overview), std::back_inserter(lines));
  }
  lines.push_back(answers.error.empty() ? Line()
                                        : Line{{" " + printable(answers.error), Look::bad}});
  if (choice.shows_help) {
    std::ranges::move(help_lines(), std::back_inserter(lines));
  } else if (!choice.opened.empty()) {
    std::ranges::move(call_screen(answers.call, choice.opened, size, signs),
                      std::back_inserter(lines));
  } else if (overview.is_object()) {
    if (size.rows >= kRowsForHistory) {
      std::ranges::move(history_lines(overview, size, signs), std::back_inserter(lines));
    }
    lines.push_back(list_header(choice, size, signs));
    std::size_t position = 0;
    for (const json& call : list_of(calls, "calls")) {
      if (position == call_lines(size)) {
        break;
      }
      lines.push_back(call_line(call, size, position++ == choice.selected));
    }
    lines.resize(std::max<std::size_t>(std::min(lines.size(), size.rows - 1), size.rows - 1));
    lines.push_back(list_footer(calls, choice, size));
  }
  lines.resize(std::min(lines.size(), size.rows));
  for (Line& line : lines) {
    cut(line, size.columns);
  }
  return lines;
}

ListedCalls listed_calls(const std::string& calls_json) {
  const json calls = json::parse(calls_json, nullptr, false);
  ListedCalls listed;
  listed.matching = static_cast<std::size_t>(number_of(calls, "matching").value_or(0));
  for (const json& call : list_of(calls, "calls")) {
    listed.endpoints.push_back(raw_text_of(call, "endpoint"));
  }
  return listed;
}

std::string plain_text(const std::vector<Line>& lines) {
  std::string text;
  for (const Line& line : lines) {
    std::string one;
    for (const Span& span : line) {
      one += span.text;
    }
    one.erase(one.find_last_not_of(' ') + 1);
    text += one + "\n";
  }
  return text;
}

std::string painted(const std::vector<Line>& lines, bool with_colours) {
  // The colours of the terminal's palette, which its owner has chosen to be legible.
  constexpr std::array<std::string_view, 9> kSequences = {"",         "\x1b[1m",   "\x1b[2m",
                                                          "\x1b[7m",  "\x1b[1;7m", "\x1b[32m",
                                                          "\x1b[33m", "\x1b[35m",  "\x1b[1;31m"};
  std::string out = "\x1b[?2026h\x1b[H";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    out += i == 0 ? "" : "\r\n";
    for (const Span& span : lines[i]) {
      const bool is_colour = span.look >= Look::good;
      const std::string_view sequence =
          is_colour && !with_colours ? "" : kSequences[static_cast<std::size_t>(span.look)];
      out += sequence;
      out += span.text;
      out += sequence.empty() ? "" : "\x1b[0m";
    }
    out += "\x1b[K";
  }
  return out + "\x1b[J\x1b[?2026l";
}

}  // namespace mgwctl
