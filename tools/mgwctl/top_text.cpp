#include "tools/mgwctl/top_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace mgwctl {

using nlohmann::json;

namespace {

constexpr std::size_t kLabelColumns = 18;
constexpr std::size_t kLegColumns = 30;

bool is_continuation(char byte) noexcept {
  return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80U;
}

struct LegRow {
  std::string_view label;
  std::string (*text)(const json& leg);
};

template <std::size_t kSize>
std::string with_unit(const json& leg, const char* member, int digits, const char (&unit)[kSize]) {
  const auto number = number_of(leg, member);
  return number ? fixed_text(number, digits) + unit : "-";
}

std::string peer_report_of(const json& leg) {
  const auto report = leg.find("peer_reports");
  return report == leg.end() || !report->is_object()
             ? "-"
             : fmt::format("{} % lost, {} ms",
                           fixed_text(scaled(number_of(*report, "loss"), 100), 2),
                           fixed_text(number_of(*report, "jitter_ms"), 1));
}

std::string pair_text(const json& leg, const char* first, const char* second,
                      std::string_view separator) {
  return fmt::format("{}{}{}", fixed_text(number_of(leg, first), 0), separator,
                     fixed_text(number_of(leg, second), 0));
}

/// What a leg is told by, so that two of them fit on 80 columns and all rows on 24 lines.
const std::array<LegRow, 15> kLegRows{{
    {"connection",
     [](const json& leg) { return text_of(leg, "connection") + " " + text_of(leg, "kind"); }},
    {"codec", [](const json& leg) { return text_of(leg, "codec"); }},
    {"mode", [](const json& leg) { return text_of(leg, "mode"); }},
    {"peer", [](const json& leg) { return text_of(leg, "remote"); }},
    {"local", [](const json& leg) { return text_of(leg, "local"); }},
    {"packets in", [](const json& leg) { return fixed_text(number_of(leg, "packets_in"), 0); }},
    {"packets out", [](const json& leg) { return fixed_text(number_of(leg, "packets_out"), 0); }},
    {"lost",
     [](const json& leg) {
       return fmt::format("{} ({} %)", fixed_text(number_of(leg, "lost"), 0),
                          fixed_text(scaled(number_of(leg, "loss"), 100), 2));
     }},
    {"jitter", [](const json& leg) { return with_unit(leg, "jitter_ms", 1, " ms"); }},
    {"round trip", [](const json& leg) { return with_unit(leg, "round_trip_ms", 1, " ms"); }},
    {"MOS", [](const json& leg) { return fixed_text(number_of(leg, "mos"), 2); }},
    {"peer reports", peer_report_of},
    {"reordered, twice",
     [](const json& leg) { return pair_text(leg, "reordered", "duplicates", ", "); }},
    {"timestamp errors",
     [](const json& leg) {
       return pair_text(leg, "timestamp_errors_in", "timestamp_errors_out", " in, ") + " out";
     }},
    {"dropped", [](const json& leg) { return fixed_text(number_of(leg, "drops"), 0); }},
}};

Look look_of(std::string_view label, const json& leg) {
  if (label == "MOS") {
    const auto mos = number_of(leg, "mos");
    return !mos          ? Look::quiet
           : *mos >= 4.0 ? Look::good
           : *mos >= 3.6 ? Look::fair
           : *mos >= 3.1 ? Look::poor
                         : Look::bad;
  }
  if (label == "lost" && number_of(leg, "loss").value_or(0) >= 0.01) {
    return Look::bad;
  }
  return label == "codec" ? Look::strong : Look::plain;
}

Line path_line(const json& legs, const std::string& endpoint, Signs signs) {
  const std::string arrow = signs == Signs::unicode ? " \u21c4 " : " <-> ";
  const auto peer = [](const json& leg) {
    const std::string address = text_of(leg, "remote");
    return address.empty() ? std::string(text_of(leg, "kind") == "e1" ? "E1 line" : "?") : address;
  };
  Line line;
  line.push_back({" ", Look::plain});
  if (!legs.empty()) {
    line.push_back({peer(legs[0]) + arrow + text_of(legs[0], "codec") + arrow, Look::plain});
  }
  line.push_back({printable(endpoint.substr(0, endpoint.find('@'))), Look::strong});
  if (legs.size() > 1) {
    line.push_back({arrow + text_of(legs[1], "codec") + arrow + peer(legs[1]), Look::plain});
  }
  return line;
}

void add_drop_rows(const json& legs, std::size_t shown, std::vector<Line>& lines) {
  std::vector<std::string> causes;
  for (std::size_t i = 0; i < shown; ++i) {
    for (const json& drop : list_of(legs[i], "drops_by_cause")) {
      const std::string cause = text_of(drop, "cause");
      if (std::ranges::find(causes, cause) == causes.end()) {
        causes.push_back(cause);
      }
    }
  }
  for (const std::string& cause : causes) {
    std::string words = "  " + cause;
    std::ranges::replace(words, '_', ' ');
    Line& line = lines.emplace_back();
    line.push_back({fitted(words, kLabelColumns, false) + " ", Look::quiet});
    for (std::size_t i = 0; i < shown; ++i) {
      std::string count;
      for (const json& drop : list_of(legs[i], "drops_by_cause")) {
        if (text_of(drop, "cause") == cause) {
          count = fixed_text(number_of(drop, "count"), 0);
        }
      }
      line.push_back({fitted(count, kLegColumns, false), Look::plain});
    }
  }
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  for (const char character : text) {
    if (character >= ' ' && character <= '~') {
      out += character;
    } else if (!is_continuation(character)) {
      out += '?';
    }
  }
  return out;
}

std::string raw_text_of(const json& object, const char* member) {
  if (!object.is_object()) {
    return {};
  }
  const auto found = object.find(member);
  return found == object.end() || !found->is_string() ? std::string() : found->get<std::string>();
}

std::string text_of(const json& object, const char* member) {
  return printable(raw_text_of(object, member));
}

std::optional<double> number_of(const json& object, const char* member) {
  if (!object.is_object()) {
    return std::nullopt;
  }
  const auto found = object.find(member);
  return found == object.end() || !found->is_number() ? std::nullopt
                                                      : std::optional(found->get<double>());
}

const json& list_of(const json& object, const char* member) {
  static const json kNone = json::array();
  if (!object.is_object()) {
    return kNone;
  }
  const auto found = object.find(member);
  return found == object.end() || !found->is_array() ? kNone : *found;
}

std::optional<double> scaled(std::optional<double> number, double factor) {
  return number ? std::optional(*number * factor) : std::nullopt;
}

std::string fixed_text(std::optional<double> number, int digits) {
  return number ? fmt::format("{:.{}f}", *number, digits) : "-";
}

std::string count_text(std::optional<double> number) {
  if (!number) {
    return "-";
  }
  return *number < 99'999.5  ? fmt::format("{:.0f}", *number)
         : *number < 999'950 ? fmt::format("{:.1f}k", *number / 1e3)
         : *number < 1e9     ? fmt::format("{:.1f}M", *number / 1e6)
                             : fmt::format("{:.1f}G", *number / 1e9);
}

std::string duration_text(std::optional<double> seconds) {
  if (!seconds || !std::isfinite(*seconds)) {
    return "-";
  }
  const auto whole = static_cast<std::int64_t>(std::max(0.0, *seconds));
  const std::int64_t hours = whole / 3600;
  return hours < 100 ? fmt::format("{}:{:02}:{:02}", hours, whole / 60 % 60, whole % 60)
                     : fmt::format("{}d {:02}:{:02}", hours / 24, hours % 24, whole / 60 % 60);
}

std::size_t columns_of(std::string_view text) noexcept {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char byte) { return !is_continuation(byte); }));
}

std::string fitted(std::string_view text, std::size_t width, bool to_the_right) {
  std::size_t bytes = 0;
  std::size_t columns = 0;
  while (bytes < text.size() && (columns < width || is_continuation(text[bytes]))) {
    columns += is_continuation(text[bytes]) ? 0U : 1U;
    ++bytes;
  }
  const std::string fill(width - columns, ' ');
  const std::string kept(text.substr(0, bytes));
  return to_the_right ? fill + kept : kept + fill;
}

void cut(Line& line, std::size_t width) {
  for (Span& span : line) {
    const std::size_t columns = columns_of(span.text);
    if (columns > width) {
      span.text = fitted(span.text, width, false);
    }
    width -= std::min(columns, width);
  }
}

std::string sparkline(const std::vector<double>& values, double top, bool with_blocks) {
  constexpr std::array<std::string_view, 8> kBlocks = {"\u2581", "\u2582", "\u2583", "\u2584",
                                                       "\u2585", "\u2586", "\u2587", "\u2588"};
  constexpr std::string_view kAscii = "_.-:=+*#";
  std::string line;
  for (const double value : values) {
    const double share = top > 0 ? std::clamp(value / top, 0.0, 1.0) : 0;
    const auto level = static_cast<std::size_t>(std::lround(share * 7));
    if (with_blocks) {
      line += kBlocks[level];
    } else {
      line += kAscii[level];
    }
  }
  return line;
}

std::vector<Line> call_screen(const std::string& call_json, const std::string& endpoint,
                              TopSize size, Signs signs) {
  std::vector<Line> lines;
  const json call = json::parse(call_json, nullptr, false);
  if (!call.is_object()) {
    lines.push_back({{" " + printable(endpoint) + ": no call any more", Look::strong}});
    lines.push_back({{" Esc back   q quit", Look::quiet}});
    return lines;
  }
  const json& legs = list_of(call, "legs");
  lines.push_back({{fmt::format(" {}  call {}  up {}", printable(endpoint),
                                text_of(call, "call_id"), duration_text(number_of(call, "age_s"))),
                    Look::strong}});
  lines.push_back(path_line(legs, endpoint, signs));
  const std::size_t fitting =
      std::max<std::size_t>(1, (size.columns - kLabelColumns - 1) / kLegColumns);
  const std::size_t shown = std::min(legs.size(), fitting);
  for (const LegRow& row : kLegRows) {
    Line& line = lines.emplace_back();
    line.push_back(
        {fitted(fmt::format("  {}", row.label), kLabelColumns, false) + " ", Look::quiet});
    for (std::size_t i = 0; i < shown; ++i) {
      line.push_back({fitted(row.text(legs[i]), kLegColumns, false), look_of(row.label, legs[i])});
    }
  }
  add_drop_rows(legs, shown, lines);
  lines.push_back({{shown < legs.size()
                        ? fmt::format(" and {} more legs   Esc back   q quit", legs.size() - shown)
                        : std::string(" Esc back   q quit"),
                    Look::quiet}});
  if (const std::size_t room = size.rows - std::min(size.rows, std::size_t{5});
      lines.size() > room) {
    // The keys stay in sight; of the rows those at the end go.
    std::rotate(lines.begin() + static_cast<std::ptrdiff_t>(room) - 1, lines.end() - 1,
                lines.end());
    lines.resize(room);
  }
  return lines;
}

}  // namespace mgwctl
